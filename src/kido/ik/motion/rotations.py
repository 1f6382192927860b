"""Rotations of many frames at once: logarithms and how they change.

Source: Sola, Deray, Atchuthan, "A micro Lie theory for state estimation in robotics" (2018), eqs. 132, 143 to 146.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]


def logarithms(R: Array) -> Array:
    """Rotation vectors (frames, 3) of matrices (frames, 3, 3), at most pi long [rad]."""
    return Rotation.from_matrix(R).as_rotvec()


def exponentials(v: Array) -> Array:
    """Matrices (frames, 3, 3) of rotation vectors (frames, 3) [rad]."""
    return Rotation.from_rotvec(v).as_matrix()


def cross_matrices(v: Array) -> Array:
    """[v] (frames, 3, 3) with [v] x = v x x."""
    K = np.zeros((len(v), 3, 3))
    K[:, 0, 1], K[:, 0, 2], K[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    return K - K.transpose(0, 2, 1)


def inverse_left_jacobians(v: Array) -> Array:
    """J (frames, 3, 3) with d(log R)/dt = J w for R' = [w] R, log R = v: 1 - [v]/2 + c [v]^2.

    That for R' = R [w] is the transpose, the same of -v.
    """
    n = np.linalg.norm(v, axis=1)
    safe = np.where(n < 1e-2, 1.0, n)
    c = np.where(n < 1e-2, 1 / 12 + n**2 / 720 + n**4 / 30240, (1.0 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2)
    K = cross_matrices(v)
    return np.eye(3) - 0.5 * K + c[:, None, None] * (K @ K)


def right_jacobians(v: Array) -> Array:
    """J (frames, 3, 3) with w = J v' for R = exp(v), R' = R [w]: 1 - a [v] + b [v]^2."""
    n = np.linalg.norm(v, axis=1)
    safe = np.where(n < 1e-2, 1.0, n)
    a = np.where(n < 1e-2, 1 / 2 - n**2 / 24 + n**4 / 720, (1.0 - np.cos(safe)) / safe**2)
    b = np.where(n < 1e-2, 1 / 6 - n**2 / 120 + n**4 / 5040, (safe - np.sin(safe)) / safe**3)
    K = cross_matrices(v)
    return np.eye(3) - a[:, None, None] * K + b[:, None, None] * (K @ K)
