"""The solver of hierarchies: it gives up what matters least first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kido.ik.differential_solver import compiled_solver
from kido.ik.gradient_method import Array
from kido.ik.problem import TaskConstraint
from kido.optimization import Evaluator, GradientDescentSolver, Outcome, Reason

_PATIENCE = 20  # iterations in which no level comes notably closer


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
