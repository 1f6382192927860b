"""Balance: rows that keep the centre of mass over the support polygon, which moves with what supports.

With the corners a and b of an edge, its unit normal n inwards and the centre of mass c, all seen from above, the
distance inside the edge is n . (c - a), and as the edge turns with its corners,

    (n . (c - a))' = n . (c' - (1 - s) a' - s b'),    s = (c - a) . (b - a) / |b - a|^2.

On a single line the distance across it is an equation; on a point there are two.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.ik.coordinates import Coordinates
from kido.ik.engine.build import places_of_supports
from kido.ik.engine.tasks import EQUATION, RANGE, TASKS, UNUSED_ROW
from kido.ik.error_method import ErrorMethod
from kido.ik.footing import Footing
from kido.ik.gradient_method import positive
from kido.ik.model import carrier_of
from kido.ik.tasks import Task
from kido.ik.tasks.com import com_columns, weigh
from kido.ik.tasks.kind import INF, TaskKind, constructor
from kido.jit import inlined, kernel
from kido.joints.frames import IDENTITY, rotation_of
from kido.math.hull import find_hull
from kido.math.so3 import cross, rotate
from kido.math.transform import as_flag, number_or_nan
from kido.optimization import Function, LeastSquares
from kido.skeleton import FrameNode, Support
from kido.skeleton.nodes.end_effector import centroid

if TYPE_CHECKING:
    from kido.skeleton import Skeleton


__all__ = ["BalanceConstraint", "BalanceError", "BalanceObjective"]


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


@inlined
def motion_along(H, k, m0, m1, m2, n0, n1, n2):
    """[m; n] times the motion in row k of H."""
    turn = H[k, 0] * m0 + H[k, 1] * m1 + H[k, 2] * m2
    return turn + H[k, 3] * n0 + H[k, 4] * n1 + H[k, 5] * n2


@kernel
def add_point_motion(t, d, s, J, row, link, a, b, c, n0, n1, n2):
    """Add to a row of J: velocity along n of a point of a link that is at (a, b, c)."""
    i = link
    while i >= 0:
        rx, ry, rz = a - d.p[i, 0], b - d.p[i, 1], c - d.p[i, 2]
        m0, m1, m2 = cross(rx, ry, rz, n0, n1, n2)
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            column = s.column[k]
            if column >= 0:
                J[row, column] += s.ratio[k] * motion_along(d.H, k, m0, m1, m2, n0, n1, n2)
        if s.deforms != 0 and s.flex.node_of_body[i] >= 0:
            flex, first = s.flex.flex_of_body[t.parent[i]], s.flex.first_column[s.flex.node_of_body[i]]
            for n in range(s.flex.number[flex]):
                k = s.flex.first_mode[flex] + n
                column = s.column[k]
                if column >= 0:
                    J[row, column] += s.ratio[k] * motion_along(s.flex.Pi, first + n, m0, m1, m2, n0, n1, n2)
        i = t.parent[i]


@kernel
def distance_row(t, d, s, row, a, b, share, nx, ny):
    """J of a row: the horizontal velocity along (nx, ny) of the centre of mass less that of a point between corners."""
    A = s.support_axes
    n0, n1, n2 = nx * A[0, 0] + ny * A[1, 0], nx * A[0, 1] + ny * A[1, 1], nx * A[0, 2] + ny * A[1, 2]
    for c in range(s.J.shape[1]):
        s.J[row, c] = n0 * s.com_J[0, c] + n1 * s.com_J[1, c] + n2 * s.com_J[2, c]
    P, f = s.support_point, share - 1.0
    add_point_motion(t, d, s, s.J, row, s.support_link[a], P[a, 0], P[a, 1], P[a, 2], f * n0, f * n1, f * n2)
    if share != 0.0:
        f = -share
        add_point_motion(t, d, s, s.J, row, s.support_link[b], P[b, 0], P[b, 1], P[b, 2], f * n0, f * n1, f * n2)


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
    m0, m1, m2, scale = weigh(t, d, s, s)
    com[0], com[1], com[2] = m0, m1, m2
    for c in range(J.shape[1]):
        J[0, c] = J[1, c] = J[2, c] = 0.0
    com_columns(t, d, s, s, J, 0, scale, IDENTITY)
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

    def rows(self, skeleton: Skeleton, task: Task, columns: int) -> int:
        return max(3, len(places_of_supports(skeleton)[0]))

    def write(self, skeleton: Skeleton, made: TASKS, k: int, rows: slice, task: Task) -> None:
        made.support_link[:], made.support_place[:] = places_of_supports(skeleton)
        made.support_axes[:] = skeleton.support_axes
        made.lower[rows], made.upper[rows] = made.low[rows], made.high[rows] = task.lower[3], np.inf
        made.weight[rows], made.tolerance[rows] = task.weights[3], task.tolerance[1]

    def words(self, task: Task, row: int, dof_names: list[str]) -> str:
        return "(balance)"


BALANCE_TASK = _Balance("BALANCE_TASK", balance_residual, lanes=False)


@constructor
def balance(cls: type[Task], margin: float = 0.0, **options: Any) -> Task:
    """The skeleton's centre of mass over the support polygon of its active supports, a margin inside [m].

    The polygon moves with what supports. Residuals are the distances inside the polygon's edges; on a single line
    or point of support, how far the centre of mass is from it. For `DifferentialIK` and what is made of it.
    """
    inside = number_or_nan(margin)
    if not 0.0 <= inside < INF:
        raise ModelError(f"task: margin: expected a distance >= 0, got {margin!r}")
    return cls(BALANCE_TASK, None, None, np.full(6, inside), np.full(6, INF), **options)


Array = NDArray[np.float64]


class BalanceError(ErrorMethod):
    """The centre of mass is to be over the support polygon of the active supports, at least a margin inside.

    The error's linear part is horizontal, in world axes: from the nearest point of the polygon, moved in by the margin,
    to the centre of mass; zero inside. With `to_center` it is from the polygon's centroid. The node does not matter;
    give the `InverseKinematics` all coordinates that may move, and attach it to the skeleton. As a task of a hierarchy
    it is a constraint: what comes later cannot leave the polygon.

    Args:
        margin: how far inside the border [m].
        to_center: aim at the centroid, not at the border.
        tolerance: errors up to this count as reached [m].
    """

    def __init__(self, margin: float = 0.0, to_center: bool = False, tolerance: float = 1e-6):
        self.margin = positive(margin, "BalanceError: margin", zero=True)
        self.to_center = as_flag(to_center, "BalanceError: to_center")
        self.tolerance = tolerance

    def _outside(self, footing: Footing) -> tuple[Array, Array] | None:
        """Error (2,) along the horizontal axes and its Jacobian (2, dofs); None inside."""
        if len(footing.corners) > 2:
            depths = footing.edges()[0]
            if (depths >= self.margin).all():
                return None
            inside = bool((depths >= 0.0).all())
        else:
            inside = False
        if self.to_center:
            return footing.com - centroid(footing.corners), footing.com_jacobian() - footing.middle_jacobian()
        p, k, share = footing.nearest()
        gap, J_com = footing.com - p, footing.com_jacobian()
        count = len(footing.corners)
        a, b = footing.corners[k], footing.corners[(k + 1) % count]
        J_a, J_b = footing.corner_jacobian(k), footing.corner_jacobian((k + 1) % count)
        J = J_com - (1.0 - share) * J_a - share * J_b
        distance = float(np.linalg.norm(gap))
        if 0.0 < share < 1.0:
            # Across an edge: e = n s with n its normal, s the distance; n turns with the edge.
            along = (b - a) / np.linalg.norm(b - a)
            n = np.array([along[1], -along[0]])  # outwards
            s = float(n @ gap)
            turning = -np.outer(along, n @ (J_b - J_a)) / np.linalg.norm(b - a)
            return n * (s + self.margin), np.outer(n, n @ J) + (s + self.margin) * turning
        if inside or distance == 0.0 or self.margin == 0.0:
            return gap, J
        n = gap / distance
        return gap + self.margin * n, J + self.margin / distance * (np.eye(2) - np.outer(n, n)) @ J

    def as_task(self, levels: bool = False) -> Task | None:
        """See `ErrorMethod.as_task`."""
        if type(self) is not BalanceError or self.to_center or not levels:
            return None
        return Task.balance(self.margin, priority=self.ik.priority, tolerance=(max(self.tolerance, 1e-9),) * 2)

    def surroundings(self) -> tuple[Any, ...]:
        """Gravity, and the points of all active supports."""
        skeleton = self.ik.skeleton
        found: list[Any] = [skeleton.gravity.tobytes()]
        for node in skeleton.nodes(FrameNode):
            support = node.get(Support)
            if support is not None and support.active:
                body, X = carrier_of(node)
                found += [id(node), id(body), None if X is None else X.tobytes(), support.properties.geometry.tobytes()]
        return tuple(found)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which components (6,) can be other than zero: horizontal ones."""
        return np.concatenate([np.zeros(3, bool), np.abs(self.ik.skeleton.support_axes).max(axis=0) > 0.0])

    def compute_error(self) -> Array:
        """e (6,): [0; how far the centre of mass is outside] [m]."""
        footing = Footing(self.ik.skeleton)
        outside = self._outside(footing)
        return np.zeros(6) if outside is None else np.concatenate([np.zeros(3), footing.axes.T @ outside[0]])

    def compute_jacobian(self) -> Array:
        """J (6, n), exact, with supports that move."""
        return self.evaluate()[1]

    def compute_margins(self) -> tuple[Array, Array]:
        """Distances inside each edge, less the margin, and their Jacobian; none outside."""
        return self.evaluate()[2:]

    def evaluate(self) -> tuple[Array, Array, Array, Array]:
        footing = Footing(self.ik.skeleton)
        outside = self._outside(footing)
        e, J = np.zeros(6), np.zeros((6, len(self.ik.dof_indices)))
        if outside is not None:
            e[3:], J[3:] = footing.axes.T @ outside[0], self.ik.columns(footing.axes.T @ outside[1])
        if len(footing.corners) < 3 or outside is not None:
            return e, J, *super().compute_margins()
        depths, normals = footing.edges()
        rows = [self.ik.columns(footing.edge_jacobian(k, n)) for k, n in enumerate(normals)]
        return e, J, depths - self.margin, np.array(rows)


