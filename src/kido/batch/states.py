"""What a batch computes of each state, in lanes of the processor or threads of a GPU.

The recursions between arguments and results that belong to a sample are written once for both: `t` is the tree, `d`
work space of the target, and `q`, `u`, ... are the sample's own numbers in batch-first arrays
(`kido.jit.lanes_samples`). Below are the calls from Python for lanes: a range of samples, by one thread, without the
interpreter's lock; `begin` is a multiple of `LANES`, and an argument of one sample stands for all samples.
"""

from __future__ import annotations

from kido.jit import (
    LANES,
    Struct,
    all_positive,
    clear,
    entry,
    floats,
    kernel,
    lanes_samples,
    lanes_view,
    view,
    where_positive,
)
from kido.joints.motion import hinge_column
from kido.kernels.derivative_entries import derive_joint_accelerations, derive_joint_forces, move
from kido.kernels.forward_dynamics import (
    acceleration_scatter,
    accelerations_of_state,
    articulated_inertias,
    bias_gather,
    inertias_and_bias,
    prescribed_forces,
    start_bias,
)
from kido.kernels.inertia import body_inertia, start_inertia
from kido.kernels.integration import advance, to_body_axes, to_parent_axes
from kido.kernels.inverse_dynamics import body_acceleration, body_force, gather_joint_forces
from kido.kernels.inverse_mass import eliminate
from kido.kernels.inverse_mass import inverse_mass_matrix as inverse_mass_matrix_from_shares
from kido.kernels.kinematics import body_pose, body_velocity, has_hinge, poses, rotation_of, transforms, velocities
from kido.kernels.mass_matrix import add_armature, mass_matrix_from_composites, start_composite
from kido.kernels.placement import point_on_link, write_poses
from kido.kernels.springs import add_passive_forces
from kido.math.so3 import cross, rotate
from kido.tree.schema import DATA, TREE
from kido.tree.workspace import COLUMNS, DERIVATIVES


class ROLLOUT(Struct):
    start_u = floats("dofs", unit="m/s or rad/s", doc="velocities at the start of a step")
    status = floats(1, doc="index of a coordinate whose inertia was not positive in any step, or -1")


@kernel
def load(source, target):
    """Copy a sample's numbers into the work space."""
    for k in range(target.shape[0]):
        target[k] = source[k]


@kernel
def store(source, target):
    """Copy numbers of the work space into a sample's."""
    for k in range(source.shape[0]):
        target[k] = source[k]


@kernel
def hold_prescribed(t, d):
    """Prescribed coordinates are not accelerated."""
    for k in range(t.prescribed.shape[0]):
        if t.prescribed[k] != 0:
            d.udot[k] = 0.0


@kernel
def load_wrenches(t, d, wrenches):
    """Hold wrenches (bodies, 6) as external forces: about the bodies' origins, world axes; (0, 6): there are none."""
    given = 1 if wrenches.shape[0] > 0 else 0
    for i in range(t.parent.shape[0]):
        d.has_external[i] = given  # threads of a GPU share it
        for r in range(given * d.external.shape[1]):
            d.external[i, r] = 0.0
    for m in range(wrenches.shape[0]):
        i = t.member_link[m]
        for c in range(3):
            force = wrenches[m, 3 + c]
            d.external[i, 6 + c] += force
            d.external[i, 18 + c] += wrenches[m, c]
            for a in range(3):
                d.external[i, 9 + 3 * a + c] += t.member_pose[m, 4 * a + 3] * force


@kernel
def transforms_of(t, d, q, X):
    """World transforms of all bodies of the skeleton into X (bodies, 4, 4)."""
    load(q, d.q)
    poses(t, d, 0, t.parent.shape[0])
    write_poses(t, d, X)


@kernel
def jacobian_of(t, d, q, member, x, y, z, J):
    """Jacobian (6, dofs) of the point (x, y, z) of a body of the skeleton, in body axes, into J; world axes."""
    load(q, d.q)
    link = t.member_link[member]
    transforms(t, d, 0, link + 1)
    clear(J)
    a, b, c = point_on_link(t, member, x, y, z)
    rx, ry, rz = rotate(rotation_of(d, link), a, b, c)
    i = link
    while i >= 0:
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            w0, w1, w2 = d.H[k, 0], d.H[k, 1], d.H[k, 2]
            v0, v1, v2 = cross(w0, w1, w2, rx, ry, rz)
            J[0, k] = w0
            J[1, k] = w1
            J[2, k] = w2
            J[3, k] = d.H[k, 3] + v0
            J[4, k] = d.H[k, 4] + v1
            J[5, k] = d.H[k, 5] + v2
        rx += d.l[i, 0]
        ry += d.l[i, 1]
        rz += d.l[i, 2]
        i = t.parent[i]


