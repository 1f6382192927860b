"""Where a point of a body is to be: poses over time, and errors from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.math.lie import log_rotation
from kido.math.transform import numbers_or_nan
from kido.skeleton import BodyNode
from kido.skeleton.frames.frame import Frame

Array = NDArray[np.float64]
_STEP = 1e-4  # [s] of central differences of poses

ROWS = {"pose": slice(0, 6), "angular": slice(0, 3), "linear": slice(3, 6)}


class PoseReference:
    """A pose over time: a pose that stays, a frame, or a function of time that gives poses.

    Args:
        given: a 4x4 pose in the world; three numbers, a point; a `Frame`, whose velocity and acceleration are followed
            too; or a function of time that gives the first or the second, which is differenced.
        what: begins messages.

    Raises:
        ModelError: something else.
    """

    def __init__(self, given: Any, what: str):
        self.given, self.what = given, what
        self._function: Callable[[float], Any] | None = None
        if not isinstance(given, Frame):
            self._function = given if callable(given) else None
            self._pose(given(0.0) if callable(given) else given)

    @property
    def is_point(self) -> bool:
        """Whether it is a point, without an orientation."""
        if isinstance(self.given, Frame):
            return False
        present: Any = self.given if self._function is None else self._function(0.0)
        return np.shape(present) == (3,)

    def _pose(self, value: Any) -> Array:
        X = numbers_or_nan(value)
        if X.shape == (3,):
            X = np.block([[np.eye(3), np.array(X)[:, None]], [np.zeros((1, 3)), np.eye(1)]])
        good = X.shape == (4, 4) and bool(np.isfinite(X).all())
        if not good or np.abs(X[:3, :3] @ X[:3, :3].T - np.eye(3)).max() > 1e-6:
            raise ModelError(f"{self.what}: target: expected a pose (4, 4) or a point (3,), got {value!r:.200}")
        return X

    def at(self, time: float) -> tuple[Array, Array, Array]:
        """Pose (4, 4), twist (6,) and its derivative (6,) as [angular; linear], world axes, about the point."""
        frame = self.given
        if isinstance(frame, Frame):
            twist = np.concatenate([frame.angular_velocity(), frame.linear_velocity()])
            rate = np.concatenate([frame.angular_acceleration(), frame.linear_acceleration()])
            return np.array(frame.world_transform), twist, rate
        if self._function is None:
            return self._pose(self.given), np.zeros(6), np.zeros(6)
        X, before, after = (self._pose(self._function(time + s)) for s in (0.0, -_STEP, _STEP))
        forth, back = pose_error(after, X), pose_error(before, X)
        return X, (forth - back) / (2 * _STEP), (forth + back) / _STEP**2


def pose_error(target: Array, pose: Array) -> Array:
    """[rotation vector; translation] from a pose to a target, world axes (6,): log(R* R^T), p* - p."""
    turn = log_rotation(target[:3, :3] @ pose[:3, :3].T)
    return np.concatenate([turn, target[:3, 3] - pose[:3, 3]])


class Point:
    """A point fixed in a body, as a task sees it: pose, velocity, Jacobian.

    Args:
        body: which.
        offset: of the point in body axes [m].
        rows: "pose", "angular" or "linear".
        what: begins messages.

    Raises:
        ModelError: no body, no such rows, or no offset.
    """

    def __init__(self, body: Any, offset: Any, rows: str, what: str):
        if not isinstance(body, BodyNode):
            raise ModelError(f"{what}: expected a body, got {body!r}")
        if rows not in ROWS:
            raise ModelError(f"{what}: rows: expected one of {', '.join(ROWS)}, got {rows!r}")
        place = np.asarray(offset, float)
        if place.shape != (3,) or not np.isfinite(place).all():
            raise ModelError(f"{what}: offset: expected three finite numbers [m], got {offset!r}")
        self.body, self.offset, self.rows = body, place, ROWS[rows]

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.rows.stop - self.rows.start

    def pose(self) -> Array:
        """Where it is, (4, 4)."""
        X = np.array(self.body.world_transform)
        X[:3, 3] += X[:3, :3] @ self.offset
        return X

    def jacobian(self) -> Array:
        """J (rows, skeleton's dofs), world axes."""
        return np.array(self.body.skeleton.jacobian(self.body, self.offset))[self.rows]

    def bias(self) -> Array:
        """dJ/dt u (rows,)."""
        s = self.body.skeleton
        return (np.array(s.jacobian_classic_derivative(self.body, self.offset)) @ s.velocities)[self.rows]

    def errors(self, reference: PoseReference, time: float) -> tuple[Array, Array, Array]:
        """Error of the pose, error of the velocity, and the target's acceleration, (rows,) each."""
        X, twist, rate = reference.at(time)
        velocity = self.jacobian() @ self.body.skeleton.velocities
        return pose_error(X, self.pose())[self.rows], twist[self.rows] - velocity, rate[self.rows]
