"""State vectors of other programs: positions, velocities and forces of Pinocchio, MuJoCo and dartpy, by joint name."""

from kido.layouts.layout import StateLayout
from kido.layouts.programs import DartpyLayout, MujocoLayout, PinocchioLayout

__all__ = ["DartpyLayout", "MujocoLayout", "PinocchioLayout", "StateLayout"]
