"""Balance: the centre of mass over the support polygon.

Source: DART report, sections 2.6 (support) and 2.8.6; the derivative of a distance is that of the nearest points alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.ik.coordinates import Coordinates
from kido.ik.error_method import ErrorMethod
from kido.ik.gradient_method import positive
from kido.ik.rotations import cross_matrix
from kido.math.hull import convex_hull
from kido.math.transform import as_flag
from kido.optimization import Function, LeastSquares
from kido.skeleton import EndEffector, FrameNode, Support
from kido.skeleton.nodes.end_effector import centroid

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]


class Footing:
    """The support polygon of a skeleton at its present positions, and how it moves.

    Attributes:
        axes: the two horizontal axes (2, 3).
        corners: of the polygon (m, 2), counterclockwise, along the axes [m].
        com: the centre of mass (2,), along the axes [m].
    """

    def __init__(self, skeleton: Skeleton):
        self.skeleton = skeleton
        self.axes = skeleton.support_axes
        self.com = self.axes @ skeleton.com
        self._points: list[tuple[Array, FrameNode]] = []
        for node in skeleton.nodes(FrameNode):
            support = node.get(Support)
            if support is not None and support.active:
                self._points += [(p, node) for p in support.points]
        if not self._points:
            raise ModelError(
                f"skeleton {skeleton.name!r}: balance: nothing supports it; give an {EndEffector.__name__} an active "
                "Support with points"
            )
        self._flat = flat = np.array([self.axes @ p for p, _ in self._points])
        self.corners = convex_hull(flat)
        self._corner_jacobians: dict[int, Array] = {}
        self._node_jacobians: dict[int, Array] = {}
        self._owners = [self._points[int(np.abs(flat - c).sum(axis=1).argmin())] for c in self.corners]

    def com_jacobian(self) -> Array:
        """(2, dofs)."""
        return self.axes @ self.skeleton.com_jacobian()

    def corner_jacobian(self, k: int) -> Array:
        """(2, dofs): of a corner, which moves with what supports there."""
        if k not in self._corner_jacobians:
            p, node = self._owners[k]
            if id(node) not in self._node_jacobians:
                self._node_jacobians[id(node)] = self.skeleton.jacobian(node)
            J = self._node_jacobians[id(node)]
            r = p - node.world_transform[:3, 3]
            self._corner_jacobians[k] = self.axes @ (J[3:] - cross_matrix(r) @ J[:3])
        return self._corner_jacobians[k]

    def edges(self) -> tuple[Array, Array]:
        """Distances (m,) of the centre of mass inside each edge, and its unit normals (m, 2) inwards; of areas only."""
        along = np.roll(self.corners, -1, axis=0) - self.corners
        normals = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1)[:, None]
        return np.einsum("ij,ij->i", self.com - self.corners, normals), normals

    def edges_of_points(self) -> NDArray[np.int64]:
        """For each point (points,) the edge that begins there, or the nearest one; 0 where there is no area."""
        if len(self.corners) < 3:
            return np.zeros(len(self._flat), np.int64)
        depth = np.einsum("pij,ij->pi", self._flat[:, None] - self.corners, self.edges()[1])
        found = depth.argmin(axis=1)
        for k, corner in enumerate(self.corners):
            found[(self._flat == corner).all(axis=1)] = k
        return found

    def edge_jacobian(self, k: int, normal: Array) -> Array:
        """(dofs,): of the distance inside edge k."""
        a, b = self.corners[k], self.corners[(k + 1) % len(self.corners)]
        share = float((self.com - a) @ (b - a) / ((b - a) @ (b - a)))
        edge = (1.0 - share) * self.corner_jacobian(k) + share * self.corner_jacobian((k + 1) % len(self.corners))
        return normal @ (self.com_jacobian() - edge)

    def nearest(self) -> tuple[Array, int, float]:
        """The point of the polygon's border that is nearest to the centre of mass, its edge and its share of that."""
        found = []
        count = len(self.corners)
        for k in range(count):
            a, b = self.corners[k], self.corners[(k + 1) % count]
            length = float((b - a) @ (b - a))
            share = 0.0 if length == 0.0 else min(max(float((self.com - a) @ (b - a)) / length, 0.0), 1.0)
            p = a + share * (b - a)
            found.append((float(np.linalg.norm(self.com - p)), k, share, p))
        _, k, share, p = min(found, key=lambda item: item[0])
        return p, k, share

    def middle_jacobian(self) -> Array:
        """(2, dofs): of the polygon's centroid."""
        c = self.corners
        J = np.array([self.corner_jacobian(k) for k in range(len(c))])
        a, b = c[1:-1] - c[0], c[2:] - c[0]
        areas = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
        if areas.sum() <= 0.0:
            return J.mean(axis=0)
        dA, dB = J[1:-1] - J[0], J[2:] - J[0]
        changes = (
            dA[:, 0] * b[:, 1, None] + a[:, 0, None] * dB[:, 1] - dA[:, 1] * b[:, 0, None] - a[:, 1, None] * dB[:, 0]
        )
        middles = (a + b) / 3.0
        mean = (areas[:, None] * middles).sum(axis=0) / areas.sum()
        moved = np.einsum("i,ijk->jk", areas, (dA + dB) / 3.0) + np.einsum("ij,ik->jk", middles - mean, changes)
        return J[0] + moved / areas.sum()


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
        self.tolerance = positive(tolerance, "BalanceError: tolerance", zero=True)

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

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which components (6,) can be other than zero: horizontal ones."""
        return np.concatenate([np.zeros(3, bool), np.abs(self.ik.skeleton.support_axes).max(axis=0) > 0.0])

    def compute_error(self) -> Array:
        """e (6,): [0; how far the centre of mass is outside] [m]."""
        footing = Footing(self.ik.skeleton)
        return self._error_of(footing, self._outside(footing))

    def compute_jacobian(self) -> Array:
        """J (6, n), exact, with supports that move."""
        footing = Footing(self.ik.skeleton)
        return self._jacobian_of(footing, self._outside(footing))

    def compute_margins(self) -> tuple[Array, Array]:
        """Distances inside each edge, less the margin, and their Jacobian; none outside."""
        footing = Footing(self.ik.skeleton)
        return self._margins_of(footing, self._outside(footing))

    def evaluate(self) -> tuple[Array, Array, Array, Array]:
        footing = Footing(self.ik.skeleton)
        outside = self._outside(footing)
        return (
            self._error_of(footing, outside),
            self._jacobian_of(footing, outside),
            *self._margins_of(footing, outside),
        )

    def _error_of(self, footing: Footing, outside: tuple[Array, Array] | None) -> Array:
        return np.zeros(6) if outside is None else np.concatenate([np.zeros(3), footing.axes.T @ outside[0]])

    def _jacobian_of(self, footing: Footing, outside: tuple[Array, Array] | None) -> Array:
        J = np.zeros((6, len(self.ik.dof_indices)))
        if outside is not None:
            J[3:] = self.ik.columns(footing.axes.T @ outside[1])
        return J

    def _margins_of(self, footing: Footing, outside: tuple[Array, Array] | None) -> tuple[Array, Array]:
        if len(footing.corners) < 3 or outside is not None:
            return super().compute_margins()
        depths, normals = footing.edges()
        rows = [self.ik.columns(footing.edge_jacobian(k, n)) for k, n in enumerate(normals)]
        return depths - self.margin, np.array(rows)


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
