"""Rows of `history`: impulses and velocities of an island as vectors, in its own order of blocks, and Anderson
acceleration of an iteration on them.

Columns of an island are [island_row[island], island_row[island + 1]). Solvers that do not run at the same time use the
same rows.

The acceleration (type II) is that of a fixed-point iteration x -> g(x) on the impulses. With f_k = g(x_k) - x_k, the
next iterate is g_k - sum_j z_j dG_j where z minimizes |f_k - sum_j z_j dF_j| over the last differences dF, dG. The Gram
matrix of dF is kept from step to step.

Source: Anderson 1965; Walker and Ni 2011.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.solvers.problem import BOUNDED, MAX_MEMORY
from kido.solvers.rows import (
    INDEX,
    bounded_velocity,
    contact_velocity,
    project_block,
    push_bounded,
    push_contact,
    set_impulse,
)

# Rows that several solvers use: free velocities, scales, the best impulses met, and a trial.
FREE_ROW, SCALE_ROW, BEST_ROW, TRIAL_ROW = 3, 4, 5, 6
VELOCITY_ROW = 2 * MAX_MEMORY + 6  # velocities of rows, where these are swept


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
def put_back(c, island, slot):
    """Set the island's impulses to a row of the history, as they are; u is left behind."""
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        for r in range(1 if c.kind[b] == BOUNDED else 3):
            c.impulse[c.row[b] + r] = c.history[slot, k]
            k += 1


@kernel
def load_rows(c, island, slot):
    """Velocities of the island's rows, from u and the impulses, which belong together, into a row of the history."""
    h = c.history
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        if c.kind[b] == BOUNDED:
            h[slot, k] = bounded_velocity(c, b)
            k += 1
        else:
            h[slot, k], h[slot, k + 1], h[slot, k + 2] = contact_velocity(c, b)
            k += 3


@kernel
def push_rows3(c, first, n, k, p0, p1, p2):
    """Add what impulses of three rows from the island's row k on do to its velocities, by W in `matrix`."""
    h, m = c.history, c.matrix
    for j in range(n):
        h[VELOCITY_ROW, first + j] += m[k, j] * p0 + m[k + 1, j] * p1 + m[k + 2, j] * p2


@kernel
def push_row(c, first, n, k, p):
    """Add what an impulse of the island's row k does to its velocities."""
    h, m = c.history, c.matrix
    for j in range(n):
        h[VELOCITY_ROW, first + j] += m[k, j] * p


@kernel
def scatter_to(c, island, slot, in_rows):
    """Set the island's impulses to a row of the history, made admissible, and carry u or the row velocities along."""
    h = c.history
    first = c.island_row[island] & INDEX
    n = (c.island_row[island + 1] & INDEX) - first
    k = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        x = first + k
        if c.kind[b] != BOUNDED:
            p0, p1, p2 = project_block(c, b, h[slot, x], h[slot, x + 1], h[slot, x + 2])
            d0, d1, d2 = set_impulse(c, b, p0, p1, p2)
            if d0 != 0.0 or d1 != 0.0 or d2 != 0.0:
                if in_rows:
                    push_rows3(c, first, n, k, d0, d1, d2)
                else:
                    push_contact(c, b, d0, d1, d2)
            k += 3
        else:
            p0, _, _ = project_block(c, b, h[slot, x], 0.0, 0.0)
            d0, _, _ = set_impulse(c, b, p0, 0.0, 0.0)
            if d0 != 0.0:
                if in_rows:
                    push_row(c, first, n, k, d0)
                else:
                    push_bounded(c, b, d0)
            k += 1


@kernel
def scatter(c, island, slot):
    """Set the island's impulses to a row of the history, made admissible, and carry u along."""
    scatter_to(c, island, slot, False)


@kernel
def adopt(c, island, slot, scales):
    """Set the island's impulses to the product of two rows of the history, as they are; u is left behind."""
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        for r in range(1 if c.kind[b] == BOUNDED else 3):
            c.impulse[c.row[b] + r] = c.history[slot, k] * c.history[scales, k]
            k += 1


