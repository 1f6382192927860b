"""Bullet's collision detection (Coumans), through pybullet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from kido.collision.container import HULL, PLANE
from kido.collision.detectors.base import unknown
from kido.collision.external import NarrowPhase, Points, as_points
from kido.collision.geometry import Geometry, primitive
from kido.collision.group import CollisionDetector
from kido.collision.primitives import BOX, CAPSULE, CYLINDER, SPHERE
from kido.libraries import library
from kido.shapes import convex_hull

_ROUND = 24  # corners of the circle that a cone's base becomes, and of an ellipsoid's equator
_BATCH = 4096  # rays of one call


@dataclass(frozen=True)
class BulletCollisionDetector(CollisionDetector):
    """Bullet by pybullet (extra `bullet`).

    Cones and ellipsoids are convex polyhedra there, meshes their convex hulls. It casts rays (first hits).
    """

    name: ClassVar[str] = "bullet"

    def narrow_phase(self) -> type[NarrowPhase]:
        library("pybullet", "collision detection by Bullet", "bullet")
        return BulletShapes


class BulletShapes(NarrowPhase):
    """Shapes as Bullet has them, in a world of their own."""

    def __init__(self, geometries: list[Geometry]):
        bullet = self.bullet = library("pybullet", "collision detection by Bullet", "bullet")
        self.client: int = bullet.connect(bullet.DIRECT)
        self.reach = [g.reach for g in geometries]
        self.bodies = [bullet.createMultiBody(0.0, self._shape(g), physicsClientId=self.client) for g in geometries]
        self.shape_of = {body: k for k, body in enumerate(self.bodies)}
        self.position = np.zeros((len(geometries), 3))

    def _shape(self, g: Geometry) -> int:
        bullet = self.bullet
        a, b, c = g.size
        if g.kind == PLANE:
            arguments: dict[str, Any] = {"shapeType": bullet.GEOM_PLANE, "planeNormal": [0.0, 0.0, 1.0]}
        elif g.kind == SPHERE:
            arguments = {"shapeType": bullet.GEOM_SPHERE, "radius": a}
        elif g.kind == BOX:
            arguments = {"shapeType": bullet.GEOM_BOX, "halfExtents": [a, b, c]}
        elif g.kind == CAPSULE:
            arguments = {"shapeType": bullet.GEOM_CAPSULE, "radius": a, "height": 2.0 * b}
        elif g.kind == CYLINDER:
            arguments = {"shapeType": bullet.GEOM_CYLINDER, "radius": a, "height": 2.0 * b}
        else:
            corners = _corners(g)
            if corners is None:
                raise unknown("Bullet", g)
            arguments = {"shapeType": bullet.GEOM_MESH, "vertices": corners.tolist()}
        return bullet.createCollisionShape(physicsClientId=self.client, **arguments)

    def place(self, rotation: np.ndarray, position: np.ndarray) -> None:
        turns = (
            scipy.spatial.transform.Rotation.from_matrix(rotation.reshape(-1, 3, 3)).as_quat() if len(rotation) else []
        )
        for body, p, turn in zip(self.bodies, position, turns, strict=True):
            self.bullet.resetBasePositionAndOrientation(body, p, turn, physicsClientId=self.client)
        self.position[:] = position

    def _closest(self, a: int, b: int, margin: float) -> list[Any]:
        return self.bullet.getClosestPoints(self.bodies[a], self.bodies[b], margin, physicsClientId=self.client)

    def contacts(self, pairs: np.ndarray, margin: float) -> Points:
        rows, number = [], []
        for k, (a, b) in enumerate(pairs.tolist()):
            for found in self._closest(a, b, margin):
                gap, normal = found[8], -np.asarray(found[7])  # Bullet's normal points from b to a
                if gap < margin:
                    rows.append([*(0.5 * (np.asarray(found[5]) + np.asarray(found[6]))), *normal, gap])
                    number.append(k)
        return as_points(rows, number)

    def distance(self, a: int, b: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        reach = min(self.reach[a], self.reach[b])
        limit = 2.0 * float(np.linalg.norm(self.position[a] - self.position[b])) + 4.0 * reach + 1.0
        if max(self.reach[a], self.reach[b]) < 1e99:
            limit += 4.0 * max(self.reach[a], self.reach[b])
        found = self._closest(a, b, limit)
        if not found:
            nothing = np.full(3, np.nan)
            return np.inf, nothing, nothing, nothing
        nearest = min(found, key=lambda point: point[8])
        return float(nearest[8]), np.array(nearest[5]), np.array(nearest[6]), -np.array(nearest[7])

    def cast(self, starts: np.ndarray, ends: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        which, numbers = np.full(len(starts), -1), np.zeros((len(starts), 4))
        for shape, body in enumerate(self.bodies):
            bits = 1 if shape < len(wanted) and wanted[shape] else 0
            self.bullet.setCollisionFilterGroupMask(body, -1, bits, bits, physicsClientId=self.client)
        for first in range(0, len(starts), _BATCH):
            rows = slice(first, first + _BATCH)
            hits = self.bullet.rayTestBatch(
                starts[rows].tolist(), ends[rows].tolist(), collisionFilterMask=1, physicsClientId=self.client
            )
            for k, (body, _, fraction, _, normal) in enumerate(hits, start=first):
                if body >= 0:
                    which[k] = self.shape_of[body]
                    numbers[k] = [fraction, *normal]
        return which, numbers

    def close(self) -> None:
        if self.client >= 0:
            self.bullet.disconnect(physicsClientId=self.client)
            self.client = -1

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # at exit the library may be gone already
            self.client = -1


def _corners(g: Geometry) -> np.ndarray | None:
    """Vertices of a convex body that Bullet has no primitive for; None if it is no such body."""
    if g.kind == HULL and g.hull is not None:
        return convex_hull(g.hull.vertices).vertices
    shape = primitive(g)
    return None if shape is None else shape.surface_points(_ROUND, _ROUND // 2)
