"""Cylinder."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kido.shapes.shape import Shape, diagonal, length


@dataclass(frozen=True)
class Cylinder(Shape):
    """Circular cylinder along z, centred at the origin.

    Args:
        radius: [m], positive.
        height: [m], positive.
    """

    radius: float
    height: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", length("Cylinder", "radius", self.radius))
        object.__setattr__(self, "height", length("Cylinder", "height", self.height))

    @property
    def aabb(self) -> np.ndarray:
        half = np.array([self.radius, self.radius, 0.5 * self.height])
        return np.array([-half, half])

    @property
    def bounding_radius(self) -> float:
        return math.hypot(self.radius, 0.5 * self.height)

    @property
    def volume(self) -> float:
        return math.pi * self.radius**2 * self.height

    def moment(self, mass: float) -> np.ndarray:
        across = self.radius**2 / 4.0 + self.height**2 / 12.0
        return diagonal(mass, [across, across, 0.5 * self.radius**2])
