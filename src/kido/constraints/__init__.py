"""Constraints: contacts, joint limits, friction and actuators as rows of one problem; loops, gears and users' own."""

from kido.constraints.axis_constraint import AngleConstraint, AxisForces, TravelConstraint
from kido.constraints.body_constraint import (
    BallJointConstraint,
    BodyConstraint,
    CylindricalJointConstraint,
    DistanceConstraint,
    PlanarJointConstraint,
    PointOnPlaneConstraint,
    PrismaticJointConstraint,
    RevoluteJointConstraint,
    ScrewJointConstraint,
    UniversalJointConstraint,
    WeldJointConstraint,
)
from kido.constraints.constraint import Constraint
from kido.constraints.coupler import CouplerConstraint, DifferentialConstraint, GearConstraint
from kido.constraints.user_constraint import UserConstraint

__all__ = [
    "AngleConstraint",
    "AxisForces",
    "BallJointConstraint",
    "BodyConstraint",
    "Constraint",
    "CouplerConstraint",
    "CylindricalJointConstraint",
    "DifferentialConstraint",
    "DistanceConstraint",
    "GearConstraint",
    "PlanarJointConstraint",
    "PointOnPlaneConstraint",
    "PrismaticJointConstraint",
    "RevoluteJointConstraint",
    "ScrewJointConstraint",
    "TravelConstraint",
    "UniversalJointConstraint",
    "UserConstraint",
    "WeldJointConstraint",
]
