"""The centre of mass at a place, or within bounds about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kido.ik.engine.residuals import NOTHING_TURNS, add_columns, bounded, placed, scaled_rows, transpose
from kido.ik.engine.tasks import UNUSED_ROW
from kido.ik.tasks.kind import TaskFields, TaskKind, bounds_of
from kido.jit import kernel
from kido.joints.frames import rotation_of
from kido.math.so3 import cross, rotate, rotate_inverse

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

T = TypeVar("T", bound=TaskFields)


@kernel
def weigh(t, d):
    """Centre of mass of all bodies in the world, and the reciprocal of their mass, 0 without any; DATA.P: theirs."""
    P = d.P
    mass, m0, m1, m2 = 0.0, 0.0, 0.0, 0.0
    for i in range(t.parent.shape[0]):
        m = t.mass[i]
        x, y, z = rotate(rotation_of(d, i), m * t.com[i, 0], m * t.com[i, 1], m * t.com[i, 2])
        P[i, 6], P[i, 7], P[i, 8], P[i, 9] = x, y, z, m
        mass += m
        m0 += x + m * d.p[i, 0]
        m1 += y + m * d.p[i, 1]
        m2 += z + m * d.p[i, 2]
    scale = 1.0 / mass if mass > 0.0 else 0.0
    return scale * m0, scale * m1, scale * m2, scale


@kernel
def com_columns(t, d, s, J, row, scale, C):
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
    m0, m1, m2, scale = weigh(t, d)
    F, a, b, c = placed(d, base, o.target, k)
    p0, p1, p2 = rotate_inverse(F, m0 - a, m1 - b, m2 - c)
    middle = s.to_middle[k]
    f3, f4, f5 = (
        bounded(s, o, row + 3, p0, middle),
        bounded(s, o, row + 4, p1, middle),
        bounded(s, o, row + 5, p2, middle),
    )
    C = scaled_rows(transpose(F), f3, f4, f5)
    com_columns(t, d, s, o.J, row + 3, scale, C)
    if base >= 0:
        add_columns(t, d, s, o, row, base, -1.0, m0, m1, m2, NOTHING_TURNS, NOTHING_TURNS, C)


class _CenterOfMass(TaskKind):
    what = "centre of mass"
    needs_node = False
    measures_point = True
    needs_all_links = True

    def check(self, skeleton: Skeleton) -> None:
        skeleton.com  # noqa: B018  raises if there is no mass

    def row_kinds(self, task: TaskFields) -> NDArray[np.int64]:
        kinds = super().row_kinds(task)
        kinds[:3] = UNUSED_ROW
        return kinds


COM_TASK = _CenterOfMass("COM_TASK", com_residual)


def com(cls: type[T], target: Any = None, bounds: Any = None, **options: Any) -> T:
    """The skeleton's centre of mass at the target's origin, or within bounds along the target's axes [m]."""
    lower, upper = bounds_of(bounds, "bounds")
    zero = np.zeros(3)
    return cls(COM_TASK, None, target, np.r_[zero, lower], np.r_[zero, upper], **options)
