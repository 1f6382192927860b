"""Reader of VSK, the XML skeletons of Vicon.

What the format means here:

- Lengths are millimetres; a number may be the name of a parameter, or such with a minus before it.
- A segment's ``POSITION`` and ``ORIENTATION`` (an exponential map [rad]) place its joint in the parent segment:
  ``JointFree``, ``JointBall``, ``JointHardySpicer`` (``AXIS-PAIR``), ``JointHinge`` (``AXIS``), ``JointDummy`` (fixed).
- A joint is called "Joint-" and the segment's name; its coordinates are called as in DART's motions: ``Hips_tFree0``
  (translation) to ``Hips_aFree5``, ``Spine_aBall0``, ``LeftLeg_aHinge0``, ``LeftHand_aHardySpicer0``.
- The format has no shapes. As in DART, an ellipsoid along each ``POSITION``, 35 % of its length across, goes to the
  parent, and leaves that get none are removed. Where ``MASS`` is absent, the shapes are filled with ``DENSITY``.
- Y is up along the bodies; the root's joint turns it into Z, so coordinates are the file's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kido.attributes import named_arguments
from kido.io.bones import bone, inertia_of_shapes, turn, up, warn_of_massless
from kido.io.fields import direction, located
from kido.io.text import float_or_nan
from kido.io.xml import Node, Remarks, is_text, parse
from kido.skeleton import BallJoint, FreeJoint, Joint, Marker, RevoluteJoint, Skeleton, UniversalJoint, WeldJoint

__all__ = ["read"]

MILLIMETRE = 0.001
DENSITY = 1000.0  # [kg/m^3] where the file names none
FREE = ("aFree3", "aFree4", "aFree5", "tFree0", "tFree1", "tFree2")


@dataclass
class Segment:
    """A ``<Segment>``; `parent` is the index of its parent in the list of segments, `transform` its place there."""

    name: str
    node: Node
    parent: int | None
    transform: np.ndarray
    joint: Joint
    mass: float | None


@named_arguments
def read(source: str | Path, *, up_axis: str = "y", strict: bool = False) -> Skeleton:
    """Read a VSK file, or a text that starts with ``<``.

    Args:
        source: path of the file, or the text itself.
        up_axis: which axis of the file is up: "y", or "z" to leave its axes as they are.
        strict: refuse what is otherwise read with a warning, as in `kido.io.urdf.read`.

    Returns the skeleton, with its markers; `warnings` name what was left out. A file without segments gives an empty
    one, and says so.

    Raises:
        FileFormatError: path, line and reason.
        KidoError: an axis that does not exist.
    """
    start = up(up_axis)
    root = parse(source, remarks=Remarks(strict=strict))
    if root.tag != "KinematicModel":
        raise root.error(f"the root element is <{root.tag}>; expected <KinematicModel>")
    skeleton = Skeleton("skeleton" if is_text(source) else Path(source).stem)
    skeleton.uri = None if is_text(source) else str(source)
    numbers = _Numbers(root)
    described = root.child("Skeleton")
    if described is None or not described.children("Segment"):
        root.forgive("<KinematicModel> holds no <Segment>", "the skeleton is empty")
    else:
        density = described.number("DENSITY", DENSITY)
        if density < 0.0:
            raise described.error(f"DENSITY is {density:g} kg/m^3; expected at least 0")
        _build(skeleton, _read_segments(described, numbers), density, start)
    _add_markers(skeleton, root, numbers)
    skeleton.warnings.extend(root.remarks)
    warn_of_massless(skeleton)
    return skeleton


class _Numbers:
    """Numbers of attributes, which may be names of the file's parameters."""

    def __init__(self, root: Node) -> None:
        self.parameters: dict[str, float] = {}
        block = root.child("Parameters")
        for node in block.children("Parameter") if block is not None else []:
            name = node.required_attribute("NAME")
            if name in self.parameters:
                node.forgive(f"the parameter '{name}' is given twice", "the last one is taken")
            self.parameters[name] = node.number("VALUE")

    def vector(self, node: Node, key: str, size: int, default: Sequence[float] | None = None) -> np.ndarray:
        """Some numbers of an attribute (size,)."""
        if default is not None and not node.has(key):
            return np.array(default, dtype=float)
        words = node.required_attribute(key).split()
        if len(words) != size:
            raise node.error(f"{key} of {_named(node)} has {len(words)} numbers; expected {size}")
        return np.array([self._number(node, key, word) for word in words])

    def _number(self, node: Node, key: str, word: str) -> float:
        name = word.removeprefix("-")
        if name in self.parameters:
            return self.parameters[name] * (-1.0 if name != word else 1.0)
        value = float_or_nan(word)
        if not np.isfinite(value):
            raise node.error(
                f"{key} of {_named(node)}: '{word[:60]}' is neither a finite number nor a parameter's name"
            )
        return value


def _named(node: Node) -> str:
    return f"{node.tag} '{node.attribute('NAME', '')}'"


