"""Hierarchies of inverse kinematics: many tasks of one skeleton, by priority, and their solver."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kido.arrays import fixed
from kido.attributes import dataclass
from kido.errors import ModelError, NameLookupError
from kido.ik.base import InverseKinematicsBase
from kido.ik.coordinates import posing
from kido.ik.coupling import coupling_of
from kido.ik.differential.descent import LEVELS_MET
from kido.ik.differential_solver import DifferentialSolver, compiled_solver
from kido.ik.inverse_kinematics import InverseKinematics
from kido.ik.model import carrier_of
from kido.ik.priority import null_spaces, prioritized_change
from kido.ik.problem import TaskConstraint, joint_limits
from kido.ik.result import IkResult
from kido.ik.twins import twins
from kido.optimization import Evaluator, GradientDescentSolver, Outcome, Reason
from kido.skeleton import Skeleton

_PATIENCE = 20  # iterations in which no level comes notably closer


Array = NDArray[np.float64]


@dataclass(kw_only=True)
class PrioritizedSolver(GradientDescentSolver):
    """`GradientDescentSolver` for tasks that may contradict each other.

    It follows the prioritized direction; a step is shortened if it makes the first level worse that it changes much. If
    not all levels can be satisfied, the last ones are left as near as they come, and the others are solved for
    exactly. When all are satisfied it goes on as `GradientDescentSolver` does, to lower the objective.

    Where all error methods are ones that compiled code knows, and all gradient methods are `DampedLeastSquares` or
    `LevenbergMarquardt` without weights, `DifferentialSolver` solves the tasks in its place, ten to twenty times as
    fast. Its own steps, in Python, are the readable equal for parts of a user's.

    Attributes:
        least_step: steps smaller than this lead nowhere [rad, m].
        compiled: whether tasks of built-in parts are solved in compiled code.
    """

    max_iterations: int = 300
    least_step: float = 1e-7
    compiled: bool = True

    def run(self, evaluator: Evaluator, start: Array) -> Outcome:
        """Solve from one start."""
        tasks = next((f for f in evaluator.problem.equality if isinstance(f, TaskConstraint)), None)
        if tasks is None:
            return super().run(evaluator, start)
        quick = compiled_solver(tasks.owner, self.max_iterations) if self.compiled else None
        if quick is None:
            x, used = self._by_levels(evaluator, tasks, start)
        else:
            found = quick.descended(tasks.owner, tasks.owner.whole_positions(start))
            x, used = found.q[tasks.owner.dof_indices], found.iterations
        tolerances, sizes = tasks.sizes(x)
        if any(size > tolerance for size, tolerance in zip(sizes, tolerances)):
            return Outcome(x, used, Reason.ITERATIONS if used >= self.max_iterations else Reason.STALLED)
        problem = evaluator.problem
        if problem.equality == [tasks] and not problem.inequality and not np.any(evaluator.gradient(x)):
            return Outcome(x, used, Reason.CONVERGED)
        done = super().run(evaluator, x)
        return Outcome(done.x, used + done.iterations, done.reason, done.message)

    def _by_levels(self, evaluator: Evaluator, tasks: TaskConstraint, x: Array) -> tuple[Array, int]:
        """Give up the last levels one by one, as far as the others cannot be satisfied beside them."""
        used = 0
        tolerances, sizes = tasks.sizes(x)
        levels = len(sizes)
        while True:
            x, steps = self._follow(evaluator, tasks, x, levels, self.max_iterations - used)
            used += steps
            sizes = tasks.sizes(x)[1]
            above = all(size <= tolerance for size, tolerance in zip(sizes[: levels - 1], tolerances))
            if above or used >= self.max_iterations:
                break
            levels -= 1  # what is left of the last one is as good as it gets: now the others, exactly
        return x, used

    def _follow(
        self, evaluator: Evaluator, tasks: TaskConstraint, x: Array, levels: int, most: int
    ) -> tuple[Array, int]:
        """Go along the direction of the first levels until they are satisfied or nothing moves any more."""
        problem = evaluator.problem
        tolerances, sizes = (values[:levels] for values in tasks.sizes(x))
        share, best, idle = self.step_size, sizes, 0
        for k in range(most):
            if all(size <= tolerance for size, tolerance in zip(sizes, tolerances)):
                return x, k
            step = tasks.direction(x, levels)
            length = float(np.abs(step).max(initial=0.0))
            if length < self.least_step or idle >= _PATIENCE:
                return x, k
            while True:
                trial = problem.clip(problem.retract(x, share * step))
                new = tasks.sizes(trial)[1][:levels]
                if not self.line_search or not _is_worse(new, sizes, tolerances, (share * length) ** 2):
                    break
                share *= 0.5
                if share * length < self.least_step:
                    return x, k
            x, sizes, share = trial, new, min(1.0, 2.0 * share)
            idle += 1
            if _is_better(sizes, best, tolerances):
                best, idle = sizes, 0
        return x, most


def _is_worse(new: list[float], old: list[float], tolerances: list[float], bend: float) -> bool:
    """Whether the first level that changed by more than a step's curvature explains came to be larger."""
    for a, b, tolerance in zip(new, old, tolerances):
        slack = max(bend, tolerance)
        if a > b + slack:
            return True
        if a < b - slack:
            return False
    return False


