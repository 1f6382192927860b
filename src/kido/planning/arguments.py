"""What planners are given: states, whole numbers, seconds and paths, checked."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import StateError
from kido.math.transform import as_numbers
from kido.planning.errors import NoPathError
from kido.planning.path import Path

Array = NDArray[np.float64]
_NUMBER, _WHOLE = int | float | np.number, int | np.integer
_FLOAT = np.dtype(np.float64)


def numbers(value: Any, what: str) -> Array:
    """Finite numbers.

    Raises:
        StateError: they are none.
    """
    try:
        found = as_numbers(value)
    except (TypeError, ValueError) as error:
        raise StateError(f"{what}: {error}") from None
    if not np.isfinite(found).all():
        raise StateError(f"{what}: expected finite numbers, got {value!r}")
    return found


def positive(value: Any, what: str) -> float:
    """A finite number above 0.

    Raises:
        StateError: it is none.
    """
    found = not_negative(value, what)
    if found == 0.0:
        raise StateError(f"{what}: expected a number above 0, got {value!r}")
    return found


def not_negative(value: Any, what: str) -> float:
    """A finite number of at least 0.

    Raises:
        StateError: it is none.
    """
    found = numbers(value, what)
    if found.ndim != 0 or found < 0.0:
        raise StateError(f"{what}: expected a number of at least 0, got {value!r}")
    return float(found)


def as_above_zero(value: Any, what: str) -> float:
    """A number above 0, which may be infinite.

    Raises:
        StateError: it is none.
    """
    if isinstance(value, bool) or not (isinstance(value, _NUMBER) and value > 0.0):
        raise StateError(f"{what}: expected a number above 0, got {value!r}")
    return float(value)


def as_whole(value: Any, what: str, least: int) -> int:
    """A whole number.

    Raises:
        StateError: it is none, or too small.
    """
    if isinstance(value, bool) or not isinstance(value, _WHOLE) or value < least:
        raise StateError(f"{what}: expected a whole number of at least {least}, got {value!r}")
    return int(value)


def as_path(value: Any, what: str) -> Path:
    """A path.

    Raises:
        StateError: it is none.
    """
    if not isinstance(value, Path):
        raise StateError(f"{what}: expected a path that a planner found (kido.planning.Path), got {value!r:.80}")
    return value


def as_ends(start: Any, goals: Any, n: int) -> Array:
    """A start (n,) and a goal (n,) or goals (m, n), below each other (1 + m, n); whether they are finite is not said.

    Raises:
        StateError: what are no numbers, or of another shape.
    """
    ends = [np.asarray(start), np.asarray(goals)]
    begin, goal = (end if end.dtype == _FLOAT else _converted(end) for end in ends)
    rows = len(goal) if goal.ndim == 2 else 1
    if begin.shape != (n,) or goal.shape[-1:] != (n,) or goal.ndim > 2 or not rows:
        raise StateError(
            f"expected a start ({n},) and goals ({n},) or (m, {n}), got shapes {begin.shape} and {goal.shape}"
        )
    states = np.empty((1 + rows, n))
    states[0], states[1:] = begin, goal
    return states


def _converted(value: Any) -> Array:
    try:
        return as_numbers(value)
    except (TypeError, ValueError) as error:
        raise StateError(f"start, goals: {error}") from None


class Clock:
    """Says when time is up.

    Raises:
        StateError: seconds that are no number above 0.
    """

    def __init__(self, seconds: Any):
        self.seconds = as_above_zero(seconds, "max_seconds")
        self.began = perf_counter()

    def look(self, nodes: int) -> None:
        """Raises NoPathError if time is up, which tells how many nodes there are."""
        if perf_counter() - self.began > self.seconds:
            raise NoPathError(f"no path was found within {self.seconds:g} s on {nodes} nodes")
