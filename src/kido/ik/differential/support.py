"""Balance: rows that keep the centre of mass over the support polygon, which moves with what supports.

With the corners a and b of an edge, its unit normal n inwards and the centre of mass c, all seen from above, the
distance inside the edge is n . (c - a), and as the edge turns with its corners,

    (n . (c - a))' = n . (c' - (1 - s) a' - s b'),    s = (c - a) . (b - a) / |b - a|^2.

On a single line the distance across it is an equation; on a point there are two.
"""

from __future__ import annotations

import math

from kido.ik.differential.schema import CENTER_OF_MASS, EQUATION, NOTHING, RANGE
from kido.ik.engine.tasks import BALANCE
from kido.jit import kernel
from kido.joints.frames import rotation_of
from kido.math.so3 import cross, rotate


@kernel
def place_points(d, x):
    """Points of the support in the world, and along the horizontal axes."""
    A, P = x.support_axes, x.support_point
    for k in range(P.shape[0]):
        link = x.support_link[k]
        a, b, c = x.support_place[k, 0], x.support_place[k, 1], x.support_place[k, 2]
        if link >= 0:
            a, b, c = rotate(rotation_of(d, link), a, b, c)
            a, b, c = a + d.p[link, 0], b + d.p[link, 1], c + d.p[link, 2]
        P[k, 0], P[k, 1], P[k, 2] = a, b, c
        for i in range(2):
            x.support_flat[k, i] = A[i, 0] * a + A[i, 1] * b + A[i, 2] * c


@kernel
def chain(x, first, order, count, step):
    """Half of the hull: points in `order`, from its end if `step` is -1, go to `hull` from `first`; returns its end."""
    F, hull = x.support_flat, x.hull
    size = first
    for k in range(count):
        at = order[k] if step > 0 else order[count - 1 - k]
        while size > first + 1:
            a, b = hull[size - 2], hull[size - 1]
            turn = (F[b, 0] - F[a, 0]) * (F[at, 1] - F[a, 1]) - (F[b, 1] - F[a, 1]) * (F[at, 0] - F[a, 0])
            if turn > 0.0:
                break
            size -= 1
        hull[size] = at
        size += 1
    return size - 1  # its last point begins the other half


@kernel
def find_hull(x):
    """Corners of the convex hull in `hull`, counterclockwise; returns how many. Andrew's monotone chain."""
    F, order = x.support_flat, x.order
    count = 0
    for k in range(F.shape[0]):
        at = count
        same = False
        while at > 0:
            j = order[at - 1]
            if F[j, 0] < F[k, 0] or (F[j, 0] == F[k, 0] and F[j, 1] < F[k, 1]):
                break
            if F[j, 0] == F[k, 0] and F[j, 1] == F[k, 1]:
                same = True
                break
            at -= 1
        if not same:
            for i in range(count, at, -1):
                order[i] = order[i - 1]
            order[at] = k
            count += 1
    if count < 3:
        for k in range(count):
            x.hull[k] = order[k]
        return count
    return chain(x, chain(x, 0, order, count, 1), order, count, -1)


@kernel
def add_point_motion(t, d, s, x, row, corner, n0, n1, n2):
    """Add to a row of J: velocity along n of a point of the support."""
    i = x.support_link[corner]
    a, b, c = x.support_point[corner, 0], x.support_point[corner, 1], x.support_point[corner, 2]
    while i >= 0:
        rx, ry, rz = a - d.p[i, 0], b - d.p[i, 1], c - d.p[i, 2]
        m0, m1, m2 = cross(rx, ry, rz, n0, n1, n2)
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            column = s.column[k]
            if column >= 0:
                turn = d.H[k, 0] * m0 + d.H[k, 1] * m1 + d.H[k, 2] * m2
                s.J[row, column] += s.ratio[k] * (turn + d.H[k, 3] * n0 + d.H[k, 4] * n1 + d.H[k, 5] * n2)
        i = t.parent[i]


@kernel
def distance_row(t, d, s, x, row, a, b, share, nx, ny):
    """J of a row: the horizontal velocity along (nx, ny) of the centre of mass less that of a point between corners."""
    A = x.support_axes
    n0, n1, n2 = nx * A[0, 0] + ny * A[1, 0], nx * A[0, 1] + ny * A[1, 1], nx * A[0, 2] + ny * A[1, 2]
    com = s.first_row[x.count[CENTER_OF_MASS]] + 3
    for c in range(s.J.shape[1]):
        s.J[row, c] = n0 * s.J[com, c] + n1 * s.J[com + 1, c] + n2 * s.J[com + 2, c]
    f = share - 1.0
    add_point_motion(t, d, s, x, row, a, f * n0, f * n1, f * n2)
    if share != 0.0:
        add_point_motion(t, d, s, x, row, b, -share * n0, -share * n1, -share * n2)


@kernel
def support_row(t, d, s, x, row, kind, value, a, b, share, nx, ny):
    """A row about the distance from a point between the corners a and b along (nx, ny)."""
    x.declared[row] = kind
    s.e[row] = value
    distance_row(t, d, s, x, row, a, b, share, nx, ny)


@kernel
def balance_rows(t, d, s, x, k, corners, cx, cy):
    """Rows of a task of balance."""
    F, hull, row = x.support_flat, x.hull, s.first_row[k]
    margin = x.low[row]
    for r in range(row, s.first_row[k + 1]):
        x.declared[r] = NOTHING
    for m in range(corners):
        a, b = hull[m], hull[(m + 1) % corners]
        ex, ey = F[b, 0] - F[a, 0], F[b, 1] - F[a, 1]
        rx, ry = cx - F[a, 0], cy - F[a, 1]
        if corners == 1:
            support_row(t, d, s, x, row, EQUATION, rx, a, a, 0.0, 1.0, 0.0)
            support_row(t, d, s, x, row + 1, EQUATION, ry, a, a, 0.0, 0.0, 1.0)
            return
        length = math.sqrt(ex * ex + ey * ey)
        ex, ey = ex / length, ey / length
        along, across = rx * ex + ry * ey, ry * ex - rx * ey
        share = along / length
        if corners == 2:
            support_row(t, d, s, x, row, EQUATION, across, a, b, share, -ey, ex)
            support_row(t, d, s, x, row + 1, RANGE, margin + along, a, a, 0.0, ex, ey)
            support_row(t, d, s, x, row + 2, RANGE, margin + length - along, b, b, 0.0, -ex, -ey)
            return
        support_row(t, d, s, x, row + m, RANGE, across, a, b, share, -ey, ex)


@kernel
def support_rows(t, d, s, x):
    """e and J of all tasks of balance; those of the other tasks must be current."""
    if x.support_link.shape[0] == 0:
        return
    A, row = x.support_axes, s.first_row[x.count[CENTER_OF_MASS]] + 3
    cx = A[0, 0] * s.e[row] + A[0, 1] * s.e[row + 1] + A[0, 2] * s.e[row + 2]
    cy = A[1, 0] * s.e[row] + A[1, 1] * s.e[row + 1] + A[1, 2] * s.e[row + 2]
    place_points(d, x)
    corners = find_hull(x)
    for k in range(s.kind.shape[0]):
        if s.kind[k] == BALANCE and s.enabled[k] != 0:
            balance_rows(t, d, s, x, k, corners, cx, cy)
