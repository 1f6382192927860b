"""URDF geometry to shapes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from kido.errors import FileFormatError, KidoError, MeshNotFoundError, ShapeError
from kido.io.meshes import load_mesh
from kido.io.primitives import primitive_types, read_primitive
from kido.io.resources import ResourceFinder
from kido.io.xml import Node
from kido.shapes import Mesh, Shape

__all__ = ["ShapeReader", "color_of_visual", "read_materials"]

_TYPES = primitive_types("urdf")

Color = tuple[float, ...]


def read_materials(root: Node, remarks: list[str]) -> dict[str, Color]:
    """RGBA by name. A <material> with a colour defines its name for the whole file, wherever it stands.

    One directly in <robot> counts before those in visuals; of several, the first counts.
    """
    materials: dict[str, Color] = {}
    inline = (m for link in root.children("link") for v in link.children("visual") for m in v.children("material"))
    for node in (*root.children("material"), *inline):
        name = node.attribute("name", "")
        color = _own_color(node, remarks)
        if name and color is not None:
            materials.setdefault(name, color)
    return materials


def color_of_visual(visual: Node, materials: dict[str, Color], remarks: list[str]) -> Color | None:
    """RGBA of a <visual>: its own, or that of the material it names; None if it has none."""
    node = visual.child("material")
    if node is None:
        return None
    color = _own_color(node, [])
    if color is not None:
        return color
    name = node.attribute("name", "")
    if name and name not in materials and not _has_texture(node, visual):
        remarks.append(f"{node.path}:{node.line}: material '{name}' is not defined; its colour is left out")
    return materials.get(name)


def _own_color(node: Node, remarks: list[str]) -> Color | None:
    texture = node.child("texture")
    if texture is not None and texture.attribute("filename"):
        file = texture.attribute("filename")
        remarks.append(f"{node.path}:{texture.line}: texture '{file}' is left out: not supported")
    color = node.child("color")
    if color is None:
        return None
    values = color.vector("rgba", (3, 4))
    clipped = np.clip(values, 0.0, 1.0)
    if not np.array_equal(values, clipped):
        remarks.append(f"{node.path}:{color.line}: colour {values.tolist()} is outside of 0..1; taken as the nearest")
    return (*(float(v) for v in clipped), *((1.0,) if len(clipped) == 3 else ()))


def _has_texture(node: Node, visual: Node) -> bool:
    if node.child("texture") is not None:
        return True
    robot = visual.element.getroottree().getroot()
    name = node.attribute("name")
    return any(m.get("name") == name and m.find("texture") is not None for m in robot.iter("material"))


class ShapeReader:
    """Makes shapes of one model's geometry elements.

    `missing` is called with the text for each mesh that is not there, and None is returned for it; without
    it the MeshNotFoundError is raised. `remark` is called with what mesh files hold that is left out.
    """

    def __init__(
        self,
        finder: ResourceFinder,
        up_axis: str,
        remark: Callable[[str], None],
        missing: Callable[[str], None] | None,
    ) -> None:
        self._finder = finder
        self._up_axis = up_axis
        self._remark = remark
        self._missing = missing
        self._remarked: set[str] = set()

    def read(self, node: Node, switch: str) -> Shape | None:
        """Shape of a <box>, <cylinder>, <sphere>, <capsule> or <mesh>; None for a mesh that may be missing.

        `switch` is the reader's option that does without such shapes; messages name it.
        """
        try:
            if node.tag in _TYPES:
                return read_primitive(_TYPES[node.tag], "urdf", node.number, lambda name: node.vector(name, 3))
        except ShapeError as error:
            raise node.error(str(error)) from None
        return self._mesh(node, switch)

    def _mesh(self, node: Node, switch: str) -> Mesh | None:
        uri = node.required_attribute("filename")
        scale = node.vector("scale", (1, 3), (1.0, 1.0, 1.0))
        if (scale == 0.0).any():
            raise node.error(f"the scale of mesh '{uri}' is {scale.tolist()}; expected numbers other than zero")
        if len(scale) == 1:
            scale = np.full(3, scale[0])
        try:
            path = self._finder.find(uri)
        except MeshNotFoundError as error:
            if self._missing is None:
                reason = f"{error.reason} (to load the model without it: {switch} or missing_meshes='skip')"
                raise MeshNotFoundError(error.uri, error.tried, reason, node.path, node.line) from None
            self._missing(f"{node.path}:{node.line}: mesh '{uri}' is left out: {error.reason}")
            return None
        return self._load(node, path, scale)

    def _load(self, node: Node, path: Path, scale: np.ndarray) -> Mesh:
        try:
            return load_mesh(path, scale.tolist(), up_axis=self._up_axis, remark=self._once)
        except FileFormatError as error:
            where = f"{error.path}:{error.line}" if error.line else error.path
            raise node.error(f"mesh {where}: {error.reason}") from None
        except KidoError as error:
            raise node.error(str(error)) from None

    def _once(self, text: str) -> None:
        if text not in self._remarked:
            self._remarked.add(text)
            self._remark(text)
