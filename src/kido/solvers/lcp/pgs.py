"""Projected Gauss-Seidel on the boxed LCP: a friction pyramid whose bounds follow the normal impulses.

Row after row, with v the row's velocity, w its own compliance and omega the relaxation:

    p <- clamp(p - omega v / w, lower, upper)

for a normal impulse with bounds [floor, inf), then for each tangent with bounds [-mu p_n, mu p_n] of the
normal impulse just found. Nothing but multiply and add, on islands of any size, from a warm start; linear
convergence, slow for tall stacks and unequal masses.

What the box costs: sliding along the diagonal of its two tangents meets sqrt(2) mu p_n, and slip is not
opposite to friction but for the tangents' own directions.

Source: Erleben, Numerical methods for linear complementarity problems in physics-based animation (2013).
"""

from __future__ import annotations

import math

from kido.jit import callback, kernel, view
from kido.solvers.cone import clamp
from kido.solvers.problem import CAPPED, CONTACT, OWN_SOLVED, PROBLEM, SPIN_BLOCK
from kido.solvers.rows import INDEX, apply_impulses, extra_velocity, push1, push_extra, spin_bounds, velocity1


@kernel
def relax_row(c, b, r, w, lower, upper, relaxation):
    """Update one row's impulse and u. Returns the change of the impulse."""
    i = (c.row[b] & INDEX) + r
    na = c.len_a[b] & INDEX
    nb = c.len_b[b] & INDEX
    a = (c.at_a[b] & INDEX) + r * na
    e = (c.at_b[b] & INDEX) + r * nb
    da = c.dof_a[b] & INDEX
    db = c.dof_b[b] & INDEX
    p = c.impulse[i]
    if w > 0.0:
        v = velocity1(c.J, a, na, c.u, da) + velocity1(c.J, e, nb, c.u, db) + c.bias[i] + c.compliance[i] * p
        if c.more_count[b] != 0:
            v += extra_velocity(c, b, r, c.u)
        q = clamp(p - relaxation * v / w, lower, upper)
    else:
        q = clamp(0.0, lower, upper)
    if q != p:
        push1(c.Y, a, na, c.u, da, q - p)
        push1(c.Y, e, nb, c.u, db, q - p)
        if c.more_count[b] != 0:
            push_extra(c, b, r, c.u, q - p)
        c.impulse[i] = q
    return q - p


@kernel
def box_sweep(c, island, relaxation):
    """One sweep over an island. Returns the sums of squares of impulses and of their changes."""
    change2 = 0.0
    impulse2 = 0.0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        i = c.row[b] & INDEX
        if c.kind[b] == CONTACT:
            d0 = relax_row(c, b, 0, c.W[b, 0], c.floor[b], math.inf, relaxation)
            bound = c.mu[b] * c.impulse[i]
            d1 = relax_row(c, b, 1, c.W[b, 3], -bound, bound, relaxation)
            d2 = relax_row(c, b, 2, c.W[b, 5], -bound, bound, relaxation)
            change2 += d0 * d0 + d1 * d1 + d2 * d2
            impulse2 += c.impulse[i + 1] * c.impulse[i + 1] + c.impulse[i + 2] * c.impulse[i + 2]
        elif c.kind[b] == SPIN_BLOCK:
            about, across = spin_bounds(c, b)
            d0 = relax_row(c, b, 0, c.W[b, 0], -about, about, relaxation)
            d1 = relax_row(c, b, 1, c.W[b, 3], -across, across, relaxation)
            d2 = relax_row(c, b, 2, c.W[b, 5], -across, across, relaxation)
            change2 += d0 * d0 + d1 * d1 + d2 * d2
            impulse2 += c.impulse[i + 1] * c.impulse[i + 1] + c.impulse[i + 2] * c.impulse[i + 2]
        else:
            d0 = relax_row(c, b, 0, c.W[b, 0], c.lower[b], c.upper[b], relaxation)
            change2 += d0 * d0
        impulse2 += c.impulse[i] * c.impulse[i]
    return impulse2, change2


@callback
def pgs_island(address, island, cap, unused):
    """Sweep one island until a sweep changes the impulses by less than `change_tolerance` of themselves.

    Reads impulses and u, which must belong together, and leaves both.

    Returns:
        The number of sweeps, at most `cap`.
    """
    c = view(PROBLEM, address)
    tolerance = c.change_tolerance
    ended = CAPPED
    done = 0
    while done < cap and ended != OWN_SOLVED:
        impulse2, change2 = box_sweep(c, island, c.relaxation)
        done += 1
        if change2 <= tolerance * tolerance * impulse2:
            ended = OWN_SOLVED
    apply_impulses(c, island)  # free of the rounding of all these changes
    c.island_ended[island] = ended
    return done
