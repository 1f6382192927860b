"""A world's step in several threads: shares of trees and islands, by a team that serves while steps are done.

Smooth motion and the last stage are shared out by trees (skeletons), contacts by islands. Each is computed by itself,
in the same way whoever does it, so that results are bit-identical at any number of threads.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from kido.jit import JIT_DISABLED, Struct, call4, callback, view
from kido.jit.team import Team, share_out
from kido.simulation import schema
from kido.simulation.integrate import integrate_share
from kido.simulation.predict import predict_share
from kido.simulation.schema import (
    BEGIN_ISLANDS,
    END_ISLANDS,
    PROBLEM_AT,
    PROJECT_ONE,
    PROJECT_SHARE,
    SOLVE_ONE,
    SOLVE_SHARE,
    TEAM_AT,
    WORLD,
)
from kido.solvers import begin_islands, end_islands, project_one, solve_one, worker_problem
from kido.solvers.problem import PROBLEM

MIN_DOFS = 150  # below, a step takes less time than threads need to come and go
MIN_TREES = 4
DOFS_TOGETHER, MAX_TREES_TOGETHER = 48, 8  # coordinates, and trees, that a thread takes at a time
ROWS_TOGETHER = 128  # rows of islands that a thread takes at a time, if islands were all alike


@callback
def solve_share(address, begin, end, worker):
    """Solve the islands begin..end-1 in the arrays of a thread. Returns 0."""
    w = view(WORLD, address)
    for island in range(begin, end):
        call4(w.table[SOLVE_ONE], w.problem_of[worker], island, 0, 0)
    return 0


@callback
def project_share(address, begin, end, worker):
    """Position correction of the islands begin..end-1. Returns 0."""
    w = view(WORLD, address)
    for island in range(begin, end):
        call4(w.table[PROJECT_ONE], w.problem_of[worker], island, 0, 0)
    return 0


@callback
def solve_in_threads(address, unused_1, unused_2, unused_3):
    """Solve the problem of a world, islands shared out. Returns the worst status."""
    w = view(WORLD, address)
    problem = w.table[PROBLEM_AT]
    pr = view(PROBLEM, problem)
    islands = call4(w.table[BEGIN_ISLANDS], problem, 0, 0, 0)
    size = 1 + ROWS_TOGETHER * islands // (pr.num_rows + ROWS_TOGETHER)
    share_out(w.table[TEAM_AT], w.table[SOLVE_SHARE], address, islands, size)
    return call4(w.table[END_ISLANDS], problem, 0, 0, 0)


@callback
def project_in_threads(address, unused_1, unused_2, unused_3):
    """Position correction of a world, islands shared out. Returns 0."""
    w = view(WORLD, address)
    pr = view(PROBLEM, w.table[PROBLEM_AT])
    for k in range(pr.num_dofs):
        pr.u_position[k] = 0.0
    islands = pr.num_islands
    size = 1 + 4 * ROWS_TOGETHER * islands // (pr.num_rows + ROWS_TOGETHER)
    share_out(w.table[TEAM_AT], w.table[PROJECT_SHARE], address, islands, size)
    return 0


STAGES: dict[int, Any] = {
    schema.SOLVE_TEAM: solve_in_threads,
    schema.PROJECT_TEAM: project_in_threads,
    schema.PREDICT_SHARE: predict_share,
    schema.INTEGRATE_SHARE: integrate_share,
    schema.SOLVE_SHARE: solve_share,
    schema.PROJECT_SHARE: project_share,
    schema.BEGIN_ISLANDS: begin_islands,
    schema.SOLVE_ONE: solve_one,
    schema.END_ISLANDS: end_islands,
    schema.PROJECT_ONE: project_one,
}


class StepThreads:
    """The team of a world, and what each of its threads works in.

    Args:
        threads: how many, the one that steps among them.
        world: the WORLD container.
    """

    def __init__(self, threads: int, world: Struct):
        self.team = Team(threads)
        self.world = world
        self.problems: list[Struct] = []

    def link(self, problem: Struct) -> None:
        """Enter the team into the world's table; `problem` is solved from now on."""
        if not self.problems or self.problems[0] is not problem:
            self.problems = [problem, *(worker_problem(problem) for _ in range(1, self.team.threads))]
            self.world.problem_of[: len(self.problems)] = [p.address for p in self.problems]
        self.world.table[schema.TEAM_AT] = self.team.address

    def working(self) -> AbstractContextManager[None]:
        """Within it the team serves."""
        return self.team.working()


def step_threads(threads: int, world: Struct, tree: Struct) -> StepThreads | None:
    """Threads for a world's step, or None where one thread is as quick."""
    dofs, trees = len(tree.body_of_dof), int(tree.tree_mobile.sum())
    world.share[0] = max(1, min(MAX_TREES_TOGETHER, DOFS_TOGETHER * trees // max(dofs, 1)))
    if threads == 1 or JIT_DISABLED or dofs < MIN_DOFS or trees < MIN_TREES:
        return None
    return StepThreads(threads, world)
