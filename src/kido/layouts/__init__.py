"""State vectors of other programs: positions, velocities and forces of Pinocchio, MuJoCo and dartpy, by joint name."""

from kido.layouts.dartpy import DartpyLayout
from kido.layouts.layout import StateLayout
from kido.layouts.mujoco import MujocoLayout
from kido.layouts.pinocchio import PinocchioLayout

__all__ = ["DartpyLayout", "MujocoLayout", "PinocchioLayout", "StateLayout"]
