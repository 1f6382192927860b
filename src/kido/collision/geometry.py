"""From shapes to what the detector computes with: a type, three sizes, a placement, a hull."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kido.collision.compound import Compound, Piece, Surface, SurfacePatch, surface
from kido.collision.container import (
    COMPOUND,
    FACE,
    HEIGHTMAP,
    HUGE,
    HULL,
    MAX_POINTS,
    PLANE,
    SKIN_POINT,
    SPHERES,
    TYPE_NAMES,
)
from kido.collision.primitives import BOX, CAPSULE, SPHERE
from kido.errors import ShapeError
from kido.shapes import (
    Heightmap,
    Hull,
    LineSegment,
    Mesh,
    MultiSphereHull,
    Plane,
    PointCloud,
    Primitive,
    Pyramid,
    Shape,
    VoxelGrid,
)
from kido.shapes.hull import convex_hull, polygons, second_moments
from kido.shapes.primitives import PRIMITIVES


class Geometry(NamedTuple):
    """What the detector knows of a shape.

    Attributes:
        kind: type code, see `container`.
        size: three numbers, by type: radius; half edges; radius and half height; half axes [m].
        transform: (4,4) from the detector's shape axes to the shape's own axes.
        reach: half the diagonal of the bounding box [m].
        hull: of a polyhedron.
        balls: radii (n,) of a hull of balls less the smallest, whose centres are the vertices of `hull` [m].
        compound: parts of a shape that is not convex.
        heightmap: a height map, and what its heights are lowered by [m].
    """

    kind: int
    size: tuple[float, float, float]
    transform: np.ndarray
    reach: float
    hull: Hull | None = None
    balls: np.ndarray | None = None
    compound: Compound | None = None
    heightmap: tuple[Heightmap, float] | None = None


class SkinPoint(NamedTuple):
    """A point of a soft skin; where it is, is written at each step.

    Attributes:
        normal: of the surface at rest there, outwards, in the axes of its body.
    """

    normal: tuple[float, float, float]


class SkinFace(NamedTuple):
    """A triangle of a soft skin; where its corners are, is written at each step.

    Attributes:
        size: its longest edge at rest [m].
        depth: how far behind it something may be and still be pushed out through it [m].
    """

    size: float
    depth: float


def primitive(known: Geometry) -> Primitive | None:
    """The primitive of a geometry, in the detector's axes; None if it is none."""
    kind = PRIMITIVES.get(TYPE_NAMES[known.kind])
    return None if kind is None else kind.of_half_sizes(*known.size)


def _frame_on(normal: np.ndarray) -> np.ndarray:
    """Axes (3,3) whose third one is a unit normal."""
    if np.array_equal(normal, [0.0, 0.0, 1.0]):
        return np.eye(3)
    other = np.eye(3)[np.argmin(np.abs(normal))]
    x = np.cross(other, normal)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(normal, x), normal])


def geometry(shape: Shape | SkinPoint | SkinFace | SurfacePatch) -> Geometry:
    """The detector's view of a shape; ShapeError for a shape it does not know."""
    place = np.eye(4)
    if isinstance(shape, SkinPoint):
        place[:3, :3] = _frame_on(np.array(shape.normal))
        return Geometry(SKIN_POINT, (0.0, 0.0, 0.0), place, 0.0)
    if isinstance(shape, SkinFace):
        return Geometry(FACE, (shape.depth, 0.0, 0.0), place, shape.size)
    if isinstance(shape, SurfacePatch):
        points = shape.surface.vertices
        middle = points[: shape.corners].mean(axis=0)
        place[:3, 3] = middle
        half = np.maximum(np.abs(points[: shape.corners] - middle).max(axis=0), 0.5 * shape.depth)
        found = shape.surface._replace(vertices=points - middle)
        reach = float(np.linalg.norm(half))
        return Geometry(COMPOUND, _sizes(half), place, reach, compound=Compound(found, ()))
    if isinstance(shape, Plane):
        normal = np.array(shape.normal)
        place[:3, :3] = _frame_on(normal)
        place[:3, 3] = shape.offset * normal
        return Geometry(PLANE, (0.0, 0.0, 0.0), place, HUGE)
    reach = 0.5 * float(np.linalg.norm(np.ptp(shape.aabb, axis=0)))
    match shape:
        case Primitive():
            return Geometry(TYPE_NAMES.index(shape.kind()), shape.half_sizes, place, reach)
        case Pyramid():
            return _polyhedron(shape.hull, place, reach)
        case MultiSphereHull():
            least = float(shape.radii.min())
            middle = shape.centers.mean(axis=0)
            hull = Hull(shape.centers - middle, np.zeros((0, 3), np.int64))
            return Geometry(SPHERES, (least, 0.0, 0.0), _shifted(middle), reach, hull, shape.radii - least)
        case Heightmap():
            low, high = shape.aabb
            low[2] -= max(shape.size)  # what has sunk in is found as deep as the map is wide
            half, middle = 0.5 * (high - low), float(0.5 * (high + low)[2])
            place[2, 3] = middle
            reach = float(np.linalg.norm(half))
            return Geometry(HEIGHTMAP, _sizes(half), place, reach, heightmap=(shape, middle))
        case Mesh():
            return _mesh(shape, place, reach)
        case VoxelGrid():
            return _triangles(shape, *shape.surface, True, place, reach)
        case PointCloud():
            r = shape.radius
            pieces = [
                Piece(SPHERE, (r, 0.0, 0.0), _shifted(p), r * 3.0**0.5, np.array([p - r, p + r])) for p in shape.points
            ]
            return _compound(shape, pieces, place, reach)
        case LineSegment():
            pieces = [_wire(shape.vertices[a], shape.vertices[b], 0.5 * shape.thickness) for a, b in shape.connections]
            if len(pieces) == 1:
                return Geometry(CAPSULE, pieces[0].size, pieces[0].transform, pieces[0].reach)
            return _compound(shape, pieces, place, reach)
    if not shape.collides:
        raise ShapeError(f"{type(shape).__name__} is a shape for drawing only and never collides")
    raise ShapeError(f"the collision detector does not know the shape {type(shape).__name__}")


