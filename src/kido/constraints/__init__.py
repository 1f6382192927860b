"""Constraints: contacts, joint limits, friction and actuators as rows of one problem; loops, gears and users' own."""

from kido.constraints import joint_constraints
from kido.constraints.axis_constraint import AngleConstraint, AxisForces, TravelConstraint
from kido.constraints.ball_limit import BallLimit
from kido.constraints.body_constraint import BodyConstraint
from kido.constraints.constraint import Constraint, UserConstraint
from kido.constraints.coupler import CouplerConstraint, CouplerForces, DifferentialConstraint, GearConstraint
from kido.constraints.joint_constraints import *

__all__ = [
    "AngleConstraint",
    "AxisForces",
    "BallLimit",
    "BodyConstraint",
    "Constraint",
    "CouplerConstraint",
    "CouplerForces",
    "DifferentialConstraint",
    "GearConstraint",
    "TravelConstraint",
    "UserConstraint",
]
__all__ += joint_constraints.__all__
