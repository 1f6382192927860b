"""Shapes of a few lengths. Each declares here what the house knows of it, but for the kernels of detectors."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import field, fields
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Self

import numpy as np

from kido.attributes import dataclass
from kido.shapes.shape import Shape, diagonal, length, lengths

__all__ = ["PRIMITIVES", "Box", "Capsule", "Cone", "Cylinder", "Ellipsoid", "Primitive", "Sphere"]

Sizes = tuple[float, float, float]


@dataclass(frozen=True)
class Element:
    """The element of a file format that holds a primitive.

    Attributes:
        tag: its name.
        numbers, triples: the shape's lengths, and its threes of lengths: what the element calls them.
        factor: what a length is multiplied by to be written.
    """

    tag: str
    numbers: Mapping[str, str] = field(default_factory=dict)
    triples: Mapping[str, str] = field(default_factory=dict)
    factor: float = 1.0


class Drawn(NamedTuple):
    """A unit geometry of the viewer, its scale along x, y, z, and its place (4, 4) if not the shape's own."""

    geometry: str
    scale: Sizes
    transform: np.ndarray | None = None


@dataclass(frozen=True)
class Primitive(Shape):
    """A convex shape about the origin that positive lengths, or threes of them, describe: its arguments."""

    formats: ClassVar[Mapping[str, Element]] = MappingProxyType({})

    def __post_init__(self) -> None:
        for f in fields(self):
            check = length if f.type in ("float", float) else lengths
            object.__setattr__(self, f.name, check(type(self).__name__, f.name, getattr(self, f.name)))

    @classmethod
    def kind(cls) -> str:
        """Its name among the types that collision detectors know."""
        return cls.__name__.lower()

    @property
    def parameters(self) -> list[float]:
        """All lengths in order [m]."""
        return [float(value) for f in fields(self) for value in np.ravel(getattr(self, f.name))]

    @property
    @abstractmethod
    def half_sizes(self) -> Sizes:
        """What collision detectors compute with [m]: half edges; half axes; or a radius, a half height and 0."""

    @classmethod
    @abstractmethod
    def of_half_sizes(cls, a: float, b: float, c: float) -> Self:
        """The shape of these half sizes."""

    @abstractmethod
    def drawn(self) -> list[Drawn]:
        """What the viewer draws."""

    def surface_points(self, sectors: int, rings: int) -> np.ndarray | None:
        """Points (n, 3) whose hull stands for the shape where it is not known [m]; None where that is nowhere.

        Args:
            sectors: points around z.
            rings: intervals from pole to pole.
        """
        return None


@dataclass(frozen=True)
class Box(Primitive):
    """Cuboid about the origin.

    Args:
        size: full edge lengths (3,) along x, y, z [m], positive.
    """

    size: Sizes
    formats = MappingProxyType(
        {name: Element("box", triples={"size": "size"}) for name in ("urdf", "sdf", "skel")},
    )

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

    def support(self, direction: np.ndarray) -> float:
        return 0.5 * float(np.abs(direction) @ np.array(self.size))

    @property
    def half_sizes(self) -> Sizes:
        x, y, z = self.size
        return 0.5 * x, 0.5 * y, 0.5 * z

    @classmethod
    def of_half_sizes(cls, a: float, b: float, c: float) -> Self:
        return cls((2.0 * a, 2.0 * b, 2.0 * c))

    def drawn(self) -> list[Drawn]:
        return [Drawn("box", self.size)]


@dataclass(frozen=True)
class Sphere(Primitive):
    """Ball about the origin.

    Args:
        radius: [m], positive.
    """

    radius: float
    formats = MappingProxyType(
        {name: Element("sphere", {"radius": "radius"}) for name in ("urdf", "sdf", "skel")},
    )

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

    def support(self, direction: np.ndarray) -> float:
        return self.radius * float(np.linalg.norm(direction))

    @property
    def half_sizes(self) -> Sizes:
        return self.radius, 0.0, 0.0

    @classmethod
    def of_half_sizes(cls, a: float, b: float, c: float) -> Self:
        return cls(a)

    def drawn(self) -> list[Drawn]:
        return [Drawn("sphere", (self.radius, self.radius, self.radius))]


@dataclass(frozen=True)
class Ellipsoid(Primitive):
    """Ellipsoid about the origin.

    Args:
        radii: half axes (3,) along x, y, z [m], positive.
    """

    radii: Sizes
    formats = MappingProxyType(
        {
            "sdf": Element("ellipsoid", triples={"radii": "radii"}),
            "skel": Element("ellipsoid", triples={"radii": "size"}, factor=2.0),
        }
    )

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

    def support(self, direction: np.ndarray) -> float:
        return float(np.linalg.norm(direction * np.array(self.radii)))

    @property
    def half_sizes(self) -> Sizes:
        return self.radii

    @classmethod
    def of_half_sizes(cls, a: float, b: float, c: float) -> Self:
        return cls((a, b, c))

    def drawn(self) -> list[Drawn]:
        return [Drawn("sphere", self.radii)]

    def surface_points(self, sectors: int, rings: int) -> np.ndarray:
        ring = _circle(sectors)
        up = np.pi * np.arange(1, rings) / rings
        parallels = [np.sin(a) * ring + [0.0, 0.0, np.cos(a)] for a in up]
        return np.concatenate([*parallels, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]]) * np.array(self.radii)


