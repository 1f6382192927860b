"""What is to be optimized: variables with bounds, an objective, constraints, where to start; and its functions as a
solver sees them: stacked, checked, counted, and remembered for the last points."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike

from kido.errors import ModelError, StateError
from kido.math.transform import as_numbers, as_vector
from kido.optimization.function import (
    Array,
    Function,
    LeastSquares,
    ModularFunction,
    NullFunction,
    central_differences,
    has_derivative,
)
from kido.optimization.normal_equations import DenseNormalEquations, NormalEquations
from kido.reprs import counted

FunctionLike = Function | Callable[[Array], Any]


class Problem:
    """Minimize f(x) subject to lower <= x <= upper, h(x) = 0 and g(x) <= 0.

    x has `dimension` numbers. Points are moved by `retract(x, dx)`, which adds unless a subclass says otherwise: poses
    with ball and free joints move on their manifold. Derivatives of functions are with respect to such displacements.
    Bounds are for numbers that `retract` adds dx to; put others into inequality constraints.

    Args:
        dimension: n, how many variables there are.
        initial: (n,) where to start; zero, moved within the bounds, unless given.
        lower: bounds (n,) or one number for all; -inf where there is none.
        upper: bounds (n,) or one number for all; inf where there is none.
        objective: a `Function`, or a Python function of x; None: any point that satisfies the constraints will do.
        equality: functions that must be zero; a `LeastSquares` gives a constraint for each of its rows.
        inequality: functions that must not be above zero, likewise.
        seeds: further points (n,) to start from where the first leads nowhere.

    Raises:
        ModelError: sizes that do not match, NaN, a lower bound above its upper one, an objective that is no function.
    """

    def __init__(
        self,
        dimension: int,
        *,
        initial: ArrayLike | None = None,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        objective: FunctionLike | None = None,
        equality: Iterable[FunctionLike] = (),
        inequality: Iterable[FunctionLike] = (),
        seeds: Iterable[ArrayLike] = (),
    ) -> None:
        if isinstance(dimension, bool) or not isinstance(dimension, int | np.integer) or dimension < 0:
            raise ModelError(f"dimension of a problem: expected a whole number not below 0, got {dimension!r}")
        self._dimension = int(dimension)
        self._lower, self._upper = self._checked_bounds(lower, upper)
        self._initial = self.clip(np.zeros(self._dimension) if initial is None else self._point(initial, "initial"))
        self._objective = as_function(objective, "objective")
        self.equality: list[Function] = [as_function(f, f"equality[{i}]") for i, f in enumerate(equality)]
        self.inequality: list[Function] = [as_function(f, f"inequality[{i}]") for i, f in enumerate(inequality)]
        self._seeds = [self._point(seed, f"seeds[{i}]") for i, seed in enumerate(seeds)]

    def __repr__(self) -> str:
        kinds = f"{len(self.equality)} equality and {len(self.inequality)} inequality functions"
        return f"{type(self).__name__}({counted(self._dimension, 'variable')}, {kinds})"

    # Variables -----------------------------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """How many variables there are."""
        return self._dimension

    @property
    def initial(self) -> Array:
        """Where solvers start (n,). What is assigned is moved within the bounds."""
        return self._initial.copy()

    @initial.setter
    def initial(self, value: ArrayLike) -> None:
        self._initial = self.clip(self._point(value, "initial"))

    @property
    def lower(self) -> Array:
        """Lower bounds (n,)."""
        return self._lower.copy()

    @lower.setter
    def lower(self, value: ArrayLike) -> None:
        self.set_bounds(value, self._upper)

    @property
    def upper(self) -> Array:
        """Upper bounds (n,)."""
        return self._upper.copy()

    @upper.setter
    def upper(self, value: ArrayLike) -> None:
        self.set_bounds(self._lower, value)

    def set_bounds(self, lower: ArrayLike, upper: ArrayLike) -> None:
        """Other bounds, (n,) or one number for all, of both sides at once."""
        self._lower, self._upper = self._checked_bounds(lower, upper)

    @property
    def seeds(self) -> list[Array]:
        """Further points (n,) to start from."""
        return [seed.copy() for seed in self._seeds]

    @seeds.setter
    def seeds(self, value: Iterable[ArrayLike]) -> None:
        self._seeds = [self._point(seed, f"seeds[{i}]") for i, seed in enumerate(value)]

    @property
    def objective(self) -> Function:
        """What is minimized; a `NullFunction` if nothing is."""
        return self._objective

    @objective.setter
    def objective(self, value: FunctionLike | None) -> None:
        self._objective = as_function(value, "objective")

    def add_equality(self, function: FunctionLike) -> Function:
        """One more constraint h(x) = 0."""
        self.equality.append(as_function(function, "equality constraint"))
        return self.equality[-1]

    def add_inequality(self, function: FunctionLike) -> Function:
        """One more constraint g(x) <= 0."""
        self.inequality.append(as_function(function, "inequality constraint"))
        return self.inequality[-1]

    # Geometry ------------------------------------------------------------------------------------------------

    def retract(self, x: Array, dx: Array) -> Array:
        """The point reached from x by a displacement dx (n,): x + dx. Subclasses on a manifold override it."""
        return x + dx

    def to_chart(self, x: Array, rows: Array) -> Array:
        """Derivatives (..., n) with respect to displacements at x, as derivatives with respect to the numbers x.

        The same, unless `retract` is no addition. Solvers of other libraries, which add, need it.
        """
        return rows

    def clip(self, x: Array) -> Array:
        """The nearest point within the bounds."""
        return np.minimum(np.maximum(x, self._lower), self._upper)

    def random(self, rng: np.random.Generator, spread: float = 1.0) -> Array:
        """A point to start from: uniform where both bounds are finite, else normal about `initial`, within bounds."""
        finite = np.isfinite(self._lower) & np.isfinite(self._upper)
        uniform = np.where(finite, self._lower, 0.0)
        uniform = uniform + rng.random(self._dimension) * np.where(finite, self._upper - uniform, 0.0)
        moved = self.retract(self._initial, np.where(finite, 0.0, spread * rng.standard_normal(self._dimension)))
        return self.clip(np.where(finite, uniform, moved))

    # Functions -----------------------------------------------------------------------------------------------

    def gradient_of(self, function: Function, x: Array) -> Array:
        """Gradient (n,) of a function at x; by differences of `retract` if it knows none of its own."""
        if has_derivative(function):
            return function.gradient(x)
        if isinstance(function, LeastSquares):
            return self.jacobian_of(function, x).T @ function.residuals(x)
        return central_differences(function.evaluate, x, self.retract)

    def jacobian_of(self, function: LeastSquares, x: Array) -> Array:
        """Jacobian (m, n) of residuals at x; by differences of `retract` if they know none of their own."""
        if has_derivative(function):
            return function.jacobian(x)
        return central_differences(function.residuals, x, self.retract)

    def evaluator(self) -> Evaluator:
        """What solvers see of the functions. Subclasses that know more of their structure return one of their own."""
        return Evaluator(self)

    def clone(self) -> Self:
        """An independent copy, with clones of all functions."""
        twin = copy.copy(self)
        twin._lower, twin._upper, twin._initial = self._lower.copy(), self._upper.copy(), self._initial.copy()
        twin._seeds = self.seeds
        twin._objective = self._objective.clone()
        twin.equality = [f.clone() for f in self.equality]
        twin.inequality = [f.clone() for f in self.inequality]
        return twin

    def _point(self, value: ArrayLike, what: str) -> Array:
        return as_vector(value, f"{what} of a problem", self._dimension)

    def _checked_bounds(self, lower: ArrayLike, upper: ArrayLike) -> tuple[Array, Array]:
        low, high = (self._bounds(value, what) for value, what in ((lower, "lower"), (upper, "upper")))
        wrong = np.flatnonzero((low > high) | (low == np.inf) | (high == -np.inf))
        if wrong.size:
            i = int(wrong[0])
            raise ModelError(f"bounds of variable {i}: expected lower <= upper, got {low[i]:g} and {high[i]:g}")
        return low, high

    def _bounds(self, value: ArrayLike, what: str) -> Array:
        try:
            bounds = as_numbers(value)
        except (TypeError, ValueError):
            raise ModelError(f"{what} bounds of a problem: expected numbers, got {value!r}") from None
        if bounds.ndim == 0:
            bounds = np.full(self._dimension, float(bounds))
        if bounds.shape != (self._dimension,) or np.isnan(bounds).any():
            raise ModelError(f"{what} bounds of a problem: expected {self._dimension} numbers, got {value!r}")
        return bounds


def as_function(value: FunctionLike | None, what: str) -> Function:
    """A `Function`, made of a Python callable where it is one.

    Raises:
        ModelError: it is neither.
    """
    if value is None:
        return NullFunction()
    if isinstance(value, Function):
        return value
    if callable(value):
        return ModularFunction(value)
    raise ModelError(f"{what} of a problem: expected a Function or a Python function of x, got {value!r}")


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
                rows = rows if scipy.sparse.issparse(rows) else np.asarray(rows, dtype=float)
                if rows.ndim != 2 or rows.shape[1] != x.size:
                    raise StateError(f"jacobian of {f.name}: expected (rows, {x.size}) numbers, got {rows.shape}")
                blocks.append(rows)
            else:
                blocks.append(self._gradient(f, x)[None])
        if any(scipy.sparse.issparse(block) for block in blocks):
            return scipy.sparse.vstack(blocks[1:], format="csr")
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
    return rows.toarray() if scipy.sparse.issparse(rows) else rows


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
