"""Gradient methods: from an error to a change of the active coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.ik.part import Part
from kido.math.transform import as_numbers, number_or_nan

Array = NDArray[np.float64]


class GradientMethod(Part, ABC):
    """How to come closer: the base class of all gradient methods, and of your own.

    Source: DART report, section 2.8.1.
    """

    @abstractmethod
    def compute_gradient(self, error: Array) -> Array:
        """The gradient g (n,) of an error (6,), one number for each of `ik.dofs`, in velocity coordinates.

        Solvers move the skeleton by -g, so J g should come close to the error, with J the error's Jacobian at the
        skeleton's present positions. A closed-form solution is a gradient too: the present positions less it.
        """


class JacobianMethod(GradientMethod):
    """A gradient method that inverts the error's Jacobian in some way; subclass it and write `solve`.

    In a hierarchy all tasks of a level that have equal methods of this kind are solved as one, in the null space of
    the levels above.

    Args:
        component_weights: (n,) how readily each coordinate moves, not negative; None: all alike.
        clamp: the largest change of a coordinate in one step [rad, m]; all are scaled together.
    """

    def __init__(self, component_weights: ArrayLike | None = None, clamp: float = np.inf):
        self.component_weights = component_weights
        self.clamp = clamp

    @abstractmethod
    def solve(self, jacobian: Array, error: Array) -> Array:
        """A change g (n,) with J g near the error, for J (rows, n) and an error (rows,) of any number of rows."""

    @property
    def component_weights(self) -> Array | None:
        """How readily each coordinate moves (n,) (a copy); None: all alike.

        With weights W the method is applied to J W, and what comes out is multiplied by W.
        """
        return None if self._weights is None else self._weights.copy()

    @component_weights.setter
    def component_weights(self, value: ArrayLike | None) -> None:
        if value is None:
            self._weights = None
            return
        try:
            weights = as_numbers(value).reshape(-1)
        except (TypeError, ValueError):
            weights = np.array([np.nan])
        if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
            raise ModelError(f"{type(self).__name__}: component_weights: expected numbers not below 0, got {value!r}")
        self._weights = weights

    @property
    def clamp(self) -> float:
        """The largest change of a coordinate in one step [rad, m]."""
        return self._clamp

    @clamp.setter
    def clamp(self, value: float) -> None:
        self._clamp = positive(value, f"{type(self).__name__}: clamp", infinite=True)

    def compute_gradient(self, error: Array) -> Array:
        """`step` with the Jacobian of the present positions."""
        return self.step(self.ik.compute_jacobian(), error)

    def step(self, jacobian: Array, error: Array) -> Array:
        """`solve`, with weights and clamp."""
        W = self._weights
        if W is None:
            return clamped(self._solved(jacobian, error), self._clamp)
        if W.shape != (jacobian.shape[1],):
            raise ModelError(
                f"{type(self).__name__}: component_weights: expected {jacobian.shape[1]} numbers, got {W.size}"
            )
        return clamped(W * self._solved(jacobian * W, error), self._clamp)

    def _solved(self, jacobian: Array, error: Array) -> Array:
        g = self.solve(jacobian, error)
        if not isinstance(g, np.ndarray) or g.shape != (jacobian.shape[1],):
            raise ModelError(
                f"{type(self).__name__}: solve: expected an array of {jacobian.shape[1]} numbers, got {g!r}"
            )
        return g

    def settings_key(self) -> tuple[Any, ...]:
        """Equal for methods that can be applied to several tasks as to one."""
        settings = {k: v.tobytes() if isinstance(v, np.ndarray) else v for k, v in vars(self).items() if k != "_ik"}
        return (type(self), *sorted(settings.items()))


def clamped(g: Array, largest: float) -> Array:
    """A vector scaled so that no component is larger than a bound (Buss and Kim's ClampMaxAbs)."""
    size = float(np.abs(g).max(initial=0.0))
    return g if size <= largest else g * (largest / size)


def positive(value: Any, what: str, infinite: bool = False, zero: bool = False) -> float:
    """A number above zero.

    Raises:
        ModelError: it is none.
    """
    number = number_or_nan(value)
    if not ((number > 0.0 or (zero and number == 0.0)) and (infinite or number < np.inf)):
        least = "not below 0" if zero else "above 0"
        raise ModelError(f"{what}: expected a number {least}, got {value!r}")
    return number
