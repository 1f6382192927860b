"""Controllers: forces on joints from targets and models, in worlds at a rate of their own."""

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
from kido.control.reference import Samples
from kido.simulation.controller import Controller

__all__ = [
    "PD",
    "ComputedTorque",
    "Controller",
    "GravityCompensation",
    "JointController",
    "Samples",
    "StablePD",
    "Tracking",
    "computed_torque",
    "gravity_compensation",
    "pd",
    "stable_pd",
]
