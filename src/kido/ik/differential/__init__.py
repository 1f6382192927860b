"""Compiled inverse differential kinematics: rows of tasks and limits, hierarchies of quadratic programs."""
