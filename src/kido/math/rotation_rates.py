"""How rotation vectors change with the angular velocity, of one or of many: leading axes are kept.

Kernels of the same equations are in `kido.ik.engine.rotations`.

Source: Sola, Deray, Atchuthan, "A micro Lie theory for state estimation in robotics" (2018), eqs. 132, 143 to 146.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_SMALL = 1e-2  # angles [rad] below which series are used


def cross_matrix(v: Array) -> Array:
    """[v] (..., 3, 3) with [v] x = v x x."""
    K = np.zeros((*v.shape, 3))
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    K[..., 0, 1], K[..., 0, 2], K[..., 1, 2] = -z, y, -x
    K[..., 1, 0], K[..., 2, 0], K[..., 2, 1] = z, -y, x
    return K


def _powers(v: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Lengths n of vectors, lengths that may be divided by, whether they are small, [v] and [v]^2; for products."""
    n = np.sqrt((v * v).sum(axis=-1))[..., None, None]
    small = n < _SMALL
    K = cross_matrix(v)
    return n, np.where(small, 1.0, n), small, K, K @ K


def inverse_left_jacobian(v: Array) -> Array:
    """J (..., 3, 3) with d(log R)/dt = J w for R' = [w] R, log R = v: 1 - [v]/2 + c [v]^2.

    That for R' = R [w] is the transpose, the same of -v.
    """
    n, safe, small, K, K2 = _powers(v)
    c = np.where(small, 1 / 12 + n**2 / 720 + n**4 / 30240, (1.0 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2)
    return np.eye(3) - 0.5 * K + c * K2


def right_jacobian(v: Array) -> Array:
    """J (..., 3, 3) with w = J v' for R = exp(v), R' = R [w]: 1 - a [v] + b [v]^2."""
    n, safe, small, K, K2 = _powers(v)
    a = np.where(small, 1 / 2 - n**2 / 24 + n**4 / 720, (1.0 - np.cos(safe)) / safe**2)
    b = np.where(small, 1 / 6 - n**2 / 120 + n**4 / 5040, (safe - np.sin(safe)) / safe**3)
    return np.eye(3) - a * K + b * K2
