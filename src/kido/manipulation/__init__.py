"""Manipulation: parts of robots, what they may touch, what they hold, and how forces are shared."""

from kido.manipulation.articulated import door, drawer, handle_force, handle_path, nut, valve
from kido.manipulation.finding import find_parts, part_of_group
from kido.manipulation.grasp import Grasp
from kido.manipulation.grasp_set import GraspSet, ParallelGripper, generate_grasps
from kido.manipulation.holding import Grasps
from kido.manipulation.load_sharing import FrictionGrip, LoadShare, LoadSharing, required_wrench
from kido.manipulation.manipulability import Ellipsoid, Manipulability, limit_factor
from kido.manipulation.model import RobotModel
from kido.manipulation.model_control import Measured, ModelControl
from kido.manipulation.operator import Operator, straight_path
from kido.manipulation.parts import Part, Reach
from kido.manipulation.payload import PayloadEstimate, estimate_payload, feedforward, inertia_of, parameters_of
from kido.manipulation.quality import GraspQuality, contact_wrenches, grasp_quality
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
    "FrictionGrip",
    "Grasp",
    "GraspQuality",
    "GraspSet",
    "Grasps",
    "GroupDescription",
    "GroupState",
    "LoadShare",
    "LoadSharing",
    "Manipulability",
    "Measured",
    "ModelControl",
    "Operator",
    "ParallelGripper",
    "Part",
    "PayloadEstimate",
    "Reach",
    "RobotDescription",
    "RobotModel",
    "VirtualJoint",
    "contact_wrenches",
    "door",
    "drawer",
    "estimate_payload",
    "feedforward",
    "find_parts",
    "generate_grasps",
    "grasp_quality",
    "handle_force",
    "handle_path",
    "inertia_of",
    "limit_factor",
    "nut",
    "parameters_of",
    "part_of_group",
    "required_wrench",
    "sample_disabled_pairs",
    "straight_path",
    "valve",
]
