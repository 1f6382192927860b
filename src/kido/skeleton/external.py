"""External forces of a body as a row of 24 numbers (`kido.kernels.external` says which), in the body's axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def row_seen_from(row: Array, X: Array) -> Array:
    """The same forces on a frame in which the body has the pose X."""
    R, p = X[:3, :3], X[:3, 3]
    force = R @ row[3:6]
    result = row.copy()
    result[0:3] = R @ row[0:3] + np.cross(p, force)
    result[3:6] = force
    result[9:18] = (R @ row[9:18].reshape(3, 3) + np.outer(p, row[6:9])).ravel()
    return result


def wrench_of_row(row: Array, X: Array) -> Array:
    """All forces of a row as one [torque; force] about the origin of its body, whose pose is X; world axes."""
    R, p = X[:3, :3], X[:3, 3]
    lever = R @ row[9:18].reshape(3, 3)
    moment = R @ row[0:3] + row[18:21] - np.cross(p, row[21:24])
    moment += np.array([lever[1, 2] - lever[2, 1], lever[2, 0] - lever[0, 2], lever[0, 1] - lever[1, 0]])
    return np.concatenate([moment, R @ row[3:6] + row[6:9] + row[21:24]])
