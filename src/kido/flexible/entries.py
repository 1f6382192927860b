"""Calls from Python into the sweeps: addresses of tree, data and FLEX, a state, and what comes out.

Vectors over coordinates have those of joints first, then those of all modes. A call returns REFUSED for numbers that
are not finite or of another size.
"""

from __future__ import annotations

import math

from kido.flexible import sweeps
from kido.flexible.motion import deformed_inertia
from kido.flexible.schema import FLEX
from kido.jit import clear, direct_entry, entry, kernel, view
from kido.kernels.entries import OK, REFUSED
from kido.kernels.integration import advance, to_body_axes, to_parent_axes
from kido.kernels.springs import add_spring_forces
from kido.tree import DATA, TREE

CALL = "i8(i8,i8,i8,f8[::1]"  # tree, data, FLEX, positions


@kernel
def read(values, joints, modes):
    """Copy a vector over coordinates to its two parts, if it is finite and of their size."""
    n, m = joints.shape[0], modes.shape[0]
    if values.shape[0] != n + m:
        return REFUSED
    for k in range(n + m):
        if values[k] * 0.0 != 0.0:
            return REFUSED
    for k in range(n):
        joints[k] = values[k]
    for k in range(m):
        modes[k] = values[n + k]
    return OK


@kernel
def write(joints, modes, out):
    """Both parts, as one vector."""
    n = joints.shape[0]
    for k in range(n):
        out[k] = joints[k]
    for k in range(modes.shape[0]):
        out[n + k] = modes[k]


@direct_entry(f"{CALL},f8[:,:,::1])")
def poses(tree, data, flex, q, X):
    """World transforms (links, 4, 4); the bottom rows are written by the caller."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q, f.eta) != OK:
        return REFUSED
    sweeps.positions(t, d, f)
    for i in range(t.parent.shape[0]):
        for r in range(3):
            for k in range(3):
                X[i, r, k] = d.R[i, 3 * r + k]
            X[i, r, 3] = d.p[i, r]
    return OK


@direct_entry(f"{CALL},f8[::1],f8[::1],f8[:,::1],f8[:,::1])")
def motions(tree, data, flex, q, u, udot, V, A):
    """Velocities and accelerations (links, 6) about each link's origin, world axes, without gravity."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q, f.eta) + read(u, d.u, f.rate) + read(udot, d.udot, f.acceleration) != OK:
        return REFUSED
    sweeps.positions(t, d, f)
    sweeps.velocities(t, d, f)
    sweeps.accelerations(t, d, f)
    for i in range(t.parent.shape[0]):
        for k in range(6):
            V[i, k] = d.V[i, k]
            A[i, k] = d.A[i, k] + (t.gravity[k - 3] if k >= 3 else 0.0)
    return OK


@direct_entry(f"{CALL},i8,f8[::1],f8[:,::1])")
def jacobian(tree, data, flex, q, link, offset, J):
    """Jacobian (6, coordinates) of a point of a link, at `offset` (3,) in the link's axes."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q, f.eta) != OK:
        return REFUSED
    sweeps.positions(t, d, f)
    x, y, z = d.p[link, 0], d.p[link, 1], d.p[link, 2]
    for k in range(3):
        x += d.R[link, k] * offset[k]
        y += d.R[link, 3 + k] * offset[k]
        z += d.R[link, 6 + k] * offset[k]
    sweeps.jacobian(t, d, f, link, x, y, z, J)
    return OK


@direct_entry(f"{CALL},f8[:,::1])")
def mass_matrix(tree, data, flex, q, M):
    """M (coordinates, coordinates)."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q, f.eta) != OK:
        return REFUSED
    sweeps.positions(t, d, f)
    sweeps.mass_matrix(t, d, f, M)
    return OK


@direct_entry(f"{CALL},f8[::1],f8[::1],f8[::1])")
def inverse_dynamics(tree, data, flex, q, u, udot, tau):
    """Forces that give the accelerations."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q, f.eta) + read(u, d.u, f.rate) + read(udot, d.udot, f.acceleration) != OK:
        return REFUSED
    sweeps.positions(t, d, f)
    sweeps.velocities(t, d, f)
    sweeps.inverse_dynamics(t, d, f)
    write(d.tau, f.force, tau)
    return OK


@direct_entry(f"{CALL},f8[::1],f8[::1],f8[::1])")
def forward_dynamics(tree, data, flex, q, u, tau, udot):
    """Accelerations by forces: 0, REFUSED, or 2 + the index of a coordinate that sees no inertia."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q, f.eta) + read(u, d.u, f.rate) + read(tau, d.tau, f.force) != OK:
        return REFUSED
    sweeps.positions(t, d, f)
    sweeps.velocities(t, d, f)
    status = int(sweeps.forward_dynamics(t, d, f, 0.0))
    write(d.udot, f.acceleration, udot)
    return OK if status < 0 else 2 + status


