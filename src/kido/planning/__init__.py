"""Motions without collisions: spheres over any robot, states checked eight at a time, planners, time laws."""

from kido.planning.checker import CollisionChecker, Contact
from kido.planning.environment import Environment

__all__ = ["CollisionChecker", "Contact", "Environment"]
