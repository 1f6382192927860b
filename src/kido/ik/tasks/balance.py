"""Balance: rows that keep the centre of mass over the support polygon, which moves with what supports.

With the corners a and b of an edge, its unit normal n inwards and the centre of mass c, all seen from above, the
distance inside the edge is n . (c - a), and as the edge turns with its corners,

    (n . (c - a))' = n . (c' - (1 - s) a' - s b'),    s = (c - a) . (b - a) / |b - a|^2.

On a single line the distance across it is an equation; on a point there are two.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kido.errors import ModelError
from kido.ik.engine.build import places_of_supports
from kido.ik.engine.tasks import EQUATION, RANGE, TASKS, UNUSED_ROW
from kido.ik.tasks.com import com_columns, weigh
from kido.ik.tasks.kind import INF, TaskFields, TaskKind
from kido.jit import kernel
from kido.joints.frames import IDENTITY, rotation_of
from kido.math.hull import find_hull
from kido.math.so3 import cross, rotate
from kido.math.transform import number_or_nan

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

T = TypeVar("T", bound=TaskFields)


@kernel
def place_points(d, s):
    """Points of the support in the world, and along the horizontal axes."""
    A, P = s.support_axes, s.support_point
    for k in range(P.shape[0]):
        link = s.support_link[k]
        a, b, c = s.support_place[k, 0], s.support_place[k, 1], s.support_place[k, 2]
        if link >= 0:
            a, b, c = rotate(rotation_of(d, link), a, b, c)
            a, b, c = a + d.p[link, 0], b + d.p[link, 1], c + d.p[link, 2]
        P[k, 0], P[k, 1], P[k, 2] = a, b, c
        for i in range(2):
            s.support_flat[k, i] = A[i, 0] * a + A[i, 1] * b + A[i, 2] * c


@kernel
def add_point_motion(t, d, s, row, corner, n0, n1, n2):
    """Add to a row of J: velocity along n of a point of the support."""
    i = s.support_link[corner]
    a, b, c = s.support_point[corner, 0], s.support_point[corner, 1], s.support_point[corner, 2]
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
def distance_row(t, d, s, row, a, b, share, nx, ny):
    """J of a row: the horizontal velocity along (nx, ny) of the centre of mass less that of a point between corners."""
    A = s.support_axes
    n0, n1, n2 = nx * A[0, 0] + ny * A[1, 0], nx * A[0, 1] + ny * A[1, 1], nx * A[0, 2] + ny * A[1, 2]
    for c in range(s.J.shape[1]):
        s.J[row, c] = n0 * s.com_J[0, c] + n1 * s.com_J[1, c] + n2 * s.com_J[2, c]
    f = share - 1.0
    add_point_motion(t, d, s, row, a, f * n0, f * n1, f * n2)
    if share != 0.0:
        add_point_motion(t, d, s, row, b, -share * n0, -share * n1, -share * n2)


@kernel
def support_row(t, d, s, row, kind, value, a, b, share, nx, ny):
    """A row about the distance from a point between the corners a and b along (nx, ny)."""
    s.row_kind[row] = kind
    s.e[row] = value
    distance_row(t, d, s, row, a, b, share, nx, ny)


@kernel
def balance_rows(t, d, s, k, corners, cx, cy):
    """Rows of a task of balance."""
    F, hull, row = s.support_flat, s.hull, s.first_row[k]
    margin = s.low[row]
    for r in range(row, s.first_row[k + 1]):
        s.row_kind[r] = UNUSED_ROW
    for m in range(corners):
        a, b = hull[m], hull[(m + 1) % corners]
        ex, ey = F[b, 0] - F[a, 0], F[b, 1] - F[a, 1]
        rx, ry = cx - F[a, 0], cy - F[a, 1]
        if corners == 1:
            support_row(t, d, s, row, EQUATION, rx, a, a, 0.0, 1.0, 0.0)
            support_row(t, d, s, row + 1, EQUATION, ry, a, a, 0.0, 0.0, 1.0)
            return
        length = math.sqrt(ex * ex + ey * ey)
        ex, ey = ex / length, ey / length
        along, across = rx * ex + ry * ey, ry * ex - rx * ey
        share = along / length
        if corners == 2:
            support_row(t, d, s, row, EQUATION, across, a, b, share, -ey, ex)
            support_row(t, d, s, row + 1, RANGE, margin + along, a, a, 0.0, ex, ey)
            support_row(t, d, s, row + 2, RANGE, margin + length - along, b, b, 0.0, -ex, -ey)
            return
        support_row(t, d, s, row + m, RANGE, across, a, b, share, -ey, ex)


@kernel
def balance_residual(t, d, s, o, k):
    """Distances inside the edges of the support polygon; `s` and `o` are the same."""
    A, com, J = s.support_axes, s.com, s.com_J
    m0, m1, m2, scale = weigh(t, d)
    com[0], com[1], com[2] = m0, m1, m2
    for c in range(J.shape[1]):
        J[0, c] = J[1, c] = J[2, c] = 0.0
    com_columns(t, d, s, J, 0, scale, IDENTITY)
    place_points(d, s)
    corners = find_hull(s.support_flat, s.order, s.hull)
    cx = A[0, 0] * com[0] + A[0, 1] * com[1] + A[0, 2] * com[2]
    cy = A[1, 0] * com[0] + A[1, 1] * com[1] + A[1, 2] * com[2]
    balance_rows(t, d, s, k, corners, cx, cy)


class _Balance(TaskKind):
    what = "balance"
    framed = False
    needs_node = False
    needs_all_links = True
    stands = True
    for_positions = False

    def check(self, skeleton: Skeleton) -> None:
        skeleton.com  # noqa: B018  raises if there is no mass

    def rows(self, skeleton: Skeleton, task: TaskFields, columns: int) -> int:
        return max(3, len(places_of_supports(skeleton)[0]))

    def write(self, skeleton: Skeleton, made: TASKS, k: int, rows: slice, task: TaskFields) -> None:
        made.support_link[:], made.support_place[:] = places_of_supports(skeleton)
        made.support_axes[:] = skeleton.support_axes
        made.lower[rows], made.upper[rows] = made.low[rows], made.high[rows] = task.lower[3], np.inf
        made.weight[rows], made.tolerance[rows] = task.weights[3], task.tolerance[1]

    def words(self, task: TaskFields, row: int, dof_names: list[str]) -> str:
        return "(balance)"


BALANCE_TASK = _Balance("BALANCE_TASK", balance_residual, lanes=False)


def balance(cls: type[T], margin: float = 0.0, **options: Any) -> T:
    """The skeleton's centre of mass over the support polygon of its active supports, a margin inside [m].

    The polygon moves with what supports. Residuals are the distances inside the polygon's edges; on a single line
    or point of support, how far the centre of mass is from it. For `DifferentialIK` and what is made of it.
    """
    inside = number_or_nan(margin)
    if not 0.0 <= inside < INF:
        raise ModelError(f"task: margin: expected a distance >= 0, got {margin!r}")
    return cls(BALANCE_TASK, None, None, np.full(6, inside), np.full(6, INF), **options)
