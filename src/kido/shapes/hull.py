"""Convex hulls: triangles, and the flat polygons that they make up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from kido.errors import ShapeError

FLAT = 1e-9  # a point cloud thinner than this fraction of its size is flat
THICKNESS = 1e-4  # thickness given to a flat hull, as a fraction of its size
COPLANAR = 1e-6  # triangles within this fraction of the size of one plane are one polygon


class Hull(NamedTuple):
    """A convex polyhedron.

    Attributes:
        vertices: corners (n,3) [m].
        faces: triangles (m,3), indices of vertices, counterclockwise seen from outside.
    """

    vertices: np.ndarray
    faces: np.ndarray


def convex_hull(points: np.ndarray, what: str = "mesh") -> Hull:
    """Convex hull of points (n,3) [m].

    A flat cloud becomes a plate of a thickness of 1e-4 of its size, so that it has an inside.

    Raises:
        ShapeError: the points lie on one line, or are fewer than three.
    """
    points = np.unique(np.asarray(points, dtype=float), axis=0)
    centre = points.mean(axis=0)
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    spread = np.linalg.svd(points - centre, full_matrices=len(points) < 3)
    thickness = np.ptp((points - centre) @ spread[2].T, axis=0)
    if len(points) < 3 or thickness[1] <= FLAT * size:
        raise ShapeError(f"{what}: its {len(points)} distinct vertices lie on a line and have no convex hull")
    if thickness[2] <= FLAT * size:
        shift = 0.5 * THICKNESS * size * spread[2][2]
        points = np.concatenate([points - shift, points + shift])
    try:
        found = ConvexHull(points)
    except QhullError as error:
        raise ShapeError(f"{what}: no convex hull: {str(error).splitlines()[0]}") from None
    used = np.sort(found.vertices)
    number = np.full(len(points), -1)
    number[used] = np.arange(len(used))
    faces = number[found.simplices]
    vertices = points[used]
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    return Hull(vertices, faces)


def polygons(hull: Hull) -> list[np.ndarray]:
    """The flat faces of a hull as loops of vertex indices, counterclockwise seen from outside.

    Triangles that lie in one plane, within 1e-6 of the hull's size, are merged into one polygon.
    """
    vertices, faces = hull
    tolerance = COPLANAR * float(np.linalg.norm(np.ptp(vertices, axis=0)))
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    cross = np.cross(b - a, c - a)
    area = np.linalg.norm(cross, axis=1)
    normal = cross / np.maximum(area, 1e-300)[:, None]
    owner = {(int(f[k]), int(f[(k + 1) % 3])): i for i, f in enumerate(faces) for k in range(3)}
    done = np.zeros(len(faces), bool)
    loops: list[np.ndarray] = []
    for seed in np.argsort(-area, kind="stable"):
        if done[seed]:
            continue
        done[seed] = True
        member, waiting = {int(seed)}, [int(seed)]
        offset = normal[seed] @ vertices[faces[seed, 0]]
        while waiting:
            f = faces[waiting.pop()]
            for k in range(3):
                other = owner.get((int(f[(k + 1) % 3]), int(f[k])), -1)
                if other < 0 or done[other]:
                    continue
                if np.abs(vertices[faces[other]] @ normal[seed] - offset).max() <= tolerance:
                    done[other] = True
                    member.add(other)
                    waiting.append(other)
        loop = _boundary(faces, sorted(member))
        if len(loop) >= 3:
            loops.append(loop)
    return loops


def _boundary(faces: np.ndarray, member: list[int]) -> np.ndarray:
    """Outer loop of a patch of triangles."""
    edges = {(int(f[k]), int(f[(k + 1) % 3])) for f in faces[member] for k in range(3)}
    following = {a: b for a, b in edges if (b, a) not in edges}
    start = min(following)
    loop, at = [start], following[start]
    while at != start and len(loop) <= len(following):
        loop.append(at)
        at = following[at]
    return np.array(loop)
