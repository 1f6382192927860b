"""Skeletons: bodies, joints, coordinates and shapes as a person handles them."""

from kido.joints import ActuatorType
from kido.quantities.underactuation import ActivePassiveSplit
from kido.skeleton.aspects import Aspect, Carrier
from kido.skeleton.body_node import BodyNode
from kido.skeleton.editing.attachment import Attachment
from kido.skeleton.frames.frame import Frame
from kido.skeleton.frames.kinds import WORLD_FRAME, FixedFrame, SimpleFrame, WorldFrame
from kido.skeleton.groups.group import Group
from kido.skeleton.groups.linkage import Branch, Chain, Expansion, Linkage, LinkageCriteria, Target, Terminal
from kido.skeleton.groups.subgraph import Subgraph
from kido.skeleton.inertia import Inertia
from kido.skeleton.joints import types as joint_types
from kido.skeleton.joints.actuator import Mimic
from kido.skeleton.joints.compound_joint import Hinge
from kido.skeleton.joints.degree_of_freedom import DegreeOfFreedom
from kido.skeleton.joints.joint import Joint
from kido.skeleton.joints.loop_joint import LoopJoint
from kido.skeleton.joints.types import *
from kido.skeleton.joints.user_joint import UserJoint
from kido.skeleton.nodes.end_effector import EndEffector, Support
from kido.skeleton.nodes.marker import Marker
from kido.skeleton.nodes.node import FrameNode, Node
from kido.skeleton.nodes.shape_node import ShapeNode
from kido.skeleton.nodes.surface import COMBINATION_RULES, ErpCfm, SpringDamper, Surface, TimeConstant
from kido.skeleton.skeleton import Skeleton
from kido.skeleton.soft.skin import Skin, SkinState
from kido.skeleton.soft.soft_body_node import SoftBodyNode
from kido.skeleton.state.configuration import Configuration
from kido.skeleton.state.snapshot import SavedProperties, SavedState
from kido.skeleton.state.state import State

__all__ = [
    "COMBINATION_RULES",
    "WORLD_FRAME",
    "ActivePassiveSplit",
    "ActuatorType",
    "Aspect",
    "Attachment",
    "BodyNode",
    "Branch",
    "Carrier",
    "Chain",
    "Configuration",
    "DegreeOfFreedom",
    "EndEffector",
    "ErpCfm",
    "Expansion",
    "FixedFrame",
    "Frame",
    "FrameNode",
    "Group",
    "Hinge",
    "Inertia",
    "Joint",
    "Linkage",
    "LinkageCriteria",
    "LoopJoint",
    "Marker",
    "Mimic",
    "Node",
    "SavedProperties",
    "SavedState",
    "ShapeNode",
    "SimpleFrame",
    "Skeleton",
    "Skin",
    "SkinState",
    "SoftBodyNode",
    "SpringDamper",
    "State",
    "Subgraph",
    "Support",
    "Surface",
    "Target",
    "Terminal",
    "TimeConstant",
    "UserJoint",
    "WorldFrame",
]
__all__ += joint_types.__all__
