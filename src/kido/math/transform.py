"""Rigid transforms at the public edge: what a user may pass, checked and made a 4x4 array."""

from __future__ import annotations

import inspect
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError

_TOLERANCE = 1e-6  # of R R^T = I; text files carry about seven digits


def number_or_nan(value: Any) -> float:
    """A number as float; NaN, which every check refuses, for what is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def as_flag(value: Any, what: str) -> bool:
    """True or False, also as NumPy's or as 1 or 0.

    Raises:
        ModelError: anything else, such as a text, None or an array.
    """
    if isinstance(value, bool | int | np.bool_ | np.integer) and value in (0, 1):
        return bool(value)
    raise ModelError(f"{what}: expected True or False, got {value!r}")


def takes(function: Any, number: int) -> bool:
    """Whether a function can be called with a number of arguments, as far as it tells."""
    try:
        inspect.signature(function).bind(*[None] * number)
    except TypeError:
        return False
    except ValueError:  # some built-in ones do not tell
        pass
    return True


def as_numbers(value: Any) -> NDArray[np.float64]:
    """Real numbers as a new float64 array of their shape, whose dtype is NumPy's own object (unpickled ones differ).

    Raises:
        TypeError, ValueError: texts, complex numbers or other things; lists of unequal lengths; numbers too large.
    """
    array = np.array(value, order="C")
    if array.dtype.kind == "O":  # whole numbers beyond 64 bits, fractions
        if not all(isinstance(item, Real) for item in array.flat):
            raise TypeError(f"expected numbers, got {value!r}")
        try:
            return array.astype(np.float64)
        except OverflowError as error:
            raise ValueError(str(error)) from None
    return array.astype(np.float64, casting="same_kind")


def numbers_or_nan(value: Any) -> NDArray[np.float64]:
    """`as_numbers`; one NaN, which every check refuses, for what is none."""
    try:
        return as_numbers(value)
    except (TypeError, ValueError):
        return np.full(1, np.nan)


def as_positive(value: Any, what: str, unit: str = "") -> float:
    """A finite number above zero.

    Raises:
        ModelError: anything else.
    """
    found = number_or_nan(value)
    if not 0.0 < found < np.inf:
        raise ModelError(f"{what}: expected a positive number{unit and f' [{unit}]'}, got {value!r}")
    return found


def as_vector(value: ArrayLike, what: str, size: int = 3) -> NDArray[np.float64]:
    """A finite vector of a given size, as a new array.

    Raises:
        ModelError: wrong size, not numbers, or not finite.
    """
    try:
        vector = as_numbers(value).reshape(-1)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: expected {size} numbers, got {value!r}") from None
    if vector.shape != (size,):
        raise ModelError(f"{what}: expected {size} numbers, got {vector.size}: {value!r}")
    if not np.isfinite(vector).all():
        raise ModelError(f"{what}: expected finite numbers, got {vector.tolist()}")
    return vector


def as_unit_vector(value: ArrayLike, what: str) -> NDArray[np.float64]:
    """A direction scaled to length one.

    Raises:
        ModelError: not a finite vector of three numbers, or zero.
    """
    vector = as_vector(value, what)
    length = float(np.linalg.norm(vector))
    if length < 1e-12:
        raise ModelError(f"{what}: expected a direction, got the zero vector")
    return vector / length


def as_transform(value: Any, what: str) -> NDArray[np.float64]:
    """A rigid transform as a new 4x4 array.

    Args:
        value: None (identity), a 4x4 matrix, a vector of three numbers (a translation), a SciPy `Rotation`
            or a SciPy `RigidTransform`.
        what: name used in messages.

    Raises:
        ModelError: anything else, numbers that are not finite, or a matrix that is no rigid transform.
    """
    if value is None:
        return np.eye(4)
    if hasattr(value, "as_matrix"):
        value = value.as_matrix()
    try:
        array = as_numbers(value)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: expected a 4x4 transform, got {value!r}") from None
    if not np.isfinite(array).all():
        raise ModelError(f"{what}: expected finite numbers, got {array.tolist()}")
    transform = np.eye(4)
    if array.shape == (3,):
        transform[:3, 3] = array
    elif array.shape == (3, 3):
        transform[:3, :3] = array
    elif array.shape == (4, 4):
        if np.abs(array[3] - (0.0, 0.0, 0.0, 1.0)).max() > _TOLERANCE:
            raise ModelError(f"{what}: the last row of a transform is [0, 0, 0, 1], got {array[3].tolist()}")
        transform[:3] = array[:3]
    else:
        raise ModelError(f"{what}: expected a 4x4 transform, got an array of shape {array.shape}")
    return with_orthonormal_rotation(transform, what)


def with_orthonormal_rotation(transform: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    """The transform with its rotation made orthonormal to rounding.

    Raises:
        ModelError: the matrix is further from a rotation than a text file's digits explain.
    """
    R = transform[:3, :3]
    error = float(np.abs(R @ R.T - np.eye(3)).max())
    if error > _TOLERANCE or np.linalg.det(R) < 0.0:
        raise ModelError(f"{what}: not a rotation (R R^T differs from I by {error:.2g}, det {np.linalg.det(R):.6g})")
    if error > 1e-15:
        left, _, right = np.linalg.svd(R)
        transform[:3, :3] = left @ right
    return transform


def inverse_transform(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inverse of a rigid transform: [R^T, -R^T p]."""
    result = np.eye(4)
    result[:3, :3] = X[:3, :3].T
    result[:3, 3] = -X[:3, :3].T @ X[:3, 3]
    return result
