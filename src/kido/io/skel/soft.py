"""Soft shapes of SKEL bodies: skins of point masses.

``<geometry>`` is a box with ``<frags>`` points along each edge, an ellipsoid, sphere or cylinder with ``<num_slices>``
points around z and ``<num_stacks>`` intervals along it (a cylinder's caps have ``<num_rings>`` intervals), or a mesh,
whose corners are the points. The points share ``<total_mass>``. Source: DART's SoftBodyNodeHelper and SkelParser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kido.io.meshes import load_mesh
from kido.io.resources import ResourceFinder
from kido.io.skel.fields import located, note_unknown, pose
from kido.io.xml import Node
from kido.shapes import SoftMesh

__all__ = ["SoftPart", "read_soft"]

CHILDREN = ("total_mass", "transformation", "geometry", "kv", "ke", "damp", "color")
DEFAULT_MASS, DEFAULT_KV, DEFAULT_KE, DEFAULT_KD = 1.0, 1.0, 1.0, 0.01
DEFAULT_POINTS = 3
DEFAULT_SLICES, DEFAULT_STACKS, DEFAULT_RINGS = 8, 8, 2
KINDS = ("box", "sphere", "ellipsoid", "cylinder", "mesh")


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


def read_soft(node: Node, finder: ResourceFinder, owner: str, warnings: list[str]) -> SoftPart:
    """Read a ``<soft_shape>``; `finder` finds its mesh, `owner` names the body in remarks."""
    note_unknown(node, CHILDREN, owner, warnings)
    geometry = node.require("geometry")
    kinds = geometry.children()
    if len(kinds) != 1 or kinds[0].tag not in KINDS:
        names = ", ".join(f"<{kind.tag}>" for kind in kinds) or "nothing"
        raise geometry.error(f"the soft <geometry> of {owner} holds {names}; expected one of {', '.join(KINDS)}")
    with located(kinds[0]):
        shape = _read_shape(kinds[0], finder, owner, warnings)
    colors = node.children("color")
    part = SoftPart(
        node=node,
        shape=shape,
        transform=pose(node),
        total_mass=node.child_number("total_mass", DEFAULT_MASS),
        kv=node.child_number("kv", DEFAULT_KV),
        ke=node.child_number("ke", DEFAULT_KE),
        kd=node.child_number("damp", DEFAULT_KD),
        color=tuple(float(value) for value in colors[0].text_vector((3, 4))) if colors else None,
    )
    if part.total_mass <= 0.0:
        raise node.require("total_mass").error(
            f"<total_mass> of {owner} is {part.total_mass:g} kg; expected more than 0"
        )
    return part


def _count(node: Node, tag: str, default: int, owner: str, warnings: list[str]) -> Any:  # checked by the shape
    if node.child(tag) is None:
        warnings.append(f"{owner}: <{node.tag}> of its soft shape has no <{tag}>; it is {default}")
    return node.child_number(tag, float(default))


def _read_shape(node: Node, finder: ResourceFinder, owner: str, warnings: list[str]) -> SoftMesh:
    def count(tag: str, default: int) -> int:
        return _count(node, tag, default, owner, warnings)

    if node.tag == "mesh":
        name = node.require("file_name")
        if not name.text:
            raise name.error(f"<file_name> of a soft mesh of {owner} is empty; expected the path of a mesh file")
        scale = node.child_vector("scale", 3, default=np.ones(3))
        mesh = load_mesh(
            finder.find(name.text), scale.tolist(), remark=lambda text: warnings.append(f"{owner}: {text}")
        )
        return SoftMesh.from_mesh(mesh)
    if node.tag == "box":
        if node.child("frags") is None:
            warnings.append(f"{owner}: <box> of its soft shape has no <frags>; it has {DEFAULT_POINTS} points an edge")
        points = node.child_vector("frags", 3, default=np.full(3, float(DEFAULT_POINTS)))
        if (points < DEFAULT_POINTS).any():
            warnings.append(
                f"{owner}: <frags> of its soft box: at least {DEFAULT_POINTS} points an edge, as DART has it"
            )
            points = np.maximum(points, DEFAULT_POINTS)
        return SoftMesh.box(node.child_vector("size", 3), points)
    if node.tag == "cylinder":
        return SoftMesh.cylinder(
            node.child_number("radius"),
            node.child_number("height"),
            count("num_slices", DEFAULT_SLICES),
            count("num_stacks", DEFAULT_STACKS),
            count("num_rings", DEFAULT_RINGS),
        )
    slices, stacks = count("num_slices", DEFAULT_SLICES), count("num_stacks", DEFAULT_STACKS)
    if node.tag == "sphere":
        return SoftMesh.sphere(node.child_number("radius"), slices, stacks)
    return SoftMesh.ellipsoid(0.5 * node.child_vector("size", 3), slices, stacks)
