"""Trees that float: momentum and centre of mass, which a step of theirs keeps (`kido.simulation.balance`).

With A(q) u = [L; P] the momentum about the centre of mass x, F and N the wrench at mid-step about x_M, a step asks

    P_1 = P_0 + h F,   L_1 = L_0 + h N,   x_M = x_0 + (h/2) P_0 / m,   x_1 = x_M + (h/2) P_1 / m

of the base alone: joints j have the velocities u'_j that they have without this, and q' are positions so moved, so that

    dq_1 = dq' + (dx_1 - A_l dq' / m),     du_b = A_b^-1 (d[L_1; P_1] - A_j du'_j - D dq'),    D = d(A u_1)/dq at q_1

where the first is of the translation of the base, which changes neither A nor D. About a point at rest, a momentum
h = I V of what is beyond coordinate k changes by S_k x* h + I dV_k (`kido.kernels.common_point`).
"""

from __future__ import annotations

from kido.jit import clear, inlined, kernel
from kido.joints.kinds import BALL, FREE_MIXED
from kido.kernels.common_point import cross_force
from kido.kernels.derivatives import column, composite_momentum
from kido.kernels.inertia import body_inertia
from kido.kernels.kinematics import transforms
from kido.math.so3 import advance_rotation_vector, cross, rotate, rotation_vector_to_matrix
from kido.simulation.balance import floating_base, is_loose
from kido.simulation.gradients.tangent.charts import add_row_to, add_rows, right_jacobian, turn_rows
from kido.simulation.gradients.tangent.dynamics import composites
from kido.solvers.problem import CONTACT

BEFORE, AFTER = 0, 1  # of `momentum` and `momentum_rate`


@kernel
def note_floating(t, d, pr, src, w, c):
    """Note the bases of trees whose momentum a step keeps. Returns whether no more than joints act on them."""
    found = 0
    for tree in range(t.tree_mobile.shape[0]):
        first, last = t.tree_body[tree], t.tree_body[tree + 1]
        c.base[tree] = -1
        if t.tree_mobile[tree] == 0 or t.first_dof[first] == t.first_dof[last] or w.grounded[tree] != 0:
            continue
        base = floating_base(t, first, last)
        if base < 0 or not is_loose(t, base):
            continue
        c.base[tree] = base
        found += 1
        for i in range(base, last):
            if d.has_external[i] != 0 or (t.gravity_factor[i] != 1.0 and t.mass[i] > 0.0):
                return False
    for b in range(pr.num_blocks if found > 0 else 0):
        body = src.body[b] if pr.kind[b] == CONTACT else t.body_of_dof[src.index[b]]
        base = c.base[t.tree_of_body[body]]
        if base < 0 or pr.impulse[pr.row[b]] == 0.0:
            continue
        if pr.kind[b] == CONTACT or body == base:
            return False
    c.num_floating = found
    return True


@kernel
def note_ways(t, c, w):
    """Velocities that moved positions in the second half: of a base that floats as it turned."""
    for k in range(c.way.shape[0]):
        c.way[k] = w.problem.u[k]
    s = 2.0 / c.time_step
    for tree in range(t.tree_mobile.shape[0] if c.num_floating > 0 else 0):
        if c.base[tree] >= 0:
            k = t.first_dof[c.base[tree]]
            q, end = c.data.q, w.data.q
            x, y, z = advance_rotation_vector(-q[k], -q[k + 1], -q[k + 2], end[k], end[k + 1], end[k + 2])
            c.way[k], c.way[k + 1], c.way[k + 2] = s * x, s * y, s * z


@inlined
def three(C, i, k):
    """Numbers k..k+2 of row i."""
    return C[i, k], C[i, k + 1], C[i, k + 2]


