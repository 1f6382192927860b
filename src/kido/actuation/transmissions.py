"""Lengths of transmissions and their moments: derivatives of the length by velocities, which are also how a force along
it acts on coordinates.

Of a string from x on body a to y on body b, with n the unit vector from x to y, the moment is n . (J_b(y) - J_a(x));
that of a wrench [m; f] at x on a body is J^T [m; f].
"""

from __future__ import annotations

import math

from kido.actuation.schema import BALL, CHAIN, LINEAR, PULLEY, SPHERE, THROUGH, WRENCH
from kido.actuation.wrapping import TINY, wrap_inside, wrap_outside
from kido.jit import kernel, view
from kido.kernels.kinematics import transforms
from kido.kernels.pulls import add_pull
from kido.math.lie import matrix_to_rotation_vector
from kido.math.so3 import cross, rotate, rotate_inverse, rotation_vector_to_matrix


@kernel
def read_chains(s):
    """Positions, velocities and poses of places."""
    for c in range(s.chain.shape[0]):
        n = view(CHAIN, s.chain[c])
        for k in range(n.data.q.shape[0]):
            s.q[n.first + k] = n.data.q[k]
            s.u[n.first + k] = n.data.u[k]
        if n.places != 0:
            transforms(n.tree, n.data, 0, n.tree.parent.shape[0])
    for k in range(s.place_chain.shape[0]):
        if s.place_chain[k] < 0:
            for j in range(12):
                s.pose[k, j] = s.place[k, j]
        else:
            d, i = view(CHAIN, s.chain[s.place_chain[k]]).data, s.place_body[k]
            R = (
                d.R[i, 0], d.R[i, 1], d.R[i, 2], d.R[i, 3], d.R[i, 4], d.R[i, 5], d.R[i, 6], d.R[i, 7], d.R[i, 8],
            )  # fmt: skip
            for j in range(3):  # columns of the rotation
                x, y, z = rotate(R, s.place[k, j], s.place[k, 3 + j], s.place[k, 6 + j])
                s.pose[k, j], s.pose[k, 3 + j], s.pose[k, 6 + j] = x, y, z
            x, y, z = rotate(R, s.place[k, 9], s.place[k, 10], s.place[k, 11])
            s.pose[k, 9], s.pose[k, 10], s.pose[k, 11] = d.p[i, 0] + x, d.p[i, 1] + y, d.p[i, 2] + z


