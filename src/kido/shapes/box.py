"""Box."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kido.shapes.shape import Shape, diagonal, lengths


@dataclass(frozen=True)
class Box(Shape):
    """Cuboid about the origin.

    Args:
        size: full edge lengths (3,) along x, y, z [m], positive.
    """

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", lengths("Box", "size", self.size))

    @property
    def aabb(self) -> np.ndarray:
        half = 0.5 * np.array(self.size)
        return np.array([-half, half])

    @property
    def bounding_radius(self) -> float:
        return 0.5 * math.hypot(*self.size)

    @property
    def volume(self) -> float:
        return math.prod(self.size)

    def moment(self, mass: float) -> np.ndarray:
        xx, yy, zz = (s * s / 12.0 for s in self.size)
        return diagonal(mass, [yy + zz, xx + zz, xx + yy])
