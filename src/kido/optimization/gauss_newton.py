"""Least squares within bounds and constraints, by Levenberg's and Marquardt's method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from kido.errors import ModelError
from kido.optimization.certificate import largest
from kido.optimization.differences import Array
from kido.optimization.evaluator import Evaluator
from kido.optimization.function import LeastSquares, NullFunction
from kido.optimization.normal_equations import NormalEquations
from kido.optimization.solution import Outcome, Reason
from kido.optimization.solver import Solver


@dataclass(kw_only=True)
class GaussNewtonSolver(Solver):
    """Levenberg-Marquardt steps for an objective that is a `LeastSquares`, or none.

    A step minimizes |r + J d|^2 / 2 + m |d|^2 / 2 within the bounds: variables that it would carry beyond a bound are
    put there, and the others solved for again. The damping m follows the ratio of gained to promised decrease (Nielsen,
    Damping parameter in Marquardt's method, 1999). Constraints enter by an augmented Lagrangian, whose terms are
    squares as well: w/2 |h + a/w|^2 and w/2 |max(0, g + b/w)|^2 (Nocedal and Wright, section 17.4). Their multipliers a
    and b are brought up to date whenever it is nearly minimal; the weight w grows where violations do not shrink.

    Attributes:
        damping: m at the start, relative to the largest diagonal element of J^T J.
        constraint_weight: w at the start, relative to the sizes of J^T J and of the constraints' dh^T dh.
    """

    max_iterations: int = 500
    damping: float = 1e-6
    constraint_weight: float = 100.0

    def run(self, evaluator: Evaluator, start: Array) -> Outcome:
        """Solve from one start.

        Raises:
            ModelError: the objective is no `LeastSquares`.
        """
        objective = evaluator.problem.objective
        if not isinstance(objective, LeastSquares | NullFunction):
            raise ModelError(
                f"objective {objective.name} of a problem for {self.name}: expected a LeastSquares; other objectives "
                "are for GradientDescentSolver or SqpSolver"
            )
        return _Run(self, evaluator, start).go()


class _Run:
    """One run: point, multipliers, weight and damping."""

    def __init__(self, solver: GaussNewtonSolver, evaluator: Evaluator, x: Array) -> None:
        self.solver, self.evaluator, self.problem = solver, evaluator, evaluator.problem
        self.x = x
        self.a = np.zeros(evaluator.equality(x).size)
        self.b = np.zeros(evaluator.inequality(x).size)
        self.constrained = self.a.size + self.b.size > 0
        self.lower, self.upper = self.problem.lower, self.problem.upper
        self.weight = solver.constraint_weight
        self.growth = 2.0

    def go(self) -> Outcome:
        solver, e = self.solver, self.evaluator
        accuracy, violation = (0.01 if self.constrained else 0.5 * solver.optimality), e.violation(self.x)
        damping: float | None = None
        first = self.weight
        for k in range(solver.max_iterations):
            x = self.x
            if k == 0 and self.constrained:
                self.weight = first = self._balanced_weight(x)
            system = e.normal_equations(x, self.a, self.b, self.weight)
            gradient = self._gradient(x)
            if not (np.isfinite(gradient).all() and np.isfinite(system.diagonal).all()):
                return Outcome(x, k, Reason.NOT_FINITE)
            small = max(1.0, largest(e.gradient(x)))
            slope = largest(np.clip(-gradient, self.lower - x, self.upper - x)) / small
            now = e.violation(x)
            if now <= solver.tolerance and slope <= 0.5 * solver.optimality:
                return Outcome(x, k, Reason.CONVERGED)
            moved = False
            if slope > accuracy or not self.constrained:
                top = max(float(system.diagonal.max()), 1e-12)
                damping = solver.damping * top if damping is None else damping
                moved, damping = self._move(system, gradient, damping, top)
            if not moved:
                if not self.constrained:
                    return Outcome(x, k, Reason.STALLED)
                if self.weight > 1e10 * first:
                    return Outcome(x, k, Reason.STALLED)
                self.a, self.b = self._multipliers(x)
                if now > max(0.1 * violation, 0.1 * solver.tolerance):
                    self.weight *= 10.0
                violation, accuracy = now, max(0.1 * accuracy, 0.25 * solver.optimality)
        return Outcome(self.x, solver.max_iterations, Reason.ITERATIONS)

    def _balanced_weight(self, x: Array) -> float:
        """A weight that makes constraints matter as much more than the objective as the solver is told."""
        e = self.evaluator
        with_constraints = e.normal_equations(x, self.a, self.b, 1.0).diagonal
        objective = e.normal_equations(x, self.a, self.b, 0.0).diagonal
        own, top = float(objective.max()), float((with_constraints - objective).max())
        return self.weight * (own / top if own > 0.0 and top > 0.0 else 1.0)

    def _multipliers(self, x: Array) -> tuple[Array, Array]:
        e = self.evaluator
        return self.a + self.weight * e.equality(x), np.maximum(0.0, self.b + self.weight * e.inequality(x))

    def _gradient(self, x: Array) -> Array:
        """Of the augmented Lagrangian."""
        e = self.evaluator
        gradient = e.gradient(x)
        a, b = self._multipliers(x)
        if a.size:
            gradient = gradient + e.equality_jacobian(x).T @ a
        if b.size:
            gradient = gradient + e.inequality_jacobian(x).T @ b
        return gradient

    def _value(self, x: Array) -> float:
        """The augmented Lagrangian, written as the objective and squares."""
        e = self.evaluator
        value = e.objective(x)
        if self.constrained:
            a, b = self._multipliers(x)
            value += 0.5 * float(a @ a + b @ b) / self.weight
        return value if np.isfinite(value) else np.inf

    def _move(self, system: NormalEquations, gradient: Array, damping: float, top: float) -> tuple[bool, float]:
        """One accepted step; False if even the shortest one does not lower the value."""
        x, value = self.x, self._value(self.x)
        noise = 4e-16 * (abs(value) + 1e-300)
        while damping < 1e16 * top:
            try:
                step = self._step(system, gradient, damping)
            except LinAlgError:
                damping = max(10.0 * damping, 1e-15 * top)
                continue
            promise = -float(gradient @ step) - 0.5 * float(step @ system.times(step))
            if promise <= noise or largest(step) <= 1e-15 * (1.0 + largest(x)):
                return False, damping
            trial = self.problem.clip(self.problem.retract(x, step))
            ratio = (value - self._value(trial)) / promise
            if ratio > 1e-3:
                self.x = trial
                self.growth = 2.0
                return True, max(damping * max(0.1, 1.0 - (2.0 * ratio - 1.0) ** 3), 1e-14 * top)
            damping = max(damping * self.growth, 1e-12 * top)
            self.growth *= 2.0
        return False, damping

    def _step(self, system: NormalEquations, gradient: Array, damping: float) -> Array:
        """The step within the bounds: variables that leave them are put on them, a few at a time."""
        low, high = self.lower - self.x, self.upper - self.x
        fixed = np.zeros_like(gradient)
        free = ~((low >= 0.0) & (gradient > 0.0) | (high <= 0.0) & (gradient < 0.0))
        for _ in range(20):
            right = -gradient - (system.times(fixed) if fixed.any() else 0.0)
            step = np.where(free, system.solve(right, damping, free), fixed)
            beyond = free & ((step < low) | (step > high))
            if not beyond.any():
                return step
            fixed = np.where(beyond, np.clip(step, low, high), fixed)
            free &= ~beyond
        return np.clip(step, low, high)
