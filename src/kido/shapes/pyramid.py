"""Pyramid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kido.shapes.hull import Hull, convex_hull
from kido.shapes.shape import Shape, diagonal, length


@dataclass(frozen=True)
class Pyramid(Shape):
    """Pyramid on a rectangle, about the origin: apex at z = height/2, base at z = -height/2.

    Volume w d h / 3; centroid at z = -height/4; moment about it m/20 (d^2 + 3/4 h^2), m/20 (w^2 + 3/4 h^2),
    m/20 (w^2 + d^2).

    Args:
        width: edge of the base along x [m], positive.
        depth: edge of the base along y [m], positive.
        height: from base to apex [m], positive.
    """

    width: float
    depth: float
    height: float

    def __post_init__(self) -> None:
        for name in ("width", "depth", "height"):
            object.__setattr__(self, name, length("Pyramid", name, getattr(self, name)))

    @property
    def hull(self) -> Hull:
        """Its five corners (5,3) [m] and triangles (6,3)."""
        x, y, z = 0.5 * self.width, 0.5 * self.depth, 0.5 * self.height
        return convex_hull(np.array([[-x, -y, -z], [x, -y, -z], [x, y, -z], [-x, y, -z], [0.0, 0.0, z]]), "Pyramid")

    @property
    def aabb(self) -> np.ndarray:
        half = 0.5 * np.array([self.width, self.depth, self.height])
        return np.array([-half, half])

    @property
    def bounding_radius(self) -> float:
        return 0.5 * float(np.linalg.norm([self.width, self.depth, self.height]))

    @property
    def volume(self) -> float:
        return self.width * self.depth * self.height / 3.0

    @property
    def centroid(self) -> np.ndarray:
        return np.array([0.0, 0.0, -0.25 * self.height])

    def moment(self, mass: float) -> np.ndarray:
        xx, yy, zz = self.width**2 / 20.0, self.depth**2 / 20.0, 3.0 * self.height**2 / 80.0
        return diagonal(mass, [yy + zz, xx + zz, xx + yy])
