"""Vectors whose components are numbers, arrays or a model's expressions."""

from __future__ import annotations

from typing import Any

import numpy as np


def vector(x: Any, y: Any, z: Any) -> Any:
    """(..., 3) from three components."""
    return np.moveaxis(np.array([x, y, z]), 0, -1)


def dot(a: Any, b: Any) -> Any:
    """Scalar product of vectors (..., 3)."""
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def length(a: Any) -> Any:
    """Of vectors (..., 3)."""
    return np.sqrt(dot(a, a))


def scaled(a: Any, factor: Any) -> Any:
    """Vectors (..., 3) times numbers (...)."""
    return vector(a[..., 0] * factor, a[..., 1] * factor, a[..., 2] * factor)
