"""The built-in solver: gradient descent with a line search. It needs no library and only first derivatives."""

from __future__ import annotations

import numpy as np

from kido.attributes import dataclass
from kido.optimization.function import Array
from kido.optimization.problem import Evaluator
from kido.optimization.solution import Outcome, Reason, largest, multipliers
from kido.optimization.solver import FALLEN, Solver

SUFFICIENT_DECREASE = 1e-4  # Armijo's share of the decrease that the slope promises
_MEMORY = 8  # the line search compares with the worst of so many values: Barzilai-Borwein steps are not monotone


@dataclass(kw_only=True)
class GradientDescentSolver(Solver):
    """Projected gradient descent; constraints by an augmented Lagrangian.

    Steps are those of Barzilai and Borwein (1988), safeguarded by a non-monotone line search (Birgin, Martinez and
    Raydan 2000, SPG2), along the gradient of

        L(x) = f + a^T h + w/2 |h|^2 + (|max(0, b + w g)|^2 - |b|^2) / 2w

    (Nocedal and Wright, section 17.4). When L is minimal, a and b become a + w h and max(0, b + w g), and the weight w
    grows tenfold if the violation did not shrink to a quarter.

    Where all constraints know a `direction` of their own, as those of inverse kinematics do, the solver follows these
    until the constraints hold, and moves between along the objective's gradient projected onto the null space of their
    Jacobians.

    Attributes:
        step_size: length of the first step, relative to the gradient, and share of the constraints' own directions.
        constraint_weight: w at the start.
        line_search: shorten steps that do not make things better. Without it directions are followed blindly.
    """

    max_iterations: int = 5000
    step_size: float = 1.0
    constraint_weight: float = 10.0
    line_search: bool = True

    def run(self, evaluator: Evaluator, start: Array) -> Outcome:
        """Descend from one start."""
        problem = evaluator.problem
        constraints = [*problem.equality, *problem.inequality]
        if constraints and all(f.direction(start) is not None for f in constraints):
            return _Follower(self, evaluator).run(start)
        return self._augmented(evaluator, start)

    # Augmented Lagrangian ------------------------------------------------------------------------------------

    def _augmented(self, evaluator: Evaluator, x: Array) -> Outcome:
        a, b = np.zeros(evaluator.equality(x).size), np.zeros(evaluator.inequality(x).size)
        constrained = a.size + b.size > 0
        weight, accuracy = self.constraint_weight, 0.1 if constrained else self.optimality
        violation, used, stuck = evaluator.violation(x), 0, 0
        while True:
            lagrangian = _Lagrangian(evaluator, a, b, weight)
            x, steps, reason = self._descend(lagrangian, x, accuracy, self.max_iterations - used)
            used += steps
            if reason is not Reason.CONVERGED and (not constrained or reason is not Reason.STALLED):
                return Outcome(x, used, reason)
            now = evaluator.violation(x)
            if now <= self.tolerance and (accuracy <= self.optimality or not constrained):
                return Outcome(x, used, reason)
            stuck = stuck + 1 if now > 0.9 * violation else 0
            if stuck > 5 or weight > 1e12 or used >= self.max_iterations:
                return Outcome(x, used, Reason.ITERATIONS if used >= self.max_iterations else Reason.STALLED)
            a, b = lagrangian.updated(x)
            if now > max(0.25 * violation, self.tolerance):
                weight *= 10.0
            violation, accuracy = now, max(0.1 * accuracy, 0.5 * self.optimality)

    def _descend(self, f: _Lagrangian, x: Array, accuracy: float, most: int) -> tuple[Array, int, Reason]:
        problem = f.evaluator.problem
        value, gradient = f.value(x), f.gradient(x)
        if not np.isfinite(gradient).all():
            return x, 0, Reason.NOT_FINITE
        recent = [value]
        rate = self.step_size / max(1.0, largest(gradient))
        for k in range(most):
            downhill = np.clip(-gradient, problem.lower - x, problem.upper - x)  # zero at a minimum within the bounds
            if largest(downhill) <= accuracy * max(1.0, largest(f.objective_gradient(x))):
                return x, k, Reason.CONVERGED
            if value < FALLEN:
                return x, k, Reason.UNBOUNDED
            step = problem.clip(x - rate * gradient) - x
            promise = float(gradient @ step)
            share, worst = 1.0, max(recent)
            while True:
                trial = problem.clip(problem.retract(x, share * step))
                trial_value = f.value(trial)
                if np.isfinite(trial_value) and trial_value <= worst + SUFFICIENT_DECREASE * share * promise:
                    break
                if not self.line_search and np.isfinite(trial_value):
                    break
                share *= 0.5
                if share < 1e-12:
                    return x, k, Reason.STALLED
            trial_gradient = f.gradient(trial)
            if not np.isfinite(trial_gradient).all():
                return x, k, Reason.NOT_FINITE
            moved, bend = share * step, trial_gradient - gradient
            curvature = float(moved @ bend)
            rate = float(moved @ moved) / curvature if curvature > 0.0 else 4.0 * rate
            rate = min(max(rate, 1e-14), 1e30)
            x, value, gradient = trial, trial_value, trial_gradient
            recent = [*recent[1 - _MEMORY :], value]
        return x, most, Reason.ITERATIONS


