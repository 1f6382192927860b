"""Calls from Python into the sweeps: addresses of tree, data and FLEX, a state, and what comes out.

A call returns REFUSED for numbers that are not finite or of another size. Springs and dampers are forces; where
`passive` is 1 those of modes are part of the dynamics.
"""

from __future__ import annotations

import math

from kido.flexible import sweeps
from kido.flexible.schema import FLEX
from kido.jit import clear, direct_entry, entry, kernel, packed, view
from kido.kernels.entries import OK, REFUSED
from kido.kernels.integration import advance, to_body_axes, to_parent_axes
from kido.kernels.springs import add_spring_forces
from kido.tree import DATA, TREE

CALL = "i8(i8,i8,i8,f8[::1]"  # tree, data, FLEX, positions


@kernel
def read(values, own):
    """Copy a vector over coordinates, if it is finite and of their size."""
    n = own.shape[0]
    if values.shape[0] != n:
        return REFUSED
    for k in range(n):
        if values[k] * 0.0 != 0.0:
            return REFUSED
    for k in range(n):
        own[k] = values[k]
    return OK


@kernel
def write(own, out):
    """A vector of the data to an array of the caller's."""
    for k in range(own.shape[0]):
        out[k] = own[k]


@kernel
def add_modal_forces(t, d, f, sign):
    """Add sign times K eta + D etadot of all modes to tau."""
    for c in range(f.number.shape[0]):
        for k in range(f.first_mode[c], f.first_mode[c] + f.number[c]):
            d.tau[k] += sign * (t.stiffness[k] * (d.q[k] - t.rest[k]) + t.damping[k] * d.u[k])


@kernel
def place(t, d, f):
    """`positions` and `velocities` of the whole tree."""
    n = t.parent.shape[0]
    sweeps.positions(t, d, f, 0, n)
    sweeps.velocities(t, d, f, 0, n)


@entry("i8(i8,i8,i8)")
@packed
def follow(tree, data, flex):
    """Poses, velocities and accelerations of all links by the data's own numbers."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    place(t, d, f)
    sweeps.accelerations(t, d, f, 0, t.parent.shape[0])
    return OK


@direct_entry(f"{CALL},f8[:,:,::1])")
def poses(tree, data, flex, q, X):
    """World transforms (links, 4, 4); the bottom rows are written by the caller."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q) != OK:
        return REFUSED
    sweeps.positions(t, d, f, 0, t.parent.shape[0])
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
    if read(q, d.q) + read(u, d.u) + read(udot, d.udot) != OK:
        return REFUSED
    place(t, d, f)
    sweeps.accelerations(t, d, f, 0, t.parent.shape[0])
    for i in range(t.parent.shape[0]):
        for k in range(6):
            V[i, k] = d.V[i, k]
            A[i, k] = d.A[i, k] + (t.gravity[k - 3] if k >= 3 else 0.0)
    return OK


@direct_entry(f"{CALL},i8,f8[::1],f8[:,::1])")
def jacobian(tree, data, flex, q, link, offset, J):
    """Jacobian (6, coordinates) of a point of a link, at `offset` (3,) in the link's axes."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q) != OK:
        return REFUSED
    sweeps.positions(t, d, f, 0, t.parent.shape[0])
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
    if read(q, d.q) != OK:
        return REFUSED
    sweeps.positions(t, d, f, 0, t.parent.shape[0])
    sweeps.mass_matrix(t, d, f, M)
    return OK


@direct_entry(f"{CALL},f8[:,::1])")
def inverse_mass_matrix(tree, data, flex, q, M):
    """M^-1 (coordinates, coordinates), a column after the other; returns as `forward_dynamics` does."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q) != OK:
        return REFUSED
    n = t.parent.shape[0]
    sweeps.positions(t, d, f, 0, n)
    status = int(sweeps.articulated_inertias(t, d, f, 0, n, 0.0))
    clear(d.tau)
    for k in range(M.shape[0]):
        d.tau[k] = 1.0
        sweeps.respond(t, d, f, 0, n, d.tau, d.udot)
        d.tau[k] = 0.0
        for j in range(M.shape[0]):
            M[k, j] = d.udot[j]
    return OK if status < 0 else 2 + status


@direct_entry(f"{CALL},f8[:,::1],f8[:,::1])")
def responses(tree, data, flex, q, impulses, out):
    """M^-1 times rows of impulses (rows, coordinates); returns as `forward_dynamics` does."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q) != OK:
        return REFUSED
    n = t.parent.shape[0]
    sweeps.positions(t, d, f, 0, n)
    status = int(sweeps.articulated_inertias(t, d, f, 0, n, 0.0))
    for k in range(impulses.shape[0]):
        for j in range(impulses.shape[1]):
            f.impulse[j] = impulses[k, j]
        sweeps.respond(t, d, f, 0, n, f.impulse, f.response)
        for j in range(impulses.shape[1]):
            out[k, j] = f.response[j]
    return OK if status < 0 else 2 + status


@direct_entry(f"{CALL},f8[::1],f8[::1],i8,f8[::1])")
@packed
def inverse_dynamics(tree, data, flex, q, u, udot, passive, tau):
    """Forces that give the accelerations."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q) + read(u, d.u) + read(udot, d.udot) != OK:
        return REFUSED
    place(t, d, f)
    sweeps.inverse_dynamics(t, d, f, 0, t.parent.shape[0])
    if passive != 0:
        add_modal_forces(t, d, f, 1.0)
    write(d.tau, tau)
    return OK


