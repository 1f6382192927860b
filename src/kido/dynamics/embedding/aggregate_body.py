"""One aggregate body in the sweeps: its motion map, its inertia and bias seen from its parent, its accelerations.

An aggregate's coordinates are its independent ones. With all vectors about the aggregate's point o, S_i the column of
coordinate i, P_i the sum of the articulated inertias (children outside included) of the members that it moves, and the
joint-space inertia M of all its coordinates,

    F_i = P_i S_i,    M_ij = S_i . F_j          i at or above j; own inertias of coordinates on the diagonal
    D   = X^T M X,    U = X^T F                 X: identity for independent coordinates
    P  += sum_k P_k - U D^-1 U^T,               z += sum_k f_k + U D^-1 eps

No 6n x 6n matrix arises, as P is block-diagonal over the members and o moves with the aggregate's parent. D is
factored by Cholesky; g = L^-1 U and y = L^-1 eps serve both sweeps.
Source: Jain (2012), "Multibody graph transformations and analysis, part II: closed-chain constraint embedding"; the
recursion by coordinates with composite inertias is our own.
"""

from __future__ import annotations

import math

from kido.dynamics.embedding.elimination import clear_kept_rows, dependent_rows, eliminate_rows, solve_right
from kido.dynamics.embedding.rows import accelerations_at_rest, aggregate_columns, write_kept_rows
from kido.jit import inlined, kernel
from kido.kernels.articulated import add_column
from kido.kernels.inertia import add_shifted, apply_inertia, read_inertia
from kido.math.so3 import cross


@inlined
def add_inertia(table, i, P):
    """Row i of a table of inertias += P."""
    table[i, 0] += P[0]
    table[i, 1] += P[1]
    table[i, 2] += P[2]
    table[i, 3] += P[3]
    table[i, 4] += P[4]
    table[i, 5] += P[5]
    table[i, 6] += P[6]
    table[i, 7] += P[7]
    table[i, 8] += P[8]
    table[i, 9] += P[9]
    table[i, 10] += P[10]
    table[i, 11] += P[11]
    table[i, 12] += P[12]
    table[i, 13] += P[13]
    table[i, 14] += P[14]
    table[i, 15] += P[15]
    table[i, 16] += P[16]
    table[i, 17] += P[17]
    table[i, 18] += P[18]
    table[i, 19] += P[19]
    table[i, 20] += P[20]


@inlined
def add_six(table, i, f0, f1, f2, f3, f4, f5):
    """Row i of a table of six += six numbers."""
    table[i, 0] += f0
    table[i, 1] += f1
    table[i, 2] += f2
    table[i, 3] += f3
    table[i, 4] += f4
    table[i, 5] += f5


@inlined
def dot6(X, i, a0, a1, a2, a3, a4, a5):
    """Row i of a table of six times six numbers."""
    return (X[i, 0] * a0 + X[i, 1] * a1 + X[i, 2] * a2) + (X[i, 3] * a3 + X[i, 4] * a4 + X[i, 5] * a5)


@inlined
def motion_of(A, i):
    """Row i of a table of six as numbers."""
    return A[i, 0], A[i, 1], A[i, 2], A[i, 3], A[i, 4], A[i, 5]


@kernel
def factor_cholesky(A, at, n):
    """L of A = L L^T in its lower half, with 1 / L_aa on the diagonal; whether A is positive definite."""
    for a in range(n):
        row = at + a * n
        before = A[row + a]
        for b in range(a):
            value = A[row + b]
            other = at + b * n
            for k in range(b):
                value -= A[row + k] * A[other + k]
            value *= A[other + b]
            A[row + b] = value
            A[row + a] -= value * value
        if not A[row + a] > 1e-14 * before:
            return False
        A[row + a] = 1.0 / math.sqrt(A[row + a])
    return True


@kernel
def aggregate_geometry(d, lp, y, e, c, moving):
    """Columns, X and, if `moving`, K_d^-1 (rate_change - Gdot u); returns the least pivot.

    For couplings of coordinates alone X is constant.
    """
    aggregate_columns(d, e, c)
    if moving != 0:
        accelerations_at_rest(d, e, c, 0)
    if e.constant[c] != 0:
        if moving != 0:
            fill_right_side(e, c, y.rate_change)
            solve_right(e, c)
            for s in range(e.rank[c]):
                at = e.X_at[c] + s * (e.columns[c] + 1) + e.columns[c]
                e.X[at] = e.xb[e.first_place[c] + e.solved[e.first_place[c] + s]]
        return e.least[c]
    clear_kept_rows(e, c)
    write_kept_rows(d, lp, y, e, c, moving)
    e.least[c] = eliminate_rows(e, c)
    e.largest[c] = dependent_rows(e, c)
    return e.least[c]