def inner_and_outer(shape: Shape | SkinPoint | SkinFace | SurfacePatch, known: Geometry) -> tuple[float, float]:
    """A quarter of the shape's least extent, and the radius about the detector's origin that holds it [m]."""
    if known.kind == PLANE or isinstance(shape, SkinPoint | SkinFace):
        return HUGE, HUGE
    if isinstance(shape, SurfacePatch):
        return 0.25 * shape.depth, known.reach
    low, high = shape.aabb
    outer = known.reach
    if known.hull is not None:
        balls = 0.0 if known.balls is None else known.size[0] + known.balls
        outer = float((np.linalg.norm(known.hull.vertices, axis=1) + balls).max())
    return 0.25 * float(np.min(high - low)), outer


def middle(shape: Shape | SkinPoint | SkinFace | SurfacePatch, known: Geometry) -> np.ndarray:
    """The centroid (3,) of a shape, or nearly, in the detector's axes [m].

    What turns fast turns about it, and of a convex shape it is within.
    """
    if isinstance(shape, Primitive):
        return shape.centroid - known.transform[:3, 3]
    if known.compound is None:
        return np.zeros(3)
    found = known.compound.surface
    if isinstance(shape, SurfacePatch):
        return np.zeros(3)
    if found is None:
        return np.mean([piece.transform[:3, 3] for piece in known.compound.pieces], axis=0)
    volume, centroid, _ = second_moments(found.vertices, found.triangles[:, :3])
    return centroid if found.closed and volume > 0.0 else found.vertices.mean(axis=0)


def _mesh(mesh: Mesh, place: np.ndarray, reach: float) -> Geometry:
    low, high = mesh.aabb
    if mesh.collide_as == "box":
        place[:3, 3] = 0.5 * (low + high)
        half = 0.5 * (high - low)
        return Geometry(BOX, (float(half[0]), float(half[1]), float(half[2])), place, reach)
    if mesh.collide_as == "sphere":
        centre = 0.5 * (low + high)
        place[:3, 3] = centre
        radius = float(np.linalg.norm(mesh.vertices - centre, axis=1).max())
        return Geometry(SPHERE, (radius, 0.0, 0.0), place, reach)
    if mesh.collide_as == "triangles":
        return _triangles(mesh, mesh.vertices, mesh.faces, mesh.closed, place, reach)
    if mesh.collide_as == "decomposition":
        hulls = [convex_hull(points, "piece of a mesh") for points in mesh.convex_pieces]
        pieces = []
        for hull in hulls:
            box = np.array([hull.vertices.min(axis=0), hull.vertices.max(axis=0)])
            middle = second_moments(*hull)[1]
            half = 0.5 * float(np.linalg.norm(box[1] - box[0]))
            local = Hull(hull.vertices - middle, hull.faces)
            pieces.append(Piece(HULL, (0.0, 0.0, 0.0), _shifted(middle), half, box, local))
        return _compound(mesh, pieces, place, reach)
    return _polyhedron(mesh.hull, place, reach)


def _polyhedron(hull: Hull, place: np.ndarray, reach: float) -> Geometry:
    """In axes about its centroid."""
    place[:3, 3] = second_moments(*hull)[1]
    return Geometry(HULL, (0.0, 0.0, 0.0), place, reach, Hull(hull.vertices - place[:3, 3], hull.faces))


