"""Sphere."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kido.shapes.shape import Shape, diagonal, length


@dataclass(frozen=True)
class Sphere(Shape):
    """Ball about the origin.

    Args:
        radius: [m], positive.
    """

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", length("Sphere", "radius", self.radius))

    @property
    def aabb(self) -> np.ndarray:
        return np.array([[-self.radius] * 3, [self.radius] * 3])

    @property
    def bounding_radius(self) -> float:
        return self.radius

    @property
    def volume(self) -> float:
        return 4.0 / 3.0 * math.pi * self.radius**3

    def moment(self, mass: float) -> np.ndarray:
        return diagonal(mass, [0.4 * self.radius**2] * 3)
