"""Rotations as vectors and angles, and how these change with the angular velocity.

Source: Sola, Deray, Atchuthan, "A micro Lie theory for state estimation in robotics" (2018), eqs. 132, 143, 146.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LEAST_COSINE = 1e-9  # of the middle Euler angle, where the two others turn about one axis


def cross_matrix(v: Array) -> Array:
    """[v] (3, 3) with [v] x = v x x."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def rotation_of_vector(v: Array) -> Array:
    """exp of a rotation vector [rad] (3, 3): 1 + a [v] + b [v]^2."""
    n = float(np.linalg.norm(v))
    half = math.sin(0.5 * n) / n if n > 0.0 else 0.5
    K = cross_matrix(v)
    return np.eye(3) + 2.0 * half * math.cos(0.5 * n) * K + 2.0 * half**2 * (K @ K)


def vector_of_rotation(R: Array) -> Array:
    """log of a rotation matrix (3,) [rad], at most pi long; by the largest component of the quaternion (Shepperd)."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    k = int(np.argmax([trace, R[0, 0], R[1, 1], R[2, 2]])) - 1
    skew = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    if k < 0:
        w, v = 1.0 + trace, skew
    else:
        v = R[:, k] + R[k]
        v[k] = 1.0 + 2.0 * R[k, k] - trace
        w = skew[k]
    if w < 0.0:
        w, v = -w, -v
    n = float(np.linalg.norm(v))
    return v * (2.0 * math.atan2(n, w) / n) if n > 0.0 else np.zeros(3)


def inverse_left_jacobian(v: Array) -> Array:
    """J (3, 3) with d(log R)/dt = J w for R' = [w] R, log R = v: 1 - [v]/2 + c [v]^2."""
    n = float(np.linalg.norm(v))
    if n < 1e-2:
        c = 1.0 / 12.0 + n * n / 720.0 + n**4 / 30240.0
    else:
        c = (1.0 - 0.5 * n / math.tan(0.5 * n)) / (n * n)
    K = cross_matrix(v)
    return np.eye(3) - 0.5 * K + c * (K @ K)


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
    sb, cb = math.sin(angles[1]), max(math.cos(angles[1]), _LEAST_COSINE)
    t = sb / cb
    return np.array([[1.0, t * sa, -t * ca], [0.0, ca, sa], [0.0, -sa / cb, ca / cb]])
