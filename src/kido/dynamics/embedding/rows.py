"""Rows of an aggregate's loops at the present state: columns of motion, directions, numbers of K, what velocities give.

A row with the unit force f at a point and the unit moment m has, for a coordinate with the column S = [w; v] about
the aggregate's point o, the number w . (m + (point - o) x f) + v . f: plus on the second body's side, minus on the
first's. Nothing outside the aggregate enters, as what moves both sides alike cancels.
"""

from __future__ import annotations

import math

from kido.constraints.loop_rates import row_change, seen_motion
from kido.constraints.loop_rows import MIN_LINE, axis_of, frame_in_world
from kido.constraints.loop_schema import COUPLE, CROSS, LENGTH, SCREW_TRAVEL, SHIFT, SPIN
from kido.jit import inlined, kernel
from kido.joints.frames import rotation_of
from kido.math.so3 import cross, rotate


@inlined
def set_aggregate_point(d, e, c):
    """The point about which vectors of aggregate c are: its parent's origin, or its first member's."""
    p = e.parent[c]
    i = p if p >= 0 else e.member[e.first_member[c]]
    e.point[c, 0], e.point[c, 1], e.point[c, 2] = d.p[i, 0], d.p[i, 1], d.p[i, 2]


@kernel
def aggregate_columns(d, e, c):
    """S: motion columns of the aggregate's coordinates about its point."""
    set_aggregate_point(d, e, c)
    ox, oy, oz = e.point[c, 0], e.point[c, 1], e.point[c, 2]
    for m in range(e.first_member[c], e.first_member[c + 1]):
        i = e.member[m]
        x, y, z = d.p[i, 0] - ox, d.p[i, 1] - oy, d.p[i, 2] - oz
        for s in range(e.member_place[m], e.member_place[m + 1]):
            k = e.dof[s]
            h0, h1, h2 = d.H[k, 0], d.H[k, 1], d.H[k, 2]
            v0, v1, v2 = cross(x, y, z, h0, h1, h2)
            e.S[s, 0], e.S[s, 1], e.S[s, 2] = h0, h1, h2
            e.S[s, 3], e.S[s, 4], e.S[s, 5] = d.H[k, 3] + v0, d.H[k, 4] + v1, d.H[k, 5] + v2


@kernel
def set_row_direction(lp, r, A, B):
    """Force, point and moment of row r of a constraint between bodies, without its value."""
    kind, sign = lp.kind[r], lp.sign[r]
    k = 0 if kind == CROSS or kind == LENGTH else (2 if kind == SCREW_TRAVEL or kind == SPIN else lp.axis[r])
    f0, f1, f2 = axis_of(A, k)
    m0, m1, m2 = 0.0, 0.0, 0.0
    if kind == LENGTH:
        x, y, z = B[9] - A[9], B[10] - A[10], B[11] - A[11]
        length = math.sqrt(x * x + y * y + z * z)
        if length > MIN_LINE:
            f0, f1, f2 = x / length, y / length, z / length
    elif kind == CROSS:
        b0, b1, b2 = axis_of(B, 1)
        m0, m1, m2 = cross(b0, b1, b2, f0, f1, f2)
        f0, f1, f2 = 0.0, 0.0, 0.0
    elif kind == SCREW_TRAVEL:
        m0, m1, m2 = -lp.gain[r] * f0, -lp.gain[r] * f1, -lp.gain[r] * f2
    elif kind != SHIFT:
        m0, m1, m2 = f0, f1, f2
        f0, f1, f2 = 0.0, 0.0, 0.0
    lp.force[r, 0], lp.force[r, 1], lp.force[r, 2] = sign * f0, sign * f1, sign * f2
    lp.moment[r, 0], lp.moment[r, 1], lp.moment[r, 2] = sign * m0, sign * m1, sign * m2
    lp.point[r, 0], lp.point[r, 1], lp.point[r, 2] = B[9], B[10], B[11]