def _is_better(new: list[float], best: list[float], tolerances: list[float]) -> bool:
    """Whether the first level that changed notably came to be smaller."""
    for a, b, tolerance in zip(new, best, tolerances):
        if max(a, b) > tolerance and not 0.99 * b <= a <= 1.01 * b:
            return a < b
    return False


class HierarchicalIK(InverseKinematicsBase):
    """Several tasks of a skeleton, solved together: those of a level share what the levels above leave free.

    Of each `InverseKinematics` only error method, gradient method, coordinates, level and `active` count; the hierarchy
    has objectives, problem and solver of its own. Its coordinates are all of the skeleton's, but for those that mimic
    others, which follow, and LOCKED ones, which stay. It is abstract: `CompositeIK`, `WholeBodyIK`, or a subclass of
    your own with a property `modules`, say which modules take part.

    Args:
        skeleton: what is moved.

    Raises:
        ModelError: no skeleton, or a class that does not say which modules take part.

    Source: DART report, section 2.8.6.
    """

    def __init__(self, skeleton: Skeleton):
        name = type(self).__name__
        if type(self).modules is HierarchicalIK.modules:
            raise ModelError(
                f"{name} is abstract: it does not say which modules take part; use CompositeIK(skeleton, modules), "
                "WholeBodyIK(skeleton), or a subclass with a property `modules`"
            )
        if not isinstance(skeleton, Skeleton):
            raise ModelError(f"{name}: expected a skeleton, got {skeleton!r}")
        self._skeleton = skeleton  # before the objectives, which may refer to it: so it is copied
        super().__init__(PrioritizedSolver())

    @property
    def modules(self) -> tuple[InverseKinematics, ...]:
        """All modules that take part when they are active."""
        return ()

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton that is moved."""
        return self._skeleton

    @property
    def dof_indices(self) -> NDArray[np.int64]:
        """Places (n,) of the active coordinates in the skeleton's arrays: all that are independent and not LOCKED."""
        return fixed(coupling_of(self._skeleton).every())

    @property
    def levels(self) -> tuple[tuple[InverseKinematics, ...], ...]:
        """Active modules by level, the most important first; levels without any are left out."""
        found: dict[int, list[InverseKinematics]] = {}
        for ik in self.modules:
            if ik.active:
                found.setdefault(ik.priority, []).append(ik)
        return tuple(tuple(found[level]) for level in sorted(found))

    def active_levels(self) -> list[list[InverseKinematics]]:
        return [list(level) for level in self.levels]

    def compute_null_spaces(self) -> list[Array]:
        """Orthogonal projectors (n, n) at the present positions: what each level may use, and what is left at last.

        The first is 1; the others are the null spaces of all Jacobians of the levels before, undamped: J N = 0.
        """
        return null_spaces(self.tasks_at(self.positions), len(self.dof_indices))

    def compute_gradient(self) -> Array:
        """The gradient (n,) of all tasks at the present positions, by priority and within the joint limits."""
        x = self.positions
        lower, upper = joint_limits(self)
        return prioritized_change(self.tasks_at(x), np.minimum(lower - x, 0.0), np.maximum(upper - x, 0.0))

    @posing
    def find_solution(self) -> IkResult:
        """Solve the problem from the present positions; the skeleton stays where it is.

        Failing is no error: the result says how close it came, and why it stopped. With built-in parts alone, the
        solver `DifferentialSolver` or the default one, and a problem that was not changed, all of it runs in compiled
        code. What counts as built-in: error methods that compiled code knows, and for the default solver also
        `DampedLeastSquares` or `LevenbergMarquardt` without weights.
        """
        quick = self._quick_solver() if self.is_plain() else None
        return super().find_solution() if quick is None else self._quick_solution(quick)

    def _quick_solver(self) -> DifferentialSolver | None:
        """What solves the tasks in compiled code; None: nothing does."""
        solver = self.solver
        if type(solver) is DifferentialSolver:
            solver.check()
            return solver if len(self.dof_indices) else None
        if type(solver) is PrioritizedSolver and solver.compiled:
            solver.check()
            return compiled_solver(self, solver.max_iterations)
        return None

    def restored(self, x: Array) -> Array | None:
        quick = compiled_solver(self, 100) if getattr(self.solver, "compiled", True) else None
        if quick is None:
            return None
        quick.nudges = quick.restarts = 0
        found = quick.descended(self, self.whole_positions(x))
        return found.q[self.dof_indices] if found.status == LEVELS_MET else None

    def _quick_solution(self, solver: DifferentialSolver) -> IkResult:
        found = solver.descended(self, self._skeleton.positions)
        lower, upper = joint_limits(self)
        x = found.q[self.dof_indices]
        if found.status == LEVELS_MET:  # limits of ball and free joints are exact to rounding only so
            x = found.q[self.dof_indices] = np.clip(x, lower, upper)
        return self.result_of(solver.errors_of(self, found), solver.outcome(found, x), solver.holds(found))

    def clone(self, skeleton: Skeleton | None = None) -> Self:
        """A copy for the same skeleton or a copy of it."""
        new = self._skeleton if skeleton is None else skeleton
        if not isinstance(new, Skeleton):
            raise ModelError(f"{self!r}: clone: expected a skeleton, got {new!r}")
        memo = twins(self._skeleton, new)
        for ik in self.modules:
            memo[id(ik)] = self._twin_of(ik, new)
        return copy.deepcopy(self, memo)

    def _twin_of(self, ik: InverseKinematics, skeleton: Skeleton) -> InverseKinematics:
        if skeleton is self._skeleton:
            return ik
        body, offset = carrier_of(ik.node)
        node: Any = skeleton.body(body.name) if offset is None else skeleton.node(ik.node.name)
        return node.get(type(ik)) or ik.clone(node)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, **self.nothing_remembered()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._skeleton.name!r})"


