"""The optimization problem of inverse kinematics, and its functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.ik.coordinates import Coordinates
from kido.ik.coupling import coupling_of
from kido.ik.model import tree_of
from kido.ik.priority import TaskRows, null_spaces, prioritized_change
from kido.optimization import Function, LeastSquares, NullFunction, Problem, central_differences
from kido.optimization.function import has_derivative

Array = NDArray[np.float64]


def joint_limits(owner: Coordinates) -> tuple[Array, Array]:
    """Lower and upper position limits (n,) of an owner's coordinates, which keep also what mimics them within its own.

    Raises:
        StateError: limits of coordinates that follow leave nothing.
    """
    skeleton = owner.skeleton
    coupling = coupling_of(skeleton)
    tree = tree_of(skeleton)
    return coupling.limits(tree.lower, tree.upper, owner.dof_indices)


class TaskOwner(Coordinates, ABC):
    """What a problem's functions ask of the inverse kinematics whose tasks they evaluate."""

    objective: Any
    null_space_objective: Any
    problem: Any
    descent: Any

    @abstractmethod
    def active_levels(self) -> list[list[Any]]:
        """Active tasks by level, the most important first."""

    @abstractmethod
    def has_objective(self) -> bool:
        """Whether there is an objective, or one for the null space."""

    @abstractmethod
    def restored(self, x: Array) -> Array | None:
        """Positions (n,) near x that satisfy all tasks, found in compiled code; None: it cannot, or there are none."""

    @abstractmethod
    def errors_at(self, x: Array) -> list[list[tuple[Any, Array]]]:
        """Errors of all active tasks at x, by level, with whose they are."""

    @abstractmethod
    def tasks_at(self, x: Array) -> list[list[TaskRows]]:
        """All active tasks at x, by level, in the columns of this object's coordinates."""


class IkProblem(Problem):
    """Positions of the active coordinates of an inverse kinematics, moved on their manifold, within joint limits.

    Bounds are the joint limits of the moment until others are set.
    """

    def __init__(self, owner: TaskOwner, *, objective: Function, equality: Iterable[Function]):
        self.owner, self.has_own_bounds = owner, False
        low, high = joint_limits(owner)
        super().__init__(
            len(low), initial=owner.positions, lower=low, upper=high, objective=objective, equality=equality
        )

    def follow_limits(self) -> None:
        """Take the joint limits of the moment, unless bounds were set."""
        if not self.has_own_bounds:
            super().set_bounds(*joint_limits(self.owner))

    def set_bounds(self, lower: ArrayLike, upper: ArrayLike) -> None:
        """Bounds (n,) that stay when joint limits change."""
        super().set_bounds(lower, upper)
        self.has_own_bounds = True

    def retract(self, x: Array, dx: Array) -> Array:
        """The owner's `retract`: ball and free joints move on their manifold."""
        return self.owner.retract(x, dx)


def _value(function: Function, x: Array) -> float:
    value: Any = function.evaluate(x)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ModelError(f"objective {function.name!r}: expected a number, got {value!r}") from None


class TaskConstraint(LeastSquares):
    """The errors of all active tasks of an inverse kinematics, as residuals that are to be zero."""

    name = "tasks"

    def __init__(self, owner: TaskOwner):
        self.owner = owner

    def residuals(self, x: Array) -> Array:
        """Errors at x, level by level: those components that can be other than zero."""
        errors = [e[ik.error_method.used] for level in self.owner.errors_at(x) for ik, e in level]
        return np.concatenate([np.zeros(0), *errors])

    def jacobian(self, x: Array) -> Array:
        """Their Jacobians (rows, n)."""
        rows = [task.jacobian[task.used] for level in self.owner.tasks_at(x) for task in level]
        return np.concatenate([np.zeros((0, x.size)), *rows])

    def direction(self, x: Array, levels: int | None = None) -> Array:
        """The change (n,) that the gradient methods make of the errors, by priority and within the problem's bounds.

        Args:
            x: positions.
            levels: how many levels count; None: all.
        """
        owner = self.owner
        tasks, problem = owner.tasks_at(x)[:levels], owner.problem
        low, high = np.minimum(problem.lower - x, 0.0), np.maximum(problem.upper - x, 0.0)
        with owner.posed(x):  # gradient methods may ask where the skeleton is
            return -prioritized_change(tasks, low, high)

    def restored(self, x: Array) -> Array | None:
        """The owner's, beside an objective and where bounds are the joint limits."""
        owner, problem = self.owner, self.owner.problem
        usual = isinstance(problem, IkProblem) and not problem.has_own_bounds
        return owner.restored(x) if usual and owner.has_objective() else None

    def sizes(self, x: Array) -> tuple[list[float], list[float]]:
        """Tolerance and largest component of the errors of each level at x."""
        levels = self.owner.errors_at(x)
        tolerances = [min(ik.error_method.tolerance for ik, _ in level) for level in levels]
        return tolerances, [max(float(np.abs(e).max()) for _, e in level) for level in levels]


class MergedObjective(Function):
    """The objective of an inverse kinematics plus its null-space objective, whose gradient is projected."""

    name = "objective"

    def __init__(self, owner: TaskOwner):
        self.owner = owner

    def evaluate(self, x: Array) -> float:
        """f(x) + f0(x)."""
        owner = self.owner
        if not owner.has_objective():
            return 0.0
        with owner.posed(x):
            return _value(owner.objective, x) + _value(owner.null_space_objective, x)

    def gradient(self, x: Array) -> Array:
        """df/dx + N df0/dx, with N the projector to the null space of all tasks."""
        owner = self.owner
        g = np.zeros(x.size)
        if not owner.has_objective():
            return g
        if not isinstance(owner.objective, NullFunction):
            g += self._gradient_of(owner.objective, x)
        if not isinstance(owner.null_space_objective, NullFunction):
            g0 = self._gradient_of(owner.null_space_objective, x)
            g += null_spaces(owner.tasks_at(x), x.size)[-1] @ g0
        return g

    def _gradient_of(self, function: Function, x: Array) -> Array:
        owner = self.owner
        if has_derivative(function):
            with owner.posed(x):
                return np.asarray(function.gradient(x), dtype=float)

        def value(at: Array) -> float:
            with owner.posed(at):
                return _value(function, at)

        return central_differences(value, x, owner.retract)
