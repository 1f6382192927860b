"""Skeletons: bodies, joints, coordinates and shapes as a person handles them."""

from kido.joints import ActuatorType
from kido.skeleton.actuator import Mimic
from kido.skeleton.aspects import Aspect, Carrier
from kido.skeleton.body_node import BodyNode
from kido.skeleton.compound_joint import CompoundJoint, Hinge
from kido.skeleton.configuration import Configuration
from kido.skeleton.degree_of_freedom import DegreeOfFreedom
from kido.skeleton.end_effector import EndEffector, Support
from kido.skeleton.fixed_frame import FixedFrame
from kido.skeleton.frame import Frame
from kido.skeleton.group import Group
from kido.skeleton.inertia import Inertia
from kido.skeleton.joint import Joint
from kido.skeleton.joint_types import (
    JOINT_TYPES,
    BallJoint,
    EulerJoint,
    FreeJoint,
    PlanarJoint,
    PrismaticJoint,
    RevoluteJoint,
    ScrewJoint,
    TranslationalJoint,
    UniversalJoint,
    WeldJoint,
)
from kido.skeleton.linkage import Branch, Chain, Expansion, Linkage, LinkageCriteria, Target, Terminal
from kido.skeleton.marker import Marker, MarkerConstraint
from kido.skeleton.node import FrameNode, Node
from kido.skeleton.shape_node import ShapeNode
from kido.skeleton.simple_frame import SimpleFrame
from kido.skeleton.skeleton import Skeleton
from kido.skeleton.snapshot import SavedProperties, SavedState
from kido.skeleton.user_joint import UserJoint
from kido.skeleton.world_frame import WORLD_FRAME, WorldFrame

__all__ = [
    "JOINT_TYPES",
    "WORLD_FRAME",
    "ActuatorType",
    "Aspect",
    "BallJoint",
    "BodyNode",
    "Branch",
    "Carrier",
    "Chain",
    "CompoundJoint",
    "Configuration",
    "DegreeOfFreedom",
    "EndEffector",
    "EulerJoint",
    "Expansion",
    "FixedFrame",
    "Frame",
    "FrameNode",
    "FreeJoint",
    "Group",
    "Hinge",
    "Inertia",
    "Joint",
    "Linkage",
    "LinkageCriteria",
    "Marker",
    "MarkerConstraint",
    "Mimic",
    "Node",
    "PlanarJoint",
    "PrismaticJoint",
    "RevoluteJoint",
    "SavedProperties",
    "SavedState",
    "ScrewJoint",
    "ShapeNode",
    "SimpleFrame",
    "Skeleton",
    "Support",
    "Target",
    "Terminal",
    "TranslationalJoint",
    "UniversalJoint",
    "UserJoint",
    "WeldJoint",
    "WorldFrame",
]
