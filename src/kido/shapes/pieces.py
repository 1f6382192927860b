"""Shapes of many equal pieces: clouds of points, lines and voxels."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kido.attributes import dataclass
from kido.errors import ShapeError
from kido.shapes.shape import ArrayShape, checked_mass, finite_array, length


@dataclass(frozen=True, eq=False)
class PointCloud(ArrayShape):
    """Points, each drawn and collided with as a small ball.

    The balls may overlap, so the cloud has no volume; centroid and moment are those of equal balls, one at each
    point. Two clouds are equal only if they are the same object.

    Args:
        points: (n,3) in the shape's axes [m], at least one.
        radius: of the balls [m], positive.
    """

    points: Any
    radius: float = 0.01

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", finite_array("PointCloud", "points", self.points, 2, 3))
        object.__setattr__(self, "radius", length("PointCloud", "radius", self.radius))

    def __repr__(self) -> str:
        return f"PointCloud({len(self.points)} points, radius={self.radius})"

    @property
    def aabb(self) -> np.ndarray:
        return np.array([self.points.min(axis=0) - self.radius, self.points.max(axis=0) + self.radius])

    @property
    def bounding_radius(self) -> float:
        return float(np.linalg.norm(self.points, axis=1).max()) + self.radius

    @property
    def volume(self) -> float:
        raise ShapeError("a PointCloud has no volume: give its body a mass instead of a density")

    @property
    def centroid(self) -> np.ndarray:
        return self.points.mean(axis=0)

    def moment(self, mass: float) -> np.ndarray:
        checked_mass(mass)
        r = self.points - self.centroid
        second = r.T @ r / len(r)
        return mass * ((np.trace(second) + 0.4 * self.radius**2) * np.eye(3) - second)


@dataclass(frozen=True, eq=False)
class LineSegment(ArrayShape):
    """One or more straight lines between points, drawn and collided with as round wires of a small thickness.

    Centroid and moment are those of thin rods of one mass per length; a line has no volume. Two are equal only
    if they are the same object.

    Args:
        vertices: points (n,3) in the shape's axes [m], at least two.
        connections: pairs (m,2) of indices of vertices that are joined; by default each with the next.
        thickness: diameter of the wire [m], positive.
    """

    vertices: Any
    connections: Any = None
    thickness: float = 1e-3

    def __post_init__(self) -> None:
        vertices = finite_array("LineSegment", "vertices", self.vertices, 2, 3)
        n = len(vertices)
        if n < 2:
            raise ShapeError("LineSegment: one vertex; expected at least two")
        if self.connections is None:
            connections = np.column_stack([np.arange(n - 1), np.arange(1, n)])
        else:
            numbers = finite_array("LineSegment", "connections", self.connections, 2, 2)
            connections = numbers.astype(np.int64)
            if (connections != numbers).any() or connections.min() < 0 or connections.max() >= n:
                raise ShapeError(
                    f"LineSegment: connections name vertices {numbers.min():g} to {numbers.max():g}; "
                    f"expected integers from 0 to {n - 1}"
                )
        connections.setflags(write=False)
        lengths = np.linalg.norm(vertices[connections[:, 1]] - vertices[connections[:, 0]], axis=1)
        if not lengths.min() > 0.0:
            a, b = connections[int(np.argmin(lengths))]
            raise ShapeError(f"LineSegment: vertices {a} and {b} are joined and lie at one place; expected a line")
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "connections", connections)
        object.__setattr__(self, "thickness", length("LineSegment", "thickness", self.thickness))

    def __repr__(self) -> str:
        return f"LineSegment({len(self.connections)} lines, thickness={self.thickness})"

    @property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self.vertices[self.connections[:, 0]], self.vertices[self.connections[:, 1]]

    @property
    def length(self) -> float:
        """Length of all lines together [m]."""
        a, b = self._ends
        return float(np.linalg.norm(b - a, axis=1).sum())

    @property
    def aabb(self) -> np.ndarray:
        ends, r = np.concatenate(self._ends), 0.5 * self.thickness
        return np.array([ends.min(axis=0) - r, ends.max(axis=0) + r])

    @property
    def bounding_radius(self) -> float:
        return float(np.linalg.norm(np.concatenate(self._ends), axis=1).max()) + 0.5 * self.thickness

    @property
    def volume(self) -> float:
        raise ShapeError("a LineSegment has no volume: give its body a mass instead of a density")

    @property
    def centroid(self) -> np.ndarray:
        a, b = self._ends
        weight = np.linalg.norm(b - a, axis=1)
        return (weight[:, None] * 0.5 * (a + b)).sum(axis=0) / weight.sum()

    def moment(self, mass: float) -> np.ndarray:
        checked_mass(mass)
        a, b = self._ends
        d, middle = b - a, 0.5 * (a + b) - self.centroid
        weight = np.linalg.norm(d, axis=1)
        outer = np.einsum("ni,nj->nij", d, d) / 12.0 + np.einsum("ni,nj->nij", middle, middle)
        second = np.einsum("n,nij->ij", weight, outer) / weight.sum()
        return mass * (np.trace(second) * np.eye(3) - second)


# Corners of the four edges of a voxel's face on each side, counterclockwise from outside, by axis and side.
_FACES = [
    (axis, side, [np.roll((side, u, v), axis) for u, v in (((0, 0), (1, 0), (1, 1), (0, 1))[:: 1 if side else -1])])
    for axis in range(3)
    for side in (0, 1)
]


@dataclass(frozen=True, eq=False)
class VoxelGrid(ArrayShape):
    """Cubes of one size that fill some cells of a grid, centred about the origin.

    Its surface, the faces between a filled and an empty cell, is what it collides with: bodies slide over
    neighbouring voxels as over one box. Two grids are equal only if they are the same object.

    Args:
        occupied: (nx, ny, nz), true where a cell is filled; at least one.
        spacing: edge of a voxel [m], positive.
    """

    occupied: Any
    spacing: float = 0.1

    def __post_init__(self) -> None:
        cells = finite_array("VoxelGrid", "occupied", self.occupied, 3)
        if not ((cells == 0.0) | (cells == 1.0)).all():
            raise ShapeError("VoxelGrid: occupied holds other values than 0 and 1; expected true or false per cell")
        if not cells.any():
            raise ShapeError(f"VoxelGrid: none of {cells.size} cells is filled; expected at least one")
        occupied = cells.astype(bool)
        occupied.setflags(write=False)
        object.__setattr__(self, "occupied", occupied)
        object.__setattr__(self, "spacing", length("VoxelGrid", "spacing", self.spacing))

    @classmethod
    def from_points(cls, points: Any, spacing: float) -> tuple[VoxelGrid, np.ndarray]:
        """The grid of the cells that hold a point, and where its centre is.

        Args:
            points: (n,3) [m].
            spacing: edge of a voxel [m].

        Returns:
            The grid, and the centre (3,) of it in the axes of the points [m].
        """
        points = finite_array("VoxelGrid", "points", points, 2, 3)
        spacing = length("VoxelGrid", "spacing", spacing)
        cell = np.floor(points / spacing).astype(np.int64)
        low, high = cell.min(axis=0), cell.max(axis=0) + 1
        occupied = np.zeros(high - low, bool)
        occupied[tuple((cell - low).T)] = True
        return cls(occupied, spacing), 0.5 * spacing * (low + high)

    def __repr__(self) -> str:
        return f"VoxelGrid({int(self.occupied.sum())} of {self.occupied.shape}, spacing={self.spacing})"

    @property
    def centers(self) -> np.ndarray:
        """Centres (n,3) of the filled cells [m]."""
        return (np.argwhere(self.occupied) + 0.5 - 0.5 * np.array(self.occupied.shape)) * self.spacing

    @cached_property
    def surface(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices (n,3) [m] and triangles (m,3) of the faces between filled and empty cells.

        The triangles go counterclockwise seen from outside.
        """
        padded = np.pad(self.occupied, 1)
        quads = []
        for axis, side, corners in _FACES:
            outside = np.roll(padded, -1 if side else 1, axis=axis)
            cells = np.argwhere(padded & ~outside) - 1
            quads.append(np.stack([cells + corner for corner in corners], axis=1))
        corners, number = np.unique(np.concatenate(quads).reshape(-1, 3), axis=0, return_inverse=True)
        q = number.reshape(-1, 4)
        vertices = (corners - 0.5 * np.array(self.occupied.shape)) * self.spacing
        return vertices, np.concatenate([q[:, [0, 1, 2]], q[:, [0, 2, 3]]])

    @property
    def aabb(self) -> np.ndarray:
        centers, half = self.centers, 0.5 * self.spacing
        return np.array([centers.min(axis=0) - half, centers.max(axis=0) + half])

    @property
    def bounding_radius(self) -> float:
        return float(np.linalg.norm(np.abs(self.centers) + 0.5 * self.spacing, axis=1).max())

    @property
    def volume(self) -> float:
        return int(self.occupied.sum()) * self.spacing**3

    @property
    def centroid(self) -> np.ndarray:
        return self.centers.mean(axis=0)

    def moment(self, mass: float) -> np.ndarray:
        checked_mass(mass)
        r = self.centers - self.centroid
        second = r.T @ r / len(r) + self.spacing**2 / 12.0 * np.eye(3)
        return mass * (np.trace(second) * np.eye(3) - second)
