"""FCL, the Flexible Collision Library (Pan, Chitta and Manocha 2012), through python-fcl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kido.collision.container import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, HULL, PLANE, SPHERE
from kido.collision.detectors.base import CollisionDetector, library, unknown
from kido.collision.external import NarrowPhase, Points, as_points
from kido.collision.geometry import Geometry

MOST = 16  # contacts asked of a pair


@dataclass(frozen=True)
class FCLCollisionDetector(CollisionDetector):
    """FCL by python-fcl (extra `fcl`).

    Meshes collide as their convex hulls. FCL gives contacts only where shapes overlap; those within the margin are
    its nearest points. It casts no rays.
    """

    name: ClassVar[str] = "fcl"

    def _narrow(self) -> type[NarrowPhase]:
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
        a, b, c = g.size
        if g.kind == PLANE:
            return fcl.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
        if g.kind == SPHERE:
            return fcl.Sphere(a)
        if g.kind == BOX:
            return fcl.Box(2.0 * a, 2.0 * b, 2.0 * c)
        if g.kind == CAPSULE:
            return fcl.Capsule(a, 2.0 * b)
        if g.kind == CYLINDER:
            return fcl.Cylinder(a, 2.0 * b)
        if g.kind == CONE:
            return fcl.Cone(a, 2.0 * b)
        if g.kind == ELLIPSOID:
            return fcl.Ellipsoid(a, b, c)
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
        fcl = self.fcl
        request = fcl.CollisionRequest(num_max_contacts=MOST, enable_contact=True)
        rows, number = [], []
        for k, (a, b) in enumerate(pairs.tolist()):
            result = fcl.CollisionResult()
            fcl.collide(self.objects[a], self.objects[b], request, result)
            for contact in result.contacts:
                normal = np.asarray(contact.normal)
                size = float(np.linalg.norm(normal))
                if size > 0.5 and np.isfinite(contact.penetration_depth):
                    rows.append([*contact.pos, *(normal / size), -abs(contact.penetration_depth)])
                    number.append(k)
            if not result.contacts and margin > 0.0:
                gap, point_a, point_b, normal = self.distance(a, b)
                if 0.0 <= gap < margin and np.isfinite(normal).all():
                    rows.append([*(0.5 * (point_a + point_b)), *normal, gap])
                    number.append(k)
        return as_points(rows, number)

    def distance(self, a: int, b: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        fcl = self.fcl
        result = fcl.CollisionResult()
        request = fcl.CollisionRequest(num_max_contacts=MOST, enable_contact=True)
        fcl.collide(self.objects[a], self.objects[b], request, result)
        if result.contacts:
            deepest = max(result.contacts, key=lambda contact: abs(contact.penetration_depth))
            depth = abs(deepest.penetration_depth)
            normal = np.asarray(deepest.normal) / np.linalg.norm(deepest.normal)
            point = np.asarray(deepest.pos)
            return -depth, point + 0.5 * depth * normal, point - 0.5 * depth * normal, normal
        if self.is_plane[a] or self.is_plane[b]:
            return self._from_plane(a, b)
        found = fcl.DistanceResult()
        fcl.distance(self.objects[a], self.objects[b], fcl.DistanceRequest(enable_nearest_points=True), found)
        point_a, point_b = (np.asarray(p, dtype=float) for p in found.nearest_points)
        gap = float(found.min_distance)
        between = point_b - point_a
        size = float(np.linalg.norm(between))
        normal = between / size if size > 0.0 else np.full(3, np.nan)
        return gap, point_a, point_b, normal

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