class CompositeIK(HierarchicalIK):
    """A hierarchy of modules that one chooses.

    Args:
        skeleton: what is moved.
        modules: to begin with.
    """

    def __init__(self, skeleton: Skeleton, modules: Iterable[InverseKinematics] = ()):
        super().__init__(skeleton)
        self._members: list[InverseKinematics] = []
        for ik in modules:
            self.add(ik)

    @property
    def modules(self) -> tuple[InverseKinematics, ...]:
        """Its modules, in the order they were added."""
        return tuple(self._members)

    def add(self, ik: InverseKinematics) -> InverseKinematics:
        """Let a module take part.

        Raises:
            ModelError: it is of another skeleton, or takes part already.
        """
        if not isinstance(ik, InverseKinematics):
            raise ModelError(f"{self!r}: expected an InverseKinematics, got {ik!r}")
        if ik.skeleton is not self._skeleton:
            raise ModelError(f"{self!r}: {ik!r} is of skeleton {ik.skeleton.name!r}")
        if any(ik is member for member in self._members):
            raise ModelError(f"{self!r}: {ik!r} takes part already")
        self._members.append(ik)
        return ik

    def remove(self, ik: InverseKinematics) -> None:
        """Let a module take part no longer.

        Raises:
            NameLookupError: it does not.
        """
        for k, member in enumerate(self._members):
            if member is ik:
                del self._members[k]
                return
        raise NameLookupError(f"module of {self!r}", ik, [repr(member) for member in self._members])


class WholeBodyIK(HierarchicalIK):
    """A hierarchy of all modules that are attached to a skeleton, its bodies and their nodes."""

    @property
    def modules(self) -> tuple[InverseKinematics, ...]:
        """Modules attached to the skeleton, then to bodies and their nodes, in the skeleton's order."""
        carriers: list[Any] = [self._skeleton]
        for body in self._skeleton.bodies:
            carriers += [body, *body.nodes()]
        return tuple(
            aspect for carrier in carriers for aspect in carrier.aspects if isinstance(aspect, InverseKinematics)
        )
