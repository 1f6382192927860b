"""Angles of rotation matrices and how they change, for residuals of inverse kinematics.

With R turning at w in the axes it is seen from, R' = [w] R: the rotation vector r = log R changes at
r' = J_l(r)^-1 w, and intrinsic XYZ Euler angles, R = Rx(a) Ry(b) Rz(c), at the inverse of
w = x a' + Rx y b' + Rx Ry z c'.

Source: Sola, Deray, Atchuthan (2018), "A micro Lie theory for state estimation in robotics", eqs. 143, 146.
"""

from __future__ import annotations

import math

from kido.jit import kernel, where_positive
from kido.math.elementary import arctan2
from kido.math.lie import inverse_left_jacobian_coefficient
from kido.math.trig import sincos

MIN_COSINE = 1e-9  # of the middle Euler angle, where the two others turn about one axis


@kernel
def inverse_left_jacobian(x, y, z):
    """J_l^-1 of a rotation vector, nine numbers: 1 - [r]/2 + c [r]^2; its transpose is that of -r, and J_r^-1."""
    n2 = x * x + y * y + z * z
    c = inverse_left_jacobian_coefficient(n2)
    d = 1.0 - c * n2
    return (
        d + c * x * x, c * x * y + 0.5 * z, c * x * z - 0.5 * y,
        c * x * y - 0.5 * z, d + c * y * y, c * y * z + 0.5 * x,
        c * x * z + 0.5 * y, c * y * z - 0.5 * x, d + c * z * z,
    )  # fmt: skip


@kernel
def right_jacobian(x, y, z):
    """J_r of a rotation vector, nine numbers: w = J_r(r) r' in the turned axes; 1 - a [r] + b [r]^2."""
    n2 = x * x + y * y + z * z
    n = math.sqrt(n2 + 1e-300)
    s, c = sincos(0.5 * n)
    k = s / n
    a = 2.0 * k * k
    small = 0.25 - n2
    series = 1.0 / 6.0 - n2 * (1.0 / 120.0 - n2 * (1.0 / 5040.0 - n2 * (1.0 / 362880.0 - n2 / 39916800.0)))
    b = where_positive(small, series, (1.0 - 2.0 * k * c) / (n2 + 1e-300))
    d = 1.0 - b * n2
    return (
        d + b * x * x, b * x * y + a * z, b * x * z - a * y,
        b * x * y - a * z, d + b * y * y, b * y * z + a * x,
        b * x * z + a * y, b * y * z - a * x, d + b * z * z,
    )  # fmt: skip


@kernel
def euler_xyz_of(R):
    """Angles (a, b, c) with R = Rx(a) Ry(b) Rz(c), b in [-pi/2, pi/2]."""
    cosine = math.sqrt(R[0] * R[0] + R[1] * R[1])
    return arctan2(-R[5], R[8]), arctan2(R[2], cosine), arctan2(-R[1], R[0])


@kernel
def inverse_euler_jacobian(a, b):
    """Rates of intrinsic XYZ angles from w in the axes the rotation is seen from, nine numbers.

    At b = +-pi/2 it has no bounds; there the cosine of b is taken for MIN_COSINE.
    """
    sa, ca = sincos(a)
    sb, cb = sincos(b)
    cb = where_positive(cb - MIN_COSINE, cb, MIN_COSINE)
    t = sb / cb
    return 1.0, t * sa, -t * ca, 0.0, ca, sa, 0.0, -sa / cb, ca / cb
