"""Arguments of the functions here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError, StateError
from kido.math.transform import as_positive, numbers_or_nan

Array = NDArray[np.float64]


def as_points(value: Any, what: str) -> Array:
    """Finite numbers (..., 3).

    Raises:
        StateError: they are not.
    """
    p = numbers_or_nan(value)
    if p.ndim < 1 or p.shape[-1] != 3 or not np.isfinite(p).all():
        raise StateError(f"{what}: expected finite numbers (..., 3), got {value!r}")
    return p


def outside(position: Any, what: str) -> tuple[Array, Array]:
    """Positions (..., 3) and their distances (..., 1) from the origin, which none is in.

    Raises:
        StateError: one is, or they are no positions.
    """
    r = as_points(position, what)
    d = np.linalg.norm(r, axis=-1, keepdims=True)
    if not np.all(d > 0.0):
        raise StateError(f"{what}: expected points that are not the centre, got {position!r}")
    return r, d


__all__ = ["Array", "ModelError", "as_points", "as_positive", "outside"]
