"""What solvers of other libraries need: derivatives with respect to the numbers x."""

from __future__ import annotations

from kido.optimization.function import Array
from kido.optimization.problem import Evaluator, dense


class ChartFunctions:
    """Derivatives of an evaluator's functions with respect to x, where x is moved by plain addition."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.to_chart = evaluator.problem.to_chart

    def gradient(self, x: Array) -> Array:
        """Of the objective (n,)."""
        return self.to_chart(x, self.evaluator.gradient(x))

    def jacobian(self, x: Array) -> Array:
        """Of the residuals of an objective (m, n)."""
        return self.to_chart(x, dense(self.evaluator.jacobian(x)))

    def equality_jacobian(self, x: Array) -> Array:
        """Of the equality constraints (rows, n)."""
        return self.to_chart(x, dense(self.evaluator.equality_jacobian(x)))

    def inequality_jacobian(self, x: Array) -> Array:
        """Of the inequality constraints (rows, n)."""
        return self.to_chart(x, dense(self.evaluator.inequality_jacobian(x)))
