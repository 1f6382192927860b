"""FCL, the Flexible Collision Library (Pan, Chitta and Manocha 2012), through python-fcl."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kido.attributes import dataclass
from kido.collision.container import HULL, PLANE
from kido.collision.detectors.base import primitive, unknown
from kido.collision.external import NarrowPhase, Points, as_points
from kido.collision.geometry import Geometry
from kido.collision.group import CollisionDetector
from kido.collision.primitives import BOX
from kido.libraries import library

MAX_CONTACTS = 16  # contacts asked of a pair
MANIFOLD_COSINE = 0.9999  # cosine of normals of one manifold


@dataclass(frozen=True)
class FCLCollisionDetector(CollisionDetector):
    """FCL by python-fcl (extra `fcl`).

    Meshes collide as their convex hulls. Contacts are FCL's signed distances; what its collision query adds for boxes
    is taken where it agrees, because the depth that it gives is not the least one. A cone on a plane is wrong in FCL.
    It casts no rays.
    """

    name: ClassVar[str] = "fcl"

    def narrow_phase(self) -> type[NarrowPhase]:
        library("fcl", "collision detection by FCL", "fcl")
        return FCLShapes


class FCLShapes(NarrowPhase):
    """Shapes as FCL has them."""

    def __init__(self, geometries: list[Geometry]):
        self.fcl = library("fcl", "collision detection by FCL", "fcl")
        self.geometries = geometries
        self.objects = [self.fcl.CollisionObject(self._shape(g)) for g in geometries]
        self.is_plane = [g.kind == PLANE for g in geometries]
        self.rotation = np.zeros((len(geometries), 3, 3))
        self.position = np.zeros((len(geometries), 3))

    def _shape(self, g: Geometry) -> Any:
        fcl = self.fcl
        simple = primitive(fcl, g)
        if simple is not None:
            return simple
        if g.kind == HULL and g.hull is not None:
            faces = np.concatenate([np.full((len(g.hull.faces), 1), 3), g.hull.faces], axis=1).ravel()
            return fcl.Convex(g.hull.vertices, len(g.hull.faces), faces)
        raise unknown("FCL", g)

    def place(self, rotation: np.ndarray, position: np.ndarray) -> None:
        self.rotation[:] = rotation.reshape(-1, 3, 3)
        self.position[:] = position
        for thing, R, p in zip(self.objects, self.rotation, self.position, strict=True):
            thing.setTransform(self.fcl.Transform(R, p))

    def contacts(self, pairs: np.ndarray, margin: float) -> Points:
        rows, number = [], []
        for k, (a, b) in enumerate(pairs.tolist()):
            gap, point_a, point_b, normal = self.distance(a, b)
            if gap >= margin or not np.isfinite(normal).all():
                continue
            rows.append([*(0.5 * (point_a + point_b)), *normal, gap])
            number.append(k)
            flat = self.geometries[a].kind == self.geometries[b].kind == BOX  # only of boxes FCL finds several
            for contact in self._collisions(a, b) if flat else ():
                n = np.asarray(contact.normal)
                if n @ normal > MANIFOLD_COSINE * float(np.linalg.norm(n)) > 0.0:
                    rows.append([*contact.pos, *normal, -min(abs(contact.penetration_depth), abs(gap))])
                    number.append(k)
        return as_points(rows, number)

    def _collisions(self, a: int, b: int) -> list[Any]:
        """FCL's contacts of two shapes that overlap: several for boxes, with depths that are not always the least."""
        result = self.fcl.CollisionResult()
        request = self.fcl.CollisionRequest(num_max_contacts=MAX_CONTACTS, enable_contact=True)
        self.fcl.collide(self.objects[a], self.objects[b], request, result)
        return list(result.contacts)

    def distance(self, a: int, b: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        if self.is_plane[a] or self.is_plane[b]:
            return self._plane_distance(a, b)
        signed = self._nearest(a, b, True)
        return signed if signed[0] < 0.0 else self._nearest(a, b, False)  # the latter has closed forms

    def _nearest(self, a: int, b: int, signed: bool) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        fcl = self.fcl
        found = fcl.DistanceResult()
        request = fcl.DistanceRequest(enable_nearest_points=True, enable_signed_distance=signed)
        fcl.distance(self.objects[a], self.objects[b], request, found)
        gap = float(found.min_distance)
        point_a, point_b = (np.array(p, dtype=float) for p in found.nearest_points)
        between = (point_b - point_a) * (1.0 if gap >= 0.0 else -1.0)
        size = float(np.linalg.norm(between))
        if size > 0.0:
            return gap, point_a, point_b, between / size
        contacts = self._collisions(a, b)  # they just touch
        normal = np.asarray(contacts[0].normal) if contacts else np.full(3, np.nan)
        return gap, point_a, point_b, normal

    def _plane_distance(self, a: int, b: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        contacts = self._collisions(a, b)
        if not contacts:
            return self._from_plane(a, b)
        deepest = max(contacts, key=lambda contact: abs(contact.penetration_depth))
        depth = abs(deepest.penetration_depth)
        normal = np.asarray(deepest.normal) / np.linalg.norm(deepest.normal)
        point = np.asarray(deepest.pos)
        return -depth, point + 0.5 * depth * normal, point - 0.5 * depth * normal, normal

    def _from_plane(self, a: int, b: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """FCL takes no distances from half-spaces: the shape's depth in one that is moved up to hold it."""
        plane, other = (a, b) if self.is_plane[a] else (b, a)
        axis = self.rotation[plane][:, 2]
        lift = 2.0 * self.geometries[other].reach + max(0.0, axis @ (self.position[other] - self.position[plane]))
        lifted = self.fcl.CollisionObject(
            self.fcl.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0),
            self.fcl.Transform(self.rotation[plane], self.position[plane] + lift * axis),
        )
        result = self.fcl.CollisionResult()
        self.fcl.collide(lifted, self.objects[other], self.fcl.CollisionRequest(1, True), result)
        depth = abs(result.contacts[0].penetration_depth)
        normal = axis if plane == a else -axis
        # FCL's point is half way between the lifted surface and the lowest point of the shape.
        foot = np.asarray(result.contacts[0].pos) - 0.5 * depth * axis
        gap = lift - depth
        on_plane = foot - gap * axis
        return (gap, on_plane, foot, normal) if plane == a else (gap, foot, on_plane, normal)
