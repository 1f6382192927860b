"""What a batch computes of each state: the recursions between arguments and results that belong to a sample.

The functions here are written once for lanes and for GPU threads: `t` is the tree, `d` work space of the
target, and `q`, `u`, ... are the sample's own numbers in batch-first arrays (`kido.jit.lanes_samples`).
"""

from __future__ import annotations

from kido.jit import Struct, clear, floats, kernel, where_positive
from kido.joints.motion import hinge_column
from kido.kernels.derivative_entries import derive_joint_accelerations, derive_joint_forces, move
from kido.kernels.forward_dynamics import (
    acceleration_scatter,
    accelerations_of_state,
    articulated_inertias,
    bias_gather,
    inertias_and_bias,
    start_bias,
)
from kido.kernels.inertia import body_inertia, start_inertia
from kido.kernels.integration import advance, to_body_axes, to_parent_axes
from kido.kernels.inverse_dynamics import body_acceleration, body_force, gather_joint_forces
from kido.kernels.kinematics import body_pose, body_velocity, has_hinge, poses, rotation_of, transforms, velocities
from kido.kernels.mass_matrix import mass_matrix_from_composites, start_composite
from kido.kernels.placement import point_on_link, write_poses
from kido.kernels.springs import add_passive_forces
from kido.math.so3 import cross, rotate


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
def inverse_dynamics_of(t, d, q, u, udot, tau):
    """Joint forces tau(q, u, udot)."""
    load(q, d.q)
    load(u, d.u)
    load(udot, d.udot)
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


@kernel
def forward_dynamics_of(t, d, q, u, tau, udot):
    """Accelerations udot(q, u, tau); returns the index of a coordinate whose inertia is not positive, or -1."""
    load(q, d.q)
    load(u, d.u)
    load(tau, d.tau)
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
def inverse_dynamics_derivatives_of(t, d, w, q, u, udot, D):
    """dtau/dq, dtau/du and M into D (3, dofs, dofs)."""
    load(q, d.q)
    load(u, d.u)
    load(udot, d.udot)
    move(t, d)
    derive_joint_forces(t, d, w, D)


@kernel
def forward_dynamics_derivatives_of(t, d, w, q, u, tau, D):
    """dudot/dq, dudot/du and M^-1 into D (3, dofs, dofs); returns what `forward_dynamics_of` does."""
    load(q, d.q)
    load(u, d.u)
    load(tau, d.tau)
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
def simulate_of(t, d, w, q, u, tau, h, steps, every, q_out, u_out):
    """Steps from (q, u); every `every`-th state goes to a row of q_out, u_out.

    `tau` has a row for each step, or one for all.

    Returns:
        The index of a coordinate whose inertia was not positive in a step, or -1.
    """
    load(q, d.q)
    load(u, d.u)
    to_parent_axes(t, d, 0, t.parent.shape[0], d.u)
    w.status[0] = -1.0
    for step in range(steps):
        row = step if step < tau.shape[0] else tau.shape[0] - 1
        found = step_of(t, d, w, tau, row, h)
        w.status[0] = where_positive(-found, w.status[0], found)
        if (step + 1) % every == 0:
            keep(t, d, step // every, q_out, u_out)
    return w.status[0]
