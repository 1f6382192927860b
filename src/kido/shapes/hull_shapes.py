"""Shapes that are convex hulls: pyramids, and hulls of spheres."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import numpy as np

from kido.attributes import dataclass
from kido.errors import ShapeError
from kido.shapes.hull import Hull, Solid, convex_hull, second_moments
from kido.shapes.shape import Shape, diagonal, finite_array, length


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


LEVELS = (4, 5)  # subdivisions of the icosahedron whose corners stand for a sphere in volume and inertia


@dataclass(frozen=True, eq=False)
class MultiSphereHull(Solid):
    """Convex hull of spheres: of two equal ones a capsule, of two different ones a rounded cone.

    Collisions are those of the exact hull. Volume, centroid and moment are extrapolated from two polyhedra with
    their corners on the spheres, and right to about 1e-5 of their size.

    Args:
        centers: (n,3) in the shape's axes [m], at least one.
        radii: (n,) [m], positive.
    """

    centers: Any
    radii: Any

    def __post_init__(self) -> None:
        centers = finite_array("MultiSphereHull", "centers", self.centers, 2, 3)
        radii = finite_array("MultiSphereHull", "radii", self.radii, 1)
        if len(radii) != len(centers):
            raise ShapeError(f"MultiSphereHull: {len(centers)} centers and {len(radii)} radii; expected as many")
        if not radii.min() > 0.0:
            raise ShapeError(f"MultiSphereHull: radius {int(np.argmin(radii))} is {radii.min():g}; expected above 0")
        object.__setattr__(self, "centers", centers)
        object.__setattr__(self, "radii", radii)

    def __repr__(self) -> str:
        return f"MultiSphereHull({len(self.radii)} spheres)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MultiSphereHull):
            return NotImplemented
        return np.array_equal(self.centers, other.centers) and np.array_equal(self.radii, other.radii)

    def __hash__(self) -> int:
        return hash((self.centers.tobytes(), self.radii.tobytes()))

    def polyhedron(self, level: int = 2) -> Hull:
        """Convex hull of points on the spheres, the corners of an icosahedron halved `level` times.

        With level 2 it is nowhere more than 1.8 % of a radius inside of the shape.
        """
        points = [c + r * unit_sphere_points(level) for c, r in zip(self.centers, self.radii, strict=True)]
        return convex_hull(np.concatenate(points), "MultiSphereHull")

    @cached_property
    def _solid(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Volume, centroid and second moment about it; a polyhedron's error falls by four per level."""
        if len(self.radii) == 1:
            r = float(self.radii[0])
            volume = 4.0 / 3.0 * np.pi * r**3
            return volume, self.centers[0].copy(), 0.2 * r * r * volume * np.eye(3)
        coarse, fine = (second_moments(*self.polyhedron(level)) for level in LEVELS)
        return (
            fine[0] + (fine[0] - coarse[0]) / 3.0,
            fine[1] + (fine[1] - coarse[1]) / 3.0,
            fine[2] + (fine[2] - coarse[2]) / 3.0,
        )

    @property
    def aabb(self) -> np.ndarray:
        r = self.radii[:, None]
        return np.array([(self.centers - r).min(axis=0), (self.centers + r).max(axis=0)])

    @property
    def bounding_radius(self) -> float:
        return float((np.linalg.norm(self.centers, axis=1) + self.radii).max())


@cache
def unit_sphere_points(level: int) -> np.ndarray:
    """Corners (n,3) of an icosahedron whose edges were halved `level` times, on the unit sphere."""
    golden = 0.5 * (1.0 + 5.0**0.5)
    corners = [(0.0, s, t * golden) for s in (-1.0, 1.0) for t in (-1.0, 1.0)]
    points = np.array([np.roll(corner, k) for corner in corners for k in range(3)])
    points /= np.linalg.norm(points[0])
    for _ in range(level):
        faces = convex_hull(points, "sphere").faces
        points = np.unique(points, axis=0)  # the order of the hull's vertices
        edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
        middle = points[np.unique(edges, axis=0)].sum(axis=1)
        points = np.concatenate([points, middle / np.linalg.norm(middle, axis=1, keepdims=True)])
    return points
