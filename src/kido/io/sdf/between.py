"""Joints of a <world>: between its models, or a model and the world. They become constraints of the world."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from kido.constraints.coupler import GearConstraint
from kido.constraints.from_loop import constraints_of_joint, lost_in_loop
from kido.errors import KidoError
from kido.io.fields import WORLD, located
from kido.io.sdf.build import make_joint
from kido.io.sdf.models import WorldSpec
from kido.io.sdf.tree import FlatJoint, flat_joint
from kido.io.xml import Node
from kido.simulation import World
from kido.skeleton import BodyNode, RevoluteJoint, Skeleton

__all__ = ["hold_models"]


def hold_models(world: World, spec: WorldSpec, skeletons: Mapping[str, Skeleton]) -> None:
    """Add what the joints of a <world> hold; `skeletons` are those of its models by the names in the file.

    Raises FileFormatError for a joint whose links do not exist, are the same, or cannot be joined by it.
    """
    for key, joint in spec.joints.items():
        node = joint.node
        flat = flat_joint(key, spec, "", np.eye(4))
        parent, child = _body(flat.parent, skeletons, node), _body(flat.child, skeletons, node)
        if joint.type == "gearbox":
            _mesh_gears(world, skeletons, flat, parent, child)
            continue
        placed = {
            name: body.world_transform
            for name, body in ((flat.parent, parent), (flat.child, child))
            if body is not None
        }
        try:
            described = make_joint(flat, placed, np.eye(4), turned=False)
            made = constraints_of_joint(parent, child, described, joint.name)
        except KidoError as error:
            raise node.error(f"{node.describe()}: {error}") from None
        with located(node):
            for constraint in made:
                world.add_constraint(constraint)
        lost = lost_in_loop(described)
        if lost:
            _remark(skeletons, f"{node.path}:{node.line}: joint '{key}': its {', '.join(lost)} act on nothing")


def _mesh_gears(
    world: World, skeletons: Mapping[str, Skeleton], gear: FlatJoint, parent: BodyNode | None, child: BodyNode | None
) -> None:
    """A gearbox between two hinges on one reference body: theta_child = -ratio theta_parent, as within a model."""
    node = gear.spec.node
    reference = _body(gear.gear_reference, skeletons, node)
    pair = []
    for body, axis in zip((parent, child), gear.axes * (3 - len(gear.axes)), strict=False):
        pair.append(_hinge_between(reference, body, gear.pose[:3, :3] @ axis))
    leader, follower = pair
    if leader is None or follower is None or follower[0] is leader[0]:
        where = f"{node.path}:{node.line}: gearbox '{gear.name}' of ratio {gear.spec.gear_ratio:g} between"
        _remark(
            skeletons,
            f"{where} '{gear.parent}' and '{gear.child}' is left out: they do not turn about its axes on hinges on "
            f"its reference, '{gear.gear_reference}'",
        )
        return
    ratio = -gear.spec.gear_ratio * leader[1] * follower[1]
    with located(node):
        world.add_constraint(GearConstraint(follower[0], leader[0], ratio, name=gear.name))


def _hinge_between(
    reference: BodyNode | None, body: BodyNode | None, direction: np.ndarray
) -> tuple[RevoluteJoint, float] | None:
    """The hinge about a direction between two bodies, and the sign of the second's angle from the first in it."""
    for inner, outer, sign in ((reference, body, 1.0), (body, reference, -1.0)):
        if outer is None or outer.parent is not inner or not isinstance(outer.parent_joint, RevoluteJoint):
            continue
        joint = outer.parent_joint
        axis = outer.world_transform[:3, :3] @ joint.transform_from_child[:3, :3] @ joint.axis
        along = float(axis @ direction)
        if abs(along) > 1.0 - 1e-6:
            return joint, math.copysign(1.0, along) * sign
    return None


def _body(name: str, skeletons: Mapping[str, Skeleton], node: Node) -> BodyNode | None:
    """The body of a link with its scoped name; None for the world."""
    if name == WORLD:
        return None
    for model, skeleton in skeletons.items():
        if name.startswith(f"{model}::"):
            with located(node):
                return skeleton.body(name.removeprefix(f"{model}::"))
    raise node.error(f"{node.describe()} names '{name}', which is no link of a model")


def _remark(skeletons: Mapping[str, Skeleton], text: str) -> None:
    for skeleton in skeletons.values():
        skeleton.warnings.append(text)
        return
