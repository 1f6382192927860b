"""What all constraints that a user adds to a world have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError, StateError
from kido.math.transform import number_or_nan

if TYPE_CHECKING:
    from kido.skeleton import BodyNode, Skeleton

__all__ = ["Constraint"]


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


class Constraint(ABC):
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
    def skeletons(self) -> list[Skeleton]:
        """Skeletons whose motion it restricts, each once."""

    @property
    def bodies(self) -> list[BodyNode]:
        """Bodies it acts on; it goes when one of them leaves its world."""
        return []

    @property
    @abstractmethod
    def row_names(self) -> list[str]:
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
        return self.system().errors(self)

    @property
    def impulses(self) -> NDArray[np.float64]:
        """Impulse of each of its equations in the last step, (rows,) [N s or N m s]."""
        return self.system().impulses(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "world": None}

    def changed(self) -> None:
        """A property changed: its world takes it over."""
        if self.world is not None:
            self.world.constraints_changed(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"
