"""Functions of the variables of a problem: what is minimized, and what must hold; central differences for those that
have no derivatives of their own."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import ModelError
from kido.optimization.references import rebound

Array = NDArray[np.float64]
Retraction = Callable[[Array, Array], Array]

_STEP = float(np.finfo(float).eps) ** (1.0 / 3.0)  # balances cutting off (h^2) and rounding (eps / h)


def add(x: Array, dx: Array) -> Array:
    """The retraction of a vector space."""
    return x + dx


def central_differences(
    function: Callable[[Array], float | Array], x: Array, retract: Retraction = add, step: float | None = None
) -> Array:
    """Derivative of `function(retract(x, dx))` with respect to dx at dx = 0.

    Column i is (f(x + h e_i) - f(x - h e_i)) / 2h, with an error of order h^2; h is 6e-6 max(1, |x_i|) unless given.

    Returns:
        (n,) for a function with one value, (m, n) for one with m values.

    Raises:
        ModelError: no function, or x is no array.
    """
    if not callable(function) or not isinstance(x, np.ndarray):
        raise ModelError(f"central differences: expected a function and an array, got {function!r} and {x!r}")
    columns = []
    dx = np.zeros(x.size)
    for i in range(x.size):
        h = step if step is not None else _STEP * max(1.0, abs(float(x[i])))
        dx[i] = h
        ahead = np.array(function(retract(x, dx)), dtype=float)
        dx[i] = -h
        behind = np.array(function(retract(x, dx)), dtype=float)
        dx[i] = 0.0
        columns.append((ahead - behind) / (2.0 * h))
    if not columns:
        return np.zeros((*np.shape(function(x)), 0))
    return np.stack(columns, axis=-1)


class Function(FixedAttributes, ABC):
    """One number that depends on x (n,). Subclass it, and write `evaluate`, for your own.

    Derivatives are with respect to displacements dx of x, as the problem's `retract(x, dx)` makes them; in a plain
    vector space that is the ordinary gradient. Without a `gradient` of its own a function is differentiated by
    central differences.

    Attributes: `name`, used in messages; the class's name unless set.
    """

    name: str = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            cls.name = cls.__name__

    @abstractmethod
    def evaluate(self, x: Array) -> float:
        """Its value at x (n,)."""

    def gradient(self, x: Array) -> Array:
        """Its derivative (n,) at x; by central differences unless a subclass knows better."""
        return central_differences(self.evaluate, x)

    def direction(self, x: Array) -> Array | None:
        """A displacement (n,) that a function knows to reduce it better than steepest descent does, or None.

        For a constraint: one that brings it to zero, such as a step of inverse kinematics. `GradientDescentSolver` uses
        it.
        """
        return None

    def restored(self, x: Array) -> Array | None:
        """A point near x at which a constraint holds, if it knows how to find one; None: follow directions."""
        return None

    def clone(self) -> Self:
        """An independent copy."""
        return copy.deepcopy(self)


class LeastSquares(Function):
    """Several numbers r(x) (m,). Subclass it and write `residuals`.

    As an objective it is f(x) = |r(x)|^2 / 2, whose gradient is J^T r and which Gauss-Newton methods know how to use;
    as a constraint each of its rows is one: r(x) = 0, or r(x) <= 0. Without a `jacobian` of its own it is
    differentiated by central differences.
    """

    @abstractmethod
    def residuals(self, x: Array) -> Array:
        """Its values (m,) at x (n,)."""

    def jacobian(self, x: Array) -> Array:
        """Derivatives (m, n) of the residuals at x; by central differences unless a subclass knows better.

        An array, or one of SciPy's sparse ones.
        """
        return central_differences(self.residuals, x)

    def evaluate(self, x: Array) -> float:
        """|r|^2 / 2."""
        r = np.asarray(self.residuals(x))
        return 0.5 * float(r @ r)

    def gradient(self, x: Array) -> Array:
        """J^T r (n,)."""
        return self.jacobian(x).T @ self.residuals(x)


class NullFunction(Function):
    """Zero everywhere: no objective, so that any point that satisfies the constraints will do."""

    def evaluate(self, x: Array) -> float:
        """0."""
        return 0.0

    def gradient(self, x: Array) -> Array:
        """0."""
        return np.zeros(x.size)


class _Modular(FixedAttributes):
    """What is made of Python callables: those of a copy refer to the copy's parts, see `references`."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        for name, value in vars(self).items():
            vars(twin)[name] = copy.deepcopy(rebound(value, memo) if callable(value) else value, memo)
        return twin


class ModularFunction(_Modular, Function):
    """A function made of Python callables.

    Args:
        evaluate: x (n,) -> number.
        gradient: x (n,) -> (n,); None: by central differences.
        name: used in messages.
    """

    def __init__(
        self,
        evaluate: Callable[[Array], Any],
        gradient: Callable[[Array], ArrayLike] | None = None,
        name: str | None = None,
    ) -> None:
        self._evaluate = evaluate
        self._gradient = gradient
        self.name = name or getattr(evaluate, "__name__", type(self).__name__)

    def evaluate(self, x: Array) -> float:
        """Its value at x (n,)."""
        return self._evaluate(x)

    def gradient(self, x: Array) -> Array:
        """Its derivative (n,) at x."""
        return super().gradient(x) if self._gradient is None else np.asarray(self._gradient(x), dtype=float)


class ModularLeastSquares(_Modular, LeastSquares):
    """Residuals made of Python callables.

    Args:
        residuals: x (n,) -> (m,).
        jacobian: x (n,) -> (m, n); None: by central differences.
        name: used in messages.
    """

    def __init__(
        self,
        residuals: Callable[[Array], ArrayLike],
        jacobian: Callable[[Array], ArrayLike] | None = None,
        name: str | None = None,
    ) -> None:
        self._residuals = residuals
        self._jacobian = jacobian
        self.name = name or getattr(residuals, "__name__", type(self).__name__)

    def residuals(self, x: Array) -> Array:
        """Its values (m,) at x (n,)."""
        return np.asarray(self._residuals(x), dtype=float)

    def jacobian(self, x: Array) -> Array:
        """Derivatives (m, n) of the residuals at x."""
        return super().jacobian(x) if self._jacobian is None else np.asarray(self._jacobian(x), dtype=float)


def has_derivative(function: Function) -> bool:
    """Whether a function knows its own derivative, rather than being differentiated by central differences."""
    if isinstance(function, ModularFunction):
        return function._gradient is not None
    if isinstance(function, ModularLeastSquares):
        return function._jacobian is not None
    if isinstance(function, LeastSquares):
        return type(function).jacobian is not LeastSquares.jacobian
    return type(function).gradient is not Function.gradient