@kernel
def momentum_columns(t, c, q, u, at):
    """Momentum of trees that float by velocities and by positions, at a state; moves own data."""
    d, y = c.data, c.derivatives
    n = t.parent.shape[0]
    for k in range(d.q.shape[0]):
        d.q[k], d.u[k], d.udot[k] = q[k], u[k], 0.0
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
    composites(t, d, y)
    A, D = c.momentum, c.momentum_rate
    for tree in range(t.tree_mobile.shape[0]):
        base, first = c.base[tree], t.tree_body[tree]
        if base < 0:
            continue
        m = y.composite[base, 9]
        x0, x1, x2 = y.composite[base, 6] / m, y.composite[base, 7] / m, y.composite[base, 8] / m
        p0, p1, p2 = three(y.composite, base, 19)
        c.tree_mass[tree] = m
        if at == BEFORE:
            s = 0.5 * c.time_step / m
            c.centre[tree, 0] = d.p[first, 0] + x0 + s * p0
            c.centre[tree, 1] = d.p[first, 1] + x1 + s * p1
            c.centre[tree, 2] = d.p[first, 2] + x2 + s * p2
        for k in range(t.first_dof[base], t.first_dof[t.tree_body[tree + 1]]):
            i = t.body_of_dof[k]
            y0, y1, y2, y3, y4, y5 = column(y.Y, k)
            a, b, e = cross(x0, x1, x2, y3, y4, y5)
            A[at, 0, k], A[at, 1, k], A[at, 2, k] = y0 - a, y1 - b, y2 - e
            A[at, 3, k], A[at, 4, k], A[at, 5, k] = y3, y4, y5
            s0, s1, s2, s3, s4, s5 = column(y.S, k)
            n0, n1, n2 = three(y.composite, i, 22)
            l0, l1, l2 = three(y.composite, i, 19)
            h0, h1, h2, h3, h4, h5 = cross_force(s0, s1, s2, s3, s4, s5, n0, n1, n2, l0, l1, l2)
            v0, v1, v2, v3, v4, v5 = column(y.dV, k)
            g0, g1, g2, g3, g4, g5 = composite_momentum(y, i, v0, v1, v2, v3, v4, v5)
            h0, h1, h2, h3, h4, h5 = h0 + g0, h1 + g1, h2 + g2, h3 + g3, h4 + g4, h5 + g5
            a, b, e = cross(x0, x1, x2, h3, h4, h5)
            r0, r1, r2 = cross(y3 / m, y4 / m, y5 / m, p0, p1, p2)
            D[at, 0, k], D[at, 1, k], D[at, 2, k] = h0 - a - r0, h1 - b - r1, h2 - e - r2
            D[at, 3, k], D[at, 4, k], D[at, 5, k] = h3, h4, h5
        if at == AFTER:
            lock(c.lock, A, tree, t.first_dof[base])


@kernel
def lock(M, A, tree, k):
    """Row `tree` of M: the inverse of the moment of inertia of a tree, from its base's axes."""
    a, b, e = A[AFTER, 0, k], A[AFTER, 0, k + 1], A[AFTER, 0, k + 2]
    f, g, h = A[AFTER, 1, k], A[AFTER, 1, k + 1], A[AFTER, 1, k + 2]
    p, q, r = A[AFTER, 2, k], A[AFTER, 2, k + 1], A[AFTER, 2, k + 2]
    x, y, z = g * r - h * q, h * p - f * r, f * q - g * p
    s = 1.0 / (a * x + b * y + e * z)
    M[tree, 0], M[tree, 1], M[tree, 2] = s * x, s * (e * q - b * r), s * (b * h - e * g)
    M[tree, 3], M[tree, 4], M[tree, 5] = s * y, s * (a * r - e * p), s * (e * f - a * h)
    M[tree, 6], M[tree, 7], M[tree, 8] = s * z, s * (b * p - a * q), s * (a * g - b * f)


@kernel
def start_kicks(t, c, begin, end):
    """Changes of momentum and x_M of a tree by positions at mid-step and velocities before it, into `kick`."""
    size = c.way.shape[0]
    half = 0.5 * c.time_step
    A, D, K = c.momentum, c.momentum_rate, c.kick
    m = c.tree_mass[t.tree_of_body[t.body_of_dof[begin]]]
    for k in range(begin, end):
        for a in range(6):
            K[k, a], K[size + k, a], K[2 * size + k, a] = D[BEFORE, a, k], A[BEFORE, a, k], 0.0
        for a in range(3):
            K[k, 6 + a], K[size + k, 6 + a], K[2 * size + k, 6 + a] = A[BEFORE, 3 + a, k] / m, 0.0, 0.0
    for i in range(t.body_of_dof[begin], t.body_of_dof[end - 1] + 1):
        k, last = t.first_dof[i], t.first_dof[i + 1]
        if t.kind[i] == BALL or t.kind[i] == FREE_MIXED:
            # dr_0 = turn (dr_M - J_r (h/2) dw)
            x, y, z = half * c.start_u[k], half * c.start_u[k + 1], half * c.start_u[k + 2]
            turn_rows(K, k, rotation_vector_to_matrix(x, y, z))
            add_rows(K, size + k, k, right_jacobian(x, y, z), -half)
            k += 3
        for j in range(k, last):
            add_row_to(K, size + j, -half, j)
    for j in range(begin, end):
        for a in range(3):
            K[j, 6 + a] += half / m * K[j, 3 + a]
            K[size + j, 6 + a] += half / m * K[size + j, 3 + a]


