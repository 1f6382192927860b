"""Point cloud."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kido.errors import ShapeError
from kido.shapes.arrays import checked_mass, finite_array
from kido.shapes.shape import Shape, length


@dataclass(frozen=True, eq=False)
class PointCloud(Shape):
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

    def __reduce__(self):
        return PointCloud, (self.points, self.radius)

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
