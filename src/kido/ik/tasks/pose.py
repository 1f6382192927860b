"""Poses: the displacement of a frame from its target, between bounds; position, orientation and plane are bounds of it.

Source: DART report, section 2.8.2; task space regions: Berenson, Srinivasa, Kuffner (2011), eqs. 4-5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.ik import rotations
from kido.ik.engine.residuals import NOTHING_TURNS, add_columns, bounded_rows, placed, scaled_rows, transpose
from kido.ik.engine.rotations import euler_xyz_of, inverse_euler_jacobian, inverse_left_jacobian
from kido.ik.engine.tasks import EULER_XYZ, ROTATION_VECTOR
from kido.ik.error_method import DEFAULT_TOLERANCE, Array, BoundedError
from kido.ik.frames import jacobian_of
from kido.ik.tasks import Task
from kido.ik.tasks.kind import FREE_COMPONENTS, INF, TaskKind, bounds_of, constructor
from kido.jit import kernel
from kido.math import rotation_rates
from kido.math.lie import exp_rotation, log_rotation, matrix_to_rotation_vector
from kido.math.so3 import compose, rotate_inverse
from kido.math.transform import as_flag, as_numbers, as_vector, inverse_transform
from kido.skeleton import Frame, SimpleFrame
from kido.skeleton.nodes.node import JacobianNode

__all__ = ["OrientationError", "PlaneError", "PositionError", "RelativePoseError", "TaskSpaceRegion"]


@kernel
def pose_residual(t, d, s, o, k):
    """Displacement of B from T: [angle; position], in the axes of T."""
    row = s.first_row[k]
    link, base = s.link[k], s.base[k]
    R, x, y, z = placed(d, link, s.pose, k)
    F, a, b, c = placed(d, base, o.target, k)
    middle = s.to_middle[k]
    p0, p1, p2 = rotate_inverse(F, x - a, y - b, z - c)
    f3, f4, f5 = bounded_rows(s, o, row + 3, p0, p1, p2, middle)
    Ft = transpose(F)
    C = scaled_rows(Ft, f3, f4, f5)
    A = NOTHING_TURNS
    if s.angle[k] == ROTATION_VECTOR:
        r0, r1, r2 = matrix_to_rotation_vector(compose(Ft, R))
        f0, f1, f2 = bounded_rows(s, o, row, r0, r1, r2, middle)
        A = scaled_rows(compose(inverse_left_jacobian(r0, r1, r2), Ft), f0, f1, f2)
    elif s.angle[k] == EULER_XYZ:
        r0, r1, r2 = euler_xyz_of(compose(Ft, R))
        f0, f1, f2 = bounded_rows(s, o, row, r0, r1, r2, middle)
        A = scaled_rows(compose(inverse_euler_jacobian(r0, r1), Ft), f0, f1, f2)
    add_columns(t, d, s, o, row, link, 1.0, x, y, z, A, NOTHING_TURNS, C)
    if base >= 0:
        add_columns(t, d, s, o, row, base, -1.0, x, y, z, A, NOTHING_TURNS, C)


class _Pose(TaskKind):
    what = "pose"
    seeded = True
    measures_point = True


POSE_TASK = _Pose("POSE_TASK", pose_residual)


@constructor
def pose(
    cls: type[Task], node: JacobianNode, target: Any = None, angular_bounds: Any = None, linear_bounds: Any = None,
    **options: Any,
) -> Task:  # fmt: skip
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


@constructor
def position(cls: type[Task], node: JacobianNode, target: Any = None, bounds: Any = None, **options: Any) -> Task:
    """The node's origin at the target's, turned as it may be."""
    return pose(cls, node, target, FREE_COMPONENTS, bounds, **options)


@constructor
def orientation(cls: type[Task], node: JacobianNode, target: Any = None, bounds: Any = None, **options: Any) -> Task:
    """The node's axes along the target's, wherever it may be."""
    return pose(cls, node, target, bounds, FREE_COMPONENTS, **options)


@constructor
def plane(cls: type[Task], node: JacobianNode, target: Any = None, bounds: Any = 0.0, **options: Any) -> Task:
    """The node's origin in the xy plane of the target, or within `bounds` (lower, upper) along its z axis [m]."""
    lower, upper = bounds_of(bounds, "bounds")
    return pose(cls, node, target, FREE_COMPONENTS, ((-INF, -INF, lower[2]), (INF, INF, upper[2])), **options)


