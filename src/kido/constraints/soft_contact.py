"""Contacts on soft skins: blocks that also move the points they touch.

Impulses P on points change their rates by dqd = S^-1 (P - M X dV), where dV is the change of the link's velocity. With
v_k = X_k V + qd_k, the *independent velocity* of a point, v_k - [(1 - a_k) v + w x (x_k - b_k)], answers to impulses
on points alone, by S^-1; the link answers to an impulse p at point k as to the wrench [(x_k - b_k) x p; (1 - a_k) p]
(a, b: `kido.kernels.soft`). So a contact block has a further segment for each soft side: the independent velocities
of the touched points of that soft body, three numbers each, in world axes. They stand behind the coordinates of the
forest. Points that nothing touches have no columns: they follow afterwards from P and dV.

A contact on a triangle acts on its corners, by the barycentric coordinates of the point of contact.
"""

from __future__ import annotations

from kido.constraints.row_origins import FROM_CONTACT
from kido.jit import kernel
from kido.joints.frames import rotation_of
from kido.kernels.responses import response_row
from kido.kernels.soft import put_column, solve_columns
from kido.math.so3 import cross, rotate, rotate_inverse
from kido.solvers.problem import BOUNDED
from kido.solvers.rows import num_segments, segment
from kido.tree.soft import RIGID_SHAPE, VERTEX_SHAPE


@kernel
def touched_points(d, c, so, k, shape):
    """Points of a soft skin that contact k acts on through one of its shapes.

    Returns:
        count (0, 1 or 3), three points, and their weights.
    """
    if so.shape_kind[shape] == RIGID_SHAPE:
        return 0, 0, 0, 0, 0.0, 0.0, 0.0
    item = so.shape_item[shape]
    if so.shape_kind[shape] == VERTEX_SHAPE:
        return 1, item, item, item, 1.0, 0.0, 0.0
    link = so.link[so.shape_soft[shape]]
    i, j, n = so.face[item, 0], so.face[item, 1], so.face[item, 2]
    x, y, z = rotate_inverse(
        rotation_of(d, link), c.point[k, 0] - d.p[link, 0], c.point[k, 1] - d.p[link, 1], c.point[k, 2] - d.p[link, 2]
    )
    o0, o1, o2 = so.rest[i, 0] + so.q[i, 0], so.rest[i, 1] + so.q[i, 1], so.rest[i, 2] + so.q[i, 2]
    e0, e1, e2 = so.rest[j, 0] + so.q[j, 0] - o0, so.rest[j, 1] + so.q[j, 1] - o1, so.rest[j, 2] + so.q[j, 2] - o2
    f0, f1, f2 = so.rest[n, 0] + so.q[n, 0] - o0, so.rest[n, 1] + so.q[n, 1] - o1, so.rest[n, 2] + so.q[n, 2] - o2
    x, y, z = x - o0, y - o1, z - o2
    ee, ef, ff = e0 * e0 + e1 * e1 + e2 * e2, e0 * f0 + e1 * f1 + e2 * f2, f0 * f0 + f1 * f1 + f2 * f2
    xe, xf = x * e0 + y * e1 + z * e2, x * f0 + y * f1 + z * f2
    area = ee * ff - ef * ef
    if area <= 0.0:
        return 1, i, i, i, 1.0, 0.0, 0.0
    s = min(max((ff * xe - ef * xf) / area, 0.0), 1.0)
    r = min(max((ee * xf - ef * xe) / area, 0.0), 1.0 - s)
    return 3, i, j, n, 1.0 - s - r, s, r


@kernel
def touch(so, s, i):
    """Give a free point a column of its soft body, if it has none."""
    if so.frozen[i] == 0 and so.touched[i] == 0:
        so.columns[s] += 1
        so.touched[i] = so.columns[s]


@kernel
def mark_contacts(t, d, c, pr, src, so):
    """Find the touched points of all contact blocks. Returns how many there are."""
    for i in range(so.touched.shape[0]):
        so.touched[i] = 0
    for s in range(so.columns.shape[0]):
        so.columns[s] = 0
    for b in range(pr.num_blocks):
        if src.origin[b] != FROM_CONTACT:
            continue
        k = src.index[b]
        for side in range(2):
            shape = c.shape_a[k] if side == 0 else c.shape_b[k]
            count, i, j, n, _, _, _ = touched_points(d, c, so, k, shape)
            if count > 0:
                s = so.shape_soft[shape]
                if t.tree_mobile[so.tree_index[s]] != 0:
                    touch(so, s, i)
                    if count > 1:
                        touch(so, s, j)
                        touch(so, s, n)
    found = 0
    for s in range(so.columns.shape[0]):
        found += so.columns[s]
    return found


