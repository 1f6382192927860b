"""Cone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kido.shapes.shape import Shape, diagonal, length


@dataclass(frozen=True)
class Cone(Shape):
    """Circular cone along z: apex at `+height/2`, base at `-height/2`.

    The centroid lies a quarter of the height above the base, not at the origin.

    Args:
        radius: of the base [m], positive.
        height: [m], positive.
    """

    radius: float
    height: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", length("Cone", "radius", self.radius))
        object.__setattr__(self, "height", length("Cone", "height", self.height))

    @property
    def aabb(self) -> np.ndarray:
        half = np.array([self.radius, self.radius, 0.5 * self.height])
        return np.array([-half, half])

    @property
    def bounding_radius(self) -> float:
        return math.hypot(self.radius, 0.5 * self.height)

    @property
    def volume(self) -> float:
        return math.pi * self.radius**2 * self.height / 3.0

    @property
    def centroid(self) -> np.ndarray:
        return np.array([0.0, 0.0, -0.25 * self.height])

    def moment(self, mass: float) -> np.ndarray:
        across = 3.0 / 20.0 * self.radius**2 + 3.0 / 80.0 * self.height**2
        return diagonal(mass, [across, across, 0.3 * self.radius**2])
