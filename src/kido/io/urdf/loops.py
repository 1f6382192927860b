"""Joints that close loops: URDF has no place for them, Gazebo's extension has.

A <gazebo> element without reference holds elements of the SDF model that Gazebo makes of the robot; a <joint> in it, in
SDF's manner, may join any two links. Its pose is in the child link unless `relative_to` says otherwise, its axis in its
own frame unless `expressed_in` does; in the parent it is where it is at the joints' zero positions.
Source: sdformat.org, "SDFormat extensions to URDF"; the "kinematic loop" tutorial of Gazebo.
"""

from __future__ import annotations

import numpy as np

from kido.errors import FileFormatError
from kido.io.fields import WORLD, rotation_of_rpy
from kido.io.sdf.build import loop_joint
from kido.io.sdf.joints import read_joint
from kido.io.sdf.scope import MODEL
from kido.io.sdf.tree import FlatJoint
from kido.io.urdf.parse import RobotSpec
from kido.io.urdf.tree import LinkTree
from kido.io.xml import Node
from kido.skeleton import LoopJoint

__all__ = ["read_loops"]

AXIS_VERSION = (1, 6)  # the last in which both ways to say an axis's frame have a meaning


def read_loops(robot: RobotSpec, tree: LinkTree, pose: np.ndarray) -> list[LoopJoint]:
    """Joints in <gazebo> elements; what cannot be read is left out with a remark.

    Args:
        pose: of the root link.
    """
    frames = {tree.root.name: np.eye(4)}
    for joint, link in tree.steps:
        frames[link.name] = frames[joint.parent] @ joint.transform
    placed = {name: pose @ X for name, X in frames.items()}
    frames |= {joint.name: frames[joint.child] for joint, _ in tree.steps} | {MODEL: np.eye(4)}
    links, taken, found = set(placed), set(robot.joints), []
    for gazebo in robot.node.children("gazebo"):
        for node in gazebo.children("joint") if not gazebo.attribute("reference", "") else []:
            before = len(node.remarks)
            try:
                loop = _read(node, frames, links, placed, pose, robot)
                if loop.name in taken:
                    raise node.error(f"duplicate joint name '{loop.name}'")
            except FileFormatError as error:
                node.remarks[before:] = []
                node.remarks.append(f"a joint in <gazebo> is left out: {error}")
                continue
            taken.add(loop.name)
            found.append(loop)
    return found


def _read(
    node: Node,
    frames: dict[str, np.ndarray],
    links: set[str],
    placed: dict[str, np.ndarray],
    pose: np.ndarray,
    robot: RobotSpec,
) -> LoopJoint:
    spec = read_joint(node, AXIS_VERSION, MODEL)
    if spec.type == "gearbox":
        raise node.error(f"joint '{spec.name}' is a gearbox, which closes no loop")
    for name in (spec.parent, spec.child):
        if name not in links and name != WORLD:
            raise node.error(f"joint '{spec.name}' joins '{name}', which is none of the links")
    if spec.parent == spec.child:
        raise node.error(f"joint '{spec.name}' joins '{spec.child}' with itself")

    def frame(name: str) -> np.ndarray:
        if name == WORLD and name not in links:
            return np.linalg.inv(pose)
        if name not in frames:
            raise node.error(f"joint '{spec.name}': '{name}' is no link or joint")
        return frames[name]

    X = frame(spec.child)
    element = node.child("pose")
    if element is not None:
        X = frame(element.attribute("relative_to", "") or spec.child)
        numbers = element.text_vector(6)
        own = np.eye(4)
        own[:3, :3], own[:3, 3] = rotation_of_rpy(*numbers[3:]), numbers[:3]
        X = X @ own
    axes = [
        axis.direction if not axis.expressed_in else X[:3, :3].T @ frame(axis.expressed_in)[:3, :3] @ axis.direction
        for axis in spec.axes
    ]
    if any(axis.mimic is not None for axis in spec.axes):
        raise node.error(f"joint '{spec.name}' closes a loop and mimics another")
    names = [name if name in links else WORLD for name in (spec.parent, spec.child)]
    flat = FlatJoint(name=spec.name, prefix="", parent=names[0], child=names[1], pose=X, axes=axes, spec=spec)
    return loop_joint(flat, placed, pose)
