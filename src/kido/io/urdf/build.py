"""Records of a URDF to a skeleton."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from kido.errors import KidoError, ModelError
from kido.io.inertias import possible_moment
from kido.io.surfaces import make_surface
from kido.io.urdf.shapes import ShapeReader, color_of_visual
from kido.io.urdf.spec import URDF_JOINTS, WITH_AXES, JointSpec, LinkSpec, RobotSpec
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

ROOT_JOINT = "root_joint"


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
            body = skeleton.add_body(link.name, joint=joint, parent=parent, inertia=_inertia(link, robot.remarks))
        except ModelError as error:
            raise node.error(str(error)) from None
        bodies[link.name] = body
        if visuals:
            _add_visuals(body, link, robot, shapes)
        if collisions:
            _add_collisions(body, link, shapes)
    return skeleton


def _root_joint(robot: RobotSpec, base: str, transform: np.ndarray) -> Joint:
    name = ROOT_JOINT
    while name in robot.joints:
        name += "_"
    if base == "fixed":
        return WeldJoint(name, transform_from_parent=transform)
    return FreeJoint(name, initial_position=[*_rotation_vector(transform[:3, :3]), *transform[:3, 3]])


def _joint(spec: JointSpec, robot: RobotSpec) -> Joint:
    options: dict[str, Any] = {"transform_from_parent": spec.transform}
    if spec.mimic is not None and leader_of(spec, robot) is not None:
        options["mimic"] = Mimic(spec.mimic.joint, spec.mimic.multiplier, spec.mimic.offset)
    kind = URDF_JOINTS[spec.type]
    if kind is WeldJoint:
        return kind(spec.name, **options)
    options["damping"] = spec.damping
    options["coulomb_friction"] = spec.friction
    if kind is PlanarJoint:
        axis1, axis2 = plane_axes(spec.axis)
        return PlanarJoint(spec.name, axis1=axis1, axis2=axis2, **options)
    if spec.type in WITH_AXES:
        options.update(
            axis=spec.axis,
            position_lower_limit=spec.lower,
            position_upper_limit=spec.upper,
            velocity_limit=spec.velocity,
            force_limit=spec.effort,
        )
    return kind(spec.name, **options)


def _inertia(link: LinkSpec, remarks: list[str]) -> Inertia:
    inertial = link.inertial
    if inertial is None:
        return Inertia(0.0)
    where = f"{link.node.path}:{link.node.line}: link '{link.name}'"
    return Inertia(inertial.mass, inertial.com, possible_moment(inertial.moment, where, remarks))


def _add_visuals(body: BodyNode, link: LinkSpec, robot: RobotSpec, shapes: ShapeReader) -> None:
    for index, visual in enumerate(link.visuals):
        shape = shapes.read(visual.shape, "visuals=False")
        if shape is None:
            continue
        color = color_of_visual(visual.node, robot.materials, robot.remarks)
        name = _shape_name(body, visual.name, "visual", index)
        body.add_shape(shape, visual.transform, name=name, visual=True, collision=False, color=color)


def _add_collisions(body: BodyNode, link: LinkSpec, shapes: ShapeReader) -> None:
    surface = make_surface(link.node, link.surface)
    for index, collision in enumerate(link.collisions):
        shape = shapes.read(collision.shape, "collisions=False")
        if shape is None:
            continue
        name = _shape_name(body, collision.name, "collision", index)
        try:
            body.add_shape(shape, collision.transform, name=name, visual=False, collision=True, **surface)
        except KidoError as error:
            raise collision.node.error(str(error)) from None


def _shape_name(body: BodyNode, given: str | None, kind: str, index: int) -> str:
    taken = {node.name for node in body.shapes}
    name = given or f"{kind}_{index}"
    if name in taken:
        name = f"{name}_{kind}_{index}"
    while name in taken:
        name += "_"
    return name


def plane_axes(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit axes e1, e2 with e1 x e2 = normal; x and y for the normal z."""
    start = np.array([1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = start - (start @ normal) * normal
    first /= np.linalg.norm(first)
    return first, np.cross(normal, first)


def _rotation_vector(rotation: np.ndarray) -> np.ndarray:
    return Rotation.from_matrix(rotation).as_rotvec()