@kernel
def fill_right_side(e, c, values):
    """Last column of K: values of the kept rows by slot."""
    n, base, first = e.first_place[c + 1] - e.first_place[c], e.matrix_at[c], e.first_row[c]
    for s in range(e.rank[c]):
        e.K[base + s * (n + 1) + n] = values[e.slot[first + e.kept[first + s]]]


@kernel
def aggregate_rest(d, e, c):
    """xb: what is not due to free independent coordinates, and A with it; needs `aggregate_geometry` of a motion."""
    place, rank, columns = e.first_place[c], e.rank[c], e.columns[c]
    for s in range(place, e.first_place[c + 1]):
        role = e.role[s]
        e.xb[s] = e.X[e.X_at[c] + (-1 - role) * (columns + 1) + columns] if role < 0 else 0.0
    for a in range(e.free[c], columns):
        s = place + e.solved[place + rank + a]
        v = d.udot[e.dof[s]]
        e.xb[s] = v
        for q in range(rank):
            e.xb[place + e.solved[place + q]] += e.X[e.X_at[c] + q * (columns + 1) + a] * v
    accelerations_at_rest(d, e, c, 1)


@kernel
def composite_inertias(d, e, c):
    """P of all members about the aggregate's point, and F = P S; the parent gets the sum."""
    first, last, parent = e.first_member[c], e.first_member[c + 1], e.parent[c]
    for m in range(first, last):
        for k in range(21):
            e.P[m, k] = 0.0
    for m in range(last - 1, first - 1, -1):
        i, above = e.member[m], e.above[m]
        x, y, z = d.p[i, 0] - e.point[c, 0], d.p[i, 1] - e.point[c, 1], d.p[i, 2] - e.point[c, 2]
        add_shifted(e, m, read_inertia(d, i), x, y, z)
        P = read_inertia(e, m)
        for s in range(e.member_place[m], e.member_place[m + 1]):
            s0, s1, s2, s3, s4, s5 = motion_of(e.S, s)
            f0, f1, f2, f3, f4, f5 = apply_inertia(P, s0, s1, s2, s3, s4, s5)
            e.F[s, 0], e.F[s, 1], e.F[s, 2], e.F[s, 3], e.F[s, 4], e.F[s, 5] = f0, f1, f2, f3, f4, f5
        if above >= 0:
            add_inertia(e.P, above, P)
        elif parent >= 0:
            add_inertia(d.P, parent, P)


@inlined
def own_inertia(t, k, h):
    """Armature of coordinate k, with what its damper and spring add over the time h."""
    return t.armature[k] + h * (t.damping[k] + 0.25 * h * t.stiffness[k])


@inlined
def add_share(e, c, s, q, value):
    """Row of place s of M X += value times the row of X of place q, that of an independent place being a unit row."""
    free, columns, role = e.free[c], e.columns[c], e.role[q]
    at = e.X_at[c] + (s - e.first_place[c]) * free
    if role >= 0:
        if role < free:
            e.MX[at + role] += value
    else:
        X = e.X_at[c] + (-1 - role) * (columns + 1)
        for a in range(free):
            e.MX[at + a] += value * e.X[X + a]


@kernel
def joint_space(t, e, c, h):
    """M X by place, M being the joint-space inertia of the aggregate: S_q . F_s for places q at or above s."""
    for k in range(e.X_at[c], e.X_at[c] + (e.first_place[c + 1] - e.first_place[c]) * e.free[c]):
        e.MX[k] = 0.0
    for m in range(e.first_member[c], e.first_member[c + 1]):
        for s in range(e.member_place[m], e.member_place[m + 1]):
            f0, f1, f2, f3, f4, f5 = motion_of(e.F, s)
            add_share(e, c, s, s, dot6(e.S, s, f0, f1, f2, f3, f4, f5) + own_inertia(t, e.dof[s], h))
            begin, end, n = e.member_place[m], s, m
            while n >= 0:
                for q in range(begin, end):
                    value = dot6(e.S, q, f0, f1, f2, f3, f4, f5)
                    add_share(e, c, s, q, value)
                    add_share(e, c, q, s, value)
                n = e.above[n]
                if n >= 0:
                    begin, end = e.member_place[n], e.member_place[n + 1]


