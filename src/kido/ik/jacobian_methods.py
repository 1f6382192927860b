"""Gradient methods that invert the Jacobian: transpose, inverse, pseudoinverse, damped, Levenberg-Marquardt.

Sources: Buss, "Introduction to Inverse Kinematics with Jacobian Transpose, Pseudoinverse and Damped Least Squares
methods" (2009), eqs. 7-11; Sugihara, "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method"
(2011), eq. 23.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kido.errors import ModelError
from kido.ik.gradient_method import Array, JacobianMethod, positive

DEFAULT_DAMPING = 0.05


class JacobianTranspose(JacobianMethod):
    """g = a J^T e: steepest descent of |e|^2 / 2.

    a = e.(J J^T e) / |J J^T e|^2 is the step that would leave the least error if it were linear; DART's is 1.
    """

    def solve(self, jacobian: Array, error: Array) -> Array:
        """a J^T e; zero where no direction leads closer."""
        g = jacobian.T @ error
        moved = jacobian @ g
        size = float(moved @ moved)
        return g * (float(error @ moved) / size) if size > 0.0 else np.zeros_like(g)


class JacobianInverse(JacobianMethod):
    """g = J^-1 e, for as many coordinates as components of the error that are not free.

    It is exact to second order, and fails near singular poses.
    """

    def solve(self, jacobian: Array, error: Array) -> Array:
        """J^-1 e, of the rows that depend on the coordinates.

        Raises:
            ModelError: J is not square, or singular.
        """
        rows = jacobian.any(axis=1)
        J = jacobian[rows]
        if J.shape[0] != J.shape[1]:
            raise ModelError(
                f"JacobianInverse: expected as many active coordinates as components of the error, got {J.shape[1]} "
                f"and {J.shape[0]}; use JacobianPseudoinverse"
            )
        try:
            return np.asarray(np.linalg.solve(J, error[rows]), dtype=np.float64)
        except np.linalg.LinAlgError:
            raise ModelError("JacobianInverse: the Jacobian is singular at this pose; use DampedLeastSquares") from None


class JacobianPseudoinverse(JacobianMethod):
    """g = J^+ e: the smallest of the changes that leave the least error, to first order.

    Args:
        cutoff: singular values below this share of the largest count as zero.
    """

    def __init__(self, cutoff: float = 1e-10, component_weights: ArrayLike | None = None, clamp: float = np.inf):
        super().__init__(component_weights, clamp)
        self._cutoff = positive(cutoff, "JacobianPseudoinverse: cutoff")

    @property
    def cutoff(self) -> float:
        """Singular values below this share of the largest count as zero."""
        return self._cutoff

    def solve(self, jacobian: Array, error: Array) -> Array:
        """J^+ e."""
        return np.asarray(np.linalg.pinv(jacobian, self._cutoff), dtype=np.float64) @ error


class DampedLeastSquares(JacobianMethod):
    """g = J^T (J J^T + d^2 1)^-1 e: least squares with a price on motion, calm near singular poses.

    The default of `InverseKinematics`.

    Args:
        damping: d.
    """

    def __init__(
        self, damping: float = DEFAULT_DAMPING, component_weights: ArrayLike | None = None, clamp: float = np.inf
    ):
        super().__init__(component_weights, clamp)
        self.damping = damping

    @property
    def damping(self) -> float:
        """d, in the units of J."""
        return self._damping

    @damping.setter
    def damping(self, value: float) -> None:
        self._damping = positive(value, "DampedLeastSquares: damping")

    def solve(self, jacobian: Array, error: Array) -> Array:
        """J^T (J J^T + d^2 1)^-1 e."""
        return damped(jacobian, error, self._damping**2)


class LevenbergMarquardt(JacobianMethod):
    """g = (J^T J + m 1)^-1 J^T e with m = |e|^2 / 2 + b.

    Damping that vanishes with the error: far away it is careful, near a solution it converges fast, and a target out
    of reach does not make it tremble.

    Args:
        bias: b, what remains of m at the solution.
    """

    def __init__(self, bias: float = 1e-6, component_weights: ArrayLike | None = None, clamp: float = np.inf):
        super().__init__(component_weights, clamp)
        self.bias = bias

    @property
    def bias(self) -> float:
        """b, in the units of J squared."""
        return self._bias

    @bias.setter
    def bias(self, value: float) -> None:
        self._bias = positive(value, "LevenbergMarquardt: bias")

    def solve(self, jacobian: Array, error: Array) -> Array:
        """(J^T J + m 1)^-1 J^T e."""
        return damped(jacobian, error, 0.5 * float(error @ error) + self._bias)


def damped(J: Array, e: Array, m: float) -> Array:
    """J^T (J J^T + m 1)^-1 e."""
    return J.T @ np.linalg.solve(J @ J.T + m * np.eye(len(e)), e)
