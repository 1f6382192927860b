"""Estimates of poses: covariances, and means by information."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.math.lie import exp_pose, log_pose
from kido.math.transform import as_numbers, inverse_transform

Array = NDArray[np.float64]


def fused(X: Array, P: Array | None, Z: Array, R: Array | None) -> tuple[Array, Array | None]:
    """The mean of two poses by information, and its covariance; see `Grasps.update_pose`."""
    if P is None or R is None:
        return Z, P if R is None else R
    K = np.linalg.solve(P + R, P).T
    rest = np.eye(6) - K
    return X @ exp_pose(K @ log_pose(inverse_transform(X) @ Z)), rest @ P @ rest.T + K @ R @ K.T


def checked_covariance(value: ArrayLike | None, what: str) -> Array | None:
    """A symmetric positive definite matrix (6, 6), or None.

    Raises:
        ModelError: another thing.
    """
    if value is None:
        return None
    try:
        P = np.array(as_numbers(value))
    except (TypeError, ValueError):
        P = np.zeros(0)
    scale = np.abs(P).max(initial=0.0)
    if P.shape != (6, 6) or not np.isfinite(P).all() or np.abs(P - P.T).max() > 1e-9 * scale:
        raise ModelError(f"{what}: covariance: expected a symmetric (6, 6) matrix, got {value!r}")
    P = 0.5 * (P + P.T)
    if np.linalg.eigvalsh(P)[0] <= 0.0:
        raise ModelError(f"{what}: covariance: expected a positive definite matrix, got {value!r}")
    return P
