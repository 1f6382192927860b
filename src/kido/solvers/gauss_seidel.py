"""Block Gauss-Seidel on the exact Coulomb cone, in velocity space, with warm start and Anderson
acceleration.

A sweep visits the blocks of an island in order; each solves its own Coulomb problem exactly with all
other impulses fixed (`kido.solvers.cone`) and adds its response to u at once. Cost per sweep is
linear in blocks; no matrix is formed, but for islands of few long segments (`kido.solvers.row_space`).

Source: Jourdan, Alart and Jean 1998 (non-smooth Gauss-Seidel); the one-contact solve is our own.
"""

from __future__ import annotations

from kido.jit import callback, kernel, view
from kido.solvers.certify import measure_island, measure_rows
from kido.solvers.cone import solve_bounded, solve_contact, solve_spin
from kido.solvers.history import (
    LAST_G,
    NOW_X,
    VELOCITY_ROW,
    extrapolate,
    gather,
    load_rows,
    push_row,
    push_rows3,
    scatter_to,
)
from kido.solvers.problem import (
    BOUNDED,
    CONTACT,
    MAX_MEMORY,
    PROBLEM,
)
from kido.solvers.row_space import form_rows, has_room
from kido.solvers.rows import (
    INDEX,
    apply_impulses,
    bounded_velocity,
    contact_velocity,
    push_bounded,
    push_contact,
    spin_bounds,
)

MAX_DEFECT_GROWTH = 4.0  # growth of |f|^2 at which an extrapolation is taken back
CHECK_ROWS = 2  # sweeps between residuals in row velocities, which cost less than a sweep


@kernel
def relax_contact(c, b, v0, v1, v2):
    """Solve the Coulomb problem of contact b with all other impulses fixed, v its present velocity.

    Returns:
        The change of its impulse.
    """
    i = c.row[b] & INDEX
    p0 = c.impulse[i]
    p1 = c.impulse[i + 1]
    p2 = c.impulse[i + 2]
    w00 = c.W[b, 0]
    w01 = c.W[b, 1]
    w02 = c.W[b, 2]
    w11 = c.W[b, 3]
    w12 = c.W[b, 4]
    w22 = c.W[b, 5]
    # Slip per friction impulse as it is now, the first guess.
    alpha = 0.0
    power = v1 * p1 + v2 * p2
    if power < 0.0:
        alpha = -power / (p1 * p1 + p2 * p2)
    q0, q1, q2 = solve_contact(
        w00,
        w01,
        w02,
        w11,
        w12,
        w22,
        v0 - (w00 * p0 + w01 * p1 + w02 * p2),
        v1 - (w01 * p0 + w11 * p1 + w12 * p2),
        v2 - (w02 * p0 + w12 * p1 + w22 * p2),
        c.mu[b],
        c.floor[b],
        alpha,
    )
    c.impulse[i] = q0
    c.impulse[i + 1] = q1
    c.impulse[i + 2] = q2
    return q0 - p0, q1 - p1, q2 - p2


@kernel
def relax_spin(c, b, v0, v1, v2):
    """Solve the spin block b with all other impulses fixed, v its present velocity. Returns the change."""
    i = c.row[b] & INDEX
    p0 = c.impulse[i]
    p1 = c.impulse[i + 1]
    p2 = c.impulse[i + 2]
    w00 = c.W[b, 0]
    w01 = c.W[b, 1]
    w02 = c.W[b, 2]
    w11 = c.W[b, 3]
    w12 = c.W[b, 4]
    w22 = c.W[b, 5]
    alpha = 0.0
    power = v1 * p1 + v2 * p2
    if power < 0.0:
        alpha = -power / (p1 * p1 + p2 * p2)
    b0 = v0 - (w00 * p0 + w01 * p1 + w02 * p2)
    b1 = v1 - (w01 * p0 + w11 * p1 + w12 * p2)
    b2 = v2 - (w02 * p0 + w12 * p1 + w22 * p2)
    about, across = spin_bounds(c, b)
    q0, q1, q2 = solve_spin(w00, w01, w02, w11, w12, w22, b0, b1, b2, about, across, p1, p2, alpha)
    c.impulse[i] = q0
    c.impulse[i + 1] = q1
    c.impulse[i + 2] = q2
    return q0 - p0, q1 - p1, q2 - p2