@kernel
def link_velocity(t, d, i, u):
    """[angular; linear] velocity of link i for velocities u of the forest, world axes."""
    w0 = w1 = w2 = v0 = v1 = v2 = 0.0
    j = i
    while j >= 0:
        r0, r1, r2 = d.p[i, 0] - d.p[j, 0], d.p[i, 1] - d.p[j, 1], d.p[i, 2] - d.p[j, 2]
        for k in range(t.first_dof[j], t.first_dof[j + 1]):
            s = u[k]
            x, y, z = cross(d.H[k, 0], d.H[k, 1], d.H[k, 2], r0, r1, r2)
            w0 += s * d.H[k, 0]
            w1 += s * d.H[k, 1]
            w2 += s * d.H[k, 2]
            v0 += s * (d.H[k, 3] + x)
            v1 += s * (d.H[k, 4] + y)
            v2 += s * (d.H[k, 5] + z)
        j = t.parent[j]
    return w0, w1, w2, v0, v1, v2


@kernel
def place_velocities(t, d, pr, so):
    """Lay out the independent velocities of touched points behind the forest's, and set their free values."""
    at = pr.num_dofs
    for s in range(so.link.shape[0]):
        so.place_in_u[s] = at
        if so.columns[s] == 0:
            continue
        i = so.link[s]
        R = rotation_of(d, i)
        w0, w1, w2, v0, v1, v2 = link_velocity(t, d, i, pr.u_free)
        for k in range(so.first[s], so.first[s + 1]):
            if so.touched[k] > 0:
                a = so.reduced[k, 0]
                x, y, z = rotate(R, so.qd[k, 0], so.qd[k, 1], so.qd[k, 2])
                b0, b1, b2 = rotate(R, so.reduced[k, 1], so.reduced[k, 2], so.reduced[k, 3])
                b0, b1, b2 = cross(w0, w1, w2, b0, b1, b2)
                to = at + 3 * (so.touched[k] - 1)
                pr.u_free[to] = x + a * v0 + b0
                pr.u_free[to + 1] = y + a * v1 + b1
                pr.u_free[to + 2] = z + a * v2 + b2
        at += 3 * so.columns[s]
    pr.num_dofs = at


@kernel
def direction(c, src, b, k, r):
    """Direction of row r of contact k in block b: the normal, or a tangent with its length."""
    if r == 0:
        return c.normal[k, 0], c.normal[k, 1], c.normal[k, 2]
    first = 3 * (r - 1)
    return src.tangent[b, first], src.tangent[b, first + 1], src.tangent[b, first + 2]


@kernel
def yield_link(t, d, c, pr, src, so, responses, b, k, shape, sign):
    """Take the share that soft points keep of an impulse off the rows of contact block b on their link.

    Args:
        k: contact.
        shape: the soft shape.
        sign: -1 on side a, 1 on side b; the opposite puts the share back.
    """
    _, i, j, n, li, lj, ln = touched_points(d, c, so, k, shape)
    link = so.link[so.shape_soft[shape]]
    length, at = pr.len_a[b], pr.at_a[b]
    if length == 0 or t.tree_of_body[t.body_of_dof[pr.dof_a[b]]] != t.tree_of_body[link]:
        length, at = pr.len_b[b], pr.at_b[b]
    if length == 0 or t.moves[link] == 0:
        return
    a = li * so.reduced[i, 0] + lj * so.reduced[j, 0] + ln * so.reduced[n, 0]
    b0, b1, b2 = rotate(
        rotation_of(d, link),
        li * so.reduced[i, 1] + lj * so.reduced[j, 1] + ln * so.reduced[n, 1],
        li * so.reduced[i, 2] + lj * so.reduced[j, 2] + ln * so.reduced[n, 2],
        li * so.reduced[i, 3] + lj * so.reduced[j, 3] + ln * so.reduced[n, 3],
    )
    for r in range(3):
        x, y, z = direction(c, src, b, k, r)
        x, y, z = -sign * x, -sign * y, -sign * z
        m0, m1, m2 = cross(b0, b1, b2, x, y, z)
        response_row(responses, link, length, m0, m1, m2, a * x, a * y, a * z, pr.J, pr.Y, at + r * length)


