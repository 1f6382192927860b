"""What controllers follow: numbers that stay, samples, functions of time, motions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import ModelError, StateError
from kido.math.transform import number_or_nan, numbers_or_nan
from kido.skeleton import Skeleton

Array = NDArray[np.float64]
_SHORT = 1e-5  # [s] central differences over it are exact to 1e-10 of the third derivative
_LONG = 1e-3  # [s] of velocities, which are rounded themselves


class Samples(FixedAttributes):
    """Positions over time, from samples: a cubic spline through the numbers of the coordinates.

    Before the first sample and after the last one positions stay. Rotation vectors of ball and free joints are to be
    without jumps from sample to sample.

    Args:
        positions: (samples, coordinates) [m, rad].
        rate: samples per second [Hz].

    Attributes:
        duration: time of the last sample [s].

    Raises:
        StateError: fewer than two samples, numbers that are not finite, or a rate that is not positive.
    """

    def __init__(self, positions: ArrayLike, rate: float):
        rows = numbers_or_nan(positions)
        if rows.ndim != 2 or len(rows) < 2 or not np.isfinite(rows).all():
            raise StateError(f"samples: expected finite positions (samples, coordinates), got {positions!r:.200}")
        hertz = number_or_nan(rate)
        if not 0.0 < hertz < np.inf:
            raise StateError(f"samples: rate: expected a positive number [Hz], got {rate!r}")
        times = np.arange(len(rows)) / hertz
        self.duration = float(times[-1])
        self._spline = scipy.interpolate.CubicSpline(times, rows)

    def positions(self, time: float) -> Array:
        """Positions at a time [s]."""
        return self._spline(min(max(time, 0.0), self.duration))


class Reference:
    """Positions, velocities and accelerations of a skeleton's coordinates over time.

    Args:
        skeleton: whose coordinates.
        dofs: which of them it gives; the others stay as they are when it is asked.
        given: numbers, a function of time, a `Motion` of the skeleton, or an object with `positions(t)` and perhaps
            `velocities(t)` and `accelerations(t)`.

    Raises:
        ModelError: something else, or other sizes.
    """

    def __init__(self, skeleton: Skeleton, dofs: NDArray[np.int64], given: Any):
        self.skeleton, self.dofs, self.given = skeleton, dofs, given
        self.constant: Array | None = None
        self._derivatives: tuple[float, Any] | None = None  # of a motion, by period
        self.is_motion = hasattr(given, "resampled")
        names = tuple(dof.name for dof in skeleton.dofs)
        if self.is_motion and given.names != names:
            what = f"skeleton {skeleton.name!r}: target"
            raise ModelError(f"{what}: {given!r} has other coordinates; motion.on(skeleton) finds its own")
        if not hasattr(given, "positions") and not callable(given):
            self.constant = self.whole(given)
        self.duration: float | None = getattr(given, "duration", None)

    def whole(self, values: Any) -> Array:
        """Positions of all coordinates from those that are given.

        Raises:
            ModelError: they are not as many as the dofs, or the skeleton's, or not finite.
        """
        n, whole = self.skeleton.num_dofs, np.array(self.skeleton.positions)
        return spread(self.skeleton, self.dofs, values, whole, f"skeleton {self.skeleton.name!r}: target", n)

    def positions(self, time: float) -> Array:
        """Positions (skeleton's dofs,) at a time [s]."""
        given = self.given
        if self.constant is not None:
            return self.constant
        if self.is_motion:
            return self.whole(given.at(given.start + min(max(time, 0.0), given.duration), smooth=True))
        return self.whole(given.positions(time) if hasattr(given, "positions") else given(time))

    def velocities(self, time: float) -> Array:
        """Velocities at a time; differences of positions where none are given."""
        if self.constant is not None:
            return np.zeros(self.skeleton.num_dofs)
        if hasattr(self.given, "velocities"):
            return self._spread_rates(self.given.velocities(time))
        time = self._within(time, _SHORT)
        after, before = self.positions(time + _SHORT), self.positions(time - _SHORT)
        return np.array(self.skeleton.position_differences(after, before)) / (2.0 * _SHORT)

    def accelerations(self, time: float) -> Array:
        """Accelerations at a time; differences of velocities where none are given."""
        if self.constant is not None:
            return np.zeros(self.skeleton.num_dofs)
        if hasattr(self.given, "accelerations"):
            return self._spread_rates(self.given.accelerations(time))
        time = self._within(time, _LONG + _SHORT)
        return (self.velocities(time + _LONG) - self.velocities(time - _LONG)) / (2.0 * _LONG)

    def _within(self, time: float, reach: float) -> float:
        """A time around which there is something to difference, in what ends."""
        return time if self.duration is None else min(max(time, reach), max(self.duration - reach, reach))

    def rows(self, period: float) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times 0, T, 2 T, ... up to the end, where they stay.

        Raises:
            ModelError: the duration is no time.
            StateError: a motion of fewer than six periods.
        """
        seconds = number_or_nan(self.duration)
        if not 0.0 <= seconds < np.inf:
            raise ModelError(f"skeleton {self.skeleton.name!r}: target: duration: expected seconds, got {seconds!r}")
        if self.is_motion:
            found = self._rows_of_motion(period)
        else:
            times = period * np.arange(math.ceil(seconds / period - 1e-9) + 1)
            found = tuple([f(t) for t in times] for f in (self.positions, self.velocities, self.accelerations))
        rows = np.array(found[0]), np.array(found[1]), np.array(found[2])
        rows[1][-1] = rows[2][-1] = 0.0
        return rows

    def _rows_of_motion(self, period: float) -> tuple[Array, Array, Array]:
        """`rows` of a motion, which does not change: derivatives are kept, as gains may be set often."""
        if self._derivatives is None or self._derivatives[0] != period:
            self._derivatives = period, self.given.resampled(1.0 / period, smooth=True).derivatives()
        q, u, a = self._derivatives[1]
        found = np.tile(self.skeleton.positions, (len(q), 1)), np.zeros_like(u), np.zeros_like(a)
        for rows, given in zip(found, (q, u, a), strict=True):
            rows[:, self.dofs] = given[:, self.dofs]
        return found

    def _spread_rates(self, values: Any) -> Array:
        n = self.skeleton.num_dofs
        return spread(self.skeleton, self.dofs, values, np.zeros(n), f"skeleton {self.skeleton.name!r}: target", n)


def spread(
    skeleton: Skeleton, dofs: NDArray[np.int64], values: Any, whole: Array, what: str, n: int, least: float = -np.inf
) -> Array:
    """`whole` with some coordinates from one number, one for each of them, or one for each of the skeleton's.

    Raises:
        ModelError: numbers of another shape, not finite, or below the least.
    """
    given = numbers_or_nan(values)
    if given.shape not in ((), dofs.shape, (n,)) or not np.isfinite(given).all() or (given < least).any():
        bound = "" if least == -np.inf else f" not below {least:g}"
        raise ModelError(
            f"{what}: expected finite numbers{bound}, one for each of {len(dofs)} dofs, got {values!r:.200}"
        )
    whole[dofs] = given[dofs] if given.shape == (n,) and n != len(dofs) else given
    return whole
