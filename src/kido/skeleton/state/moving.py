"""Kinematic skeletons: the velocities that lead somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.joints import ActuatorType, JointKind
from kido.math.transform import as_positive

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton


def ask_to_stay(skeleton: Skeleton, kinematic: bool) -> None:
    """Take the commands of actuators that would go on acting from a skeleton that is to be, or not to be, kinematic.

    POSITION actuators are asked to stay where they are when they act again.
    """
    placed = np.array([dof.actuator_type == ActuatorType.POSITION for dof in skeleton.dofs], bool)
    if placed.any():
        d = skeleton.current_state.compiled()
        d.command[placed] = 0.0 if kinematic else d.q[placed]


def move_to(skeleton: Skeleton, positions: ArrayLike, duration: float | None) -> None:
    """See `Skeleton.move_to`."""
    what = f"skeleton {skeleton.name!r}: move_to"
    if not skeleton.kinematic:
        raise ModelError(f"{what}: it is moved by forces; set kinematic = True")
    if duration is None:
        if skeleton.host is None:
            raise ModelError(f"{what}: give duration [s], or add the skeleton to a world")
        duration = skeleton.host.time_step
    seconds = as_positive(duration, f"{what}: duration", "s")
    goal, now = skeleton.current_state.finite(positions, "move_to"), skeleton.positions.copy()
    moves = skeleton.position_differences(goal, now)
    for joint in skeleton.joints:
        if joint.kind == JointKind.FREE:  # straight on, and not along a screw
            own = joint.coordinates
            moves[own][3:] = (
                scipy.spatial.transform.Rotation.from_rotvec(now[own][:3]).inv().apply((goal[own] - now[own])[3:])
            )
    skeleton.velocities = moves / seconds
