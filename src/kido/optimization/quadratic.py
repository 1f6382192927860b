"""Strictly convex quadratic programs in one call, in the form that sequential quadratic programming has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kido.optimization.dense_qp import QuadraticProgram
from kido.optimization.differences import Array

_TOLERANCE = 1e-11  # violation of a row, over its norm and 1 + |bound|, that is let be


@dataclass(frozen=True)
class QuadraticSolution:
    """Minimum of a quadratic program.

    Attributes:
        x: (n,).
        equality: (k,) multipliers a of A x = b.
        inequality: (m,) multipliers s >= 0 of G x <= h: H x + c + A^T a + G^T s = 0.
        feasible: False if no x satisfies the constraints; x and multipliers mean nothing then.
    """

    x: Array
    equality: Array
    inequality: Array
    feasible: bool


def solve_quadratic(H: Array, c: Array, A: Array, b: Array, G: Array, h: Array) -> QuadraticSolution:
    """min x^T H x / 2 + c^T x with A x = b and G x <= h, by `QuadraticProgram`.

    Args:
        H: (n, n) symmetric positive definite; of rounding that is not symmetric the mean counts.
        c: (n,).
        A, b: (k, n), (k,). Rows may depend on each other.
        G, h: (m, n), (m,). Rows whose h is infinite are ignored.

    Raises:
        ModelError: sizes that do not fit, or numbers that are none.
        numpy.linalg.LinAlgError: H is not positive definite, or not finite.
    """
    H = 0.5 * (H + H.T)
    if not np.isfinite(H).all():
        raise np.linalg.LinAlgError("quadratic program: H is not finite")
    k, free = len(b), np.full(len(h), -np.inf)
    rows, low, high = np.concatenate([A, G]), np.concatenate([b, free]), np.concatenate([b, h])
    found = QuadraticProgram(H, c, rows, low, high, tolerance=_TOLERANCE).solve()
    if found.status == "not convex":
        raise np.linalg.LinAlgError("quadratic program: H is not positive definite")
    y = found.row_multipliers
    return QuadraticSolution(found.x, -y[:k], -y[k:], found.solved)
