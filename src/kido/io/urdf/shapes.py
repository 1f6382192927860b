"""URDF geometry to shapes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kido.errors import ShapeError
from kido.io.fields import read_rgba
from kido.io.resources import ResourceFinder
from kido.io.shapes import MeshReader, primitive_types, read_primitive
from kido.io.xml import Node
from kido.shapes import Shape

__all__ = ["ShapeReader", "color_of_visual", "read_materials"]

_TYPES = primitive_types("urdf")

Color = tuple[float, ...]


def read_materials(root: Node) -> dict[str, Color]:
    """RGBA by name. A <material> with a colour defines its name for the whole file, wherever it stands.

    One directly in <robot> counts before those in visuals; of several, the first counts.
    """
    materials: dict[str, Color] = {}
    inline = (m for link in root.children("link") for v in link.children("visual") for m in v.children("material"))
    for node in (*root.children("material"), *inline):
        name = node.attribute("name", "")
        color = _own_color(node)
        if name and color is not None:
            materials.setdefault(name, color)
    return materials


def color_of_visual(visual: Node, materials: dict[str, Color]) -> Color | None:
    """RGBA of a <visual>: its own, or that of the material it names; None if it has none."""
    node = visual.child("material")
    if node is None:
        return None
    color = _own_color(node)
    if color is not None:
        return color
    name = node.attribute("name", "")
    if name and name not in materials and not _has_texture(node, visual):
        node.remark(f"material '{name}' is not defined; its colour is left out")
    return materials.get(name)


def _own_color(node: Node) -> Color | None:
    texture = node.child("texture")
    if texture is not None and texture.attribute("filename"):
        file = texture.attribute("filename")
        texture.remark(f"texture '{file}' is left out: not supported")
    color = node.child("color")
    return None if color is None else read_rgba(color, color.vector("rgba", (3, 4)))


def _has_texture(node: Node, visual: Node) -> bool:
    if node.child("texture") is not None:
        return True
    robot = visual.element.getroottree().getroot()
    name = node.attribute("name")
    return any(m.get("name") == name and m.find("texture") is not None for m in robot.iter("material"))


@dataclass(frozen=True)
class ShapeReader(MeshReader):
    """Makes shapes of one model's geometry elements."""

    finder: ResourceFinder

    def read(self, node: Node, switch: str) -> Shape | None:
        """Shape of a <box>, <cylinder>, <sphere>, <capsule> or <mesh>; None for a mesh that may be missing.

        `switch` is the reader's option that does without such shapes; messages name it.
        """
        try:
            if node.tag in _TYPES:
                return read_primitive(_TYPES[node.tag], "urdf", node.number, lambda name: node.vector(name, 3))
        except ShapeError as error:
            raise node.error(str(error)) from None
        scale = node.vector("scale", (1, 3), (1.0, 1.0, 1.0))
        uri = node.required_attribute("filename")
        return self.mesh(node, uri, np.broadcast_to(scale, 3), self.finder, f"{switch} or ")