def _sizes(values: np.ndarray) -> tuple[float, float, float]:
    return float(values[0]), float(values[1]), float(values[2])


def _shifted(position: np.ndarray) -> np.ndarray:
    place = np.eye(4)
    place[:3, 3] = position
    return place


def _wire(a: np.ndarray, b: np.ndarray, radius: float) -> Piece:
    """The capsule about the segment from a to b."""
    place = _shifted(0.5 * (a + b))
    z = (b - a) / np.linalg.norm(b - a)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    place[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    box = np.array([np.minimum(a, b) - radius, np.maximum(a, b) + radius])
    half = 0.5 * float(np.linalg.norm(b - a))
    return Piece(CAPSULE, (radius, half, 0.0), place, float(np.hypot(half + radius, 2.0**0.5 * radius)), box)


def _triangles(
    shape: Shape, vertices: np.ndarray, faces: np.ndarray, closed: bool, place: np.ndarray, reach: float
) -> Geometry:
    low, high = shape.aabb
    middle = 0.5 * (low + high)
    place[:3, 3] = middle
    found = surface(np.asarray(vertices) - middle, faces, closed, type(shape).__name__)
    return Geometry(COMPOUND, _sizes(0.5 * (high - low)), place, reach, compound=Compound(found, ()))


def _compound(shape: Shape, pieces: list[Piece], place: np.ndarray, reach: float) -> Geometry:
    low, high = shape.aabb
    middle = 0.5 * (low + high)
    place[:3, 3] = middle
    moved = [piece.about(middle) for piece in pieces]
    return Geometry(COMPOUND, _sizes(0.5 * (high - low)), place, reach, compound=Compound(None, moved))


def hull_arrays(
    hulls: list[Hull], balls: dict[int, np.ndarray], surfaces: list[Surface]
) -> tuple[dict[str, np.ndarray], list[int]]:
    """The hull fields of COLLISION: hulls, one after the other, then the vertices of surfaces.

    Args:
        hulls: polyhedra; vertices without faces for a hull of balls.
        balls: radii of the balls less the smallest, by the index of their hull.
        surfaces: of meshes.

    Returns:
        The arrays, and the index of each surface's first vertex.
    """
    vertices, starts, firsts = [np.zeros((0, 3))], [np.zeros((0, 6), np.int64)], [0]
    neighbors, neighbor_firsts = [], [0]
    normals, loops, corners, face_firsts = [], [0], [], [0]
    base = 0
    for hull in hulls:
        vertices.append(hull.vertices)
        extremes = [f(hull.vertices[:, i]) for i in range(3) for f in (np.argmin, np.argmax)]
        starts.append(np.array([extremes], np.int64) + base)
        joined: list[set[int]] = [set() for _ in hull.vertices]
        for face in hull.faces:
            for k in range(3):
                joined[face[k]].add(int(face[(k + 1) % 3]))
                joined[face[(k + 1) % 3]].add(int(face[k]))
        for others in joined:
            neighbors.extend(base + v for v in sorted(others))
            neighbor_firsts.append(len(neighbors))
        for loop in polygons(hull):
            # A face of very many corners is thinned out: clipping has room for MAX_POINTS of them.
            step = -(-len(loop) // (MAX_POINTS // 2))
            points = hull.vertices[loop]
            normal = np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)
            normals.append(normal / np.linalg.norm(normal))
            corners.extend(base + int(v) for v in loop[::step])
            loops.append(len(corners))
        face_firsts.append(len(normals))
        base += len(hull.vertices)
        firsts.append(base)
    radius = [balls.get(k, np.zeros(len(hull.vertices))) for k, hull in enumerate(hulls)]
    first_vertex = []
    for found in surfaces:
        first_vertex.append(base)
        vertices.append(found.vertices)
        radius.append(np.zeros(len(found.vertices)))
        for others in found.neighbors:
            neighbors.extend(base + v for v in others)
            neighbor_firsts.append(len(neighbors))
        base += len(found.vertices)

    def integers(values: list[int]) -> np.ndarray:
        return np.array(values, dtype=np.int64)

    arrays = {
        "hull_first": integers(firsts),
        "hull_vertex": np.ascontiguousarray(np.concatenate(vertices)),
        "hull_radius": np.concatenate([np.zeros(0), *radius]),
        "hull_start": np.ascontiguousarray(np.concatenate(starts)),
        "neighbor_first": integers(neighbor_firsts),
        "neighbor": integers(neighbors),
        "face_first": integers(face_firsts),
        "face_normal": np.array(normals, dtype=float).reshape(-1, 3),
        "face_loop": integers(loops),
        "face_vertex": integers(corners),
    }
    return arrays, first_vertex
