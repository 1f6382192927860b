"""Actuators along transmissions: joints, wrenches at places, tendons that run through places and around bodies.

    pull = actuation.Tendon("flexor", actuation.Path([origin, around, insertion]))
    actuators = actuation.Actuators(world, [actuation.Actuator("muscle", pull, dynamics="muscle", ...)], [pull])
    actuators.set_controls(muscle=0.5)

A transmission is a length that depends on positions; a force along it acts on coordinates by the length's derivatives,
its moments. Actuators make forces of controls by gains and biases that may depend on length and velocity, through
activations that may lag. `kido.load` makes them of MJCF files.
"""

from kido.actuation.actuators import ActuatorLink, Actuators
from kido.actuation.description import (
    Actuator,
    Around,
    Ball,
    Linear,
    Path,
    Place,
    Pulley,
    Tendon,
    Wrench,
    motor,
    position_servo,
    velocity_servo,
)
from kido.actuation.limits import TendonLimits

__all__ = [
    "Actuator",
    "ActuatorLink",
    "Actuators",
    "Around",
    "Ball",
    "Linear",
    "Path",
    "Place",
    "Pulley",
    "Tendon",
    "TendonLimits",
    "Wrench",
    "motor",
    "position_servo",
    "velocity_servo",
]
