"""Anderson acceleration (type II) of a fixed-point iteration x -> g(x) on the impulses of one island.

With f_k = g(x_k) - x_k, the next iterate is g_k - sum_j z_j dG_j where z minimizes |f_k - sum_j z_j dF_j|
over the last differences dF, dG. The Gram matrix of dF is kept from step to step. Iterates live in
`history`, at columns [first, first + n) of the island's own.

Source: Anderson 1965; Walker and Ni 2011.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.solvers.problem import MAX_MEMORY
from kido.solvers.rows import INDEX
from kido.solvers.vectors import gather

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
