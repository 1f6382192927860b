"""Selectively damped least squares.

Source: Buss and Kim, "Selectively damped least squares for inverse kinematics", Journal of Graphics Tools 10 (2005),
eqs. 8-11 and section 4.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from kido.ik.gradient_method import Array, JacobianMethod, clamped, positive


class SelectivelyDampedLeastSquares(JacobianMethod):
    """Each singular direction is damped as far as it would swing joints about for little motion of the end effector.

    With J = sum of s_i u_i v_i^T over its singular values: direction i asks for a change (u_i.e / s_i) v_i. The parts
    of the error that it moves, u_i in each triple of rows, have lengths that sum to N_i; the joints' part in moving
    them, M_i = (1/s_i) sum_j |v_ij| |dp/dq_j|, would be as large if nothing cancelled. So its change is cut to
    largest * min(1, N_i / M_i), and so is the sum, to `largest`.

    Args:
        largest: of the change of a coordinate in one step [rad, m].
    """

    def __init__(self, largest: float = math.pi / 4, component_weights: ArrayLike | None = None, clamp: float = np.inf):
        super().__init__(component_weights, clamp)
        self.largest = largest

    @property
    def largest(self) -> float:
        """The largest change of a coordinate in one step [rad, m]."""
        return self._largest

    @largest.setter
    def largest(self, value: float) -> None:
        self._largest = positive(value, "SelectivelyDampedLeastSquares: largest")

    def solve(self, jacobian: Array, error: Array) -> Array:
        """The change (n,)."""
        U, s, V = np.linalg.svd(jacobian, full_matrices=False)
        triples = [slice(k, k + 3) for k in range(0, len(error), 3)]
        speeds = sum(np.linalg.norm(jacobian[t], axis=0) for t in triples)  # of all points, by coordinate
        g = np.zeros(jacobian.shape[1])
        for i in np.flatnonzero(s > 1e-12 * s.max(initial=0.0)):
            moved = sum(float(np.linalg.norm(U[t, i])) for t in triples)
            swing = float(np.abs(V[i]) @ speeds) / s[i]
            bound = self._largest * min(1.0, moved / swing)
            g += clamped((U[:, i] @ error / s[i]) * V[i], bound)
        return clamped(g, self._largest)