# Rows of `history`: dG, then dF, then these.
LAST_G = 2 * MAX_MEMORY
LAST_F = 2 * MAX_MEMORY + 1
NOW_X = 2 * MAX_MEMORY + 2
NOW_F = 2 * MAX_MEMORY + 3


@kernel
def dot(h, i, j, first, n):
    """Inner product of two rows of the history."""
    w = 0.0
    x = 0.0
    y = 0.0
    z = 0.0
    k = first
    end = first + n
    while k + 3 < end:
        w += h[i, k] * h[j, k]
        x += h[i, k + 1] * h[j, k + 1]
        y += h[i, k + 2] * h[j, k + 2]
        z += h[i, k + 3] * h[j, k + 3]
        k += 4
    while k < end:
        w += h[i, k] * h[j, k]
        k += 1
    return (w + x) + (y + z)


@kernel
def solve_gram(c, m):
    """Solve (gram + tiny I) z = right side by Cholesky; z goes to column MAX_MEMORY + 1. False if singular.

    The right side is in column MAX_MEMORY; the factor is built in a copy kept in `gram`'s upper triangle.
    """
    g = c.gram
    trace = 0.0
    for i in range(m):
        trace += g[i, i]
    z = MAX_MEMORY + 1
    for i in range(m):
        # Factor row i into the strict upper triangle (transposed), its pivot into row MAX_MEMORY.
        pivot = g[i, i] + 1e-12 * trace + 1e-300
        for k in range(i):
            pivot -= g[k, i] * g[k, i] * g[MAX_MEMORY, k]
        if not pivot > 0.0:
            return False
        g[MAX_MEMORY, i] = pivot
        for j in range(i + 1, m):
            s = g[j, i]
            for k in range(i):
                s -= g[k, i] * g[k, j] * g[MAX_MEMORY, k]
            g[i, j] = s / pivot
        y = g[i, MAX_MEMORY]
        for k in range(i):
            y -= g[k, i] * g[k, z]
        g[i, z] = y
    for i in range(m - 1, -1, -1):
        y = g[i, z] / g[MAX_MEMORY, i]
        for j in range(i + 1, m):
            y -= g[i, j] * g[j, z]
        g[i, z] = y
    return True


@kernel
def extrapolate(c, island, stored, column, memory):
    """One step of the acceleration, after a sweep took NOW_X to the island's impulses.

    Args:
        stored: -1 before the first step, else the number of differences kept.
        column: where the next difference goes.
        memory: largest number of differences.

    Returns:
        (stored, column, |f|^2, whether NOW_X holds extrapolated impulses, which the caller is to adopt).
    """
    h = c.history
    first = c.island_row[island] & INDEX
    n = (c.island_row[island + 1] & INDEX) - first
    # NOW_X holds x; g is in the impulses. Afterwards NOW_X holds g and NOW_F holds f.
    gather(c, island, NOW_F)
    for k in range(first, first + n):
        g = h[NOW_F, k]
        h[NOW_F, k] = g - h[NOW_X, k]
        h[NOW_X, k] = g
    size = dot(h, NOW_F, NOW_F, first, n)
    if stored >= 0:
        df = MAX_MEMORY + column
        for k in range(first, first + n):
            h[column, k] = h[NOW_X, k] - h[LAST_G, k]
            h[df, k] = h[NOW_F, k] - h[LAST_F, k]
        if stored < memory:
            stored += 1
        for j in range(stored):
            w = dot(h, df, MAX_MEMORY + j, first, n)
            if j < column:
                c.gram[column, j] = w
            else:
                c.gram[j, column] = w
        column += 1
        if column == memory:
            column = 0
    else:
        stored = 0
    for k in range(first, first + n):
        h[LAST_G, k] = h[NOW_X, k]
        h[LAST_F, k] = h[NOW_F, k]
    moved = False
    if stored > 0:
        for j in range(stored):
            c.gram[j, MAX_MEMORY] = dot(h, NOW_F, MAX_MEMORY + j, first, n)
        moved = solve_gram(c, stored)
        if moved:
            for j in range(stored):
                z = c.gram[j, MAX_MEMORY + 1]
                for k in range(first, first + n):
                    h[NOW_X, k] -= z * h[j, k]
    return stored, column, size, moved