@kernel
def rotation_of_place(s, k):
    """Rotation of a place in the world; -1: the world's own."""
    if k < 0:
        return (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    p = s.pose
    return (p[k, 0], p[k, 1], p[k, 2], p[k, 3], p[k, 4], p[k, 5], p[k, 6], p[k, 7], p[k, 8])


@kernel
def add_wrench(s, k, sign, x, y, z, m0, m1, m2, f0, f1, f2):
    """Add J^T of a wrench at a point of the world, on the body of place k, to `dense`."""
    if s.place_chain[k] < 0:
        return
    n = view(CHAIN, s.chain[s.place_chain[k]])
    add_pull(n.tree, n.data, s.place_body[k], x, y, z, m0, m1, m2, f0, f1, f2, sign, n.first, s.dense)


@kernel
def add_segment(s, a, b, x0, x1, x2, y0, y1, y2, share):
    """Add the moment of a straight string from x on the body of place a to y on that of b. Returns its length."""
    d0, d1, d2 = y0 - x0, y1 - x1, y2 - x2
    length = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
    if length < TINY:
        d0, d1, d2 = 1.0, 0.0, 0.0
    else:
        d0, d1, d2 = d0 / length, d1 / length, d2 / length
    if s.place_chain[a] != s.place_chain[b] or s.place_body[a] != s.place_body[b]:
        add_wrench(s, b, share, y0, y1, y2, 0.0, 0.0, 0.0, d0, d1, d2)
        add_wrench(s, a, -share, x0, x1, x2, 0.0, 0.0, 0.0, d0, d1, d2)
    return share * length


@kernel
def plane_of(sphere, a0, a1, a2, b0, b1, b2):
    """Axes of the plane in which a string wraps, in those of the body around which it does: two unit vectors."""
    if not sphere:
        return 1.0, 0.0, 0.0, 0.0, 1.0, 0.0
    la = math.sqrt(a0 * a0 + a1 * a1 + a2 * a2)
    e0, e1, e2 = a0 / la, a1 / la, a2 / la
    n0, n1, n2 = cross(a0, a1, a2, b0, b1, b2)
    size = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    if size < TINY:  # they are in line with the centre: any plane through it
        f0, f1, f2 = abs(e0), abs(e1), abs(e2)
        c0 = 0.0 if f0 > f1 and f0 > f2 else 1.0
        c1 = 0.0 if c0 == 1.0 and f1 > f2 else 1.0
        c2 = 0.0 if c0 == 1.0 and c1 == 1.0 else 1.0
        n0, n1, n2 = cross(e0, e1, e2, c0, c1, c2)
        size = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    n0, n1, n2 = n0 / size, n1 / size, n2 / size
    f0, f1, f2 = cross(n0, n1, n2, e0, e1, e2)
    return e0, e1, e2, f0, f1, f2


@kernel
def add_wrapped(s, j, a, b, share):
    """Add the moment of a string from place a around item j to place b. Returns its length; -1: it does not touch."""
    g, r, sphere, side = s.item_place[j], s.item_number[j], s.item[j] == SPHERE, s.item_side[j]
    R = rotation_of_place(s, g)
    p = s.pose
    o0, o1, o2 = p[g, 9], p[g, 10], p[g, 11]
    a0, a1, a2 = rotate_inverse(R, p[a, 9] - o0, p[a, 10] - o1, p[a, 11] - o2)
    b0, b1, b2 = rotate_inverse(R, p[b, 9] - o0, p[b, 10] - o1, p[b, 11] - o2)
    if a0 * a0 + a1 * a1 + a2 * a2 < TINY * TINY or b0 * b0 + b1 * b1 + b2 * b2 < TINY * TINY:
        return -1.0
    e0, e1, e2, f0, f1, f2 = plane_of(sphere, a0, a1, a2, b0, b1, b2)
    u0, u1 = a0 * e0 + a1 * e1 + a2 * e2, a0 * f0 + a1 * f1 + a2 * f2
    v0, v1 = b0 * e0 + b1 * e1 + b2 * e2, b0 * f0 + b1 * f1 + b2 * f2
    s0, s1, inside = 0.0, 0.0, False
    if side >= 0:
        c0, c1, c2 = rotate_inverse(R, p[side, 9] - o0, p[side, 10] - o1, p[side, 11] - o2)
        inside = c0 * c0 + c1 * c1 + c2 * c2 < r * r
        s0, s1 = c0 * e0 + c1 * e1 + c2 * e2, c0 * f0 + c1 * f1 + c2 * f2
        size = max(math.sqrt(s0 * s0 + s1 * s1), TINY)
        s0, s1 = r * s0 / size, r * s1 / size
    if inside:
        found, w0, w1 = wrap_inside(u0, u1, v0, v1, r)
        arc, z0, z1 = 0.0 if found else -1.0, w0, w1
    else:
        arc, w0, w1, z0, z1 = wrap_outside(u0, u1, v0, v1, r, side >= 0, s0, s1)
    if arc < 0.0:
        return -1.0
    # Points of contact, in the axes of the body.
    x0, x1, x2 = e0 * w0 + f0 * w1, e1 * w0 + f1 * w1, e2 * w0 + f2 * w1
    y0, y1, y2 = e0 * z0 + f0 * z1, e1 * z0 + f1 * z1, e2 * z0 + f2 * z1
    if not sphere:  # a helix: it rises evenly along the whole way
        before = math.sqrt((a0 - x0) ** 2 + (a1 - x1) ** 2)
        after = math.sqrt((b0 - y0) ** 2 + (b1 - y1) ** 2)
        way = max(before + arc + after, TINY)
        x2 = a2 + (b2 - a2) * before / way
        y2 = a2 + (b2 - a2) * (before + arc) / way
        arc = math.sqrt(arc * arc + (y2 - x2) ** 2)
    x0, x1, x2 = rotate(R, x0, x1, x2)
    y0, y1, y2 = rotate(R, y0, y1, y2)
    first = add_segment(s, a, g, p[a, 9], p[a, 10], p[a, 11], o0 + x0, o1 + x1, o2 + x2, share)
    last = add_segment(s, g, b, o0 + y0, o1 + y1, o2 + y2, p[b, 9], p[b, 10], p[b, 11], share)
    return first + share * arc + last


@kernel
def path_length(s, r):
    """Length of a path through places, around bodies, over pulleys; its moment is added to `dense`."""
    total, share = 0.0, 1.0
    j, end = s.first_item[r], s.first_item[r + 1]
    while j < end - 1:
        if s.item[j] == PULLEY:
            share = 1.0 / max(s.item_number[j], TINY)
        if s.item[j] != THROUGH or s.item[j + 1] == PULLEY:
            j += 1
            continue
        a, after = s.item_place[j], j + 1
        wrapped = -1.0
        if s.item[j + 1] != THROUGH:
            after = j + 2
            wrapped = add_wrapped(s, j + 1, a, s.item_place[after], share)
        if wrapped < 0.0:
            b, p = s.item_place[after], s.pose
            wrapped = add_segment(s, a, b, p[a, 9], p[a, 10], p[a, 11], p[b, 9], p[b, 10], p[b, 11], share)
        total += wrapped
        j = after
    return total


@kernel
def wrench_length(s, r):
    """What a wrench works along: pose in that of the reference times the gear; its moment is added to `dense`."""
    k, base = s.frame[r], s.reference[r]
    F, T = rotation_of_place(s, s.force_axes[r]), rotation_of_place(s, s.torque_axes[r])
    f0, f1, f2 = rotate(F, s.gear[r, 0], s.gear[r, 1], s.gear[r, 2])
    m0, m1, m2 = rotate(T, s.gear[r, 3], s.gear[r, 4], s.gear[r, 5])
    p = s.pose
    add_wrench(s, k, 1.0, p[k, 9], p[k, 10], p[k, 11], m0, m1, m2, f0, f1, f2)
    if base < 0:
        return 0.0
    add_wrench(s, base, -1.0, p[base, 9], p[base, 10], p[base, 11], m0, m1, m2, f0, f1, f2)
    d0, d1, d2 = p[k, 9] - p[base, 9], p[k, 10] - p[base, 10], p[k, 11] - p[base, 11]
    A, B = rotation_of_place(s, base), rotation_of_place(s, k)
    t0, t1, t2 = matrix_to_rotation_vector(
        (
            A[0] * B[0] + A[3] * B[3] + A[6] * B[6], A[0] * B[1] + A[3] * B[4] + A[6] * B[7],
            A[0] * B[2] + A[3] * B[5] + A[6] * B[8], A[1] * B[0] + A[4] * B[3] + A[7] * B[6],
            A[1] * B[1] + A[4] * B[4] + A[7] * B[7], A[1] * B[2] + A[4] * B[5] + A[7] * B[8],
            A[2] * B[0] + A[5] * B[3] + A[8] * B[6], A[2] * B[1] + A[5] * B[4] + A[8] * B[7],
            A[2] * B[2] + A[5] * B[5] + A[8] * B[8],
        )
    )  # fmt: skip
    t0, t1, t2 = rotate(A, t0, t1, t2)
    return f0 * d0 + f1 * d1 + f2 * d2 + m0 * t0 + m1 * t1 + m2 * t2


@kernel
def ball_length(s, r):
    """Rotation vector of a ball joint times the gear, in the axes of the child or of the parent."""
    c = s.first_column[r]
    k = s.column[c]
    x, y, z = s.q[k], s.q[k + 1], s.q[k + 2]
    g0, g1, g2 = s.gear[r, 0], s.gear[r, 1], s.gear[r, 2]
    R = rotation_vector_to_matrix(x, y, z)
    x, y, z = matrix_to_rotation_vector(R)
    length = x * g0 + y * g1 + z * g2
    if s.frame[r] != 0:
        g0, g1, g2 = rotate_inverse(R, g0, g1, g2)
    s.moment[c], s.moment[c + 1], s.moment[c + 2] = g0, g1, g2
    return length


@kernel
def measure(s):
    """Lengths, moments and velocities of all transmissions."""
    read_chains(s)
    for r in range(s.kind.shape[0]):
        begin, end = s.first_column[r], s.first_column[r + 1]
        kind, length = s.kind[r], 0.0
        if kind == LINEAR:
            for c in range(begin, end):
                s.moment[c] = s.coefficient[c]
                length += s.coefficient[c] * s.q[s.column[c]]
        elif kind == BALL:
            length = ball_length(s, r)
        else:
            for k in range(s.dense.shape[0]):
                s.dense[k] = 0.0
            length = wrench_length(s, r) if kind == WRENCH else path_length(s, r)
            for c in range(begin, end):
                s.moment[c] = s.dense[s.column[c]]
        s.length[r] = length
        velocity = 0.0
        for c in range(begin, end):
            velocity += s.moment[c] * s.u[s.column[c]]
        s.velocity[r] = velocity
