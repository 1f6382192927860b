"""log det M, its gradient, and velocities in which the kinetic energy is a plain sum of squares.

With D of the articulated-body sweep, det M is the product of D, and nu = D^(1/2) [1 + H phi K]* u has

    nu_k = D_k^(1/2) (u_k + g_k . b_k),     kinetic energy = nu . nu / 2,

b_k the velocity of what coordinate k is mounted on and g = U / D (theory reference, section a4).

Moving coordinate j along its velocity carries all beyond its joint as one rigid body, which for M is as if columns on
this side were carried back. With Y- the compliance of what the joint is mounted on and P+ the articulated inertia that
it passes on, both about one point,

    d ln det M / dq_j = - 2 tr((S_j x) Y- P+) + 2 sum_k C_k . P Delta_jk

where C_k is row k of M^-1 J_i^T of the joint's own body i, and Delta_jk what column k of the same joint changes by
besides being carried along: 0 for ball and free joints, and for joints of one coordinate unless a user wrote them.

Source: Jain et al. (2013), "Fixman compensating potential for general branched molecules", for one hinge about an axis,
(1/2) d ln det M / dq = tr(P Y [h~, h~]); the form for all joints is our own.
"""

from __future__ import annotations

import math

from kido.jit import inlined, kernel
from kido.joints.kinds import BALL, FREE, TRANSLATIONAL, USER
from kido.joints.motion import column_derivative
from kido.kernels.articulated import add_column, give_way, parent_motion, take_share, yielding_inertia
from kido.kernels.inertia import apply_inertia, read_inertia
from kido.kernels.operational_space import compliance_before, release, write_compliance
from kido.math.so3 import cross


@kernel
def log_determinant(t, d):
    """ln det M over the coordinates that give way; after `articulate`."""
    s = 0.0
    for k in range(d.q.shape[0]):
        if d.Dinv[k] != 0.0:
            s -= math.log(d.Dinv[k])
    return s


@inlined
def unit(c):
    """Unit vector c of six numbers."""
    return (
        1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0,
        1.0 if c == 3 else 0.0, 1.0 if c == 4 else 0.0, 1.0 if c == 5 else 0.0,
    )  # fmt: skip


@inlined
def write_product(w, Y, P):
    """block = Y P of two symmetric matrices, column by column."""
    B = w.block
    for c in range(6):
        e = unit(c)
        x = apply_inertia(P, e[0], e[1], e[2], e[3], e[4], e[5])
        x = apply_inertia(Y, x[0], x[1], x[2], x[3], x[4], x[5])
        B[0, c], B[1, c], B[2, c], B[3, c], B[4, c], B[5, c] = x[0], x[1], x[2], x[3], x[4], x[5]


@inlined
def carried_trace(d, w, k):
    """tr((S x) block) of column k: S x = [[w~, 0], [v~, w~]]."""
    B = w.block
    w0, w1, w2, v0, v1, v2 = d.H[k, 0], d.H[k, 1], d.H[k, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5]
    s = w0 * (B[1, 2] - B[2, 1]) + w1 * (B[2, 0] - B[0, 2]) + w2 * (B[0, 1] - B[1, 0])
    s += w0 * (B[4, 5] - B[5, 4]) + w1 * (B[5, 3] - B[3, 5]) + w2 * (B[3, 4] - B[4, 3])
    return s + v0 * (B[1, 5] - B[2, 4]) + v1 * (B[2, 3] - B[0, 5]) + v2 * (B[0, 4] - B[1, 3])


@inlined
def own_change(t, d, i, k, j):
    """Delta_jk of columns k and j of body i's joint."""
    e0, e1, e2, e3, e4, e5 = column_derivative(t, d, i, k, j)
    x, y, z = cross(d.H[j, 0], d.H[j, 1], d.H[j, 2], d.H[k, 0], d.H[k, 1], d.H[k, 2])
    a, b, c = cross(d.H[j, 0], d.H[j, 1], d.H[j, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5])
    return e0 - x, e1 - y, e2 - z, e3 - a, e4 - b, e5 - c


@kernel
def joint_response(t, d, i, k, Y, f0, f1, f2, f3, f4, f5):
    """Velocity of coordinate k of body i by an impulse f on the body; Y is that before the joint."""
    first, last = t.first_dof[i], t.first_dof[i + 1]
    z0, z1, z2, z3, z4, z5 = -f0, -f1, -f2, -f3, -f4, -f5
    for n in range(last - 1, first - 1, -1):
        d.e[n], z0, z1, z2, z3, z4, z5 = take_share(d, n, 0.0, z0, z1, z2, z3, z4, z5)
    b0, b1, b2, b3, b4, b5 = apply_inertia(Y, -z0, -z1, -z2, -z3, -z4, -z5)
    s = 0.0
    for n in range(first, k + 1):
        s = give_way(d, n, d.e[n], b0, b1, b2, b3, b4, b5)
        b0, b1, b2, b3, b4, b5 = add_column(d, n, s, b0, b1, b2, b3, b4, b5)
    return s


@inlined
def has_own_changes(t, i):
    """Whether columns of body i's joint change by more than being carried along."""
    kind = t.kind[i]
    if kind == USER:
        return True
    several = t.first_dof[i + 1] - t.first_dof[i] > 1
    return several and kind != BALL and kind != FREE and kind != TRANSLATIONAL


@kernel
def log_determinant_gradient(t, d, w, out):
    """out (dofs,): derivatives of ln det M along the velocities; w holds all links in its path; after `articulate`."""
    for i in range(t.parent.shape[0]):
        first, last = t.first_dof[i], t.first_dof[i + 1]
        before = compliance_before(t, d, w, i)
        own = read_inertia(d, i)
        write_product(w, before, yielding_inertia(t, d, i, own))
        for j in range(first, last):
            out[j] = -2.0 * carried_trace(d, w, j)
        if has_own_changes(t, i):
            for j in range(first, last):
                for k in range(first, last):
                    x0, x1, x2, x3, x4, x5 = own_change(t, d, i, k, j)
                    f0, f1, f2, f3, f4, f5 = apply_inertia(own, x0, x1, x2, x3, x4, x5)
                    out[j] += 2.0 * joint_response(t, d, i, k, before, f0, f1, f2, f3, f4, f5)
        Y = before
        for k in range(first, last):
            Y = release(d, k, Y)
        write_compliance(w, i, Y)


@kernel
def diagonal_velocities(t, d, inverse, values, out):
    """nu (dofs,) of velocities u, or u of nu if `inverse`; after `articulate`. Prescribed ones: nu = u.

    Args:
        values: u, or nu.
    """
    for i in range(t.parent.shape[0]):
        parent = t.parent[i]
        b0, b1, b2, b3, b4, b5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if parent >= 0:
            b0, b1, b2, b3, b4, b5 = parent_motion(d, d.B, i, parent)
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            s = d.Dinv[k]
            g = (d.U[k, 0] * b0 + d.U[k, 1] * b1 + d.U[k, 2] * b2) + (d.U[k, 3] * b3 + d.U[k, 4] * b4 + d.U[k, 5] * b5)
            u = values[k]
            if s == 0.0:
                out[k] = u
            elif inverse != 0:
                u = u * math.sqrt(s) - g * s
                out[k] = u
            else:
                out[k] = (u + g * s) / math.sqrt(s)
            b0, b1, b2, b3, b4, b5 = add_column(d, k, u, b0, b1, b2, b3, b4, b5)
        d.B[i, 0], d.B[i, 1], d.B[i, 2], d.B[i, 3], d.B[i, 4], d.B[i, 5] = b0, b1, b2, b3, b4, b5
