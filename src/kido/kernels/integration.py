"""Positions moved along velocities, on the manifold of each joint."""

from __future__ import annotations

from kido.jit import kernel
from kido.joints.kinds import BALL, FREE, FREE_MIXED
from kido.math.lie import left_jacobian_coefficients
from kido.math.so3 import (
    advance_rotation_vector,
    cross,
    rotate,
    rotate_inverse,
    rotation_vector_to_matrix,
)


@kernel
def advance_rotation(d, k, h):
    """exp(q) <- exp(q) exp(h w) for the body-axes angular velocity in coordinates k, k+1, k+2."""
    x, y, z = advance_rotation_vector(d.q[k], d.q[k + 1], d.q[k + 2], h * d.u[k], h * d.u[k + 1], h * d.u[k + 2])
    d.q[k], d.q[k + 1], d.q[k + 2] = x, y, z


@kernel
def advance_free(d, k, h):
    """X <- X exp(h V) for the body-axes twist V; the displacement is R (left Jacobian of h w) h v."""
    wx, wy, wz = h * d.u[k], h * d.u[k + 1], h * d.u[k + 2]
    vx, vy, vz = h * d.u[k + 3], h * d.u[k + 4], h * d.u[k + 5]
    R = rotation_vector_to_matrix(d.q[k], d.q[k + 1], d.q[k + 2])
    n2 = wx * wx + wy * wy + wz * wz
    a, b = left_jacobian_coefficients(n2)
    cx, cy, cz = cross(wx, wy, wz, vx, vy, vz)
    ex, ey, ez = cross(wx, wy, wz, cx, cy, cz)
    x, y, z = rotate(R, vx + a * cx + b * ex, vy + a * cy + b * ey, vz + a * cz + b * ez)
    d.q[k + 3] += x
    d.q[k + 4] += y
    d.q[k + 5] += z
    advance_rotation(d, k, h)


@kernel
def advance_joint(t, d, i, h):
    """Move the positions of body i's joint along its velocities for a time h [s]."""
    kind = t.kind[i]
    k = t.first_dof[i]
    if kind == BALL:
        advance_rotation(d, k, h)
    elif kind == FREE:
        advance_free(d, k, h)
    elif kind == FREE_MIXED:
        advance_rotation(d, k, h)
        for j in range(k + 3, k + 6):
            d.q[j] += h * d.u[j]
    else:
        for j in range(k, t.first_dof[i + 1]):
            d.q[j] += h * d.u[j]


@kernel
def advance(t, d, first, last, h):
    """Move the positions of bodies first..last-1 along their velocities for a time h [s]."""
    for i in range(first, last):
        advance_joint(t, d, i, h)


@kernel
def linear_to_parent_axes(t, d, values, i):
    """Numbers of a free joint's linear coordinates, from body axes to the joint's parent-side axes."""
    if t.kind[i] == FREE_MIXED:
        k = t.first_dof[i]
        R = rotation_vector_to_matrix(d.q[k], d.q[k + 1], d.q[k + 2])
        x, y, z = rotate(R, values[k + 3], values[k + 4], values[k + 5])
        values[k + 3], values[k + 4], values[k + 5] = x, y, z


@kernel
def linear_to_body_axes(t, d, values, i):
    """Numbers of a free joint's linear coordinates, from the joint's parent-side axes to body axes."""
    if t.kind[i] == FREE_MIXED:
        k = t.first_dof[i]
        R = rotation_vector_to_matrix(d.q[k], d.q[k + 1], d.q[k + 2])
        x, y, z = rotate_inverse(R, values[k + 3], values[k + 4], values[k + 5])
        values[k + 3], values[k + 4], values[k + 5] = x, y, z


@kernel
def to_parent_axes(t, d, first, last, values):
    """`linear_to_parent_axes` for all free joints of bodies first..last-1, in one vector by coordinate."""
    for i in range(first, last):
        linear_to_parent_axes(t, d, values, i)


@kernel
def to_body_axes(t, d, first, last, values):
    """The inverse of `to_parent_axes`."""
    for i in range(first, last):
        linear_to_body_axes(t, d, values, i)