@kernel
def relax_bounded(c, b, v):
    """Solve bounded row b with all other impulses fixed, v its present velocity. Returns the change."""
    i = c.row[b] & INDEX
    p = c.impulse[i]
    w = c.W[b, 0]
    q = solve_bounded(w, v - w * p, c.lower[b], c.upper[b])
    c.impulse[i] = q
    return q - p


@kernel
def sweep(c, island):
    """One Gauss-Seidel sweep over an island, in u."""
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        if c.kind[b] == BOUNDED:
            d0 = relax_bounded(c, b, bounded_velocity(c, b))
            if d0 != 0.0:
                push_bounded(c, b, d0)
        else:
            v0, v1, v2 = contact_velocity(c, b)
            if c.kind[b] == CONTACT:
                d0, d1, d2 = relax_contact(c, b, v0, v1, v2)
            else:
                d0, d1, d2 = relax_spin(c, b, v0, v1, v2)
            if d0 != 0.0 or d1 != 0.0 or d2 != 0.0:
                push_contact(c, b, d0, d1, d2)


@kernel
def sweep_rows(c, island):
    """One Gauss-Seidel sweep over an island, in the velocities of its rows."""
    first = c.island_row[island] & INDEX
    n = (c.island_row[island + 1] & INDEX) - first
    h = c.history
    k = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        v0 = h[VELOCITY_ROW, first + k]
        if c.kind[b] == BOUNDED:
            d0 = relax_bounded(c, b, v0)
            if d0 != 0.0:
                push_row(c, first, n, k, d0)
            k += 1
        else:
            v1 = h[VELOCITY_ROW, first + k + 1]
            v2 = h[VELOCITY_ROW, first + k + 2]
            if c.kind[b] == CONTACT:
                d0, d1, d2 = relax_contact(c, b, v0, v1, v2)
            else:
                d0, d1, d2 = relax_spin(c, b, v0, v1, v2)
            if d0 != 0.0 or d1 != 0.0 or d2 != 0.0:
                push_rows3(c, first, n, k, d0, d1, d2)
            k += 3


@callback
def gauss_seidel_island(address, island, cap, unused):
    """Sweep one island, accelerated, until it is solved (`measure_island`) or `cap` sweeps are done.

    Reads impulses and u, which must belong together; leaves both, and what `measure_island`
    sets. Numbers that are not finite stop it.

    Returns:
        The number of sweeps.
    """
    c = view(PROBLEM, address)
    memory = int(c.anderson)
    if memory > MAX_MEMORY:
        memory = MAX_MEMORY
    every = int(c.check_every)
    done = 0
    stored = -1
    column = 0
    last = 0.0
    in_rows = has_room(c, island)
    if in_rows:
        load_rows(c, island, VELOCITY_ROW)
        merit = measure_rows(c, island, VELOCITY_ROW)
    else:
        merit = measure_island(c, island)
    if not (merit > 1.0 and cap > 0):
        return 0
    if in_rows:
        form_rows(c, island)
        every = min(every, CHECK_ROWS)
        memory = min(2 * memory, MAX_MEMORY)
    while merit > 1.0 and done < cap:
        # Most islands at rest are done after two sweeps; the acceleration starts after them.
        accelerate = memory > 0 and done > 0
        for _ in range(min(cap - done, every if done > 0 else 2)):
            if accelerate:
                gather(c, island, NOW_X)
            if in_rows:
                sweep_rows(c, island)
            else:
                sweep(c, island)
            done += 1
            if accelerate:
                stored, column, size, moved = extrapolate(c, island, stored, column, memory)
                if moved:
                    scatter_to(c, island, NOW_X, in_rows)
                if stored > 1 and size > MAX_DEFECT_GROWTH * last:
                    scatter_to(c, island, LAST_G, in_rows)  # back to before the extrapolation
                    stored = -1
                    column = 0
                last = size
        merit = measure_rows(c, island, VELOCITY_ROW) if in_rows else measure_island(c, island)
    if in_rows:
        apply_impulses(c, island)
        measure_island(c, island)
    return done
