"""The centre of mass as what is to be somewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.ik.error_method import DEFAULT_TOLERANCE, Array, BoundedError
from kido.ik.frames import jacobian_of
from kido.ik.rotations import cross_matrix
from kido.ik.task import Task
from kido.skeleton import BodyNode


class CenterOfMassError(BoundedError):
    """The skeleton's centre of mass is to lie within bounds about the target. The node does not matter.

    The displacement's linear part is p_TC in the target's axes. Give the `InverseKinematics` all coordinates that may
    move.

    Args:
        linear_bounds: as `linear_bounds` takes them [m]; (1e-3, 1e-3, inf) leaves the height free.
        bodies: whose centre of mass; None: all.
        error_weights, error_from_center, tolerance: see `BoundedError`.
    """

    def __init__(
        self,
        linear_bounds: ArrayLike = DEFAULT_TOLERANCE,
        bodies: Iterable[BodyNode] | None = None,
        error_weights: ArrayLike = 1.0,
        error_from_center: bool = True,
        tolerance: float = DEFAULT_TOLERANCE,
    ):
        super().__init__(np.inf, linear_bounds, error_weights, error_from_center, tolerance)
        self.bodies: Any = None if bodies is None else list(bodies)

    def compute_displacement(self) -> Array:
        """d (6,): the linear part is where the centre of mass is, in the target's axes [m]."""
        if self.bodies is None:
            return self.ik.displacement_of(Task.com(self.ik.target))[0]
        return np.concatenate([np.zeros(3), self.ik.skeleton.com_position(self.bodies, self.ik.target)])

    def compute_displacement_jacobian(self) -> Array:
        """D (6, n), exact, also where the target hangs on the same skeleton."""
        ik, skeleton = self.ik, self.ik.skeleton
        if self.bodies is None:
            return ik.displacement_of(Task.com(ik.target))[1]
        X_WT = ik.target.world_transform
        v = ik.columns(skeleton.com_jacobian(self.bodies))
        J_T = jacobian_of(ik.target, ik)
        if J_T is not None:
            r = skeleton.com_position(self.bodies) - X_WT[:3, 3]
            v = v - J_T[3:] + cross_matrix(r) @ J_T[:3]
        return np.concatenate([np.zeros_like(v), X_WT[:3, :3].T @ v])

    def as_task(self, cones: bool = False) -> Task | None:
        """See `BoundedError.as_task`."""
        if self.has_own(CenterOfMassError) or self.bodies is not None:
            return None
        lower, upper = self.task_bounds()
        return Task.com(self.ik.target, (lower[3:], upper[3:]), **self.task_options())
