"""What a batch computes of states of a skeleton with flexible bodies, in lanes: `kido.batch.states` by other sweeps.

`f` are the modes, and work space beside the data. Entries have the names and arguments of those there, with FLEX after
the data.
"""

from __future__ import annotations

from kido.batch.states import ROLLOUT, keep, load, load_wrenches, note, store
from kido.batch.velocities import write_velocities
from kido.flexible import sweeps
from kido.flexible.schema import FLEX
from kido.jit import LANES, clear, entry, kernel, lanes_samples, lanes_view, view, where_positive
from kido.kernels.integration import advance, to_parent_axes
from kido.kernels.placement import point_on_link, write_poses
from kido.kernels.springs import add_passive_forces
from kido.tree.schema import DATA, TREE


@kernel
def hold(t, d):
    """Prescribed coordinates are not accelerated."""
    for k in range(t.prescribed.shape[0]):
        if t.prescribed[k] != 0:
            d.udot[k] = 0.0


@kernel
def place(t, d, f):
    """Poses, inertias, velocities and velocity products."""
    n = t.parent.shape[0]
    sweeps.positions(t, d, f, 0, n)
    sweeps.velocities(t, d, f, 0, n)


@kernel
def accelerate(t, d, f):
    """udot by d.tau, needs `place`; returns the index of a coordinate whose inertia is not positive, or -1."""
    n = t.parent.shape[0]
    status = sweeps.articulated_inertias(t, d, f, 0, n, 0.0)
    sweeps.accelerate(t, d, f, 0, n)
    return status


@kernel
def transforms_of(t, d, f, q, X):
    load(q, d.q)
    sweeps.positions(t, d, f, 0, t.parent.shape[0])
    write_poses(t, d, X)


@kernel
def velocities_of(t, d, f, q, u, V):
    load(q, d.q)
    load(u, d.u)
    place(t, d, f)
    write_velocities(t, d, V)


@kernel
def jacobian_of(t, d, f, q, member, x, y, z, J):
    load(q, d.q)
    i = t.member_link[member]
    sweeps.positions(t, d, f, 0, t.parent.shape[0])
    a, b, c = point_on_link(t, member, x, y, z)
    x, y, z = d.p[i, 0], d.p[i, 1], d.p[i, 2]
    x += d.R[i, 0] * a
    y += d.R[i, 3] * a
    z += d.R[i, 6] * a
    x += d.R[i, 1] * b
    y += d.R[i, 4] * b
    z += d.R[i, 7] * b
    x += d.R[i, 2] * c
    y += d.R[i, 5] * c
    z += d.R[i, 8] * c
    sweeps.jacobian(t, d, f, i, x, y, z, J)


@kernel
def inverse_dynamics_of(t, d, f, q, u, udot, wrenches, tau):
    load(q, d.q)
    load(u, d.u)
    load(udot, d.udot)
    load_wrenches(t, d, wrenches)
    place(t, d, f)
    sweeps.inverse_dynamics(t, d, f, 0, t.parent.shape[0])
    store(d.tau, tau)


@kernel
def mass_matrix_of(t, d, f, q, M):
    load(q, d.q)
    sweeps.positions(t, d, f, 0, t.parent.shape[0])
    sweeps.mass_matrix(t, d, f, M)


@kernel
def inverse_mass_matrix_of(t, d, f, q, M):
    load(q, d.q)
    n = t.parent.shape[0]
    sweeps.positions(t, d, f, 0, n)
    status = sweeps.articulated_inertias(t, d, f, 0, n, 0.0)
    clear(d.tau)
    for k in range(M.shape[0]):
        d.tau[k] = 1.0
        sweeps.respond(t, d, f, 0, n, d.tau, d.udot)
        d.tau[k] = 0.0
        for j in range(M.shape[0]):
            M[k, j] = d.udot[j]
    return status


@kernel
def forward_dynamics_of(t, d, f, q, u, tau, wrenches, udot):
    load(q, d.q)
    load(u, d.u)
    load(tau, d.tau)
    load_wrenches(t, d, wrenches)
    hold(t, d)
    place(t, d, f)
    status = accelerate(t, d, f)
    store(d.udot, udot)
    return status


@kernel
def hybrid_dynamics_of(t, d, f, q, u, values, wrenches, udot, tau):
    load(q, d.q)
    load(u, d.u)
    load(values, d.udot)
    load_wrenches(t, d, wrenches)
    for k in range(t.prescribed.shape[0]):
        d.tau[k] = values[k]
        if t.prescribed[k] != 0:
            d.tau[k] = 0.0
    place(t, d, f)
    status = accelerate(t, d, f)
    store(d.udot, udot)
    sweeps.inverse_dynamics(t, d, f, 0, t.parent.shape[0])
    for k in range(t.prescribed.shape[0]):
        tau[k] = values[k]
        if t.prescribed[k] != 0:
            tau[k] = d.tau[k]
    return status


@kernel
def step_of(t, d, f, w, tau, row, h):
    n, m = t.parent.shape[0], t.body_of_dof.shape[0]
    for k in range(m):
        d.tau[k] = tau[row, k]
        w.start_u[k] = d.u[k]
    advance(t, d, 0, n, 0.5 * h)
    sweeps.positions(t, d, f, 0, n)
    to_parent_axes(t, d, 0, n, d.tau)
    add_passive_forces(t, d, 0, n)
    hold(t, d)
    status = sweeps.articulated_inertias(t, d, f, 0, n, h)
    for evaluation in range(2):
        sweeps.velocities(t, d, f, 0, n)
        sweeps.accelerate(t, d, f, 0, n)
        if evaluation == 0:
            for k in range(m):
                d.u[k] += 0.5 * h * d.udot[k]
    for k in range(m):
        d.u[k] = w.start_u[k] + h * d.udot[k]
    advance(t, d, 0, n, 0.5 * h)
    return status


