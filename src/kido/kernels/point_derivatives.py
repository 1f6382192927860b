"""Derivatives of the motion of a point that rides on a body, and of its Jacobian.

A point at c from the tree's point has v = v_O + w x c. When coordinate k moves, so does the point, by its column of the
Jacobian j_k = v_k + w_k x c:  dv = dv_O + dw x c + w x j_k, and the same for accelerations.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.rates import column_derivative
from kido.kernels.derivatives import column
from kido.kernels.kinematics import rotation_of
from kido.kernels.spatial import cross_motion
from kido.math.so3 import cross, rotate


@inlined
def put(D, m, k, w0, w1, w2, v0, v1, v2):
    """Column k of D[m]."""
    D[m, 0, k], D[m, 1, k], D[m, 2, k], D[m, 3, k], D[m, 4, k], D[m, 5, k] = w0, w1, w2, v0, v1, v2


@inlined
def point_from_tree(d, w, i, x, y, z):
    """A point of body i, in its axes from its origin, from the tree's point in world axes."""
    a, b, c = rotate(rotation_of(d, i), x, y, z)
    return w.r[i, 0] + a, w.r[i, 1] + b, w.r[i, 2] + c


@kernel
def point_velocity_derivatives(t, d, w, body, x, y, z, D):
    """d[w; v]/dq and d[w; v]/du of a point of a body into D[0] and D[1], which hold zeros; needs `motion_at_point`."""
    c0, c1, c2 = point_from_tree(d, w, body, x, y, z)
    w0, w1, w2, v0, v1, v2 = w.V[body, 0], w.V[body, 1], w.V[body, 2], w.V[body, 3], w.V[body, 4], w.V[body, 5]
    i = body
    while i >= 0:
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            s0, s1, s2, s3, s4, s5 = column(w.S, k)
            a, b, c = cross(s0, s1, s2, c0, c1, c2)
            j0, j1, j2 = s3 + a, s4 + b, s5 + c
            put(D, 1, k, s0, s1, s2, j0, j1, j2)
            e0, e1, e2, e3, e4, e5 = cross_motion(s0, s1, s2, s3, s4, s5, w0, w1, w2, v0, v1, v2)
            e0, e1, e2 = e0 + w.dV[0, k], e1 + w.dV[1, k], e2 + w.dV[2, k]
            a, b, c = cross(e0, e1, e2, c0, c1, c2)
            e3, e4, e5 = e3 + w.dV[3, k] + a, e4 + w.dV[4, k] + b, e5 + w.dV[5, k] + c
            a, b, c = cross(w0, w1, w2, j0, j1, j2)
            put(D, 0, k, e0, e1, e2, e3 + a, e4 + b, e5 + c)
        i = t.parent[i]


@inlined
def twice_crossed(w0, w1, w2, v0, v1, v2, a0, a1, a2, b0, b1, b2):
    """d(w x v) for dw = a and dv = b."""
    x, y, z = cross(a0, a1, a2, v0, v1, v2)
    p, q, r = cross(w0, w1, w2, b0, b1, b2)
    return x + p, y + q, z + r


