"""The support polygon under a skeleton, and how it moves; of a distance, the nearest points alone have a derivative.

Source: DART report, sections 2.6 (support) and 2.8.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.math.hull import convex_hull
from kido.math.rotation_rates import cross_matrix
from kido.skeleton import EndEffector, FrameNode, Support

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
