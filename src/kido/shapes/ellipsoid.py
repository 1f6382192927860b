"""Ellipsoid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kido.shapes.shape import Shape, diagonal, lengths


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """Ellipsoid about the origin.

    Args:
        radii: half axes (3,) along x, y, z [m], positive.
    """

    radii: tuple[float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "radii", lengths("Ellipsoid", "radii", self.radii))

    @property
    def aabb(self) -> np.ndarray:
        radii = np.array(self.radii)
        return np.array([-radii, radii])

    @property
    def bounding_radius(self) -> float:
        return max(self.radii)

    @property
    def volume(self) -> float:
        return 4.0 / 3.0 * math.pi * math.prod(self.radii)

    def moment(self, mass: float) -> np.ndarray:
        xx, yy, zz = (r * r / 5.0 for r in self.radii)
        return diagonal(mass, [yy + zz, xx + zz, xx + yy])
