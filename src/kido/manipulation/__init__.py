"""Manipulation: parts of robots, what they may touch, what they hold, and how forces are shared."""

from kido.manipulation.finding import find_parts, part_of_group
from kido.manipulation.holding import Grasp, Grasps
from kido.manipulation.manipulability import Ellipsoid, Manipulability, limit_factor
from kido.manipulation.parts import Part, Reach
from kido.manipulation.sampling import sample_disabled_pairs
from kido.manipulation.scene import CollisionError, CollisionScene
from kido.manipulation.srdf import (
    DisabledPair,
    EndEffectorDescription,
    GroupDescription,
    GroupState,
    RobotDescription,
    VirtualJoint,
)

__all__ = [
    "CollisionError",
    "CollisionScene",
    "DisabledPair",
    "Ellipsoid",
    "EndEffectorDescription",
    "Grasp",
    "Grasps",
    "GroupDescription",
    "GroupState",
    "Manipulability",
    "Part",
    "Reach",
    "RobotDescription",
    "VirtualJoint",
    "find_parts",
    "limit_factor",
    "part_of_group",
    "sample_disabled_pairs",
]
