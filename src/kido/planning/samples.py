"""Samples of planned coordinates: scrambled Sobol points within limits, the same ones for the same seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.stats.qmc
from numpy.typing import NDArray

from kido.planning.space import ROTATION

if TYPE_CHECKING:
    from kido.planning.checker import CollisionChecker

Array = NDArray[np.float64]


def sampling_bounds(checker: CollisionChecker) -> tuple[Array, Array]:
    """Limits of coordinates; one turn, or a metre either way, where there are none."""
    lower, upper = checker.limits
    joints = [checker.skeleton.dofs[int(k)].joint.kind.name for k in checker.columns]
    half = np.array([np.pi if kind == "REVOLUTE" else 1.0 for kind in joints])
    half[checker.space.kind >= ROTATION] = np.pi
    low, high = np.isfinite(lower), np.isfinite(upper)
    below = np.where(low, lower, np.where(high, upper - 2.0 * half, -half))
    return below, np.where(high, upper, below + 2.0 * half)


class Samples:
    """A sequence of samples that goes on as long as it is asked to.

    Args:
        checker: within whose bounds they are; rotations are spread evenly over all.
        seed: of the scrambling.
    """

    def __init__(self, checker: CollisionChecker, seed: int):
        self._lower, self._upper = lower, _ = sampling_bounds(checker)
        self._space = checker.space
        self._rng = np.random.default_rng(seed)
        self._sequence = scipy.stats.qmc.Sobol(len(lower), scramble=True, rng=self._rng)

    def take(self, power: int) -> Array:
        """The next 2**power samples (2**power, n), in random order: every other one of Sobol's is in the same half."""
        points = self._rng.permutation(self._sequence.random(2**power))
        states = self._lower + (self._upper - self._lower) * points
        for at in self._space.rotations:
            states[:, at] = points[:, at]
        return self._space.spread(states)
