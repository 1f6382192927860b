"""Gradient methods: from an error to a change of the active coordinates, mostly by an inverse of the Jacobian.

Sources: Buss, "Introduction to Inverse Kinematics with Jacobian Transpose, Pseudoinverse and Damped Least Squares
methods" (2009), eqs. 7-11; Sugihara, "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method"
(2011), eq. 23; Buss and Kim, "Selectively damped least squares for inverse kinematics", Journal of Graphics Tools 10
(2005), eqs. 8-11 and section 4.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import read_only_copy, settable
from kido.errors import ModelError
from kido.ik.part import Part
from kido.math.transform import number_or_nan, numbers_or_nan

Array = NDArray[np.float64]


DEFAULT_DAMPING = 0.05
_COMPONENT_WEIGHTS = settable("component_weights")


def positive(value: Any, what: str, infinite: bool = False, zero: bool = False) -> float:
    """A number above zero.

    Raises:
        ModelError: it is none.
    """
    number = number_or_nan(value)
    if not ((number > 0.0 or (zero and number == 0.0)) and (infinite or number < np.inf)):
        least = "not below 0" if zero else "above 0"
        raise ModelError(f"{what}: expected a number {least}, got {value!r}")
    return number


def _positive_setting(name: str, doc: str, infinite: bool = False) -> Any:
    """A number above zero, as a property."""

    def put(self: Any, value: float) -> None:
        setattr(self, f"_{name}", positive(value, f"{type(self).__name__}: {name}", infinite))

    return property(lambda self: getattr(self, f"_{name}"), put, doc=doc)


class GradientMethod(Part, ABC):
    """How to come closer: the base class of all gradient methods, and of your own.

    Source: DART report, section 2.8.1.
    """

    @abstractmethod
    def compute_gradient(self, error: Array) -> Array:
        """The gradient g (n,) of an error (6,), one number for each of `ik.dofs`, in velocity coordinates.

        Solvers move the skeleton by -g, so J g should come close to the error, with J the error's Jacobian at the
        skeleton's present positions. A closed-form solution is a gradient too: the present positions less it.
        """


class JacobianMethod(GradientMethod):
    """A gradient method that inverts the error's Jacobian in some way; subclass it and write `solve`.

    In a hierarchy all tasks of a level that have equal methods of this kind are solved as one, in the null space of
    the levels above. Weights count there too; coordinates that are not the task's, which move along to keep what is
    above, have weight 1.

    Args:
        component_weights: (n,) how readily each of the task's coordinates moves, not negative; None: all alike.
        clamp: the largest change of a coordinate in one step [rad, m]; all are scaled together.
    """

    def __init__(self, component_weights: ArrayLike | None = None, clamp: float = np.inf):
        self.component_weights = component_weights
        self.clamp = clamp

    @abstractmethod
    def solve(self, jacobian: Array, error: Array) -> Array:
        """A change g (n,) with J g near the error, for J (rows, n) and an error (rows,) of any number of rows."""

    @property
    def component_weights(self) -> Array | None:
        """How readily each coordinate moves (n,) (a copy); None: all alike.

        With weights W the method is applied to J W, and what comes out is multiplied by W.
        """
        return None if self._weights is None else read_only_copy(_COMPONENT_WEIGHTS, self._weights)

    @component_weights.setter
    def component_weights(self, value: ArrayLike | None) -> None:
        if value is None:
            self._weights = None
            return
        weights = numbers_or_nan(value).reshape(-1)
        if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
            raise ModelError(f"{type(self).__name__}: component_weights: expected numbers not below 0, got {value!r}")
        self._weights = weights

    clamp = _positive_setting("clamp", "The largest change of a coordinate in one step [rad, m].", infinite=True)

    def compute_gradient(self, error: Array) -> Array:
        """`step` with the Jacobian of the present positions."""
        return self.step(self.ik.compute_jacobian(), error)

    def step(self, jacobian: Array, error: Array) -> Array:
        """`solve`, with weights and clamp."""
        W = self.weights_of(jacobian.shape[1])
        return self.step_within(np.eye(len(W)), W, jacobian, error)

    def step_within(self, N: Array, weights: Array, jacobian: Array, error: Array) -> Array:
        """The step W N g (n,), clamped, with g of `solve` for J W N: what is in the space N (n, n) of W^-1 g."""
        return clamped(weights * (N @ self._solved(jacobian * weights @ N, error)), self.clamp)

    def weights_of(self, n: int) -> Array:
        """Weights (n,), 1 where none are set.

        Raises:
            ModelError: there are not as many of them as coordinates.
        """
        W = np.ones(n) if self._weights is None else self._weights
        if W.shape != (n,):
            raise ModelError(f"{type(self).__name__}: component_weights: expected {n} numbers, got {W.size}")
        return W

    def _solved(self, jacobian: Array, error: Array) -> Array:
        g = self.solve(jacobian, error)
        if not isinstance(g, np.ndarray) or g.shape != (jacobian.shape[1],):
            raise ModelError(
                f"{type(self).__name__}: solve: expected an array of {jacobian.shape[1]} numbers, got {g!r}"
            )
        return g

    def settings_key(self) -> tuple[Any, ...]:
        """Equal for methods that can be applied to several tasks as to one."""
        settings = {k: v.tobytes() if isinstance(v, np.ndarray) else v for k, v in vars(self).items() if k != "_ik"}
        return (type(self), *sorted(settings.items()))


def clamped(g: Array, largest: float) -> Array:
    """A vector scaled so that no component is larger than a bound (Buss and Kim's ClampMaxAbs)."""
    size = float(np.abs(g).max(initial=0.0))
    return g if size <= largest else g * (largest / size)


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

    cutoff = property(lambda self: self._cutoff, doc="Singular values below this share of the largest count as zero.")

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

    damping = _positive_setting("damping", "d, in the units of J.")

    def solve(self, jacobian: Array, error: Array) -> Array:
        """J^T (J J^T + d^2 1)^-1 e."""
        return damped(jacobian, error, self.damping**2)


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

    bias = _positive_setting("bias", "b, in the units of J squared.")

    def solve(self, jacobian: Array, error: Array) -> Array:
        """(J^T J + m 1)^-1 J^T e."""
        return damped(jacobian, error, 0.5 * float(error @ error) + self.bias)


def damped(J: Array, e: Array, m: float) -> Array:
    """J^T (J J^T + m 1)^-1 e."""
    return J.T @ np.linalg.solve(J @ J.T + m * np.eye(len(e)), e)


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

    largest = _positive_setting("largest", "The largest change of a coordinate in one step [rad, m].")

    def solve(self, jacobian: Array, error: Array) -> Array:
        """The change (n,)."""
        U, s, V = np.linalg.svd(jacobian, full_matrices=False)
        triples = [slice(k, k + 3) for k in range(0, len(error), 3)]
        speeds = sum(np.linalg.norm(jacobian[t], axis=0) for t in triples)  # of all points, by coordinate
        g = np.zeros(jacobian.shape[1])
        for i in np.flatnonzero(s > 1e-12 * s.max(initial=0.0)):
            moved = sum(float(np.linalg.norm(U[t, i])) for t in triples)
            swing = float(np.abs(V[i]) @ speeds) / s[i]
            bound = self.largest * min(1.0, moved / swing)
            g += clamped((U[:, i] @ error / s[i]) * V[i], bound)
        return clamped(g, self.largest)
