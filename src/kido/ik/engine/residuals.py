"""Residuals of tasks and their exact Jacobians, from poses and motion columns of links (`DATA.R`, `p`, `H`).

The displacement of B from the target T is X_TB = X_WT^-1 X_WB. With w and v the angular velocity of B and the linear
one of its origin, relative to the link that carries T and in world axes,

    p_TB' = R_WT^T v,    (log R_TB)' = J_l^-1 R_WT^T w,

and each coordinate moves B by its column of w and v, plus for links of B, minus for links of T. Components between
their bounds are zero, with a Jacobian of zero; beyond, a residual is the distance to the bound (or to the middle).

What all kinds of tasks share is here; each kind is a file of `kido.ik.tasks`. `s` are the tasks, `o` what has targets,
residuals and Jacobian: the tasks themselves, or lanes of eight searches, so nothing here branches on a float.

Source: DART report, section 2.8.2; task space regions: Berenson, Srinivasa, Kuffner (2011), eqs. 4-5. Rotation
vectors: `kido.ik.engine.rotations`.
"""

from __future__ import annotations

import math

from kido.flexible.motion import node_pose
from kido.ik.engine.rotations import right_jacobian
from kido.ik.engine.tasks import TASKS
from kido.jit import call4, direct_entry, entry, inlined, kernel, view, where_positive
from kido.joints.frames import rotation_of
from kido.joints.kinds import FREE
from kido.joints.motion import hinge_column
from kido.kernels.entries import OK, REFUSED, copy_finite
from kido.kernels.kinematics import body_pose, has_hinge
from kido.math.so3 import compose, cross, rotate, rotation_vector_to_matrix
from kido.tree.schema import DATA, TREE

NOTHING_TURNS = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@inlined
def transpose(R):
    """R^T, or the inverse of a rotation."""
    return R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]


@inlined
def turn_columns(d, k, M):
    """Columns k, k+1, k+2 times a 3x3 matrix."""
    for r in range(6):
        x, y, z = d.H[k, r], d.H[k + 1, r], d.H[k + 2, r]
        d.H[k, r] = x * M[0] + y * M[3] + z * M[6]
        d.H[k + 1, r] = x * M[1] + y * M[4] + z * M[7]
        d.H[k + 2, r] = x * M[2] + y * M[5] + z * M[8]


@kernel
def chart_columns(t, d, i):
    """Columns of a ball or free joint by rates of its positions: w = J_r(q) q', v = R^T p'."""
    k = t.first_dof[i]
    turn_columns(d, k, right_jacobian(d.q[k], d.q[k + 1], d.q[k + 2]))
    if t.kind[i] == FREE:
        turn_columns(d, k + 3, transpose(rotation_vector_to_matrix(d.q[k], d.q[k + 1], d.q[k + 2])))


@kernel
def needed_transforms(t, d, s, o):
    """R, p, l, H of the links that tasks depend on, and Pi of nodes of flexible bodies."""
    for n in range(s.needed.shape[0]):
        i = s.needed[n]
        if s.deforms != 0 and o.flex.node_of_body[i] >= 0:
            node_pose(t, d, o.flex, i)
            continue
        body_pose(t, d, i)
        if has_hinge(t, i):
            hinge_column(t, d, i, t.first_dof[i])
        elif s.chart[i] != 0:
            chart_columns(t, d, i)


@inlined
def placed(d, link, Y, k):
    """Rotation and origin in the world of a frame with pose Y[k] on a link; link -1: on the world."""
    R = (Y[k, 0], Y[k, 1], Y[k, 2], Y[k, 4], Y[k, 5], Y[k, 6], Y[k, 8], Y[k, 9], Y[k, 10])
    x, y, z = Y[k, 3], Y[k, 7], Y[k, 11]
    if link >= 0:
        F = rotation_of(d, link)
        R = compose(F, R)
        x, y, z = rotate(F, x, y, z)
        x, y, z = x + d.p[link, 0], y + d.p[link, 1], z + d.p[link, 2]
    return R, x, y, z


@inlined
def bounded(s, o, row, x, to_middle):
    """Write the residual of a row with value x; returns whether it counts (1) or lies between its bounds (0)."""
    lower, upper = s.lower[row], s.upper[row]
    if lower == upper:
        o.e[row] = x - lower
        return 1.0
    low, high = lower, upper
    if to_middle != 0 and upper - lower < math.inf:
        low = high = 0.5 * (lower + upper)
    below, above = lower - x, x - upper
    o.e[row] = where_positive(below, x - low, where_positive(above, x - high, 0.0))
    return where_positive(below, 1.0, where_positive(above, 1.0, 0.0))


@inlined
def bounded_rows(s, o, row, a, b, c, to_middle):
    """`bounded` of three rows."""
    x = bounded(s, o, row, a, to_middle)
    y = bounded(s, o, row + 1, b, to_middle)
    return x, y, bounded(s, o, row + 2, c, to_middle)


