"""What every solver needs before it starts: islands, own compliances, an admissible warm start."""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.solvers.cone import clamp, project_cone, project_spin
from kido.solvers.islands import build_islands
from kido.solvers.problem import (
    BOUNDED,
    CONTACT,
    DOFS,
    ISLANDS,
    TOTAL_BOUNCES,
    TOTAL_FALLBACKS,
    TOTAL_ITERATIONS,
    TOTAL_POWER,
    TOTAL_RESIDUAL,
    TOTAL_SPEED,
    TOTAL_STATUS,
)
from kido.solvers.rows import INDEX, own_compliance, push_impulse, spin_bounds


@kernel
def clean_start(c, b):
    """Make the warm start of a block finite and admissible."""
    i = c.row[b] & INDEX
    if c.kind[b] != BOUNDED:
        if not math.isfinite(c.impulse[i] + c.impulse[i + 1] + c.impulse[i + 2]):
            for r in range(3):
                c.impulse[i + r] = 0.0
        if c.kind[b] == CONTACT:
            p0, p1, p2 = project_cone(c.impulse[i], c.impulse[i + 1], c.impulse[i + 2], c.mu[b], c.floor[b])
        else:
            about, across = spin_bounds(c, b)
            p0, p1, p2 = project_spin(c.impulse[i], c.impulse[i + 1], c.impulse[i + 2], about, across)
        c.impulse[i] = p0
        c.impulse[i + 1] = p1
        c.impulse[i + 2] = p2
    else:
        if not math.isfinite(c.impulse[i]):
            c.impulse[i] = 0.0
        c.impulse[i] = clamp(c.impulse[i], c.lower[b], c.upper[b])


@kernel
def prepare_island(c, island):
    """Own compliances, and u = u_free + Y p of the warm start, of one island after `divide`."""
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        own_compliance(c, b)
        clean_start(c, b)
        push_impulse(c, b)


@kernel
def divide(c):
    """Islands, and u = u_free. Returns the number of islands."""
    for i in range(c.total.shape[0]):
        c.total[i] = 0.0
    for d in range(c.count[DOFS]):
        c.u[d] = c.u_free[d]
        c.u_position[d] = 0.0
    build_islands(c)
    return c.count[ISLANDS]


@kernel
def start(c):
    """`divide`, and `prepare_island` for all islands. Returns the number of islands."""
    islands = divide(c)
    for island in range(islands):
        prepare_island(c, island)
    return islands


@kernel
def sum_up(c):
    """Fill `total` from the results of islands, in their order. Returns the worst status."""
    for i in range(c.total.shape[0]):
        c.total[i] = 0.0
    for island in range(c.count[ISLANDS]):
        c.total[TOTAL_RESIDUAL] = max(c.total[TOTAL_RESIDUAL], c.island_residual[island])
        c.total[TOTAL_SPEED] = max(c.total[TOTAL_SPEED], c.island_speed[island])
        c.total[TOTAL_STATUS] = max(c.total[TOTAL_STATUS], c.island_status[island])
        c.total[TOTAL_ITERATIONS] += c.island_iterations[island]
        c.total[TOTAL_FALLBACKS] += c.island_fallbacks[island]
        c.total[TOTAL_BOUNCES] += c.island_bounces[island]
        c.total[TOTAL_POWER] += c.island_power[island]
    return int(c.total[TOTAL_STATUS])
