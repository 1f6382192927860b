"""Shapes of SKEL bodies: the element ``<geometry>`` and what surrounds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kido.io.meshes import load_mesh
from kido.io.primitives import primitive_types, read_primitive
from kido.io.resources import ResourceFinder
from kido.io.skel.fields import located, note_unknown, pose, unit_vector
from kido.io.xml import Node
from kido.shapes import MultiSphereHull, Plane, Shape, Sphere

__all__ = ["Part", "read_part"]

_TYPES = primitive_types("skel")
_KNOWN_CHILDREN = ("transformation", "geometry", "color", "collidable")


@dataclass(frozen=True)
class Part:
    """A shape as a body carries it.

    `transform` is the shape's frame in the body's frame (4x4), `moment_kind` how the format derives a moment
    of inertia from the shape: "solid", "box" (a box of its size) or "none".
    """

    node: Node
    shape: Shape
    transform: np.ndarray
    visual: bool
    collision: bool
    color: tuple[float, ...] | None
    moment_kind: str


@dataclass(frozen=True)
class _Geometry:
    shape: Shape
    transform: np.ndarray | None = None
    moment_kind: str = "solid"


def read_part(node: Node, finder: ResourceFinder, owner: str, warnings: list[str]) -> Part:
    """Read a ``<visualization_shape>`` or ``<collision_shape>``.

    `finder` finds its meshes; `owner` names the body in remarks.
    """
    note_unknown(node, _KNOWN_CHILDREN, owner, warnings)
    geometry_node = node.require("geometry")
    kinds = geometry_node.children()
    if len(kinds) != 1:
        raise geometry_node.error(
            f"<geometry> of {owner} holds {len(kinds)} shapes; expected one of {', '.join(_READERS)}"
        )
    kind = kinds[0]
    reader = _READERS.get(kind.tag)
    if reader is None:
        raise kind.error(f"unknown shape <{kind.tag}> in {owner}; expected one of {', '.join(_READERS)}")
    with located(kind), np.errstate(over="ignore", invalid="ignore"):
        geometry = reader(kind, finder, owner, warnings)
    transform = pose(node)
    if geometry.transform is not None:
        transform = transform @ geometry.transform
    collision = node.tag == "collision_shape"
    collidable = node.child_boolean("collidable", True)
    return Part(
        node=node,
        shape=geometry.shape,
        transform=transform,
        visual=node.tag == "visualization_shape",
        collision=collision and collidable,
        color=_color(node, owner, warnings),
        moment_kind=geometry.moment_kind,
    )


def _color(node: Node, owner: str, warnings: list[str]) -> tuple[float, ...] | None:
    colors = node.children("color")
    if len(colors) > 1:
        warnings.append(f"{owner}: of {len(colors)} colors in <{node.tag}> the first was taken")
    return tuple(float(value) for value in colors[0].text_vector((3, 4))) if colors else None


def _positive(node: Node, tag: str) -> float:
    value = node.child_number(tag)
    if value <= 0.0:
        raise node.require(tag).error(f"<{tag}> of <{node.tag}> is {value:g}; expected a length greater than 0")
    return value


def _lengths(node: Node, tag: str) -> np.ndarray:
    size = node.child_vector(tag, 3)
    if (size <= 0.0).any():
        raise node.require(tag).error(
            f"<{tag}> of <{node.tag}> is {' '.join(f'{value:g}' for value in size)}; expected lengths greater than 0"
        )
    return size


def _read_primitive(node: Node, finder: ResourceFinder, owner: str, warnings: list[str]) -> _Geometry:
    kind = _TYPES[node.tag]
    return _Geometry(read_primitive(kind, "skel", lambda n: _positive(node, n), lambda n: _lengths(node, n)))


def _read_plane(node: Node, finder: ResourceFinder, owner: str, warnings: list[str]) -> _Geometry:
    normal = unit_vector(node, "normal")
    if node.child("offset") is None and node.child("point") is not None:
        offset = float(normal @ node.child_vector("point", 3))
    else:
        offset = node.child_number("offset", 0.0)
    return _Geometry(Plane(tuple(normal), offset), moment_kind="none")


def _read_mesh(node: Node, finder: ResourceFinder, owner: str, warnings: list[str]) -> _Geometry:
    name = node.require("file_name")
    if not name.text:
        raise name.error(f"<file_name> of a mesh of {owner} is empty; expected the path of a mesh file")
    scale = node.child_vector("scale", 3, default=np.ones(3))
    if (scale == 0.0).any():
        raise node.require("scale").error(f"<scale> of the mesh '{name.text}' holds a zero; expected factors")
    path = finder.find(name.text)
    mesh = load_mesh(path, scale.tolist(), remark=lambda text: warnings.append(f"{owner}: {text}"))
    return _Geometry(mesh, moment_kind="box")


def _read_multi_sphere(node: Node, finder: ResourceFinder, owner: str, warnings: list[str]) -> _Geometry:
    spheres = node.children("sphere")
    if not spheres:
        raise node.error(f"<multi_sphere> of {owner} holds no <sphere>")
    radii = np.array([_positive(sphere, "radius") for sphere in spheres])
    centers = np.array([sphere.child_vector("position", 3) for sphere in spheres])
    if len(spheres) == 1:
        transform = np.eye(4)
        transform[:3, 3] = centers[0]
        return _Geometry(Sphere(float(radii[0])), transform, "box")
    return _Geometry(MultiSphereHull(centers, radii), moment_kind="box")


_READERS: dict[str, Callable[[Node, ResourceFinder, str, list[str]], _Geometry]] = {
    **dict.fromkeys(_TYPES, _read_primitive),
    "plane": _read_plane,
    "mesh": _read_mesh,
    "multi_sphere": _read_multi_sphere,
}
