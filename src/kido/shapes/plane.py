"""Plane."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kido.errors import ShapeError
from kido.shapes.shape import Shape, vector


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
