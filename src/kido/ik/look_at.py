"""An axis of the node is to point at the target."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.ik.error_method import DEFAULT_TOLERANCE, Array, BoundedError
from kido.ik.frames import jacobian_of
from kido.ik.rotations import cross_matrix
from kido.math.transform import as_unit_vector, number_or_nan

_MIN_DISTANCE = 1e-9  # [m] to the target, below which it lies in no direction


class LookAtError(BoundedError):
    """An axis of the node, through its origin, is to go through the target's origin.

    The displacement's angular part is the rotation vector from the direction of the target to the axis, in the node's
    axes; turning about the axis is free.

    Args:
        axis: in the node's axes; a direction.
        cone: how far the axis may miss the target [rad].
        error_weights, error_from_center, tolerance: see `BoundedError`.
    """

    def __init__(
        self,
        axis: ArrayLike = (0.0, 0.0, 1.0),
        cone: float = DEFAULT_TOLERANCE,
        error_weights: ArrayLike = 1.0,
        error_from_center: bool = True,
        tolerance: float = DEFAULT_TOLERANCE,
    ):
        if not 0.0 <= number_or_nan(cone) <= math.pi:
            raise ModelError(f"LookAtError: cone: expected an angle between 0 and pi, got {cone!r}")
        super().__init__(cone, np.inf, error_weights, error_from_center, tolerance)
        self.axis = axis

    @property
    def axis(self) -> Array:
        """The axis, a unit vector (3,) in the node's axes (a copy)."""
        return self._axis.copy()

    @axis.setter
    def axis(self, value: ArrayLike) -> None:
        self._axis = as_unit_vector(value, "LookAtError: axis")

    def _direction(self) -> tuple[Array, float]:
        """Unit vector to the target in the node's axes, and the distance."""
        X_WB, p = self.ik.node_transform, self.ik.target.world_transform[:3, 3]
        v = X_WB[:3, :3].T @ (p - X_WB[:3, 3])
        distance = float(np.linalg.norm(v))
        return (v / distance if distance > _MIN_DISTANCE else self._axis), max(distance, _MIN_DISTANCE)

    def _angle_over_sine(self, u: Array) -> tuple[Array, float, float, float]:
        """u x a with its length s and cosine c, and k = angle / s."""
        a = self._axis
        n = cross_matrix(u) @ a
        s, c = float(np.linalg.norm(n)), float(u @ a)
        if s > 1e-12:
            return n, s, c, math.atan2(s, c) / s
        if c > 0.0:
            return n, s, c, 1.0
        # It looks the opposite way: any axis across will do, and turning by pi about it.
        across: Array = cross_matrix(a)[:, int(np.argmin(np.abs(a)))]
        return across / float(np.linalg.norm(across)), 1.0, c, math.pi

    def compute_displacement(self) -> Array:
        """d (6,): the angular part is k (u x a), with u the direction of the target and a the axis."""
        n, _, _, k = self._angle_over_sine(self._direction()[0])
        return np.concatenate([k * n, np.zeros(3)])

    def compute_displacement_jacobian(self) -> Array:
        """D (6, n), exact, also where the target hangs on the same skeleton."""
        ik = self.ik
        u, distance = self._direction()
        n, s, c, k = self._angle_over_sine(u)
        R = ik.node_transform[:3, :3]
        J, J_T = ik.node_jacobian, jacobian_of(ik.target, ik)
        v = -J[3:] if J_T is None else J_T[3:] - J[3:]
        du = cross_matrix(u) @ (R.T @ J[:3]) + (np.eye(3) - np.outer(u, u)) @ (R.T @ v) / distance
        # dk/dc = (c k - 1) / s^2, which is -1/3 in the middle.
        slope = (c * k - 1.0) / (s * s) if s > 1e-4 else -1.0 / 3.0
        D = -k * cross_matrix(self._axis) @ du + slope * np.outer(n, self._axis @ du)
        return np.concatenate([D, np.zeros_like(D)])
