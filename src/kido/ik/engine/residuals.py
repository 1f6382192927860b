"""Residuals of tasks and their exact Jacobians, from poses and motion columns of links (`DATA.R`, `p`, `H`).

The displacement of B from the target T is X_TB = X_WT^-1 X_WB. With w and v the angular velocity of B and the linear
one of its origin, relative to the link that carries T and in world axes,

    p_TB' = R_WT^T v,    (log R_TB)' = J_l^-1 R_WT^T w,

and each coordinate moves B by its column of w and v, plus for links of B, minus for links of T. Components between
their bounds are zero, with a Jacobian of zero; beyond, a residual is the distance to the bound (or to the middle).

`s` are the tasks, `o` what has targets, residuals and Jacobian: the tasks themselves, or lanes of eight searches.
Nothing but the look-at branches on a float.

Source: DART report, section 2.8.2; task space regions: Berenson, Srinivasa, Kuffner (2011), eqs. 4-5. Rotation
vectors: `kido.ik.engine.rotations`.
"""

from __future__ import annotations

import math

from kido.ik.engine.rotations import (
    euler_xyz_of,
    inverse_euler_jacobian,
    inverse_left_jacobian,
    right_jacobian,
    rotation_vector_of,
)
from kido.ik.engine.tasks import COM, EULER_XYZ, LOOK_AT, POSE, POSTURE, ROTATION_VECTOR
from kido.jit import inlined, kernel, where_positive
from kido.joints.frames import rotation_of
from kido.joints.kinds import BALL, FREE, FREE_MIXED
from kido.joints.motion import hinge_column
from kido.kernels.kinematics import body_pose, has_hinge
from kido.math.elementary import arctan2
from kido.math.so3 import (
    TINY2,
    compose,
    cross,
    quaternion_product,
    quaternion_to_rotation_vector,
    rotate,
    rotate_inverse,
    rotation_vector_to_matrix,
    rotation_vector_to_quaternion,
)

NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


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
def needed_transforms(t, d, s):
    """R, p, l, H of the links that tasks depend on."""
    for n in range(s.needed.shape[0]):
        i = s.needed[n]
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
                f = sign * s.ratio[k]
                w0, w1, w2 = f * d.H[k, 0], f * d.H[k, 1], f * d.H[k, 2]
                v0, v1, v2 = cross(w0, w1, w2, rx, ry, rz)
                v0, v1, v2 = v0 + f * d.H[k, 3], v1 + f * d.H[k, 4], v2 + f * d.H[k, 5]
                a0, a1, a2 = rotate(A, w0, w1, w2)
                b0, b1, b2 = rotate(B, v0, v1, v2)
                c0, c1, c2 = rotate(C, v0, v1, v2)
                J[row, c] += a0 + b0
                J[row + 1, c] += a1 + b1
                J[row + 2, c] += a2 + b2
                J[row + 3, c] += c0
                J[row + 4, c] += c1
                J[row + 5, c] += c2
        i = t.parent[i]


@kernel
def pose_task(t, d, s, o, k):
    """Displacement of B from T: [angle; position], in the axes of T."""
    row = s.first_row[k]
    link, base = s.link[k], s.base[k]
    R, x, y, z = placed(d, link, s.pose, k)
    F, a, b, c = placed(d, base, o.target, k)
    middle = s.to_middle[k]
    p0, p1, p2 = rotate_inverse(F, x - a, y - b, z - c)
    f3, f4, f5 = (
        bounded(s, o, row + 3, p0, middle),
        bounded(s, o, row + 4, p1, middle),
        bounded(s, o, row + 5, p2, middle),
    )
    Ft = transpose(F)
    C = scaled_rows(Ft, f3, f4, f5)
    A = NOTHING
    if s.angle[k] == ROTATION_VECTOR:
        r0, r1, r2 = rotation_vector_of(compose(Ft, R))
        f0, f1, f2 = (
            bounded(s, o, row, r0, middle),
            bounded(s, o, row + 1, r1, middle),
            bounded(s, o, row + 2, r2, middle),
        )
        A = scaled_rows(compose(inverse_left_jacobian(r0, r1, r2), Ft), f0, f1, f2)
    elif s.angle[k] == EULER_XYZ:
        r0, r1, r2 = euler_xyz_of(compose(Ft, R))
        f0, f1, f2 = (
            bounded(s, o, row, r0, middle),
            bounded(s, o, row + 1, r1, middle),
            bounded(s, o, row + 2, r2, middle),
        )
        A = scaled_rows(compose(inverse_euler_jacobian(r0, r1), Ft), f0, f1, f2)
    add_columns(t, d, s, o, row, link, 1.0, x, y, z, A, NOTHING, C)
    if base >= 0:
        add_columns(t, d, s, o, row, base, -1.0, x, y, z, A, NOTHING, C)