@kernel
def move_points(d, c, pr, src, so, b, k, shape, sign, extra, pool):
    """Give contact block b the segment `extra` of the points of a soft side, its rows from `pool` on."""
    count, i, j, n, li, lj, ln = touched_points(d, c, so, k, shape)
    s = so.shape_soft[shape]
    length = 3 * so.columns[s]
    pr.more_dof[extra], pr.more_len[extra], pr.more_at[extra] = so.place_in_u[s], length, pool
    for e in range(pool, pool + 3 * length):
        pr.J[e], pr.Y[e] = 0.0, 0.0
    for e in range(so.first[s], so.first[s + 1]):
        put_column(so, s, e, 0.0, 0.0, 0.0, 0.0)
    for corner in range(count):
        e, weight = (i, li) if corner == 0 else ((j, lj) if corner == 1 else (n, ln))
        put_column(so, s, e, weight, 0.0, 0.0, 0.0)
    solve_columns(so, s)
    for r in range(3):
        x, y, z = direction(c, src, b, k, r)
        row = pool + r * length
        for e in range(so.first[s], so.first[s + 1]):
            if so.touched[e] > 0:
                to = row + 3 * (so.touched[e] - 1)
                g = sign * so.column[so.first[s] + so.place[e], 0]
                pr.Y[to], pr.Y[to + 1], pr.Y[to + 2] = g * x, g * y, g * z
        for corner in range(count):
            e, weight = (i, li) if corner == 0 else ((j, lj) if corner == 1 else (n, ln))
            if so.touched[e] > 0:
                to = row + 3 * (so.touched[e] - 1)
                g = sign * weight
                pr.J[to] += g * x
                pr.J[to + 1] += g * y
                pr.J[to + 2] += g * z


@kernel
def is_soft(so, shape):
    """Whether a shape is one of a soft body with touched points."""
    return so.shape_kind[shape] != RIGID_SHAPE and so.columns[so.shape_soft[shape]] > 0


@kernel
def needed_by_points(c, pr, src, so):
    """Extra segments, and pool entries, that soft sides of contact blocks need."""
    extras, pool = 0, 0
    for b in range(pr.num_blocks):
        if src.origin[b] == FROM_CONTACT:
            k = src.index[b]
            for side in range(2):
                shape = c.shape_a[k] if side == 0 else c.shape_b[k]
                if is_soft(so, shape):
                    extras += 1
                    pool += 9 * so.columns[so.shape_soft[shape]]
    return extras, pool


@kernel
def used_pool(pr):
    """Where the pool is free, behind the rows of all blocks."""
    end = 0
    for b in range(pr.num_blocks):
        rows = 1 if pr.kind[b] == BOUNDED else 3
        for s in range(num_segments(pr, b)):
            _, length, at = segment(pr, b, s)
            end = max(end, at + rows * length)
    return end


@kernel
def assemble_soft(t, d, c, pr, src, so):
    """Let the contact blocks of an assembled problem act on the points of soft skins.

    Returns:
        0, or 1 if arrays are too small; src then tells what is needed.
    """
    if mark_contacts(t, d, c, pr, src, so) == 0:
        return 0
    extra, pool = pr.num_extras, used_pool(pr)
    extras_needed, pool_needed = needed_by_points(c, pr, src, so)
    if extra + extras_needed > pr.more_dof.shape[0] or pool + pool_needed > pr.J.shape[0]:
        src.extras_needed = max(src.extras_needed, extra + extras_needed)
        src.pool_needed = max(src.pool_needed, pool + pool_needed)
        return 1
    place_velocities(t, d, pr, so)
    responses = src.responses
    for b in range(pr.num_blocks):
        if src.origin[b] != FROM_CONTACT:
            continue
        k = src.index[b]
        pr.more_first[b] = extra
        for side in range(2):
            shape = c.shape_a[k] if side == 0 else c.shape_b[k]
            sign = -1.0 if side == 0 else 1.0
            if is_soft(so, shape):
                yield_link(t, d, c, pr, src, so, responses, b, k, shape, sign)
                move_points(d, c, pr, src, so, b, k, shape, sign, extra, pool)
                pool += 9 * so.columns[so.shape_soft[shape]]
                extra += 1
        pr.more_count[b] = extra - pr.more_first[b]
    pr.num_extras = extra
    src.extras_needed = max(src.extras_needed, extra)
    src.pool_needed = max(src.pool_needed, pool)
    return 0


@kernel
def harden_contacts(t, d, c, pr, src, so):
    """Leave contact blocks as they were before `assemble_soft`: J^T p is then the force on the coordinates."""
    responses = src.responses
    for b in range(pr.num_blocks):
        if src.origin[b] == FROM_CONTACT and pr.more_count[b] > 0:
            k = src.index[b]
            pr.more_count[b] = 0
            for side in range(2):
                shape = c.shape_a[k] if side == 0 else c.shape_b[k]
                if is_soft(so, shape):
                    yield_link(t, d, c, pr, src, so, responses, b, k, shape, 1.0 if side == 0 else -1.0)
