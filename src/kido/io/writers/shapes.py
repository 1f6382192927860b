"""Shapes of bodies as a format has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kido.io.writers.unsupported import UnsupportedFeatures
from kido.shapes import (
    Box,
    Cylinder,
    Heightmap,
    LineSegment,
    Mesh,
    MultiSphereHull,
    Plane,
    Primitive,
    Pyramid,
    Shape,
    VoxelGrid,
    convex_hull,
)
from kido.skeleton import BodyNode, ShapeNode

__all__ = ["Placed", "shapes_of"]

PLANE_SIZE = 1000.0  # [m] of the box that stands for a plane
RINGS, SECTORS = 16, 32


@dataclass(frozen=True)
class Placed:
    """A shape to be written, and its pose in the body."""

    node: ShapeNode
    shape: Shape
    transform: np.ndarray

    @property
    def color(self) -> tuple[float, ...] | None:
        """(r, g, b, a), or None."""
        color = self.node.color
        return None if color is None else (*color, *((1.0,) if len(color) == 3 else ()))


def shapes_of(body: BodyNode, kinds: tuple[type[Shape], ...], unsupported: UnsupportedFeatures) -> list[Placed]:
    """Shapes of a body; those that are of no kind the format has are approximated."""
    placed = []
    for node in body.shapes:
        shape, transform = node.shape, node.relative_transform
        if not isinstance(shape, kinds):
            what = f"shape '{node.name}' of body '{body.name}' ({type(shape).__name__})"
            shape, local = _approximated(shape, what, unsupported)
            transform = transform @ local
        if shape is not None:
            placed.append(Placed(node, shape, transform))
    return placed


def _approximated(shape: Shape, what: str, unsupported: UnsupportedFeatures) -> tuple[Shape | None, np.ndarray]:
    local = np.eye(4)
    if isinstance(shape, Plane):
        unsupported.approximated(what, f"a box {PLANE_SIZE:g} m wide")
        normal = np.array(shape.normal)
        local[:3, :3] = _basis(normal)
        local[:3, 3] = (shape.offset - 0.5 * PLANE_SIZE) * normal
        return Box((PLANE_SIZE, PLANE_SIZE, PLANE_SIZE)), local
    if isinstance(shape, LineSegment) and len(shape.connections) == 1:
        start, stop = shape.vertices[shape.connections[0]]
        local[:3, :3] = _basis((stop - start) / np.linalg.norm(stop - start))
        local[:3, 3] = 0.5 * (start + stop)
        unsupported.approximated(what, "a cylinder")
        return Cylinder(0.5 * shape.thickness, shape.length), local
    if isinstance(shape, Pyramid):
        return Mesh(*shape.hull), local
    if isinstance(shape, Heightmap | VoxelGrid):
        unsupported.approximated(what, "a mesh of its surface, whose convex hull collides")
        return Mesh(*(shape.surface if isinstance(shape, VoxelGrid) else (shape.vertices, shape.faces))), local
    if isinstance(shape, MultiSphereHull):
        unsupported.approximated(what, "a mesh with its corners on the surface")
        return Mesh(*shape.polyhedron()), local
    points = shape.surface_points(SECTORS, RINGS) if isinstance(shape, Primitive) else None
    if points is not None:
        unsupported.approximated(what, "a mesh with its corners on the surface")
        hull = convex_hull(points, what)
        return Mesh(hull.vertices, hull.faces), local
    unsupported.approximated(what, "nothing")
    return None, local


def _basis(normal: np.ndarray) -> np.ndarray:
    """A rotation (3, 3) whose third axis is a unit vector."""
    start = np.array([1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = np.cross(start, normal)
    first /= np.linalg.norm(first)
    return np.column_stack([first, np.cross(normal, first), normal])
