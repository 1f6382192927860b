"""Differences of positions on the manifold of each joint: the inverse of `kido.kernels.integration.advance`."""

from __future__ import annotations

from kido.jit import direct_entry, kernel, view
from kido.joints.kinds import BALL, FREE, FREE_MIXED
from kido.kernels.entries import OK, REFUSED, copy_finite
from kido.kernels.integration import advance
from kido.math.lie import inverse_left_jacobian_coefficient
from kido.math.so3 import (
    cross,
    quaternion_product,
    quaternion_to_rotation_vector,
    rotate_inverse,
    rotation_vector_to_matrix,
    rotation_vector_to_quaternion,
)
from kido.tree.schema import DATA, TREE


@kernel
def turn_between(p, q, k):
    """Rotation vector w with exp(p) exp(w) = exp(q), for coordinates k, k+1, k+2; its angle is at most pi."""
    a0, a1, a2, a3 = rotation_vector_to_quaternion(p[k], p[k + 1], p[k + 2])
    b0, b1, b2, b3 = rotation_vector_to_quaternion(q[k], q[k + 1], q[k + 2])
    w, x, y, z = quaternion_product(a0, -a1, -a2, -a3, b0, b1, b2, b3)
    return quaternion_to_rotation_vector(w, x, y, z)


@kernel
def joint_difference(t, i, p, q, out):
    """Velocities that move positions p of body i's joint to q in unit time."""
    kind = t.kind[i]
    k = t.first_dof[i]
    end = t.first_dof[i + 1]
    if kind == BALL or kind == FREE or kind == FREE_MIXED:
        w0, w1, w2 = turn_between(p, q, k)
        out[k], out[k + 1], out[k + 2] = w0, w1, w2
        if kind == FREE:
            R = rotation_vector_to_matrix(p[k], p[k + 1], p[k + 2])
            x, y, z = rotate_inverse(R, q[k + 3] - p[k + 3], q[k + 4] - p[k + 4], q[k + 5] - p[k + 5])
            a0, a1, a2 = cross(w0, w1, w2, x, y, z)
            b0, b1, b2 = cross(w0, w1, w2, a0, a1, a2)
            c = inverse_left_jacobian_coefficient(w0 * w0 + w1 * w1 + w2 * w2)
            out[k + 3] = x - 0.5 * a0 + c * b0
            out[k + 4] = y - 0.5 * a1 + c * b1
            out[k + 5] = z - 0.5 * a2 + c * b2
            return
        k += 3
    for j in range(k, end):
        out[j] = q[j] - p[j]


@direct_entry("i8(i8,i8,f8[::1],f8[::1],f8[::1])")
def position_differences(tree, data, q2, q1, out):
    """u with q1 + u = q2 on the manifold."""
    t = view(TREE, tree)
    d = view(DATA, data)
    if copy_finite(q2, d.q) + copy_finite(q1, d.u) != OK:
        return REFUSED
    for i in range(t.parent.shape[0]):
        joint_difference(t, i, d.u, d.q, out)
    return OK


@direct_entry("i8(i8,i8,f8[::1],f8[::1],f8[::1])")
def integrate_positions(tree, data, q, u, out):
    """q + u on the manifold."""
    t = view(TREE, tree)
    d = view(DATA, data)
    if copy_finite(q, d.q) + copy_finite(u, d.u) != OK:
        return REFUSED
    advance(t, d, 0, t.parent.shape[0], 1.0)
    for k in range(out.shape[0]):
        out[k] = d.q[k]
    return OK