class TaskSpaceRegion(BoundedError):
    """The node's frame B is to lie within bounds about the target frame T. The default error method.

    The displacement is that of B in the reference frame F, by default T itself: its linear part is p_TB in F's axes.
    Its angular part is the rotation vector from T to B in F's axes if all angular components are bounded on both
    sides; if some are free, the intrinsic XYZ Euler angles of the rotation, so that bounds of (0, 0, inf) ask for a
    z axis along T's, however B is turned about it. The report's three manifolds:

        >>> TaskSpaceRegion()  # all of the pose, to 1e-6
        >>> TaskSpaceRegion((0, 0, inf), (inf, inf, 0))  # flat on the target's x-y plane
        >>> TaskSpaceRegion(inf, 0)  # the origin at the target's; give `ik.offset` or an EndEffector the radius

    Args:
        angular_bounds, linear_bounds: as `angular_bounds` takes them [rad, m].
        reference_frame: F; None for the target.
        error_weights, error_from_center, tolerance: see `BoundedError`.
    """

    def __init__(
        self,
        angular_bounds: ArrayLike = DEFAULT_TOLERANCE,
        linear_bounds: ArrayLike = DEFAULT_TOLERANCE,
        reference_frame: Frame | None = None,
        error_weights: ArrayLike = 1.0,
        error_from_center: bool = True,
        tolerance: float = DEFAULT_TOLERANCE,
    ):
        super().__init__(angular_bounds, linear_bounds, error_weights, error_from_center, tolerance)
        self.reference_frame = reference_frame

    @property
    def reference_frame(self) -> Frame | None:
        """The frame in whose axes displacements are; None for the target."""
        return self._reference

    @reference_frame.setter
    def reference_frame(self, value: Frame | None) -> None:
        if value is not None and not isinstance(value, Frame):
            raise ModelError(f"{type(self).__name__}: reference_frame: expected a frame or None, got {value!r}")
        self._reference = value

    @property
    def target_frame(self) -> Frame:
        """T: the target of its `InverseKinematics`."""
        return self.ik.target

    def _angles(self) -> str:
        """How the angular part is measured: "vector", "euler" or "free"."""
        low, high = np.isfinite(self.lower[:3]), np.isfinite(self.upper[:3])
        if not (low | high).any():
            return "free"
        return "vector" if (low & high).all() else "euler"

    def _displacement(self, X_WB: Array) -> Array:
        X_WT = self.target_frame.world_transform
        R_WF = X_WT[:3, :3] if self._reference is None else self._reference.world_transform[:3, :3]
        d, angles = np.zeros(6), self._angles()
        d[3:] = R_WF.T @ (X_WB[:3, 3] - X_WT[:3, 3])
        if angles != "free":
            E = R_WF.T @ X_WB[:3, :3] @ X_WT[:3, :3].T @ R_WF
            d[:3] = log_rotation(E) if angles == "vector" else rotations.euler_xyz_of_rotation(E)
        return d

    def compute_displacement(self) -> Array:
        """d (6,): where B is about T [rad, m]."""
        return self._evaluated()[0]

    def compute_displacement_jacobian(self) -> Array:
        """D (6, n), exact, also where target and reference frame hang on the same skeleton."""
        return self._evaluated()[1]

    def as_task(self, levels: bool = False) -> Task | None:
        """See `ErrorMethod.as_task`."""
        if self.has_own(TaskSpaceRegion) or self._turned_frame() is not None:
            return None
        lower, upper = self.task_bounds()
        node = self.ik.task_node
        return Task.pose(node, self.target_frame, (lower[:3], upper[:3]), (lower[3:], upper[3:]), **self.task_options())

    def _turned_frame(self) -> Frame | None:
        """The reference frame, if it is another than the target."""
        return None if self._reference is self.target_frame else self._reference

    def _evaluated(self) -> tuple[Array, Array]:
        """Displacement and Jacobian by the task's kernel, turned from the target's axes to those of the reference.

        With Q = R_FT and w the angular velocity of T relative to F in F's axes: d_F = Q d_T, d_F' = Q d_T' + w x d_F.
        """
        ik, F, T = self.ik, self._turned_frame(), self.target_frame
        angles = self._angles()
        if F is None:
            return ik.displacement_of(Task.pose(ik.task_node, T, *self._measured(angles)))
        d, D = ik.displacement_of(Task.pose(ik.task_node, T, *self._measured("free" if angles == "free" else "vector")))
        R_WF = F.world_transform[:3, :3]
        Q = R_WF.T @ T.world_transform[:3, :3]
        d, D = np.r_[Q @ d[:3], Q @ d[3:]], np.concatenate([Q @ D[:3], Q @ D[3:]])
        w = np.zeros((3, D.shape[1]))
        for frame, sign in ((T, 1.0), (F, -1.0)):
            J = jacobian_of(frame, ik)
            if J is not None:
                w += sign * (R_WF.T @ J[:3])
        for part in (slice(0, 3), slice(3, 6)):
            D[part] -= rotation_rates.cross_matrix(d[part]) @ w
        if angles == "euler":
            turning = np.linalg.solve(rotation_rates.inverse_left_jacobian(d[:3]), D[:3])
            d[:3] = rotations.euler_xyz_of_rotation(exp_rotation(d[:3]))
            D[:3] = rotations.inverse_euler_jacobian(d[:3]) @ turning
        return d, D

    def _measured(self, angles: str) -> tuple[Any, Any]:
        """Bounds of a pose task whose residual is the displacement itself, with angles of a kind."""
        zero, free = np.zeros(3), (np.full(3, -np.inf), np.full(3, np.inf))
        if angles == "euler":
            own = self.constrained()[:3]
            return (np.where(own, zero, -np.inf), np.where(own, zero, np.inf)), None
        return (free if angles == "free" else None), None

    def compute_desired_transform(self, current_transform: Any = None, error: ArrayLike | None = None) -> Array:
        """The pose of the node in the world (4, 4) whose displacement is that of `current_transform` less the error.

        Exact for any size of error. Components that are free stay as they are.

        Args:
            current_transform: a pose of the node in the world; None: its present one.
            error: what is to be taken away from that pose; None: its own error.
        """
        ik = self.ik
        X_WB = self.pose_of_node(current_transform) @ ik.offset
        d = self._displacement(X_WB)
        e = self.weights * (d - self.aims_of(d)) if error is None else as_vector(error, "error", 6)
        wanted, angles = d - e / self.weights, self._angles()
        X_WT = self.target_frame.world_transform
        R_WF = X_WT[:3, :3] if self._reference is None else self._reference.world_transform[:3, :3]
        if angles != "free":
            made = exp_rotation if angles == "vector" else rotations.rotation_of_euler_xyz
            X_WB[:3, :3] = R_WF @ made(wanted[:3]) @ R_WF.T @ X_WT[:3, :3]
        X_WB[:3, 3] = X_WT[:3, 3] + R_WF @ wanted[3:]
        return X_WB @ inverse_transform(ik.offset)


