"""Coal (formerly HPP-FCL; Montaut, Le Lidec, Petrik, Sivic and Carpentier 2022)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kido.attributes import dataclass
from kido.collision.container import HULL
from kido.collision.detectors.base import primitive, unknown
from kido.collision.external import NarrowPhase, Points, as_points
from kido.collision.geometry import Geometry
from kido.collision.group import CollisionDetector
from kido.libraries import library

_ACCURACY = 1e-6  # [m] of GJK and EPA; finer ones make its EPA fail on round shapes


@dataclass(frozen=True)
class CoalCollisionDetector(CollisionDetector):
    """Coal (extra `coal`): one contact a pair and step by GJK and EPA; manifolds grow from step to step.

    Its contact patches are not used: they say nothing of the gap at their corners. Meshes collide as their convex
    hulls. It casts no rays.
    """

    name: ClassVar[str] = "coal"

    def narrow_phase(self) -> type[NarrowPhase]:
        library("coal", "collision detection by Coal", "coal")
        return CoalShapes


class CoalShapes(NarrowPhase):
    """Shapes as Coal has them."""

    def __init__(self, geometries: list[Geometry]):
        coal = self.coal = library("coal", "collision detection by Coal", "coal")
        self.shapes = [self._shape(g) for g in geometries]
        self.poses = [coal.Transform3s.Identity() for _ in geometries]
        self.request = coal.CollisionRequest()
        self.request.num_max_contacts = 1
        self.request.enable_contact = True
        self.query = coal.DistanceRequest()
        self.query.enable_signed_distance = True
        for request in (self.request, self.query):
            request.gjk_tolerance = _ACCURACY
            request.epa_tolerance = _ACCURACY
            request.gjk_max_iterations = request.epa_max_iterations = 300

    def _shape(self, g: Geometry) -> Any:
        coal = self.coal
        simple = primitive(coal, g)
        if simple is not None:
            return simple
        if g.kind == HULL and g.hull is not None:
            vertices, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
            for v in g.hull.vertices:
                vertices.append(v)
            for f in g.hull.faces:
                faces.append(coal.Triangle(*(int(k) for k in f)))
            return coal.Convex(vertices, faces)
        raise unknown("Coal", g)

    def place(self, rotation: np.ndarray, position: np.ndarray) -> None:
        for pose, R, p in zip(self.poses, rotation, position, strict=True):
            pose.setRotation(R.reshape(3, 3))
            pose.setTranslation(p)

    def contacts(self, pairs: np.ndarray, margin: float) -> Points:
        coal = self.coal
        self.request.security_margin = margin
        rows, number = [], []
        for k, (a, b) in enumerate(pairs.tolist()):
            result = coal.CollisionResult()
            coal.collide(self.shapes[a], self.poses[a], self.shapes[b], self.poses[b], self.request, result)
            if not result.isCollision():
                continue
            contact = result.getContact(0)
            normal, gap = np.asarray(contact.normal), float(contact.penetration_depth)
            if gap >= margin or not np.isfinite(gap):
                continue
            point_a, point_b = np.asarray(contact.getNearestPoint1()), np.asarray(contact.getNearestPoint2())
            rows.append([*(0.5 * (point_a + point_b)), *normal, gap])
            number.append(k)
        return as_points(rows, number)

    def distance(self, a: int, b: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        result = self.coal.DistanceResult()
        gap = self.coal.distance(self.shapes[a], self.poses[a], self.shapes[b], self.poses[b], self.query, result)
        return (
            float(gap),
            np.array(result.getNearestPoint1()),
            np.array(result.getNearestPoint2()),
            np.array(result.normal),
        )
