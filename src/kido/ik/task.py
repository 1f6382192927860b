"""What inverse kinematics is to achieve: tasks about frames, the centre of mass, or the posture of a skeleton."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.ik.engine.tasks import (
    BALANCE,
    COM,
    EULER_XYZ,
    LOOK_AT,
    NO_ANGLE,
    POSE,
    POSTURE,
    ROTATION_VECTOR,
)
from kido.math.transform import as_flag, as_numbers, as_transform, as_unit_vector, number_or_nan
from kido.skeleton.frames.frame import Frame
from kido.skeleton.frames.jacobian_node import JacobianNode

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]
_INF = np.inf
_FREE = (-_INF, -_INF, -_INF), (_INF, _INF, _INF)


def _six(value: ArrayLike, what: str) -> Array:
    """Six numbers [angular; linear], from one for all, or as many; not NaN."""
    try:
        numbers = np.array(np.broadcast_to(as_numbers(value), (6,)))
    except (TypeError, ValueError):
        raise ModelError(f"task: {what}: expected a number or six [angular; linear], got {value!r}") from None
    if np.isnan(numbers).any():
        raise ModelError(f"task: {what}: expected numbers, got {numbers.tolist()}")
    return numbers


def _three(value: ArrayLike, what: str) -> Array:
    try:
        numbers = np.array(np.broadcast_to(as_numbers(value), (3,)))
    except (TypeError, ValueError):
        raise ModelError(f"task: {what}: expected a number or three, got {value!r}") from None
    if np.isnan(numbers).any():
        raise ModelError(f"task: {what}: expected numbers, got {numbers.tolist()}")
    return numbers


def _bounds(value: Any, what: str) -> tuple[Array, Array]:
    """Lower and upper bounds of three components: None (zero), a half-width for all or each, or a pair of these."""
    if value is None:
        return np.zeros(3), np.zeros(3)
    if isinstance(value, tuple | list | np.ndarray) and np.ndim(value) and len(value) == 2:
        return _three(value[0], what), _three(value[1], what)
    width = _three(value, what)
    if (width < 0.0).any():
        raise ModelError(f"task: {what}: expected half-widths not below 0, or a pair (lower, upper), got {value!r}")
    return -width, width


@dataclass(frozen=True, eq=False)
class Task:
    """One aim of inverse kinematics; made by `Task.pose`, `Task.look_at` and the other functions of this class.

    A task has a residual that is zero where it is met. That of a task about a frame has six components,
    [angular; linear], in radians and metres: how the node's frame B is displaced from the target frame T, in the axes
    of T. Components that lie between their bounds are zero; beyond, they are the distance to the bound.

    Attributes:
        kind: POSE, LOOK_AT, COM, POSTURE or BALANCE of `kido.ik.engine.tasks`.
        node: the body, end effector or other node that the task is about; None for centre of mass and posture.
        target: T: a 4x4 pose in the world, or a `Frame`, which it then follows. A frame that rides on a body of the
            skeleton makes the task a relative one.
        lower, upper: (6,) bounds [angular; linear] [rad, m].
        weights: (6,) factors of the residual's components in the sum of squares that is minimized; 1 by default.
        priority: place in a hierarchy, 0 first.
        gain: rate at which the residual is to decay [1/s], in inverse differential kinematics.
        tolerance: angle [rad] and distance [m] up to which the task counts as met.
        error_from_center: beyond a bound, whether the residual is measured from the middle between the bounds, or from
            the bound. It means the same in `BoundedError`, where the middle is the default, as in DART; here the bound
            is, which control loops approach.

    Source: task space regions are those of Berenson, Srinivasa, Kuffner (2011); DART report, section 2.8.2.
    """

    kind: int
    node: JacobianNode | None = None
    target: Any = None
    lower: Array = field(default_factory=lambda: np.zeros(6))
    upper: Array = field(default_factory=lambda: np.zeros(6))
    weights: Array = field(default_factory=lambda: np.ones(6))
    priority: int = 0
    gain: float = 1.0
    tolerance: tuple[float, float] = (1e-6, 1e-6)
    error_from_center: bool = False
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    positions: Array | None = None

    def __post_init__(self) -> None:
        if self.node is not None and not isinstance(self.node, JacobianNode):
            raise ModelError(f"task: node: expected a body or a node on one, got {self.node!r}")
        if self.node is None and self.kind in (POSE, LOOK_AT):
            raise ModelError("task: node: expected a body or a node on one, got None")
        if not isinstance(self.target, Frame):
            object.__setattr__(self, "target", as_transform(self.target, "task: target"))
        if self.kind != POSTURE:
            object.__setattr__(self, "weights", _six(self.weights, "weights"))
        if not (np.isfinite(self.weights).all() and (np.asarray(self.weights) >= 0.0).all()):
            raise ModelError(f"task: weights: expected finite numbers >= 0, got {np.asarray(self.weights).tolist()}")
        if (self.lower > self.upper).any():
            raise ModelError(f"task: lower bounds {self.lower.tolist()} above upper bounds {self.upper.tolist()}")
        if isinstance(self.priority, bool) or not isinstance(self.priority, int | np.integer) or self.priority < 0:
            raise ModelError(f"task: priority: expected a whole number from 0, got {self.priority!r}")
        object.__setattr__(self, "error_from_center", as_flag(self.error_from_center, "task: error_from_center"))
        gain = number_or_nan(self.gain)
        if not 0.0 <= gain < _INF:
            raise ModelError(f"task: gain: expected a finite number >= 0, got {self.gain!r}")
        try:
            angle, distance = (number_or_nan(v) for v in self.tolerance)
        except (TypeError, ValueError):
            angle = distance = float("nan")
        if not (angle > 0.0 and distance > 0.0):
            raise ModelError(f"task: tolerance: expected an angle and a distance above 0, got {self.tolerance!r}")

    # Making tasks ----------------------------------------------------------------------------------------------

    @staticmethod
    def pose(
        node: JacobianNode, target: Any = None, angular_bounds: Any = None, linear_bounds: Any = None, **options: Any
    ) -> Task:
        """A task space region: the displacement of the node from the target, between bounds.

        Args:
            node: a body or a node on one.
            target: 4x4 pose in the world or a `Frame`.
            angular_bounds, linear_bounds: None for zero, half-widths, or a pair (lower, upper); infinite components
                are free. The angular components are those of the rotation vector if all are finite, else intrinsic
                XYZ Euler angles.
            **options: `weights`, `priority`, `gain`, `tolerance`, `error_from_center`.
        """
        a0, a1 = _bounds(angular_bounds, "angular_bounds")
        p0, p1 = _bounds(linear_bounds, "linear_bounds")
        return Task(POSE, node, target, np.r_[a0, p0], np.r_[a1, p1], **options)

    @staticmethod
    def position(node: JacobianNode, target: Any = None, bounds: Any = None, **options: Any) -> Task:
        """The node's origin at the target's, turned as it may be."""
        return Task.pose(node, target, _FREE, bounds, **options)

    @staticmethod
    def orientation(node: JacobianNode, target: Any = None, bounds: Any = None, **options: Any) -> Task:
        """The node's axes along the target's, wherever it may be."""
        return Task.pose(node, target, bounds, _FREE, **options)

    @staticmethod
    def plane(node: JacobianNode, target: Any = None, bounds: Any = 0.0, **options: Any) -> Task:
        """The node's origin in the xy plane of the target, or within `bounds` (lower, upper) along its z axis [m]."""
        lower, upper = _bounds(bounds, "bounds")
        return Task.pose(node, target, _FREE, ((-_INF, -_INF, lower[2]), (_INF, _INF, upper[2])), **options)

    @staticmethod
    def look_at(
        node: JacobianNode, target: Any = None, axis: ArrayLike = (0.0, 0.0, 1.0), cone: float = 0.0, **options: Any
    ) -> Task:
        """An axis of the node points to the target's origin, or misses it by at most the angle `cone` [rad].

        The residual is the rotation vector from the target's direction to the axis, in the node's axes (angular
        part).
        """
        width = number_or_nan(cone)
        if not 0.0 <= width <= np.pi:
            raise ModelError(f"task: cone: expected an angle from 0 to pi, got {cone!r}")
        upper = np.full(6, width)
        return Task(LOOK_AT, node, target, -upper, upper, axis=as_unit_vector(axis, "task: axis"), **options)

    @staticmethod
    def com(target: Any = None, bounds: Any = None, **options: Any) -> Task:
        """The skeleton's centre of mass at the target's origin, or within bounds along the target's axes [m]."""
        lower, upper = _bounds(bounds, "bounds")
        zero = np.zeros(3)
        return Task(COM, None, target, np.r_[zero, lower], np.r_[zero, upper], **options)

    @staticmethod
    def balance(margin: float = 0.0, **options: Any) -> Task:
        """The skeleton's centre of mass over the support polygon of its active supports, a margin inside [m].

        The polygon moves with what supports. Residuals are the distances inside the polygon's edges; on a single line
        or point of support, how far the centre of mass is from it. For `DifferentialIK` and what is made of it.
        """
        inside = number_or_nan(margin)
        if not 0.0 <= inside < _INF:
            raise ModelError(f"task: margin: expected a distance >= 0, got {margin!r}")
        return Task(BALANCE, None, None, np.full(6, inside), np.full(6, _INF), **options)

    @staticmethod
    def posture(positions: ArrayLike, weights: ArrayLike = 1.0, **options: Any) -> Task:
        """All active coordinates at given positions (dofs,); one weight for all, or one for each coordinate."""
        try:
            q, w = as_numbers(positions).reshape(-1), as_numbers(weights)
        except (TypeError, ValueError):
            raise ModelError(f"task: positions: expected numbers, got {positions!r}, {weights!r}") from None
        if not np.isfinite(q).all():
            raise ModelError(f"task: positions: expected finite numbers, got {q.tolist()}")
        if w.shape not in ((), q.shape):
            raise ModelError(f"task: weights: expected a number or {len(q)}, got an array of shape {w.shape}")
        return Task(POSTURE, None, None, weights=np.array(np.broadcast_to(w, q.shape)), positions=q, **options)

    def at(self, target: Any) -> Task:
        """The same task with another target."""
        return replace(self, target=target)

    # What compiled code sees -----------------------------------------------------------------------------------

    @property
    def angle(self) -> int:
        """Which angles a pose measures: NO_ANGLE, ROTATION_VECTOR or EULER_XYZ of `kido.ik.engine.tasks`."""
        bounded = np.isfinite(self.lower[:3]) & np.isfinite(self.upper[:3])
        if bounded.all():
            return ROTATION_VECTOR
        return EULER_XYZ if (np.isfinite(self.lower[:3]) | np.isfinite(self.upper[:3])).any() else NO_ANGLE


def skeleton_of(tasks: Iterable[Task]) -> Skeleton:
    """The one skeleton that tasks are about.

    Raises:
        ModelError: nodes of several skeletons, or no node at all.
    """
    found: list[Skeleton] = []
    for task in tasks:
        if not isinstance(task, Task):
            raise ModelError(f"tasks: expected kido.ik.Task objects, got {task!r}")
        if task.node is not None:
            skeleton = task.node._carrier[0].skeleton
            if not any(skeleton is s for s in found):
                found.append(skeleton)
    if len(found) != 1:
        names = [s.name for s in found]
        raise ModelError(f"tasks: expected nodes of one skeleton, or a skeleton beside them; got those of {names}")
    return found[0]