class _Lagrangian:
    """The augmented Lagrangian of a problem at given multipliers and weight."""

    def __init__(self, evaluator: Evaluator, a: Array, b: Array, weight: float) -> None:
        self.evaluator = evaluator
        self.a, self.b, self.weight = a, b, weight

    def updated(self, x: Array) -> tuple[Array, Array]:
        """The multipliers that a stationary point implies."""
        h, g = self.evaluator.equality(x), self.evaluator.inequality(x)
        return self.a + self.weight * h, np.maximum(0.0, self.b + self.weight * g)

    def value(self, x: Array) -> float:
        value = self.evaluator.objective(x)
        if self.a.size:
            h = self.evaluator.equality(x)
            value += float(self.a @ h) + 0.5 * self.weight * float(h @ h)
        if self.b.size:
            b = np.maximum(0.0, self.b + self.weight * self.evaluator.inequality(x))
            value += (float(b @ b) - float(self.b @ self.b)) / (2.0 * self.weight)
        return value

    def objective_gradient(self, x: Array) -> Array:
        return self.evaluator.gradient(x)

    def gradient(self, x: Array) -> Array:
        gradient = self.evaluator.gradient(x)
        a, b = self.updated(x) if self.a.size or self.b.size else (self.a, self.b)
        if a.size:
            gradient = gradient + self.evaluator.equality_jacobian(x).T @ a
        if b.size:
            gradient = gradient + self.evaluator.inequality_jacobian(x).T @ b
        return gradient


class _Follower:
    """Follows the constraints' own directions, and slides along them to lower the objective."""

    def __init__(self, solver: GradientDescentSolver, evaluator: Evaluator) -> None:
        self.solver = solver
        self.evaluator = evaluator
        self.problem = evaluator.problem
        self.used = 0

    def run(self, x: Array) -> Outcome:
        x, reason = self.restore(x)
        if reason is not Reason.CONVERGED:
            return Outcome(x, self.used, reason)
        rate = self.solver.step_size
        while True:
            gradient = self.evaluator.gradient(x)
            if not np.isfinite(gradient).all():
                return Outcome(x, self.used, Reason.NOT_FINITE)
            slope = self.projected(x, gradient)
            if largest(slope) <= self.solver.optimality * max(1.0, largest(gradient)):
                return Outcome(x, self.used, Reason.CONVERGED)
            value, found = self.evaluator.objective(x), None
            if value < FALLEN:
                return Outcome(x, self.used, Reason.UNBOUNDED)
            while found is None:
                if self.used >= self.solver.max_iterations:
                    return Outcome(x, self.used, Reason.ITERATIONS)
                if rate * largest(slope) < 1e-14:
                    return Outcome(x, self.used, Reason.STALLED)
                self.used += 1
                trial = self.problem.clip(self.problem.retract(x, -rate * slope))
                if self.evaluator.finite(trial):
                    trial, reason = self.restore(trial)
                    promise = SUFFICIENT_DECREASE * rate * float(slope @ slope)
                    if reason is Reason.CONVERGED and self.evaluator.objective(trial) <= value - promise:
                        found = trial
                        break
                rate *= 0.5
            new = self.projected(found, self.evaluator.gradient(found))
            bend = float(-rate * slope @ (new - slope))
            rate = min(max(rate**2 * float(slope @ slope) / bend if bend > 0.0 else 4.0 * rate, 1e-12), 1e12)
            x = found

    def restore(self, x: Array) -> tuple[Array, Reason]:
        """Follow directions until the constraints hold."""
        tolerance, first = self.solver.tolerance, True
        if not self.problem.inequality and len(self.problem.equality) == 1 and self.evaluator.violation(x) > tolerance:
            found = self.problem.equality[0].restored(x)
            if found is not None and self.evaluator.violation(found) <= tolerance:
                return found, Reason.CONVERGED
        while self.evaluator.violation(x) > tolerance:
            if self.used >= self.solver.max_iterations:
                return x, Reason.ITERATIONS
            self.used += not first  # the step that led here has been counted
            first = False
            step = self.step(x)
            size, share = self.size(x), self.solver.step_size
            trial = self.problem.clip(self.problem.retract(x, share * step))
            while not self.size(trial) < size * (1.0 - SUFFICIENT_DECREASE * share) and self.solver.line_search:
                share *= 0.5
                if share < 1e-8:
                    return x, Reason.STALLED
                trial = self.problem.clip(self.problem.retract(x, share * step))
            if not np.isfinite(self.size(trial)):
                return x, Reason.NOT_FINITE
            x = trial
        return x, Reason.CONVERGED

    def size(self, x: Array) -> float:
        """The root of the sum of squared violations."""
        h, g = self.evaluator.equality(x), np.maximum(self.evaluator.inequality(x), 0.0)
        return float(np.sqrt(h @ h + g @ g))

    def step(self, x: Array) -> Array:
        """The sum of the directions of all constraints; those that hold give zero."""
        step = np.zeros(x.size)
        for f in (*self.problem.equality, *self.problem.inequality):
            direction = f.direction(x)
            if direction is not None:
                step += direction
        return step

    def projected(self, x: Array, gradient: Array) -> Array:
        """The gradient less what active constraints and bounds carry."""
        low, high = x <= self.problem.lower, x >= self.problem.upper
        active = self.evaluator.inequality(x) >= -self.solver.tolerance
        one = np.eye(x.size)
        signed = np.concatenate([self.evaluator.inequality_jacobian(x)[active], -one[low], one[high]]).T
        return multipliers(gradient, self.evaluator.equality_jacobian(x).T, signed)[2]