class PositionError(TaskSpaceRegion):
    """The node's origin is to be at the target's; a region whose angular part is free.

    Args:
        linear_bounds: how far it may be off [m].
        options: of `TaskSpaceRegion`.
    """

    def __init__(self, linear_bounds: ArrayLike = DEFAULT_TOLERANCE, **options: Any):
        super().__init__(np.inf, linear_bounds, **options)


class OrientationError(TaskSpaceRegion):
    """The node is to be turned as the target is; a region whose linear part is free.

    Args:
        angular_bounds: how far it may be off [rad].
        options: of `TaskSpaceRegion`.
    """

    def __init__(self, angular_bounds: ArrayLike = DEFAULT_TOLERANCE, **options: Any):
        super().__init__(angular_bounds, np.inf, **options)


class PlaneError(TaskSpaceRegion):
    """The node's origin is to lie in the target's x-y plane, `flat` or turned as it likes.

    Args:
        flat: whether the node's z axis is to be along the target's, too.
        heights: lowest and highest z, or one number for both sides [m].
        options: of `TaskSpaceRegion`.
    """

    def __init__(self, flat: bool = False, heights: ArrayLike = DEFAULT_TOLERANCE, **options: Any):
        tilt = DEFAULT_TOLERANCE if as_flag(flat, "PlaneError: flat") else np.inf
        try:
            limits = as_numbers(heights).reshape(-1)
        except (TypeError, ValueError):
            limits = np.zeros(0)
        if limits.size not in (1, 2):
            raise ModelError(f"PlaneError: heights: expected a number, or the lowest and highest z, got {heights!r}")
        lower, upper = (-limits[0], limits[0]) if limits.size == 1 else (limits[0], limits[1])
        linear = ((-np.inf, -np.inf, lower), (np.inf, np.inf, upper))
        super().__init__((tilt, tilt, np.inf), linear, **options)


class RelativePoseError(TaskSpaceRegion):
    """The node is to have a given pose in another frame, such as a body of the same skeleton: two hands on one box.

    Args:
        frame: the other frame A.
        transform: the pose X_AB wanted, what `as_transform` takes; None: the present one when it is first used.
        angular_bounds, linear_bounds, options: as for `TaskSpaceRegion`.
    """

    def __init__(
        self,
        frame: Frame,
        transform: Any = None,
        angular_bounds: ArrayLike = DEFAULT_TOLERANCE,
        linear_bounds: ArrayLike = DEFAULT_TOLERANCE,
        **options: Any,
    ):
        super().__init__(angular_bounds, linear_bounds, **options)
        self._other = SimpleFrame(frame, "relative pose", transform)
        self._given = transform is not None

    def attached(self, ik: Any) -> Any:
        super().attached(ik)
        if not self._given:
            self._other.relative_transform = (
                inverse_transform(self._other.parent_frame.world_transform) @ ik.node_transform
            )
            self._given = True
        return self

    @property
    def target_frame(self) -> Frame:
        """T: the pose that is wanted, a frame on the other one."""
        return self._other
