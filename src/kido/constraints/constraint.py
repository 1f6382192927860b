"""What all constraints that a user adds to a world have in common; those of one's own by a few lines of Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed
from kido.attributes import FixedAttributes
from kido.errors import ModelError, StateError
from kido.math.transform import as_numbers, number_or_nan
from kido.turns import Turn

if TYPE_CHECKING:
    from kido.skeleton import BodyNode, Skeleton

__all__ = ["Constraint", "UserConstraint"]


def bound(value: Any, what: str) -> float:
    """A force or moment that is positive, infinity included.

    Raises:
        ModelError: anything else.
    """
    number = number_or_nan(value)
    if not number > 0.0:
        raise ModelError(f"{what}: expected a number above 0 (or inf), got {value!r}")
    return number


def not_negative(value: Any, what: str) -> float:
    """A finite number not below zero.

    Raises:
        ModelError: anything else.
    """
    number = number_or_nan(value)
    if not 0.0 <= number < np.inf:
        raise ModelError(f"{what}: expected a number not below 0, got {value!r}")
    return number


def read_only(name: str, doc: str) -> Any:
    """A property that gives an attribute, for which its class declares the type."""
    return property(lambda constraint: getattr(constraint, name), doc=doc)


class Constraint(FixedAttributes, ABC):
    """A condition on the motion of bodies or coordinates: `World.add_constraint` makes a world hold it.

    Attributes:
        name: for messages and reports.
        world: the world that holds it, or None; worlds set it.
    """

    def __init__(self, name: str | None = None):
        if name is not None and not isinstance(name, str):
            raise ModelError(f"constraint: name: expected a text, got {name!r}")
        self.name = name or type(self).__name__
        self.world: Any = None

    @property
    @abstractmethod
    def skeletons(self) -> tuple[Skeleton, ...]:
        """Skeletons whose motion it restricts, each once."""

    @property
    def bodies(self) -> tuple[BodyNode, ...]:
        """Bodies it acts on; it goes when one of them leaves its world."""
        return ()

    @property
    @abstractmethod
    def row_names(self) -> tuple[str, ...]:
        """What each of its scalar equations holds, in words."""

    def system(self) -> Any:
        """The compiled constraints of its world.

        Raises:
            StateError: it is in no world.
        """
        if self.world is None:
            raise StateError(f"constraint {self.name!r} is in no world: World.add_constraint adds it")
        return self.world.constraint_system

    @property
    def error(self) -> NDArray[np.float64]:
        """By how much each of its equations is missed at the present positions, (rows,) [m or rad]."""
        return fixed(self.system().errors(self))

    @property
    def impulses(self) -> NDArray[np.float64]:
        """Impulse of each of its equations in the last step, (rows,) [N s or N m s]."""
        return fixed(self.system().impulses(self))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "world": None}

    @property
    def turn(self) -> Turn:
        """Whose turn it is to change it: that of its world."""
        return Turn() if self.world is None else self.world.turn

    def changed(self) -> None:
        """A property changed: its world takes it over."""
        if self.world is not None:
            self.world.constraints_changed(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


Array = NDArray[np.float64]


class UserConstraint(Constraint):
    """A constraint of one's own: `rows`, and what of `error`, `bias`, `bounds` differs from the usual.

    In each step they are asked at mid-step positions and with the velocities of the step's start. Rows that hold are
    asked for once more, at the positions that are predicted for its end: there they are met, for motion of second order
    in the time step. Skeletons and bodies answer for those states, which must not be changed. Steps return to Python
    for it.

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
    def skeletons(self) -> tuple[Skeleton, ...]:
        """Skeletons whose coordinates the rows are over."""
        return tuple(self._skeletons)

    @property
    def row_names(self) -> tuple[str, ...]:
        """Numbers of its rows in the last step."""
        return tuple([f"row {k}" for k in range(len(self.impulses))] if self.world is not None else [])

    @property
    def error(self) -> Array:
        """phi(q) of each row at present, (rows,): zero where it is met, the gap of one-sided rows; zeros by default."""
        return fixed(np.zeros(len(np.atleast_2d(np.asarray(self.rows(), float)))))

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