@inlined
def scaled_rows(M, a, b, c):
    """diag(a, b, c) M."""
    return a * M[0], a * M[1], a * M[2], b * M[3], b * M[4], b * M[5], c * M[6], c * M[7], c * M[8]


@kernel
def clear_rows(o, first, last):
    """J and e of rows first..last-1 are zero."""
    for r in range(first, last):
        o.e[r] = 0.0
        for c in range(o.J.shape[1]):
            o.J[r, c] = 0.0


@kernel
def follow(s, q):
    """Put coordinates that mimic active ones where these have them."""
    for n in range(s.offset.shape[0]):
        k = s.mimic[n, 0]
        q[k] = s.ratio[k] * q[s.mimic[n, 1]] + s.offset[n]


@inlined
def add_column(J, row, c, f, H, k, rx, ry, rz, A, B, C):
    """Add f times the motion in row k of H, at (rx, ry, rz) from its origin, to column c of six rows of J."""
    w0, w1, w2 = f * H[k, 0], f * H[k, 1], f * H[k, 2]
    v0, v1, v2 = cross(w0, w1, w2, rx, ry, rz)
    v0, v1, v2 = v0 + f * H[k, 3], v1 + f * H[k, 4], v2 + f * H[k, 5]
    a0, a1, a2 = rotate(A, w0, w1, w2)
    b0, b1, b2 = rotate(B, v0, v1, v2)
    c0, c1, c2 = rotate(C, v0, v1, v2)
    J[row, c] += a0 + b0
    J[row + 1, c] += a1 + b1
    J[row + 2, c] += a2 + b2
    J[row + 3, c] += c0
    J[row + 4, c] += c1
    J[row + 5, c] += c2


@kernel
def add_columns(t, d, s, o, row, link, sign, x, y, z, A, B, C):
    """Add sign times the motion of a link to six rows of J: [A w + B v; C v], v at the world point (x, y, z)."""
    J = o.J
    i = link
    while i >= 0:
        rx, ry, rz = x - d.p[i, 0], y - d.p[i, 1], z - d.p[i, 2]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            c = s.column[k]
            if c >= 0:
                add_column(J, row, c, sign * s.ratio[k], d.H, k, rx, ry, rz, A, B, C)
        if s.deforms != 0 and o.flex.node_of_body[i] >= 0:
            flex, first = o.flex.flex_of_body[t.parent[i]], o.flex.first_column[o.flex.node_of_body[i]]
            for m in range(o.flex.number[flex]):
                k = o.flex.first_mode[flex] + m
                c = s.column[k]
                if c >= 0:
                    add_column(J, row, c, sign * s.ratio[k], o.flex.Pi, first + m, rx, ry, rz, A, B, C)
        i = t.parent[i]


@inlined
def at(M, n):
    """Number n of nine."""
    x = M[0]
    x = M[1] if n == 1 else x
    x = M[2] if n == 2 else x
    x = M[3] if n == 3 else x
    x = M[4] if n == 4 else x
    x = M[5] if n == 5 else x
    x = M[6] if n == 6 else x
    x = M[7] if n == 7 else x
    return M[8] if n == 8 else x


@kernel
def residuals(t, d, s, o, residual):
    """e and J of all tasks at the positions in the data; residual: addresses of what writes them, of s or of lanes."""
    needed_transforms(t, d, s, o)
    for k in range(residual.shape[0]):
        clear_rows(o, s.first_row[k], s.first_row[k + 1])
        call4(residual[k], t.address, d.address, o.address, k)


@kernel
def task_residuals(t, d, s):
    """e and J of all tasks at the positions in the data."""
    residuals(t, d, s, s, s.residual)


@direct_entry("i8(i8,i8,i8,f8[::1])")
def evaluate(tree, data, tasks, q):
    """Residuals `TASKS.e` and Jacobian `TASKS.J` of all tasks at q; poses of links that they need go to the data."""
    t, d, s = view(TREE, tree), view(DATA, data), view(TASKS, tasks)
    if copy_finite(q, d.q) != OK:
        return REFUSED
    task_residuals(t, d, s)
    return OK


@entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,::1])")
def evaluate_frames(tree, data, tasks, q, targets, e, J):
    """Residuals e (n, rows) and Jacobians J (n, rows, columns) of one task at n positions.

    `targets` has a row of 12 numbers for each, or one for all.
    """
    t, d, s = view(TREE, tree), view(DATA, data), view(TASKS, tasks)
    for n in range(q.shape[0]):
        for k in range(q.shape[1]):
            d.q[k] = q[n, k]
        at = n if targets.shape[0] > 1 else 0
        for i in range(12):
            s.target[0, i] = targets[at, i]
        task_residuals(t, d, s)
        for r in range(e.shape[1]):
            e[n, r] = s.e[r]
            for c in range(J.shape[2]):
                J[n, r, c] = s.J[r, c]
    return OK
