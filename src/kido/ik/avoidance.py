"""Inverse kinematics whose results touch nothing.

Targets are first met without regard to collisions, which is quick, and what was found is checked, eight states at a
time. Where something touches, some further attempts begin at sampled positions that are free and whose poses are near
the target. What is then left goes to a second search: its residuals are those of the tasks and the depths of what
touches, so that descents are pushed out of collisions while they meet the tasks.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError, StateError
from kido.ik.coupling import coupling_of
from kido.ik.engine import search
from kido.ik.result import IkResult
from kido.ik.tasks import Task
from kido.turns import Turn

if TYPE_CHECKING:
    from kido.ik.solver import IkSolver
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
RESTARTS = 24  # attempts at most without regard to collisions where something touches
PUSHES = 32  # attempts at most that are pushed out of collisions


class Avoided(Protocol):
    """What says which states collide, such as a `kido.planning.CollisionChecker`.

    Attributes:
        skeleton: whose states.
        columns: coordinates of states.
        turn: whose turn it is to use it.
    """

    skeleton: Skeleton
    columns: NDArray[np.int64]
    turn: Turn

    @property
    def held_positions(self) -> Array:
        """Positions of all coordinates (dofs,), of which those that are none of states are held."""
        ...

    def clearance_task(self) -> Task:
        """A task whose rows are zero where nothing touches."""
        ...

    def states_are_free(self, states: Array) -> NDArray[np.bool_]:
        """Which states (n, columns) touch nothing."""
        ...

    def contact(self, state: Array) -> Any:
        """What touches in a state, or None."""
        ...


class Avoidance:
    """What has the results of an `IkSolver` touch nothing.

    Args:
        checker: of collisions.
        skeleton: of the solver.
        tasks: its own.
        dofs: its active coordinates.
        options: its other arguments.

    Raises:
        ModelError: no checker, or one of another skeleton.
        StateError: the checker holds an active coordinate.
    """

    def __init__(self, checker: Any, skeleton: Skeleton, tasks: list[Task], dofs: Any, options: dict[str, Any]):
        if not hasattr(checker, "clearance_task"):
            raise ModelError(f"avoid: expected a kido.planning.CollisionChecker, got {checker!r}")
        if checker.skeleton is not skeleton:
            raise ModelError(
                f"avoid: expected a checker of skeleton {skeleton.name!r}, got one of {checker.skeleton.name!r}"
            )
        held = [skeleton.dofs[int(k)].name for k in np.setdiff1d(dofs, checker.columns)]
        if held:
            raise StateError(
                f"avoid: coordinates {', '.join(held)} move, but the checker holds them; give `dofs` without them, or "
                "a checker that plans with them"
            )
        self.checker: Avoided = checker
        self._made: Any = tasks, dofs, skeleton, options
        self._solvers: tuple[IkSolver, IkSolver] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Avoidance:
        tasks, dofs, skeleton, options = self._made
        if memo.get(id(skeleton)) is not skeleton:
            raise ModelError(
                f"avoid: the checker is of skeleton {skeleton.name!r}, and not copied: make a solver for the copy with "
                "a checker of the copy"
            )
        return Avoidance(self.checker, skeleton, copy.deepcopy(tasks, memo), dofs, options)

    @property
    def solvers(self) -> tuple[IkSolver, IkSolver]:
        """One that makes a single attempt, and one that is pushed out of collisions."""
        if self._solvers is None:
            from kido.ik.solver import IkSolver

            tasks, dofs, skeleton, options = self._made
            options = {**options, "skeleton": skeleton, "refine": False}
            most = min(PUSHES, max(1, options["attempts"] - RESTARTS))
            pushed = IkSolver([*tasks, self.checker.clearance_task()], dofs, **{**options, "attempts": most})
            self._solvers = IkSolver(tasks, dofs, **{**options, "attempts": 1}), pushed
        return self._solvers

    def held(self, q: Array) -> Array:
        """Positions (n, dofs) with coordinates that the checker holds where it has them."""
        held = np.tile(self.checker.held_positions, (len(q), 1))
        held[:, self.checker.columns] = q[:, self.checker.columns]
        return coupling_of(self.checker.skeleton).spread(held, self.checker.columns)

    def cleared(self, found: IkResult, targets: Array, threads: int | None) -> IkResult:
        """Results for many targets (samples, 16 tasks or 0) that touch nothing, from those that may."""
        numbers, contacts = found.numbers.copy(), [None] * len(found)
        n = numbers.shape[1] - search.REPORT
        X = targets.reshape(len(targets), -1, 4, 4) if targets.shape[1] else None
        with self.checker.turn:
            met = np.flatnonzero(found.success)
            left = met[self._touch(numbers[met, :n])]
            left = self._restarted(numbers, left, X, threads)
            left = self._pushed(numbers, left, X, threads)
            for k in left:
                contacts[k] = self.checker.contact(numbers[k, self.checker.columns])
        numbers[left, n + search.OUT_STATUS] = search.SEARCH_STOPPED
        return IkResult(numbers, n, contacts=contacts)

    def _restarted(self, numbers: Array, left: Indices, X: Array | None, threads: int | None) -> Indices:
        """Attempts for samples `left` from free positions whose poses are near; returns where something touches yet."""
        if not len(left):
            return left
        solver, table = self.solvers
        first, dofs, n = left, solver.dofs, numbers.shape[1] - search.REPORT
        seeds = table.seeds_near(None if X is None else X[left], min(RESTARTS, self._made[3]["attempts"] - 1))
        for k in range(seeds.shape[1]):
            starts = numbers[left, :n]
            starts[:, dofs] = seeds[np.searchsorted(first, left) if len(seeds) > 1 else 0, k][..., dofs]
            left = self._enter(numbers, left, solver.solve_batch(None if X is None else X[left], starts, threads))
            if not len(left):
                break
        return left

    def _pushed(self, numbers: Array, left: Indices, X: Array | None, threads: int | None) -> Indices:
        """Searches for samples `left` that are pushed out of collisions; returns where something touches yet."""
        if not len(left):
            return left
        if X is not None:  # and none for the task to touch nothing
            X = np.concatenate([X[left], np.tile(np.eye(4), (len(left), 1, 1, 1))], axis=1)
        starts = numbers[left, : numbers.shape[1] - search.REPORT]
        return self._enter(numbers, left, self.solvers[1].solve_batch(X, starts, threads))

    def _enter(self, numbers: Array, left: Indices, tried: IkResult) -> Indices:
        """Have results that touch nothing take the place of those of samples `left`; returns the other samples."""
        found, n = tried.numbers.copy(), numbers.shape[1] - search.REPORT
        met = np.flatnonzero(tried.success)
        free = met[~self._touch(found[met, :n])]
        for count in (n + search.OUT_ITERATIONS, n + search.OUT_ATTEMPTS):
            found[:, count] += numbers[left, count]
            numbers[left, count] = found[:, count]
        numbers[left[free]] = found[free]
        return np.delete(left, free)

    def _touch(self, q: Array) -> NDArray[np.bool_]:
        """At which positions (samples, dofs) something touches."""
        return ~self.checker.states_are_free(np.ascontiguousarray(q[:, self.checker.columns]))
