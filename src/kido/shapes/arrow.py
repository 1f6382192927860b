"""Arrow, for drawing."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from kido.attributes import dataclass
from kido.errors import ShapeError
from kido.shapes.shape import Shape, checked_mass, length, vector


@dataclass(frozen=True)
class Arrow(Shape):
    """Arrow from a tail to a head, made of a cylinder and a cone; it is drawn and never collides.

    Args:
        tail, head: its two ends (3,) in the shape's axes [m], not the same point.
        radius: of the shaft [m], positive.
        head_radius_scale: radius of the head's base over that of the shaft, at least 1.
        head_length_scale: length of the head over that of the arrow, above 0, at most 1.
    """

    tail: tuple[float, float, float]
    head: tuple[float, float, float]
    radius: float = 0.01
    head_radius_scale: float = 2.0
    head_length_scale: float = 0.15

    collides: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("tail", "head"):
            object.__setattr__(self, name, vector("Arrow", name, getattr(self, name)))
        for name in ("radius", "head_radius_scale", "head_length_scale"):
            object.__setattr__(self, name, length("Arrow", name, getattr(self, name)))
        if not 0.0 < self.length < math.inf:
            raise ShapeError(f"Arrow: tail and head are {self.length:g} m apart; expected two distinct points")
        if self.head_radius_scale < 1.0:
            raise ShapeError(f"Arrow: head_radius_scale is {self.head_radius_scale:g}; expected at least 1")
        if self.head_length_scale > 1.0:
            raise ShapeError(f"Arrow: head_length_scale is {self.head_length_scale:g}; expected at most 1")

    @property
    def length(self) -> float:
        """From tail to head [m]."""
        return math.dist(self.tail, self.head)

    @property
    def head_radius(self) -> float:
        """Radius of the head's base [m]."""
        return self.radius * self.head_radius_scale

    @property
    def head_length(self) -> float:
        """Length of the head [m]."""
        return self.length * self.head_length_scale

    @property
    def direction(self) -> np.ndarray:
        """Unit vector (3,) from tail to head."""
        return (np.array(self.head) - self.tail) / self.length

    @property
    def aabb(self) -> np.ndarray:
        across = np.sqrt(np.maximum(1.0 - self.direction**2, 0.0))  # half the extent of a unit disc
        base = np.array(self.head) - self.head_length * self.direction
        discs = ((np.array(self.tail), self.radius), (base, self.head_radius), (np.array(self.head), 0.0))
        return np.array(
            [
                np.min([c - r * across for c, r in discs], axis=0),
                np.max([c + r * across for c, r in discs], axis=0),
            ]
        )

    @property
    def bounding_radius(self) -> float:
        d = self.direction
        base = np.array(self.head) - self.head_length * d
        reach = [math.hypot(*self.head)]
        for centre, radius in ((np.array(self.tail), self.radius), (base, self.head_radius)):
            along = float(centre @ d)
            reach.append(math.hypot(along, float(np.linalg.norm(centre - along * d)) + radius))
        return max(reach)

    @property
    def _solids(self) -> list[tuple[float, float, float, float]]:
        """Of shaft and head: volume, distance of the centroid from the tail, unit moments across and along."""
        shaft = self.length - self.head_length
        r, big, h = self.radius, self.head_radius, self.head_length
        return [
            (math.pi * r * r * shaft, 0.5 * shaft, r * r / 4.0 + shaft * shaft / 12.0, 0.5 * r * r),
            (math.pi * big * big * h / 3.0, shaft + 0.25 * h, 3.0 * (big * big / 20.0 + h * h / 80.0), 0.3 * big * big),
        ]

    @property
    def volume(self) -> float:
        return sum(solid[0] for solid in self._solids)

    @property
    def _middle(self) -> float:
        """Distance of the centroid from the tail [m]."""
        return sum(v * at for v, at, _, _ in self._solids) / self.volume

    @property
    def centroid(self) -> np.ndarray:
        return np.array(self.tail) + self._middle * self.direction

    def moment(self, mass: float) -> np.ndarray:
        checked_mass(mass)
        middle = self._middle
        across = sum(v * (i + (at - middle) ** 2) for v, at, i, _ in self._solids) / self.volume
        along = sum(v * i for v, _, _, i in self._solids) / self.volume
        d = self.direction
        return mass * (across * np.eye(3) + (along - across) * np.outer(d, d))
