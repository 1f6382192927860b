"""Joints of SKEL skeletons: type, axes, and what is given per degree of freedom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kido.io.fields import located
from kido.io.mechanism import joint_types
from kido.io.skel.fields import note_unknown, pose, unit_vector
from kido.io.xml import Node
from kido.skeleton import ActuatorType, FreeJoint, Joint, PlanarJoint
from kido.skeleton.joints.coordinates import CoordinateKind

__all__ = ["SKEL_DYNAMICS", "SkelJoint", "free_joint", "read_joint"]

_DEFAULT_PITCH = 0.1
ACTUATORS = tuple(kind.name.lower() for kind in ActuatorType if kind != ActuatorType.POSITION)  # it has no gains
_KNOWN_CHILDREN = (
    "parent",
    "child",
    "transformation",
    "axis",
    "axis2",
    "axis3",
    "axis_order",
    "plane",
    "init_pos",
    "init_vel",
    "dof",
)
SKEL_DYNAMICS = {
    "damping": "damping",
    "armature": "armature",
    "friction": "coulomb_friction",
    "spring_rest_position": "rest_position",
    "spring_stiffness": "spring_stiffness",
}


@dataclass(frozen=True)
class SkelJoint:
    """A ``<joint>`` as the file describes it.

    `parent` is the name of the parent body (the world if there is no such body), `transform` the joint's
    frame in the child body (4x4); `build(X_PJ, X_CJ)` makes the joint.
    """

    name: str
    node: Node
    parent: str
    child: str
    transform: np.ndarray
    build: Callable[[np.ndarray, np.ndarray], Joint]


@dataclass(frozen=True)
class _Type:
    """A joint type of the format."""

    make: type[Joint]

    @property
    def num_dofs(self) -> int:
        """Degrees of freedom."""
        return len(self.make.dof_suffixes)

    @property
    def num_axes(self) -> int:
        """How many axes take limits."""
        return 0 if CoordinateKind.ROTATION in self.make.coordinate_kinds else self.num_dofs

    def arguments(self, node: Node) -> dict[str, Any]:
        """What joints of the type alone have."""
        if self.make is PlanarJoint:
            return _plane(node)
        return {key: _READERS[key](node) for key in self.make.own_properties}


def read_joint(node: Node) -> SkelJoint:
    """Read a ``<joint>``."""
    name = node.required_attribute("name")
    owner = f"joint '{name}'"
    kind = _TYPES[node.choice("type", tuple(_TYPES))]
    note_unknown(node, _KNOWN_CHILDREN, owner)
    actuator = _actuator(node, owner)
    values = _DofValues(kind.num_dofs)
    _read_axes(node, kind, values, owner)
    if node.child("init_pos") is not None:
        values.set_all("initial_position", _initial(node, "init_pos", kind, owner))
    if node.child("init_vel") is not None:
        values.set_all("initial_velocity", _initial(node, "init_vel", kind, owner))
    for dof in node.children("dof"):
        _read_dof(dof, kind, values, owner)
    arguments = {**kind.arguments(node), **values.given, "dof_names": values.names, "actuator_type": actuator}

    def build(transform_from_parent: np.ndarray, transform_from_child: np.ndarray) -> Joint:
        with located(node):
            return kind.make(
                name,
                transform_from_parent=transform_from_parent,
                transform_from_child=transform_from_child,
                **arguments,
            )

    return SkelJoint(
        name=name,
        node=node,
        parent=_body_name(node, "parent"),
        child=_body_name(node, "child"),
        transform=pose(node),
        build=build,
    )


def free_joint(name: str, child: str, node: Node) -> SkelJoint:
    """A free joint at rest that the file does not describe, which places a body in the world."""

    def build(transform_from_parent: np.ndarray, transform_from_child: np.ndarray) -> Joint:
        with located(node):
            return FreeJoint(
                name, transform_from_parent=transform_from_parent, transform_from_child=transform_from_child
            )

    return SkelJoint(name, node, "", child, np.eye(4), build)


_UNLIMITED = {
    "position_lower_limit": -np.inf,
    "position_upper_limit": np.inf,
    **{f"{what}_lower_limit": -np.inf for what in ("velocity", "acceleration", "force")},
    **{f"{what}_upper_limit": np.inf for what in ("velocity", "acceleration", "force")},
}


class _DofValues:
    """Values per degree of freedom, as keyword arguments of a joint; only what the file gives is present."""

    def __init__(self, num_dofs: int) -> None:
        self.num_dofs = num_dofs
        self.given: dict[str, np.ndarray] = {}
        self.names: list[str | None] = [None] * num_dofs

    def set(self, quantity: str, index: int, value: float) -> None:
        """Set one value."""
        unset = _UNLIMITED.get(quantity, 0.0)
        self.given.setdefault(quantity, np.full(self.num_dofs, unset))[index] = value

    def set_all(self, quantity: str, values: np.ndarray) -> None:
        """Set the values of all degrees of freedom."""
        self.given[quantity] = np.array(values, dtype=float)


def _body_name(node: Node, tag: str) -> str:
    name = node.require(tag)
    if not name.text:
        raise name.error(f"<{tag}> of {node.describe()} is empty; expected the name of a body")
    return name.text


def _actuator(node: Node, owner: str) -> str:
    actuator = node.choice("actuator", ACTUATORS, "force")
    if actuator == "mimic":
        node.remarks.once(f"{owner}: its actuator type is 'mimic', but not of which joint; it is driven by forces")
        return "force"
    return actuator


def _initial(node: Node, tag: str, kind: _Type, owner: str) -> np.ndarray:
    if kind.num_dofs == 0:
        raise node.require(tag).error(f"<{tag}> is given for {owner}, which has no degrees of freedom")
    return node.child_vector(tag, kind.num_dofs)


def _read_axes(node: Node, kind: _Type, values: _DofValues, owner: str) -> None:
    for index, tag in enumerate(("axis", "axis2", "axis3")):
        axis = node.child(tag)
        if axis is None:
            continue
        if index >= kind.num_axes:
            node.remarks.once(f"{owner}: <{tag}> has no meaning for a {node.attribute('type')} joint and was left out")
            continue
        note_unknown(axis, ("xyz", "pitch", "limit", "dynamics", "damping"), owner)
        if axis.child("damping") is not None:
            values.set("damping", index, axis.child_number("damping"))
        dynamics = axis.child("dynamics")
        if dynamics is not None:
            note_unknown(dynamics, tuple(SKEL_DYNAMICS), owner)
            _read_dynamics(dynamics, index, values)
        limit = axis.child("limit")
        if limit is not None:
            note_unknown(limit, ("lower", "upper"), owner)
            for side in ("lower", "upper"):
                if limit.child(side) is not None:
                    value = limit.child_number(side, allow_infinite=True)
                    values.set(f"position_{side}_limit", index, value)


def _read_dynamics(node: Node, index: int, values: _DofValues) -> None:
    for tag, quantity in SKEL_DYNAMICS.items():
        if node.child(tag) is not None:
            values.set(quantity, index, node.child_number(tag))


def _read_dof(node: Node, kind: _Type, values: _DofValues, owner: str) -> None:
    index = _local_index(node, kind, owner)
    owner = f"{owner}, degree of freedom {index}"
    note_unknown(node, ("position", "velocity", "acceleration", "force", *SKEL_DYNAMICS), owner)
    if node.has("name"):
        values.names[index] = node.required_attribute("name")
    _read_dynamics(node, index, values)
    position = node.child("position")
    if position is not None:
        for side in ("lower", "upper"):
            if position.has(side):
                values.set(f"position_{side}_limit", index, position.number(side, allow_infinite=True))
    for tag in ("position", "velocity"):
        child = node.child(tag)
        if child is not None and child.has("initial"):
            values.set(f"initial_{tag}", index, child.number("initial"))
    for tag in ("velocity", "acceleration", "force"):
        _read_limits(node, tag, index, values, owner)
    for tag in ("acceleration", "force"):
        child = node.child(tag)
        if child is not None and child.has("initial"):
            node.remarks.once(f"{owner}: the initial {tag} was left out")


def _local_index(node: Node, kind: _Type, owner: str) -> int:
    if not node.has("local_index"):
        if kind.num_dofs == 1:
            return 0
        raise node.error(f"<dof> of {owner} lacks the required attribute 'local_index'")
    text = node.required_attribute("local_index")
    if text not in map(str, range(kind.num_dofs)):
        choices = ", ".join(map(str, range(kind.num_dofs))) or "none: it has no degrees of freedom"
        raise node.error(f"the attribute 'local_index' of <dof> of {owner} is '{text}'; valid indices are {choices}")
    return int(text)


def _read_limits(node: Node, tag: str, index: int, values: _DofValues, owner: str) -> None:
    child = node.child(tag)
    if child is None or not (child.has("lower") or child.has("upper")):
        return
    lower = child.number("lower", -np.inf, allow_infinite=True)
    upper = child.number("upper", np.inf, allow_infinite=True)
    if lower > upper:
        raise child.error(f"the lower {tag} limit {lower:g} of {owner} is above the upper one, {upper:g}")
    values.set(f"{tag}_lower_limit", index, lower)
    values.set(f"{tag}_upper_limit", index, upper)


def _axis(node: Node) -> np.ndarray:
    return unit_vector(node.require("axis"), "xyz")


def _order(node: Node) -> str:
    order = node.require("axis_order")
    if order.text not in EULER_ORDERS:
        raise order.error(
            f"<axis_order> of {node.describe()} is '{order.text}'; expected one of {', '.join(EULER_ORDERS)}"
        )
    return order.text


def _plane(node: Node) -> dict[str, Any]:
    plane = node.child("plane")
    kind = "xy" if plane is None else plane.choice("type", (*PLANES, "arbitrary"))
    if plane is None or kind != "arbitrary":
        axis1, axis2 = PLANES[kind]
    else:
        axis1 = unit_vector(plane.require("translation_axis1"), "xyz")
        axis2 = unit_vector(plane.require("translation_axis2"), "xyz")
    return {"axis1": axis1, "axis2": axis2}


PLANES = {
    "xy": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    "yz": ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "zx": ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
}
EULER_ORDERS = (
    *("xyz", "xzy", "yxz", "yzx", "zxy", "zyx"),
    *("xyx", "xzx", "yxy", "yzy", "zxz", "zyz"),
)
_READERS: dict[str, Callable[[Node], Any]] = {
    "axis": _axis,
    "axis1": _axis,
    "axis2": lambda node: unit_vector(node.require("axis2"), "xyz"),
    "pitch": lambda node: node.require("axis").child_number("pitch", _DEFAULT_PITCH),
    "order": _order,
}
_TYPES = {name: _Type(kind) for name, kind in joint_types("skel").items()}
