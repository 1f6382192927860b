"""Solids of triangles and points: convex hulls and their flat faces, moments, and convex decomposition."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from kido.errors import ShapeError
from kido.libraries import library
from kido.shapes.shape import LARGEST, SMALLEST, ArrayShape, checked_mass

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


class Solid(ArrayShape):
    """A shape whose volume, centroid and second moment are found together."""

    @cached_property
    @abstractmethod
    def _solid(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Volume [m^3], centroid (3,) [m] and second moment (3,3) about it, per unit density [m^5]."""

    @property
    def volume(self) -> float:
        return self._solid[0]

    @property
    def centroid(self) -> np.ndarray:
        return self._solid[1].copy()

    def moment(self, mass: float) -> np.ndarray:
        checked_mass(mass)
        volume, _, second = self._solid
        return (np.trace(second) * np.eye(3) - second) * (mass / volume)


def convex_hull(points: np.ndarray, what: str = "mesh") -> Hull:
    """Convex hull of points (n,3) [m].

    A flat cloud becomes a plate of a thickness of 1e-4 of its size, so that it has an inside.

    Raises:
        ShapeError: the points lie on one line, are fewer than three, or spread over less than 1e-60 m or more than
            1e60 m, where volumes are no numbers.
    """
    points = np.unique(np.asarray(points, dtype=float), axis=0)
    if not len(points) or not (np.abs(points) < LARGEST).all():
        raise ShapeError(f"{what}: {len(points)} distinct vertices; expected three within {LARGEST:g} m")
    centre = points.mean(axis=0)
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    if len(points) > 1 and size < SMALLEST:
        raise ShapeError(f"{what}: its size is {size:g} m; expected at least {SMALLEST:g} m")
    spread = np.linalg.svd(points - centre, full_matrices=len(points) < 3)
    thickness = np.ptp((points - centre) @ spread[2].T, axis=0)
    if len(points) < 3 or thickness[1] <= FLAT * size:
        raise ShapeError(f"{what}: its {len(points)} distinct vertices lie on a line and have no convex hull")
    if thickness[2] <= FLAT * size:
        shift = 0.5 * THICKNESS * size * spread[2][2]
        points = np.concatenate([points - shift, points + shift])
    try:
        found = scipy.spatial.ConvexHull(points)
    except scipy.spatial.QhullError as error:
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


def second_moments(vertices: np.ndarray, faces: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centroid (3,) and integral of r r^T (3,3) about the centroid of a closed triangle mesh.

    Sums over tetrahedra from the vertices' mean to each triangle: V = det/6 and
    int r r^T = V/20 (sum_k p_k p_k^T + s s^T), s = sum of the corners p_k.
    """
    origin = vertices.mean(axis=0)
    p = (vertices - origin)[faces]
    volume = np.einsum("ij,ij->i", p[:, 0], np.cross(p[:, 1], p[:, 2])) / 6.0
    total = float(volume.sum())
    s = p.sum(axis=1)
    centroid = (volume @ s) / (4.0 * total) if total else np.zeros(3)
    second = np.einsum("i,ikx,iky->xy", volume, p, p) + np.einsum("i,ix,iy->xy", volume, s, s)
    return total, origin + centroid, second / 20.0 - total * np.outer(centroid, centroid)


THRESHOLD = 0.05  # concavity, relative to the mesh's size, below which a piece is taken as convex


def convex_pieces(vertices: np.ndarray, faces: np.ndarray, threshold: float = THRESHOLD) -> tuple[np.ndarray, ...]:
    """Corners (n,3) of convex pieces that together are nearly the solid inside of a mesh [m].

    By CoACD (Wei, Liu, Ling and Su, Approximate Convex Decomposition for 3D Meshes with Collision-Aware Concavity
    and Tree Search, 2022), with a fixed seed.

    Raises:
        MissingExtraError: coacd is not installed.
        ShapeError: it found no pieces.
    """
    coacd = library("coacd", "convex decomposition of meshes", "decompose")
    coacd.set_log_level("error")
    pieces = coacd.run_coacd(coacd.Mesh(np.asarray(vertices), np.asarray(faces)), threshold=threshold, seed=0)
    if not pieces:
        raise ShapeError(f"a mesh of {len(faces)} triangles has no convex decomposition")
    return tuple(np.array(points, dtype=float) for points, _ in pieces)
