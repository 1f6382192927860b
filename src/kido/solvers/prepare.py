"""What every solver needs before it starts: islands, own compliances, a clean warm start, finite data."""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.solvers.cone import clamp, project_cone
from kido.solvers.islands import build_islands
from kido.solvers.problem import (
    CONTACT,
    CONVERGED,
    DOFS,
    ISLANDS,
    NOT_FINITE,
)
from kido.solvers.rows import INDEX, apply_impulses, bounded_velocity, contact_velocity, own_compliance, reset_velocity


@kernel
def clean_start(c, b):
    """Make the warm start of a block finite and admissible."""
    i = c.row[b] & INDEX
    if c.kind[b] == CONTACT:
        if math.isfinite(c.impulse[i]) and math.isfinite(c.impulse[i + 1]) and math.isfinite(c.impulse[i + 2]):
            p0, p1, p2 = project_cone(c.impulse[i], c.impulse[i + 1], c.impulse[i + 2], c.mu[b], c.floor[b])
        else:
            p0 = 0.0
            p1 = 0.0
            p2 = 0.0
        c.impulse[i] = p0
        c.impulse[i + 1] = p1
        c.impulse[i + 2] = p2
    elif math.isfinite(c.impulse[i]):
        c.impulse[i] = clamp(c.impulse[i], c.lower[b], c.upper[b])
    else:
        c.impulse[i] = 0.0


@kernel
def block_is_finite(c, b):
    """Whether a block's own compliance, its material and its velocity are numbers."""
    total = c.W[b, 0]
    if c.kind[b] == CONTACT:
        for q in range(1, 6):
            total += c.W[b, q]
        v0, v1, v2 = contact_velocity(c, b)
        total += v0 + v1 + v2 + c.mu[b] + c.floor[b]
        return math.isfinite(total) and c.mu[b] >= 0.0 and c.W[b, 0] >= 0.0
    total += bounded_velocity(c, b)
    return math.isfinite(total) and c.lower[b] <= c.upper[b] and c.W[b, 0] >= 0.0


@kernel
def clear_island(c, island):
    """No impulses; the velocity is the free one."""
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        i = c.row[b] & INDEX
        c.impulse[i] = 0.0
        if c.kind[b] == CONTACT:
            c.impulse[i + 1] = 0.0
            c.impulse[i + 2] = 0.0
    reset_velocity(c, island)


@kernel
def start_island(c, island):
    """Own compliances and u of the warm start. An island whose data are not finite is cleared and marked."""
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        own_compliance(c, b)
        clean_start(c, b)
    apply_impulses(c, island)
    good = True
    for e in range(c.island_start[island], c.island_start[island + 1]):
        good = good and block_is_finite(c, c.island_block[e])
    c.island_status[island] = CONVERGED if good else NOT_FINITE
    if not good:
        clear_island(c, island)


@kernel
def start(c):
    """Islands, and every island made ready. Returns their number."""
    build_islands(c)
    for d in range(c.count[DOFS]):
        c.u[d] = c.u_free[d]
    for island in range(c.count[ISLANDS]):
        start_island(c, island)
    return c.count[ISLANDS]