@direct_entry(f"{CALL},f8[::1],f8[::1],i8,f8[::1])")
@packed
def forward_dynamics(tree, data, flex, q, u, tau, passive, udot):
    """Accelerations by forces: 0, REFUSED, or 2 + the index of a coordinate that sees no inertia."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q) + read(u, d.u) + read(tau, d.tau) != OK:
        return REFUSED
    if passive != 0:
        add_modal_forces(t, d, f, -1.0)
    status = int(sweeps.accelerations_of_state(t, d, f))
    write(d.udot, udot)
    return OK if status < 0 else 2 + status


@direct_entry(f"{CALL},f8[::1])")
def log_determinant(tree, data, flex, q, out):
    """ln det M without rows and columns of prescribed coordinates, to out[0]; returns as `forward_dynamics` does."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q) != OK:
        return REFUSED
    n = t.parent.shape[0]
    sweeps.positions(t, d, f, 0, n)
    status = int(sweeps.articulated_inertias(t, d, f, 0, n, 0.0))
    total = 0.0
    for k in range(d.Dinv.shape[0]):
        if t.prescribed[k] == 0:
            total -= math.log(d.Dinv[k])
    out[0] = total
    return OK if status < 0 else 2 + status


@direct_entry(f"{CALL},f8[:,::1])")
def momentum_matrix(tree, data, flex, q, A):
    """[angular about the world's origin; linear] momentum per unit velocities (6, coordinates)."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q) != OK:
        return REFUSED
    sweeps.positions(t, d, f, 0, t.parent.shape[0])
    sweeps.momentum_matrix(t, d, f, A)
    return OK


@direct_entry(f"{CALL},f8[::1],f8[::1])")
def sums(tree, data, flex, q, u, out):
    """Kinetic energy, potential energy, momentum (6,) about the world's origin, mass times centre of mass, and mass."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q) + read(u, d.u) != OK:
        return REFUSED
    place(t, d, f)
    out[0] = sweeps.kinetic_energy(t, d, f, 0, t.parent.shape[0])
    out[1] = sweeps.potential_energy(t, d)
    sweeps.momentum(t, d, f, out[2:8])
    sweeps.first_moment(t, d, out[8:])
    return OK


# Steps -------------------------------------------------------------------------------------------------------


@kernel
def evaluate(t, d, f, tau):
    """Accelerations at the positions of mid-step and the current velocities.

    Dampers act on velocities at the start of the step, and their implicit share in the inertias brings these to its
    end.
    """
    last = t.parent.shape[0]
    write(tau, d.tau)
    to_parent_axes(t, d, 0, last, d.tau)
    for k in range(d.u.shape[0]):
        d.tau[k] -= t.damping[k] * f.start_u[k]
    add_spring_forces(t, d, 0, last, d.tau)
    sweeps.velocities(t, d, f, 0, last)
    sweeps.accelerate(t, d, f, 0, last)


@kernel
def step(t, d, f, h, tau):
    """One step of the midpoint rule of worlds: half of the positions, velocities by a midpoint stage, then the rest."""
    last = t.parent.shape[0]
    write(d.u, f.start_u)
    advance(t, d, 0, last, 0.5 * h)
    sweeps.positions(t, d, f, 0, last)
    status = sweeps.articulated_inertias(t, d, f, 0, last, h)
    for share in (0.5, 1.0):
        evaluate(t, d, f, tau)
        for k in range(d.u.shape[0]):
            d.u[k] = f.start_u[k] + share * h * d.udot[k]
    advance(t, d, 0, last, 0.5 * h)
    return status


@entry("i8(i8,i8,i8,f8,i8,f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1])")
@packed
def steps(tree, data, flex, h, number, q, u, tau, Q, U):
    """Steps from (q, u), which are overwritten, under constant forces; states at the end of each go to Q and U.

    Free joints of kind FREE_MIXED have their linear velocities and forces in body axes here, as FREE ones do.

    Returns:
        0, REFUSED, 2 + the index of a coordinate that sees no inertia, or -1 - the step whose state is not finite.
    """
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    if read(q, d.q) + read(u, d.u) != OK or tau.shape[0] != q.shape[0]:
        return REFUSED
    last = t.parent.shape[0]
    to_parent_axes(t, d, 0, last, d.u)
    for s in range(number):
        status = int(step(t, d, f, h, tau))
        if status >= 0:
            return 2 + status
        write(d.q, q)
        write(d.u, u)
        to_body_axes(t, d, 0, last, u)
        total = 0.0
        for k in range(q.shape[0]):
            Q[s, k], U[s, k] = q[k], u[k]
            total += (q[k] + u[k]) * 0.0
        if total != 0.0:
            return -1 - s
    return OK