class BalanceObjective(Function):
    """Half the squared horizontal distance of the centre of mass from the centroid of the support polygon [m^2].

    As `objective` or `null_space_objective` it prefers well balanced poses; as an equality constraint of the problem it
    puts the centre of mass right over the middle. x are positions of the coordinates `dofs`.

    Args:
        ik: whose coordinates x are; an `InverseKinematics` or a hierarchy.
    """

    name = "balance"

    def __init__(self, ik: Coordinates):
        self.owner = ik

    def evaluate(self, x: Array) -> float:
        """|c - m|^2 / 2 at x."""
        with self.owner.posed(x):
            footing = Footing(self.owner.skeleton)
            gap = footing.com - centroid(footing.corners)
        return 0.5 * float(gap @ gap)

    def gradient(self, x: Array) -> Array:
        """(J_c - J_m)^T (c - m)."""
        owner = self.owner
        with owner.posed(x):
            footing = Footing(owner.skeleton)
            gap = footing.com - centroid(footing.corners)
            J = owner.columns(footing.com_jacobian() - footing.middle_jacobian())
        return J.T @ gap

    def clone(self) -> Self:
        """A copy for the same coordinates."""
        return type(self)(self.owner)


class BalanceConstraint(LeastSquares):
    """The centre of mass over the support polygon, a margin inside it, as inequalities g(x) <= 0 of a problem [m].

    Each point of the active supports has a row: the margin less the distance inside the edge of the polygon that begins
    there, or, for points within the polygon, the edge that is nearest to them. The polygon moves with what supports. On
    a line or point of support, where nothing is inside, rows are the distance from it plus the margin. x are positions
    of the coordinates `dofs`:

        >>> whole.problem.add_inequality(BalanceConstraint(whole, margin=0.01))

    Args:
        ik: whose coordinates x are; an `InverseKinematics` or a hierarchy.
        margin: how far inside the border [m].

    Raises:
        ModelError: a margin below zero; when it is evaluated: nothing supports the skeleton.
    """

    name = "balance"

    def __init__(self, ik: Coordinates, margin: float = 0.0):
        self.owner = ik
        self.margin = positive(margin, "BalanceConstraint: margin", zero=True)

    def residuals(self, x: Array) -> Array:
        """g (points,)."""
        with self.owner.posed(x):
            footing = Footing(self.owner.skeleton)
            return self.margin - self._depths(footing)[0][footing.edges_of_points()]

    def jacobian(self, x: Array) -> Array:
        """dg/dx (points, n), exact, with supports that move."""
        with self.owner.posed(x):
            footing = Footing(self.owner.skeleton)
            rows = self.owner.columns(self._depths(footing)[1])
        return -rows[footing.edges_of_points()]

    @staticmethod
    def _depths(footing: Footing) -> tuple[Array, Array]:
        """Distances inside edges, and their Jacobian (edges, dofs); of lines and points the negative distance."""
        if len(footing.corners) > 2:
            depths, normals = footing.edges()
            return depths, np.array([footing.edge_jacobian(k, n) for k, n in enumerate(normals)])
        p, k, share = footing.nearest()
        gap = footing.com - p
        distance = float(np.linalg.norm(gap))
        J = footing.com_jacobian() - (1.0 - share) * footing.corner_jacobian(k)
        J = J - share * footing.corner_jacobian((k + 1) % len(footing.corners))
        n = gap / distance if distance > 0.0 else np.zeros(2)
        return np.array([-distance]), -(n @ J)[None]

    def clone(self) -> Self:
        """A copy for the same coordinates."""
        return type(self)(self.owner, self.margin)
