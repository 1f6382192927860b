"""URDF geometry to shapes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kido.io.fields import direction, read_rgba
from kido.io.resources import ResourceFinder
from kido.io.shapes import MeshReader, primitive_types, read_primitive
from kido.io.xml import Node
from kido.shapes import Plane, Shape

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

    def read(self, node: Node, visual: bool, visuals: Iterable[Node] = ()) -> Shape | None:
        """Shape of a <box>, <cylinder>, <sphere>, <capsule>, <mesh> or <plane>; None for one that is left out.

        `visuals` are the shapes by which the link of one that collides is seen.
        """
        if node.tag in _TYPES:
            return read_primitive(
                node, _TYPES[node.tag], "urdf", node.number, lambda name: node.vector(name, 3, surplus=True)
            )
        if node.tag == "plane":
            x, y, z = direction(node, node.vector("normal", 3, (0.0, 0.0, 1.0)))
            return Plane((float(x), float(y), float(z)))
        if node.tag == "cdf":
            node.remark(f"<cdf> '{node.attribute('filename', '')}' is left out: distance fields are not read")
            return None
        scale = node.vector("scale", (1, 3), (1.0, 1.0, 1.0), surplus=True)
        uri = node.required_attribute("filename")
        switch = f"{'visuals' if visual else 'collisions'}=False or "
        same = [other for other in visuals if other.attribute("scale") == node.attribute("scale")]
        seen = [other.attribute("filename", "") for other in same if other.tag == "mesh"]
        return self.mesh(node, uri, np.broadcast_to(scale, 3), self.finder, switch, visual=visual, seen=seen)
