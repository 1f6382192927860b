"""What a search for positions found: of one target, and of many."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from kido.ik.engine import search

Array = NDArray[np.float64]


class IkStatus(IntEnum):
    """How a search for positions ended.

    * MET: all tasks are within their tolerances.
    * CLOSEST: they cannot be met from anywhere that was tried; the positions are a minimum of the sum of squares of
      weighted residuals within limits, the least that was found.
    * STOPPED: the budget of iterations or time ended before that; the positions are the best found.
    * NOT_FINITE: residuals left the range of numbers; the positions are those of the start.
    """

    MET = search.MET
    CLOSEST = search.CLOSEST
    STOPPED = search.STOPPED
    NOT_FINITE = search.NOT_FINITE

    def __str__(self) -> str:
        return self.name


class IkSolution:
    """Positions found for one target; true where tasks are met: ``if solution: ...``."""

    __slots__ = ("_dofs", "_numbers")

    def __init__(self, numbers: Array, dofs: int):
        self._numbers, self._dofs = numbers, dofs

    def __bool__(self) -> bool:
        return bool(self._numbers[self._dofs + search.OUT_STATUS] == search.MET)

    @property
    def success(self) -> bool:
        """Whether all tasks are met, within limits."""
        return bool(self)

    @property
    def status(self) -> IkStatus:
        """How the search ended."""
        return IkStatus(int(self._numbers[self._dofs + search.OUT_STATUS]))

    @property
    def positions(self) -> Array:
        """Positions (dofs,) of the whole skeleton [m, rad]; those that were not active are those of the start."""
        return self._numbers[: self._dofs].copy()

    @property
    def angular_error(self) -> float:
        """Largest angle of a task's residual [rad]."""
        return float(self._numbers[self._dofs + search.OUT_ANGLE])

    @property
    def linear_error(self) -> float:
        """Largest distance of a task's residual [m]."""
        return float(self._numbers[self._dofs + search.OUT_DISTANCE])

    @property
    def posture_error(self) -> float:
        """Largest difference of a coordinate from a posture's [m, rad]; 0 without postures."""
        return float(self._numbers[self._dofs + search.OUT_POSTURE])

    @property
    def cost(self) -> float:
        """Half the sum of squares of weighted residuals."""
        return float(self._numbers[self._dofs + search.OUT_COST])

    @property
    def iterations(self) -> int:
        """Steps of all attempts."""
        return int(self._numbers[self._dofs + search.OUT_ITERATIONS])

    @property
    def attempts(self) -> int:
        """Positions that the search began at."""
        return int(self._numbers[self._dofs + search.OUT_ATTEMPTS])

    @property
    def attempt(self) -> int:
        """Which of them led to the result; 0: the start."""
        return int(self._numbers[self._dofs + search.OUT_ATTEMPT])

    def __repr__(self) -> str:
        return (
            f"IkSolution({self.status.name}, angular_error={self.angular_error:.3g}, "
            f"linear_error={self.linear_error:.3g}, attempts={self.attempts}, iterations={self.iterations})"
        )


class IkSolutions:
    """Positions found for many targets; arrays with a row for each. An index gives one of them as `IkSolution`."""

    def __init__(self, numbers: Array, dofs: int):
        self._numbers, self._dofs = numbers, dofs

    def _column(self, which: int) -> Array:
        return self._numbers[:, self._dofs + which].copy()

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int) -> IkSolution:
        return IkSolution(self._numbers[index], self._dofs)

    def __iter__(self) -> Iterator[IkSolution]:
        return (self[k] for k in range(len(self)))

    @property
    def success(self) -> NDArray[np.bool_]:
        """Whether all tasks are met (samples,)."""
        return self.status == IkStatus.MET

    @property
    def status(self) -> NDArray[np.int64]:
        """How searches ended (samples,): values of `IkStatus`."""
        return self._column(search.OUT_STATUS).astype(np.int64)

    @property
    def positions(self) -> Array:
        """Positions (samples, dofs) [m, rad]."""
        return self._numbers[:, : self._dofs].copy()

    @property
    def angular_error(self) -> Array:
        """Largest angle of a task's residual (samples,) [rad]."""
        return self._column(search.OUT_ANGLE)

    @property
    def linear_error(self) -> Array:
        """Largest distance of a task's residual (samples,) [m]."""
        return self._column(search.OUT_DISTANCE)

    @property
    def posture_error(self) -> Array:
        """Largest difference of a coordinate from a posture's (samples,) [m, rad]."""
        return self._column(search.OUT_POSTURE)

    @property
    def cost(self) -> Array:
        """Half the sums of squares of weighted residuals (samples,)."""
        return self._column(search.OUT_COST)

    @property
    def iterations(self) -> NDArray[np.int64]:
        """Steps of all attempts (samples,)."""
        return self._column(search.OUT_ITERATIONS).astype(np.int64)

    @property
    def attempts(self) -> NDArray[np.int64]:
        """Positions that searches began at (samples,)."""
        return self._column(search.OUT_ATTEMPTS).astype(np.int64)

    def __repr__(self) -> str:
        return f"IkSolutions({len(self)} targets, {int(self.success.sum())} met)"