@kernel
def inverse_dynamics_of(t, d, q, u, udot, wrenches, tau):
    """Joint forces tau(q, u, udot)."""
    load(q, d.q)
    load(u, d.u)
    load(udot, d.udot)
    load_wrenches(t, d, wrenches)
    n = t.parent.shape[0]
    for i in range(n):
        body_pose(t, d, i)
        if has_hinge(t, i):
            hinge_column(t, d, i, t.first_dof[i])
        body_inertia(t, d, i)
        body_velocity(t, d, i)
        body_acceleration(t, d, i)
        body_force(t, d, i)
    gather_joint_forces(t, d, 0, n)
    store(d.tau, tau)


@kernel
def mass_matrix_of(t, d, q, M):
    """Mass matrix (dofs, dofs) at q into M."""
    load(q, d.q)
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
        start_composite(t, d, i)
    mass_matrix_from_composites(t, d, 0, n, M)
    add_armature(t, 0, n, M)


@kernel
def inverse_mass_matrix_of(t, d, b, q, M):
    """M^-1 (dofs, dofs) at q into M; returns what `forward_dynamics_of` does."""
    load(q, d.q)
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
    status = eliminate(t, d, 0.0, 0)
    inverse_mass_matrix_from_shares(t, d, b, 1, M)
    return status


@kernel
def forward_dynamics_of(t, d, q, u, tau, wrenches, udot):
    """Accelerations udot(q, u, tau); returns the index of a coordinate whose inertia is not positive, or -1."""
    load(q, d.q)
    load(u, d.u)
    load(tau, d.tau)
    load_wrenches(t, d, wrenches)
    hold_prescribed(t, d)
    n = t.parent.shape[0]
    for i in range(n):
        body_pose(t, d, i)
        if has_hinge(t, i):
            hinge_column(t, d, i, t.first_dof[i])
        body_inertia(t, d, i)
        body_velocity(t, d, i)
        start_inertia(t, d, i)
        start_bias(t, d, i)
    status = inertias_and_bias(t, d, 0, n, 0.0)
    acceleration_scatter(t, d, 0, n)
    store(d.udot, udot)
    return status


@kernel
def hybrid_dynamics_of(t, d, q, u, values, wrenches, udot, tau):
    """Forces of prescribed coordinates from their accelerations, `values`, accelerations of the others from forces.

    Returns:
        What `forward_dynamics_of` does.
    """
    load(q, d.q)
    load(u, d.u)
    load(values, d.tau)
    load(values, d.udot)
    load_wrenches(t, d, wrenches)
    status = accelerations_of_state(t, d)
    prescribed_forces(t, d, 0, t.parent.shape[0])
    store(d.udot, udot)
    store(d.tau, tau)
    return status


@kernel
def inverse_dynamics_derivatives_of(t, d, w, q, u, udot, wrenches, D):
    """dtau/dq, dtau/du and M into D (3, dofs, dofs)."""
    load(q, d.q)
    load(u, d.u)
    load(udot, d.udot)
    load_wrenches(t, d, wrenches)
    move(t, d)
    derive_joint_forces(t, d, w, D)


@kernel
def forward_dynamics_derivatives_of(t, d, w, q, u, tau, wrenches, D):
    """dudot/dq, dudot/du and M^-1 into D (3, dofs, dofs); returns what `forward_dynamics_of` does."""
    load(q, d.q)
    load(u, d.u)
    load(tau, d.tau)
    load_wrenches(t, d, wrenches)
    hold_prescribed(t, d)
    status = accelerations_of_state(t, d)
    derive_joint_accelerations(t, d, w, D)
    return status


@kernel
def advanced_of(t, d, q, u, h, moved):
    """Positions moved along the velocities for a time h, on the manifold."""
    load(q, d.q)
    load(u, d.u)
    advance(t, d, 0, t.parent.shape[0], h)
    store(d.q, moved)


