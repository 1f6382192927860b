"""Joints of model files that close loops, as constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kido.constraints.body_constraint import (
    BallJointConstraint,
    BodyConstraint,
    PlanarJointConstraint,
    PrismaticJointConstraint,
    RevoluteJointConstraint,
    UniversalJointConstraint,
    WeldJointConstraint,
    frame_with_axis,
)
from kido.joints import JointKind
from kido.skeleton import LoopJoint

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

_KINDS = {
    JointKind.WELD: WeldJointConstraint,
    JointKind.BALL: BallJointConstraint,
    JointKind.REVOLUTE: RevoluteJointConstraint,
    JointKind.PRISMATIC: PrismaticJointConstraint,
    JointKind.UNIVERSAL: UniversalJointConstraint,
    JointKind.PLANAR: PlanarJointConstraint,
}


def constraint_of_loop(skeleton: Skeleton, loop: LoopJoint) -> BodyConstraint | None:
    """The constraint that holds what a loop's joint holds; None if the joint leaves everything free, or couples
    coordinates that only a joint has (screws)."""
    kind = _KINDS.get(loop.joint.kind)
    if kind is None:
        return None
    parent, child = (None if name is None else skeleton.body(name) for name in (loop.parent, loop.child))
    joint: Any = loop.joint
    X_a, X_b = joint.transform_from_parent, joint.transform_from_child
    if kind in (RevoluteJointConstraint, PrismaticJointConstraint):
        turn = frame_with_axis(joint.axis, np.zeros(3))
        X_a, X_b = X_a @ turn, X_b @ turn
    elif kind is PlanarJointConstraint:
        turn = frame_with_axis(_normal(joint), np.zeros(3))
        X_a, X_b = X_a @ turn, X_b @ turn
    if kind is UniversalJointConstraint:
        made = UniversalJointConstraint(parent, child, frame_a=X_a, frame_b=X_b, name=loop.name)
        made._set_axes(joint.axis1, joint.axis2, float(joint.axis1 @ joint.axis2))
        return made
    return kind(parent, child, frame_a=X_a, frame_b=X_b, name=loop.name)


def _normal(joint: Any) -> np.ndarray:
    return np.cross(joint.axis1, joint.axis2)
