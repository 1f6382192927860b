"""Functions of a problem as a solver sees them: stacked, checked, counted, and remembered for the last points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from kido.errors import StateError
from kido.optimization.differences import Array
from kido.optimization.function import Function, LeastSquares
from kido.optimization.normal_equations import DenseNormalEquations, NormalEquations
from kido.optimization.problem import Problem

_REMEMBERED = 4  # points: the current one, a trial, and the ends of a line search


class Evaluator:
    """Values and derivatives of a problem's functions.

    Values may be NaN or infinite: solvers take such a point as one that is not to be entered. Derivatives of residuals
    and constraints are arrays, or SciPy's sparse ones where functions return such.

    Attributes:
        problem: whose functions they are.
        evaluations: how often functions were evaluated, all of them together counting as one.
        derivatives: how often they were differentiated, likewise.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.evaluations = 0
        self.derivatives = 0
        self._points: list[tuple[bytes, dict[str, Any]]] = []

    def objective(self, x: Array) -> float:
        """f(x)."""
        return self._remember("f", x, False, lambda x: float(_value(self.problem.objective, x)))

    def gradient(self, x: Array) -> Array:
        """Derivative (n,) of f."""
        return self._remember("df", x, True, lambda x: self._gradient(self.problem.objective, x))

    def residuals(self, x: Array) -> Array:
        """Residuals (m,) of an objective that is a `LeastSquares`."""
        return self._remember("r", x, False, lambda x: self._rows([self.problem.objective], x))

    def jacobian(self, x: Array) -> Array:
        """Their derivatives (m, n)."""
        return self._remember("dr", x, True, lambda x: self._derivatives([self.problem.objective], x))

    def equality(self, x: Array) -> Array:
        """h(x), all rows of all equality constraints."""
        return self._remember("h", x, False, lambda x: self._rows(self.problem.equality, x))

    def equality_jacobian(self, x: Array) -> Array:
        """Derivatives (rows, n) of h."""
        return self._remember("dh", x, True, lambda x: self._derivatives(self.problem.equality, x))

    def inequality(self, x: Array) -> Array:
        """g(x), all rows of all inequality constraints."""
        return self._remember("g", x, False, lambda x: self._rows(self.problem.inequality, x))

    def inequality_jacobian(self, x: Array) -> Array:
        """Derivatives (rows, n) of g."""
        return self._remember("dg", x, True, lambda x: self._derivatives(self.problem.inequality, x))

    def pull_back(self, x: Array, residuals: Array | None, equality: Array, inequality: Array) -> Array:
        """J^T r + dh^T a + dg^T b (n,), with derivatives at x and any r (or None), a and b."""
        gradient = np.zeros(x.size) if residuals is None else self.jacobian(x).T @ residuals
        if equality.size:
            gradient = gradient + self.equality_jacobian(x).T @ equality
        if inequality.size:
            gradient = gradient + self.inequality_jacobian(x).T @ inequality
        return gradient

    def normal_equations(self, x: Array, a: Array, b: Array, weight: float) -> NormalEquations:
        """J^T J + w (dh^T dh + dg^T dg), with those rows of g where b + w g > 0; J is zero without a `LeastSquares`.

        That is the Gauss-Newton matrix of the augmented Lagrangian with multipliers a, b and weight w.
        """
        H = np.zeros((x.size, x.size))
        if isinstance(self.problem.objective, LeastSquares):
            J = self.jacobian(x)
            H += J.T @ J
        if a.size and weight > 0.0:
            A = self.equality_jacobian(x)
            H += weight * (A.T @ A)
        if b.size and weight > 0.0:
            B = self.inequality_jacobian(x)[b + weight * self.inequality(x) > 0.0]
            H += weight * (B.T @ B)
        return DenseNormalEquations(H)

    def violation(self, x: Array) -> float:
        """The largest of |h_i(x)| and max(g_i(x), 0); NaN if one is."""
        return float(np.max(np.concatenate([np.abs(self.equality(x)), np.maximum(self.inequality(x), 0.0), [0.0]])))

    def finite(self, x: Array) -> bool:
        """Whether the objective and all constraints are finite at x."""
        return bool(np.isfinite(self.objective(x)) and np.isfinite(self.violation(x)))

    # ---------------------------------------------------------------------------------------------------------

    def _remember(self, kind: str, x: Array, derivative: bool, compute: Callable[[Array], Any]) -> Any:
        key = x.tobytes()
        values = next((values for known, values in self._points if known == key), None)
        if values is None:
            values = {}
            self._points = [*self._points[1 - _REMEMBERED :], (key, values)]
        if kind not in values:
            count = "derivatives" if derivative else "evaluations"
            if not values.get(count):
                values[count] = True
                setattr(self, count, getattr(self, count) + 1)
            with np.errstate(all="ignore"):  # solvers look for what is not finite
                values[kind] = compute(x.copy())
        return values[kind]

    def _rows(self, functions: list[Function], x: Array) -> Array:
        return np.concatenate([_values(f, x) for f in functions]) if functions else np.zeros(0)

    def _derivatives(self, functions: list[Function], x: Array) -> Any:
        blocks: list[Any] = [np.zeros((0, x.size))]
        for f in functions:
            if isinstance(f, LeastSquares):
                rows = self.problem.jacobian_of(f, x)
                rows = rows if sparse.issparse(rows) else np.asarray(rows, dtype=float)
                if rows.ndim != 2 or rows.shape[1] != x.size:
                    raise StateError(f"jacobian of {f.name}: expected (rows, {x.size}) numbers, got {rows.shape}")
                blocks.append(rows)
            else:
                blocks.append(self._gradient(f, x)[None])
        if any(sparse.issparse(block) for block in blocks):
            return sparse.vstack(blocks[1:], format="csr")
        return np.concatenate(blocks)

    def _gradient(self, function: Function, x: Array) -> Array:
        gradient = np.asarray(self.problem.gradient_of(function, x), dtype=float)
        if gradient.shape != x.shape:
            raise StateError(f"gradient of {function.name}: expected ({x.size},) numbers, got {gradient.shape}")
        return gradient


def _value(function: Function, x: Array) -> float:
    value = np.asarray(function.evaluate(x))
    if value.size != 1 or value.dtype.kind not in "fiub":
        raise StateError(f"value of {function.name}: expected a number, got {value!r}")
    return float(value.reshape(()))


def _values(function: Function, x: Array) -> Array:
    if not isinstance(function, LeastSquares):
        return np.array([_value(function, x)])
    rows = np.asarray(function.residuals(x), dtype=float)
    if rows.ndim != 1:
        raise StateError(f"residuals of {function.name}: expected (rows,) numbers, got {rows.shape}")
    return rows


def dense(rows: Any) -> Array:
    """Derivatives as an array, should they be sparse."""
    return rows.toarray() if sparse.issparse(rows) else rows
