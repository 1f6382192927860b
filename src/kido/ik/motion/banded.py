"""Normal equations of a motion: blocks couple a frame with itself and the next two, so the matrix is banded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve_banded, cholesky_banded

Array = NDArray[np.float64]


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
        factor = cholesky_banded(band, overwrite_ab=True, lower=True, check_finite=False)
        return cho_solve_banded((factor, True), right, check_finite=False)
