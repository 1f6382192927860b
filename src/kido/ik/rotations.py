"""Rotations as intrinsic angles, and how these change with the angular velocity.

How rotation vectors do is in `kido.math.rotation_rates`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kido.ik.engine.rotations import MIN_COSINE

Array = NDArray[np.float64]


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