@dataclass(frozen=True)
class _Round(Primitive):
    """A shape of revolution about z, of a radius and a height."""

    radius: float
    height: float

    @property
    def aabb(self) -> np.ndarray:
        half = np.array([self.radius, self.radius, 0.5 * self.height])
        return np.array([-half, half])

    @property
    def bounding_radius(self) -> float:
        return math.hypot(self.radius, 0.5 * self.height)

    @property
    def half_sizes(self) -> Sizes:
        return self.radius, 0.5 * self.height, 0.0

    @classmethod
    def of_half_sizes(cls, a: float, b: float, c: float) -> Self:
        return cls(a, 2.0 * b)

    def drawn(self) -> list[Drawn]:
        return [Drawn(self.kind(), (self.radius, self.radius, self.height))]


@dataclass(frozen=True)
class Capsule(_Round):
    """Cylinder along z with a half ball on each end, centred at the origin.

    Args:
        radius: [m], positive.
        height: length of the cylindrical part [m], positive; the whole is `height + 2 radius` long.
    """

    formats = MappingProxyType(
        {
            **{name: Element("capsule", {"radius": "radius", "height": "length"}) for name in ("urdf", "sdf")},
            "skel": Element("capsule", {"radius": "radius", "height": "height"}),
        }
    )

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

    def support(self, direction: np.ndarray) -> float:
        return 0.5 * self.height * abs(direction[2]) + self.radius * float(np.linalg.norm(direction))

    def drawn(self) -> list[Drawn]:
        top, bottom, r = np.eye(4), np.diag([1.0, -1.0, -1.0, 1.0]), self.radius
        top[2, 3], bottom[2, 3] = 0.5 * self.height, -0.5 * self.height
        return [*(Drawn("hemisphere", (r, r, r), end) for end in (top, bottom)), Drawn("tube", (r, r, self.height))]


@dataclass(frozen=True)
class Cylinder(_Round):
    """Circular cylinder along z, centred at the origin.

    Args:
        radius: [m], positive.
        height: [m], positive.
    """

    formats = MappingProxyType(
        {
            **{name: Element("cylinder", {"radius": "radius", "height": "length"}) for name in ("urdf", "sdf")},
            "skel": Element("cylinder", {"radius": "radius", "height": "height"}),
        }
    )

    @property
    def volume(self) -> float:
        return math.pi * self.radius**2 * self.height

    def moment(self, mass: float) -> np.ndarray:
        across = self.radius**2 / 4.0 + self.height**2 / 12.0
        return diagonal(mass, [across, across, 0.5 * self.radius**2])

    def support(self, direction: np.ndarray) -> float:
        return 0.5 * self.height * abs(direction[2]) + self.radius * math.hypot(direction[0], direction[1])


@dataclass(frozen=True)
class Cone(_Round):
    """Circular cone along z: apex at `+height/2`, base at `-height/2`.

    The centroid lies a quarter of the height above the base, not at the origin.

    Args:
        radius: of the base [m], positive.
        height: [m], positive.
    """

    formats = MappingProxyType(
        {
            "sdf": Element("cone", {"radius": "radius", "height": "length"}),
            "skel": Element("cone", {"radius": "radius", "height": "height"}),
        }
    )

    @property
    def volume(self) -> float:
        return math.pi * self.radius**2 * self.height / 3.0

    @property
    def centroid(self) -> np.ndarray:
        return np.array([0.0, 0.0, -0.25 * self.height])

    def moment(self, mass: float) -> np.ndarray:
        across = 3.0 / 20.0 * self.radius**2 + 3.0 / 80.0 * self.height**2
        return diagonal(mass, [across, across, 0.3 * self.radius**2])

    def support(self, direction: np.ndarray) -> float:
        rim = self.radius * math.hypot(direction[0], direction[1])
        return max(0.5 * self.height * direction[2], rim - 0.5 * self.height * direction[2])

    def surface_points(self, sectors: int, rings: int) -> np.ndarray:
        base = _circle(sectors) * self.radius - [0.0, 0.0, 0.5 * self.height]
        return np.concatenate([base, [[0.0, 0.0, 0.5 * self.height]]])


def _circle(sectors: int) -> np.ndarray:
    angle = np.arange(sectors) * (2.0 * np.pi / sectors)
    return np.stack([np.cos(angle), np.sin(angle), np.zeros(sectors)], axis=1)


PRIMITIVES: dict[str, type[Primitive]] = {s.kind(): s for s in (Box, Sphere, Ellipsoid, Capsule, Cylinder, Cone)}
