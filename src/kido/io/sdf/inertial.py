"""Mass, centre and moment of a <link>: given, by default, or of its collision shapes (``auto``, since 1.11).

A link without <inertial> has 1 kg and 1 kg m^2 about every axis, as the format says; so has one that leaves out mass
or moment. With ``auto="true"`` every collision is a solid of its <density> (1000 kg/m^3 unless given); a <mass> in the
<inertial> then scales the whole to that mass.
"""

from __future__ import annotations

import numpy as np

from kido.errors import KidoError
from kido.io.moments import possible_moment
from kido.io.sdf.fields import Remarks, find_pose, note_unknown
from kido.io.xml import Node
from kido.shapes import Heightmap, Plane, Shape
from kido.skeleton import Inertia

__all__ = ["read_inertia"]

DEFAULT_DENSITY = 1000.0
KNOWN_CHILDREN = ("mass", "pose", "inertia", "density")


def read_inertia(link: Node, solids: list[tuple[Node, Shape, np.ndarray]], remarks: Remarks) -> Inertia:
    """Inertia of a link in its own axes.

    `solids` are its collisions: element, shape, pose in the link.
    """
    node = link.child("inertial")
    if node is None:
        remarks.add(link, f"{link.describe()} has no <inertial>; it has 1 kg and 1 kg m^2 about every axis")
        return Inertia(1.0, moment=np.eye(3))
    note_unknown(node, KNOWN_CHILDREN, link.describe(), remarks)
    if node.choice("auto", ("true", "false", "1", "0"), "false") in ("true", "1"):
        return _of_solids(link, node, solids, remarks)
    mass = node.child_number("mass", 1.0)
    if mass < 0.0:
        raise node.require("mass").error(f"the mass of {link.describe()} is {mass:g} kg; expected zero or more")
    pose, _ = find_pose(node)
    moment = np.eye(3)
    inertia = node.child("inertia")
    if inertia is not None:
        ixx, iyy, izz = (inertia.child_number(key, 1.0) for key in ("ixx", "iyy", "izz"))
        ixy, ixz, iyz = (inertia.child_number(key, 0.0) for key in ("ixy", "ixz", "iyz"))
        moment = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    R = pose[:3, :3]
    moment = possible_moment(R @ moment @ R.T, f"{link.path}:{link.line}: link '{link.attribute('name')}'", remarks)
    try:
        return Inertia(mass, pose[:3, 3], moment)
    except KidoError as error:
        raise node.error(str(error)) from None


def _of_solids(link: Node, node: Node, solids: list[tuple[Node, Shape, np.ndarray]], remarks: Remarks) -> Inertia:
    total = Inertia()
    for collision, shape, transform in solids:
        if isinstance(shape, Plane | Heightmap):
            remarks.add(collision, f"{collision.describe()} is ground, which has no mass")
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