@inlined
def write_row(lp, e, c, n, at):
    """Numbers of K of row n of the embedding into K from index `at` on; needs S and directions."""
    r, first = e.row[n], e.first_place[c]
    if lp.kind[r] == COUPLE:
        for k in range(e.first_touch[n], e.first_touch[n + 1]):
            e.K[at + e.touch[k]] = lp.sign[r] * e.touch_factor[k]
        return
    f0, f1, f2 = lp.force[r, 0], lp.force[r, 1], lp.force[r, 2]
    n0, n1, n2 = cross(
        lp.point[r, 0] - e.point[c, 0], lp.point[r, 1] - e.point[c, 1], lp.point[r, 2] - e.point[c, 2], f0, f1, f2
    )
    n0 += lp.moment[r, 0]
    n1 += lp.moment[r, 1]
    n2 += lp.moment[r, 2]
    for k in range(e.first_touch[n], e.first_touch[n + 1]):
        s = first + e.touch[k]
        value = (e.S[s, 0] * n0 + e.S[s, 1] * n1 + e.S[s, 2] * n2) + (e.S[s, 3] * f0 + e.S[s, 4] * f1 + e.S[s, 5] * f2)
        e.K[at + e.touch[k]] = e.touch_factor[k] * value


@kernel
def accelerations_at_rest(d, e, c, with_xb):
    """A and `rest`: accelerations of the members while the parent and the independent coordinates have none.

    Args:
        with_xb: 1: the dependent coordinates have the accelerations xb; 0: none.
    """
    p = e.parent[c]
    if p >= 0:
        for j in range(6):
            e.rest[p, j] = 0.0
    ox, oy, oz = e.point[c, 0], e.point[c, 1], e.point[c, 2]
    for m in range(e.first_member[c], e.first_member[c + 1]):
        i, above = e.member[m], e.above[m]
        x, y, z = d.p[i, 0] - ox, d.p[i, 1] - oy, d.p[i, 2] - oz
        a0, a1, a2 = d.a[i, 0], d.a[i, 1], d.a[i, 2]
        b0, b1, b2 = cross(x, y, z, a0, a1, a2)
        a3, a4, a5 = d.a[i, 3] + b0, d.a[i, 4] + b1, d.a[i, 5] + b2
        if above >= 0:
            a0 += e.A[above, 0]
            a1 += e.A[above, 1]
            a2 += e.A[above, 2]
            a3 += e.A[above, 3]
            a4 += e.A[above, 4]
            a5 += e.A[above, 5]
        if with_xb != 0:
            for s in range(e.member_place[m], e.member_place[m + 1]):
                v = e.xb[s]
                a0 += e.S[s, 0] * v
                a1 += e.S[s, 1] * v
                a2 += e.S[s, 2] * v
                a3 += e.S[s, 3] * v
                a4 += e.S[s, 4] * v
                a5 += e.S[s, 5] * v
        e.A[m, 0], e.A[m, 1], e.A[m, 2], e.A[m, 3], e.A[m, 4], e.A[m, 5] = a0, a1, a2, a3, a4, a5
        b0, b1, b2 = cross(a0, a1, a2, x, y, z)
        e.rest[i, 0], e.rest[i, 1], e.rest[i, 2] = a0, a1, a2
        e.rest[i, 3], e.rest[i, 4], e.rest[i, 5] = a3 + b0, a4 + b1, a5 + b2


