"""Steps in several threads: islands shared out by a team that serves while steps are done.

Each island is computed by itself, in the same way whoever does it, so that results are bit-identical at any number of
threads. Trees are shared out by `predict` and `integrate`, contacts of free bodies by `midpoint_problem`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kido.collision.detector import NativeDetector
from kido.collision.shared_narrow import SharedNarrow, can_share, detect_together
from kido.jit import JIT_DISABLED, Struct, callback, view
from kido.jit.team import Team, share_out
from kido.simulation.feature import Feature
from kido.simulation.midpoint_problem import assemble_share, follow_share
from kido.simulation.predict import predict_share
from kido.simulation.world_struct import WORLD
from kido.solvers import begin_islands, end_islands, project_one, solve_one, worker_problem

if TYPE_CHECKING:
    from kido.simulation.engine import Engine


ROWS_TOGETHER = 128  # rows of islands that a thread takes at a time, if islands were all alike


@callback
def solve_share(address, begin, end, worker):
    """Solve the islands begin..end-1 in the arrays of a thread. Returns 0."""
    w = view(WORLD, address)
    for island in range(begin, end):
        w.solve_one(w.problem_of[worker], island)
    return 0


@callback
def project_share(address, begin, end, worker):
    """Position correction of the islands begin..end-1. Returns 0."""
    w = view(WORLD, address)
    for island in range(begin, end):
        w.project_one(w.problem_of[worker], island)
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


@callback
def detect_in_threads(world, unused_1, unused_2, unused_3):
    """Contacts at the mid-step poses, pairs shared out. Returns the detector's status."""
    return detect_together(view(WORLD, world).narrow)


MIN_DOFS = 150  # below, a step takes less time than threads need to come and go
MIN_TREES = 4
DOFS_TOGETHER, MAX_TREES_TOGETHER = 48, 8  # coordinates, and trees, that a thread takes at a time


class StepThreads(Feature):
    """The team of a world, and what each of its threads works in; none where one thread is as quick."""

    engine: Engine

    def __init__(self, engine: Engine):
        super().__init__(engine)
        self.number = 1
        self.teams: list[Team] = []  # one or none
        self.problems: list[Struct] = []
        self.narrow: list[SharedNarrow] = []  # one or none

    @property
    def is_active(self) -> bool:
        return bool(self.teams)

    def options_changed(self) -> None:
        tree, threads = self.engine.tree, self.engine.options.threads
        dofs, trees = len(tree.body_of_dof), int(tree.tree_mobile.sum())
        self.engine.world.share = max(1, min(MAX_TREES_TOGETHER, DOFS_TOGETHER * trees // max(dofs, 1)))
        if threads == self.number:
            return
        self.number, self.teams, self.problems, self.narrow = threads, [], [], []
        if threads > 1 and not JIT_DISABLED and dofs >= MIN_DOFS and trees >= MIN_TREES:
            self.teams = [Team(threads)]
            self.engine.set_threads(self.teams[0].threads)

    def stages(self) -> dict[str | int, Any]:
        if not self.teams:
            return {}
        shared = {"detect": detect_in_threads} if self._shares_pairs() else {}
        return {
            **shared,
            "solve": solve_in_threads,
            "project_positions": project_in_threads,
            "predict_share": predict_share,
            "assemble_share": assemble_share,
            "follow_share": follow_share,
            "solve_share": solve_share,
            "project_share": project_share,
            "begin_islands": begin_islands,
            "solve_one": solve_one,
            "end_islands": end_islands,
            "project_one": project_one,
        }

    def _shares_pairs(self) -> bool:
        """Whether threads find contacts together."""
        detector = self.engine.detector
        return type(detector) is NativeDetector and can_share(detector.container)

    def structs(self) -> dict[str, Struct | None]:
        if not self.teams:
            return {"team": None, "narrow": None}
        narrow = None
        if self._shares_pairs():
            c = self.engine.detector.container
            if not self.narrow or self.narrow[0].detector is not c:
                self.narrow = [SharedNarrow(c, self.teams[0].container, self.teams[0].threads)]
            narrow = self.narrow[0].container
        problem, threads = self.engine.problem, self.teams[0].threads
        if not self.problems or self.problems[0] is not problem:
            self.problems = [problem, *(worker_problem(problem, k) for k in range(1, threads))]
            self.engine.world.problem_of[:threads] = [p.address for p in self.problems]
        return {"team": self.teams[0].container, "narrow": narrow}
