"""Rotations as vectors and angles, and how these change with the angular velocity.

Functions of vectors and matrices take one of them, or many: leading axes are kept. Kernels of the same equations are in
`kido.ik.engine.rotations`.

Source: Sola, Deray, Atchuthan, "A micro Lie theory for state estimation in robotics" (2018), eqs. 132, 143 to 146.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kido.ik.engine.rotations import MIN_COSINE

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


def euler_xyz_of_rotation(R: Array) -> Array:
    """Angles (3,) [rad] with R = Rx(a) Ry(b) Rz(c), b between -pi/2 and pi/2."""
    cosine = math.hypot(R[0, 0], R[0, 1])
    return np.array([math.atan2(-R[1, 2], R[2, 2]), math.atan2(R[0, 2], cosine), math.atan2(-R[0, 1], R[0, 0])])


def rotation_of_euler_xyz(angles: Array) -> Array:
    """Rx(a) Ry(b) Rz(c) (3, 3)."""
    (sa, sb, sc), (ca, cb, cc) = np.sin(angles), np.cos(angles)
    return np.array(
        [
            [cb * cc, -cb * sc, sb],
            [ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb],
            [sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb],
        ]
    )


def inverse_euler_jacobian(angles: Array) -> Array:
    """J (3, 3) with d(angles)/dt = J w for R' = [w] R and intrinsic XYZ angles; grows without bounds near b = pi/2."""
    sa, ca = math.sin(angles[0]), math.cos(angles[0])
    sb, cb = math.sin(angles[1]), max(math.cos(angles[1]), MIN_COSINE)
    t = sb / cb
    return np.array([[1.0, t * sa, -t * ca], [0.0, ca, sa], [0.0, -sa / cb, ca / cb]])
