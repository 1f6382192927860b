"""Soft bodies in SKEL files."""

from __future__ import annotations

from typing import Any

from kido.io.writers.text import add, number, vector, xyz_angles
from kido.io.xml import Element
from kido.shapes.soft_mesh import SKIN_ELEMENTS
from kido.skeleton import SoftBodyNode

__all__ = ["add_soft_shape", "is_known"]


def is_known(body: SoftBodyNode) -> bool:
    """Whether SKEL has the skin's shape and its masses, which are equal."""
    masses = body.point_masses
    return body.skin.mesh.built is not None and bool((masses == masses[0]).all())


def add_soft_shape(element: Element, body: SoftBodyNode) -> None:
    """Add the ``<soft_shape>`` of a soft body to its ``<body>``."""
    skin: Any = body.skin
    X = skin.relative_transform
    soft = add(element, "soft_shape")
    add(soft, "total_mass", number(body.total_mass))
    add(soft, "transformation", f"{vector(X[:3, 3])} {vector(xyz_angles(X[:3, :3]))}")
    geometry = add(soft, "geometry")
    kind, *sizes = skin.shape.built
    shape = add(geometry, kind)
    for (name, factor), value in zip(SKIN_ELEMENTS[kind].items(), sizes, strict=True):
        add(shape, name, _text(value, factor))
    for name, value in (("kv", body.kv), ("ke", body.ke), ("damp", body.kd)):
        add(soft, name, number(value))


def _text(value: Any, factor: float) -> str:
    """Whole numbers as they are; lengths with all their digits."""
    if isinstance(value, list):
        return " ".join(_text(item, factor) for item in value)
    return number(factor * value) if isinstance(value, float) else str(value)
