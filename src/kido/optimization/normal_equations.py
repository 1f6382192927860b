"""Matrices of Gauss-Newton steps."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from kido.optimization.function import Array


class NormalEquations(Protocol):
    """A symmetric positive semidefinite matrix H (n, n), and what a Gauss-Newton method asks of it.

    Attributes: `diagonal` (n,).
    """

    diagonal: Array

    def times(self, step: Array) -> Array:
        """H step (n,)."""
        ...

    def solve(self, right: Array, damping: float, free: NDArray[np.bool_]) -> Array:
        """(H + damping I) step = right for the free variables (n,) bool; zero for the others.

        Raises:
            scipy.linalg.LinAlgError: the matrix is not positive definite.
        """
        ...


class DenseNormalEquations:
    """Normal equations as a full matrix."""

    def __init__(self, H: Array) -> None:
        self.H = H
        self.diagonal = np.diag(H).copy()

    def times(self, step: Array) -> Array:
        """H step (n,)."""
        return self.H @ step

    def solve(self, right: Array, damping: float, free: NDArray[np.bool_]) -> Array:
        """(H + damping I) step = right for the free variables; zero for the others."""
        step = np.zeros_like(right)
        if free.all():
            return scipy.linalg.cho_solve(
                scipy.linalg.cho_factor(self.H + damping * np.eye(right.size), check_finite=False), right
            )
        rows = np.flatnonzero(free)
        if rows.size:
            H = self.H[np.ix_(rows, rows)] + damping * np.eye(rows.size)
            step[rows] = scipy.linalg.cho_solve(scipy.linalg.cho_factor(H, check_finite=False), right[rows])
        return step
