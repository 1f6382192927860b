"""Solvers of other libraries: where they are, and derivatives with respect to the numbers x, as they need them."""

from __future__ import annotations

import importlib
from typing import Any

from kido.errors import MissingExtraError
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


def library(module: str, feature: str, extra: str) -> Any:
    """An optional library.

    Raises:
        MissingExtraError: it is not installed; the message names the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error
