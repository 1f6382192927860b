"""Whole solves of hierarchies in compiled code: descents by levels, their ends, and new starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import empty
from numpy.typing import NDArray

from kido.errors import StateError
from kido.ik.differential.arrays import CONTRADICTION
from kido.ik.differential.descent import DESCENT, LEVELS_MET, LEVELS_STALLED, OUT_OF_ITERATIONS, descend
from kido.ik.differential.stepper import Stepper, failure
from kido.ik.engine.arrays import sampled_positions
from kido.ik.engine.build import dofs_moving
from kido.ik.engine.tasks import EQUATION, RANGE
from kido.ik.limits import CollisionAvoidance, HalfSpaces
from kido.ik.model import tree_of
from kido.ik.part import Module
from kido.ik.solver import IkSolver
from kido.optimization.dense_qp.arrays import INFEASIBLE

if TYPE_CHECKING:
    from kido.ik.tasks import Task
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]

WITHIN = 0.5  # of tolerances, in which descents end
DISPLACEMENT = 0.1  # [rad, m]
RESTART_SAMPLES = 64  # positions to begin new searches of the first level at
HARD_TOLERANCE = 1e-8  # [m, rad] by which half spaces, distances and limits of ball and free joints may be missed
_SETTINGS = {
    "damping": 1e-12, "error_damping": 0.0, "least_singular_value": 0.0, "share": 1.0, "recovery_speed": 0.1,
}  # fmt: skip


@dataclass
class Descended:
    """Where a descent ended.

    Attributes:
        q: positions (dofs,).
        status: of `kido.ik.differential.descent`.
        iterations: steps.
        cost, size: (levels + 1,) of hard rows and of each level there.
        message: what contradicts, if nothing can be done.
    """

    q: Array
    status: int
    iterations: int
    cost: Array
    size: Array
    message: str = ""


class LevelDescent(Stepper):
    """Descents of the tasks of modules, by level.

    Args:
        skeleton: what is moved.
        modules: with their tasks.
        spaces, avoided: what holds before all levels.
        dofs: (n,) places of the active coordinates.
        largest_step: of a coordinate in an iteration [rad, m].
    """

    def __init__(
        self,
        skeleton: Skeleton,
        modules: Sequence[tuple[Module, Task]],
        spaces: Sequence[HalfSpaces],
        avoided: Sequence[CollisionAvoidance],
        dofs: NDArray[np.int64],
        largest_step: float,
    ):
        tasks = [replace(task, gain=1.0) for _, task in modules]
        super().__init__(skeleton, tasks, (), spaces, avoided, dofs, True, largest_step, None, _SETTINGS)
        made, self._dofs = self.made, dofs
        made.own.time_step = 1.0
        levels = sorted({task.priority for task in tasks})
        self.levels = len(levels)
        self._descent = w = DESCENT(
            tasks=len(made.tasks.framed),
            columns=len(dofs),
            rows=len(made.tasks.e),
            levels1=len(levels) + 1,
            dofs=skeleton.num_dofs,
        )
        w.tolerance[0] = WITHIN * HARD_TOLERANCE
        for k, level in enumerate(levels):
            least = min(ik.error_method.tolerance for ik, task in modules if task.priority == level)
            w.tolerance[k + 1] = WITHIN * max(least, 1e-9)
        w.level_of[: len(tasks)] = [levels.index(task.priority) for task in tasks]
        column = np.full(skeleton.num_dofs, -1)
        column[dofs] = np.arange(len(dofs))
        for k, (ik, task) in enumerate(modules):
            own = column[ik.dof_indices]
            if (own < 0).any():
                raise StateError(f"{ik!r} has coordinates that are not among those of its hierarchy")
            moved = column[dofs_moving(skeleton, task)]
            w.own[k, own] = 1
            w.masked[k] = int(not np.isin(moved[moved >= 0], own).all())
        self._first = [task for task in tasks if levels and task.priority == levels[0]]
        self._search: IkSolver | None = None
        self.limit()

    # Limits ----------------------------------------------------------------------------------------------------

    def limit(self, lower: Any = -np.inf, upper: Any = np.inf, reach: Any = np.inf) -> None:
        """Positions (n,) that are not left, beside joint limits, and how far each coordinate may move in all."""
        w = self._descent
        w.least[:], w.most[:], w.reach[:] = lower, upper, reach

    # Solving ---------------------------------------------------------------------------------------------------

    def solve(self, start: Array, most: int, nudges: int, restarts: int, seed: int) -> Descended:
        """Positions where the levels are met, the first ones first; the best that were found.

        Args:
            start: positions (dofs,).
            most: steps of an attempt.
            nudges: how often to go on from a displaced pose where no step comes nearer.
            restarts: how often to begin anew while the first level is not met, at a pose that meets it.
            seed: of displacements and new starts.
        """
        if self.moving:
            self.follow_targets()
        self.pairs.place()
        self._start = start
        found = self._settled(start, most, nudges, seed)
        first = 2 if self.levels else 1
        limit = self._descent.tolerance
        for k in range(0 if self._is_short() else restarts):
            if not (found.size[:first] > limit[:first]).any():
                break
            seeds = self._first_level(start, k, seed)
            if seeds is None:
                break
            other = self._settled(seeds[0], most, 0, seed)
            found = self._better(found, other)
            if not seeds[1]:  # the first level cannot be met
                break
        return found

    def _is_short(self) -> bool:
        """Whether the way is limited."""
        return bool(np.isfinite(self._descent.reach).any())

    def _within(self, q: Array) -> Array:
        """Positions (dofs,) put within limits."""
        tree, w = tree_of(self.skeleton), self._descent
        assert tree is not None
        q = np.clip(q, tree.lower, tree.upper)
        q[self._dofs] = np.clip(q[self._dofs], w.least, w.most)
        return q

    def _settled(self, q: Array, most: int, nudges: int, seed: int) -> Descended:
        """The end of a descent, and of descents from displaced poses if it is none of all levels."""
        found = self._finished(q, most)
        rng, w = np.random.default_rng(seed), self._descent
        for _ in range(nudges):
            if found.status != LEVELS_STALLED or found.iterations >= most:
                break
            u = np.zeros(len(q))
            u[self._dofs] = DISPLACEMENT * rng.uniform(-1.0, 1.0, len(self._dofs))
            if self._is_short():
                moved = self.skeleton.position_differences(found.q, self._start)[self._dofs]
                u[self._dofs] = np.clip(u[self._dofs], -w.reach - moved, w.reach - moved)
            moved = self._within(self.skeleton.integrate_positions(found.q, u))
            found = self._better(found, self._finished(moved, most - found.iterations))
        return found

    def _better(self, found: Descended, other: Descended) -> Descended:
        """The better of two by their levels, with the iterations of both."""
        used, limit = found.iterations + other.iterations, self._descent.tolerance
        for a, b, x, y, tolerance in zip(found.cost, other.cost, found.size, other.size, limit):
            if (x <= tolerance and y <= tolerance) or 0.99 * a <= b <= 1.01 * a:
                continue
            return replace(other if b < a else found, iterations=used)
        return replace(found, iterations=used)

    def _finished(self, q: Array, most: int) -> Descended:
        """The end of a descent; if it does not meet all levels, the levels before the last missed one, exactly."""
        found = self._descend(q, self.levels, most)
        limit, last = self._descent.tolerance, self.levels + 1
        while found.status in (LEVELS_STALLED, OUT_OF_ITERATIONS) and found.iterations < most:
            missed = np.flatnonzero(found.size[:last] > limit[:last])
            if len(missed) < 2 or missed[-1] < 2:
                break
            last = int(missed[-1])
            again = self._descend(found.q, last - 1, most - found.iterations)
            status = LEVELS_STALLED if again.status == LEVELS_MET else again.status
            found = replace(again, status=status, iterations=found.iterations + again.iterations)
        return found

    def _descend(self, q: Array, levels: int, most: int) -> Descended:
        w, own, after = self.workspace, self._descent, empty(self.workspace.dofs)
        if self._is_short():
            own.moved[:] = self.skeleton.position_differences(q, self._start)[self._dofs]
        status = descend.call(w.tree, w.data, *self.addresses, own.address, q, levels, most, after)
        if status in (LEVELS_MET, LEVELS_STALLED, OUT_OF_ITERATIONS):
            return Descended(after, status, own.used, own.cost.copy(), own.size.copy())
        error = failure(self.skeleton, self.made, self.tasks, len(self.tasks), self.pairs.things, status, q)
        if status in (INFEASIBLE, CONTRADICTION):
            return Descended(after, status, own.used, own.cost.copy(), own.size.copy(), str(error))
        raise error

    def _first_level(self, start: Array, number: int, seed: int) -> tuple[Array, bool] | None:
        """Positions that meet the tasks of the first level by themselves, and whether they do; None: no such tasks."""
        tasks = [task for task in self._first if task.kind.for_positions]
        if not tasks:
            return None
        if self._search is None:
            self._search = IkSolver(tasks, self._dofs, skeleton=self.skeleton)
            self._samples = sampled_positions(self.skeleton, self._dofs, RESTART_SAMPLES, seed)
        q = start.copy()
        if number > 0:
            q[self._dofs] = self._samples[number % RESTART_SAMPLES, self._dofs]
        found = self._search.solve(start=q)
        return self._within(found.positions), bool(found)

    def evaluate(self, q: Array) -> None:
        """Compute the residuals at positions q (dofs,)."""
        self._descend(q, 0, 0)

    def is_within(self, k: int) -> bool:
        """Whether task k, one of balance, is met at the residuals at hand."""
        tasks = self.made.tasks
        rows = slice(int(tasks.first_row[k]), int(tasks.first_row[k + 1]))
        e, low, kind, limit = tasks.e[rows], tasks.low[rows], tasks.row_kind[rows], tasks.tolerance[rows]
        missed = np.where(kind == EQUATION, np.abs(e), np.where(kind == RANGE, low - e, 0.0))
        return bool((missed <= limit).all())
