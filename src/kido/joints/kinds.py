"""The joint kinds that kernels know, and the coordinates of each."""

from __future__ import annotations

from enum import IntEnum


class JointKind(IntEnum):
    """Number of a joint model in compiled code.

    `FREE_MIXED` is the Free joint with its linear velocity in the axes of the joint's parent frame instead
    of the body's. A world integrates free bodies in it, because there a force-free body keeps its velocity
    numbers, and converts to and from `FREE` at the edges of a step.
    """

    WELD = 0
    REVOLUTE = 1
    PRISMATIC = 2
    SCREW = 3
    UNIVERSAL = 4
    EULER = 5
    BALL = 6
    PLANAR = 7
    TRANSLATIONAL = 8
    FREE = 9
    FREE_MIXED = 10
    COMPOUND = 11
    USER = 12

    @property
    def num_dofs(self) -> int | None:
        """Degrees of freedom; None where each joint of the kind has its own number."""
        return _NUM_DOFS[self]


_NUM_DOFS = (0, 1, 1, 1, 2, 3, 3, 3, 3, 6, 6, None, None)

# Plain integers for kernels, which see module constants as literals.
(
    WELD, REVOLUTE, PRISMATIC, SCREW, UNIVERSAL, EULER, BALL, PLANAR, TRANSLATIONAL, FREE, FREE_MIXED, COMPOUND, USER,
) = range(13)  # fmt: skip
