"""Trees of spheres that cover shapes: coarse to fine, and every point of a shape lies in spheres of each level.

A shape is convex *parts*, each the convex hull of points, widened by a radius. A node of the tree is what of the parts
lies in some cell; its sphere is about all the points there, so it covers the node's parts, as balls are convex. The
cell is halved across its longest side until the sphere stands out of the shape by no more than asked for. So coverage
holds by construction and is not a matter of samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

import numpy as np
import scipy.spatial
from numpy.typing import NDArray

from kido.errors import ShapeError
from kido.jit import entry
from kido.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Heightmap,
    Mesh,
    MultiSphereHull,
    PointCloud,
    Pyramid,
    Shape,
    Sphere,
    VoxelGrid,
    convex_hull,
)
from kido.shapes.hull_shapes import unit_sphere_points

Array = NDArray[np.float64]
SECTORS = 16  # of the prism around a cylinder
ROUNDS = 200  # of the search for a small sphere about points
MOST_MEASURED = 48  # parts up to which it is measured how far a sphere stands out of them
ROUNDING = 1.0 + 1e-12


@dataclass
class Part:
    """The convex hull of `points` (n, 3), widened by `radius` [m]."""

    points: Array
    radius: float = 0.0

    @cached_property
    def planes(self) -> Array:
        """Planes (n, 4) about the points, outward normals and offsets; none for fewer than four or flat points."""
        try:
            return scipy.spatial.ConvexHull(self.points).equations
        except (scipy.spatial.QhullError, ValueError):
            return np.zeros((0, 4))

    def outside(self, x: Array) -> Array:
        """How far points (n, 3) are outside [m], or less near edges and corners."""
        if len(self.planes):
            return (x @ self.planes[:, :3].T + self.planes[:, 3]).max(axis=1) - self.radius
        if len(self.points) <= 2:
            a, d = self.points[0], self.points[-1] - self.points[0]
            s = np.clip((x - a) @ d / max(d @ d, 1e-300), 0.0, 1.0)
            return np.linalg.norm(x - a - s[:, None] * d, axis=1) - self.radius
        return np.full(len(x), np.inf)

    def halves(self, axis: int, middle: float) -> tuple[Part | None, Part | None]:
        """What lies on each side of a plane across an axis."""
        s = self.points[:, axis] - middle
        below, above = self.points[s <= 0.0], self.points[s >= 0.0]
        if not len(above) or not len(below):
            return (self, None) if not len(above) else (None, self)
        a, b = s[s < 0.0], s[s > 0.0]
        if not len(a) or not len(b):  # it touches the plane with a side
            return (self, None) if len(a) else (None, self)
        share = a[:, None] / (a[:, None] - b)
        P, Q = self.points[s < 0.0][:, None], self.points[s > 0.0]
        cut = (P + share[..., None] * (Q - P)).reshape(-1, 3)
        cut[:, axis] = middle
        return Part(corners(np.concatenate([below, cut])), self.radius), Part(
            corners(np.concatenate([above, cut])), self.radius
        )


def corners(points: Array) -> Array:
    """Those of the points that the convex hull of all needs; all of flat ones."""
    if len(points) > 4:
        try:
            return points[scipy.spatial.ConvexHull(points).vertices]
        except scipy.spatial.QhullError:
            pass
    return np.unique(points, axis=0)


def convex_parts(shape: Shape, what: str = "shape") -> list[Part]:
    """Convex parts whose union contains a shape, in its axes. Of meshes, what stands for them in collisions.

    Cylinders, cones and ellipsoids are polyhedra about them, at most 2 % larger.

    Raises:
        ShapeError: a shape of which there is no such thing: planes, soft skins, arrows.
    """
    if isinstance(shape, Sphere):
        return [Part(np.zeros((1, 3)), shape.radius)]
    if isinstance(shape, Capsule):
        return [Part(np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]]) * shape.height, shape.radius)]
    if isinstance(shape, Box):
        return [Part(_box(shape.aabb))]
    if isinstance(shape, Cylinder | Cone):
        angle = 2.0 * np.pi / SECTORS * np.arange(SECTORS)
        ring = shape.radius / np.cos(np.pi / SECTORS) * np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
        half = np.array([0.0, 0.0, 0.5 * shape.height])
        return [Part(np.concatenate([ring - half, ring + half if isinstance(shape, Cylinder) else half[None]]))]
    if isinstance(shape, Ellipsoid):
        ball, factor = _ball()
        return [Part(ball * factor * np.asarray(shape.half_sizes))]
    if isinstance(shape, MultiSphereHull):
        ball, factor = _ball()
        points = [c + r * factor * ball for c, r in zip(shape.centers, shape.radii, strict=True)]
        return [Part(corners(np.concatenate(points)))]
    if isinstance(shape, Mesh):
        return _mesh_parts(shape)
    if isinstance(shape, Pyramid):
        return [Part(shape.hull.vertices)]
    if isinstance(shape, PointCloud):
        return [Part(p[None], shape.radius) for p in shape.points]
    if isinstance(shape, VoxelGrid):
        half = 0.5 * shape.spacing
        return [Part(c + _box(np.array([[-half] * 3, [half] * 3]))) for c in shape.centers]
    if isinstance(shape, Heightmap):
        return [Part(shape.vertices[f]) for f in shape.faces]
    raise ShapeError(f"{what}: a {type(shape).__name__} cannot be covered by spheres; expected a bounded solid")


def _mesh_parts(mesh: Mesh) -> list[Part]:
    if mesh.collide_as == "hull":
        return [Part(mesh.hull.vertices)]
    if mesh.collide_as == "decomposition":
        return [Part(corners(np.asarray(piece))) for piece in mesh.convex_pieces or ()]
    if mesh.collide_as == "box":
        return [Part(_box(mesh.aabb))]
    if mesh.collide_as == "sphere":
        return [Part(np.zeros((1, 3)), mesh.bounding_radius)]
    return [Part(mesh.vertices[f]) for f in mesh.faces]


def _box(aabb: Array) -> Array:
    return np.array([[aabb[i, 0], aabb[j, 1], aabb[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


def _ball() -> tuple[Array, float]:
    """Points on the unit sphere, and by what they are multiplied so that their hull contains it."""
    points = unit_sphere_points(2)
    hull = convex_hull(points)
    a, b, c = (hull.vertices[hull.faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    return points, float(1.0 / np.min(np.sum(normal * a, axis=1) / np.linalg.norm(normal, axis=1)))


def moved(parts: Sequence[Part], X: Array) -> list[Part]:
    """The parts, in a frame in which their axes have the pose X (4, 4)."""
    return [Part(part.points @ X[:3, :3].T + X[:3, 3], part.radius) for part in parts]


@entry("i8(f8[:,::1],f8[::1],i8,f8[::1])")
def enclose(points, radii, rounds, out):
    """A sphere about balls: centre and radius to `out` (4,), which holds a centre to begin at."""
    x, y, z, least = out[0], out[1], out[2], math.inf
    for k in range(rounds):
        far, reach, distance = 0, -1.0, 0.0
        for i in range(points.shape[0]):
            a, b, c = points[i, 0] - x, points[i, 1] - y, points[i, 2] - z
            d = math.sqrt(a * a + b * b + c * c)
            if d + radii[i] > reach:
                far, reach, distance = i, d + radii[i], d
        if reach < least:
            least, out[0], out[1], out[2], out[3] = reach, x, y, z, reach
        if distance == 0.0:
            break
        share = reach / (distance * (k + 2.0))
        x += share * (points[far, 0] - x)
        y += share * (points[far, 1] - y)
        z += share * (points[far, 2] - z)
    return 0


def small_sphere(parts: Sequence[Part]) -> tuple[Array, float]:
    """Centre and radius [m] of a sphere about all parts, a few percent larger than the smallest at most.

    Source: Badoiu and Clarkson, "Smaller core-sets for balls", SODA 2003.
    """
    points = np.ascontiguousarray(np.concatenate([part.points for part in parts]))
    radii = np.concatenate([np.full(len(part.points), part.radius) for part in parts])
    out = np.append(0.5 * (points.min(axis=0) + points.max(axis=0)), 0.0)
    enclose(points, radii, ROUNDS if len(points) > 1 else 1, out)
    return out[:3], float(out[3]) * ROUNDING


def joined(trees: Sequence[SphereTree]) -> SphereTree:
    """One tree above several, two of them at a time."""
    first = trees[0]
    for second in trees[1:]:
        spheres = [
            Part(c[None], float(r)) for tree in (first, second) for c, r in zip(tree.centres, tree.radii, strict=True)
        ]
        centre, radius = small_sphere(spheres)
        n = len(first.radii)
        first = SphereTree(
            np.concatenate([centre[None], first.centres, second.centres]),
            np.concatenate([[radius], first.radii, second.radii]),
            np.concatenate([[1 + n + len(second.radii)], first.skip + 1, second.skip + 1 + n]),
            np.concatenate([[False], first.exact, second.exact]),
            max(first.reach, second.reach),
        )
    return first


class Cell:
    """A node while the tree is made."""

    def __init__(self, parts: list[Part], whole: Sequence[Part]):
        self.parts, self.whole = parts, whole
        self.centre, self.radius = small_sphere(parts)
        self.children: tuple[Cell, ...] = ()

    @property
    def is_ball(self) -> bool:
        """Whether it is what it covers."""
        return len(self.parts) == 1 and len(self.parts[0].points) == 1

    @cached_property
    def excess(self) -> float:
        """How far the sphere stands out of the whole shape [m]; 0: halving it does not help."""
        if self.is_ball:
            return 0.0
        if len(self.whole) > MOST_MEASURED:
            return self.radius
        x = self.centre + self.radius * unit_sphere_points(2)
        beyond = np.minimum.reduce([part.outside(x) for part in self.whole]).max()
        return min(self.radius, float(beyond))  # of flat parts it is not known

    def halve(self) -> bool:
        """Make children; returns whether there are two."""
        low = np.minimum.reduce([part.points.min(axis=0) - part.radius for part in self.parts])
        high = np.maximum.reduce([part.points.max(axis=0) + part.radius for part in self.parts])
        for axis in np.argsort(low - high, kind="stable"):
            middle = 0.5 * (low[axis] + high[axis])
            sides: tuple[list[Part], list[Part]] = ([], [])
            for part in self.parts:
                for side, half in zip(sides, part.halves(int(axis), float(middle)), strict=True):
                    if half is not None:
                        side.append(half)
            if sides[0] and sides[1]:
                self.children = (Cell(sides[0], self.whole), Cell(sides[1], self.whole))
                return True
        return False


@dataclass
class SphereTree:
    """Spheres over a shape, a parent before its children.

    Attributes:
        centres: (n, 3) [m].
        radii: (n,) [m].
        skip: (n,) where to go on if nothing of a node is of interest: behind all that is below it.
        exact: (n,) whether a sphere is one of the finest, and a ball is what it covers.
        reach: most that a point of the parts, without their radius, is from the origin [m].
    """

    centres: Array
    radii: Array
    skip: NDArray[np.int64]
    exact: NDArray[np.bool_]
    reach: float

    @property
    def leaves(self) -> NDArray[np.bool_]:
        """Which spheres are the finest; they cover the shape by themselves."""
        return self.skip == np.arange(len(self.skip)) + 1


def sphere_tree(parts: Sequence[Part], tolerance: float, most: int) -> SphereTree:
    """A tree of spheres whose leaves cover all parts.

    Args:
        parts: what to cover.
        tolerance: how far a finest sphere may stand out of the parts [m].
        most: finest spheres at most; those that stand out farthest are halved first.
    """
    root = Cell(list(parts), parts)
    waiting: list[tuple[float, int, Cell]] = [(-root.excess, 0, root)]
    number, leaves = 1, 1
    while waiting and leaves < most:
        excess, _, cell = heappop(waiting)
        if -excess <= tolerance:
            break
        if cell.halve():
            leaves += 1
            for child in cell.children:
                heappush(waiting, (-child.excess, number, child))
                number += 1
    centres: list[Array] = []
    radii: list[float] = []
    skip: list[int] = []
    exact: list[bool] = []

    def write(cell: Cell) -> None:
        k = len(radii)
        centres.append(cell.centre)
        radii.append(cell.radius)
        skip.append(0)
        exact.append(cell.is_ball and not cell.children)
        for child in cell.children:
            write(child)
        skip[k] = len(radii)

    write(root)
    reach = max(float(np.linalg.norm(part.points, axis=1).max()) for part in parts)
    return SphereTree(np.array(centres), np.array(radii), np.array(skip, np.int64), np.array(exact), reach)