def _read_segments(described: Node, numbers: _Numbers) -> list[Segment]:
    """All segments, parents first."""
    found: list[Segment] = []
    lines: dict[str, int] = {}
    pending: list[tuple[Node, int | None]] = [(node, None) for node in reversed(described.children("Segment"))]
    while pending:
        node, parent = pending.pop()
        name = node.required_attribute("NAME")
        if name in lines:
            raise node.error(f"the name '{name}' of the segment is taken by the one in line {lines[name]}")
        lines[name] = node.line
        with located(node):
            X = turn(numbers.vector(node, "ORIENTATION", 3, (0, 0, 0)))
        X[:3, 3] = MILLIMETRE * numbers.vector(node, "POSITION", 3, (0, 0, 0))
        mass = node.number("MASS") if node.has("MASS") else None
        if mass is not None and mass < 0.0:
            raise node.error(f"MASS of segment '{name}' is {mass:g} kg; expected at least 0")
        with located(node):
            joint = _read_joint(node, name, numbers)
        found.append(Segment(name, node, parent, X, joint, mass))
        pending += [(child, len(found) - 1) for child in reversed(node.children("Segment"))]
    return found


def _read_joint(node: Node, segment: str, numbers: _Numbers) -> Joint:
    joints = [child for child in node if child.tag in _JOINTS]
    for child in node:
        if child.tag != "Segment" and child.tag not in _JOINTS:
            child.remark(f"<{child.tag}> in segment '{segment}' is not known and was left out")
    if len(joints) > 1:
        raise joints[1].error(f"segment '{segment}' has {len(joints)} joints; expected one")
    name = f"Joint-{segment}"
    if not joints:
        node.forgive(f"segment '{segment}' has no joint; expected one of {', '.join(_JOINTS)}", "it is fixed")
        return WeldJoint(name)
    kind, suffixes, axes = _JOINTS[joints[0].tag]
    names = {"dof_names": [f"{segment}_{suffix}" for suffix in suffixes]} if suffixes else {}
    return kind(name, *axes(joints[0], numbers), **names)


def _no_axes(node: Node, numbers: _Numbers) -> list[np.ndarray]:
    return []


def _axis(node: Node, numbers: _Numbers) -> list[np.ndarray]:
    return [direction(node, numbers.vector(node, "AXIS", 3))]


def _axis_pair(node: Node, numbers: _Numbers) -> list[np.ndarray]:
    return [direction(node, axis) for axis in numbers.vector(node, "AXIS-PAIR", 6).reshape(2, 3)]


_JOINTS: dict[str, tuple[type[Joint], tuple[str, ...], Callable[[Node, _Numbers], list[Any]]]] = {
    "JointFree": (FreeJoint, FREE, _no_axes),
    "JointBall": (BallJoint, ("aBall0", "aBall1", "aBall2"), _no_axes),
    "JointHardySpicer": (UniversalJoint, ("aHardySpicer0", "aHardySpicer1"), _axis_pair),
    "JointHinge": (RevoluteJoint, ("aHinge0",), _axis),
    "JointDummy": (WeldJoint, (), _no_axes),
}


def _build(skeleton: Skeleton, segments: list[Segment], density: float, start: np.ndarray) -> None:
    """Add the bodies of all segments but of those at the ends that nothing hangs on."""
    carries = [False] * len(segments)  # whether a segment has a shape, or a child that stays
    for k in range(len(segments) - 1, -1, -1):
        parent = segments[k].parent
        if parent is not None and (carries[k] or segments[k].transform[:3, 3].any()):
            carries[parent] = True
    for k, segment in enumerate(segments):
        if not carries[k] and not segment.mass:
            continue
        with located(segment.node):
            above = None if segment.parent is None else skeleton.body(segments[segment.parent].name)
            segment.joint.transform_from_parent = segment.transform if above is not None else start @ segment.transform
            skeleton.add_body(segment.name, segment.joint, above)
    kept = {body.name for body in skeleton.bodies}
    for segment in segments:
        if segment.parent is not None:
            with located(segment.node):
                bone(skeleton.body(segments[segment.parent].name), segment.transform[:3, 3])
    for segment in segments:
        if segment.name in kept:
            body = skeleton.body(segment.name)
            with located(segment.node):
                body.inertia = inertia_of_shapes(body, density, segment.mass)


def _add_markers(skeleton: Skeleton, root: Node, numbers: _Numbers) -> None:
    bodies = {body.name: body for body in skeleton.bodies}
    for markers in [block for each in root.children("MarkerSet") for block in each.children("Markers")]:
        for node in markers.children("Marker"):
            name, segment = node.required_attribute("NAME"), node.required_attribute("SEGMENT")
            place = MILLIMETRE * numbers.vector(node, "POSITION", 3)
            if segment not in bodies:
                node.remark(f"marker '{name}' is on segment '{segment}', which is not there; it is left out")
                continue
            with located(node):
                bodies[segment].create_node(Marker, name, place)
