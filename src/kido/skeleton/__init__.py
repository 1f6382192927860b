"""Skeletons: bodies, joints, coordinates and shapes as a person handles them."""

from kido.skeleton.body_node import BodyNode
from kido.skeleton.degree_of_freedom import DegreeOfFreedom
from kido.skeleton.inertia import Inertia
from kido.skeleton.joint import Joint, Mimic
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
from kido.skeleton.shape_node import ShapeNode
from kido.skeleton.skeleton import Skeleton

__all__ = [
    "JOINT_TYPES",
    "BallJoint",
    "BodyNode",
    "DegreeOfFreedom",
    "EulerJoint",
    "FreeJoint",
    "Inertia",
    "Joint",
    "Mimic",
    "PlanarJoint",
    "PrismaticJoint",
    "RevoluteJoint",
    "ScrewJoint",
    "ShapeNode",
    "Skeleton",
    "TranslationalJoint",
    "UniversalJoint",
    "WeldJoint",
]
