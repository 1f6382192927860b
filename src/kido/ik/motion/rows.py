"""Rows of a motion's residuals, and how they depend on the frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kido.ik.coupling import coupling_of
from kido.ik.motion.constraint import PoseConstraint
from kido.ik.motion.poses import Poses

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """Derivatives of rows by the variables of one frame each.

    Attributes:
        frames: (rows,) the frame that each group of rows depends on.
        columns: (c,) the variables within a frame.
        matrices: (rows, m, c).
    """

    frames: Indices
    columns: Indices
    matrices: Array


class Rows(Protocol):
    """Residuals (groups, m), each of whose groups depends on one frame, or on a frame and the next ones."""

    @property
    def constant(self) -> bool:
        """Whether derivatives are the same everywhere."""
        ...

    def residuals(self, poses: Poses) -> Array:
        """(groups, m)."""
        ...

    def parts(self, poses: Poses) -> list[Part]:
        """Derivatives by the first frame, and by the next ones where they matter."""
        ...


class ConstraintRows:
    """Rows of a pose constraint.

    Args:
        constraint: whose they are.
        frames: those in which it counts.
        dofs: places of the variables in the skeleton's arrays.
        weighted: residuals are times the root of the constraint's weight.
    """

    constant = False

    def __init__(self, constraint: PoseConstraint, frames: Indices, dofs: Indices, weighted: bool) -> None:
        self.constraint, self.frames, self.dofs = constraint, frames, dofs
        self.columns = np.arange(len(dofs))
        self.scale = np.sqrt(constraint.weight).reshape(-1, 1) if weighted else np.ones((1, 1))

    def residuals(self, poses: Poses) -> Array:
        """sqrt(w) c (frames, m)."""
        return self.scale * self.constraint.evaluate_frames(poses, self.frames)

    def parts(self, poses: Poses) -> list[Part]:
        """Its derivatives."""
        J = coupling_of(poses.skeleton).columns(self.constraint.jacobian_frames(poses, self.frames), self.dofs)
        return [Part(self.frames, self.columns, self.scale[:, :, None] * J)]


def parts_of(rows: Rows, poses: Poses) -> list[Part]:
    """Derivatives of rows, computed once for each set of poses."""
    if rows not in poses.memory:
        poses.memory[rows] = rows.parts(poses)
    return poses.memory[rows]


def sparse_jacobian(sources: list[Rows], poses: Poses, n: int) -> sparse.csr_array:
    """Derivatives of all rows, one source after the other, by the n variables of each frame."""
    values, places, first = [np.zeros(0)], [np.zeros((2, 0), dtype=np.int64)], 0
    for rows in sources:
        parts = parts_of(rows, poses)
        groups, m, _ = parts[0].matrices.shape
        for part in parts:
            row = first + np.arange(groups * m).reshape(groups, m, 1)
            column = (part.frames[:, None] * n + part.columns)[:, None, :]
            row, column = np.broadcast_arrays(row, column)
            values.append(part.matrices.ravel())
            places.append(np.stack([row.ravel(), column.ravel()]))
        first += groups * m
    shape = (first, len(poses.positions) * n)
    return sparse.csr_array((np.concatenate(values), tuple(np.concatenate(places, axis=1))), shape=shape)


def add_normal_equations(blocks: list[Array], parts: list[Part]) -> None:
    """Add J^T J of rows to blocks[d][k] (n, n) of the frames k and k + d."""
    n = blocks[0].shape[1]
    for i, one in enumerate(parts):
        for apart, other in enumerate(parts[i:]):
            product = one.matrices.transpose(0, 2, 1) @ other.matrices
            target = blocks[apart]
            if len(one.frames) == len(target) and len(one.columns) == len(other.columns) == n:
                target += product  # all frames and columns, in order
            else:
                np.add.at(target, (one.frames[:, None, None], one.columns[None, :, None], other.columns), product)
