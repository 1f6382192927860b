"""Central differences on the manifold of positions: the truth for derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import kido
from kernel_entries import Arrays

STEP = 1e-5  # [rad, m]: truncation 1e-10, rounding 1e-16 / 1e-5, both times what derivatives grow with


def moved(skeleton: kido.Skeleton, q: np.ndarray, direction: np.ndarray, h: float) -> np.ndarray:
    """Positions after a time h with the velocities `direction`."""
    arrays = Arrays(skeleton, q, direction)
    arrays.advance(h)
    return arrays.data.q.copy()


def along_positions(function: Callable, skeleton: kido.Skeleton, q: np.ndarray, h: float = STEP) -> np.ndarray:
    """d function(q) / dq, the coordinate in the last axis."""
    columns = [
        (function(moved(skeleton, q, e, h)) - function(moved(skeleton, q, e, -h))) / (2.0 * h) for e in np.eye(len(q))
    ]
    return np.stack(columns, axis=-1)


def along_vector(function: Callable, x: np.ndarray, h: float = STEP) -> np.ndarray:
    """d function(x) / dx of a vector, the coordinate in the last axis."""
    return np.stack([(function(x + h * e) - function(x - h * e)) / (2.0 * h) for e in np.eye(len(x))], axis=-1)


def along_motion(function: Callable, skeleton: kido.Skeleton, q: np.ndarray, u: np.ndarray, h: float = 2e-3):
    """d function(q) / dt at velocities u, of sixth order: error about h^6, rounding 1e-16 / h."""
    terms = ((1, 45.0), (2, -9.0), (3, 1.0))
    return sum(
        w * (function(moved(skeleton, q, u, k * h)) - function(moved(skeleton, q, u, -k * h))) for k, w in terms
    ) / (60.0 * h)
