"""Capsule."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kido.shapes.shape import Shape, diagonal, length


@dataclass(frozen=True)
class Capsule(Shape):
    """Cylinder along z with a half ball on each end, centred at the origin.

    Args:
        radius: [m], positive.
        height: length of the cylindrical part [m], positive; the whole is `height + 2 radius` long.
    """

    radius: float
    height: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", length("Capsule", "radius", self.radius))
        object.__setattr__(self, "height", length("Capsule", "height", self.height))

    @property
    def aabb(self) -> np.ndarray:
        half = np.array([self.radius, self.radius, 0.5 * self.height + self.radius])
        return np.array([-half, half])

    @property
    def bounding_radius(self) -> float:
        return 0.5 * self.height + self.radius

    @property
    def volume(self) -> float:
        return math.pi * self.radius**2 * (self.height + 4.0 / 3.0 * self.radius)

    def moment(self, mass: float) -> np.ndarray:
        r, h = self.radius, self.height
        cylinder = h / (h + 4.0 / 3.0 * r)  # share of the mass
        balls = 1.0 - cylinder
        along = cylinder * 0.5 * r * r + balls * 0.4 * r * r
        # Both half balls about the middle: a ball's 2/5 r^2, shifted by h/2 with 3/8 r from cap to centroid.
        across = cylinder * (r * r / 4.0 + h * h / 12.0) + balls * (0.4 * r * r + h * h / 4.0 + 0.375 * h * r)
        return diagonal(mass, [across, across, along])