@kernel
def point_acceleration_derivatives(t, d, w, body, x, y, z, classic, D):
    """d[wdot; a]/dq, /du and /dudot of a point of a body into D[0], D[1], D[2], which hold zeros.

    Args:
        classic: 1: a is the point's own acceleration; 0: Featherstone's, less w x v.
    """
    c0, c1, c2 = point_from_tree(d, w, body, x, y, z)
    w0, w1, w2, v3, v4, v5 = w.V[body, 0], w.V[body, 1], w.V[body, 2], w.V[body, 3], w.V[body, 4], w.V[body, 5]
    a0, a1, a2, a3, a4, a5 = w.A[body, 0], w.A[body, 1], w.A[body, 2], w.A[body, 3], w.A[body, 4], w.A[body, 5]
    a, b, c = cross(w0, w1, w2, c0, c1, c2)
    v0, v1, v2 = v3 + a, v4 + b, v5 + c  # of the point
    i = body
    while i >= 0:
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            s0, s1, s2, s3, s4, s5 = column(w.S, k)
            a, b, c = cross(s0, s1, s2, c0, c1, c2)
            j0, j1, j2 = s3 + a, s4 + b, s5 + c
            put(D, 2, k, s0, s1, s2, j0, j1, j2)
            # dV/dq about the tree's point, also as dA/du = dV/dq - dV_k + dA_du_k
            e0, e1, e2, e3, e4, e5 = cross_motion(s0, s1, s2, s3, s4, s5, w0, w1, w2, v3, v4, v5)
            g0, g1, g2, g3, g4, g5 = column(w.dA_du, k)
            g0, g1, g2, g3, g4, g5 = g0 + e0, g1 + e1, g2 + e2, g3 + e3, g4 + e4, g5 + e5
            b0, b1, b2, b3, b4, b5 = column(w.dV, k)
            e0, e1, e2, e3, e4, e5 = e0 + b0, e1 + b1, e2 + b2, e3 + b3, e4 + b4, e5 + b5
            f0, f1, f2, f3, f4, f5 = cross_motion(s0, s1, s2, s3, s4, s5, a0, a1, a2, a3, a4, a5)
            b0, b1, b2, b3, b4, b5 = cross_motion(b0, b1, b2, b3, b4, b5, w0, w1, w2, v3, v4, v5)
            f0, f1, f2 = f0 + b0 + w.dA[0, k], f1 + b1 + w.dA[1, k], f2 + b2 + w.dA[2, k]
            f3, f4, f5 = f3 + b3 + w.dA[3, k], f4 + b4 + w.dA[4, k], f5 + b5 + w.dA[5, k]
            # At the point: d(wdot x c)
            a, b, c = twice_crossed(a0, a1, a2, c0, c1, c2, f0, f1, f2, j0, j1, j2)
            f3, f4, f5 = f3 + a, f4 + b, f5 + c
            a, b, c = cross(g0, g1, g2, c0, c1, c2)
            g3, g4, g5 = g3 + a, g4 + b, g5 + c
            if classic != 0:
                a, b, c = twice_crossed(w0, w1, w2, c0, c1, c2, e0, e1, e2, j0, j1, j2)
                e3, e4, e5 = e3 + a, e4 + b, e5 + c  # dv/dq of the point
                a, b, c = twice_crossed(w0, w1, w2, v0, v1, v2, e0, e1, e2, e3, e4, e5)
                f3, f4, f5 = f3 + a, f4 + b, f5 + c
                a, b, c = twice_crossed(w0, w1, w2, v0, v1, v2, s0, s1, s2, j0, j1, j2)
                g3, g4, g5 = g3 + a, g4 + b, g5 + c
            put(D, 0, k, f0, f1, f2, f3, f4, f5)
            put(D, 1, k, g0, g1, g2, g3, g4, g5)
        i = t.parent[i]


@kernel
def point_columns(t, d, w, body, x, y, z):
    """S of the coordinates at and above a body, about a point of it; returns the point, world axes from the origin."""
    x, y, z = rotate(rotation_of(d, body), x, y, z)
    x, y, z = x + d.p[body, 0], y + d.p[body, 1], z + d.p[body, 2]
    S = w.S
    i = body
    while i >= 0:
        r0, r1, r2 = x - d.p[i, 0], y - d.p[i, 1], z - d.p[i, 2]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            s0, s1, s2 = d.H[k, 0], d.H[k, 1], d.H[k, 2]
            a, b, c = cross(s0, s1, s2, r0, r1, r2)
            S[0, k], S[1, k], S[2, k] = s0, s1, s2
            S[3, k], S[4, k], S[5, k] = d.H[k, 3] + a, d.H[k, 4] + b, d.H[k, 5] + c
        i = t.parent[i]
    return x, y, z


@kernel
def point_hessian(t, d, w, body, x, y, z, D):
    """dJ[:, k]/dq_j of a point of a body into D[:, k, j], which holds zeros.

    Of two coordinates of different joints, the column nearer to the tip rides on the other, whichever is moved:
    v_k changes by w x v, w of the one nearer to the root and v of the other.
    """
    x, y, z = point_columns(t, d, w, body, x, y, z)
    S = w.S
    i = body
    while i >= 0:
        r0, r1, r2 = x - d.p[i, 0], y - d.p[i, 1], z - d.p[i, 2]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            for j in range(t.first_dof[i], t.first_dof[i + 1]):
                e0, e1, e2, e3, e4, e5 = column_derivative(t, d, i, k, j)
                a, b, c = cross(S[0, j], S[1, j], S[2, j], r0, r1, r2)
                a, b, c = twice_crossed(S[0, k], S[1, k], S[2, k], r0, r1, r2, e0, e1, e2, a, b, c)
                D[0, k, j], D[1, k, j], D[2, k, j] = e0, e1, e2
                D[3, k, j], D[4, k, j], D[5, k, j] = e3 + a, e4 + b, e5 + c
            above = t.parent[i]
            while above >= 0:
                for j in range(t.first_dof[above], t.first_dof[above + 1]):
                    a, b, c = cross(S[0, j], S[1, j], S[2, j], S[0, k], S[1, k], S[2, k])
                    D[0, k, j], D[1, k, j], D[2, k, j] = a, b, c
                    a, b, c = cross(S[0, j], S[1, j], S[2, j], S[3, k], S[4, k], S[5, k])
                    D[3, k, j], D[4, k, j], D[5, k, j] = a, b, c
                    D[3, j, k], D[4, j, k], D[5, j, k] = a, b, c
                above = t.parent[above]
        i = t.parent[i]
