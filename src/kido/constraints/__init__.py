"""Constraints: contacts, joint limits, friction and actuators as rows of one problem; loops, gears and users' own."""

from kido.constraints import body_constraint
from kido.constraints.axis_constraint import AngleConstraint, AxisForces, TravelConstraint
from kido.constraints.body_constraint import *
from kido.constraints.constraint import Constraint
from kido.constraints.coupler import CouplerConstraint, DifferentialConstraint, GearConstraint
from kido.constraints.user_constraint import UserConstraint

__all__ = [
    "AngleConstraint",
    "AxisForces",
    "Constraint",
    "CouplerConstraint",
    "DifferentialConstraint",
    "GearConstraint",
    "TravelConstraint",
    "UserConstraint",
]
__all__ += body_constraint.__all__
