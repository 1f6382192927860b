"""Strictly convex quadratic programs, by the dual method of Goldfarb and Idnani.

D. Goldfarb, A. Idnani: A numerically stable dual method for solving strictly convex quadratic programs,
Mathematical Programming 27 (1983). It starts from the unconstrained minimum, adds the most violated constraint, and
drops those whose multipliers would become negative; it needs no feasible start, and proves infeasibility.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from kido.optimization.differences import Array

_DEPENDENT = 1e-10  # share of a constraint's normal that others leave, below which it depends on them
_SATISFIED = 1e-11  # violation, relative to the sizes of its terms, that counts as none


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
    """min x^T H x / 2 + c^T x with A x = b and G x <= h.

    Args:
        H: (n, n) symmetric positive definite.
        c: (n,).
        A, b: (k, n), (k,). Rows may depend on each other.
        G, h: (m, n), (m,). Rows whose h is infinite are ignored.

    Raises:
        numpy.linalg.LinAlgError: H is not positive definite.
    """
    return _DualActiveSet(H, c, A, b, G, h).run()


class _DualActiveSet:
    """Constraints are n_i^T x >= d_i here: first those of A, with the sign of their violation, then -G x >= -h."""

    def __init__(self, H: Array, c: Array, A: Array, b: Array, G: Array, h: Array) -> None:
        self.L = np.linalg.cholesky(H)
        self.normals = np.concatenate([A, -G])
        self.limits = np.concatenate([b, -h])
        size = np.linalg.norm(self.normals, axis=1)
        self.scale = np.where(size > 0.0, size, 1.0)
        self.W = solve_triangular(
            self.L, self.normals.T, lower=True, check_finite=False
        )  # normals in the metric of H^-1
        self.equalities = len(A)
        self.x = -self._back(solve_triangular(self.L, c, lower=True, check_finite=False))
        self.active: list[int] = []
        self.sign = np.ones(len(self.limits))
        self.u = np.zeros(0)

    def run(self) -> QuadraticSolution:
        feasible = all(self._add(p) for p in range(self.equalities))
        most = 20 * (self.limits.size + self.x.size)
        rows = slice(self.equalities, None)
        while feasible and most > 0:
            most -= 1
            gap = self.normals[rows] @ self.x - self.limits[rows]
            gap[[p - self.equalities for p in self.active if p >= self.equalities]] = 0.0
            small = _SATISFIED * (self.scale[rows] * (1.0 + np.linalg.norm(self.x)) + np.abs(self.limits[rows]))
            gap = np.where(np.isfinite(gap) & (gap < -small), gap / self.scale[rows], 0.0)
            if not gap.size or gap.min() >= 0.0:
                break
            feasible = self._add(self.equalities + int(np.argmin(gap)))
        multipliers = np.zeros(self.limits.size)
        multipliers[self.active] = self.u * self.sign[self.active]
        e = self.equalities
        return QuadraticSolution(self.x, -multipliers[:e], multipliers[e:], feasible and most > 0)

    def _back(self, vector: Array) -> Array:
        return solve_triangular(self.L.T, vector, lower=False, check_finite=False)

    def _add(self, p: int) -> bool:
        """Move to the minimum over the active set with p; False if there is none."""
        violation = self.limits[p] - self.normals[p] @ self.x
        if p < self.equalities and violation < 0.0:
            self.sign[p] = -1.0
        sign, gained = self.sign[p], 0.0
        w = sign * self.W[:, p]
        while True:
            basis = self.W[:, self.active] * self.sign[self.active]
            Q, R = np.linalg.qr(basis)
            along = Q.T @ w
            rest = w - Q @ along
            rest -= Q @ (Q.T @ rest)
            r = solve_triangular(R, along, lower=False, check_finite=False) if self.active else np.zeros(0)
            blocking, t1 = -1, np.inf
            for k, j in enumerate(self.active):
                if j >= self.equalities and r[k] > 0.0 and self.u[k] / r[k] < t1:
                    blocking, t1 = k, self.u[k] / r[k]
            free = float(rest @ rest)
            violation = sign * (self.limits[p] - self.normals[p] @ self.x)
            t2 = violation / free if free > _DEPENDENT**2 * float(w @ w) else np.inf
            if t1 == np.inf and t2 == np.inf:
                size = self.scale[p] * (1.0 + np.linalg.norm(self.x)) + abs(self.limits[p])
                return p < self.equalities and abs(violation) <= 1e-9 * size  # it follows from the others
            t = min(t1, t2)
            self.u = self.u - t * r
            gained += t
            if t2 < np.inf:
                self.x = self.x + t * self._back(rest)
            if t2 <= t1:
                self.active.append(p)
                self.u = np.append(self.u, gained)
                return True
            del self.active[blocking]
            self.u = np.delete(self.u, blocking)
