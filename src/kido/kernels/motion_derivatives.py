"""Derivatives of the motion of a point that rides on a body, of its Jacobian, and of the centroidal momentum.

A point at c from the tree's point has v = v_O + w x c. When coordinate k moves, so does the point, by its column of the
Jacobian j_k = v_k + w_k x c:  dv = dv_O + dw x c + w x j_k, and the same for accelerations.

With h = [n; l] the momentum of all bodies about a point O at rest and G the centre of mass, the momentum about G is
[n - (G - O) x l; l], and its rate the sum of all bodies' I A + V x* I V, shifted alike.
Source: the quantities are those of Pinocchio's computeCentroidalDynamicsDerivatives; the derivation is our own.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.motion import column_derivative
from kido.kernels.common_point import cross_force, cross_motion
from kido.kernels.derivatives import column, composite_momentum
from kido.kernels.kinematics import rotation_of
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


@kernel
def centre_of_mass(t, d, w, first, last):
    """Mass and mass times centre of mass of bodies first..last-1, world axes from the world origin."""
    m, x, y, z = 0.0, 0.0, 0.0, 0.0
    for i in range(first, last):
        if t.parent[i] < 0:
            C = w.composite
            m, x, y, z = (
                m + C[i, 9], x + C[i, 6] + C[i, 9] * d.p[i, 0], y + C[i, 7] + C[i, 9] * d.p[i, 1],
                z + C[i, 8] + C[i, 9] * d.p[i, 2],
            )  # fmt: skip
    return m, x, y, z


@kernel
def total(t, w, first, last, c):
    """Sum over all trees of three numbers from `composite` on."""
    x, y, z = 0.0, 0.0, 0.0
    for i in range(first, last):
        if t.parent[i] < 0:
            x, y, z = x + w.composite[i, c], y + w.composite[i, c + 1], z + w.composite[i, c + 2]
    return x, y, z


@inlined
def put_shifted(D, m, k, c, n0, n1, n2, f0, f1, f2):
    """Column k of D[m]: [n; f] about a point at c from where it is."""
    x, y, z = cross(c[0], c[1], c[2], f0, f1, f2)
    D[m, 0, k], D[m, 1, k], D[m, 2, k] = n0 - x, n1 - y, n2 - z
    D[m, 3, k], D[m, 4, k], D[m, 5, k] = f0, f1, f2


@kernel
def centroidal_derivatives(t, d, w, first, last, D):
    """dh/dq, dhdot/dq, dhdot/du and dhdot/dudot (dh/du) of bodies first..last-1 about their centre of mass into D.

    Needs `composite_sweep` without loads and without gravity.

    Returns:
        0, or 1 if the bodies have no mass.
    """
    m, g0, g1, g2 = centre_of_mass(t, d, w, first, last)
    if not m > 0.0:
        return 1
    inverse = 1.0 / m
    g0, g1, g2 = g0 * inverse, g1 * inverse, g2 * inverse
    l0, l1, l2 = total(t, w, first, last, 19)
    f0, f1, f2 = total(t, w, first, last, 28)
    C = w.composite
    for i in range(first, last):
        c = g0 - (d.p[i, 0] - w.r[i, 0]), g1 - (d.p[i, 1] - w.r[i, 1]), g2 - (d.p[i, 2] - w.r[i, 2])
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            s0, s1, s2, s3, s4, s5 = column(w.S, k)
            y0, y1, y2, y3, y4, y5 = column(w.Y, k)
            put_shifted(D, 3, k, c, y0, y1, y2, y3, y4, y5)
            y3, y4, y5 = inverse * y3, inverse * y4, inverse * y5  # how the centre of mass moves
            x0, x1, x2, x3, x4, x5 = column(w.dF_du, k)
            put_shifted(D, 2, k, c, x0, x1, x2, x3, x4, x5)
            x0, x1, x2, x3, x4, x5 = column(w.dF_dq, k)
            e0, e1, e2 = cross(y3, y4, y5, f0, f1, f2)
            put_shifted(D, 1, k, c, x0 - e0, x1 - e1, x2 - e2, x3, x4, x5)
            x0, x1, x2, x3, x4, x5 = column(w.dV, k)
            x0, x1, x2, x3, x4, x5 = composite_momentum(w, i, x0, x1, x2, x3, x4, x5)
            e0, e1, e2, e3, e4, e5 = cross_force(
                s0, s1, s2, s3, s4, s5, C[i, 22], C[i, 23], C[i, 24], C[i, 19], C[i, 20], C[i, 21]
            )
            x0, x1, x2, x3, x4, x5 = x0 + e0, x1 + e1, x2 + e2, x3 + e3, x4 + e4, x5 + e5
            e0, e1, e2 = cross(y3, y4, y5, l0, l1, l2)
            put_shifted(D, 0, k, c, x0 - e0, x1 - e1, x2 - e2, x3, x4, x5)
    return 0
