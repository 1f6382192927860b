"""URDF elements to records, with every check that needs one element only. Records have lengths in metres, angles in
radians, frames as 4x4 transforms.

Source: the URDF XML specification (wiki.ros.org/urdf/XML) and what the common parsers accept.
Knowingly left out, because they do not describe the mechanism: <transmission>, <sensor>, <ros2_control>,
<safety_controller>, <calibration>, and of <gazebo> all but the contact properties of links and joints that close loops.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kido.errors import FileFormatError
from kido.io.fields import direction, listed, rotation_of_rpy
from kido.io.mechanism import joint_types, num_axes, symmetric
from kido.io.surfaces import coefficient, first_direction, given, softness_of, two
from kido.io.urdf.shapes import read_materials
from kido.io.xml import Node
from kido.skeleton import BallJoint, Joint

__all__ = ["GeometrySpec", "JointSpec", "LinkSpec", "RobotSpec", "read_origin", "read_robot"]

GEOMETRIES = ("box", "cylinder", "sphere", "capsule", "mesh")
BULLET_GEOMETRIES = ("plane", "cdf")
BULLET_JOINTS: dict[str, type[Joint]] = {"spherical": BallJoint}
URDF_JOINTS = joint_types("urdf") | BULLET_JOINTS
WITH_AXES = [name for name, kind in URDF_JOINTS.items() if num_axes(kind)]
JOINT_NAMES = (*WITH_AXES, *sorted(set(URDF_JOINTS) - set(WITH_AXES) - set(BULLET_JOINTS)), *BULLET_JOINTS)
OPTENV = re.compile(r"\$\(optenv\s+\S+\s*([^)]*)\)")


@dataclass(frozen=True)
class InertialSpec:
    """Mass [kg], centre of mass (3,) in link axes, moment (3, 3) about it turned into link axes."""

    mass: float
    com: np.ndarray
    moment: np.ndarray


@dataclass(frozen=True)
class GeometrySpec:
    """One <visual> or <collision>: its element, name if any, place in the link, element of the shape."""

    node: Node
    name: str | None
    transform: np.ndarray
    shape: Node


@dataclass(frozen=True)
class LinkSpec:
    node: Node
    name: str
    inertial: InertialSpec | None
    visuals: list[GeometrySpec]
    collisions: list[GeometrySpec]
    surface: dict[str, Any] = field(default_factory=dict)

    @property
    def mass(self) -> float:
        return self.inertial.mass if self.inertial is not None else 0.0


@dataclass(frozen=True)
class MimicSpec:
    node: Node
    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class JointSpec:
    """One <joint>; `properties` are limits, where the file gives any, and what the joint's motion costs."""

    node: Node
    name: str
    type: str
    parent: str
    child: str
    transform: np.ndarray
    axis: np.ndarray
    properties: dict[str, float] = field(default_factory=dict)
    mimic: MimicSpec | None = None


@dataclass(frozen=True)
class RobotSpec:
    """Links and joints by name, in document order; RGBA of named materials."""

    node: Node
    name: str
    links: dict[str, LinkSpec]
    joints: dict[str, JointSpec]
    materials: dict[str, tuple[float, ...]]


def read_robot(root: Node, default_name: str) -> RobotSpec:
    """All links, joints and materials of a <robot>. Raises FileFormatError naming path and line."""
    if root.tag != "robot":
        raise root.error(f"the root element is <{root.tag}>; expected <robot>")
    _refuse_xacro(root)
    _take_defaults(root)
    name = root.attribute("name", "")
    if not name:
        name = default_name
        root.remark(f"<robot> has no name; it is called '{name}'")
    links: dict[str, LinkSpec] = {}
    joints: dict[str, JointSpec] = {}
    for node in root.children("link"):
        link = _read_link(node)
        _refuse_duplicate("link", link.name, node, links)
        links[link.name] = link
    for node in root.children("gazebo"):
        _add_gazebo(node, links)
    for node in root.children("joint"):
        joint = _read_joint(node)
        _refuse_duplicate("joint", joint.name, node, joints)
        joints[joint.name] = joint
    return RobotSpec(root, name, links, joints, read_materials(root))


