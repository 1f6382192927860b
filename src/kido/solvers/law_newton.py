"""Newton's method on the exact laws in body space, for islands of moderate size: few iterations from a warm start.

The laws of all blocks are linearized as they are (`kido.solvers.laws`), De Saxce's term and friction's dependence on
the normal impulse with them, so that the matrix K = M + J^T G J over the velocities of the island's segments is not
symmetric (`kido.solvers.body_lu`). With u the velocity that belongs to the present impulses p, an iteration is

    K du = J^T (q - p),    u <- u + du,    p <- q - G J du

Steps are full ones: of the islands that towers make when they topple, nearly all are solved in one to three, where
methods that let De Saxce's term or the cases of contacts lag behind take tens. What they do not solve is left as it
was: large piles, whose contacts change their cases by the hundred, need the safeguards of `kido.solvers.body_newton`.

Source: Alart and Curnier 1991.
"""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.solvers.body_lu import add_law, factor_both, has_lower_room, solve_both, start_both
from kido.solvers.body_matrix import DOF, NUM_SEGMENTS, PER_BLOCK, PLACES, SEGMENT_LENGTH, plan_island, table
from kido.solvers.body_newton import MAX_CONE_FRICTION, block_rates
from kido.solvers.certify import is_fine, measure_rows
from kido.solvers.history import BEST_ROW, TRIAL_ROW, gather, load_rows, scatter
from kido.solvers.laws import (
    FIRM_PENALTY,
    GOOD_MERIT,
    LAW_PENALTY,
    LAW_ROW,
    V,
    adapt,
    bounded_law,
    contact_law,
    follow_bounded,
    follow_contact,
    held_penalty,
)
from kido.solvers.problem import BOUNDED, CONTACT
from kido.solvers.rows import INDEX, apply_impulses, segment

FINE_ROWS = 30  # largest island, in rows, that is solved to `newton_tolerance` while it moves
PATIENCE = 8  # vain iterations in turn before it stops


@kernel
def has_laws(c, island):
    """Whether all blocks of an island are contacts and bounded rows between at most two segments of known mass.

    With some contact: one block alone, and joint rows alone, are solved by sweeps and in row space to rounding.
    """
    contacts = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        if c.more_count[b] != 0 or c.floor[b] != 0.0:
            return False
        for s in range(2):
            dof, length, _ = segment(c, b, s)
            if length > 0 and c.inertia_at[dof] == 0:
                return False
        if c.kind[b] == CONTACT:
            contacts += 1
            if c.mu[b] > MAX_CONE_FRICTION:
                return False
        elif c.kind[b] != BOUNDED:
            return False
    return contacts > 0 and c.island_start[island + 1] - c.island_start[island] > 1


@kernel
def add_pull(c, at, n, dof, r0, r1, r2, rows):
    """direction += J^T r of one row or three on a segment."""
    J, x = c.J, c.direction
    if rows == 1:
        for k in range(n):
            x[dof + k] += J[at + k] * r0
    else:
        for k in range(n):
            x[dof + k] += J[at + k] * r0 + J[at + n + k] * r1 + J[at + 2 * n + k] * r2


@kernel
def linearize_laws(c, island, penalty):
    """K and direction = J^T (q - p) at the present impulses and velocities of rows."""
    plan, h = c.plan, c.history
    start_both(c)
    for p in range(plan[NUM_SEGMENTS]):
        d = plan[table(c, DOF, p)]
        for k in range(d, d + plan[table(c, SEGMENT_LENGTH, p)]):
            c.direction[k] = 0.0
    k = c.island_row[island] & INDEX
    place = plan[PLACES]
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        i = c.row[b] & INDEX
        rows = 1 if c.kind[b] == BOUNDED else 3
        r0, r1, r2 = 0.0, 0.0, 0.0
        if rows == 1:
            g = bounded_law(c, k, b, penalty)
            if g != 0.0:
                add_law(c, b, place, g, 0.0, 0.0, 0.0, 0.0, 0.0, 1)
        else:
            gn, e1, e2, g11, g12, g22 = contact_law(c, k, b, penalty)
            if gn != 0.0:
                add_law(c, b, place, gn, e1, e2, g11, g12, g22, 3)
            r1 = h[LAW_ROW, k + 1] - c.impulse[i + 1]
            r2 = h[LAW_ROW, k + 2] - c.impulse[i + 2]
        r0 = h[LAW_ROW, k] - c.impulse[i]
        add_pull(c, c.at_a[b] & INDEX, c.len_a[b] & INDEX, c.dof_a[b] & INDEX, r0, r1, r2, rows)
        add_pull(c, c.at_b[b] & INDEX, c.len_b[b] & INDEX, c.dof_b[b] & INDEX, r0, r1, r2, rows)
        k += rows
        place += PER_BLOCK


@kernel
def follow_laws(c, island):
    """Impulses and velocities of rows after the change of u by `direction`."""
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        d0, d1, d2 = block_rates(c, b, c.direction)
        if c.kind[b] == BOUNDED:
            follow_bounded(c, k, b, d0)
            k += 1
        else:
            follow_contact(c, k, b, d0, d1, d2)
            k += 3


@kernel
def iterate_laws(c, island, penalty):
    """One iteration. Returns the merit reached, infinite if there is none."""
    linearize_laws(c, island, penalty)
    if not factor_both(c):
        return math.inf
    solve_both(c, c.direction)
    follow_laws(c, island)
    return measure_rows(c, island, V)


@kernel
def settle(c, island, slot):
    """Set the impulses to a row of the history, made admissible, with u and V. Returns their merit."""
    scatter(c, island, slot)
    apply_impulses(c, island)
    load_rows(c, island, V)
    return measure_rows(c, island, V)


@kernel
def solve_laws(c, island, cap):
    """Newton's method on one island until it is solved (`measure_island`) or `cap` iterations are done.

    One more is done where that leaves more than `newton_tolerance` in at most FINE_ROWS rows. Reads impulses and u,
    which must belong together; leaves the impulses reached, made admissible, if they are better, else those it began
    with, with their u and what `measure_island` sets.

    Returns:
        The number of iterations; -1 where the island has blocks without such laws, no room, or unknown masses.
    """
    if not has_laws(c, island):
        return -1
    load_rows(c, island, V)
    merit = measure_rows(c, island, V)
    if merit <= 1.0 or not math.isfinite(merit):
        return 0
    if not (plan_island(c, island) and has_lower_room(c)):
        return -1
    gather(c, island, TRIAL_ROW)
    start = best = merit
    done, vain = 0, 0.0
    penalty = LAW_PENALTY
    fine = c.island_row[island + 1] - c.island_row[island] <= FINE_ROWS
    while done < cap and vain < PATIENCE and merit > 1.0 and math.isfinite(merit):
        while done < cap and vain < PATIENCE and merit > GOOD_MERIT and math.isfinite(merit):
            last = merit
            merit = iterate_laws(c, island, held_penalty(vain, penalty))
            done += 1
            best, vain, penalty = adapt(merit, last, best, vain, penalty)
        if merit <= GOOD_MERIT and fine and not is_fine(c, island):
            break
        if math.isfinite(merit):
            gather(c, island, BEST_ROW)
            merit = settle(c, island, BEST_ROW)
    if merit <= 1.0 and fine and not is_fine(c, island):
        start = merit
        gather(c, island, TRIAL_ROW)
        merit = iterate_laws(c, island, FIRM_PENALTY)
        done += 1
        if math.isfinite(merit):
            gather(c, island, BEST_ROW)
            merit = settle(c, island, BEST_ROW)
    if not merit < start:
        settle(c, island, TRIAL_ROW)
    return done
