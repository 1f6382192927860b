"""Colours of COLLADA materials. Nothing here raises: a material that cannot be read has no colour."""

from __future__ import annotations

from collections.abc import Mapping

from kido.io.meshes.triangles import Color
from kido.io.xml import Element

__all__ = ["material_color"]

SHADERS = ("phong", "lambert", "blinn", "constant")


def material_color(ids: Mapping[str, Element], material: str) -> Color | None:
    """Diffuse RGBA of a material (of a constant shader: emission); None for textures and broken materials."""
    element = ids.get(material)
    instance = element.find("{*}instance_effect") if element is not None else None
    effect = ids.get(instance.get("url", "").lstrip("#")) if instance is not None else None
    technique = effect.find("{*}profile_COMMON/{*}technique") if effect is not None else None
    if technique is None:
        return None
    for name in SHADERS:
        shader = technique.find(f"{{*}}{name}")
        if shader is not None:
            which = "emission" if name == "constant" else "diffuse"
            return _color(shader.find(f"{{*}}{which}/{{*}}color"))
    return None


def _color(element: Element | None) -> Color | None:
    if element is None:
        return None
    try:
        values = [min(1.0, max(0.0, float(word))) for word in (element.text or "").split()]
    except ValueError:
        return None
    if len(values) not in (3, 4) or any(value != value for value in values):
        return None
    return (values[0], values[1], values[2], values[3] if len(values) == 4 else 1.0)
