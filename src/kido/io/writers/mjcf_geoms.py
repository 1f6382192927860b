"""Shapes of bodies as geoms of MJCF."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from kido.io.fields import plane_axes
from kido.io.surfaces import left_out
from kido.io.writers.shapes import MeshStore, Placed, shapes_of
from kido.io.writers.unsupported import UnsupportedFeatures
from kido.io.xml import Element, add, number, vector
from kido.shapes import Box, Capsule, Cylinder, Ellipsoid, Heightmap, Mesh, Plane, Shape, Sphere
from kido.skeleton import BodyNode, Skeleton, TimeConstant

__all__ = ["GeomWriter"]

KINDS = (Sphere, Box, Capsule, Cylinder, Ellipsoid, Plane, Mesh, Heightmap)
BITS = (1 << 31) - 1  # of contype and conaffinity
NOT_SEEN = "3"  # group
HELD = ("friction", "torsional_friction", "rolling_friction", "friction_rule", "padding", "priority")


class GeomWriter:
    """Writes the geoms of one file.

    Args:
        assets: element for meshes and height fields.
        name: gives names that no other element of a kind has: (kind, name, prefix).
        skeletons: all that are written.

    Attributes:
        names: of shapes in the file.
    """

    def __init__(
        self,
        assets: Element,
        store: MeshStore,
        unsupported: UnsupportedFeatures,
        name: Callable[[str, str, str], str],
        skeletons: list[Skeleton],
    ):
        self.assets, self.store, self.unsupported, self.name = assets, store, unsupported, name
        self.names: dict[Any, str] = {}
        shapes = [n for skeleton in skeletons for body in skeleton.bodies for n in body.shapes if n.collision]
        self._masked = any((int(n.collision_category) & int(n.collision_mask) & BITS) != BITS for n in shapes)
        self._made: dict[int, str] = {}

    def add(self, element: Element, body: BodyNode) -> None:
        """Write the shapes of a body."""
        for placed in shapes_of(body, KINDS, self.unsupported):
            self._add(element, body, placed)

    def _add(self, element: Element, body: BodyNode, placed: Placed) -> None:
        node, X = placed.node, np.array(placed.transform)
        name = self.names[node] = self.name("geom", node.name, body.name)
        made = add(element, "geom", name=name)
        local = self._geometry(made, placed.shape, f"{body.name}_{node.name}")
        X = X @ local
        made.set("pos", vector(X[:3, 3]))
        if not np.array_equal(X[:3, :3], np.eye(3)):
            made.set("quat", vector(Rotation.from_matrix(X[:3, :3]).as_quat(scalar_first=True)))
        if placed.color is not None:
            made.set("rgba", vector(placed.color))
        if not node.visual:
            made.set("group", NOT_SEEN)
        if node.collision:
            self._touch(made, node)
        else:
            made.set("contype", "0")
            made.set("conaffinity", "0")

    def _geometry(self, made: Element, shape: Shape, label: str) -> np.ndarray:
        """Write type and size. Returns the pose of the geom in the shape."""
        local = np.eye(4)
        kind, size = type(shape).__name__.lower(), None
        if isinstance(shape, Sphere):
            size = [shape.radius]
        elif isinstance(shape, Box):
            size = 0.5 * np.asarray(shape.size)
        elif isinstance(shape, Capsule | Cylinder):
            size = [shape.radius, 0.5 * shape.height]
        elif isinstance(shape, Ellipsoid):
            size = np.asarray(shape.radii)
        elif isinstance(shape, Plane):
            normal = np.asarray(shape.normal)
            local[:3, :3] = np.column_stack([*plane_axes(normal), normal])
            local[:3, 3] = shape.offset * normal
            size = [0.0, 0.0, 1.0]
        elif isinstance(shape, Heightmap):
            kind = "hfield"
            made.set("hfield", self._heightmap(shape, label))
            local[2, 3] = float(np.min(shape.heights))
        elif isinstance(shape, Mesh):
            made.set("mesh", self._mesh(shape, label))
        made.set("type", kind)
        if size is not None:
            made.set("size", vector(size))
        return local

    def _mesh(self, mesh: Mesh, label: str) -> str:
        if id(mesh) not in self._made:
            file, scale = self.store.place(mesh, label)
            name = self._made[id(mesh)] = self.name("mesh", label, "mesh")
            add(self.assets, "mesh", name=name, file=file, scale=vector(scale))
        return self._made[id(mesh)]

    def _heightmap(self, shape: Heightmap, label: str) -> str:
        if id(shape) not in self._made:
            heights = np.asarray(shape.heights)
            rows, columns = heights.shape
            top = max(float(np.ptp(heights)), 1e-6)
            half = 0.5 * np.asarray(shape.spacing) * (columns - 1, rows - 1)
            name = self._made[id(shape)] = self.name("hfield", label, "hfield")
            add(
                self.assets,
                "hfield",
                name=name,
                nrow=str(rows),
                ncol=str(columns),
                size=vector([*half, top, max(0.1 * top, 0.1)]),
                elevation=vector(((heights - heights.min()) / top)[::-1].ravel()),
            )
        return self._made[id(shape)]

    def _touch(self, made: Element, node: Any) -> None:
        surface, where = node.surface, f"shape '{node.name}' of '{node.body.name}'"
        category, mask = int(node.collision_category), int(node.collision_mask)
        if self._masked:  # else all have the format's default, one bit in both
            made.set("contype", str(category & BITS))
            made.set("conaffinity", str(mask & BITS))
            if category > BITS:
                self.unsupported.remark(f"{where}: its collision category has no bit in the file")
        slide, spin, roll = surface.friction, surface.torsional_friction, surface.rolling_friction
        made.set("condim", "6" if roll else "4" if spin else "3" if slide else "1")
        made.set("friction", vector([slide, spin, roll]))
        if surface.padding:
            made.set("margin", number(surface.padding))
        if surface.priority:
            made.set("priority", str(int(surface.priority)))
        if isinstance(surface.softness, TimeConstant):
            made.set("solref", f"{number(surface.softness.time_constant)} {number(surface.softness.damping_ratio)}")
        elif surface.softness is not None:
            self.unsupported.remark(f"{where}: its softness is left out")
        for name in left_out(surface, HELD):
            if name != "softness":
                self.unsupported.remark(f"{where}: its {name.replace('_', ' ')} is left out")
