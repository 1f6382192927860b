"""Records of a URDF to a skeleton."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import KidoError, ModelError
from kido.io.fields import ROOT_JOINT, free_name, plane_axes
from kido.io.mechanism import possible_moment
from kido.io.surfaces import make_surface
from kido.io.urdf.parse import URDF_JOINTS, WITH_AXES, GeometrySpec, JointSpec, LinkSpec, RobotSpec
from kido.io.urdf.shapes import ShapeReader, color_of_visual
from kido.io.urdf.tree import LinkTree, leader_of
from kido.skeleton import (
    BodyNode,
    FreeJoint,
    Inertia,
    Joint,
    Mimic,
    PlanarJoint,
    Skeleton,
    WeldJoint,
)

__all__ = ["build_skeleton"]


def build_skeleton(
    robot: RobotSpec,
    tree: LinkTree,
    shapes: ShapeReader,
    *,
    base: str,
    transform: np.ndarray,
    visuals: bool,
    collisions: bool,
) -> Skeleton:
    """A skeleton with one body per link.

    The root link's joint is a weld or free joint called ``root_joint``.
    """
    skeleton = Skeleton(robot.name)
    bodies: dict[str, BodyNode] = {}
    steps: list[tuple[JointSpec | None, LinkSpec]] = [(None, tree.root), *tree.steps]
    for spec, link in steps:
        node = link.node if spec is None else spec.node
        try:
            joint = _root_joint(robot, base, transform) if spec is None else _joint(spec, robot)
            parent = None if spec is None else bodies[spec.parent]
            body = skeleton.add_body(link.name, joint=joint, parent=parent, inertia=_inertia(link))
        except ModelError as error:
            raise node.error(str(error)) from None
        bodies[link.name] = body
        if visuals:
            _add_visuals(body, link, robot, shapes)
        if collisions:
            _add_collisions(body, link, shapes)
    return skeleton


def _root_joint(robot: RobotSpec, base: str, transform: np.ndarray) -> Joint:
    name = free_name(ROOT_JOINT, robot.joints)
    if base == "fixed":
        return WeldJoint(name, transform_from_parent=transform)
    return FreeJoint(name, initial_position=FreeJoint.from_transform(transform))


def _joint(spec: JointSpec, robot: RobotSpec) -> Joint:
    options: dict[str, Any] = {"transform_from_parent": spec.transform}
    if spec.mimic is not None and leader_of(spec, robot) is not None:
        options["mimic"] = Mimic(spec.mimic.joint, spec.mimic.multiplier, spec.mimic.offset)
    kind = URDF_JOINTS[spec.type]
    if kind is WeldJoint:
        return kind(spec.name, **options)
    options |= spec.properties
    if kind is PlanarJoint:
        options["axis1"], options["axis2"] = plane_axes(spec.axis)
    elif spec.type in WITH_AXES:
        options["axis"] = spec.axis
    return kind(spec.name, **options)


def _inertia(link: LinkSpec) -> Inertia:
    inertial = link.inertial
    if inertial is None:
        return Inertia(0.0)
    return Inertia(inertial.mass, inertial.com, possible_moment(inertial.moment, link.node))


def _add_visuals(body: BodyNode, link: LinkSpec, robot: RobotSpec, shapes: ShapeReader) -> None:
    for index, visual in enumerate(link.visuals):
        shape = shapes.read(visual.shape, visual=True)
        if shape is None:
            continue
        color = color_of_visual(visual.node, robot.materials)
        name = _shape_name(body, visual, index)
        body.add_shape(shape, visual.transform, name=name, visual=True, collision=False, color=color)


def _add_collisions(body: BodyNode, link: LinkSpec, shapes: ShapeReader) -> None:
    surface = make_surface(link.node, link.surface)
    for index, collision in enumerate(link.collisions):
        shape = shapes.read(collision.shape, visual=False, visuals=[visual.shape for visual in link.visuals])
        if shape is None:
            continue
        name = _shape_name(body, collision, index)
        try:
            body.add_shape(shape, collision.transform, name=name, visual=False, collision=True, **surface)
        except KidoError as error:
            raise collision.node.error(str(error)) from None


def _shape_name(body: BodyNode, given: GeometrySpec, index: int) -> str:
    own = f"{given.node.tag}_{index}"
    return free_name(given.name or own, {node.name for node in body.shapes}, own)
