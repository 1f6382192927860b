"""Positions of a skeleton as points of a manifold: differences, steps and paths between them."""

from __future__ import annotations

import numpy as np
from numpy import empty
from numpy.typing import ArrayLike

from kido.errors import StateError
from kido.jit import REFUSALS
from kido.kernels import entries
from kido.kernels import manifold as kernels
from kido.math.transform import number_or_nan
from kido.skeleton.arrays import Array
from kido.skeleton.results.dynamics import SkeletonDynamics


class SkeletonManifold(SkeletonDynamics):
    """Positions are not always vectors: rotations of ball and free joints are moved by their velocities.

    For all other joints these are sums and differences of numbers.
    """

    def position_differences(self, positions: ArrayLike, from_positions: ArrayLike) -> Array:
        """Velocities (dofs,) that move `from_positions` to `positions` in unit time, if they are held.

        For a ball joint log(R1^T R2), at most pi long; for a free joint the twist log(X1^-1 X2).

        Raises:
            StateError: positions of the wrong count or not finite.
        """
        w = self._ready or self._workspace()
        out = empty(w.dofs)
        try:
            status = kernels.position_differences.call(w.tree, w.data, positions, from_positions, out)
        except REFUSALS:
            status = entries.REFUSED
        if status:
            self._again(kernels.position_differences, (), (out,), positions=positions, from_positions=from_positions)
        return out

    def integrate_positions(self, positions: ArrayLike, velocities: ArrayLike) -> Array:
        """Positions (dofs,) after unit time with given velocities: R exp(w) for a ball joint, X exp(V) for a free one.

        Raises:
            StateError: vectors of the wrong count or not finite.
        """
        w = self._ready or self._workspace()
        out = empty(w.dofs)
        try:
            status = kernels.integrate_positions.call(w.tree, w.data, positions, velocities, out)
        except REFUSALS:
            status = entries.REFUSED
        if status:
            self._again(kernels.integrate_positions, (), (out,), positions=positions, velocities=velocities)
        return out

    def interpolate_positions(self, start: ArrayLike, end: ArrayLike, share: float) -> Array:
        """Positions (dofs,) on the way from `start` (share 0) to `end` (share 1), at constant velocities.

        Raises:
            StateError: positions of the wrong count, or a number that is not finite.
        """
        number = number_or_nan(share)
        if not np.isfinite(number):
            raise StateError(f"skeleton {self.name!r}: share: expected a finite number, got {share!r}")
        return self.integrate_positions(start, number * self.position_differences(end, start))
