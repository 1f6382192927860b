"""How rows of contacts turn with the bodies that they are on: from the detector in dual numbers.

The rows of a contact are wrenches w_r = [(x - O) x e_r; e_r] about the tree's point O. A motion of the body moves its
point x and its normal n as the detector finds in dual numbers, whose lanes 1 to 6 are turns and ways about O, of all
bodies at once; tangents are functions of the normal.
"""

from __future__ import annotations

import math

from kido.constraints.row_origins import SHALLOW_SKINS
from kido.jit import inlined, kernel, view
from kido.jit.duals.structs import NUMBERS
from kido.math.so3 import cross

DUAL = 8  # numbers of a dual: its value, then its derivatives
AGREE = 1e-9  # [m] by what a contact of the duals may differ from that of the step


@inlined
def cross3(a, b):
    return cross(a[0], a[1], a[2], b[0], b[1], b[2])


@inlined
def three(numbers, k, lane):
    """Lane of three duals."""
    at = 3 * DUAL * k + lane
    return numbers[at], numbers[at + DUAL], numbers[at + 2 * DUAL]


@kernel
def seed_poses(t, c):
    """Duals of the poses of bodies that move: lanes 1..6 are turns and ways about the tree's point."""
    d = c.data
    w = c.derivatives
    R, p = view(NUMBERS, c.poses[0]).number, view(NUMBERS, c.poses[1]).number
    for i in range(t.parent.shape[0]):
        for j in range(9 * DUAL):
            R[9 * DUAL * i + j] = 0.0
        for j in range(3 * DUAL):
            p[3 * DUAL * i + j] = 0.0
        for j in range(9):
            R[DUAL * (9 * i + j)] = d.R[i, j]
        for j in range(3):
            p[DUAL * (3 * i + j)] = d.p[i, j]
        if t.tree_mobile[t.tree_of_body[i]] == 0:
            continue
        for a in range(3):
            b, e = (a + 1) % 3, (a + 2) % 3  # axis a turns b into e
            for j in range(3):
                R[DUAL * (9 * i + 3 * b + j) + 1 + a] = -d.R[i, 3 * e + j]
                R[DUAL * (9 * i + 3 * e + j) + 1 + a] = d.R[i, 3 * b + j]
            p[DUAL * (3 * i + b) + 1 + a] = -w.r[i, e]
            p[DUAL * (3 * i + e) + 1 + a] = w.r[i, b]
            p[DUAL * (3 * i + a) + 4 + a] = 1.0


@kernel
def tangent_changes(n, e):
    """How the tangents of `kido.constraints.contact.tangents` change with the normal n by e."""
    x, y, z = n
    s = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (s + z)
    da = a * a * e[2]
    db = (e[0] * y + x * e[1]) * a + x * y * da
    return (
        (s * (2.0 * x * e[0] * a + x * x * da), s * db, -s * e[0]),
        (db, 2.0 * y * e[1] * a + y * y * da, -e[1]),
    )  # fmt: skip


@kernel
def bias_slope(src, gap):
    """Derivative of the first of `kido.constraints.row_origins.biases` by the gap."""
    h = src.time_step
    if gap > 0.0:
        return src.skin_share / h if gap < src.skin else 1.0 / h
    depth = -gap - src.slop
    if depth <= 0.0:
        return 0.0
    if src.baumgarte != 0:
        return src.erp / h if src.erp * depth < src.max_correction else 0.0
    return src.skin_share / h if depth < src.skin and depth <= SHALLOW_SKINS * src.skin else 0.0


@kernel
def describe_rows(t, c, k, block, rows, body, sign, normal, point, tangent):
    """Rows of contact k about the tree's point and their derivatives; `rows` has them about the body's origin.

    Returns:
        Whether the duals are those of this contact.
    """
    points, normals = view(NUMBERS, c.geometry[0]).number, view(NUMBERS, c.geometry[1]).number
    gaps = view(NUMBERS, c.geometry[2]).number
    w = c.derivatives
    r = w.r[body, 0], w.r[body, 1], w.r[body, 2]
    for a in range(3):
        m = rows[block, 6 * a], rows[block, 6 * a + 1], rows[block, 6 * a + 2]
        f = rows[block, 6 * a + 3], rows[block, 6 * a + 4], rows[block, 6 * a + 5]
        x = cross3(r, f)
        c.twist[block, a, 0], c.twist[block, a, 1], c.twist[block, a, 2] = m[0] + x[0], m[1] + x[1], m[2] + x[2]
        c.twist[block, a, 3], c.twist[block, a, 4], c.twist[block, a, 5] = f
    n = normal[k, 0], normal[k, 1], normal[k, 2]
    x = three(points, k, 0)
    found = three(normals, k, 0)
    off = math.fabs(found[0] - n[0]) + math.fabs(found[1] - n[1]) + math.fabs(found[2] - n[2])
    off += math.fabs(x[0] - point[k, 0]) + math.fabs(x[1] - point[k, 1]) + math.fabs(x[2] - point[k, 2])
    d = c.data
    x = x[0] - d.p[body, 0] + r[0], x[1] - d.p[body, 1] + r[1], x[2] - d.p[body, 2] + r[2]
    e1 = sign * tangent[block, 0], sign * tangent[block, 1], sign * tangent[block, 2]
    e2 = sign * tangent[block, 3], sign * tangent[block, 4], sign * tangent[block, 5]
    e0 = sign * n[0], sign * n[1], sign * n[2]
    for j in range(6):
        dx, dn = three(points, k, 1 + j), three(normals, k, 1 + j)
        dt, db = tangent_changes(n, dn)
        for a in range(3):
            e = e0 if a == 0 else (e1 if a == 1 else e2)
            de = dn if a == 0 else (dt if a == 1 else db)
            de = sign * de[0], sign * de[1], sign * de[2]
            y, z = cross3(dx, e), cross3(x, de)
            for i in range(3):
                c.turn[block, 36 * a + 6 * i + j] = y[i] + z[i]
                c.turn[block, 36 * a + 6 * (3 + i) + j] = de[i]
        c.slope[block, j] = gaps[DUAL * k + 1 + j]
        c.move[block, j], c.move[block, 6 + j], c.move[block, 12 + j] = dx
    c.side[block] = sign
    return off < AGREE


@inlined
def row_dot(F, b, r, x):
    """Row r of a block times a motion."""
    y = F[b, r, 0] * x[0] + F[b, r, 1] * x[1] + F[b, r, 2] * x[2]
    return y + (F[b, r, 3] * x[3] + F[b, r, 4] * x[4] + F[b, r, 5] * x[5])


@inlined
def turned(F, b, r, j, V):
    """Column j of L_r^T ... of row r of block b: sum_i V_i L[i, j]."""
    o = 36 * r + j
    y = F[b, o] * V[0] + F[b, o + 6] * V[1] + F[b, o + 12] * V[2]
    return y + (F[b, o + 18] * V[3] + F[b, o + 24] * V[4] + F[b, o + 30] * V[5])
