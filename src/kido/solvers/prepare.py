"""What every solver needs before it starts: islands, own compliances, an admissible warm start."""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.solvers.cone import clamp, project_cone, project_spin
from kido.solvers.islands import build_islands
from kido.solvers.problem import BOUNDED, CONTACT
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
def number_deferred(c, island):
    """How many blocks of an island have no rows."""
    number = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        number += c.deferred[c.island_block[e]]
    return number


@kernel
def prepare_island(c, island):
    """Own compliances, and u = u_free + Y p of the warm start, of one island after `divide`.

    Where the rows of all its blocks are deferred, only the warm start is made admissible.
    """
    start, end = c.island_start[island], c.island_start[island + 1]
    deferred = number_deferred(c, island)
    if 0 < deferred < end - start:  # what was added to the problem after its assembly acts on them too
        c.make_rows(c, island)
        deferred = 0
    for e in range(start, end):
        b = c.island_block[e]
        if deferred == 0:
            own_compliance(c, b)
        clean_start(c, b)
        if deferred == 0:
            push_impulse(c, b)


@kernel
def clear_totals(c):
    """Totals of no island."""
    c.total_residual, c.total_speed, c.total_power = 0.0, 0.0, 0.0
    c.total_status, c.total_iterations, c.total_fallbacks, c.total_bounces = 0, 0, 0, 0


@kernel
def divide(c):
    """Islands, and u = u_free. Returns the number of islands."""
    clear_totals(c)
    for d in range(c.num_dofs):
        c.u[d] = c.u_free[d]
        c.u_position[d] = 0.0
    build_islands(c)
    return c.num_islands


@kernel
def start(c):
    """`divide`, and `prepare_island` for all islands. Returns the number of islands."""
    islands = divide(c)
    for island in range(islands):
        prepare_island(c, island)
    return islands


@kernel
def sum_up(c):
    """Fill the totals from the results of islands, in their order. Returns the worst status."""
    clear_totals(c)
    for island in range(c.num_islands):
        c.total_residual = max(c.total_residual, c.island_residual[island])
        c.total_speed = max(c.total_speed, c.island_speed[island])
        c.total_status = max(c.total_status, c.island_status[island])
        c.total_iterations += c.island_iterations[island]
        c.total_fallbacks += c.island_fallbacks[island]
        c.total_bounces += c.island_bounces[island]
        c.total_power += c.island_power[island]
    return c.total_status
