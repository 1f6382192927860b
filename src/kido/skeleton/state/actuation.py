"""Which commands actuators take, and what they prescribe to dynamics."""

from __future__ import annotations

import numpy as np

from kido.joints import ActuatorType

TAKES_FORCE = np.array([t.takes_force for t in ActuatorType])
TAKES_MOTION = np.array([t.takes_motion for t in ActuatorType])
_PRESCRIBED = np.array([t.is_prescribed for t in ActuatorType])


def takes_force(actuator: np.ndarray) -> np.ndarray:
    """Which coordinates' commands are forces, from `TREE.actuator`."""
    return TAKES_FORCE[actuator]


def takes_motion(actuator: np.ndarray) -> np.ndarray:
    """Which coordinates' commands are positions, velocities or accelerations."""
    return TAKES_MOTION[actuator]


def is_prescribed(actuator: np.ndarray) -> np.ndarray:
    """Which coordinates' accelerations are given."""
    return _PRESCRIBED[actuator]


def join_commands(actuator: np.ndarray, forces: np.ndarray, motions: np.ndarray) -> np.ndarray:
    """One command for each coordinate from joint forces and positions, velocities and accelerations asked for."""
    commands = np.where(TAKES_MOTION[actuator], motions, forces)
    commands[~(TAKES_MOTION | TAKES_FORCE)[actuator]] = 0.0
    return commands
