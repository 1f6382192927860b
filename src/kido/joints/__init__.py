"""Joint models: what a joint's coordinates mean, as kernels that write its motion columns."""

from kido.joints.actuators import ActuatorType
from kido.joints.kinds import JointKind

__all__ = ["ActuatorType", "JointKind"]
