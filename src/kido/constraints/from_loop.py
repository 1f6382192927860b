"""Joints of model files that close loops, as constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kido.constraints import joint_constraints
from kido.constraints.axis_constraint import AngleConstraint, TravelConstraint
from kido.constraints.body_constraint import BodyConstraint
from kido.skeleton import BodyNode, LoopJoint

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

_CLASSES: list[type[BodyConstraint]] = [getattr(joint_constraints, name) for name in joint_constraints.__all__]
_OF_KIND = {kind.joint_kind: kind for kind in _CLASSES if kind.joint_kind is not None}


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
    kind = _OF_KIND.get(joint.kind)
    if kind is None:
        return []
    made = [kind.of_joint(parent, child, joint, name)]
    for axis in kind.free_axes(joint):
        values = _values(joint, axis.coordinate)
        if _acts(values):
            force = AngleConstraint if axis.turns else TravelConstraint
            a, b = (child, parent) if axis.swapped else (parent, child)
            full_name = f"{joint.name}/{joint.dofs[axis.coordinate].name}"
            made.append(force(a, b, frame_a=axis.frame_a, frame_b=axis.frame_b, name=full_name, **values))
    return made


def lost_in_loop(joint: Any) -> list[str]:
    """What of a joint that closes a loop acts on nothing, in words."""
    kind = _OF_KIND.get(joint.kind)
    lost = []
    if kind is None and joint.num_dofs < 6:
        lost.append("all that it holds")
    if np.isfinite(joint.velocity_lower_limit).any() or np.isfinite(joint.velocity_upper_limit).any():
        lost.append("velocity limits")
    if joint.armature.any():
        lost.append("rotor inertia")
    if kind is None or not kind.free_axes(joint):
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
