"""The base of all shapes, and the checks of the numbers and arrays that they are given."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np

from kido.errors import ShapeError

Array = np.ndarray


class Shape(ABC):
    """Geometry in its own axes, without a place in the world.

    Lengths are in metres. A shape never changes once made. Volume, centroid and moment raise a ShapeError for a
    shape that is no solid.
    """

    collides: ClassVar[bool] = True  # False for a shape that is only drawn

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Itself: what never changes is shared by copies, with all that was computed of it."""
        return self

    @property
    @abstractmethod
    def aabb(self) -> Array:
        """Lower and upper corner (2,3) of the box around the shape, in the shape's axes [m]."""

    @property
    @abstractmethod
    def bounding_radius(self) -> float:
        """Radius of the smallest sphere about the shape's origin that holds the shape [m]."""

    def support(self, direction: Array) -> float:
        """Largest value of direction . x over the points x of the shape, or of the box around it [m]."""
        corners = np.where(direction > 0, self.aabb[1], self.aabb[0])
        return float(np.where(direction != 0, corners * direction, 0.0).sum())

    @property
    @abstractmethod
    def volume(self) -> float:
        """Volume [m^3]."""

    @property
    def centroid(self) -> Array:
        """Centre of volume (3,) in the shape's axes [m]."""
        return np.zeros(3)

    @abstractmethod
    def moment(self, mass: float) -> Array:
        """Rotational inertia (3,3) about the centroid, in the shape's axes, of uniform density [kg m^2].

        Args:
            mass: total mass [kg], positive.
        """


class ArrayShape(Shape):
    """A shape given by arrays, of which it keeps copies that cannot be written; equal only to itself."""

    def __reduce__(self) -> tuple[Any, ...]:
        arguments: Any = self
        return type(self), tuple(getattr(self, field.name) for field in fields(arguments))


SMALLEST, LARGEST = 1e-60, 1e60  # [m] fifth powers of these are numbers


def length(shape: str, name: str, value: Any) -> float:
    """`value` as a positive finite float; ShapeError otherwise."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"{shape}: {name} is {value!r}; expected a positive number") from None
    if not 0.0 < number <= LARGEST:
        raise ShapeError(f"{shape}: {name} is {value!r}; expected a positive finite number, at most {LARGEST:g}")
    return number


def vector(shape: str, name: str, value: Any) -> tuple[float, float, float]:
    """`value` as three finite floats; ShapeError otherwise."""
    try:
        numbers = tuple(float(v) for v in value)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"{shape}: {name} is {value!r}; expected three numbers") from None
    if len(numbers) != 3 or not all(math.isfinite(v) for v in numbers):
        raise ShapeError(f"{shape}: {name} is {value!r}; expected three finite numbers")
    return numbers


def lengths(shape: str, name: str, value: Any) -> tuple[float, float, float]:
    """`value` as three positive finite floats; ShapeError otherwise."""
    numbers = vector(shape, name, value)
    if not (min(numbers) > 0.0 and max(numbers) <= LARGEST):
        raise ShapeError(f"{shape}: {name} is {value!r}; expected three positive numbers, at most {LARGEST:g}")
    return numbers


def diagonal(mass: float, moments: Sequence[float]) -> Array:
    """mass * diag(moments), after checking the mass."""
    if not (mass > 0.0 and math.isfinite(mass)):
        raise ShapeError(f"mass is {mass!r}; expected a positive finite number")
    return np.diag(np.asarray(moments, dtype=float) * mass)


def finite_array(shape: str, name: str, value: Any, dims: int, last: int | None = None) -> np.ndarray:
    """`value` as a read-only copy of finite floats with `dims` axes, `last` numbers along the last one.

    Raises:
        ShapeError: it is empty, of another shape, or holds what is no finite number of at most 1e60.
    """
    expected = "(n, 3)" if dims == 2 and last == 3 else f"an array with {dims} axes"
    try:
        given = np.asarray(value)
        if not (np.issubdtype(given.dtype, np.number) or np.issubdtype(given.dtype, np.bool_)):
            raise TypeError
        array = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"{shape}: {name} are not an array of numbers; expected {expected}") from None
    if array.ndim != dims or (last is not None and array.shape[-1] != last) or array.size == 0:
        raise ShapeError(f"{shape}: {name} have shape {array.shape}; expected {expected}, not empty")
    possible = np.abs(array) <= LARGEST
    if not possible.all():
        at = tuple(int(i) for i in np.argwhere(~possible)[0])
        where = f"{name}[{', '.join(map(str, at))}]"
        raise ShapeError(f"{shape}: {where} is {array[at]}; expected finite numbers of at most {LARGEST:g}")
    array.setflags(write=False)
    return array


def checked_mass(mass: float) -> float:
    """A positive finite mass; ShapeError otherwise."""
    if not (mass > 0.0 and np.isfinite(mass)):
        raise ShapeError(f"mass is {mass!r}; expected a positive finite number")
    return mass
