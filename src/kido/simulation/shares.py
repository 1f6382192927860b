"""Stages of a step in several threads: islands shared out by a team that serves while steps are done.

Each island is computed by itself, in the same way whoever does it, so that results are bit-identical at any number of
threads. Trees are shared out by `predict` and `integrate`.
"""

from __future__ import annotations

from kido.jit import callback, view
from kido.jit.team import share_out
from kido.simulation.schema import WORLD

ROWS_TOGETHER = 128  # rows of islands that a thread takes at a time, if islands were all alike


@callback
def solve_share(address, begin, end, worker):
    """Solve the islands begin..end-1 in the arrays of a thread. Returns 0."""
    w = view(WORLD, address)
    for island in range(begin, end):
        w.solve_island(w.problem_of[worker], island)
    return 0


@callback
def project_share(address, begin, end, worker):
    """Position correction of the islands begin..end-1. Returns 0."""
    w = view(WORLD, address)
    for island in range(begin, end):
        w.project_island(w.problem_of[worker], island)
    return 0


@callback
def solve_in_threads(address, unused_1, unused_2, unused_3):
    """Solve the problem of a world, islands shared out. Returns 0."""
    w = view(WORLD, address)
    pr = w.problem
    islands = w.begin_islands(pr)
    size = 1 + ROWS_TOGETHER * islands // (pr.num_rows + ROWS_TOGETHER)
    share_out(w.team.address, w.solve_share.address, address, islands, size)
    w.end_islands(pr)
    return 0


@callback
def project_in_threads(problem, address, unused_2, unused_3):
    """Position correction of a world, islands shared out. Returns 0."""
    w = view(WORLD, address)
    pr = w.problem
    for k in range(pr.num_dofs):
        pr.u_position[k] = 0.0
    islands = pr.num_islands
    size = 1 + 4 * ROWS_TOGETHER * islands // (pr.num_rows + ROWS_TOGETHER)
    share_out(w.team.address, w.project_share.address, address, islands, size)
    return 0
