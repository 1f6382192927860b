"""Elements <joint> to records, in metres, radians, kilograms.

The direction of an axis is given in the joint's frame since 1.5, before that in the frame of the model
(``use_parent_model_frame`` chose, until 1.6); since 1.7 in any frame by ``expressed_in``. Limits of 1e16 and more,
and negative limits of effort and velocity, mean that there is none.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from kido.io.fields import direction
from kido.io.mechanism import joint_types, num_axes
from kido.io.sdf.fields import note_unknown
from kido.io.xml import Node

__all__ = [
    "NUM_AXES",
    "SDF_DYNAMICS",
    "SDF_JOINTS",
    "UNSET",
    "AxisSpec",
    "JointSpec",
    "MimicSpec",
    "read_joint",
    "with_model_frame",
]

SDF_JOINTS = joint_types("sdf")
NUM_AXES = {
    **{name: num_axes(kind) for name, kind in SDF_JOINTS.items() if num_axes(kind)},
    "gearbox": 2,
    **{name: 0 for name in sorted(SDF_JOINTS) if not num_axes(SDF_JOINTS[name])},
}
_UNLIMITED = 1e16
DEFAULT_AXIS = (0.0, 0.0, 1.0)
# Elements of <limit> and <dynamics>, and the properties of a joint that they give.
SDF_LIMITS = {
    "lower": "position_lower_limit",
    "upper": "position_upper_limit",
    "effort": "force_limit",
    "velocity": "velocity_limit",
}
SDF_DYNAMICS = {
    "damping": "damping",
    "friction": "coulomb_friction",
    "spring_reference": "rest_position",
    "spring_stiffness": "spring_stiffness",
}
UNSET = {name: -math.inf if "lower" in name else math.inf for name in SDF_LIMITS.values()} | dict.fromkeys(
    SDF_DYNAMICS.values(), 0.0
)
_DEFAULT_PITCH = 1.0
_KNOWN_CHILDREN = (
    *("parent", "child", "pose", "axis", "axis2", "thread_pitch", "screw_thread_pitch"),
    *("gearbox_ratio", "gearbox_reference_body"),
)


@dataclass(frozen=True)
class MimicSpec:
    """The <mimic> of an axis: it follows axis number `axis` of another joint."""

    node: Node
    joint: str
    axis: int
    multiplier: float
    offset: float


@dataclass(frozen=True)
class AxisSpec:
    """An <axis>: its direction in the frame called `expressed_in` ("" for the joint's) and what it has along it."""

    node: Node
    direction: np.ndarray
    expressed_in: str
    properties: dict[str, float]
    mimic: MimicSpec | None


@dataclass(frozen=True)
class JointSpec:
    """A <joint>. Names of parent and child are those of its scope."""

    node: Node
    name: str
    type: str
    parent: str
    child: str
    axes: list[AxisSpec]
    pitch: float = 0.0
    gear_ratio: float = 1.0
    gear_reference: str = ""


def read_joint(node: Node, version: tuple[int, int], model_frame: str) -> JointSpec:
    """Read a <joint>; `model_frame` is the name of its model's frame."""
    name = node.required_attribute("name")
    kind = node.choice("type", tuple(NUM_AXES))
    owner = f"joint '{name}'"
    note_unknown(node, _KNOWN_CHILDREN, owner)
    axes = []
    for tag in ("axis", "axis2"):
        axis = node.first(tag)
        if len(axes) == NUM_AXES[kind]:
            if axis is not None:
                axis.remark(f"<{tag}> of {owner} has no meaning for the type '{kind}'; left out")
        elif axis is not None or tag == "axis" or kind != "gearbox":
            axes.append(_read_axis(axis or node, axis is not None, kind, version, model_frame))
    pitch = _read_pitch(node) if kind == "screw" else 0.0
    return JointSpec(
        node=node,
        name=name,
        type=kind,
        parent=_name(node, "parent"),
        child=_name(node, "child"),
        axes=axes,
        pitch=pitch,
        gear_ratio=node.child_number("gearbox_ratio", 1.0),
        gear_reference=node.child_text("gearbox_reference_body", ""),
    )


def with_model_frame(joint: JointSpec, old: str, new: str) -> JointSpec:
    """The joint of a model that was merged into another, where its model's frame has another name."""

    def renamed(name: str) -> str:
        return new if name == old else name

    axes = [dataclasses.replace(axis, expressed_in=renamed(axis.expressed_in)) for axis in joint.axes]
    return dataclasses.replace(joint, axes=axes, parent=renamed(joint.parent), child=renamed(joint.child))


def _name(node: Node, tag: str) -> str:
    child = node.require(tag)
    name = child.text or child.attribute("link", "")
    if not name:
        raise child.error(f"<{tag}> of {node.describe()} is empty; expected the name of a link or frame")
    return name


def _read_axis(node: Node, given: bool, kind: str, version: tuple[int, int], model_frame: str) -> AxisSpec:
    """An <axis>; the defaults where `node` is the joint itself, which has none."""
    axis, expressed_in = np.array(DEFAULT_AXIS), ""
    properties, mimic = dict(UNSET), None
    if given:
        known = ("xyz", "limit", "dynamics", "use_parent_model_frame", "mimic", "initial_position")
        note_unknown(node, known, node.describe())
        xyz = node.child("xyz")
        if xyz is not None:
            axis = direction(xyz, xyz.text_vector(3))
            expressed_in = xyz.attribute("expressed_in", "")
        if version < (1, 7):
            if node.child_boolean("use_parent_model_frame", version < (1, 5)):
                expressed_in = model_frame
        elif node.child("use_parent_model_frame") is not None:
            node.remark("<use_parent_model_frame> is left out: since 1.7 'expressed_in' is in its place")
        if node.child_number("initial_position", 0.0) != 0.0:
            node.remark("<initial_position> is left out")
        properties |= _read_limits(node, kind) | _read_dynamics(node)
        mimic = _read_mimic(node)
    return AxisSpec(node, axis, expressed_in, properties, mimic)


def _read_limits(axis: Node, kind: str) -> dict[str, float]:
    node = axis.child("limit")
    if node is None:
        return {}
    limits: dict[str, float] = {}
    for key, name in SDF_LIMITS.items():
        if key in ("effort", "velocity"):
            value = node.child_number(key, -1.0, allow_infinite=True)
            limits[name] = math.inf if value < 0.0 or value >= _UNLIMITED else value
        elif kind != "continuous":
            value = node.child_number(key, UNSET[name], allow_infinite=True)
            limits[name] = value if abs(value) < _UNLIMITED else math.copysign(math.inf, value)
    lower, upper = ({**UNSET, **limits}[f"position_{side}_limit"] for side in ("lower", "upper"))
    if lower > upper:
        node.forgive(f"the lower limit {lower:g} is above the upper limit {upper:g}", "taken as unlimited")
        return {name: value for name, value in limits.items() if not name.startswith("position")}
    return limits


def _read_dynamics(axis: Node) -> dict[str, float]:
    node = axis.child("dynamics")
    if node is None:
        return {}
    note_unknown(node, tuple(SDF_DYNAMICS), axis.describe())
    values = {key: node.child_number(key, 0.0) for key in SDF_DYNAMICS}
    for key, value in values.items():
        if value < 0.0 and key != "spring_reference":
            raise node.require(key).error(f"<{key}> is {value:g}; expected zero or a positive number")
    return {SDF_DYNAMICS[key]: value for key, value in values.items()}


def _read_mimic(axis: Node) -> MimicSpec | None:
    node = axis.child("mimic")
    if node is None:
        return None
    multiplier = node.child_number("multiplier", 1.0)
    offset = node.child_number("offset", 0.0) - multiplier * node.child_number("reference", 0.0)
    which = node.choice("axis", ("axis", "axis2"), "axis")
    return MimicSpec(node, node.required_attribute("joint"), int(which == "axis2"), multiplier, offset)


def _read_pitch(node: Node) -> float:
    """Metres per revolution of a right-handed screw.

    ``screw_thread_pitch`` is that; the older ``thread_pitch`` is in radians per metre of a left-handed one.
    """
    if node.child("screw_thread_pitch") is not None:
        return node.child_number("screw_thread_pitch")
    if node.child("thread_pitch") is None:
        return _DEFAULT_PITCH
    pitch = node.child_number("thread_pitch")
    if abs(pitch) < 1.0 / _UNLIMITED:
        raise node.require("thread_pitch").error(f"<thread_pitch> is {pitch:g} rad/m; expected a number other than 0")
    return -2.0 * math.pi / pitch