@kernel
def step_of(t, d, w, tau, row, h):
    """One step of smooth motion from q, u in the work space, by the scheme of `kido.simulation.predict`.

    Returns:
        The index of a coordinate whose inertia is not positive, or -1.
    """
    n, m = t.parent.shape[0], t.body_of_dof.shape[0]
    for k in range(m):
        d.tau[k] = tau[row, k]
        w.start_u[k] = d.u[k]
    advance(t, d, 0, n, 0.5 * h)
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
    to_parent_axes(t, d, 0, t.parent.shape[0], d.tau)
    add_passive_forces(t, d, 0, n)
    hold_prescribed(t, d)
    status = articulated_inertias(t, d, 0, n, h)
    for evaluation in range(2):
        velocities(t, d, 0, n)
        bias_gather(t, d, 0, n)
        acceleration_scatter(t, d, 0, n)
        if evaluation == 0:
            for k in range(m):
                d.u[k] += 0.5 * h * d.udot[k]
    for k in range(m):
        d.u[k] = w.start_u[k] + h * d.udot[k]
    advance(t, d, 0, n, 0.5 * h)
    return status


@kernel
def keep(t, d, frame, q, u):
    """Write the state of the work space into frame number `frame` of a sample."""
    to_body_axes(t, d, 0, t.parent.shape[0], d.u)
    for k in range(t.body_of_dof.shape[0]):
        q[frame, k] = d.q[k]
        u[frame, k] = d.u[k]
    to_parent_axes(t, d, 0, t.parent.shape[0], d.u)


