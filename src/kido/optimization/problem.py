"""What is to be optimized: variables with bounds, an objective, constraints, and where to start."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.math.transform import as_numbers, as_vector
from kido.optimization.differences import Array, central_differences
from kido.optimization.function import Function, LeastSquares, ModularFunction, NullFunction, has_derivative

if TYPE_CHECKING:
    from kido.optimization.evaluator import Evaluator

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
        self._lower = self._checked_bounds(value, self._upper)[0]

    @property
    def upper(self) -> Array:
        """Upper bounds (n,)."""
        return self._upper.copy()

    @upper.setter
    def upper(self, value: ArrayLike) -> None:
        self._upper = self._checked_bounds(self._lower, value)[1]

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
        from kido.optimization.evaluator import Evaluator  # which knows problems

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
