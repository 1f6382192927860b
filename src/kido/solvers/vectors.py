"""Impulses of an island as a row of `history`, in the island's own order of blocks.

Columns of an island are [island_row[island], island_row[island + 1]).
"""

from __future__ import annotations

from kido.jit import kernel
from kido.solvers.cone import clamp, project_cone, project_spin
from kido.solvers.problem import BOUNDED, CONTACT
from kido.solvers.rows import INDEX, push_bounded, push_contact, spin_bounds

# Rows that several solvers use: free velocities, scales, the best impulses met, and a trial.
FREE_ROW, SCALE_ROW, BEST_ROW, TRIAL_ROW = 3, 4, 5, 6


@kernel
def gather(c, island, slot):
    """Copy the island's impulses, block after block, into a row of the history."""
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        i = c.row[b] & INDEX
        c.history[slot, k] = c.impulse[i]
        k += 1
        if c.kind[b] != BOUNDED:
            c.history[slot, k] = c.impulse[i + 1]
            c.history[slot, k + 1] = c.impulse[i + 2]
            k += 2


@kernel
def scatter(c, island, slot):
    """Set the island's impulses to a row of the history, made admissible, and carry u along."""
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        i = c.row[b] & INDEX
        if c.kind[b] != BOUNDED:
            if c.kind[b] == CONTACT:
                p0, p1, p2 = project_cone(
                    c.history[slot, k], c.history[slot, k + 1], c.history[slot, k + 2], c.mu[b], c.floor[b]
                )
            else:
                about, across = spin_bounds(c, b)
                p0, p1, p2 = project_spin(
                    c.history[slot, k], c.history[slot, k + 1], c.history[slot, k + 2], about, across
                )
            d0 = p0 - c.impulse[i]
            d1 = p1 - c.impulse[i + 1]
            d2 = p2 - c.impulse[i + 2]
            c.impulse[i] = p0
            c.impulse[i + 1] = p1
            c.impulse[i + 2] = p2
            k += 3
            if d0 != 0.0 or d1 != 0.0 or d2 != 0.0:
                push_contact(c, b, d0, d1, d2)
        else:
            p0 = clamp(c.history[slot, k], c.lower[b], c.upper[b])
            d0 = p0 - c.impulse[i]
            c.impulse[i] = p0
            k += 1
            if d0 != 0.0:
                push_bounded(c, b, d0)


@kernel
def adopt(c, island, slot, scales):
    """Set the island's impulses to the product of two rows of the history, as they are; u is left behind."""
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        for r in range(1 if c.kind[b] == BOUNDED else 3):
            c.impulse[c.row[b] + r] = c.history[slot, k] * c.history[scales, k]
            k += 1
