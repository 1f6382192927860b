"""Poses: the displacement of a frame from its target, between bounds; position, orientation and plane are bounds of it.

Source: DART report, section 2.8.2; task space regions: Berenson, Srinivasa, Kuffner (2011), eqs. 4-5.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from kido.ik.engine.residuals import NOTHING_TURNS, add_columns, bounded, placed, scaled_rows, transpose
from kido.ik.engine.rotations import euler_xyz_of, inverse_euler_jacobian, inverse_left_jacobian, rotation_vector_of
from kido.ik.engine.tasks import EULER_XYZ, ROTATION_VECTOR
from kido.ik.tasks.kind import FREE_COMPONENTS, INF, TaskFields, TaskKind, bounds_of
from kido.jit import kernel
from kido.math.so3 import compose, rotate_inverse
from kido.skeleton.nodes.node import JacobianNode

T = TypeVar("T", bound=TaskFields)


@kernel
def pose_residual(t, d, s, o, k):
    """Displacement of B from T: [angle; position], in the axes of T."""
    row = s.first_row[k]
    link, base = s.link[k], s.base[k]
    R, x, y, z = placed(d, link, s.pose, k)
    F, a, b, c = placed(d, base, o.target, k)
    middle = s.to_middle[k]
    p0, p1, p2 = rotate_inverse(F, x - a, y - b, z - c)
    f3, f4, f5 = (
        bounded(s, o, row + 3, p0, middle),
        bounded(s, o, row + 4, p1, middle),
        bounded(s, o, row + 5, p2, middle),
    )
    Ft = transpose(F)
    C = scaled_rows(Ft, f3, f4, f5)
    A = NOTHING_TURNS
    if s.angle[k] == ROTATION_VECTOR:
        r0, r1, r2 = rotation_vector_of(compose(Ft, R))
        f0, f1, f2 = (
            bounded(s, o, row, r0, middle),
            bounded(s, o, row + 1, r1, middle),
            bounded(s, o, row + 2, r2, middle),
        )
        A = scaled_rows(compose(inverse_left_jacobian(r0, r1, r2), Ft), f0, f1, f2)
    elif s.angle[k] == EULER_XYZ:
        r0, r1, r2 = euler_xyz_of(compose(Ft, R))
        f0, f1, f2 = (
            bounded(s, o, row, r0, middle),
            bounded(s, o, row + 1, r1, middle),
            bounded(s, o, row + 2, r2, middle),
        )
        A = scaled_rows(compose(inverse_euler_jacobian(r0, r1), Ft), f0, f1, f2)
    add_columns(t, d, s, o, row, link, 1.0, x, y, z, A, NOTHING_TURNS, C)
    if base >= 0:
        add_columns(t, d, s, o, row, base, -1.0, x, y, z, A, NOTHING_TURNS, C)


class _Pose(TaskKind):
    what = "pose"
    seeded = True
    measures_point = True


POSE_TASK = _Pose("POSE_TASK", pose_residual)


def pose(
    cls: type[T], node: JacobianNode, target: Any = None, angular_bounds: Any = None, linear_bounds: Any = None,
    **options: Any,
) -> T:  # fmt: skip
    """A task space region: the displacement of the node from the target, between bounds.

    Args:
        node: a body or a node on one.
        target: 4x4 pose in the world or a `Frame`.
        angular_bounds, linear_bounds: None for zero, half-widths, or a pair (lower, upper); infinite components
            are free. The angular components are those of the rotation vector if all are finite, else intrinsic
            XYZ Euler angles.
        **options: `weights`, `priority`, `gain`, `tolerance`, `error_from_center`.
    """
    a0, a1 = bounds_of(angular_bounds, "angular_bounds")
    p0, p1 = bounds_of(linear_bounds, "linear_bounds")
    return cls(POSE_TASK, node, target, np.r_[a0, p0], np.r_[a1, p1], **options)


def position(cls: type[T], node: JacobianNode, target: Any = None, bounds: Any = None, **options: Any) -> T:
    """The node's origin at the target's, turned as it may be."""
    return pose(cls, node, target, FREE_COMPONENTS, bounds, **options)


def orientation(cls: type[T], node: JacobianNode, target: Any = None, bounds: Any = None, **options: Any) -> T:
    """The node's axes along the target's, wherever it may be."""
    return pose(cls, node, target, bounds, FREE_COMPONENTS, **options)


def plane(cls: type[T], node: JacobianNode, target: Any = None, bounds: Any = 0.0, **options: Any) -> T:
    """The node's origin in the xy plane of the target, or within `bounds` (lower, upper) along its z axis [m]."""
    lower, upper = bounds_of(bounds, "bounds")
    return pose(cls, node, target, FREE_COMPONENTS, ((-INF, -INF, lower[2]), (INF, INF, upper[2])), **options)
