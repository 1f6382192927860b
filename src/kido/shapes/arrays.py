"""Arrays of numbers that shapes are given, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import ShapeError


def finite_array(shape: str, name: str, value: Any, dims: int, last: int | None = None) -> np.ndarray:
    """`value` as a read-only copy of finite floats with `dims` axes, `last` numbers along the last one.

    Raises:
        ShapeError: it is empty, of another shape, or holds what is no finite number.
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
    if not np.isfinite(array).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ShapeError(f"{shape}: {name}[{', '.join(map(str, at))}] is {array[at]}; expected finite numbers")
    array.setflags(write=False)
    return array


def checked_mass(mass: float) -> float:
    """A positive finite mass; ShapeError otherwise."""
    if not (mass > 0.0 and np.isfinite(mass)):
        raise ShapeError(f"mass is {mass!r}; expected a positive finite number")
    return mass
