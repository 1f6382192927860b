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

    Limits, springs, dampers and dry friction are those of revolute, prismatic, screw and universal joints whose axes
    are at right angles; velocity limits are not held.
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
        turn = frame_with_axis(np.cross(joint.axis1, joint.axis2), np.zeros(3))
        X_a, X_b = X_a @ turn, X_b @ turn
    if kind is not UniversalJointConstraint:
        return [kind(parent, child, frame_a=X_a, frame_b=X_b, name=name)]
    universal = UniversalJointConstraint(parent, child, frame_a=X_a, frame_b=X_b, name=name)
    one, two = joint.axis1, joint.axis2
    universal._set_axes(one, two, float(one @ two))
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
