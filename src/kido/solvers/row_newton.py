"""Newton's method in row space (`kido.solvers.newton`) for islands that are swept in row velocities.

Some sweeps find which contacts open, stick and slide; what is left is a smooth system of the island's rows, which
two or three of Newton's steps solve. W of the sweeps is its matrix.
"""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.solvers.certify import measure_island, merit
from kido.solvers.newton import newton_steps
from kido.solvers.problem import BOUNDED
from kido.solvers.row_space import VELOCITY_ROW
from kido.solvers.rows import INDEX, apply_impulses, step_length
from kido.solvers.vectors import BEST_ROW, FREE_ROW, SCALE_ROW, scatter


@kernel
def scale_rows(c, island, first, n):
    """Free velocities of the rows to FREE_ROW, these and `matrix` scaled so that each block has mean diagonal 1."""
    h, m = c.history, c.matrix
    for j in range(n):
        h[FREE_ROW, first + j] = h[VELOCITY_ROW, first + j]
    k = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        scale = math.sqrt(step_length(c, b))
        for r in range(1 if c.kind[b] == BOUNDED else 3):
            p = c.impulse[c.row[b] + r]
            for j in range(n):
                h[FREE_ROW, first + j] -= m[k, j] * p
            h[SCALE_ROW, first + k] = scale
            k += 1
    for k in range(n):
        scale = h[SCALE_ROW, first + k]
        h[FREE_ROW, first + k] *= scale
        for j in range(n):
            m[k, j] *= scale * h[SCALE_ROW, first + j]


@kernel
def newton_in_rows(c, island, cap):
    """At most `cap` of Newton's steps on an island that was swept in row velocities, and is not solved yet.

    Needs `matrix` and VELOCITY_ROW as the sweeps left them. Leaves impulses that are better than those it began with,
    or the same, with their u and what `measure_island` sets.

    Returns:
        The number of steps.
    """
    first = c.island_row[island] & INDEX
    n = (c.island_row[island + 1] & INDEX) - first
    scale_rows(c, island, first, n)
    done = newton_steps(c, island, first, n, merit(c, island), cap)
    scatter(c, island, BEST_ROW)
    apply_impulses(c, island)
    measure_island(c, island)
    return done
