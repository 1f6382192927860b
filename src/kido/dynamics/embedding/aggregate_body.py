"""One aggregate body in the sweeps: its motion map, its inertia and bias seen from its parent, its accelerations.

An aggregate's coordinates are its independent ones. With all vectors about the aggregate's point o, S_i the column of
coordinate i, P_k articulated inertias of the members (children outside included), h_k,a the motion of member k for a
unit of independent coordinate a,

    h_k,a = h_above,a + sum_i S_i X_ia          X: identity for independent coordinates
    D_ab  = sum_k h_k,a . P_k h_k,b             U_a = sum_k P_k h_k,a
    P    += sum_k P_k - U D^-1 U^T,             z += sum_k f_k + U D^-1 eps

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
def add_independent(e, s, a, free, g, h, own, D):
    """Independent coordinate s, of column a, into D, g and the motions from `own` on.

    Args:
        g: first row of the aggregate in `g`.
        h: where motions are that the coordinates before it give its member; -1: there are none.
        own: where those are that the member hands on; -1: nowhere.
    """
    f0, f1, f2, f3, f4, f5 = motion_of(e.F, s)
    if h >= 0:
        for b in range(free):
            value = dot6(e.h, h + b, f0, f1, f2, f3, f4, f5)
            e.D[D + max(a, b) * free + min(a, b)] += value
            if a == b:
                e.D[D + a * free + a] += value
    e.D[D + a * free + a] += dot6(e.S, s, f0, f1, f2, f3, f4, f5)
    add_six(e.g, g + a, f0, f1, f2, f3, f4, f5)
    if own >= 0:
        s0, s1, s2, s3, s4, s5 = motion_of(e.S, s)
        add_six(e.h, own + a, s0, s1, s2, s3, s4, s5)


@inlined
def add_dependent(e, s, X, free, g, h, own, D):
    """Dependent coordinate s, with its row of X, into D, g and the motions; arguments as of `add_independent`."""
    f0, f1, f2, f3, f4, f5 = motion_of(e.F, s)
    s0, s1, s2, s3, s4, s5 = motion_of(e.S, s)
    inertia = (s0 * f0 + s1 * f1 + s2 * f2) + (s3 * f3 + s4 * f4 + s5 * f5)
    for b in range(free):
        e.w[g + b] = dot6(e.h, h + b, f0, f1, f2, f3, f4, f5) if h >= 0 else 0.0
    for a in range(free):
        x = e.X[X + a]
        w = e.w[g + a] + x * inertia
        # x_a w_b + w_a x_b + x_a x_b S P S
        for b in range(a + 1):
            e.D[D + a * free + b] += w * e.X[X + b] + x * e.w[g + b]
        add_six(e.g, g + a, x * f0, x * f1, x * f2, x * f3, x * f4, x * f5)
    if own >= 0:
        for a in range(free):
            x = e.X[X + a]
            add_six(e.h, own + a, x * s0, x * s1, x * s2, x * s3, x * s4, x * s5)


@kernel
def independent_inertia(t, e, c, h):
    """D and g = U before they are factored: the sums over members of h P h and P h, coordinate by coordinate."""
    place, columns, free = e.first_place[c], e.columns[c], e.free[c]
    D, H, first = e.X_at[c], e.h_at[c], e.first_member[c]
    for a in range(free):
        for k in range(6):
            e.g[place + a, k] = 0.0
        for b in range(a + 1):
            e.D[D + a * free + b] = 0.0
    for m in range(first, e.first_member[c + 1]):
        above = e.above[m]
        before = H + (above - first) * columns if above >= 0 else -1
        own = -1
        if e.carries[m] != 0:
            own = H + (m - first) * columns
            for a in range(free):
                for k in range(6):
                    e.h[own + a, k] = e.h[before + a, k] if before >= 0 else 0.0
            before = own
        for s in range(e.member_place[m], e.member_place[m + 1]):
            role = e.role[s]
            X = e.X_at[c] + (-1 - role) * (columns + 1)
            if role < 0:
                add_dependent(e, s, X, free, place, before, own, D)
            elif role < free:
                add_independent(e, s, role, free, place, before, own, D)
            k = e.dof[s]
            own_inertia = t.armature[k] + h * (t.damping[k] + 0.25 * h * t.stiffness[k])
            if own_inertia != 0.0:
                add_own_inertia(e, role, X, free, D, own_inertia)


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
def add_own_inertia(e, role, X, free, D, value):
    """X^T value X of one coordinate into D."""
    if role >= 0:
        if role < free:
            e.D[D + role * free + role] += value
        return
    for a in range(free):
        for b in range(a + 1):
            e.D[D + a * free + b] += value * e.X[X + a] * e.X[X + b]


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