@kernel
def independent_inertia(t, e, c, h):
    """D = X^T M X, its lower half, and g = X^T F before they are factored."""
    joint_space(t, e, c, h)
    place, columns, free, D = e.first_place[c], e.columns[c], e.free[c], e.X_at[c]
    for a in range(free):
        s = place + e.solved[place + e.rank[c] + a]
        f0, f1, f2, f3, f4, f5 = motion_of(e.F, s)
        e.g[place + a, 0], e.g[place + a, 1], e.g[place + a, 2] = f0, f1, f2
        e.g[place + a, 3], e.g[place + a, 4], e.g[place + a, 5] = f3, f4, f5
        for b in range(a + 1):
            e.D[D + a * free + b] = e.MX[D + (s - place) * free + b]
    for r in range(e.rank[c]):
        s, X = place + e.solved[place + r], e.X_at[c] + r * (columns + 1)
        f0, f1, f2, f3, f4, f5 = motion_of(e.F, s)
        at = D + (s - place) * free
        for a in range(free):
            x = e.X[X + a]
            add_six(e.g, place + a, x * f0, x * f1, x * f2, x * f3, x * f4, x * f5)
            for b in range(a + 1):
                e.D[D + a * free + b] += x * e.MX[at + b]


@kernel
def articulate_aggregate(t, d, e, c, h):
    """D, g, and what the parent feels of the aggregate's inertia; needs P of members complete, X and S.

    Args:
        h: time over which joint springs and dampers are implicit [s].

    Returns:
        Whether D is positive definite.
    """
    composite_inertias(d, e, c)
    independent_inertia(t, e, c, h)
    place, free, D = e.first_place[c], e.free[c], e.X_at[c]
    if not factor_cholesky(e.D, D, free):
        return False
    for a in range(free):
        for b in range(a):
            x = e.D[D + a * free + b]
            for k in range(6):
                e.g[place + a, k] -= x * e.g[place + b, k]
        x = e.D[D + a * free + a]
        for k in range(6):
            e.g[place + a, k] *= x
    p = e.parent[c]
    if p >= 0:
        for a in range(place, place + free):
            deflate_parent(d, e, p, a)
    return True


@kernel
def deflate_parent(d, e, p, a):
    """P(p) -= g_a g_a^T."""
    g0, g1, g2 = e.g[a, 0], e.g[a, 1], e.g[a, 2]
    g3, g4, g5 = e.g[a, 3], e.g[a, 4], e.g[a, 5]
    P = d.P
    P[p, 0] -= g0 * g0
    P[p, 1] -= g0 * g1
    P[p, 2] -= g0 * g2
    P[p, 3] -= g1 * g1
    P[p, 4] -= g1 * g2
    P[p, 5] -= g2 * g2
    P[p, 6] -= g0 * g3
    P[p, 7] -= g0 * g4
    P[p, 8] -= g0 * g5
    P[p, 9] -= g1 * g3
    P[p, 10] -= g1 * g4
    P[p, 11] -= g1 * g5
    P[p, 12] -= g2 * g3
    P[p, 13] -= g2 * g4
    P[p, 14] -= g2 * g5
    P[p, 15] -= g3 * g3
    P[p, 16] -= g3 * g4
    P[p, 17] -= g3 * g5
    P[p, 18] -= g4 * g4
    P[p, 19] -= g4 * g5
    P[p, 20] -= g5 * g5


@kernel
def aggregate_bias(t, d, e, c, tau):
    """y = L^-1 eps of the aggregate from tau, and z, A and xb of its members; the parent gets the rest of z.

    The forces `f` are those through the members' joints while the independent coordinates have no acceleration.
    """
    first, last = e.first_member[c], e.first_member[c + 1]
    place, columns, free = e.first_place[c], e.columns[c], e.free[c]
    ox, oy, oz = e.point[c, 0], e.point[c, 1], e.point[c, 2]
    p = e.parent[c]
    for m in range(first, last):
        i = e.member[m]
        rx, ry, rz = d.p[i, 0] - ox, d.p[i, 1] - oy, d.p[i, 2] - oz
        a0, a1, a2 = e.A[m, 0], e.A[m, 1], e.A[m, 2]
        x, y, z = cross(a0, a1, a2, rx, ry, rz)
        f0, f1, f2, f3, f4, f5 = apply_inertia(
            read_inertia(d, i), a0, a1, a2, e.A[m, 3] + x, e.A[m, 4] + y, e.A[m, 5] + z
        )
        f0 += d.z[i, 0]
        f1 += d.z[i, 1]
        f2 += d.z[i, 2]
        f3 += d.z[i, 3]
        f4 += d.z[i, 4]
        f5 += d.z[i, 5]
        x, y, z = cross(rx, ry, rz, f3, f4, f5)
        e.f[m, 0], e.f[m, 1], e.f[m, 2] = f0 + x, f1 + y, f2 + z
        e.f[m, 3], e.f[m, 4], e.f[m, 5] = f3, f4, f5
    for a in range(free):
        e.y[place + a] = 0.0
    for m in range(last - 1, first - 1, -1):
        f0, f1, f2, f3, f4, f5 = e.f[m, 0], e.f[m, 1], e.f[m, 2], e.f[m, 3], e.f[m, 4], e.f[m, 5]
        for s in range(e.member_place[m], e.member_place[m + 1]):
            value = tau[e.dof[s]] - dot6(e.S, s, f0, f1, f2, f3, f4, f5)
            value -= t.armature[e.dof[s]] * e.xb[s]
            role = e.role[s]
            if role >= 0:
                if role < free:
                    e.y[place + role] += value
            else:
                X = e.X_at[c] + (-1 - role) * (columns + 1)
                for a in range(free):
                    e.y[place + a] += e.X[X + a] * value
        if e.above[m] >= 0:
            add_six(e.f, e.above[m], f0, f1, f2, f3, f4, f5)
        elif p >= 0:
            add_six(d.z, p, f0, f1, f2, f3, f4, f5)
    D = e.X_at[c]
    for a in range(free):
        value = e.y[place + a]
        for b in range(a):
            value -= e.D[D + a * free + b] * e.y[place + b]
        value *= e.D[D + a * free + a]
        e.y[place + a] = value
        if p >= 0:
            g0, g1, g2, g3, g4, g5 = motion_of(e.g, place + a)
            add_six(d.z, p, g0 * value, g1 * value, g2 * value, g3 * value, g4 * value, g5 * value)


