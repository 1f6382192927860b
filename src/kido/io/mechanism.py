"""Joints and inertias as files of all formats have them: types by the names that the types declare, moments of
inertia, joints that move no mass."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kido.io.fields import listed
from kido.io.xml import Node
from kido.joints import JointKind
from kido.skeleton import JOINT_TYPES, Joint, Skeleton

__all__ = [
    "MOMENT_ENTRIES",
    "joint_types",
    "massless_movers",
    "massless_text",
    "movers_without_mass",
    "names_of_kinds",
    "num_axes",
    "possible_moment",
    "symmetric",
]

HUGE = 1e300  # [kg m^2] products of greater moments are no numbers
MOMENT_ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}


def joint_types(file_format: str) -> dict[str, type[Joint]]:
    """Types by all the names that a format ("urdf", "sdf", "skel") has for them."""
    return {name: kind for kind in JOINT_TYPES.values() for name in kind.formats.get(file_format, ())}


def names_of_kinds(file_format: str) -> dict[JointKind, str]:
    """The name by which a format's files are written, of each kind of joint that the format has."""
    return {kind.kind: kind.formats[file_format][0] for kind in JOINT_TYPES.values() if file_format in kind.formats}


def num_axes(kind: type[Joint]) -> int:
    """Axes of a type that has one for each of its coordinates; 0 of others."""
    axes = len(kind.axis_properties())
    return axes if axes == len(kind.dof_suffixes) else 0


def symmetric(entry: Callable[[str], float]) -> np.ndarray:
    """Moment of inertia (3, 3) of which `entry` reads each of `MOMENT_ENTRIES`."""
    moment = np.zeros((3, 3))
    for key, (i, j) in MOMENT_ENTRIES.items():
        moment[i, j] = moment[j, i] = entry(key)
    return moment


def massless_movers(links: Sequence[tuple[str, str | None, float, str | None]]) -> list[tuple[str, str]]:
    """(joint, link) of joints that move no mass at all; nothing can accelerate them.

    `links`, parents first: name, parent, mass, and the joint above it if that moves.
    """
    carried = {name: mass for name, _, mass, _ in links}
    for name, parent, _, _ in reversed(links):
        if parent is not None and parent in carried:
            carried[parent] += carried[name]
    return [(joint, name) for name, _, _, joint in links if joint is not None and carried[name] == 0.0]


def movers_without_mass(skeleton: Skeleton) -> list[tuple[str, str]]:
    """`massless_movers` of a skeleton."""
    links = []
    for body in skeleton.bodies:
        joint = body.parent_joint
        parent = None if body.parent is None else body.parent.name
        links.append((body.name, parent, body.mass, joint.name if joint.num_dofs else None))
    return massless_movers(links)


def massless_text(movers: list[tuple[str, str]]) -> str:
    """What is wrong with moving joints that carry no mass, in words."""
    names = listed([f"body '{link}' (moved by {joint!r})" for joint, link in movers])
    return (
        f"zero mass on a moving body: {names}: neither it nor any body it carries has mass, "
        f"so its acceleration is not defined; give it a mass or fix its joint"
    )


def possible_moment(moment: np.ndarray, link: Node) -> np.ndarray:
    """The moment of a link as given, or, if it has negative principal moments, the nearest matrix without; remarked."""
    if not (np.abs(moment) < HUGE).all():
        raise link.error(
            f"the moment of inertia of {link.describe()} is {moment.tolist()}; expected below {HUGE:g} kg m^2"
        )
    values, vectors = np.linalg.eigh(moment)
    name, principal = link.attribute("name"), ", ".join(f"{v:.4g}" for v in values)
    if values[0] < -1e-9 * abs(values[2]):
        link.remark(
            f"link '{name}' has principal moments of inertia {principal} kg m^2; negative ones, which no "
            f"body has, are set to zero"
        )
        return (vectors * np.maximum(values, 0.0)) @ vectors.T
    if values[0] + values[1] < values[2] * (1.0 - 1e-6):
        link.remark(
            f"link '{name}' has principal moments of inertia {principal} kg m^2, which no rigid body has "
            f"(the sum of two is below the third); kept as they are"
        )
    return moment
