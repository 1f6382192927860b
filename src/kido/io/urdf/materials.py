"""Colours of URDF materials: global, inline, or named before they are defined."""

from __future__ import annotations

import numpy as np

from kido.io.xml import Node

__all__ = ["color_of_visual", "read_materials"]

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
