"""Shapes without an end below: planes and height maps. They give no body a mass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kido.attributes import dataclass
from kido.errors import ShapeError
from kido.shapes.shape import ArrayShape, Shape, finite_array, length, vector


@dataclass(frozen=True)
class Plane(Shape):
    """Half space: the points x with `normal . x <= offset` are solid.

    It has no finite volume, so it gives no body a mass.

    Args:
        normal: outward normal (3,), of any length but zero; kept with length 1.
        offset: distance of the surface from the origin along the normal [m].
    """

    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    offset: float = 0.0

    def __post_init__(self) -> None:
        normal = vector("Plane", "normal", self.normal)
        size = math.hypot(*normal)
        if size < 1e-12:
            raise ShapeError(f"Plane: normal is {self.normal!r}; expected a vector that is not zero")
        try:
            offset = float(self.offset)
        except (TypeError, ValueError, OverflowError):
            offset = math.nan
        if not math.isfinite(offset):
            raise ShapeError(f"Plane: offset is {self.offset!r}; expected a finite number")
        object.__setattr__(self, "normal", tuple(n / size for n in normal))
        object.__setattr__(self, "offset", offset)

    @property
    def aabb(self) -> np.ndarray:
        return np.array([[-math.inf] * 3, [math.inf] * 3])

    @property
    def bounding_radius(self) -> float:
        return math.inf

    @property
    def volume(self) -> float:
        return math.inf

    @property
    def centroid(self) -> np.ndarray:
        """The point of the surface nearest to the origin (3,) [m]."""
        return self.offset * np.array(self.normal)

    def moment(self, mass: float) -> np.ndarray:
        raise ShapeError("a Plane is infinite and has no inertia; give the body's inertia explicitly")


@dataclass(frozen=True, eq=False)
class Heightmap(ArrayShape):
    """Ground z(x, y) given by heights on a grid, solid below; centred about the z axis.

    Each cell of the grid is two triangles, that share its diagonal from low x, low y to high x, high y. Being
    ground without a bottom, it has no volume and no inertia. Two height maps are equal only if they are the same
    object.

    Args:
        heights: z (rows, columns) [m], at least 2 x 2; rows go along +y and columns along +x, as `numpy.meshgrid`
            has them.
        spacing: distance of neighbouring points along x and y [m]: one number or two, positive.
    """

    heights: Any
    spacing: Any = (1.0, 1.0)

    def __post_init__(self) -> None:
        heights = finite_array("Heightmap", "heights", self.heights, 2)
        if min(heights.shape) < 2:
            raise ShapeError(f"Heightmap: heights have shape {heights.shape}; expected at least (2, 2)")
        spacing = self.spacing
        if np.ndim(spacing) == 0:
            spacing = (spacing, spacing)
        if len(spacing) != 2:
            raise ShapeError(f"Heightmap: spacing is {self.spacing!r}; expected one or two positive numbers")
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "spacing", tuple(length("Heightmap", "spacing", s) for s in spacing))

    def __repr__(self) -> str:
        return f"Heightmap({self.heights.shape[0]} x {self.heights.shape[1]}, spacing={self.spacing})"

    @property
    def size(self) -> tuple[float, float]:
        """Its extent along x and y [m]."""
        rows, columns = self.heights.shape
        return (columns - 1) * self.spacing[0], (rows - 1) * self.spacing[1]

    @property
    def vertices(self) -> np.ndarray:
        """Points (rows * columns, 3) of the surface, row by row [m]."""
        rows, columns = self.heights.shape
        x = (np.arange(columns) - 0.5 * (columns - 1)) * self.spacing[0]
        y = (np.arange(rows) - 0.5 * (rows - 1)) * self.spacing[1]
        return np.column_stack([np.tile(x, rows), np.repeat(y, columns), self.heights.ravel()])

    @property
    def faces(self) -> np.ndarray:
        """Triangles (m,3) of the surface, counterclockwise seen from above."""
        rows, columns = self.heights.shape
        a = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
        pair = np.stack([a, a + 1, a + columns + 1, a, a + columns + 1, a + columns], axis=1)
        return pair.reshape(-1, 3)

    def height_at(self, x: float, y: float) -> float:
        """Height of the surface over (x, y) [m].

        Raises:
            ShapeError: the point is not over the grid.
        """
        rows, columns = self.heights.shape
        u = float(x) / self.spacing[0] + 0.5 * (columns - 1)
        v = float(y) / self.spacing[1] + 0.5 * (rows - 1)
        if not (0.0 <= u <= columns - 1 and 0.0 <= v <= rows - 1):
            lx, ly = self.size
            raise ShapeError(f"Heightmap: ({x!r}, {y!r}) is outside; expected |x| <= {lx / 2:g} and |y| <= {ly / 2:g}")
        j, i = min(int(u), columns - 2), min(int(v), rows - 2)
        u, v, h = u - j, v - i, self.heights
        if u >= v:
            middle = h[i, j + 1]
            return float(h[i, j] + u * (middle - h[i, j]) + v * (h[i + 1, j + 1] - middle))
        middle = h[i + 1, j]
        return float(h[i, j] + v * (middle - h[i, j]) + u * (h[i + 1, j + 1] - middle))

    @property
    def aabb(self) -> np.ndarray:
        x, y = self.size
        low, high = float(self.heights.min()), float(self.heights.max())
        return np.array([[-0.5 * x, -0.5 * y, low], [0.5 * x, 0.5 * y, high]])

    @property
    def bounding_radius(self) -> float:
        return float(np.sqrt((self.vertices**2).sum(axis=1).max()))

    @property
    def volume(self) -> float:
        raise ShapeError("a Heightmap is ground without a bottom and has no volume")

    @property
    def centroid(self) -> np.ndarray:
        raise ShapeError("a Heightmap is ground without a bottom and has no centroid")

    def moment(self, mass: float) -> np.ndarray:
        raise ShapeError("a Heightmap is ground without a bottom and has no inertia")
