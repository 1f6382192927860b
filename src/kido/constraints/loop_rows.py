"""Values, directions and Jacobians of the rows of constraints between bodies.

A row acts on body B with a unit force at a point and a unit moment, and on body A with the opposite at the same
point: linear and angular momentum are kept whatever the positions. So the velocity of a SHIFT row is that of B's
material point against the one of A that is just there, which is the exact rate of its value. Rows TURN and ALIGN have
the relative angular velocity about a_k; that is the rate of their values where they are met.
"""

from __future__ import annotations

import math

from kido.constraints.loop_schema import ALIGN, COUPLE, CROSS, LENGTH, SCREW_TRAVEL, SHIFT, SPIN, TURN
from kido.constraints.loop_trees import add_answer, add_response_apart, add_row_apart
from kido.jit import kernel
from kido.kernels.impulse import clear_shares, impulse_gather, impulse_row, joint_impulse_row, velocity_scatter
from kido.kernels.inverse_dynamics import column_dot
from kido.math.so3 import cross, quaternion_to_rotation_vector

MIN_LINE = 1e-12  # [m] points nearer than this have no line between them


@kernel
def frame_in_world(d, body, frame, c):
    """Rotation (nine numbers) and origin of frame c of a table, on a link or in the world (-1)."""
    f0, f1, f2 = frame[c, 0], frame[c, 1], frame[c, 2]
    f3, f4, f5 = frame[c, 3], frame[c, 4], frame[c, 5]
    f6, f7, f8 = frame[c, 6], frame[c, 7], frame[c, 8]
    x, y, z = frame[c, 9], frame[c, 10], frame[c, 11]
    if body < 0:
        return f0, f1, f2, f3, f4, f5, f6, f7, f8, x, y, z
    r0, r1, r2 = d.R[body, 0], d.R[body, 1], d.R[body, 2]
    r3, r4, r5 = d.R[body, 3], d.R[body, 4], d.R[body, 5]
    r6, r7, r8 = d.R[body, 6], d.R[body, 7], d.R[body, 8]
    return (
        r0 * f0 + r1 * f3 + r2 * f6,
        r0 * f1 + r1 * f4 + r2 * f7,
        r0 * f2 + r1 * f5 + r2 * f8,
        r3 * f0 + r4 * f3 + r5 * f6,
        r3 * f1 + r4 * f4 + r5 * f7,
        r3 * f2 + r4 * f5 + r5 * f8,
        r6 * f0 + r7 * f3 + r8 * f6,
        r6 * f1 + r7 * f4 + r8 * f7,
        r6 * f2 + r7 * f5 + r8 * f8,
        d.p[body, 0] + r0 * x + r1 * y + r2 * z,
        d.p[body, 1] + r3 * x + r4 * y + r5 * z,
        d.p[body, 2] + r6 * x + r7 * y + r8 * z,
    )


@kernel
def axis_of(X, k):
    """Axis k of a frame, as `frame_in_world` gives it."""
    if k == 0:
        return X[0], X[3], X[6]
    if k == 1:
        return X[1], X[4], X[7]
    return X[2], X[5], X[8]


