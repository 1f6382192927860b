"""Shapes of SKEL bodies: the element ``<geometry>`` and what surrounds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kido.errors import MeshNotFoundError
from kido.io.fields import located
from kido.io.meshes import load_mesh
from kido.io.resources import ResourceFinder
from kido.io.shapes import primitive_types, read_primitive
from kido.io.skel.fields import note_unknown, pose, unit_vector
from kido.io.xml import Node
from kido.shapes import Mesh, MultiSphereHull, Plane, Shape, SoftMesh, Sphere
from kido.shapes.soft_mesh import SKIN_ELEMENTS

__all__ = ["Part", "SoftPart", "read_part", "read_soft"]

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


def read_part(node: Node, finder: ResourceFinder, owner: str) -> Part | None:
    """Read a ``<visualization_shape>`` or ``<collision_shape>``; None for one that is left out.

    `finder` finds its meshes; `owner` names the body in remarks.
    """
    note_unknown(node, _KNOWN_CHILDREN, owner)
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
    try:
        with located(kind), np.errstate(over="ignore", invalid="ignore"):
            geometry = reader(kind, finder, owner)
    except MeshNotFoundError as error:
        if node.remarks.strict or node.tag != "visualization_shape":
            raise
        kind.remark(f"{owner}: mesh '{error.uri}' is left out, also from a moment of inertia by shapes: {error.reason}")
        return None
    if geometry is None:
        return None
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
        color=_color(node, owner),
        moment_kind=geometry.moment_kind,
    )


def _color(node: Node, owner: str) -> tuple[float, ...] | None:
    colors = node.children("color")
    if len(colors) > 1:
        node.remarks.once(f"{owner}: of {len(colors)} colors in <{node.tag}> the first was taken")
    return _rgba(colors)


def _rgba(colors: list[Node]) -> tuple[float, ...] | None:
    return tuple(float(value) for value in colors[0].text_vector((3, 4))) if colors else None


def _read_primitive(node: Node, finder: ResourceFinder, owner: str) -> _Geometry | None:
    shape = read_primitive(node, _TYPES[node.tag], "skel", node.child_number, lambda name: node.child_vector(name, 3))
    return None if shape is None else _Geometry(shape)


def _read_plane(node: Node, finder: ResourceFinder, owner: str) -> _Geometry:
    normal = unit_vector(node, "normal")
    if node.child("offset") is None and node.child("point") is not None:
        offset = float(normal @ node.child_vector("point", 3))
    else:
        offset = node.child_number("offset", 0.0)
    return _Geometry(Plane(tuple(normal), offset), moment_kind="none")


def _mesh(node: Node, finder: ResourceFinder, owner: str, what: str = "mesh") -> Mesh:
    name = node.require("file_name")
    if not name.text:
        raise name.error(f"<file_name> of a {what} of {owner} is empty; expected the path of a mesh file")
    scale = node.child_vector("scale", 3, default=np.ones(3))
    if what == "mesh" and (scale == 0.0).any():
        raise node.require("scale").error(f"<scale> of the mesh '{name.text}' holds a zero; expected factors")
    return load_mesh(
        finder.find(name.text),
        scale.tolist(),
        remark=lambda text: node.remarks.once(f"{owner}: {text}"),
        strict=node.remarks.strict,
    )


def _read_mesh(node: Node, finder: ResourceFinder, owner: str) -> _Geometry:
    return _Geometry(_mesh(node, finder, owner), moment_kind="box")


def _read_multi_sphere(node: Node, finder: ResourceFinder, owner: str) -> _Geometry:
    spheres = node.children("sphere")
    if not spheres:
        raise node.error(f"<multi_sphere> of {owner} holds no <sphere>")
    radii = np.array([sphere.child_length("radius") for sphere in spheres])
    centers = np.array([sphere.child_vector("position", 3) for sphere in spheres])
    if len(spheres) == 1:
        transform = np.eye(4)
        transform[:3, 3] = centers[0]
        return _Geometry(Sphere(float(radii[0])), transform, "box")
    return _Geometry(MultiSphereHull(centers, radii), moment_kind="box")


_READERS: dict[str, Callable[[Node, ResourceFinder, str], _Geometry | None]] = {
    **dict.fromkeys(_TYPES, _read_primitive),
    "plane": _read_plane,
    "mesh": _read_mesh,
    "multi_sphere": _read_multi_sphere,
}


CHILDREN = ("total_mass", "transformation", "geometry", "kv", "ke", "damp", "color")
DEFAULT_SOFT_MASS, DEFAULT_KV, DEFAULT_KE, DEFAULT_KD = 1.0, 1.0, 1.0, 0.01
DEFAULT_POINTS = 3
DEFAULT_COUNTS = {"num_slices": 8, "num_stacks": 8, "num_rings": 2}
KINDS = (*SKIN_ELEMENTS, "mesh")


@dataclass(frozen=True)
class SoftPart:
    """A skin as the file describes it; `transform` is its shape's frame in the body's frame (4x4)."""

    node: Node
    shape: SoftMesh
    transform: np.ndarray
    total_mass: float
    kv: float
    ke: float
    kd: float
    color: tuple[float, ...] | None


def read_soft(node: Node, finder: ResourceFinder, owner: str) -> SoftPart:
    """Read a ``<soft_shape>``; `finder` finds its mesh, `owner` names the body in remarks."""
    note_unknown(node, CHILDREN, owner)
    geometry = node.require("geometry")
    kinds = geometry.children()
    if len(kinds) != 1 or kinds[0].tag not in KINDS:
        names = ", ".join(f"<{kind.tag}>" for kind in kinds) or "nothing"
        raise geometry.error(f"the soft <geometry> of {owner} holds {names}; expected one of {', '.join(KINDS)}")
    with located(kinds[0]):
        shape = _read_shape(kinds[0], finder, owner)
    colors = node.children("color")
    part = SoftPart(
        node=node,
        shape=shape,
        transform=pose(node),
        total_mass=node.child_number("total_mass", DEFAULT_SOFT_MASS),
        kv=node.child_number("kv", DEFAULT_KV),
        ke=node.child_number("ke", DEFAULT_KE),
        kd=node.child_number("damp", DEFAULT_KD),
        color=_rgba(colors),
    )
    if part.total_mass <= 0.0:
        raise node.require("total_mass").error(
            f"<total_mass> of {owner} is {part.total_mass:g} kg; expected more than 0"
        )
    return part


def _count(node: Node, tag: str, default: int, owner: str) -> Any:  # checked by the shape
    if node.child(tag) is None:
        node.remarks.once(f"{owner}: <{node.tag}> of its soft shape has no <{tag}>; it is {default}")
    return node.child_number(tag, float(default))


def _read_shape(node: Node, finder: ResourceFinder, owner: str) -> SoftMesh:
    def argument(tag: str, factor: float) -> Any:
        if tag in DEFAULT_COUNTS:
            return _count(node, tag, DEFAULT_COUNTS[tag], owner)
        return node.child_vector(tag, 3) / factor if tag == "size" else node.child_number(tag) / factor

    if node.tag == "mesh":
        return SoftMesh.from_mesh(_mesh(node, finder, owner, "soft mesh"))
    if node.tag == "box":
        if node.child("frags") is None:
            node.remarks.once(
                f"{owner}: <box> of its soft shape has no <frags>; it has {DEFAULT_POINTS} points an edge"
            )
        points = node.child_vector("frags", 3, default=np.full(3, float(DEFAULT_POINTS)))
        if (points < DEFAULT_POINTS).any():
            node.remarks.once(
                f"{owner}: <frags> of its soft box: at least {DEFAULT_POINTS} points an edge, as DART has it"
            )
            points = np.maximum(points, DEFAULT_POINTS)
        return SoftMesh.box(node.child_vector("size", 3), points)
    return getattr(SoftMesh, node.tag)(*(argument(tag, by) for tag, by in SKIN_ELEMENTS[node.tag].items()))