@kernel
def look_at_task(t, d, s, o, k):
    """Angle times axis of the turn from the direction of T's origin to the task's axis, in the axes of B.

    With u the unit vector to T's origin in B, at distance n, a the axis, c = a . u:

        e = g u x a,    g = angle / sin(angle),
        u' = -(1 - u u^T) R_WB^T v / n,    g' = -(1 - g c) / |u x a|^2 (a . u')

    where v is the velocity relative to T of the point of B that is at T's origin. Bounds (the row's `upper`) are a
    cone: up to that angle the residual is zero.
    """
    row = s.first_row[k]
    link, base = s.link[k], s.base[k]
    R, x, y, z = placed(d, link, s.pose, k)
    _, a, b, c = placed(d, base, o.target, k)
    u0, u1, u2 = rotate_inverse(R, a - x, b - y, c - z)
    n = math.sqrt(u0 * u0 + u1 * u1 + u2 * u2 + TINY2)
    u0, u1, u2 = u0 / n, u1 / n, u2 / n
    a0, a1, a2 = s.axis[k, 0], s.axis[k, 1], s.axis[k, 2]
    x0, x1, x2 = cross(u0, u1, u2, a0, a1, a2)
    sine2 = x0 * x0 + x1 * x1 + x2 * x2
    cosine = u0 * a0 + u1 * a1 + u2 * a2
    sine = math.sqrt(sine2 + TINY2)
    angle = arctan2(sine, cosine)
    if n < 1e-150 or angle <= s.upper[row]:
        return
    if sine2 < 1e-14 and cosine < 0.0:  # straight behind: a turn about any axis across `a` is as good
        m0, m1, m2 = cross(a0, a1, a2, 1.0, 0.0, 0.0)
        if math.fabs(a0) > 0.6:
            m0, m1, m2 = cross(a0, a1, a2, 0.0, 1.0, 0.0)
        m = math.sqrt(m0 * m0 + m1 * m1 + m2 * m2)
        u0, u1, u2 = u0 + 1e-6 * m0 / m, u1 + 1e-6 * m1 / m, u2 + 1e-6 * m2 / m
        x0, x1, x2 = cross(u0, u1, u2, a0, a1, a2)
        sine2 = x0 * x0 + x1 * x1 + x2 * x2
        sine = math.sqrt(sine2)
        angle = arctan2(sine, cosine)
    g = 1.0 + sine2 / 6.0
    h = 1.0 / 3.0 + 2.0 / 15.0 * sine2  # (1 - g c) / sine2
    if sine2 > 1e-6 or cosine < 0.0:
        g = angle / sine
        h = (1.0 - g * cosine) / sine2
    o.e[row], o.e[row + 1], o.e[row + 2] = g * x0, g * x1, g * x2
    # e' = g u' x a - h (a . u') u x a; columns of the linear map of u', which is -(v - u (u . v)) / n
    q = -1.0 / n
    G = (
        -h * x0 * a0, g * a2 - h * x0 * a1, -g * a1 - h * x0 * a2,
        -g * a2 - h * x1 * a0, -h * x1 * a1, g * a0 - h * x1 * a2,
        g * a1 - h * x2 * a0, -g * a0 - h * x2 * a1, -h * x2 * a2,
    )  # fmt: skip
    G0, G1, G2 = rotate(G, u0, u1, u2)
    G = (
        q * (G[0] - G0 * u0), q * (G[1] - G0 * u1), q * (G[2] - G0 * u2),
        q * (G[3] - G1 * u0), q * (G[4] - G1 * u1), q * (G[5] - G1 * u2),
        q * (G[6] - G2 * u0), q * (G[7] - G2 * u1), q * (G[8] - G2 * u2),
    )  # fmt: skip
    B = compose(G, transpose(R))
    add_columns(t, d, s, o, row, link, 1.0, a, b, c, NOTHING, B, NOTHING)
    if base >= 0:
        add_columns(t, d, s, o, row, base, -1.0, a, b, c, NOTHING, B, NOTHING)


