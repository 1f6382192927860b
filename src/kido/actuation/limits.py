"""Limits of strings: lengths that a world keeps within bounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kido.actuation.actuators import Actuators
from kido.constraints import UserConstraint
from kido.constraints.constraint import read_only
from kido.errors import ModelError

Array = NDArray[np.float64]


class TendonLimits(UserConstraint):
    """Least and greatest length of a tendon; of a sum of coordinates `kido.CouplerForces` does it in compiled code.

    Args:
        actuators: of the world, with the tendon.
        name: of the tendon, and of the constraint.
        lower, upper: [m]; infinite: there is none.

    Raises:
        ModelError: no such tendon; bounds that are none.
    """

    def __init__(self, actuators: Actuators, name: str, lower: float = -np.inf, upper: float = np.inf):
        if name not in actuators.tendon_names:
            raise ModelError(f"limits of tendon {name!r}: expected one of {', '.join(actuators.tendon_names)}")
        if not lower <= upper:
            raise ModelError(f"limits of tendon {name!r}: expected lower <= upper, got {lower!r} and {upper!r}")
        self._actuators, self._index = actuators, actuators.tendon_names.index(name)
        self._lower_limit, self._upper_limit = float(lower), float(upper)
        self._limits = [(bound, sign) for bound, sign in ((lower, 1.0), (upper, -1.0)) if np.isfinite(bound)]
        super().__init__(*actuators.skeletons, name=name)

    lower_limit: float = read_only("_lower_limit", "Least length [m].")
    upper_limit: float = read_only("_upper_limit", "Greatest length [m].")

    @property
    def error(self) -> Array:
        """How far the length is within each bound [m]."""
        length = float(self._actuators.tendon_lengths[self._index])
        return np.array([sign * (length - bound) for bound, sign in self._limits])

    def rows(self) -> Array:
        row = np.concatenate([self._actuators.tendon_moments(s)[self._index] for s in self._actuators.skeletons])
        return np.array([sign * row for _, sign in self._limits]).reshape(-1, len(row))

    def bounds(self) -> tuple[float, float]:
        return 0.0, np.inf
