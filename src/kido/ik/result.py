"""What a solve of inverse kinematics found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class IkResult:
    """What was found, and how it came about. It is true if all tasks are satisfied.

    Attributes:
        positions: of the active coordinates (n,) [m, rad]; the closest that were found, if not converged.
        converged: whether all errors are within their tolerances, positions within their limits, and what constraints
            a user added to the problem are met.
        errors: error (6,) of each task there, by name of its node [rad, m].
        residual: the largest component of all errors [rad, m].
        iterations: of the solver.
        reason: why it stopped, in words.
        objective: the value of the objective there.
    """

    positions: Array
    converged: bool
    errors: list[tuple[str, Array]]
    residual: float
    iterations: int
    reason: str
    objective: float = 0.0

    def __bool__(self) -> bool:
        return self.converged