@kernel
def com_task(t, d, s, o, k):
    """Position of the centre of mass of all bodies in T: rows 3 to 5, in the axes of T."""
    row = s.first_row[k]
    base = s.base[k]
    P = d.P
    mass, m0, m1, m2 = 0.0, 0.0, 0.0, 0.0
    for i in range(t.parent.shape[0]):
        m = t.mass[i]
        x, y, z = rotate(rotation_of(d, i), m * t.com[i, 0], m * t.com[i, 1], m * t.com[i, 2])
        P[i, 6], P[i, 7], P[i, 8], P[i, 9] = x, y, z, m
        mass += m
        m0 += x + m * d.p[i, 0]
        m1 += y + m * d.p[i, 1]
        m2 += z + m * d.p[i, 2]
    if mass <= 0.0:
        return
    scale = 1.0 / mass
    m0, m1, m2 = scale * m0, scale * m1, scale * m2
    F, a, b, c = placed(d, base, o.target, k)
    p0, p1, p2 = rotate_inverse(F, m0 - a, m1 - b, m2 - c)
    middle = s.to_middle[k]
    f3, f4, f5 = (
        bounded(s, o, row + 3, p0, middle),
        bounded(s, o, row + 4, p1, middle),
        bounded(s, o, row + 5, p2, middle),
    )
    C = scaled_rows(transpose(F), f3, f4, f5)
    # A coordinate moves what hangs on it as one body (kido.kernels.momentum.com_jacobian).
    for i in range(t.parent.shape[0] - 1, -1, -1):
        x, y, z, m = P[i, 6], P[i, 7], P[i, 8], P[i, 9]
        for j in range(t.first_dof[i], t.first_dof[i + 1]):
            column = s.column[j]
            if column >= 0:
                v0, v1, v2 = cross(d.H[j, 0], d.H[j, 1], d.H[j, 2], x, y, z)
                v0, v1, v2 = v0 + m * d.H[j, 3], v1 + m * d.H[j, 4], v2 + m * d.H[j, 5]
                f = scale * s.ratio[j]
                v0, v1, v2 = rotate(C, f * v0, f * v1, f * v2)
                o.J[row + 3, column] += v0
                o.J[row + 4, column] += v1
                o.J[row + 5, column] += v2
        parent = t.parent[i]
        if parent >= 0:
            P[parent, 6] += x + m * d.l[i, 0]
            P[parent, 7] += y + m * d.l[i, 1]
            P[parent, 8] += z + m * d.l[i, 2]
            P[parent, 9] += m
    if base >= 0:
        add_columns(t, d, s, o, row, base, -1.0, m0, m1, m2, NOTHING, NOTHING, C)


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


@inlined
def turn_from(p, row, q, k):
    """`turn_between` a row of a table and a vector, for coordinates k, k+1, k+2."""
    a0, a1, a2, a3 = rotation_vector_to_quaternion(p[row, k], p[row, k + 1], p[row, k + 2])
    b0, b1, b2, b3 = rotation_vector_to_quaternion(q[k], q[k + 1], q[k + 2])
    w, x, y, z = quaternion_product(a0, -a1, -a2, -a3, b0, b1, b2, b3)
    return quaternion_to_rotation_vector(w, x, y, z)


@kernel
def posture_task(t, d, s, o, k):
    """Positions from the reference: differences; of ball and free joints log(Ref^T R) and Ref^T (p - p_ref)."""
    row, middle = s.first_row[k], s.to_middle[k]
    reference, which = s.reference, s.link[k]
    for c in range(s.active.shape[0]):
        j = s.active[c]
        i = t.body_of_dof[j]
        kind = t.kind[i]
        first = t.first_dof[i]
        turns = kind == BALL or kind == FREE or kind == FREE_MIXED
        if s.chart[i] != 0 or not turns or (kind == FREE_MIXED and j >= first + 3):
            o.J[row + c, c] = bounded(s, o, row + c, d.q[j] - reference[which, j], middle)
        elif j < first + 3:
            r0, r1, r2 = turn_from(reference, which, d.q, first)
            M = transpose(inverse_left_jacobian(r0, r1, r2))
            n = j - first
            x = r0 if n == 0 else r1 if n == 1 else r2
            counts = bounded(s, o, row + c, x, middle)
            for m in range(3):
                column = s.column[first + m]
                if column >= 0:
                    o.J[row + c, column] = counts * at(M, 3 * n + m)
        else:
            F = rotation_vector_to_matrix(
                reference[which, first], reference[which, first + 1], reference[which, first + 2]
            )
            R = rotation_vector_to_matrix(d.q[first], d.q[first + 1], d.q[first + 2])
            p0, p1, p2 = rotate_inverse(
                F,
                d.q[first + 3] - reference[which, first + 3],
                d.q[first + 4] - reference[which, first + 4],
                d.q[first + 5] - reference[which, first + 5],
            )
            M = compose(transpose(F), R)
            n = j - first - 3
            x = p0 if n == 0 else p1 if n == 1 else p2
            counts = bounded(s, o, row + c, x, middle)
            for m in range(3):
                column = s.column[first + 3 + m]
                if column >= 0:
                    o.J[row + c, column] = counts * at(M, 3 * n + m)


@kernel
def task_residual(t, d, s, o, k):
    """e and J of the rows of task k; poses and columns of the links it depends on must be current."""
    clear_rows(o, s.first_row[k], s.first_row[k + 1])
    if s.enabled[k] == 0:
        return
    kind = s.kind[k]
    if kind == POSE:
        pose_task(t, d, s, o, k)
    elif kind == LOOK_AT:
        look_at_task(t, d, s, o, k)
    elif kind == COM:
        com_task(t, d, s, o, k)
    elif kind == POSTURE:
        posture_task(t, d, s, o, k)


@kernel
def residuals(t, d, s):
    """e and J of all tasks at the positions in the data."""
    needed_transforms(t, d, s)
    for k in range(s.kind.shape[0]):
        task_residual(t, d, s, s, k)
