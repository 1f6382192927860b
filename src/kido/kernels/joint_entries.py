"""Calls from Python for what one joint's coordinates do to its child body."""

from __future__ import annotations

from kido.jit import entry, kernel, view
from kido.joints.frames import rotation_of
from kido.joints.rates import column_rate
from kido.kernels.lazy import ensure_pose, ensure_velocity
from kido.math.so3 import cross, rotate_inverse
from kido.tree.schema import DATA, TREE


@kernel
def write_in_body_axes(d, i, out, k, w0, w1, w2, v0, v1, v2):
    """Column k of `out`: a spatial vector in world axes, turned into body i's."""
    R = rotation_of(d, i)
    out[0, k], out[1, k], out[2, k] = rotate_inverse(R, w0, w1, w2)
    out[3, k], out[4, k], out[5, k] = rotate_inverse(R, v0, v1, v2)


@entry("i8(i8,i8,i8,f8[:,::1])")
def relative_jacobian(tree, data, i, out):
    """S (6, n) of body i's joint in the body's axes."""
    t = view(TREE, tree)
    d = view(DATA, data)
    ensure_pose(t, d, i)
    first = t.first_dof[i]
    for k in range(first, t.first_dof[i + 1]):
        H = d.H
        write_in_body_axes(d, i, out, k - first, H[k, 0], H[k, 1], H[k, 2], H[k, 3], H[k, 4], H[k, 5])
    return 0


@entry("i8(i8,i8,i8,f8[:,::1])")
def relative_jacobian_rate(tree, data, i, out):
    """dS/dt (6, n): what H_k does with the parent side at rest, less what the body's axes do."""
    t = view(TREE, tree)
    d = view(DATA, data)
    ensure_velocity(t, d, i)
    first, end = t.first_dof[i], t.first_dof[i + 1]
    w0, w1, w2 = 0.0, 0.0, 0.0
    for k in range(first, end):
        w0, w1, w2 = w0 + d.u[k] * d.H[k, 0], w1 + d.u[k] * d.H[k, 1], w2 + d.u[k] * d.H[k, 2]
    for k in range(first, end):
        e0, e1, e2, e3, e4, e5 = column_rate(t, d, i, k)
        x, y, z = cross(w0, w1, w2, d.H[k, 0], d.H[k, 1], d.H[k, 2])
        a, b, c = cross(w0, w1, w2, d.H[k, 3], d.H[k, 4], d.H[k, 5])
        write_in_body_axes(d, i, out, k - first, e0 - x, e1 - y, e2 - z, e3 - a, e4 - b, e5 - c)
    return 0
