"""Joints of model files that close loops, as constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kido.constraints.axis_constraint import AngleConstraint, AxisForces, TravelConstraint
from kido.constraints.body_constraint import (
    BallJointConstraint,
    BodyConstraint,
    PlanarJointConstraint,
    PrismaticJointConstraint,
    RevoluteJointConstraint,
    ScrewJointConstraint,
    UniversalJointConstraint,
    WeldJointConstraint,
    frame_with_axis,
)
from kido.joints import JointKind
from kido.skeleton import BodyNode, LoopJoint

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

_KINDS = {
    JointKind.WELD: WeldJointConstraint,
    JointKind.BALL: BallJointConstraint,
    JointKind.REVOLUTE: RevoluteJointConstraint,
    JointKind.PRISMATIC: PrismaticJointConstraint,
    JointKind.SCREW: ScrewJointConstraint,
    JointKind.UNIVERSAL: UniversalJointConstraint,
    JointKind.PLANAR: PlanarJointConstraint,
}
_ONE_AXIS = (RevoluteJointConstraint, PrismaticJointConstraint, ScrewJointConstraint)
_RIGHT = 1e-9  # cosine of the axes of a universal joint below which they are at right angles


def constraints_of_loop(skeleton: Skeleton, loop: LoopJoint) -> list[BodyConstraint]:
    """What holds what a loop's joint holds, and what acts along its free axes; nothing if the joint leaves all free.

    Limits, springs, dampers and dry friction are those of revolute, prismatic, screw and planar joints, and of
    universal ones whose axes are at right angles; `lost_in_loop` tells what else a joint has.
    """
    parent, child = (None if name is None else skeleton.body(name) for name in (loop.parent, loop.child))
    return constraints_of_joint(parent, child, loop.joint, loop.name)


def constraints_of_joint(
    parent: BodyNode | None, child: BodyNode | None, joint: Any, name: str | None
) -> list[BodyConstraint]:
    """The same of a joint that is in no skeleton, between two bodies of any; None stands for the world."""
    kind = _KINDS.get(joint.kind)
    if kind is None:
        return []
    X_a, X_b = joint.transform_from_parent, joint.transform_from_child
    if kind in _ONE_AXIS:
        turn = frame_with_axis(joint.axis, np.zeros(3))
        frames: dict[str, Any] = {"frame_a": X_a @ turn, "frame_b": X_b @ turn, "name": name}
        own = TravelConstraint if kind is PrismaticJointConstraint else AngleConstraint
        if kind is ScrewJointConstraint:
            made = ScrewJointConstraint(parent, child, pitch=joint.pitch, **frames)
        else:
            made = kind(parent, child, **frames)
        return [made, *_forces(own, parent, child, joint, 0, frames)]
    if kind is PlanarJointConstraint:
        return _planar(parent, child, joint, name)
    if kind is not UniversalJointConstraint:
        return [kind(parent, child, frame_a=X_a, frame_b=X_b, name=name)]
    universal = UniversalJointConstraint(parent, child, frame_a=X_a, frame_b=X_b, name=name)
    one, two = joint.axis1, joint.axis2
    universal.set_axes(one, two, float(one @ two))
    if abs(one @ two) > _RIGHT:
        return [universal]
    # The first angle is that of axis 2 about axis 1; the second, seen from the child, that of axis 1 about -axis 2.
    zero = np.zeros(3)
    first = {"frame_a": X_a @ frame_with_axis(one, zero, two), "frame_b": X_b @ frame_with_axis(one, zero, two)}
    second = {"frame_a": X_b @ frame_with_axis(-two, zero, one), "frame_b": X_a @ frame_with_axis(-two, zero, one)}
    first["name"] = second["name"] = name
    return [
        universal,
        *_forces(AngleConstraint, parent, child, joint, 0, first),
        *_forces(AngleConstraint, child, parent, joint, 1, second),
    ]


def _planar(parent: BodyNode | None, child: BodyNode | None, joint: Any, name: str | None) -> list[BodyConstraint]:
    X_a, X_b, zero = joint.transform_from_parent, joint.transform_from_child, np.zeros(3)
    one, two = joint.axis1, joint.axis2
    normal = np.cross(one, two)
    made: list[BodyConstraint] = []
    for k, axis in enumerate((normal, one, two)):
        turn = frame_with_axis(axis, zero, one if k == 0 else normal)
        frames = {"frame_a": X_a @ turn, "frame_b": X_b @ turn, "name": name}
        if k == 0:
            made += [PlanarJointConstraint(parent, child, **frames)]
            made += _forces(AngleConstraint, parent, child, joint, 2, frames)
        else:
            made += _forces(TravelConstraint, parent, child, joint, k - 1, frames)
    return made


def lost_in_loop(joint: Any) -> list[str]:
    """What of a joint that closes a loop acts on nothing, in words."""
    kind = _KINDS.get(joint.kind)
    lost = []
    if kind is None and joint.num_dofs < 6:
        lost.append("all that it holds")
    if np.isfinite(joint.velocity_lower_limit).any() or np.isfinite(joint.velocity_upper_limit).any():
        lost.append("velocity limits")
    askew = kind is UniversalJointConstraint and abs(joint.axis1 @ joint.axis2) > _RIGHT
    if kind is None or kind is BallJointConstraint or askew:
        values = [_values(joint, k) for k in range(joint.num_dofs)]
        if any(np.isfinite(v["lower_limit"]) or np.isfinite(v["upper_limit"]) for v in values):
            lost.append("position limits")
        names = {"stiffness": "springs", "damping": "damping", "coulomb_friction": "dry friction"}
        lost += [text for key, text in names.items() if any(v[key] for v in values)]
    return lost


def _values(joint: Any, k: int) -> dict[str, float]:
    return {
        "lower_limit": float(joint.position_lower_limit[k]),
        "upper_limit": float(joint.position_upper_limit[k]),
        "rest_position": float(joint.rest_position[k]),
        "stiffness": float(joint.spring_stiffness[k]),
        "damping": float(joint.damping[k]),
        "coulomb_friction": float(joint.coulomb_friction[k]),
    }


def _acts(values: dict[str, float]) -> bool:
    limited = np.isfinite(values["lower_limit"]) or np.isfinite(values["upper_limit"])
    return bool(limited or values["stiffness"] or values["damping"] or values["coulomb_friction"])


def _forces(
    kind: type[AxisForces], a: BodyNode | None, b: BodyNode | None, joint: Any, k: int, frames: dict[str, Any]
) -> list[BodyConstraint]:
    values = _values(joint, k)
    if not _acts(values):
        return []
    return [kind(a, b, **{**frames, "name": f"{joint.name}/{joint.dofs[k].name}"}, **values)]
