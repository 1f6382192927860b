"""exp and log of rotations and of poses: of kernels, and for one or many of them in Python.

A rotation is exp of its rotation vector, a pose exp of a twist [angular; linear] = [w; v]:

    exp [w; v] = [[exp w, V v], [0, 1]],    V = 1 + (1 - cos n)/n^2 [w] + (n - sin n)/n^3 [w]^2,    n = |w|

and log is their inverse with an angle of at most pi. Near 0 there are series, and the quaternion of a matrix is made
from the largest of its components, so that all of it is exact to rounding, at 0 and pi too.

Source: Sola, Deray, Atchuthan (2018), "A micro Lie theory for state estimation in robotics"; Shepperd (1978).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.jit import entry, fma, kernel, where_positive
from kido.math.so3 import (
    TINY2,
    cross,
    quaternion_to_rotation_vector,
    rotation_vector_to_matrix,
)
from kido.math.transform import as_numbers
from kido.math.trig import sincos

Array = NDArray[np.float64]
# (n - sin n)/n^3 = 1/3! - n^2/5! + n^4/7! - ...
_B0, _B1, _B2, _B3 = 1.0 / 6.0, -1.0 / 120.0, 1.0 / 5040.0, -1.0 / 362880.0
_B4, _B5, _B6 = 1.0 / 39916800.0, -1.0 / 6227020800.0, 1.0 / 1307674368000.0


@kernel
def left_jacobian_coefficients(n2):
    """(1 - cos n)/n^2 and (n - sin n)/n^3 for n2 = n^2."""
    n = math.sqrt(n2 + TINY2)
    s, c = sincos(0.5 * n)
    k = s / n
    # n - sin n loses digits near zero: there the series, to its term in n^12.
    b = fma(n2, fma(n2, fma(n2, fma(n2, fma(n2, fma(n2, _B6, _B5), _B4), _B3), _B2), _B1), _B0)
    return 2.0 * k * k, where_positive(n2 - 0.25, (1.0 - 2.0 * k * c) / (n2 + TINY2), b)


@kernel
def inverse_left_jacobian_coefficient(n2):
    """c with V^-1 = 1 - [w]/2 + c [w]^2 for n2 = |w|^2: (1 - (n/2) cot(n/2)) / n^2."""
    small = 1e-4 - n2
    safe = where_positive(small, 1.0, n2)
    n = math.sqrt(safe)
    s, c = sincos(0.5 * n)
    series = 1.0 / 12.0 + n2 * (1.0 / 720.0) + n2 * n2 * (1.0 / 30240.0)
    return where_positive(small, series, (1.0 - 0.5 * n * c / s) / safe)


@kernel
def matrix_to_rotation_vector(R):
    """log of a rotation matrix, its angle in [0, pi]; accurate at both ends.

    The quaternion is made from the largest of its components (Shepperd, 1978), chosen without a branch.
    """
    w = 1.0 + R[0] + R[4] + R[8]
    x = 1.0 + R[0] - R[4] - R[8]
    y = 1.0 - R[0] + R[4] - R[8]
    z = 1.0 - R[0] - R[4] + R[8]
    a, b, c = R[7] - R[5], R[2] - R[6], R[3] - R[1]
    p, q, s = R[3] + R[1], R[6] + R[2], R[7] + R[5]
    # Rows of 4 q q^T: that of w, or of x, or the better of y and z.
    m = y - z
    e0, e1, e2, e3 = where_positive(m, b, c), where_positive(m, p, q), where_positive(m, y, s), where_positive(m, s, z)
    m = x - where_positive(m, y, z)
    e0, e1, e2, e3 = (
        where_positive(m, a, e0),
        where_positive(m, x, e1),
        where_positive(m, p, e2),
        where_positive(m, q, e3),
    )
    m = w - 1.0
    e0, e1, e2, e3 = (
        where_positive(m, w, e0),
        where_positive(m, a, e1),
        where_positive(m, b, e2),
        where_positive(m, c, e3),
    )
    n = 1.0 / math.sqrt(e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
    return quaternion_to_rotation_vector(n * e0, n * e1, n * e2, n * e3)


# One or many, in Python ----------------------------------------------------------------------------------------


@kernel
def _write(R, k, out):
    for r in range(3):
        out[k, r, 0], out[k, r, 1], out[k, r, 2] = R[3 * r], R[3 * r + 1], R[3 * r + 2]


@kernel
def _read(X, k):
    return (X[k, 0, 0], X[k, 0, 1], X[k, 0, 2], X[k, 1, 0], X[k, 1, 1], X[k, 1, 2], X[k, 2, 0], X[k, 2, 1], X[k, 2, 2])


@entry("i8(f8[:,::1],f8[:,:,::1])")
def _exp(V, out):
    """Rotations of vectors (n, 3), or poses of twists (n, 6)."""
    for k in range(V.shape[0]):
        x, y, z = V[k, 0], V[k, 1], V[k, 2]
        _write(rotation_vector_to_matrix(x, y, z), k, out)
        if V.shape[1] == 6:
            a, b = left_jacobian_coefficients(x * x + y * y + z * z)
            c0, c1, c2 = cross(x, y, z, V[k, 3], V[k, 4], V[k, 5])
            e0, e1, e2 = cross(x, y, z, c0, c1, c2)
            out[k, 0, 3] = V[k, 3] + a * c0 + b * e0
            out[k, 1, 3] = V[k, 4] + a * c1 + b * e1
            out[k, 2, 3] = V[k, 5] + a * c2 + b * e2
            out[k, 3, 0], out[k, 3, 1], out[k, 3, 2], out[k, 3, 3] = 0.0, 0.0, 0.0, 1.0
    return 0


@entry("i8(f8[:,:,::1],f8[:,::1])")
def _log(X, out):
    """The inverse of `_exp`."""
    for k in range(X.shape[0]):
        x, y, z = matrix_to_rotation_vector(_read(X, k))
        out[k, 0], out[k, 1], out[k, 2] = x, y, z
        if out.shape[1] == 6:
            c = inverse_left_jacobian_coefficient(x * x + y * y + z * z)
            p0, p1, p2 = X[k, 0, 3], X[k, 1, 3], X[k, 2, 3]
            a0, a1, a2 = cross(x, y, z, p0, p1, p2)
            b0, b1, b2 = cross(x, y, z, a0, a1, a2)
            out[k, 3], out[k, 4], out[k, 5] = p0 - 0.5 * a0 + c * b0, p1 - 0.5 * a1 + c * b1, p2 - 0.5 * a2 + c * b2
    return 0


def exp_rotation(vectors: ArrayLike) -> Array:
    """Rotations R = exp [w] (..., 3, 3) of rotation vectors w (..., 3) [rad].

    Raises:
        ModelError: not finite numbers of this shape.
    """
    return _mapped(_exp, "exp_rotation", vectors, (3,), (3, 3))


def log_rotation(rotations: ArrayLike) -> Array:
    """Rotation vectors w (..., 3) [rad] of rotations R (..., 3, 3): exp [w] = R, |w| at most pi.

    Raises:
        ModelError: not finite numbers of this shape, or no rotations.
    """
    return _mapped(_log, "log_rotation", rotations, (3, 3), (3,))


def exp_pose(twists: ArrayLike) -> Array:
    """Poses X (..., 4, 4) that twists [w; v] (..., 6), held for unit time in axes that move along, lead to [rad, m].

    Raises:
        ModelError: not finite numbers of this shape.
    """
    return _mapped(_exp, "exp_pose", twists, (6,), (4, 4))


def log_pose(poses: ArrayLike) -> Array:
    """Twists [w; v] (..., 6) of poses X (..., 4, 4): exp_pose of them is X, |w| at most pi [rad, m].

    Raises:
        ModelError: not finite numbers of this shape, or no rigid transforms.
    """
    return _mapped(_log, "log_pose", poses, (4, 4), (6,))


_TOLERANCE = 1e-6  # of R R^T = I, as for single transforms


def _mapped(function: Any, name: str, value: ArrayLike, shape: tuple[int, ...], result: tuple[int, ...]) -> Array:
    expected = f"{name}: expected finite numbers of shape (..., {', '.join(map(str, shape))})"
    try:
        given = as_numbers(value)
    except (TypeError, ValueError):
        raise ModelError(f"{expected}, got {value!r:.80}") from None
    if given.shape[-len(shape) :] != shape:
        raise ModelError(f"{expected}, got an array of shape {given.shape}")
    if not np.isfinite(given).all():
        raise ModelError(f"{expected}, got {given[~np.isfinite(given)][0]}")
    if len(shape) == 2:
        _check_rotations(name, given)
    outer = given.shape[: -len(shape)]
    made = np.empty((int(np.prod(outer)), *result))
    function(given.reshape(len(made), *shape), made)
    return made.reshape(*outer, *result)


def _check_rotations(name: str, X: Array) -> None:
    R = X[..., :3, :3]
    error = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0)
    last = np.abs(X[..., 3, :] - (0.0, 0.0, 0.0, 1.0)).max(initial=0.0) if X.shape[-1] == 4 else 0.0
    if error > _TOLERANCE or last > _TOLERANCE or (np.linalg.det(R) < 0.0).any():
        what = "rigid transforms" if X.shape[-1] == 4 else "rotations"
        raise ModelError(f"{name}: expected {what}, got a matrix with R R^T different from I by {error:.2g}")
