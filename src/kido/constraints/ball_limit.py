"""Limits of ball joints: how far their bodies turn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kido.constraints.constraint import UserConstraint, read_only
from kido.errors import ModelError
from kido.math.transform import number_or_nan
from kido.skeleton import BallJoint

if TYPE_CHECKING:
    from kido.skeleton import Joint

__all__ = ["BallLimit"]

Array = NDArray[np.float64]
LEAST = 1e-9  # [rad] below which a rotation has no axis


class BallLimit(UserConstraint):
    """The greatest angle of a ball joint's rotation, about whatever axis: theta <= limit, theta in [0, pi].

    With n the axis of the rotation and w the relative angular velocity, d theta / dt = n . w.

    Args:
        joint: a ball joint.
        limit: [rad], above 0 and at most pi.
        name: for messages and reports; the joint's by default.

    Raises:
        ModelError: another joint; a limit out of range.
    """

    def __init__(self, joint: Joint, limit: float, name: str | None = None):
        if not isinstance(joint, BallJoint):
            raise ModelError(f"limit of a ball joint: expected a BallJoint, got {joint!r}")
        number = number_or_nan(limit)
        if not 0.0 < number <= np.pi:
            raise ModelError(f"limit of ball joint {joint.name!r}: expected an angle in (0, pi], got {limit!r}")
        self._joint, self._limit = joint, number
        super().__init__(joint.child.skeleton, name=joint.name if name is None else name)

    joint: BallJoint = read_only("_joint", "The joint.")
    limit: float = read_only("_limit", "Greatest angle [rad].")

    @property
    def angle(self) -> float:
        """That of the joint's rotation [rad]."""
        return float(np.linalg.norm(self._turn()))

    def _turn(self) -> Array:
        """The shortest rotation vector of the joint's rotation."""
        turn = np.asarray(self._joint.positions)
        angle = math.hypot(*turn)
        return turn * (math.remainder(angle, 2.0 * math.pi) / angle) if angle > math.pi else turn

    @property
    def error(self) -> Array:
        """How far the angle is from the limit [rad]; nothing where it is zero."""
        angle = self.angle
        return np.array([self._limit - angle] if angle > LEAST else [])

    def rows(self) -> Array:
        turn = self._turn()
        angle = float(np.linalg.norm(turn))
        rows = np.zeros((int(angle > LEAST), self._joint.child.skeleton.num_dofs))
        for k, dof in enumerate(self._joint.dofs if angle > LEAST else ()):
            rows[0, dof.index] = -turn[k] / angle
        return rows

    def bounds(self) -> tuple[float, float]:
        return 0.0, np.inf
