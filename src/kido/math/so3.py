"""Rotations in kernels: matrices as nine row-major numbers, rotation vectors, quaternions (w, x, y, z)."""

from __future__ import annotations

import math

from kido.jit import kernel, where_positive
from kido.math.elementary import arctan2
from kido.math.trig import sincos

# Added to a squared length so that its root divides: sin(x)/x and its kin have their limits at zero.
TINY2 = 1e-300


@kernel
def cross(a0, a1, a2, b0, b1, b2):
    """a x b."""
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


@kernel
def rotate(R, x, y, z):
    """R v."""
    return R[0] * x + R[1] * y + R[2] * z, R[3] * x + R[4] * y + R[5] * z, R[6] * x + R[7] * y + R[8] * z


@kernel
def rotate_inverse(R, x, y, z):
    """R^T v."""
    return R[0] * x + R[3] * y + R[6] * z, R[1] * x + R[4] * y + R[7] * z, R[2] * x + R[5] * y + R[8] * z


@kernel
def compose(A, B):
    """A B of two rotations."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@kernel
def axis_rotation(x, y, z, s, c):
    """Rotation about the unit axis (x, y, z) by the angle with sine s and cosine c (Rodrigues)."""
    t = 1.0 - c
    return (
        c + t * x * x,
        t * x * y - s * z,
        t * x * z + s * y,
        t * x * y + s * z,
        c + t * y * y,
        t * y * z - s * x,
        t * x * z - s * y,
        t * y * z + s * x,
        c + t * z * z,
    )


@kernel
def rotation_vector_to_matrix(x, y, z):
    """exp of a rotation vector [rad]; smooth through zero."""
    angle = math.sqrt(x * x + y * y + z * z + TINY2)
    s, c = sincos(angle)
    inverse = 1.0 / angle
    return axis_rotation(x * inverse, y * inverse, z * inverse, s, c)


@kernel
def rotation_vector_to_quaternion(x, y, z):
    """Unit quaternion (w, x, y, z) of a rotation vector [rad]."""
    n = math.sqrt(x * x + y * y + z * z + TINY2)
    s, c = sincos(0.5 * n)
    k = s / n
    return c, k * x, k * y, k * z


@kernel
def quaternion_to_rotation_vector(w, x, y, z):
    """Rotation vector [rad] of a quaternion, its angle in [0, pi]."""
    sign = where_positive(-w, -1.0, 1.0)
    v = math.sqrt(x * x + y * y + z * z + TINY2)
    k = sign * (2.0 * arctan2(v, sign * w) / v)
    return k * x, k * y, k * z


@kernel
def quaternion_product(a0, a1, a2, a3, b0, b1, b2, b3):
    """a b of two quaternions (w, x, y, z)."""
    return (
        a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
        a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
        a0 * b2 - a1 * b3 + a2 * b0 + a3 * b1,
        a0 * b3 + a1 * b2 - a2 * b1 + a3 * b0,
    )


@kernel
def advance_rotation_vector(x, y, z, dx, dy, dz):
    """Rotation vector of exp(r) exp(d): r turned by d [rad], d in body axes."""
    a0, a1, a2, a3 = rotation_vector_to_quaternion(x, y, z)
    b0, b1, b2, b3 = rotation_vector_to_quaternion(dx, dy, dz)
    w, i, j, k = quaternion_product(a0, a1, a2, a3, b0, b1, b2, b3)
    return quaternion_to_rotation_vector(w, i, j, k)


@kernel
def rotate_symmetric(R, a):
    """R A R^T of a symmetric A = (xx, xy, xz, yy, yz, zz)."""
    t0 = R[0] * a[0] + R[1] * a[1] + R[2] * a[2]
    t1 = R[0] * a[1] + R[1] * a[3] + R[2] * a[4]
    t2 = R[0] * a[2] + R[1] * a[4] + R[2] * a[5]
    t3 = R[3] * a[0] + R[4] * a[1] + R[5] * a[2]
    t4 = R[3] * a[1] + R[4] * a[3] + R[5] * a[4]
    t5 = R[3] * a[2] + R[4] * a[4] + R[5] * a[5]
    t6 = R[6] * a[0] + R[7] * a[1] + R[8] * a[2]
    t7 = R[6] * a[1] + R[7] * a[3] + R[8] * a[4]
    t8 = R[6] * a[2] + R[7] * a[4] + R[8] * a[5]
    return (
        t0 * R[0] + t1 * R[1] + t2 * R[2],
        t0 * R[3] + t1 * R[4] + t2 * R[5],
        t0 * R[6] + t1 * R[7] + t2 * R[8],
        t3 * R[3] + t4 * R[4] + t5 * R[5],
        t3 * R[6] + t4 * R[7] + t5 * R[8],
        t6 * R[6] + t7 * R[7] + t8 * R[8],
    )


@kernel
def multiply_symmetric(a, x, y, z):
    """A v of a symmetric A = (xx, xy, xz, yy, yz, zz)."""
    return a[0] * x + a[1] * y + a[2] * z, a[1] * x + a[3] * y + a[4] * z, a[2] * x + a[4] * y + a[5] * z
