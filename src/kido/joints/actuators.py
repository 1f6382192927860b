"""What drives a coordinate: the kinds of actuator, as objects and kernels know them."""

from __future__ import annotations

from enum import IntEnum


class ActuatorType(IntEnum):
    """How a coordinate is driven, and what its command means.

    | type | command | what happens |
    | --- | --- | --- |
    | FORCE | force | the force acts |
    | PASSIVE | none | no force acts |
    | SERVO | velocity | in a world, a motor of limited force holds the velocity |
    | POSITION | position | in a world, a spring and damper of limited force draw the coordinate there |
    | MIMIC | force | in a world, a gear couples the coordinate with another (`Mimic`); the force acts besides |
    | ACCELERATION | acceleration | the acceleration is prescribed, the force it needs is a result |
    | VELOCITY | velocity | reached within one time step by a prescribed acceleration, the force is a result |
    | LOCKED | none | the coordinate stands still, the force it needs is a result |

    A servo is as strong as the joint's `force_limit`; give it one where something could block it. A POSITION actuator
    gives the force kp (q* - q) - kd u within the joint's force limits, with its `position_gain` kp and `velocity_gain`
    kd, implicitly: no gain is too large for the time step. Of a ball joint q* - q is the rotation vector log(R^T R*) in
    body axes, of a free one's translation R^T (p* - p); the three coordinates of either are driven together. Prescribed
    coordinates (ACCELERATION, VELOCITY, LOCKED) yield to no force: contacts, impulses and limits do not move them.
    Damping, springs and dry friction of their joints do not change their motion, but are part of the force that it
    needs.
    """

    FORCE = 0
    PASSIVE = 1
    SERVO = 2
    MIMIC = 3
    ACCELERATION = 4
    VELOCITY = 5
    LOCKED = 6
    POSITION = 7

    @property
    def is_prescribed(self) -> bool:
        """Whether the motion is given and the force follows."""
        return self in (ActuatorType.ACCELERATION, ActuatorType.VELOCITY, ActuatorType.LOCKED)

    @property
    def takes_force(self) -> bool:
        """Whether the command is a force."""
        return self in (ActuatorType.FORCE, ActuatorType.MIMIC)

    @property
    def takes_motion(self) -> bool:
        """Whether the command is a position, a velocity or an acceleration."""
        return self in (
            ActuatorType.SERVO, ActuatorType.POSITION, ActuatorType.VELOCITY, ActuatorType.ACCELERATION,
        )  # fmt: skip


# Plain integers for kernels, which see module constants as literals.
FORCE, PASSIVE, SERVO, MIMIC, ACCELERATION, VELOCITY, LOCKED, POSITION = range(8)