@kernel
def aggregate_accelerations(t, d, e, c, share, A, out):
    """`out` of the aggregate's coordinates and A of its members, from A of its parent; `share` as in `joint_motion`."""
    move_independent(t, e, c, share, A, out)
    move_members(t, d, e, c, share, A, out)


@kernel
def move_independent(t, e, c, share, A, out):
    """`aggregate_accelerations` without those of the members."""
    place, free, p = e.first_place[c], e.free[c], e.parent[c]
    D = e.X_at[c]
    if p >= 0:
        a0, a1, a2, a3, a4, a5 = A[p, 0], A[p, 1], A[p, 2], A[p, 3], A[p, 4], A[p, 5]
    else:
        a0, a1, a2, a3, a4, a5 = accelerations_of_world(t, share)
    for a in range(free - 1, -1, -1):
        value = e.y[place + a] - dot6(e.g, place + a, a0, a1, a2, a3, a4, a5)
        for b in range(a + 1, free):
            value -= e.D[D + b * free + a] * e.w[place + b]
        e.w[place + a] = value * e.D[D + a * free + a]
    spread_independent(e, c, out)


@inlined
def accelerations_of_world(t, share):
    """What gravity makes the world's acceleration."""
    return 0.0, 0.0, 0.0, -share * t.gravity[0], -share * t.gravity[1], -share * t.gravity[2]


@kernel
def move_members(t, d, e, c, share, A, out):
    """A of an aggregate's members, after `out` of its coordinates."""
    p = e.parent[c]
    if p >= 0:
        a0, a1, a2, a3, a4, a5 = A[p, 0], A[p, 1], A[p, 2], A[p, 3], A[p, 4], A[p, 5]
    else:
        a0, a1, a2, a3, a4, a5 = accelerations_of_world(t, share)
    ox, oy, oz = e.point[c, 0], e.point[c, 1], e.point[c, 2]
    for m in range(e.first_member[c], e.first_member[c + 1]):
        i, above = e.member[m], e.above[m]
        if above >= 0:
            b0, b1, b2, b3, b4, b5 = motion_of(A, e.member[above])
            x, y, z = cross(b0, b1, b2, d.l[i, 0], d.l[i, 1], d.l[i, 2])
        else:
            b0, b1, b2, b3, b4, b5 = a0, a1, a2, a3, a4, a5
            x, y, z = cross(b0, b1, b2, d.p[i, 0] - ox, d.p[i, 1] - oy, d.p[i, 2] - oz)
        b0 += share * d.a[i, 0]
        b1 += share * d.a[i, 1]
        b2 += share * d.a[i, 2]
        b3 += x + share * d.a[i, 3]
        b4 += y + share * d.a[i, 4]
        b5 += z + share * d.a[i, 5]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            b0, b1, b2, b3, b4, b5 = add_column(d, k, out[k], b0, b1, b2, b3, b4, b5)
        A[i, 0], A[i, 1], A[i, 2], A[i, 3], A[i, 4], A[i, 5] = b0, b1, b2, b3, b4, b5


@kernel
def spread_independent(e, c, out):
    """out = X w + xb of the aggregate's coordinates, w by column of the free ones; prescribed ones are left."""
    place, columns, free = e.first_place[c], e.columns[c], e.free[c]
    for s in range(place, e.first_place[c + 1]):
        role = e.role[s]
        if role < 0:
            row = e.X_at[c] + (-1 - role) * (columns + 1)
            value = e.xb[s]
            for a in range(free):
                value += e.X[row + a] * e.w[place + a]
            out[e.dof[s]] = value
        elif role < free:
            out[e.dof[s]] = e.w[place + role]
