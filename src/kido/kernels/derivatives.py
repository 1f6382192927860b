"""Derivatives of inverse dynamics with respect to positions (along velocities, on the manifold) and velocities.

With all quantities about one point (`kido.kernels.common_point`), the force f = I A + V x* I V - f_ext of a body beyond
coordinate k changes by

    df/dq_k = S_k x* f + I dA_k + B dV_k + X S_k,      B x = V x* I x + x x* I V - I (V x x)
    df/du_k = I dA_du_k + B S_k

where S_k x* f is f carried along, and X says what forces in fixed axes lack of that. Sums over everything beyond k are
the same formulas with composite I, B, X and F = sum f. About one point B has few numbers:
B [w; v] = 2 [E w; w x l] with E = w_b~ (J - tr J / 2) + (mc . v_b) 1 - v_b mc^T and l the linear momentum. So

    dtau_i/dq_k = S_i . (I dA_k + B dV_k + X S_k)   for k above i (S_i and F_i are carried along alike), else
    dtau_i/dq_k = S_i . dF_k/dq_k                   for k below i

A row of `composite` is [J 0:6 | mc 6:9 | m 9 | E 10:19 | l 19:22 | n 22:25 | F 25:31], n the angular momentum; a row of
`load` is [Q 0:9 | f 9:12 | g 12:15]: X [w; v] = [Q w + v x g; w x f].

Source: Carpentier and Mansard (2018) and Singh, Russell and Wensing (2022) have such derivatives in body axes; the
derivation and the reduced B are our own.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.kinds import USER
from kido.kernels.common_point import add_column_changes, cross_force
from kido.kernels.external import external_wrench
from kido.kernels.inertia import inertia_of, rigid_momentum
from kido.kernels.kinematics import rotation_of
from kido.math.so3 import cross, rotate
from kido.tree.workspace import COMPOSITE


@inlined
def inertia_at_point(t, d, w, i):
    """J, mc and m of body i about the tree's point (J' = J - r~ c~ - e~ r~ with c = mc, e = c + m r)."""
    J = inertia_of(d, i)
    x, y, z = w.r[i, 0], w.r[i, 1], w.r[i, 2]
    c0, c1, c2, m = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2], t.mass[i]
    e0, e1, e2 = c0 + m * x, c1 + m * y, c2 + m * z
    xx, yy, zz = x * (c0 + e0), y * (c1 + e1), z * (c2 + e2)
    return (
        (
            J[0] + (yy + zz), J[1] - (c0 * y + x * e1), J[2] - (c0 * z + x * e2),
            J[3] + (xx + zz), J[4] - (c1 * z + y * e2), J[5] + (xx + yy),
        ),
        (e0, e1, e2),
        m,
    )  # fmt: skip


@inlined
def start_composite_force(t, d, w, i):
    """`composite` of body i alone, without loads."""
    C = w.composite
    J, c, m = inertia_at_point(t, d, w, i)
    w0, w1, w2, v0, v1, v2 = w.V[i, 0], w.V[i, 1], w.V[i, 2], w.V[i, 3], w.V[i, 4], w.V[i, 5]
    n0, n1, n2, l0, l1, l2 = rigid_momentum(J, c, m, w0, w1, w2, v0, v1, v2)
    f0, f1, f2, f3, f4, f5 = rigid_momentum(J, c, m, w.A[i, 0], w.A[i, 1], w.A[i, 2], w.A[i, 3], w.A[i, 4], w.A[i, 5])
    x0, x1, x2, x3, x4, x5 = cross_force(w0, w1, w2, v0, v1, v2, n0, n1, n2, l0, l1, l2)
    half = 0.5 * (J[0] + J[3] + J[5])
    a, b, e = J[0] - half, J[3] - half, J[5] - half
    s = c[0] * v0 + c[1] * v1 + c[2] * v2
    C[i, 0], C[i, 1], C[i, 2], C[i, 3], C[i, 4], C[i, 5] = J
    C[i, 6], C[i, 7], C[i, 8] = c
    C[i, 9] = m
    C[i, 10] = w1 * J[2] - w2 * J[1] + s - v0 * c[0]
    C[i, 11] = w1 * J[4] - w2 * b - v0 * c[1]
    C[i, 12] = w1 * e - w2 * J[4] - v0 * c[2]
    C[i, 13] = w2 * a - w0 * J[2] - v1 * c[0]
    C[i, 14] = w2 * J[1] - w0 * J[4] + s - v1 * c[1]
    C[i, 15] = w2 * J[2] - w0 * e - v1 * c[2]
    C[i, 16] = w0 * J[1] - w1 * a - v2 * c[0]
    C[i, 17] = w0 * b - w1 * J[1] - v2 * c[1]
    C[i, 18] = w0 * J[4] - w1 * J[2] + s - v2 * c[2]
    C[i, 19], C[i, 20], C[i, 21] = l0, l1, l2
    C[i, 22], C[i, 23], C[i, 24] = n0, n1, n2
    C[i, 25], C[i, 26], C[i, 27] = f0 + x0, f1 + x1, f2 + x2
    C[i, 28], C[i, 29], C[i, 30] = f3 + x3, f4 + x4, f5 + x5


@kernel
def start_load(t, d, w, i):
    """External forces of body i, and its missing weight, into F and `load`.

    With W = sum of (point - tree's point) F^T over forces F in world axes at points of the body, and [n; g] the wrench
    of forces at points of the world: Q = tr(W) 1 - W^T - n~, and f is the sum of all those forces.
    """
    for c in range(15):
        w.load[i, c] = 0.0
    w.has_load[i] = 0
    if d.has_external[i] == 0 and t.gravity_factor[i] == 1.0:
        return
    w.has_load[i] = 1
    X = d.external
    x, y, z = w.r[i, 0], w.r[i, 1], w.r[i, 2]
    n0, n1, n2, f0, f1, f2 = external_wrench(d, i)
    # Gravity's pull up on a body on which it does not act: a force in world axes at its centre of mass.
    s = t.gravity_factor[i] - 1.0
    h0, h1, h2 = s * t.gravity[0], s * t.gravity[1], s * t.gravity[2]
    m = t.mass[i]
    b0, b1, b2 = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
    a, b, c = cross(b0, b1, b2, h0, h1, h2)
    n0, n1, n2, f0, f1, f2 = n0 + a, n1 + b, n2 + c, f0 + m * h0, f1 + m * h1, f2 + m * h2
    a, b, c = cross(x, y, z, f0, f1, f2)
    F = w.composite
    F[i, 25] -= n0 + a
    F[i, 26] -= n1 + b
    F[i, 27] -= n2 + c
    F[i, 28] -= f0
    F[i, 29] -= f1
    F[i, 30] -= f2
    p0, p1, p2 = 0.0, 0.0, 0.0  # sum of forces at points of the body
    g0, g1, g2 = 0.0, 0.0, 0.0  # sum of forces at points of the world
    W0, W1, W2, W3, W4, W5, W6, W7, W8 = (
        b0 * h0, b0 * h1, b0 * h2, b1 * h0, b1 * h1, b1 * h2, b2 * h0, b2 * h1, b2 * h2,
    )  # fmt: skip
    n0, n1, n2 = 0.0, 0.0, 0.0
    if d.has_external[i] != 0:
        R = rotation_of(d, i)
        a, b, c = rotate(R, X[i, 9], X[i, 12], X[i, 15])
        W0, W3, W6 = W0 + a, W3 + b, W6 + c
        a, b, c = rotate(R, X[i, 10], X[i, 13], X[i, 16])
        W1, W4, W7 = W1 + a, W4 + b, W7 + c
        a, b, c = rotate(R, X[i, 11], X[i, 14], X[i, 17])
        W2, W5, W8 = W2 + a, W5 + b, W8 + c
        p0, p1, p2 = X[i, 6], X[i, 7], X[i, 8]
        g0, g1, g2 = X[i, 21], X[i, 22], X[i, 23]
        a, b, c = cross(x - d.p[i, 0], y - d.p[i, 1], z - d.p[i, 2], g0, g1, g2)
        n0, n1, n2 = X[i, 18] + a, X[i, 19] + b, X[i, 20] + c
    p0, p1, p2 = p0 + m * h0, p1 + m * h1, p2 + m * h2
    W0, W1, W2 = W0 + x * p0, W1 + x * p1, W2 + x * p2
    W3, W4, W5 = W3 + y * p0, W4 + y * p1, W5 + y * p2
    W6, W7, W8 = W6 + z * p0, W7 + z * p1, W8 + z * p2
    L = w.load
    L[i, 0], L[i, 1], L[i, 2] = W4 + W8, n2 - W3, -n1 - W6
    L[i, 3], L[i, 4], L[i, 5] = -n2 - W1, W0 + W8, n0 - W7
    L[i, 6], L[i, 7], L[i, 8] = n1 - W2, -n0 - W5, W0 + W4
    L[i, 9], L[i, 10], L[i, 11] = p0 + g0, p1 + g1, p2 + g2
    L[i, 12], L[i, 13], L[i, 14] = g0, g1, g2


@inlined
def add_to_parent(t, w, i, loads):
    """Composites of body i on top of its parent's."""
    parent = t.parent[i]
    if parent >= 0:
        for c in range(COMPOSITE):
            w.composite[parent, c] += w.composite[i, c]
        if loads != 0 and w.has_load[i] != 0:
            w.has_load[parent] = 1
            for c in range(15):
                w.load[parent, c] += w.load[i, c]


@inlined
def composite_momentum(w, i, x0, x1, x2, x3, x4, x5):
    """I x."""
    C = w.composite
    J = C[i, 0], C[i, 1], C[i, 2], C[i, 3], C[i, 4], C[i, 5]
    return rigid_momentum(J, (C[i, 6], C[i, 7], C[i, 8]), C[i, 9], x0, x1, x2, x3, x4, x5)


@inlined
def composite_drag(w, i, x0, x1, x2):
    """B x, which depends on the angular part of x alone."""
    C = w.composite
    a, b, c = cross(x0, x1, x2, C[i, 19], C[i, 20], C[i, 21])
    return (
        2.0 * (C[i, 10] * x0 + C[i, 11] * x1 + C[i, 12] * x2),
        2.0 * (C[i, 13] * x0 + C[i, 14] * x1 + C[i, 15] * x2),
        2.0 * (C[i, 16] * x0 + C[i, 17] * x1 + C[i, 18] * x2),
        2.0 * a,
        2.0 * b,
        2.0 * c,
    )


@inlined
def column(S, k):
    """Column k of a field with six rows."""
    return S[0, k], S[1, k], S[2, k], S[3, k], S[4, k], S[5, k]


@inlined
def force_derivatives(w, i, k):
    """Y, dF_dq and dF_du of coordinate k of body i, without loads."""
    C = w.composite
    s0, s1, s2, s3, s4, s5 = column(w.S, k)
    y0, y1, y2, y3, y4, y5 = composite_momentum(w, i, s0, s1, s2, s3, s4, s5)
    w.Y[0, k], w.Y[1, k], w.Y[2, k], w.Y[3, k], w.Y[4, k], w.Y[5, k] = y0, y1, y2, y3, y4, y5
    y0, y1, y2, y3, y4, y5 = cross_force(
        s0, s1, s2, s3, s4, s5, C[i, 25], C[i, 26], C[i, 27], C[i, 28], C[i, 29], C[i, 30]
    )
    a0, a1, a2, a3, a4, a5 = column(w.dA, k)
    x0, x1, x2, x3, x4, x5 = composite_momentum(w, i, a0, a1, a2, a3, a4, a5)
    b0, b1, b2, b3, b4, b5 = composite_drag(w, i, w.dV[0, k], w.dV[1, k], w.dV[2, k])
    w.dF_dq[0, k], w.dF_dq[1, k], w.dF_dq[2, k] = y0 + x0 + b0, y1 + x1 + b1, y2 + x2 + b2
    w.dF_dq[3, k], w.dF_dq[4, k], w.dF_dq[5, k] = y3 + x3 + b3, y4 + x4 + b4, y5 + x5 + b5
    a0, a1, a2, a3, a4, a5 = column(w.dA_du, k)
    x0, x1, x2, x3, x4, x5 = composite_momentum(w, i, a0, a1, a2, a3, a4, a5)
    b0, b1, b2, b3, b4, b5 = composite_drag(w, i, s0, s1, s2)
    w.dF_du[0, k], w.dF_du[1, k], w.dF_du[2, k] = x0 + b0, x1 + b1, x2 + b2
    w.dF_du[3, k], w.dF_du[4, k], w.dF_du[5, k] = x3 + b3, x4 + b4, x5 + b5


@inlined
def rows_above(w, i, k, D, q, u):
    """Row k of dtau/dq and dtau/du, in D[q] and D[u], in the columns of coordinates above, without loads."""
    C = w.composite
    y0, y1, y2, y3, y4, y5 = column(w.Y, k)
    s0, s1, s2, s3, s4, s5 = column(w.S, k)
    # S . B x = z . (angular part of x)
    z0, z1, z2 = cross(C[i, 19], C[i, 20], C[i, 21], s3, s4, s5)
    z0 = 2.0 * (z0 + C[i, 10] * s0 + C[i, 13] * s1 + C[i, 16] * s2)
    z1 = 2.0 * (z1 + C[i, 11] * s0 + C[i, 14] * s1 + C[i, 17] * s2)
    z2 = 2.0 * (z2 + C[i, 12] * s0 + C[i, 15] * s1 + C[i, 18] * s2)
    dA, dV, dA_du, S = w.dA, w.dV, w.dA_du, w.S
    last = w.above[k + 1] - 1
    for run in range(w.above[k], last + 1):
        end = w.above_run[run, 1]
        if run == last:
            end = w.carried[k]
        for j in range(w.above_run[run, 0], end):
            x = (y0 * dA[0, j] + y1 * dA[1, j] + y2 * dA[2, j]) + (y3 * dA[3, j] + y4 * dA[4, j] + y5 * dA[5, j])
            D[q, k, j] = x + (z0 * dV[0, j] + z1 * dV[1, j] + z2 * dV[2, j])
            x = y0 * dA_du[0, j] + y1 * dA_du[1, j] + y2 * dA_du[2, j]
            x += y3 * dA_du[3, j] + y4 * dA_du[4, j] + y5 * dA_du[5, j]
            D[u, k, j] = x + (z0 * S[0, j] + z1 * S[1, j] + z2 * S[2, j])


@inlined
def rows_below(w, k, D, q, u):
    """Row k of dtau/dq and dtau/du, in D[q] and D[u], in the columns of coordinates below."""
    s0, s1, s2, s3, s4, s5 = column(w.S, k)
    dF_dq, dF_du = w.dF_dq, w.dF_du
    first = w.below[k]
    for run in range(first, w.below[k + 1]):
        start = w.below_run[run, 0]
        if run == first:
            start = w.carried[k]
        for j in range(start, w.below_run[run, 1]):
            x = s0 * dF_dq[0, j] + s1 * dF_dq[1, j] + s2 * dF_dq[2, j]
            D[q, k, j] = x + (s3 * dF_dq[3, j] + s4 * dF_dq[4, j] + s5 * dF_dq[5, j])
            x = s0 * dF_du[0, j] + s1 * dF_du[1, j] + s2 * dF_du[2, j]
            D[u, k, j] = x + (s3 * dF_du[3, j] + s4 * dF_du[4, j] + s5 * dF_du[5, j])


@kernel
def add_load(w, i, k, D, q):
    """What X S adds to dF_dq of coordinate k of body i, and to row k of dtau/dq above."""
    L = w.load
    s0, s1, s2, s3, s4, s5 = column(w.S, k)
    a, b, c = cross(s3, s4, s5, L[i, 12], L[i, 13], L[i, 14])
    w.dF_dq[0, k] += L[i, 0] * s0 + L[i, 1] * s1 + L[i, 2] * s2 + a
    w.dF_dq[1, k] += L[i, 3] * s0 + L[i, 4] * s1 + L[i, 5] * s2 + b
    w.dF_dq[2, k] += L[i, 6] * s0 + L[i, 7] * s1 + L[i, 8] * s2 + c
    a, b, c = cross(s0, s1, s2, L[i, 9], L[i, 10], L[i, 11])
    w.dF_dq[3, k] += a
    w.dF_dq[4, k] += b
    w.dF_dq[5, k] += c
    # X^T S_k, for S_k . X S_j
    a, b, c = cross(L[i, 9], L[i, 10], L[i, 11], s3, s4, s5)
    x0 = L[i, 0] * s0 + L[i, 3] * s1 + L[i, 6] * s2 + a
    x1 = L[i, 1] * s0 + L[i, 4] * s1 + L[i, 7] * s2 + b
    x2 = L[i, 2] * s0 + L[i, 5] * s1 + L[i, 8] * s2 + c
    x3, x4, x5 = cross(L[i, 12], L[i, 13], L[i, 14], s0, s1, s2)
    S = w.S
    last = w.above[k + 1] - 1
    for run in range(w.above[k], last + 1):
        end = w.above_run[run, 1]
        if run == last:
            end = w.carried[k]
        for j in range(w.above_run[run, 0], end):
            x = x0 * S[0, j] + x1 * S[1, j] + x2 * S[2, j]
            D[q, k, j] += x + (x3 * S[3, j] + x4 * S[4, j] + x5 * S[5, j])


@kernel
def composite_sweep(t, d, w, first, last, loads):
    """`composite` (and `load`), Y, dF_dq and dF_du of bodies first..last-1, tips to base; needs `motion_at_point`."""
    for i in range(first, last):
        start_composite_force(t, d, w, i)
        if loads != 0:
            start_load(t, d, w, i)
    for i in range(last - 1, first - 1, -1):
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            force_derivatives(w, i, k)
        add_to_parent(t, w, i, loads)


@kernel
def joint_force_derivatives(t, d, w, first, last, loads, D, q, u):
    """dtau/dq and dtau/du of bodies first..last-1 into D[q] and D[u], which hold zeros; needs `composite_sweep`."""
    for i in range(first, last):
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            rows_above(w, i, k, D, q, u)
            if loads != 0 and w.has_load[i] != 0:
                add_load(w, i, k, D, q)
        if t.kind[i] == USER:
            add_column_changes(t, d, w, i, D, q)
    for k in range(t.first_dof[first], t.first_dof[last]):
        rows_below(w, k, D, q, u)


@kernel
def mass_matrix_from_momenta(w, first_dof, last_dof, D, m):
    """M into D[m], which holds zeros, from Y and S."""
    S = w.S
    for k in range(first_dof, last_dof):
        y0, y1, y2, y3, y4, y5 = column(w.Y, k)
        last = w.above[k + 1] - 1
        for run in range(w.above[k], last + 1):
            end = w.above_run[run, 1]
            if run == last:
                end = k + 1
            for j in range(w.above_run[run, 0], end):
                x = y0 * S[0, j] + y1 * S[1, j] + y2 * S[2, j]
                D[m, k, j] = x + (y3 * S[3, j] + y4 * S[4, j] + y5 * S[5, j])
        for run in range(w.above[k], last + 1):
            for j in range(w.above_run[run, 0], w.above_run[run, 1]):
                D[m, j, k] = D[m, k, j]