@kernel
def simulate_of(t, d, w, q, u, tau, wrenches, h, steps, every, q_out, u_out):
    """Steps from (q, u); every `every`-th state goes to a row of q_out, u_out.

    `tau` has a row for each step, or one for all; `wrenches` are held.

    Returns:
        The index of a coordinate whose inertia was not positive in a step, or -1.
    """
    load(q, d.q)
    load(u, d.u)
    load_wrenches(t, d, wrenches)
    to_parent_axes(t, d, 0, t.parent.shape[0], d.u)
    w.status[0] = -1.0
    for step in range(steps):
        row = step if step < tau.shape[0] else tau.shape[0] - 1
        found = step_of(t, d, w, tau, row, h)
        w.status[0] = where_positive(-found, w.status[0], found)
        if (step + 1) % every == 0:
            keep(t, d, step // every, q_out, u_out)
    return w.status[0]


_EXPONENT, _ALL_ONES = 52, 0x7FF  # place of the exponent's bits, and their value in a NaN or an infinity


@entry("i8(i8[::1])")
def first_not_finite(bits):
    """Index of the first NaN or infinity among float64 numbers, given as their bits; -1: all are finite."""
    found = 0
    for k in range(bits.shape[0]):  # without a branch, so that many are looked at at once
        found |= ((bits[k] >> _EXPONENT) & _ALL_ONES) + 1
    if found & (_ALL_ONES + 1) == 0:
        return -1
    for k in range(bits.shape[0]):
        if (bits[k] >> _EXPONENT) & _ALL_ONES == _ALL_ONES:
            return k
    return -1


@entry("i8(i8,i8,f8[:,::1],f8[:,:,:,::1],i8,i8)")
def forward_kinematics(tree, data, q, X, begin, end):
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    for first in range(begin, end, LANES):
        transforms_of(t, d, lanes_samples(q, first), lanes_samples(X, first))
    return 0


@entry("i8(i8,i8,f8[:,::1],i8,f8,f8,f8,f8[:,:,::1],i8,i8)")
def jacobian(tree, data, q, member, x, y, z, J, begin, end):
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    for first in range(begin, end, LANES):
        jacobian_of(t, d, lanes_samples(q, first), member, x, y, z, lanes_samples(J, first))
    return 0


@entry("i8(i8,i8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,::1],i8,i8)")
def inverse_dynamics(tree, data, q, u, udot, wrenches, tau, begin, end):
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    for first in range(begin, end, LANES):
        inverse_dynamics_of(
            t, d, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(udot, first),
            lanes_samples(wrenches, first), lanes_samples(tau, first),
        )  # fmt: skip
    return 0


@entry("i8(i8,i8,f8[:,::1],f8[:,:,::1],i8,i8)")
def mass_matrix(tree, data, q, M, begin, end):
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    for first in range(begin, end, LANES):
        mass_matrix_of(t, d, lanes_samples(q, first), lanes_samples(M, first))
    return 0


@kernel
def note(status, statuses):
    """Write the samples' own statuses; returns 1 if any is a coordinate."""
    statuses[0] = status
    return 0 if all_positive(-status) else 1


@entry("i8(i8,i8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1],i8,i8)")
def forward_dynamics(tree, data, q, u, tau, wrenches, udot, status, begin, end):
    """Returns 1 if an inertia is not positive: `status` (samples, 1) then tells the coordinate, or -1."""
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    failed = 0
    for first in range(begin, end, LANES):
        found = forward_dynamics_of(
            t, d, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(tau, first),
            lanes_samples(wrenches, first), lanes_samples(udot, first),
        )  # fmt: skip
        failed |= note(found, lanes_samples(status, first))
    return failed


@entry("i8(i8,i8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1],f8[:,::1],i8,i8)")
def hybrid_dynamics(tree, data, q, u, values, wrenches, udot, tau, status, begin, end):
    """Returns and `status` as `forward_dynamics`; the tree says which coordinates are prescribed."""
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    failed = 0
    for first in range(begin, end, LANES):
        found = hybrid_dynamics_of(
            t, d, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(values, first),
            lanes_samples(wrenches, first), lanes_samples(udot, first), lanes_samples(tau, first),
        )  # fmt: skip
        failed |= note(found, lanes_samples(status, first))
    return failed


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,:,::1],f8[:,::1],i8,i8)")
def inverse_mass_matrix(tree, data, columns, q, M, status, begin, end):
    """Returns and `status` as `forward_dynamics`."""
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    b = lanes_view(COLUMNS, columns)
    failed = 0
    for first in range(begin, end, LANES):
        found = inverse_mass_matrix_of(t, d, b, lanes_samples(q, first), lanes_samples(M, first))
        failed |= note(found, lanes_samples(status, first))
    return failed


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,:,:,::1],i8,i8)")
def inverse_dynamics_derivatives(tree, data, work, q, u, udot, wrenches, D, begin, end):
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    w = lanes_view(DERIVATIVES, work)
    for first in range(begin, end, LANES):
        inverse_dynamics_derivatives_of(
            t, d, w, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(udot, first),
            lanes_samples(wrenches, first), lanes_samples(D, first),
        )  # fmt: skip
    return 0


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,:,:,::1],f8[:,::1],i8,i8)")
def forward_dynamics_derivatives(tree, data, work, q, u, tau, wrenches, D, status, begin, end):
    """Returns and `status` as `forward_dynamics`."""
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    w = lanes_view(DERIVATIVES, work)
    failed = 0
    for first in range(begin, end, LANES):
        found = forward_dynamics_derivatives_of(
            t, d, w, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(tau, first),
            lanes_samples(wrenches, first), lanes_samples(D, first),
        )  # fmt: skip
        failed |= note(found, lanes_samples(status, first))
    return failed


@entry("i8(i8,i8,f8[:,::1],f8[:,::1],f8,f8[:,::1],i8,i8)")
def integrate(tree, data, q, u, h, moved, begin, end):
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    for first in range(begin, end, LANES):
        advanced_of(t, d, lanes_samples(q, first), lanes_samples(u, first), h, lanes_samples(moved, first))
    return 0


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,:,::1],f8,i8,i8,f8[:,:,::1],f8[:,:,::1],f8[:,::1],i8,i8)")
def simulate(tree, data, rollout, q, u, tau, wrenches, h, steps, every, q_out, u_out, status, begin, end):
    """Steps of smooth motion; every `every`-th state goes to q_out, u_out (samples, steps // every, dofs).

    `tau` has one row for each step of a sample, or one for all. Returns and `status` as `forward_dynamics`.
    """
    t = view(TREE, tree)
    d = lanes_view(DATA, data)
    w = lanes_view(ROLLOUT, rollout)
    failed = 0
    for first in range(begin, end, LANES):
        found = simulate_of(
            t, d, w, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(tau, first),
            lanes_samples(wrenches, first), h, steps, every, lanes_samples(q_out, first), lanes_samples(u_out, first),
        )  # fmt: skip
        failed |= note(found, lanes_samples(status, first))
    return failed