def read_origin(node: Node) -> np.ndarray:
    """Transform (4, 4) of the <origin> child; identity if there is none.

    R = Rz(yaw) Ry(pitch) Rx(roll): fixed-axis roll, pitch, yaw.
    """
    origin = node.child("origin")
    transform = np.eye(4)
    if origin is None:
        return transform
    transform[:3, :3] = rotation_of_rpy(*origin.vector("rpy", 3, (0.0, 0.0, 0.0), surplus=True))
    transform[:3, 3] = origin.vector("xyz", 3, (0.0, 0.0, 0.0), surplus=True)
    return transform


def _refuse_xacro(root: Node) -> None:
    for element in root.element.iter():
        tag = str(element.tag)
        if tag.startswith("{") and "xacro" in tag.split("}", 1)[0]:
            name = tag.split("}", 1)[1]
            raise Node(element, root.path, root.remarks).error(
                f"<xacro:{name}>: this is a xacro file; turn it into URDF by xacro first"
            )


def _take_defaults(root: Node) -> None:
    """Put the defaults of ``$(optenv NAME default)``, which roslaunch would replace, in their place."""
    for element in root.element.iter():
        for name, value in element.attrib.items():
            if "$(optenv" in value:
                default = OPTENV.sub(r"\1", value)
                node = Node(element, root.path, root.remarks)
                node.forgive(f"the attribute '{name}' of {node.describe()} is '{value}'", f"'{default}' is taken")
                element.set(name, default)


def _refuse_duplicate(kind: str, name: str, node: Node, known: dict) -> None:
    if name in known:
        raise node.error(f"duplicate {kind} name '{name}'; the first is in line {known[name].node.line}")


# -- links -------------------------------------------------------------------------------------------------


def _read_link(node: Node) -> LinkSpec:
    name = node.required_attribute("name")
    contact = node.child("contact")
    surface = {} if contact is None else _read_bullet(contact)
    return LinkSpec(
        node=node,
        name=name,
        inertial=_read_inertial(node),
        visuals=[_read_geometry(child) for child in node.children("visual")],
        collisions=[_read_geometry(child) for child in node.children("collision")],
        surface=surface,
    )


def _read_bullet(contact: Node) -> dict[str, Any]:
    """Contact properties of a link as Bullet has them."""
    tags = ("stiffness", "damping", "contact_erp", "contact_cfm")
    restitution = coefficient(contact, "restitution")
    if restitution is not None and restitution > 1.0:
        raise contact.require("restitution").error(f"<restitution> is {restitution:g}; expected a number from 0 to 1")
    return given(
        friction=coefficient(contact, "lateral_friction"),
        rolling_friction=coefficient(contact, "rolling_friction"),
        torsional_friction=coefficient(contact, "spinning_friction"),
        restitution=restitution,
        softness=softness_of(*(coefficient(contact, tag) for tag in tags)),
    )


def _add_gazebo(node: Node, links: dict[str, LinkSpec]) -> None:
    """Take the contact properties in a <gazebo reference="link">; what cannot be read is left out with a remark."""
    link = links.get(node.attribute("reference", ""))
    if link is None:
        return
    try:
        values = _read_gazebo(node)
    except FileFormatError as error:
        node.remarks.append(f"contact properties of link '{link.name}' are left out: {error}")
        return
    links[link.name] = replace(link, surface={**link.surface, **values})


def _read_gazebo(node: Node) -> dict[str, Any]:
    """Contact properties of a link in <gazebo reference="...">, as text or as attributes `value`."""
    return given(
        **two(coefficient(node, "mu1"), coefficient(node, "mu2"), "friction", "secondary_friction"),
        **two(coefficient(node, "slip1"), coefficient(node, "slip2"), "slip", "secondary_slip"),
        first_friction_direction=first_direction(node),
        softness=softness_of(*(coefficient(node, tag) for tag in ("kp", "kd", "soft_erp", "soft_cfm"))),
        slop=coefficient(node, "minDepth") or None,
        max_correction_speed=coefficient(node, "maxVel"),
    )


def _read_inertial(link: Node) -> InertialSpec | None:
    node = link.child("inertial")
    if node is None:
        return None
    mass = node.require("mass").number("value")
    if mass < 0.0:
        raise node.require("mass").error(f"the mass of {link.describe()} is {mass:g} kg; expected zero or more")
    transform = read_origin(node)
    inertia = node.child("inertia")
    moment = np.zeros((3, 3))
    if inertia is None:
        node.remark(f"{link.describe()} has no <inertia>; its moment is zero")
    else:
        entries = inertia
        moment = symmetric(lambda key: entries.number(key, 0.0))
    rotation = transform[:3, :3]
    moment = rotation @ moment @ rotation.T
    return InertialSpec(mass, transform[:3, 3].copy(), 0.5 * moment + 0.5 * moment.T)