@kernel
def dot(a, b):
    """Scalar product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def rotation_between(A, B):
    """Rotation vector from frame A to frame B, in A [rad]."""
    ax, ay, az = axis_of(A, 0), axis_of(A, 1), axis_of(A, 2)
    bx, by, bz = axis_of(B, 0), axis_of(B, 1), axis_of(B, 2)
    m00, m01, m02 = dot(ax, bx), dot(ax, by), dot(ax, bz)
    m10, m11, m12 = dot(ay, bx), dot(ay, by), dot(ay, bz)
    m20, m21, m22 = dot(az, bx), dot(az, by), dot(az, bz)
    # The largest of the four squares is at least 1: no loss of digits.
    w, x, y, z = 1.0 + m00 + m11 + m22, m21 - m12, m02 - m20, m10 - m01
    if w < 1.0:
        if m00 >= m11 and m00 >= m22:
            w, x, y, z = m21 - m12, 1.0 + m00 - m11 - m22, m10 + m01, m02 + m20
        elif m11 >= m22:
            w, x, y, z = m02 - m20, m10 + m01, 1.0 + m11 - m00 - m22, m21 + m12
        else:
            w, x, y, z = m10 - m01, m02 + m20, m21 + m12, 1.0 + m22 - m00 - m11
    s = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    if w < 0.0:
        s = -s
    return quaternion_to_rotation_vector(w * s, x * s, y * s, z * s)


@kernel
def alignment(A, B):
    """The shortest rotation that takes a_z to b_z as components along a_x and a_y [rad]."""
    bz = axis_of(B, 2)
    x, y, z = dot(axis_of(A, 0), bz), dot(axis_of(A, 1), bz), dot(axis_of(A, 2), bz)
    s = math.sqrt(x * x + y * y)
    if s < 1e-14:
        return (-y, x) if z > 0.0 else (math.pi, 0.0)
    factor = math.atan2(s, z) / s
    return -y * factor, x * factor


@kernel
def turn_about(A, B, last):
    """Angle from a_x to b_x about a_z, the one nearest to the last: turns are counted [rad]."""
    b = axis_of(B, 0)
    angle = math.atan2(dot(axis_of(A, 1), b), dot(axis_of(A, 0), b))
    return angle + 2.0 * math.pi * math.floor((last - angle) / (2.0 * math.pi) + 0.5)


@kernel
def set_direction(lp, r, phi, f, p, m):
    """Write value and direction of row r."""
    sign = lp.sign[r]
    lp.phi[r] = sign * (phi - lp.offset[r])
    for i in range(3):
        lp.force[r, i] = sign * f[i]
        lp.point[r, i] = p[i]
        lp.moment[r, i] = sign * m[i]


@kernel
def measure(d, lp, c):
    """Values and directions of all rows of constraint c at the present transforms."""
    first, last = lp.first_row[c], lp.first_row[c + 1]
    zero = (0.0, 0.0, 0.0)
    if lp.kind[first] == COUPLE:
        for r in range(first, last):
            value = 0.0
            for e in range(lp.first_term[c], lp.first_term[c + 1]):
                value += lp.term_factor[e] * d.q[lp.term_dof[e]]
            set_direction(lp, r, value, zero, zero, zero)
        return
    A = frame_in_world(d, lp.body_a[c], lp.frame_a, c)
    B = frame_in_world(d, lp.body_b[c], lp.frame_b, c)
    p = (B[9], B[10], B[11])
    s = (B[9] - A[9], B[10] - A[10], B[11] - A[11])
    for r in range(first, last):
        kind, k = lp.kind[r], lp.axis[r]
        if kind == SHIFT:
            a = axis_of(A, k)
            set_direction(lp, r, dot(a, s), a, p, zero)
        elif kind == TURN:
            turn = rotation_between(A, B)
            value = turn[0] if k == 0 else (turn[1] if k == 1 else turn[2])
            set_direction(lp, r, value, zero, p, axis_of(A, k))
        elif kind == ALIGN:
            x, y = alignment(A, B)
            set_direction(lp, r, x if k == 0 else y, zero, p, axis_of(A, k))
        elif kind == CROSS:
            a, b = axis_of(A, 0), axis_of(B, 1)
            set_direction(lp, r, dot(a, b), zero, p, cross(b[0], b[1], b[2], a[0], a[1], a[2]))
        elif kind == SPIN:
            lp.angle[r] = turn_about(A, B, lp.angle[r])
            set_direction(lp, r, lp.angle[r], zero, p, axis_of(A, 2))
        elif kind == SCREW_TRAVEL:
            lp.angle[r] = turn_about(A, B, lp.angle[r])
            a, gain = axis_of(A, 2), lp.gain[r]
            set_direction(lp, r, dot(a, s) - gain * lp.angle[r], a, p, (-gain * a[0], -gain * a[1], -gain * a[2]))
        elif kind == LENGTH:
            length = math.sqrt(dot(s, s))
            n = axis_of(A, 0)
            if length > MIN_LINE:
                n = (s[0] / length, s[1] / length, s[2] / length)
            set_direction(lp, r, length, n, p, zero)


@kernel
def is_moved(t, body):
    """Whether a row on a body can move anything."""
    return body >= 0 and t.moves[body] != 0


@kernel
def wrench_of_row(d, lp, r, body):
    """Row r as a unit impulse [moment; force] about a body's origin, world axes."""
    x, y, z = lp.point[r, 0] - d.p[body, 0], lp.point[r, 1] - d.p[body, 1], lp.point[r, 2] - d.p[body, 2]
    f0, f1, f2 = lp.force[r, 0], lp.force[r, 1], lp.force[r, 2]
    m0, m1, m2 = cross(x, y, z, f0, f1, f2)
    return m0 + lp.moment[r, 0], m1 + lp.moment[r, 1], m2 + lp.moment[r, 2], f0, f1, f2


