"""Gradients by positions as numbers, and along velocities.

Positions of most joints change by their velocities times time. Those of ball and free joints are a chart of a manifold:
a rotation vector r, and of free joints a place p in the parent's axes; their velocities are in the body's axes,

    r' = J_r(r)^-1 w,    p' = R(r) v,

with J_r(r)^-1 the inverse left Jacobian of -r.

So positions change by dq = C d for a small motion d along velocities, C being block by block these matrices, and 1
elsewhere. A gradient g by positions, as numbers, is the gradient C^T g along velocities.

Source: Sola, Deray, Atchuthan (2018), "A micro Lie theory for state estimation in robotics", eq. 144.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kido.math import exp_rotation
from kido.math.rotation_rates import inverse_left_jacobian
from kido.skeleton import Skeleton
from kido.skeleton.joints.coordinates import CoordinateKind

Array = NDArray[np.float64]


class Charts:
    """Charts of the positions of skeletons, one after another.

    Args:
        skeletons: with where the coordinates of each begin.
    """

    def __init__(self, skeletons: Iterable[tuple[Skeleton, int]]):
        self._blocks: list[slice] = []
        for skeleton, begin in skeletons:
            for joint in skeleton.joints:
                if CoordinateKind.ROTATION in joint.coordinate_kinds:
                    first = begin + joint.dofs[0].index
                    self._blocks.append(slice(first, first + len(joint.dofs)))

    def _rates(self, positions: Array, block: slice) -> list[tuple[slice, Array]]:
        """The matrices C of a joint (samples, 3, 3), and whose coordinates they are."""
        k, r = block.start, positions[:, block.start : block.start + 3]
        found = [(slice(k, k + 3), inverse_left_jacobian(-r))]
        return [*found, (slice(k + 3, block.stop), exp_rotation(r))] if block.stop - k > 3 else found

    def along_velocities(self, positions: Array, gradient: Array) -> Array:
        """C^T g (samples, n), from gradients g by positions as numbers at positions (samples, n)."""
        found = np.array(gradient)
        for block in self._blocks:
            for part, C in self._rates(positions, block):
                found[:, part] = np.einsum("kij,ki->kj", C, gradient[:, part])
        return found

    def by_numbers(self, positions: Array, gradient: Array) -> Array:
        """g (samples, n) by positions as numbers, from gradients along velocities; the inverse of `along_velocities`.

        Rotation vectors as long as 2 pi, where a chart ends, have none.
        """
        found = np.array(gradient)
        for block in self._blocks:
            for part, C in self._rates(positions, block):
                found[:, part] = np.linalg.solve(np.swapaxes(C, 1, 2), gradient[:, part, None])[..., 0]
        return found
