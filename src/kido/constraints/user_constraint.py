"""Constraints that users define by a few lines of Python."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.constraints.constraint import Constraint
from kido.errors import ModelError
from kido.math.transform import as_numbers

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

__all__ = ["UserConstraint"]

Array = NDArray[np.float64]


class UserConstraint(Constraint):
    """A constraint of one's own: `rows`, and what of `error`, `bias`, `bounds` differs from the usual.

    In each step they are asked once, at mid-step positions and with the velocities of the step's start; skeletons and
    bodies answer for that state, which must not be changed. Steps return to Python for it.

    Args:
        *skeletons: whose coordinates the rows are over, in this order.
        name: for messages and reports.

    Raises:
        ModelError: something that is no skeleton.
    """

    def __init__(self, *skeletons: Skeleton, name: str | None = None):
        super().__init__(name)
        if not skeletons or not all(hasattr(s, "num_dofs") and hasattr(s, "bodies") for s in skeletons):
            raise ModelError(f"constraint {self.name!r}: expected skeletons, got {skeletons!r}")
        self._skeletons = list(dict.fromkeys(skeletons))

    @property
    def skeletons(self) -> list[Skeleton]:
        """Skeletons whose coordinates the rows are over."""
        return list(self._skeletons)

    @property
    def row_names(self) -> list[str]:
        """Numbers of its rows in the last step."""
        return [f"row {k}" for k in range(len(self.impulses))] if self.world is not None else []

    @property
    def error(self) -> Array:
        """phi(q) of each row at present, (rows,): zero where it is met, the gap of one-sided rows; zeros by default."""
        return np.zeros(len(np.atleast_2d(np.asarray(self.rows(), float))))

    @abstractmethod
    def rows(self) -> ArrayLike:
        """The Jacobian (rows, coordinates) of the skeletons at present: d phi / dt = rows @ velocities.

        No rows, an array of shape (0, coordinates), if it takes no part.
        """

    def bounds(self) -> tuple[ArrayLike, ArrayLike]:
        """Least and greatest force of each row [N, N m]; (-inf, inf), an equation, by default.

        (0, inf) keeps phi from falling below zero, (-inf, 0) from rising above it.
        """
        return -np.inf, np.inf

    def bias(self, time_step: float) -> ArrayLike | None:
        """b in rows @ u_new + b = 0 (or on the allowed side of it) [m/s, rad/s].

        None, the default, takes it from the error: an equation is met as `World` closes others with limits, a
        one-sided row like a joint limit.
        """
        return None


def checked_rows(constraint: UserConstraint) -> tuple[Array, Array, Array, Array]:
    """Rows, error and bounds that a user's constraint gives for the present state.

    Raises:
        ModelError: shapes that do not fit, numbers that are not finite.
    """
    what = f"constraint {constraint.name!r}"
    dofs = sum(s.num_dofs for s in constraint.skeletons)
    J = _array(constraint.rows(), f"{what}: rows")
    J = J.reshape(1, -1) if J.ndim == 1 and J.size else J.reshape(len(J), -1) if J.size else np.zeros((0, dofs))
    if J.shape[1] != dofs:
        raise ModelError(f"{what}: rows: expected rows of {dofs} numbers, got shape {J.shape}")
    if not np.isfinite(J).all():
        raise ModelError(f"{what}: rows: expected finite numbers")
    values: list[Array] = []
    lower, upper = constraint.bounds()
    for key, value in (("error", constraint.error), ("lower bound", lower), ("upper bound", upper)):
        array = _array(value, f"{what}: {key}")
        if array.ndim > 1 or array.size not in (1, len(J)):
            raise ModelError(f"{what}: {key}: expected one number or {len(J)}, got shape {array.shape}")
        values.append(np.broadcast_to(array, (len(J),)).astype(float))
    if not np.isfinite(values[0]).all() or np.isnan(values[1]).any() or np.isnan(values[2]).any():
        raise ModelError(f"{what}: error and bounds: expected numbers, got {[v.tolist() for v in values]}")
    if (values[1] > values[2]).any():
        raise ModelError(f"{what}: bounds: the lower ones {values[1].tolist()} exceed the upper {values[2].tolist()}")
    return J, values[0], values[1], values[2]


def checked_bias(constraint: UserConstraint, time_step: float, rows: int) -> Array | None:
    """The bias that a user's constraint gives, or None.

    Raises:
        ModelError: a shape that does not fit, numbers that are not finite.
    """
    value: Any = constraint.bias(time_step)
    if value is None:
        return None
    array = _array(value, f"constraint {constraint.name!r}: bias")
    if array.ndim > 1 or array.size not in (1, rows) or not np.isfinite(array).all():
        raise ModelError(f"constraint {constraint.name!r}: bias: expected {rows} finite numbers, got {value!r}")
    return np.broadcast_to(array, (rows,)).astype(float)


def _array(value: Any, what: str) -> Array:
    if isinstance(value, Mapping):
        raise ModelError(f"{what}: expected an array over the coordinates of the skeletons, got a mapping")
    try:
        return as_numbers(value)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: expected numbers, got {value!r}") from None
