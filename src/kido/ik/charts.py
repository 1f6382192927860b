"""Ball and free joints whose positions have limits: they are moved in these numbers, their chart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.ik.model import remembered, tree_of
from kido.ik.rotations import right_jacobian, rotation_of_vector
from kido.joints.kinds import BALL, FREE

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]
_KEY = "joints moved in their charts"


def charted_joints(skeleton: Skeleton) -> list[slice]:
    """Coordinates of each ball or free joint that has a limit on one of its positions."""
    return remembered(skeleton, _KEY, lambda: list(_charted(tree_of(skeleton))))


def _charted(tree: Any) -> Iterator[slice]:
    for i in np.flatnonzero(np.isin(tree.kind, (BALL, FREE))):
        own = slice(int(tree.first_dof[i]), int(tree.first_dof[i + 1]))
        if np.isfinite(tree.lower[own]).any() or np.isfinite(tree.upper[own]).any():
            yield own


def chart_rates(q: Array) -> Array:
    """Velocities per rate of positions (n, n): w = J_r(r) r', and of free joints v = R^T p'."""
    M = np.zeros((len(q), len(q)))
    M[:3, :3] = right_jacobian(q[:3])
    if len(q) > 3:
        M[3:, 3:] = rotation_of_vector(q[:3]).T
    return M
