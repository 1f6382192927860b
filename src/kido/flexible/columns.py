"""Columns of Jacobians: crossed with vectors, and seen from other axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.skeleton.state.selections import turned

Array = NDArray[np.float64]


def skew(w: Array) -> Array:
    """[w x] of vectors (3, ...), as (3, 3, ...)."""
    zero = np.zeros_like(w[0])
    return np.array([[zero, -w[2], w[1]], [w[2], zero, -w[0]], [-w[1], w[0], zero]])


def cross_columns(a: Array, B: Array) -> Array:
    """a x columns of B (3, n), or columns of both."""
    return np.cross(a if a.ndim > 1 else a[:, None], B, axis=0)


def in_axes_of(of: Any, J: Array, frame: Any) -> Array:
    """Columns of J, given in world axes, in those of a frame; None: the world's."""
    return J if frame is None else turned(J, of.state.axes_of(frame))
