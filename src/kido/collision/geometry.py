"""From shapes to what the detector computes with: a type, three sizes, a placement, a hull."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kido.collision.container import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    ELLIPSOID,
    HULL,
    PLANE,
    SPHERE,
    WORK,
)
from kido.errors import ShapeError
from kido.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, Hull, Mesh, Plane, Shape, Sphere
from kido.shapes.hull import polygons

HUGE = 1e100


class Geometry(NamedTuple):
    """What the detector knows of a shape.

    Attributes:
        kind: type code, see `container`.
        size: three numbers, by type: radius; half edges; radius and half height; half axes [m].
        transform: (4,4) from the detector's shape axes to the shape's own axes.
        reach: half the diagonal of the bounding box [m].
        hull: of a mesh.
    """

    kind: int
    size: tuple[float, float, float]
    transform: np.ndarray
    reach: float
    hull: Hull | None = None


def geometry(shape: Shape) -> Geometry:
    """The detector's view of a shape; ShapeError for a shape it does not know."""
    place = np.eye(4)
    if isinstance(shape, Plane):
        normal = np.array(shape.normal)
        other = np.eye(3)[np.argmin(np.abs(normal))]
        x = np.cross(other, normal)
        x /= np.linalg.norm(x)
        place[:3, :3] = np.column_stack([x, np.cross(normal, x), normal])
        if np.array_equal(normal, [0.0, 0.0, 1.0]):
            place[:3, :3] = np.eye(3)
        place[:3, 3] = shape.offset * normal
        return Geometry(PLANE, (0.0, 0.0, 0.0), place, HUGE)
    reach = 0.5 * float(np.linalg.norm(np.ptp(shape.aabb, axis=0)))
    match shape:
        case Sphere():
            return Geometry(SPHERE, (shape.radius, 0.0, 0.0), place, reach)
        case Box():
            x, y, z = shape.size
            return Geometry(BOX, (0.5 * x, 0.5 * y, 0.5 * z), place, reach)
        case Capsule():
            return Geometry(CAPSULE, (shape.radius, 0.5 * shape.height, 0.0), place, reach)
        case Cylinder():
            return Geometry(CYLINDER, (shape.radius, 0.5 * shape.height, 0.0), place, reach)
        case Cone():
            return Geometry(CONE, (shape.radius, 0.5 * shape.height, 0.0), place, reach)
        case Ellipsoid():
            return Geometry(ELLIPSOID, shape.radii, place, reach)
        case Mesh():
            return _mesh(shape, place, reach)
    raise ShapeError(f"the collision detector does not know the shape {type(shape).__name__}")


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
    return Geometry(HULL, (0.0, 0.0, 0.0), place, reach, mesh.hull)


def hull_arrays(hulls: list[Hull]) -> dict[str, np.ndarray]:
    """The hull fields of COLLISION for a list of hulls, one after the other."""
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
            # A face of very many corners is thinned out: clipping has room for WORK of them.
            step = -(-len(loop) // (WORK // 2))
            points = hull.vertices[loop]
            normal = np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)
            normals.append(normal / np.linalg.norm(normal))
            corners.extend(base + int(v) for v in loop[::step])
            loops.append(len(corners))
        face_firsts.append(len(normals))
        base += len(hull.vertices)
        firsts.append(base)

    def integers(values: list[int]) -> np.ndarray:
        return np.array(values, dtype=np.int64)

    return {
        "hull_first": integers(firsts),
        "hull_vertex": np.ascontiguousarray(np.concatenate(vertices)),
        "hull_start": np.ascontiguousarray(np.concatenate(starts)),
        "neighbor_first": integers(neighbor_firsts),
        "neighbor": integers(neighbors),
        "face_first": integers(face_firsts),
        "face_normal": np.array(normals, dtype=float).reshape(-1, 3),
        "face_loop": integers(loops),
        "face_vertex": integers(corners),
    }
