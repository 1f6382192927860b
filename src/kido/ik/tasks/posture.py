"""Postures: all active coordinates at given positions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.ik.engine.residuals import at, bounded, transpose
from kido.ik.engine.rotations import inverse_left_jacobian
from kido.ik.engine.tasks import EQUATION, TASKS
from kido.ik.tasks import Task
from kido.ik.tasks.kind import TaskKind, constructor
from kido.jit import inlined, kernel
from kido.joints.kinds import BALL, FREE, FREE_MIXED
from kido.math.so3 import (
    compose,
    quaternion_product,
    quaternion_to_rotation_vector,
    rotate_inverse,
    rotation_vector_to_matrix,
    rotation_vector_to_quaternion,
)
from kido.math.transform import as_numbers

if TYPE_CHECKING:
    from kido.skeleton import Skeleton


@inlined
def turn_from(p, row, q, k):
    """`turn_between` a row of a table and a vector, for coordinates k, k+1, k+2."""
    a0, a1, a2, a3 = rotation_vector_to_quaternion(p[row, k], p[row, k + 1], p[row, k + 2])
    b0, b1, b2, b3 = rotation_vector_to_quaternion(q[k], q[k + 1], q[k + 2])
    w, x, y, z = quaternion_product(a0, -a1, -a2, -a3, b0, b1, b2, b3)
    return quaternion_to_rotation_vector(w, x, y, z)


@kernel
def posture_residual(t, d, s, o, k):
    """Positions from the reference: differences; of ball and free joints log(Ref^T R) and Ref^T (p - p_ref)."""
    row, middle = s.first_row[k], s.to_middle[k]
    reference, which = s.reference, s.link[k]
    for c in range(s.active.shape[0]):
        j = s.active[c]
        i = t.body_of_dof[j]
        kind = t.kind[i]
        first = t.first_dof[i]
        turns = kind == BALL or kind == FREE or kind == FREE_MIXED
        if s.chart[i] != 0 or not turns or (kind == FREE_MIXED and j >= first + 3):
            o.J[row + c, c] = bounded(s, o, row + c, d.q[j] - reference[which, j], middle)
        elif j < first + 3:
            r0, r1, r2 = turn_from(reference, which, d.q, first)
            M = transpose(inverse_left_jacobian(r0, r1, r2))
            n = j - first
            x = r0 if n == 0 else r1 if n == 1 else r2
            counts = bounded(s, o, row + c, x, middle)
            for m in range(3):
                column = s.column[first + m]
                if column >= 0:
                    o.J[row + c, column] = counts * at(M, 3 * n + m)
        else:
            F = rotation_vector_to_matrix(
                reference[which, first], reference[which, first + 1], reference[which, first + 2]
            )
            R = rotation_vector_to_matrix(d.q[first], d.q[first + 1], d.q[first + 2])
            p0, p1, p2 = rotate_inverse(
                F,
                d.q[first + 3] - reference[which, first + 3],
                d.q[first + 4] - reference[which, first + 4],
                d.q[first + 5] - reference[which, first + 5],
            )
            M = compose(transpose(F), R)
            n = j - first - 3
            x = p0 if n == 0 else p1 if n == 1 else p2
            counts = bounded(s, o, row + c, x, middle)
            for m in range(3):
                column = s.column[first + 3 + m]
                if column >= 0:
                    o.J[row + c, column] = counts * at(M, 3 * n + m)


class _Posture(TaskKind):
    what = "posture"
    framed = False
    needs_node = False
    weighs_rows = True
    has_reference = True

    def rows(self, skeleton: Skeleton, task: Task, columns: int) -> int:
        return columns

    def write(self, skeleton: Skeleton, made: TASKS, k: int, rows: slice, task: Task) -> None:
        q, n = task.positions, made.reference.shape[1]
        assert q is not None
        if len(q) != n:
            raise ModelError(f"task: positions: expected {n} numbers for {skeleton.name!r}, got {len(q)}")
        made.reference[made.link[k]] = q
        made.weight[rows], made.tolerance[rows] = np.asarray(task.weights)[made.active], task.tolerance[0]
        made.row_kind[rows] = EQUATION

    def aimed(self, task: Task, target: Any, what: str) -> Task:
        aim = posture(type(task), target, task.weights)  # checks it
        return replace(task, positions=aim.positions, weights=aim.weights)

    def write_target(self, made: TASKS, k: int, task: Task) -> None:
        reference = made.reference[int(made.link[k])]
        if task.positions is None or task.positions.shape != reference.shape:
            raise ModelError(f"differential IK: target: expected {len(reference)} positions, got {task.positions!r}")
        reference[:] = task.positions

    def words(self, task: Task, row: int, dof_names: list[str]) -> str:
        return f"(posture), dof {dof_names[row]!r}"


POSTURE_TASK = _Posture("POSTURE_TASK", posture_residual)


@constructor
def posture(cls: type[Task], positions: ArrayLike, weights: ArrayLike = 1.0, **options: Any) -> Task:
    """All active coordinates at given positions (dofs,); one weight for all, or one for each coordinate."""
    try:
        q, w = as_numbers(positions).reshape(-1), as_numbers(weights)
    except (TypeError, ValueError):
        raise ModelError(f"task: positions: expected numbers, got {positions!r}, {weights!r}") from None
    if not np.isfinite(q).all():
        raise ModelError(f"task: positions: expected finite numbers, got {q.tolist()}")
    if w.shape not in ((), q.shape):
        raise ModelError(f"task: weights: expected a number or {len(q)}, got an array of shape {w.shape}")
    return cls(POSTURE_TASK, None, None, weights=np.array(np.broadcast_to(w, q.shape)), positions=q, **options)
