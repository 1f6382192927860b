"""The solver of hierarchies: it gives up what matters least first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kido.ik.gradient_method import Array
from kido.ik.problem import TaskConstraint
from kido.optimization import Evaluator, GradientDescentSolver, Outcome, Reason


@dataclass(kw_only=True)
class PrioritizedSolver(GradientDescentSolver):
    """`GradientDescentSolver` for tasks that may contradict each other.

    It follows the prioritized direction; a step is shortened if it makes the first level worse that it changes much. If
    not all levels can be satisfied, the last ones are left as near as they come, and the others are solved for
    exactly. When all are satisfied it goes on as `GradientDescentSolver` does, to lower the objective.

    Attributes:
        least_step: steps smaller than this lead nowhere [rad, m].
    """

    max_iterations: int = 300
    least_step: float = 1e-7

    def run(self, evaluator: Evaluator, start: Array) -> Outcome:
        """Solve from one start."""
        tasks = next((f for f in evaluator.problem.equality if isinstance(f, TaskConstraint)), None)
        if tasks is None:
            return super().run(evaluator, start)
        x, used = start, 0
        levels = len(tasks.sizes(x))
        while True:
            x, steps = self._follow(evaluator, tasks, x, levels, self.max_iterations - used)
            used += steps
            sizes = tasks.sizes(x)
            missed = next((k for k, size in enumerate(sizes[:levels]) if size > 1.0), None)
            if missed is None or missed == levels - 1 == 0 or used >= self.max_iterations:
                break
            levels = missed if missed > 0 else levels - 1
        if max(sizes, default=0.0) > 1.0:
            return Outcome(x, used, Reason.ITERATIONS if used >= self.max_iterations else Reason.STALLED)
        done = super().run(evaluator, x)
        return Outcome(done.x, used + done.iterations, done.reason, done.message)

    def _follow(
        self, evaluator: Evaluator, tasks: TaskConstraint, x: Array, levels: int, most: int
    ) -> tuple[Array, int]:
        """Go along the direction of the first levels until they are satisfied or nothing moves any more."""
        problem = evaluator.problem
        sizes = tasks.sizes(x)[:levels]
        share = self.step_size
        for k in range(most):
            if max(sizes, default=0.0) <= 1.0:
                return x, k
            step = tasks.direction(x, levels)
            if np.abs(step).max(initial=0.0) < self.least_step:
                return x, k
            while True:
                trial = problem.clip(problem.retract(x, share * step))
                new = tasks.sizes(trial)[:levels]
                if not _is_worse(new, sizes) or not self.line_search:
                    break
                share *= 0.5
                if share * np.abs(step).max() < self.least_step:
                    return x, k
            x, sizes, share = trial, new, min(1.0, 2.0 * share)
        return x, most


def _is_worse(new: list[float], old: list[float]) -> bool:
    """Whether the first level that changed much came to be larger."""
    for a, b in zip(new, old):
        if a <= 1.0 and b <= 1.0:
            continue
        if a > 1.0 * max(b, 1.0) * 1.0 and a > 1.0:
            return a > b
        if a < 0.99 * b:
            return False
    return False