@inlined
def columns_at(S, k):
    """Angular and linear part of column k."""
    return (S[0, k], S[1, k], S[2, k]), (S[3, k], S[4, k], S[5, k])


@kernel
def kick_rates(t, c):
    """Change of momentum and centre of mass after the step by the step's columns; needs S and Y at mid-step."""
    d, y, K = c.data, c.derivatives, c.kick
    h, size = c.time_step, c.way.shape[0]
    clear(K)
    for tree in range(t.tree_mobile.shape[0]):
        base, first = c.base[tree], t.tree_body[tree]
        if base < 0:
            continue
        begin, end = t.first_dof[base], t.first_dof[t.tree_body[tree + 1]]
        start_kicks(t, c, begin, end)
        m, k = c.tree_mass[tree], begin
        # where the axes of the base meet, from the tree's point: sum of a x (z x a) = 2 z
        z0, z1, z2 = 0.0, 0.0, 0.0
        n0, n1, n2, f0, f1, f2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        R = rotation_vector_to_matrix(d.q[k], d.q[k + 1], d.q[k + 2])
        s = rotate(R, c.force[k + 3], c.force[k + 4], c.force[k + 5])
        for j in range(3):
            a, b = columns_at(y.S, k + j)
            x0, x1, x2 = cross(a[0], a[1], a[2], b[0], b[1], b[2])
            z0, z1, z2 = z0 + 0.5 * x0, z1 + 0.5 * x1, z2 + 0.5 * x2
            x = c.force[k + j]
            n0, n1, n2 = n0 + x * a[0], n1 + x * a[1], n2 + x * a[2]
            _, b = columns_at(y.S, k + 3 + j)
            x = s[0] if j == 0 else (s[1] if j == 1 else s[2])
            f0, f1, f2 = f0 + x * b[0], f1 + x * b[1], f2 + x * b[2]
        r0, r1, r2 = (
            c.centre[tree, 0] - d.p[first, 0],
            c.centre[tree, 1] - d.p[first, 1],
            c.centre[tree, 2] - d.p[first, 2],
        )
        for j in range(3):
            a, _ = columns_at(y.S, k + j)
            x0, x1, x2 = cross(a[0], a[1], a[2], n0, n1, n2)
            K[k + j, 0], K[k + j, 1], K[k + j, 2] = K[k + j, 0] + h * x0, K[k + j, 1] + h * x1, K[k + j, 2] + h * x2
            o = 2 * size + k + j
            K[o, 0], K[o, 1], K[o, 2] = h * a[0], h * a[1], h * a[2]
            _, b = columns_at(y.S, k + 3 + j)
            x0, x1, x2 = cross(b[0], b[1], b[2], f0, f1, f2)
            o = k + 3 + j
            K[o, 0], K[o, 1], K[o, 2] = K[o, 0] + h * x0, K[o, 1] + h * x1, K[o, 2] + h * x2
            o = 2 * size + k + 3 + j
            x0, x1, x2 = z0 - r0, z1 - r1, z2 - r2
            x0, x1, x2 = cross(x0, x1, x2, b[0], b[1], b[2])
            K[o, 0], K[o, 1], K[o, 2] = h * x0, h * x1, h * x2
            K[o, 3], K[o, 4], K[o, 5] = h * b[0], h * b[1], h * b[2]
        f0, f1, f2 = f0 + m * t.gravity[0], f1 + m * t.gravity[1], f2 + m * t.gravity[2]
        for j in range(begin, end):
            a, b = columns_at(y.Y, j)
            x0, x1, x2 = cross(b[0], b[1], b[2], t.gravity[0], t.gravity[1], t.gravity[2])
            K[j, 0], K[j, 1], K[j, 2] = K[j, 0] + h * x0, K[j, 1] + h * x1, K[j, 2] + h * x2
            for g in range(3):
                o = g * size + j
                x0, x1, x2 = cross(K[o, 6], K[o, 7], K[o, 8], f0, f1, f2)
                K[o, 0], K[o, 1], K[o, 2] = K[o, 0] - h * x0, K[o, 1] - h * x1, K[o, 2] - h * x2
                for a in range(3):
                    K[o, 6 + a] += 0.5 * h / m * K[o, 3 + a]