@direct_entry(f"{CALL},f8[::1])")
def log_determinant(tree, data, flex, q, out):
    """ln det M, to out[0]; returns as `forward_dynamics` does."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q, f.eta) != OK:
        return REFUSED
    clear(d.u)
    clear(f.rate)
    sweeps.positions(t, d, f)
    sweeps.velocities(t, d, f)
    status = int(sweeps.forward_dynamics(t, d, f, 0.0))
    total = 0.0
    for k in range(d.Dinv.shape[0]):
        total -= math.log(d.Dinv[k])
    for m in range(f.Dinv.shape[0]):
        total -= math.log(f.Dinv[m])
    out[0] = total
    return OK if status < 0 else 2 + status


@direct_entry(f"{CALL},f8[::1],f8[::1])")
def sums(tree, data, flex, q, u, out):
    """Kinetic energy, potential energy, and momentum (6,) about the world's origin."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q, f.eta) + read(u, d.u, f.rate) != OK:
        return REFUSED
    sweeps.positions(t, d, f)
    sweeps.velocities(t, d, f)
    out[0] = sweeps.kinetic_energy(t, d, f)
    out[1] = sweeps.potential_energy(t, d, f)
    sweeps.momentum(t, d, f, out[2:])
    return OK


# Steps -------------------------------------------------------------------------------------------------------


@kernel
def move(t, d, f, h):
    """Positions along velocities for a time h."""
    advance(t, d, 0, t.parent.shape[0], h)
    for m in range(f.eta.shape[0]):
        f.eta[m] += h * f.rate[m]


@kernel
def stage(t, d, f, h, tau):
    """Accelerations at the positions of mid-step and the current velocities; needs `positions`.

    Dampers act on velocities at the start of the step, and their implicit share in the sweep brings these to its end.
    """
    n, last = d.u.shape[0], t.parent.shape[0]
    for k in range(n):
        d.tau[k] = tau[k]
    to_parent_axes(t, d, 0, last, d.tau)
    for k in range(n):
        d.tau[k] -= t.damping[k] * f.start_u[k]
    add_spring_forces(t, d, 0, last, d.tau)
    for k in range(f.eta.shape[0]):
        f.force[k] = tau[n + k] + f.damping[k] * (f.rate[k] - f.start_rate[k])
    sweeps.velocities(t, d, f)
    return sweeps.forward_dynamics(t, d, f, h)


@kernel
def step(t, d, f, h, tau):
    """One step of the midpoint rule of worlds: half of the positions, velocities by a midpoint stage, then th"""
    n, m = d.u.shape[0], f.eta.shape[0]
    for k in range(n):
        f.start_u[k] = d.u[k]
    for k in range(m):
        f.start_rate[k] = f.rate[k]
    move(t, d, f, 0.5 * h)
    sweeps.positions(t, d, f)
    status = stage(t, d, f, h, tau)
    for share in (0.5, 1.0):
        for k in range(n):
            d.u[k] = f.start_u[k] + share * h * d.udot[k]
        for k in range(m):
            f.rate[k] = f.start_rate[k] + share * h * f.acceleration[k]
        if share == 0.5:
            for i in range(t.parent.shape[0]):  # what elimination used up
                if f.flex_of_body[i] >= 0:
                    deformed_inertia(t, d, f, i)
            status = max(status, stage(t, d, f, h, tau))
    move(t, d, f, 0.5 * h)
    return status


@entry("i8(i8,i8,i8,f8,i8,f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1])")
def steps(tree, data, flex, h, number, q, u, tau, Q, U):
    """Steps from (q, u), which are overwritten, under constant forces; states at the end of each go to Q and U.

    Free joints of kind FREE_MIXED have their linear velocities and forces in body axes here, as FREE ones do.

    Returns:
        0, REFUSED, 2 + the index of a coordinate that sees no inertia, or -1 - the step whose state is not finite.
    """
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q, f.eta) + read(u, d.u, f.rate) != OK or tau.shape[0] != q.shape[0]:
        return REFUSED
    last = t.parent.shape[0]
    to_parent_axes(t, d, 0, last, d.u)
    for s in range(number):
        status = int(step(t, d, f, h, tau))
        if status >= 0:
            return 2 + status
        write(d.q, f.eta, q)
        write(d.u, f.rate, u)
        to_body_axes(t, d, 0, last, u)
        total = 0.0
        for k in range(q.shape[0]):
            Q[s, k], U[s, k] = q[k], u[k]
            total += (q[k] + u[k]) * 0.0
        if total != 0.0:
            return -1 - s
    return OK
