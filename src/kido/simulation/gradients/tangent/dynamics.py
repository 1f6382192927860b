"""Derivatives of inverse dynamics at the states of a step, whose free joints have linear velocities in fixed axes.

A free joint of a step is mounted as three translations along axes of its parent, then a rotation about axes of its own
body. All is as in `kido.kernels.common_point`, with the rotation's columns, which come first, mounted on the others.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.kinds import BALL, FREE_MIXED
from kido.kernels.common_point import body_at_point, columns_at_point, cross_motion
from kido.kernels.derivative_entries import any_load
from kido.kernels.derivatives import column, composite_sweep, joint_force_derivatives
from kido.kernels.inverse_dynamics import body_acceleration
from kido.kernels.kinematics import body_velocity


@inlined
def motion_of(V, i):
    """Row i of a field of motions."""
    return V[i, 0], V[i, 1], V[i, 2], V[i, 3], V[i, 4], V[i, 5]


@inlined
def crossed(a, b):
    """a x b of two motions."""
    return cross_motion(a[0], a[1], a[2], a[3], a[4], a[5], b[0], b[1], b[2], b[3], b[4], b[5])


@inlined
def plus(a, s, b):
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2], a[3] + s * b[3], a[4] + s * b[4], a[5] + s * b[5]


@inlined
def put_column(F, k, a):
    """Set column k of a field with six rows."""
    F[0, k], F[1, k], F[2, k], F[3, k], F[4, k], F[5, k] = a


@inlined
def column_about_point(d, w, i, k):
    """S of coordinate k of body i."""
    x, y, z = w.r[i, 0], w.r[i, 1], w.r[i, 2]
    s0, s1, s2 = d.H[k, 0], d.H[k, 1], d.H[k, 2]
    return (
        s0, s1, s2,
        d.H[k, 3] + (y * s2 - z * s1), d.H[k, 4] + (z * s0 - x * s2), d.H[k, 5] + (x * s1 - y * s0),
    )  # fmt: skip


@kernel
def free_columns(t, d, w, i, g0, g1, g2):
    """S, dV, dA and dA_du of a free joint in fixed axes; needs r and V of the body about the point.

    Args:
        g0, g1, g2: acceleration of the world.
    """
    k = t.first_dof[i]
    parent = t.parent[i]
    V = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    A = 0.0, 0.0, 0.0, g0, g1, g2
    if parent >= 0:
        V, A = motion_of(w.V, parent), motion_of(w.A, parent)
    on_V, on_A = V, A
    for j in range(k + 3, k + 6):
        S = column_about_point(d, w, i, j)
        b = crossed(V, S)
        put_column(w.S, j, S)
        put_column(w.dV, j, b)
        put_column(w.dA, j, plus(crossed(A, S), 1.0, crossed(V, b)))
        put_column(w.dA_du, j, plus(b, 1.0, b))
        on_V = plus(on_V, d.u[j], S)
        on_A = plus(plus(on_A, d.udot[j], S), d.u[j], b)
    own = motion_of(w.V, i)
    for j in range(k, k + 3):
        S = column_about_point(d, w, i, j)
        b = crossed(on_V, S)
        put_column(w.S, j, S)
        put_column(w.dV, j, b)
        put_column(w.dA, j, plus(crossed(on_A, S), 1.0, crossed(on_V, b)))
        put_column(w.dA_du, j, plus(b, 1.0, crossed(own, S)))


@kernel
def composites(t, d, w):
    """Columns and composites of all bodies, from poses, J, mc, u and udot. Returns whether there are loads."""
    n = t.parent.shape[0]
    for i in range(n):
        body_velocity(t, d, i)
        body_acceleration(t, d, i)
        body_at_point(t, d, w, i, 0.0, 0.0, 0.0)
        if t.kind[i] == FREE_MIXED:
            free_columns(t, d, w, i, -t.gravity[0], -t.gravity[1], -t.gravity[2])
        else:
            columns_at_point(t, d, w, i, 0.0, 0.0, 0.0)
    loads = any_load(t, d)
    composite_sweep(t, d, w, 0, n, loads)
    return loads


@kernel
def force_rates(t, d, w, D):
    """dtau/dq and dtau/du into D[0] and D[1], from the same; what is zero in them is so already."""
    n = t.parent.shape[0]
    loads = composites(t, d, w)
    joint_force_derivatives(t, d, w, 0, n, loads, D, 0, 1)


@kernel
def velocity_columns(t, w, c, u):
    """Velocities V of all bodies about their tree's point, and dV, at velocities u of coordinates."""
    for i in range(t.parent.shape[0]):
        parent = t.parent[i]
        V = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if parent >= 0:
            V = motion_of(c.V, parent)
        first, last = t.first_dof[i], t.first_dof[i + 1]
        if t.kind[i] == FREE_MIXED:
            last = first + 3
            for k in range(first + 3, first + 6):
                put_column(c.dV, k, crossed(V, column(w.S, k)))
            for k in range(first + 3, first + 6):
                V = plus(V, u[k], column(w.S, k))
        on_body = t.kind[i] == FREE_MIXED or t.kind[i] == BALL
        mount = V
        for k in range(first, last):
            S = column(w.S, k)
            put_column(c.dV, k, crossed(mount, S))
            V = plus(V, u[k], S)
            if not on_body:
                mount = V
        c.V[i, 0], c.V[i, 1], c.V[i, 2], c.V[i, 3], c.V[i, 4], c.V[i, 5] = V