def _read_geometry(node: Node) -> GeometrySpec:
    geometry = node.require("geometry")
    shapes = geometry.children(*GEOMETRIES, *BULLET_GEOMETRIES)
    if len(shapes) != 1 or shapes[0].tag in BULLET_GEOMETRIES:
        found = listed([f"<{child.tag}>" for child in geometry]) or "nothing"
        expected = ", ".join(f"<{kind}>" for kind in GEOMETRIES)
        reason = f"<geometry> of a <{node.tag}> holds {found}; expected one of {expected}"
        if not shapes:
            raise geometry.error(reason)
        geometry.forgive(reason, "the first is taken" if len(shapes) > 1 else "taken as Bullet does")
    return GeometrySpec(node, node.attribute("name") or None, read_origin(node), shapes[0])


# -- joints ------------------------------------------------------------------------------------------------


def _read_joint(node: Node) -> JointSpec:
    name = node.required_attribute("name")
    kind = node.choice("type", JOINT_NAMES)
    if kind in BULLET_JOINTS:
        node.forgive(
            f"{node.describe()} has the type '{kind}', which is Bullet's", "it is a ball joint, without limits"
        )
    parent, child = node.require("parent"), node.require("child")
    axis_node = node.first("axis")
    axis = axis_node.vector("xyz", 3, surplus=True) if axis_node is not None else np.array([1.0, 0.0, 0.0])
    if URDF_JOINTS[kind].axis_properties():
        if np.abs(axis).max() < 1e-12:
            raise (axis_node or node).error(f"the axis of {node.describe()} is zero; expected a direction")
        axis = direction(node, axis)
    limits = _read_limits(node, kind) if kind in WITH_AXES else {}
    dynamics = node.child("dynamics")
    damping = dynamics.number("damping", 0.0) if dynamics is not None else 0.0
    friction = dynamics.number("friction", 0.0) if dynamics is not None else 0.0
    if dynamics is not None and min(damping, friction) < 0.0:
        raise dynamics.error(
            f"damping {damping:g} and friction {friction:g} of {node.describe()}; expected zero or positive numbers"
        )
    mimic_node = node.child("mimic")
    mimic = None
    if mimic_node is not None:
        mimic = MimicSpec(
            mimic_node,
            mimic_node.required_attribute("joint"),
            mimic_node.number("multiplier", 1.0),
            mimic_node.number("offset", 0.0),
        )
    return JointSpec(
        node=node,
        name=name,
        type=kind,
        parent=parent.required_attribute("link"),
        child=child.required_attribute("link"),
        transform=read_origin(node),
        axis=axis,
        properties={"damping": damping, "coulomb_friction": friction, **limits},
        mimic=mimic,
    )


def _read_limits(joint: Node, kind: str) -> dict[str, float]:
    """Limits of a one-DOF joint. A range, velocity or effort of zero means that none was given; remarked."""
    node = joint.child("limit")
    place, where = node or joint, joint.describe()
    if node is None:
        if kind != "continuous":
            place.remark(f"{where} has no <limit>; it is unlimited")
        return {}
    limits: dict[str, float] = {}
    for key, name in (("velocity", "velocity_limit"), ("effort", "force_limit")):
        value = node.number(key, math.inf, allow_infinite=True)
        if value < 0.0:
            raise node.error(f"the {key} limit of {joint.describe()} is {value:g}; expected a positive number")
        if value == 0.0:
            place.remark(f"{where} has the {key} limit 0, taken as not given")
            value = math.inf
        limits[name] = value
    if kind == "continuous":
        return limits
    given = node.has("lower") or node.has("upper")
    lower = node.number("lower", 0.0, allow_infinite=True)
    upper = node.number("upper", 0.0, allow_infinite=True)
    if lower > upper:
        node.forgive(
            f"the lower limit {lower:g} of {joint.describe()} is above its upper limit {upper:g}", "taken as unlimited"
        )
        return limits
    if lower == upper == 0.0:
        written = "lower = upper = 0" if given else "no lower and upper limit"
        place.remark(f"{where} has {written}, taken as unlimited")
        return limits
    return {**limits, "position_lower_limit": lower, "position_upper_limit": upper}
