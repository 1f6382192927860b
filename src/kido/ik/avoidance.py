"""Inverse kinematics whose results touch nothing.

Targets are first met without regard to collisions, which is quick, and what was found is checked. Where something
touches, a second search goes on from there: its residuals are those of the tasks and the depths of what touches, so that
its descents are pushed out of collisions while they meet the tasks, and the sampled positions that it begins at are
free. What it finds is checked again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError, StateError
from kido.ik.engine import search
from kido.ik.result import IkResult
from kido.ik.tasks import Task

if TYPE_CHECKING:
    from kido.ik.solver import IkSolver
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]


class Avoided(Protocol):
    """What says which states collide, such as a `kido.planning.CollisionChecker`.

    Attributes:
        skeleton: whose states.
        columns: coordinates of states.
    """

    skeleton: Skeleton
    columns: NDArray[np.int64]

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
                f"avoid: coordinates {', '.join(held)} are active, but the checker holds them; give `dofs` without "
                "them, or a checker that plans with them"
            )
        self.checker: Avoided = checker
        self._made: Any = [*tasks, checker.clearance_task()], dofs, skeleton, options
        self._solver: IkSolver | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_solver": None}

    @property
    def solver(self) -> IkSolver:
        """The search that is pushed out of collisions."""
        if self._solver is None:
            from kido.ik.solver import IkSolver

            tasks, dofs, skeleton, options = self._made
            self._solver = IkSolver(tasks, dofs, skeleton=skeleton, **options)
        return self._solver

    def held(self, q: Array) -> Array:
        """Positions (n, dofs) with coordinates that the checker holds where it has them."""
        held = np.tile(self.checker.held_positions, (len(q), 1))
        held[:, self.checker.columns] = q[:, self.checker.columns]
        return held

    def cleared(self, found: IkResult, targets: Array, threads: int | None) -> IkResult:
        """Results for many targets (samples, 16 tasks or 0) that touch nothing, from those that may."""
        numbers, n = found.numbers.copy(), found.numbers.shape[1] - search.REPORT
        touching = self._touching(numbers, n)
        contacts: list[Any] = [None] * len(numbers)
        if len(touching):
            X = targets[touching].reshape(len(touching), -1, 4, 4) if targets.shape[1] else None
            if X is not None:
                X = np.concatenate([X, np.tile(np.eye(4), (len(X), 1, 1, 1))], axis=1)
            pushed = self.solver.solve_batch(X, numbers[touching, :n], threads).numbers.copy()
            pushed[self._touching(pushed, n), n + search.OUT_STATUS] = search.SEARCH_STOPPED
            for k in touching[pushed[:, n + search.OUT_STATUS] != search.SEARCH_MET]:
                contacts[k] = self.checker.contact(numbers[k, self.checker.columns])
            spent = [n + search.OUT_ITERATIONS, n + search.OUT_ATTEMPTS]
            pushed[:, spent] += numbers[np.ix_(touching, spent)]
            numbers[touching] = pushed
        return IkResult(numbers, n, contacts=contacts)

    def _touching(self, numbers: Array, n: int) -> NDArray[np.intp]:
        """Of results that meet the tasks, those where something touches; whatever other results are asked about."""
        columns = self.checker.columns
        met = np.flatnonzero(numbers[:, n + search.OUT_STATUS] == search.SEARCH_MET)
        refused = met[~self.checker.states_are_free(np.ascontiguousarray(numbers[np.ix_(met, columns)]))]
        alone = [k for k in refused if not self.checker.states_are_free(numbers[k : k + 1, columns])[0]]
        return np.array(alone, np.intp)
