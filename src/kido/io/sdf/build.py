"""Records of an SDF model to a skeleton."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kido.errors import KidoError
from kido.io.fields import ROOT_JOINT, WORLD, free_name
from kido.io.mechanism import massless_text, movers_without_mass
from kido.io.sdf.fields import note_unknown, read_inertia
from kido.io.sdf.joints import SDF_JOINTS, UNSET
from kido.io.sdf.models import ModelSpec
from kido.io.sdf.scope import MODEL
from kido.io.sdf.shapes import ShapeReader, read_color, read_surface, shape_offset
from kido.io.sdf.tree import FlatJoint, FlatLink, Step, flatten, span
from kido.io.xml import Node
from kido.math.transform import inverse_transform
from kido.shapes import Shape
from kido.skeleton import (
    BodyNode,
    FreeJoint,
    Inertia,
    Joint,
    LoopJoint,
    Mimic,
    Skeleton,
    WeldJoint,
)

__all__ = ["SkeletonBuilder", "loop_joint", "make_joint"]

LINK_CHILDREN = (
    "inertial",
    "visual",
    "collision",
    "pose",
    "gravity",
    "velocity_decay",
    "self_collide",
    "enable_wind",
    "must_be_base_link",
)
VISUAL_CHILDREN = ("pose", "geometry", "material", "cast_shadows", "transparency")
COLLISION_CHILDREN = ("pose", "geometry", "surface", "density", "max_contacts")


@dataclass(frozen=True)
class SkeletonBuilder:
    """Makes skeletons of models; `visuals` and `collisions` say whether these shapes are read."""

    shapes: ShapeReader
    visuals: bool
    collisions: bool

    def build(self, model: ModelSpec, pose: np.ndarray) -> Skeleton:
        """A skeleton with one body per link; `pose` is that of the model in the world."""
        links, all_joints = flatten(model)
        _remark_on_nested(model)
        if not links:
            raise model.node.error(f"{model.node.describe()} has no link")
        gears = [joint for joint in all_joints if joint.spec.type == "gearbox"]
        joints = [joint for joint in all_joints if joint.spec.type != "gearbox"]
        steps, loops = span(links, joints, model.scope.link(MODEL, model.node))
        mimics = _mimics(steps) | _geared(steps, gears)
        skeleton = Skeleton(model.name)
        skeleton.mobile = not model.static
        skeleton.self_collision = model.self_collide
        placed = {name: pose @ link.pose for name, link in links.items()}
        for step in steps:
            link = links[step.child]
            node = link.spec.node if step.joint is None else step.joint.spec.node
            try:
                body = self._add_body(skeleton, step, link, placed, pose, model.static, mimics)
            except (KidoError, OverflowError) as error:
                raise (error if hasattr(error, "path") else node.error(str(error))) from None
            if step.joint is not None and step.turned:
                node.remark(f"joint '{step.joint.name}' is turned round: body '{body.name}' hangs on its child")
        skeleton.loops = [loop_joint(joint, placed, pose) for joint in loops]
        for joint, loop in zip(loops, skeleton.loops, strict=True):
            between = f"'{joint.parent}' and '{joint.child}'"
            joint.spec.node.remark(
                f"joint '{joint.name}' ({joint.spec.type}) closes a loop between {between}; "
                f"worlds hold it by a constraint, described in skeleton.loops ({type(loop.joint).__name__})",
            )
        if skeleton.mobile and (movers := movers_without_mass(skeleton)):
            model.node.remark(massless_text(movers))
        skeleton.warnings.extend(model.node.remarks)
        return skeleton

    def _add_body(
        self,
        skeleton: Skeleton,
        step: Step,
        link: FlatLink,
        placed: dict[str, np.ndarray],
        pose: np.ndarray,
        static: bool,
        mimics: dict[str, list[Mimic | None]],
    ) -> BodyNode:
        node = link.spec.node
        note_unknown(node, LINK_CHILDREN, f"link '{link.name}'")
        decay = node.child("velocity_decay")
        if decay is not None and any(decay.child_number(key, 0.0) != 0.0 for key in ("linear", "angular")):
            decay.remark(f"<velocity_decay> of link '{link.name}' is left out")
        joint: Joint
        if step.joint is not None:
            joint = make_joint(step.joint, placed, pose, step.turned)
            for k, mimic in enumerate(mimics.get(step.joint.name, [])):
                if mimic is not None:
                    joint.dofs[k].mimic = mimic
        elif static or link.spec.held:
            joint = WeldJoint(_root_name(skeleton, link.name), transform_from_parent=placed[link.name])
        else:
            position = FreeJoint.from_transform(placed[link.name])
            joint = FreeJoint(_root_name(skeleton, link.name), initial_position=position)
        visuals = self._shapes(node, "visual", VISUAL_CHILDREN, link) if self.visuals else []
        auto = (node.child("inertial") or node).attribute("auto", "") in ("true", "1")
        collisions = []
        if self.collisions or auto:
            collisions = self._shapes(node, "collision", COLLISION_CHILDREN, link)
        if (static and node.child("inertial") is None) or link.spec.held:
            inertia = Inertia()
        else:
            inertia = read_inertia(node, collisions)
        parent = None if step.parent == WORLD else step.parent
        body = skeleton.add_body(link.name, joint=joint, parent=parent, inertia=inertia)
        body.gravity = node.child_boolean("gravity", True)
        for child, shape, transform in visuals:
            color = read_color(child)
            name = _free_shape_name(body, child)
            body.add_shape(shape, transform, name=name, visual=True, collision=False, color=color)
        for child, shape, transform in collisions if self.collisions else []:
            surface = read_surface(child)
            name = _free_shape_name(body, child)
            body.add_shape(shape, transform, name=name, visual=False, collision=True, **surface)
        return body

    def _shapes(
        self, node: Node, tag: str, known: tuple[str, ...], link: FlatLink
    ) -> list[tuple[Node, Shape, np.ndarray]]:
        """Elements <visual> or <collision> of a link, their shapes and poses in the link."""
        found = []
        for child in node.children(tag):
            child.required_attribute("name")
            note_unknown(child, known, f"link '{link.name}'")
            visuals = node.children("visual") if tag == "collision" else []
            shape = self.shapes.read(child, link.spec.finder, visuals)
            if shape is not None:
                pose = link.shape_pose(child)
                pose[:3, 3] += pose[:3, :3] @ shape_offset(child)
                found.append((child, shape, pose))
        return found


def _root_name(skeleton: Skeleton, link: str) -> str:
    return f"{link}_{ROOT_JOINT}" if skeleton.num_bodies else ROOT_JOINT


def _free_shape_name(body: BodyNode, node: Node) -> str:
    return free_name(node.required_attribute("name"), {shape.name for shape in body.shapes}, node.tag)


def make_joint(joint: FlatJoint, placed: dict[str, np.ndarray], pose: np.ndarray, turned: bool) -> Joint:
    """The joint of a record; turned round, its coordinates keep their sign, but for those of a ball joint."""
    X_WJ = pose @ joint.pose
    frames = [np.eye(4) if name == WORLD else placed[name] for name in (joint.parent, joint.child)]
    poses = [inverse_transform(frame) @ X_WJ for frame in frames]
    axes, specs = list(joint.axes), list(joint.spec.axes)
    if turned:
        poses.reverse()
        axes = [-axis for axis in reversed(axes)]
        specs.reverse()
    options: dict[str, Any] = {"transform_from_parent": poses[0], "transform_from_child": poses[1]}
    kind = SDF_JOINTS[joint.spec.type]
    keys = kind.axis_properties()
    if not keys:
        return kind(joint.name, **options)
    options |= {name: [axis.properties[name] for axis in specs] for name in UNSET}
    if "pitch" in kind.own_properties:
        options["pitch"] = joint.spec.pitch
    return kind(joint.name, **dict(zip(keys, axes, strict=True)), **options)


def loop_joint(joint: FlatJoint, placed: dict[str, np.ndarray], pose: np.ndarray) -> LoopJoint:
    """A joint that closes a loop, with its poses in both links as they are at zero positions.

    Args:
        placed: poses of links.
        pose: of the model.
    """
    try:
        described = make_joint(joint, placed, pose, turned=False)
    except KidoError as error:
        raise joint.spec.node.error(str(error)) from None
    parent, child = (None if name == WORLD else name for name in (joint.parent, joint.child))
    return LoopJoint(parent, child, described)


# -- couplings ---------------------------------------------------------------------------------------------


def _mimics(steps: list[Step]) -> dict[str, list[Mimic | None]]:
    """What the axes of each joint follow."""
    in_tree = {step.joint.name: (step, step.joint) for step in steps if step.joint is not None}
    found: dict[str, list[Mimic | None]] = {}
    for step, joint in in_tree.values():
        for k, axis in enumerate(joint.spec.axes):
            if axis.mimic is None:
                continue
            above, leader = in_tree.get(joint.prefix + axis.mimic.joint, (None, None))
            if above is None or leader is None or axis.mimic.axis >= len(leader.axes):
                axis.mimic.node.remark(f"joint '{joint.name}' mimics '{axis.mimic.joint}', which cannot be; left out")
                continue
            number = len(leader.axes) - 1 - axis.mimic.axis if above.turned else axis.mimic.axis
            mimics = found.setdefault(joint.name, [None] * len(joint.axes))
            place = len(joint.axes) - 1 - k if step.turned else k
            mimics[place] = Mimic(leader.name, axis.mimic.multiplier, axis.mimic.offset, number)
    for name in found:
        _refuse_circle(name, found, in_tree[name][1].spec.node)
    return found


def _refuse_circle(start: str, mimics: dict[str, list[Mimic | None]], node: Node) -> None:
    waiting: list[tuple[str, tuple[str, ...]]] = [(start, (start,))]
    while waiting:
        name, path = waiting.pop()
        for mimic in mimics.get(name, []):
            if mimic is None:
                continue
            if mimic.joint == start:
                raise node.error(f"joints mimic each other in a circle: {' -> '.join((*path, start))}")
            if mimic.joint not in path:
                waiting.append((mimic.joint, (*path, mimic.joint)))


def _geared(steps: list[Step], gears: list[FlatJoint]) -> dict[str, list[Mimic | None]]:
    """Gearboxes between two hinges on one reference body: theta_child = -ratio theta_parent, angles from the reference.

    Those for which there are no such hinges are left out, with a remark.
    """
    found: dict[str, list[Mimic | None]] = {}
    hinges = [
        step.joint for step in steps if step.joint is not None and step.joint.spec.type in ("revolute", "continuous")
    ]
    for gear in gears:
        pair = []
        for link, axis in zip((gear.parent, gear.child), gear.axes * (3 - len(gear.axes)), strict=False):
            direction = gear.pose[:3, :3] @ axis
            pair.append(_hinge_between(hinges, gear.gear_reference, link, direction))
        leader, follower = pair
        if leader is None or follower is None or follower[0].name in found:
            between = f"'{gear.parent}' and '{gear.child}'"
            gear.spec.node.remark(
                f"gearbox '{gear.name}' of ratio {gear.spec.gear_ratio:g} between {between} "
                f"is left out: they do not turn about its axes on hinges on its reference, '{gear.gear_reference}'",
            )
            continue
        ratio = -gear.spec.gear_ratio * leader[1] * follower[1]
        found[follower[0].name] = [Mimic(leader[0].name, ratio)]
        coupled = f"joint '{follower[0].name}' follows '{leader[0].name}'"
        gear.spec.node.remark(f"gearbox '{gear.name}': {coupled} with the ratio {ratio:g}")
    return found


def _hinge_between(
    hinges: list[FlatJoint], reference: str, link: str, direction: np.ndarray
) -> tuple[FlatJoint, float] | None:
    """The hinge about a direction between two links, and the sign of the link's angle from the reference in it."""
    for joint in hinges:
        if {joint.parent, joint.child} != {reference, link}:
            continue
        along = float(joint.pose[:3, :3] @ joint.axes[0] @ direction)
        if abs(along) > 1.0 - 1e-6:
            return joint, math.copysign(1.0, along) * (1.0 if joint.child == link else -1.0)
    return None


def _remark_on_nested(model: ModelSpec) -> None:
    """Say of nested models what holds for the outermost one only."""
    for nested in model.models.values():
        if nested.static and not model.static:
            nested.node.remark(f"model '{nested.name}' is static, but the one around it is not; it is not")
        if nested.self_collide != model.self_collide:
            nested.node.remark(f"<self_collide> of the nested model '{nested.name}' is left out")
        _remark_on_nested(nested)
