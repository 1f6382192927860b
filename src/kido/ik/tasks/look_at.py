"""Looking: an axis of a node points to the origin of its target."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import read_only_copy, settable
from kido.errors import ModelError
from kido.ik.engine.residuals import NOTHING_TURNS, add_columns, placed, transpose
from kido.ik.engine.tasks import CONE_ROW, EQUATION, TASKS, UNUSED_ROW
from kido.ik.error_method import DEFAULT_TOLERANCE, Array, BoundedError
from kido.ik.tasks import Task
from kido.ik.tasks.kind import TaskKind, constructor
from kido.jit import kernel
from kido.math.elementary import arctan2
from kido.math.so3 import TINY2, compose, cross, rotate, rotate_inverse
from kido.math.transform import as_unit_vector, number_or_nan
from kido.skeleton.nodes.node import JacobianNode

__all__ = ["LookAtError"]


_AXIS = settable("axis")


@kernel
def look_at_residual(t, d, s, o, k):
    """Angle times axis of the turn from the direction of T's origin to the task's axis, in the axes of B.

    With u the unit vector to T's origin in B, at distance n, a the axis, c = a . u:

        e = g u x a,    g = angle / sin(angle),
        u' = -(1 - u u^T) R_WB^T v / n,    g' = -(1 - g c) / |u x a|^2 (a . u')

    where v is the velocity relative to T of the point of B that is at T's origin. Bounds (the row's `upper`) are a
    cone: up to that angle the residual is zero.
    """
    row = s.first_row[k]
    link, base = s.link[k], s.base[k]
    R, x, y, z = placed(d, link, s.pose, k)
    _, a, b, c = placed(d, base, o.target, k)
    u0, u1, u2 = rotate_inverse(R, a - x, b - y, c - z)
    n = math.sqrt(u0 * u0 + u1 * u1 + u2 * u2 + TINY2)
    u0, u1, u2 = u0 / n, u1 / n, u2 / n
    a0, a1, a2 = s.axis[k, 0], s.axis[k, 1], s.axis[k, 2]
    x0, x1, x2 = cross(u0, u1, u2, a0, a1, a2)
    sine2 = x0 * x0 + x1 * x1 + x2 * x2
    cosine = u0 * a0 + u1 * a1 + u2 * a2
    sine = math.sqrt(sine2 + TINY2)
    angle = arctan2(sine, cosine)
    if n < 1e-150 or angle <= s.upper[row]:
        return
    if sine2 < 1e-14 and cosine < 0.0:  # straight behind: a turn about any axis across `a` is as good
        m0, m1, m2 = cross(a0, a1, a2, 1.0, 0.0, 0.0)
        if math.fabs(a0) > 0.6:
            m0, m1, m2 = cross(a0, a1, a2, 0.0, 1.0, 0.0)
        m = math.sqrt(m0 * m0 + m1 * m1 + m2 * m2)
        u0, u1, u2 = u0 + 5e-7 * m0 / m, u1 + 5e-7 * m1 / m, u2 + 5e-7 * m2 / m
        x0, x1, x2 = cross(u0, u1, u2, a0, a1, a2)
        sine2 = x0 * x0 + x1 * x1 + x2 * x2
        sine = math.sqrt(sine2)
        angle = arctan2(sine, cosine)
    g = 1.0 + sine2 / 6.0
    h = 1.0 / 3.0 + 2.0 / 15.0 * sine2  # (1 - g c) / sine2
    if sine2 > 1e-6 or cosine < 0.0:
        g = angle / sine
        h = (1.0 - g * cosine) / sine2
    o.e[row], o.e[row + 1], o.e[row + 2] = g * x0, g * x1, g * x2
    # e' = g u' x a - h (a . u') u x a; columns of the linear map of u', which is -(v - u (u . v)) / n
    q = -1.0 / n
    G = (
        -h * x0 * a0, g * a2 - h * x0 * a1, -g * a1 - h * x0 * a2,
        -g * a2 - h * x1 * a0, -h * x1 * a1, g * a0 - h * x1 * a2,
        g * a1 - h * x2 * a0, -g * a0 - h * x2 * a1, -h * x2 * a2,
    )  # fmt: skip
    G0, G1, G2 = rotate(G, u0, u1, u2)
    G = (
        q * (G[0] - G0 * u0), q * (G[1] - G0 * u1), q * (G[2] - G0 * u2),
        q * (G[3] - G1 * u0), q * (G[4] - G1 * u1), q * (G[5] - G1 * u2),
        q * (G[6] - G2 * u0), q * (G[7] - G2 * u1), q * (G[8] - G2 * u2),
    )  # fmt: skip
    B = compose(G, transpose(R))
    add_columns(t, d, s, o, row, link, 1.0, a, b, c, NOTHING_TURNS, B, NOTHING_TURNS)
    if base >= 0:
        add_columns(t, d, s, o, row, base, -1.0, a, b, c, NOTHING_TURNS, B, NOTHING_TURNS)


class _LookAt(TaskKind):
    what = "direction of sight"

    def uncut(self, made: TASKS, rows: slice) -> None:
        made.upper[rows.start : rows.start + 3] = -1.0  # a cone that nothing is inside of

    def row_kinds(self, task: Task) -> NDArray[np.int64]:
        kinds = np.full(6, UNUSED_ROW)
        kinds[:3] = CONE_ROW if task.upper[0] > 0.0 else EQUATION
        return kinds


LOOK_AT_TASK = _LookAt("LOOK_AT_TASK", look_at_residual, lanes=False)


@constructor
def look_at(
    cls: type[Task], node: JacobianNode, target: Any = None, axis: ArrayLike = (0.0, 0.0, 1.0), cone: float = 0.0,
    **options: Any,
) -> Task:  # fmt: skip
    """An axis of the node points to the target's origin, or misses it by at most the angle `cone` [rad].

    The residual is the rotation vector from the target's direction to the axis, in the node's axes (angular part).
    """
    width = number_or_nan(cone)
    if not 0.0 <= width <= np.pi:
        raise ModelError(f"task: cone: expected an angle from 0 to pi, got {cone!r}")
    upper = np.full(6, width)
    return cls(LOOK_AT_TASK, node, target, -upper, upper, axis=as_unit_vector(axis, "task: axis"), **options)


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
        return read_only_copy(_AXIS, self._axis)

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

    def as_task(self, levels: bool = False) -> Task | None:
        """See `ErrorMethod.as_task`."""
        lows, highs = self.angular_bounds
        width = float(highs[0])
        narrow = bool(self.narrow()[0])
        if self.has_own(LookAtError) or not (np.all(highs == width) and np.all(lows == -width)):
            return None
        if not (narrow or (levels and width <= np.pi)):
            return None
        cone = 0.0 if narrow else width
        return Task.look_at(self.ik.task_node, self.ik.target, self._axis, cone, **self.task_options())