@kernel
def simulate_of(t, d, f, w, q, u, tau, wrenches, h, steps, every, q_out, u_out):
    load(q, d.q)
    load(u, d.u)
    load_wrenches(t, d, wrenches)
    to_parent_axes(t, d, 0, t.parent.shape[0], d.u)
    w.status[0] = -1.0
    for step in range(steps):
        row = step if step < tau.shape[0] else tau.shape[0] - 1
        found = step_of(t, d, f, w, tau, row, h)
        w.status[0] = where_positive(-found, w.status[0], found)
        if (step + 1) % every == 0:
            keep(t, d, step // every, q_out, u_out)
    return w.status[0]


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,:,:,::1],i8,i8)")
def forward_kinematics(tree, data, flex, q, X, begin, end):
    t, d, f = view(TREE, tree), lanes_view(DATA, data), lanes_view(FLEX, flex)
    for first in range(begin, end, LANES):
        transforms_of(t, d, f, lanes_samples(q, first), lanes_samples(X, first))
    return 0


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1],f8[:,:,::1],i8,i8)")
def body_velocities(tree, data, flex, q, u, V, begin, end):
    t, d, f = view(TREE, tree), lanes_view(DATA, data), lanes_view(FLEX, flex)
    for first in range(begin, end, LANES):
        velocities_of(t, d, f, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(V, first))
    return 0


@entry("i8(i8,i8,i8,f8[:,::1],i8,f8,f8,f8,f8[:,:,::1],i8,i8)")
def jacobian(tree, data, flex, q, member, x, y, z, J, begin, end):
    t, d, f = view(TREE, tree), lanes_view(DATA, data), lanes_view(FLEX, flex)
    for first in range(begin, end, LANES):
        jacobian_of(t, d, f, lanes_samples(q, first), member, x, y, z, lanes_samples(J, first))
    return 0


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,::1],i8,i8)")
def inverse_dynamics(tree, data, flex, q, u, udot, wrenches, tau, begin, end):
    t, d, f = view(TREE, tree), lanes_view(DATA, data), lanes_view(FLEX, flex)
    for first in range(begin, end, LANES):
        inverse_dynamics_of(
            t, d, f, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(udot, first),
            lanes_samples(wrenches, first), lanes_samples(tau, first),
        )  # fmt: skip
    return 0


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,:,::1],i8,i8)")
def mass_matrix(tree, data, flex, q, M, begin, end):
    t, d, f = view(TREE, tree), lanes_view(DATA, data), lanes_view(FLEX, flex)
    for first in range(begin, end, LANES):
        mass_matrix_of(t, d, f, lanes_samples(q, first), lanes_samples(M, first))
    return 0


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1],i8,i8)")
def forward_dynamics(tree, data, flex, q, u, tau, wrenches, udot, status, begin, end):
    t, d, f = view(TREE, tree), lanes_view(DATA, data), lanes_view(FLEX, flex)
    failed = 0
    for first in range(begin, end, LANES):
        found = forward_dynamics_of(
            t, d, f, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(tau, first),
            lanes_samples(wrenches, first), lanes_samples(udot, first),
        )  # fmt: skip
        failed |= note(found, lanes_samples(status, first))
    return failed


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1],f8[:,::1],i8,i8)")
def hybrid_dynamics(tree, data, flex, q, u, values, wrenches, udot, tau, status, begin, end):
    t, d, f = view(TREE, tree), lanes_view(DATA, data), lanes_view(FLEX, flex)
    failed = 0
    for first in range(begin, end, LANES):
        found = hybrid_dynamics_of(
            t, d, f, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(values, first),
            lanes_samples(wrenches, first), lanes_samples(udot, first), lanes_samples(tau, first),
        )  # fmt: skip
        failed |= note(found, lanes_samples(status, first))
    return failed


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,:,::1],f8[:,::1],i8,i8)")
def inverse_mass_matrix(tree, data, flex, q, M, status, begin, end):
    t, d, f = view(TREE, tree), lanes_view(DATA, data), lanes_view(FLEX, flex)
    failed = 0
    for first in range(begin, end, LANES):
        found = inverse_mass_matrix_of(t, d, f, lanes_samples(q, first), lanes_samples(M, first))
        failed |= note(found, lanes_samples(status, first))
    return failed


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1],f8,f8[:,::1],i8,i8)")
def integrate(tree, data, flex, q, u, h, moved, begin, end):
    t, d = view(TREE, tree), lanes_view(DATA, data)
    for first in range(begin, end, LANES):
        source, target = lanes_samples(q, first), lanes_samples(moved, first)
        load(source, d.q)
        load(lanes_samples(u, first), d.u)
        advance(t, d, 0, t.parent.shape[0], h)
        store(d.q, target)
    return 0


@entry("i8(i8,i8,i8,i8,f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,:,::1],f8,i8,i8,f8[:,:,::1],f8[:,:,::1],f8[:,::1],i8,i8)")
def simulate(tree, data, flex, rollout, q, u, tau, wrenches, h, steps, every, q_out, u_out, status, begin, end):
    t, d, f = view(TREE, tree), lanes_view(DATA, data), lanes_view(FLEX, flex)
    w = lanes_view(ROLLOUT, rollout)
    failed = 0
    for first in range(begin, end, LANES):
        found = simulate_of(
            t, d, f, w, lanes_samples(q, first), lanes_samples(u, first), lanes_samples(tau, first),
            lanes_samples(wrenches, first), h, steps, every, lanes_samples(q_out, first), lanes_samples(u_out, first),
        )  # fmt: skip
        failed |= note(found, lanes_samples(status, first))
    return failed
