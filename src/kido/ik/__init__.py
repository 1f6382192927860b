"""Inverse kinematics: positions, and velocities, at which frames of a skeleton are where they should be."""

from kido.ik.task import Task

__all__ = ["Task"]
