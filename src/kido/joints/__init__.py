"""Joint models: what a joint's coordinates mean, as kernels that write its motion columns."""

from kido.joints.kinds import JointKind

__all__ = ["JointKind"]
