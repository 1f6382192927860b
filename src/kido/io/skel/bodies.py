"""Bodies of SKEL skeletons: pose, inertia, shapes and markers.

A missing ``<moment_of_inertia>`` is that of the body's shapes, visual and collision alike, about the
centre of mass, as DART derives it: the mass is shared among the shapes in proportion to their volumes, each
is a solid of uniform density at its place, and their moments about the centre of mass (wherever the file puts
it) are added. A mesh or a multi_sphere counts as a box of its size about its frame's origin; planes and soft
shapes do not count.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kido.io.fields import located
from kido.io.mechanism import symmetric
from kido.io.resources import ResourceFinder
from kido.io.skel.fields import note_unknown, pose
from kido.io.skel.shapes import Part, SoftPart, read_part, read_soft
from kido.io.xml import Node, Remarks
from kido.shapes import Box, Shape
from kido.skeleton import BodyNode, Inertia, Marker

__all__ = ["SkelBody", "add_markers", "add_shapes", "read_body"]

DEFAULT_MASS = 1.0
DEFAULT_MOMENT = np.eye(3)
THIN = 1e-6  # thickness of the box around a flat mesh, as a fraction of its size
BODY_CHILDREN = (
    "transformation",
    "gravity",
    "inertia",
    "visualization_shape",
    "collision_shape",
    "soft_shape",
    "soft",
    "marker",
)


@dataclass
class SkelBody:
    """A ``<body>`` as the file describes it; `pose` is its 4x4 pose in the world at zero joint positions."""

    name: str
    node: Node
    pose: np.ndarray
    gravity: bool
    inertia: Inertia
    has_inertia: bool
    parts: list[Part] = field(default_factory=list)
    soft: SoftPart | None = None

    @property
    def mass(self) -> float:
        """Mass with that of a soft skin [kg]."""
        return self.inertia.mass + (0.0 if self.soft is None else self.soft.total_mass)


def read_body(node: Node, skeleton_pose: np.ndarray, finder: ResourceFinder, visuals: bool) -> SkelBody:
    """Read a ``<body>``.

    With `visuals` False, visualization shapes are left out (and meshes among them are not looked for).
    """
    name = node.required_attribute("name")
    owner = f"body '{name}'"
    note_unknown(node, BODY_CHILDREN, owner)
    parts = _read_parts(node, finder, visuals, owner)
    return SkelBody(
        name=name,
        node=node,
        pose=skeleton_pose @ pose(node),
        gravity=node.child_boolean("gravity", True),
        inertia=_read_inertia(node, parts, owner),
        has_inertia=node.child("inertia") is not None,
        parts=[part for part in parts if visuals or part.collision],
        soft=_read_softs(node, finder, owner),
    )


def add_shapes(body: BodyNode, description: SkelBody) -> None:
    """Give a body of a skeleton the shapes of its description."""
    for part in description.parts:
        with located(part.node):
            body.add_shape(
                part.shape,
                transform=part.transform,
                visual=part.visual,
                collision=part.collision,
                color=part.color,
            )


def add_markers(body: BodyNode, description: SkelBody) -> None:
    """Give a body of a skeleton the markers of its description: points in body axes."""
    for node in description.node.children("marker"):
        name = node.required_attribute("name")
        note_unknown(node, ("offset",), f"marker '{name}'")
        offset = node.child_vector("offset", 3, default=np.zeros(3))
        with located(node):
            marker = body.create_node(Marker, name, offset)
        if marker.name != name:
            node.remarks.once(f"marker '{name}' of body '{body.name}': the name is taken; it is called '{marker.name}'")


def _read_parts(node: Node, finder: ResourceFinder, visuals: bool, owner: str) -> list[Part]:
    parts: list[Part | None] = []
    for shape_node in node.children("visualization_shape"):
        geometry = shape_node.child("geometry")
        if not visuals and geometry is not None and geometry.children("mesh"):
            node.remarks.once(f"{owner}: its visual mesh was left out, also from its moment of inertia if not given")
            continue
        parts.append(read_part(shape_node, finder, owner))
    parts.extend(read_part(shape_node, finder, owner) for shape_node in node.children("collision_shape"))
    return [part for part in parts if part is not None]


def _read_softs(node: Node, finder: ResourceFinder, owner: str) -> SoftPart | None:
    softs = node.children("soft_shape", "soft")
    if len(softs) > 1:
        node.remarks.once(f"{owner}: of {len(softs)} soft shapes the first was taken")
    return read_soft(softs[0], finder, owner) if softs else None


def _read_inertia(node: Node, parts: list[Part], owner: str) -> Inertia:
    inertia = node.child("inertia")
    if inertia is None:
        return Inertia(DEFAULT_MASS, moment=DEFAULT_MOMENT)
    note_unknown(inertia, ("mass", "offset", "moment_of_inertia"), owner)
    mass = inertia.child_number("mass")
    if mass < 0.0:
        raise inertia.require("mass").error(f"the mass of {owner} is {mass:g} kg; expected at least 0")
    com = inertia.child_vector("offset", 3, default=np.zeros(3))
    moment_node = inertia.child("moment_of_inertia")
    with located(inertia if moment_node is None else moment_node):
        if moment_node is None:
            moment = _moment_of_shapes(mass, com, parts, owner, node.remarks)
        else:
            entries = moment_node
            moment = symmetric(lambda key: entries.child_number(key, None if key[1] == key[2] else 0.0))
        result = Inertia(mass, com=com, moment=moment)
    principal = np.linalg.eigvalsh(moment)
    if principal[2] > (principal[0] + principal[1]) * (1.0 + 1e-9):
        node.remarks.once(
            f"{owner}: its principal moments {', '.join(f'{value:.4g}' for value in principal)} kg m^2 are "
            f"those of no body: the largest is above the sum of the others"
        )
    return result


def _moment_of_shapes(mass: float, com: np.ndarray, parts: list[Part], owner: str, remarks: Remarks) -> np.ndarray:
    if mass == 0.0:
        return np.zeros((3, 3))
    solids = [_solid(part) for part in parts if part.moment_kind != "none"]
    if not solids:
        remarks.once(f"{owner}: no moment of inertia and no shape to take it from; it has 1 kg m^2 about every axis")
        return DEFAULT_MOMENT
    volume = sum(shape.volume for shape, _ in solids)
    moment = np.zeros((3, 3))
    with np.errstate(over="ignore", invalid="ignore"):  # the sum is checked by whom it is given to
        for shape, transform in solids:
            part = Inertia.from_shape(shape, mass=mass * (shape.volume / volume), transform=transform)
            arm = part.com - com
            moment += part.moment + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return moment


def _solid(part: Part) -> tuple[Shape, np.ndarray]:
    """The solid that stands for a shape in the moment of inertia, and its place in the body."""
    if part.moment_kind == "solid":
        return part.shape, part.transform
    lower, upper = part.shape.aabb
    return Box(tuple(np.maximum(upper - lower, THIN * (upper - lower).max()))), part.transform