@kernel
def add_body_row(t, d, lp, r, body, sign, J, Y, at):
    """Add row r on one body to J and Y; the coordinates of the body's tree start at `at`."""
    tree_index = t.tree_of_body[body]
    if lp.apart[tree_index] != 0:
        add_row_apart(t, lp, r, body, sign, J, at)
        add_response_apart(t, lp, tree_index, sign, Y, at)
        return
    m0, m1, m2, f0, f1, f2 = wrench_of_row(d, lp, r, body)
    impulse_row(
        t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1], body, sign, m0, m1, m2, f0, f1, f2, J, Y, at
    )


@kernel
def add_row_between(t, d, lp, r, a, b, J, Y, at):
    """`add_body_row` for both bodies of a tree: one response instead of two."""
    tree_index = t.tree_of_body[a]
    if lp.apart[tree_index] != 0:
        add_body_row(t, d, lp, r, a, -1.0, J, Y, at)
        add_body_row(t, d, lp, r, b, 1.0, J, Y, at)
        return
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    offset = at - t.first_dof[first]
    clear_shares(t, d, first, last)
    m0, m1, m2, f0, f1, f2 = wrench_of_row(d, lp, r, a)
    impulse_gather(t, d, first, a, -1.0, m0, m1, m2, f0, f1, f2, J, offset)
    m0, m1, m2, f0, f1, f2 = wrench_of_row(d, lp, r, b)
    impulse_gather(t, d, first, b, 1.0, m0, m1, m2, f0, f1, f2, J, offset)
    velocity_scatter(t, d, first, last, Y, offset)


@kernel
def add_body_jacobian(t, d, lp, r, body, sign, J, at):
    """`add_body_row` for the Jacobian alone; needs transforms only."""
    tree_index = t.tree_of_body[body]
    if lp.apart[tree_index] != 0:
        add_row_apart(t, lp, r, body, sign, J, at)
        return
    first = t.tree_body[tree_index]
    offset = at - t.first_dof[first]
    f0, f1, f2 = sign * lp.force[r, 0], sign * lp.force[r, 1], sign * lp.force[r, 2]
    n0, n1, n2 = sign * lp.moment[r, 0], sign * lp.moment[r, 1], sign * lp.moment[r, 2]
    i = body
    while i >= first:
        x, y, z = lp.point[r, 0] - d.p[i, 0], lp.point[r, 1] - d.p[i, 1], lp.point[r, 2] - d.p[i, 2]
        m0, m1, m2 = cross(x, y, z, f0, f1, f2)
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            J[offset + k] += column_dot(d, k, m0 + n0, m1 + n1, m2 + n2, f0, f1, f2)
        i = t.parent[i]


@kernel
def add_coupler_row(t, d, lp, r, tree_index, J, Y, at):
    """Add what a coupler's row has in one tree to J and Y; the coordinates of the tree start at `at`."""
    c = lp.of[r]
    if lp.apart[tree_index] != 0:
        begin = t.tree_dof[tree_index]
        for k in range(begin, t.tree_dof[tree_index + 1]):
            lp.row_J[k] = 0.0
        add_coupler_jacobian(t, lp, r, tree_index, lp.row_J, begin)
        add_answer(t, lp, tree_index, 1.0, lp.row_J, J, at)
        add_response_apart(t, lp, tree_index, 1.0, Y, at)
        return
    for e in range(lp.first_term[c], lp.first_term[c + 1]):
        k = lp.term_dof[e]
        if t.tree_of_body[t.body_of_dof[k]] == tree_index:
            factor = lp.sign[r] * lp.term_factor[e]
            joint_impulse_row(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1], k, factor, J, Y, at)


@kernel
def add_coupler_jacobian(t, lp, r, tree_index, J, at):
    """`add_coupler_row` for the Jacobian alone."""
    c = lp.of[r]
    for e in range(lp.first_term[c], lp.first_term[c + 1]):
        k = lp.term_dof[e]
        if t.tree_of_body[t.body_of_dof[k]] == tree_index:
            J[at + k - t.tree_dof[tree_index]] += lp.sign[r] * lp.term_factor[e]
