"""Controllers: forces on joints from targets and models, in worlds at a rate of their own."""

from kido.control.balance import AnkleStrategy
from kido.control.joint_space import (
    PD,
    ComputedTorque,
    GravityCompensation,
    JointController,
    StablePD,
    Tracking,
    computed_torque,
    gravity_compensation,
    pd,
    stable_pd,
)
from kido.control.operational_space import Impedance, OperationalSpace, operational_space
from kido.control.reference import Samples
from kido.control.whole_body import BodyGoal, ComGoal, Contact, Goal, MomentumGoal, PostureGoal, WholeBody
from kido.simulation.controller import Controller

__all__ = [
    "PD",
    "AnkleStrategy",
    "BodyGoal",
    "ComGoal",
    "ComputedTorque",
    "Contact",
    "Controller",
    "Goal",
    "GravityCompensation",
    "Impedance",
    "JointController",
    "MomentumGoal",
    "OperationalSpace",
    "PostureGoal",
    "Samples",
    "StablePD",
    "Tracking",
    "WholeBody",
    "computed_torque",
    "gravity_compensation",
    "operational_space",
    "pd",
    "stable_pd",
]