@kernel
def write_kept_rows(d, lp, y, e, c, moving):
    """Rows of K that are kept, with their directions at the present poses, and the right-hand side.

    Args:
        moving: 1: the right-hand side is rate_change - Gdot u, from `rest` without xb; 0: zeros.
    """
    n, base = e.first_place[c + 1] - e.first_place[c], e.matrix_at[c]
    still = (0.0, 0.0, 0.0)
    last = e.first_row[c]
    for m in range(e.first_tie[c], e.first_tie[c + 1]):
        q = e.tie[m]
        row, last = last, last + e.tie_rows[m]
        if e.tie_kept[m] == 0:
            continue
        if lp.kind[e.row[row]] == COUPLE:
            at = base + e.pivot[row] * (n + 1)
            write_row(lp, e, c, row, at)
            e.K[at + n] = y.rate_change[e.slot[row]] if moving != 0 else 0.0
            continue
        if e.tie_shifts[m] != 0:
            write_shifts(d, lp, y, e, c, q, row, last, base)
            continue
        A = frame_in_world(d, lp.body_a[q], lp.frame_a, q)
        B = frame_in_world(d, lp.body_b[q], lp.frame_b, q)
        seen = seen_motion(d, e.rest, lp, q, B, still)
        for k in range(row, last):
            if e.pivot[k] >= 0:
                r = e.row[k]
                set_row_direction(lp, r, A, B)
                at = base + e.pivot[k] * (n + 1)
                write_row(lp, e, c, k, at)
                change = row_change(d, e.rest, lp, r, A, B, seen, still)
                e.K[at + n] = y.rate_change[e.slot[k]] - change if moving != 0 else 0.0


@inlined
def material_point(d, e, i, x, y, z):
    """Velocity of the point of a link that is at x, y, z from its origin, and its acceleration from `rest`."""
    if i < 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
    v0, v1, v2 = cross(w0, w1, w2, x, y, z)
    a0, a1, a2 = cross(w0, w1, w2, v0, v1, v2)
    b0, b1, b2 = cross(e.rest[i, 0], e.rest[i, 1], e.rest[i, 2], x, y, z)
    return (
        d.V[i, 3] + v0, d.V[i, 4] + v1, d.V[i, 5] + v2,
        e.rest[i, 3] + a0 + b0, e.rest[i, 4] + a1 + b1, e.rest[i, 5] + a2 + b2,
    )  # fmt: skip


@kernel
def write_shifts(d, lp, y, e, c, q, row, last, base):
    """`write_kept_rows` of a constraint of which SHIFT rows alone are kept: less is needed of it.

    The right-hand side is written in any case; where nothing moves nobody reads it.
    """
    a, b, n = lp.body_a[q], lp.body_b[q], e.first_place[c + 1] - e.first_place[c]
    x, y0, z = lp.frame_b[q, 9], lp.frame_b[q, 10], lp.frame_b[q, 11]
    px, py, pz = x, y0, z
    if b >= 0:
        x, y0, z = rotate(rotation_of(d, b), x, y0, z)
        px, py, pz = d.p[b, 0] + x, d.p[b, 1] + y0, d.p[b, 2] + z
    v0, v1, v2, s0, s1, s2 = material_point(d, e, b, x, y0, z)
    if a >= 0:
        u0, u1, u2, a0, a1, a2 = material_point(d, e, a, px - d.p[a, 0], py - d.p[a, 1], pz - d.p[a, 2])
        t0, t1, t2 = cross(d.V[a, 0], d.V[a, 1], d.V[a, 2], v0 - u0, v1 - u1, v2 - u2)
        s0, s1, s2 = s0 - a0 - 2.0 * t0, s1 - a1 - 2.0 * t1, s2 - a2 - 2.0 * t2
    for k in range(row, last):
        if e.pivot[k] >= 0:
            r = e.row[k]
            axis, sign = lp.axis[r], lp.sign[r]
            f0, f1, f2 = lp.frame_a[q, axis], lp.frame_a[q, 3 + axis], lp.frame_a[q, 6 + axis]
            if a >= 0:
                f0, f1, f2 = rotate(rotation_of(d, a), f0, f1, f2)
            f0, f1, f2 = sign * f0, sign * f1, sign * f2
            lp.force[r, 0], lp.force[r, 1], lp.force[r, 2] = f0, f1, f2
            lp.moment[r, 0], lp.moment[r, 1], lp.moment[r, 2] = 0.0, 0.0, 0.0
            lp.point[r, 0], lp.point[r, 1], lp.point[r, 2] = px, py, pz
            at = base + e.pivot[k] * (n + 1)
            write_row(lp, e, c, k, at)
            e.K[at + n] = y.rate_change[e.slot[k]] - (f0 * s0 + f1 * s1 + f2 * s2)
