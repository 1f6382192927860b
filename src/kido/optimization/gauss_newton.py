"""Least squares within bounds and constraints, by Levenberg's and Marquardt's method."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from kido.errors import ModelError
from kido.optimization.function import Array, LeastSquares, NullFunction
from kido.optimization.normal_equations import NormalEquations
from kido.optimization.problem import Evaluator
from kido.optimization.solution import Outcome, Reason, largest
from kido.optimization.solver import Solver

_ACTIVE_SETS = 30  # tried for a step; then what is beyond a bound is cut off
_BENDS = 10  # corrections of a step for curvature


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
        run = _Run(self, evaluator, start)
        outcome = run.go()
        return replace(outcome, multipliers=run.multipliers_at(outcome.x))


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
        stalls, moved = 0, False
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
            stalls = 0 if moved else stalls
            moved = False
            if slope > accuracy or not self.constrained:
                top = max(float(system.diagonal.max()), 1e-12)
                damping = solver.damping * top if damping is None else damping
                moved, damping = self._move(system, gradient, damping, top)
            if not moved:
                if not self.constrained:
                    return Outcome(x, k, Reason.STALLED)
                stalls = stalls + 1 if slope > accuracy else 0
                if stalls > 3 or self.weight > 1e10 * first:
                    return Outcome(x, k, Reason.STALLED)
                self.a, self.b = self.multipliers_at(x)
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

    def multipliers_at(self, x: Array) -> tuple[Array, Array]:
        """Of equalities and inequalities, as the augmented Lagrangian's gradient has them."""
        e = self.evaluator
        return self.a + self.weight * e.equality(x), np.maximum(0.0, self.b + self.weight * e.inequality(x))

    def _gradient(self, x: Array, at: Array | None = None) -> Array:
        """Of the augmented Lagrangian at x; or with derivatives at x, and values at another point."""
        e, at = self.evaluator, x if at is None else at
        residuals = e.residuals(at) if isinstance(self.problem.objective, LeastSquares) else None
        return e.pull_back(x, residuals, *self.multipliers_at(at))

    def _value(self, x: Array) -> float:
        """The augmented Lagrangian, written as the objective and squares."""
        e = self.evaluator
        value = e.objective(x)
        if self.constrained:
            a, b = self.multipliers_at(x)
            value += 0.5 * float(a @ a + b @ b) / self.weight
        return value if np.isfinite(value) else np.inf

    def _move(self, system: NormalEquations, gradient: Array, damping: float, top: float) -> tuple[bool, float]:
        """One accepted step; False if even the shortest one does not lower the value."""
        x, value = self.x, self._value(self.x)
        noise = 4e-16 * (abs(value) + 1e-300)
        while damping < 1e16 * top:
            try:
                step = self._step(system, gradient, damping)
            except scipy.linalg.LinAlgError:
                damping = max(10.0 * damping, 1e-15 * top)
                continue
            promise = -float(gradient @ step) - 0.5 * float(step @ system.times(step))
            if abs(float(gradient @ step)) <= noise or largest(step) <= 1e-15 * (1.0 + largest(x)):
                return False, damping
            if promise <= 0.0:  # an active set that was not found
                damping = max(10.0 * damping, 1e-15 * top)
                continue
            trial = self._moved(step)
            ratio = (value - self._value(trial)) / promise
            bent, before = step, largest(step)
            for _ in range(_BENDS):
                if ratio >= 0.75:
                    break
                bend = self._bend(system, gradient, damping, step, bent, trial)
                if bend is None or largest(bend) > before:
                    break
                bent, before = np.clip(bent + bend, self.lower - x, self.upper - x), 0.5 * largest(bend)
                there = self._moved(bent)
                better = (value - self._value(there)) / promise
                if not better > ratio:
                    break
                trial, ratio = there, better
            if ratio > 1e-3:
                self.x = trial
                self.growth = 2.0
                return True, max(damping * max(0.1, 1.0 - (2.0 * ratio - 1.0) ** 3), 1e-14 * top)
            damping = max(damping * self.growth, 1e-12 * top)
            self.growth *= 2.0
        return False, damping

    def _moved(self, step: Array) -> Array:
        return self.problem.clip(self.problem.retract(self.x, step))

    def _bend(
        self, system: NormalEquations, gradient: Array, damping: float, step: Array, bent: Array, trial: Array
    ) -> Array | None:
        """What takes back what residuals at the end of a bent step are beyond the linear model of the straight one.

        Once, that is the geodesic acceleration of Transtrum and Sethna (2012) for a step of finite size; again and
        again it is a Newton method with a fixed matrix, by which a step along a curved valley ends at its bottom. The
        walls are as steep as constraints are weighted, and a step that is a little off them gains nothing.
        """
        e = self.evaluator
        if not e.finite(trial):
            return None
        there = self._gradient(self.x, trial)
        beyond = there - gradient - system.times(step)
        free = (bent > self.lower - self.x) & (bent < self.upper - self.x)
        bend = system.solve(-beyond, damping, free)
        return bend if np.isfinite(bend).all() else None

    def _step(self, system: NormalEquations, gradient: Array, damping: float) -> Array:
        """The minimum of the damped model within the bounds, by a primal-dual active-set method (Hintermueller, Ito and
        Kunisch 2002): variables beyond a bound are put there, those that a bound pulls back are released."""
        low, high = self.lower - self.x, self.upper - self.x
        at_low, at_high = (low >= 0.0) & (gradient > 0.0), (high <= 0.0) & (gradient < 0.0)
        step = np.zeros_like(gradient)
        for _ in range(_ACTIVE_SETS):
            fixed = np.where(at_low, low, np.where(at_high, high, 0.0))
            free = ~(at_low | at_high)
            right = -gradient - (system.times(fixed) if fixed.any() else 0.0)
            step = np.where(free, system.solve(right, damping, free), fixed)
            pull = gradient + system.times(step) + damping * step  # of the model; zero where it is free
            now_low = (free & (step < low)) | (at_low & (pull > 0.0))
            now_high = (free & (step > high)) | (at_high & (pull < 0.0))
            if (now_low == at_low).all() and (now_high == at_high).all():
                return step
            at_low, at_high = now_low, now_high
        return np.clip(step, low, high)
