"""An axis of the node is to point at the target."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.ik.error_method import DEFAULT_TOLERANCE, Array, BoundedError
from kido.ik.task import Task
from kido.math.transform import as_unit_vector, number_or_nan


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

    def compute_displacement(self) -> Array:
        """d (6,): the angular part is k (u x a), u the direction of the target, a the axis, k = angle / |u x a|."""
        return self._evaluated()[0]

    def compute_displacement_jacobian(self) -> Array:
        """D (6, n), exact, also where the target hangs on the same skeleton."""
        return self._evaluated()[1]

    def _evaluated(self) -> tuple[Array, Array]:
        return self.ik.displacement_of(Task.look_at(self.ik.task_node, self.ik.target, self._axis))

    def as_task(self, cones: bool = False) -> Task | None:
        """See `BoundedError.as_task`."""
        lows, highs = self.angular_bounds
        width = float(highs[0])
        narrow = bool(self._narrow()[0])
        if self.has_own(LookAtError) or not (np.all(highs == width) and np.all(lows == -width)):
            return None
        if not (narrow or (cones and width <= np.pi)):
            return None
        cone = 0.0 if narrow else width
        return Task.look_at(self.ik.task_node, self.ik.target, self._axis, cone, **self.task_options())
