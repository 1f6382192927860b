"""The centre of mass at a place, or within bounds about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido import quantities
from kido.errors import ModelError
from kido.flexible.motion import deformed_inertia
from kido.ik.engine.residuals import NOTHING_TURNS, add_columns, bounded_rows, placed, scaled_rows, transpose
from kido.ik.engine.tasks import UNUSED_ROW
from kido.ik.error_method import DEFAULT_TOLERANCE, Array, BoundedError
from kido.ik.frames import jacobian_of
from kido.ik.tasks import Task
from kido.ik.tasks.kind import TaskKind, bounds_of, constructor
from kido.jit import inlined, kernel
from kido.joints.frames import rotation_of
from kido.math.rotation_rates import cross_matrix
from kido.math.so3 import cross, rotate, rotate_inverse
from kido.skeleton import BodyNode

if TYPE_CHECKING:
    from kido.skeleton import Skeleton


__all__ = ["CenterOfMassError"]


@kernel
def weigh(t, d, s, o):
    """Centre of mass of all bodies in the world, and the reciprocal of their mass, 0 without any; DATA.P: theirs."""
    P = d.P
    mass, m0, m1, m2 = 0.0, 0.0, 0.0, 0.0
    for i in range(t.parent.shape[0]):
        m = t.mass[i]
        x, y, z = rotate(rotation_of(d, i), m * t.com[i, 0], m * t.com[i, 1], m * t.com[i, 2])
        if s.deforms != 0 and o.flex.flex_of_body[i] >= 0:
            deformed_inertia(t, d, o.flex, i)
            x, y, z = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
        P[i, 6], P[i, 7], P[i, 8], P[i, 9] = x, y, z, m
        mass += m
        m0 += x + m * d.p[i, 0]
        m1 += y + m * d.p[i, 1]
        m2 += z + m * d.p[i, 2]
    scale = 1.0 / mass if mass > 0.0 else 0.0
    return scale * m0, scale * m1, scale * m2, scale


@inlined
def add_moment(s, J, row, j, scale, C, x, y, z):
    """Add C times a rate of the first moment by coordinate j to three rows of J."""
    column = s.column[j]
    if column >= 0:
        f = scale * s.ratio[j]
        x, y, z = rotate(C, f * x, f * y, f * z)
        J[row, column] += x
        J[row + 1, column] += y
        J[row + 2, column] += z


@kernel
def add_modes(t, s, f, J, row, scale, C, i, parent, x, y, z, m):
    """What the modes of link i move of its own mass, or, if it is a node, of the first moment and mass on it."""
    c = f.flex_of_body[i]
    if c >= 0:
        for j in range(f.first_mode[c], f.first_mode[c] + f.number[c]):
            add_moment(s, J, row, j, scale, C, f.X[j, 3], f.X[j, 4], f.X[j, 5])
    if f.node_of_body[i] >= 0:
        c, first = f.flex_of_body[parent], f.first_column[f.node_of_body[i]]
        for n in range(f.number[c]):
            k = first + n
            v0, v1, v2 = cross(f.Pi[k, 0], f.Pi[k, 1], f.Pi[k, 2], x, y, z)
            v0, v1, v2 = v0 + m * f.Pi[k, 3], v1 + m * f.Pi[k, 4], v2 + m * f.Pi[k, 5]
            add_moment(s, J, row, f.first_mode[c] + n, scale, C, v0, v1, v2)


@kernel
def com_columns(t, d, s, o, J, row, scale, C):
    """Add C times the Jacobian of the centre of mass to three rows, after `weigh`; DATA.P becomes that of subtrees."""
    P = d.P
    # A coordinate moves what hangs on it as one body (kido.kernels.momentum.com_jacobian).
    for i in range(t.parent.shape[0] - 1, -1, -1):
        x, y, z, m = P[i, 6], P[i, 7], P[i, 8], P[i, 9]
        for j in range(t.first_dof[i], t.first_dof[i + 1]):
            column = s.column[j]
            if column >= 0:
                v0, v1, v2 = cross(d.H[j, 0], d.H[j, 1], d.H[j, 2], x, y, z)
                v0, v1, v2 = v0 + m * d.H[j, 3], v1 + m * d.H[j, 4], v2 + m * d.H[j, 5]
                f = scale * s.ratio[j]
                v0, v1, v2 = rotate(C, f * v0, f * v1, f * v2)
                J[row, column] += v0
                J[row + 1, column] += v1
                J[row + 2, column] += v2
        parent = t.parent[i]
        if s.deforms != 0:
            add_modes(t, s, o.flex, J, row, scale, C, i, parent, x, y, z, m)
        if parent >= 0:
            P[parent, 6] += x + m * d.l[i, 0]
            P[parent, 7] += y + m * d.l[i, 1]
            P[parent, 8] += z + m * d.l[i, 2]
            P[parent, 9] += m


@kernel
def com_residual(t, d, s, o, k):
    """Position of the centre of mass of all bodies in T: rows 3 to 5, in the axes of T."""
    row = s.first_row[k]
    base = s.base[k]
    m0, m1, m2, scale = weigh(t, d, s, o)
    F, a, b, c = placed(d, base, o.target, k)
    p0, p1, p2 = rotate_inverse(F, m0 - a, m1 - b, m2 - c)
    middle = s.to_middle[k]
    f3, f4, f5 = bounded_rows(s, o, row + 3, p0, p1, p2, middle)
    C = scaled_rows(transpose(F), f3, f4, f5)
    com_columns(t, d, s, o, o.J, row + 3, scale, C)
    if base >= 0:
        add_columns(t, d, s, o, row, base, -1.0, m0, m1, m2, NOTHING_TURNS, NOTHING_TURNS, C)


class _CenterOfMass(TaskKind):
    what = "centre of mass"
    needs_node = False
    measures_point = True
    needs_all_links = True

    def check(self, skeleton: Skeleton) -> None:
        skeleton.com  # noqa: B018  raises if there is no mass

    def row_kinds(self, task: Task) -> NDArray[np.int64]:
        kinds = super().row_kinds(task)
        kinds[:3] = UNUSED_ROW
        return kinds


COM_TASK = _CenterOfMass("COM_TASK", com_residual)


@constructor
def com(cls: type[Task], target: Any = None, bounds: Any = None, **options: Any) -> Task:
    """The skeleton's centre of mass at the target's origin, or within bounds along the target's axes [m]."""
    lower, upper = bounds_of(bounds, "bounds")
    zero = np.zeros(3)
    return cls(COM_TASK, None, target, np.r_[zero, lower], np.r_[zero, upper], **options)


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
        if not all(isinstance(body, BodyNode) for body in self.bodies or ()):
            raise ModelError(f"CenterOfMassError: bodies: expected bodies, got {self.bodies!r}")

    def compute_displacement(self) -> Array:
        """d (6,): the linear part is where the centre of mass is, in the target's axes [m]."""
        if self.bodies is None:
            return self.ik.displacement_of(Task.com(self.ik.target))[0]
        return np.concatenate(
            [np.zeros(3), quantities.com(self.ik.skeleton, bodies=self.bodies, with_respect_to=self.ik.target)]
        )

    def compute_displacement_jacobian(self) -> Array:
        """D (6, n), exact, also where the target hangs on the same skeleton."""
        ik, skeleton = self.ik, self.ik.skeleton
        if self.bodies is None:
            return ik.displacement_of(Task.com(ik.target))[1]
        X_WT = ik.target.world_transform
        v = ik.columns(skeleton.com_jacobian(self.bodies))
        J_T = jacobian_of(ik.target, ik)
        if J_T is not None:
            r = quantities.com(skeleton, bodies=self.bodies) - X_WT[:3, 3]
            v = v - J_T[3:] + cross_matrix(r) @ J_T[:3]
        return np.concatenate([np.zeros_like(v), X_WT[:3, :3].T @ v])

    def as_task(self, levels: bool = False) -> Task | None:
        """See `ErrorMethod.as_task`."""
        if self.has_own(CenterOfMassError) or self.bodies is not None:
            return None
        lower, upper = self.task_bounds()
        return Task.com(self.ik.target, (lower[3:], upper[3:]), **self.task_options())
