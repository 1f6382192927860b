"""Small readers shared by the parts of the SDF reader: poses, directions, inertias."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy

from kido.errors import KidoError
from kido.io.fields import rotation_of_rpy
from kido.io.mechanism import possible_moment, symmetric
from kido.io.xml import Node
from kido.shapes import Heightmap, Plane, Shape
from kido.skeleton import Inertia

__all__ = ["find_pose", "note_unknown", "read_inertia"]

DEFAULT_DENSITY = 1000.0
INERTIAL_CHILDREN = ("mass", "pose", "inertia", "density")


def find_pose(node: Node) -> tuple[np.ndarray, str]:
    """Transform (4, 4) in the child <pose> and the frame it is relative to ("" for the default one).

    Six numbers: a translation [m] and roll, pitch, yaw [rad, or degrees]; or, with
    ``rotation_format="quat_xyzw"``, a translation and a quaternion x, y, z, w. An empty <pose> is the identity.
    Until 1.6 the frame was the attribute ``frame``.
    """
    transform = np.eye(4)
    pose = node.child("pose")
    if pose is None:
        return transform, ""
    relative_to = pose.attribute("relative_to", "") or pose.attribute("frame", "")
    if not pose.text:
        return transform, relative_to
    if pose.choice("rotation_format", ("euler_rpy", "quat_xyzw"), "euler_rpy") == "quat_xyzw":
        values = pose.text_vector(7)
        size = math.hypot(*values[3:])
        if not 1e-6 < size < 1e6:
            raise pose.error(f"the quaternion {values[3:].tolist()} of {node.describe()} is none of a rotation")
        transform[:3, :3] = scipy.spatial.transform.Rotation.from_quat(values[3:]).as_matrix()
    else:
        values = pose.text_vector(6)
        degrees = pose.choice("degrees", ("true", "false", "1", "0"), "false") in ("true", "1")
        transform[:3, :3] = rotation_of_rpy(*(np.radians(values[3:]) if degrees else values[3:]))
    transform[:3, 3] = values[:3]
    return transform, relative_to


def note_unknown(node: Node, known: Sequence[str], owner: str) -> None:
    """Remark on every kind of child element that the reader does not use."""
    for tag in dict.fromkeys(child.tag for child in node if child.tag not in known):
        node.remarks.once(f"{owner}: <{tag}> in <{node.tag}> is left out")


def read_inertia(link: Node, solids: list[tuple[Node, Shape, np.ndarray]]) -> Inertia:
    """Inertia of a link in its own axes.

    `solids` are its collisions: element, shape, pose in the link.
    """
    node = link.child("inertial")
    if node is None:
        link.remark(f"{link.describe()} has no <inertial>; it has 1 kg and 1 kg m^2 about every axis")
        return Inertia(1.0, moment=np.eye(3))
    note_unknown(node, INERTIAL_CHILDREN, link.describe())
    if node.choice("auto", ("true", "false", "1", "0"), "false") in ("true", "1"):
        return _of_solids(link, node, solids)
    mass = node.child_number("mass", 1.0)
    if mass < 0.0:
        raise node.require("mass").error(f"the mass of {link.describe()} is {mass:g} kg; expected zero or more")
    pose, _ = find_pose(node)
    moment = np.eye(3)
    inertia = node.child("inertia")
    if inertia is not None:
        entries = inertia
        moment = symmetric(lambda key: entries.child_number(key, 1.0 if key[1] == key[2] else 0.0))
    R = pose[:3, :3]
    moment = possible_moment(R @ moment @ R.T, link)
    try:
        return Inertia(mass, pose[:3, 3], moment)
    except KidoError as error:
        raise node.error(str(error)) from None


def _of_solids(link: Node, node: Node, solids: list[tuple[Node, Shape, np.ndarray]]) -> Inertia:
    total = Inertia()
    for collision, shape, transform in solids:
        if isinstance(shape, Plane | Heightmap):
            collision.remark(f"{collision.describe()} is ground, which has no mass")
            continue
        density = collision.child_number("density", node.child_number("density", DEFAULT_DENSITY))
        try:
            total = total + Inertia.from_shape(shape, density=density, transform=transform)
        except KidoError as error:
            raise collision.error(str(error)) from None
    if total.mass == 0.0:
        raise node.error(
            f"the inertia of {link.describe()} is to be that of its collisions, of which none has a volume"
        )
    if node.child("mass") is None:
        return total
    mass = node.child_number("mass")
    if mass <= 0.0:
        raise node.require("mass").error(f"the mass of {link.describe()} is {mass:g} kg; expected more than 0")
    return Inertia(mass, total.com, total.moment * (mass / total.mass))