@kernel
def balance_rows(t, c, F):
    """Rows of the end of trees that float, as their momentum has them; only angular velocities are in body axes."""
    size = c.way.shape[0]
    A, D, K, M = c.momentum, c.momentum_rate, c.kick, c.lock
    for tree in range(t.tree_mobile.shape[0]):
        base = c.base[tree]
        if base < 0:
            continue
        k, end = t.first_dof[base], t.first_dof[t.tree_body[tree + 1]]
        m = c.tree_mass[tree]
        for j in range(3 * size):
            g0, g1, g2, g3, g4, g5 = K[j, 0], K[j, 1], K[j, 2], K[j, 3], K[j, 4], K[j, 5]
            x0, x1, x2 = K[j, 6], K[j, 7], K[j, 8]
            for i in range(k, end):
                f = F[j, i]
                g0, g1, g2 = g0 - f * D[AFTER, 0, i], g1 - f * D[AFTER, 1, i], g2 - f * D[AFTER, 2, i]
                g3, g4, g5 = g3 - f * D[AFTER, 3, i], g4 - f * D[AFTER, 4, i], g5 - f * D[AFTER, 5, i]
                f /= m
                x0, x1, x2 = x0 - f * A[AFTER, 3, i], x1 - f * A[AFTER, 4, i], x2 - f * A[AFTER, 5, i]
                if i >= k + 6:
                    f = F[j, size + i]
                    g0, g1, g2 = g0 - f * A[AFTER, 0, i], g1 - f * A[AFTER, 1, i], g2 - f * A[AFTER, 2, i]
                    g3, g4, g5 = g3 - f * A[AFTER, 3, i], g4 - f * A[AFTER, 4, i], g5 - f * A[AFTER, 5, i]
            for i in range(3):
                f = M[tree, 3 * i] * g0 + M[tree, 3 * i + 1] * g1 + M[tree, 3 * i + 2] * g2
                F[j, size + k + i] = f
                g3, g4, g5 = g3 - f * A[AFTER, 3, k + i], g4 - f * A[AFTER, 4, k + i], g5 - f * A[AFTER, 5, k + i]
            for i in range(k + 3, k + 6):
                F[j, size + i] = (A[AFTER, 3, i] * g3 + A[AFTER, 4, i] * g4 + A[AFTER, 5, i] * g5) / (m * m)
                F[j, i] += (A[AFTER, 3, i] * x0 + A[AFTER, 4, i] * x1 + A[AFTER, 5, i] * x2) / m


@kernel
def balance_back(t, c, v, row, out):
    """A gradient by the end of trees that float, back to that by what moves them without momentum.

    Args:
        v, row: gradient by velocities is row `row` of v.
        out: gradient by positions is in row 0.
    """
    A, D, M, G = c.momentum, c.momentum_rate, c.lock, c.kicked
    for tree in range(t.tree_mobile.shape[0]):
        base = c.base[tree]
        if base < 0:
            continue
        k, end = t.first_dof[base], t.first_dof[t.tree_body[tree + 1]]
        m = c.tree_mass[tree]
        for a in range(9):
            G[tree, a] = 0.0
        for i in range(k + 3, k + 6):
            for a in range(3):
                G[tree, 3 + a] += A[AFTER, 3 + a, i] * v[row, i] / (m * m)
                G[tree, 6 + a] += A[AFTER, 3 + a, i] * out[i, 0] / m
            v[row, i] = 0.0
        for i in range(3):
            g = v[row, k + i]
            for a in range(3, 6):
                g -= A[AFTER, a, k + i] * G[tree, a]
            for a in range(3):
                G[tree, a] += M[tree, 3 * i + a] * g
            v[row, k + i] = 0.0
        for i in range(k, end):
            for a in range(6):
                out[i, 0] -= G[tree, a] * D[AFTER, a, i]
                if i >= k + 6:
                    v[row, i] -= G[tree, a] * A[AFTER, a, i]
            for a in range(3):
                out[i, 0] -= G[tree, 6 + a] * A[AFTER, 3 + a, i] / m


@kernel
def add_kicks(t, c, out):
    """Add to row 0 of `out` the gradient by the step's columns through momenta, after `balance_back`."""
    size = c.way.shape[0]
    for tree in range(t.tree_mobile.shape[0]):
        base = c.base[tree]
        if base < 0:
            continue
        for k in range(t.first_dof[base], t.first_dof[t.tree_body[tree + 1]]):
            for g in range(3):
                for a in range(9):
                    out[g * size + k, 0] += c.kicked[tree, a] * c.kick[g * size + k, a]
