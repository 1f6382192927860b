"""Voxel grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kido.errors import ShapeError
from kido.shapes.arrays import checked_mass, finite_array
from kido.shapes.shape import Shape, length

# Corners of the four edges of a voxel's face on each side, counterclockwise from outside, by axis and side.
_FACES = [
    (axis, side, [np.roll((side, u, v), axis) for u, v in (((0, 0), (1, 0), (1, 1), (0, 1))[:: 1 if side else -1])])
    for axis in range(3)
    for side in (0, 1)
]


@dataclass(frozen=True, eq=False)
class VoxelGrid(Shape):
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

    def __reduce__(self):
        return VoxelGrid, (self.occupied, self.spacing)

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
