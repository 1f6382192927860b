"""Rows of a motion's residuals, how they depend on the frames, and their normal equations, which are banded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from kido.ik.coupling import coupling_of
from kido.ik.motion.constraint import PoseConstraint, Poses

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


def sparse_jacobian(sources: list[Rows], poses: Poses, n: int) -> scipy.sparse.csr_array:
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
    return scipy.sparse.csr_array((np.concatenate(values), tuple(np.concatenate(places, axis=1))), shape=shape)


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


class BandedNormalEquations:
    """A symmetric matrix of blocks (n, n), as `kido.optimization.NormalEquations`.

    Args:
        blocks: (frames, n, n) of a frame with itself, (frames - 1, n, n) with the next, (frames - 2, n, n) with the one
            after that; as many of these as are not zero.
    """

    def __init__(self, blocks: list[Array]) -> None:
        self.blocks = blocks
        frames, n, _ = blocks[0].shape
        self.diagonal = np.einsum("kii->ki", blocks[0]).ravel().copy()
        # The lower triangle by diagonals, as LAPACK has it: band[i - j, j]
        self.band = np.zeros((n * len(blocks), frames * n))
        bands = self.band.reshape(-1, frames, n)
        row, column = np.tril_indices(n)
        bands[row - column, :, column] = blocks[0][:, row, column].T
        row, column = (index.ravel() for index in np.indices((n, n)))
        for apart in range(1, len(blocks)):
            block = blocks[apart]  # of frame k and k + apart; its transpose is below the diagonal
            bands[apart * n + column - row, : len(block), row] = block[:, row, column].T

    def times(self, step: Array) -> Array:
        """H step (n,)."""
        frames, n, _ = self.blocks[0].shape
        s = step.reshape(frames, n, 1)
        y = self.blocks[0] @ s
        for apart in range(1, len(self.blocks)):
            block = self.blocks[apart]
            y[: len(block)] += block @ s[apart:]
            y[apart:] += block.transpose(0, 2, 1) @ s[: len(block)]
        return y.ravel()

    def solve(self, right: Array, damping: float, free: NDArray[np.bool_]) -> Array:
        """(H + damping I) step = right for the free variables; zero for the others.

        Raises:
            scipy.linalg.LinAlgError: the matrix is not positive definite.
        """
        band = self.band.copy()
        band[0] += damping
        fixed = np.flatnonzero(~free)
        if fixed.size:
            band[:, fixed] = 0.0
            below = np.arange(1, len(band))[:, None]
            column = fixed[None] - below
            inside = column >= 0
            band[np.broadcast_to(below, column.shape)[inside], column[inside]] = 0.0
            band[0, fixed] = 1.0
            right = np.where(free, right, 0.0)
        factor = scipy.linalg.cholesky_banded(band, overwrite_ab=True, lower=True, check_finite=False)
        return scipy.linalg.cho_solve_banded((factor, True), right, check_finite=False)
