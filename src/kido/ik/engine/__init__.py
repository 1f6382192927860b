"""Compiled inverse kinematics: residuals of tasks, their Jacobians, and whole solves in one call."""
