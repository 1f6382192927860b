"""The convex hull of points in the plane.

Source: Andrew, "Another efficient algorithm for convex hulls in two dimensions", Information Processing Letters 9
(1979).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kido.jit import entry, kernel


@kernel
def half_hull(F, hull, first, order, count, step):
    """Half of the hull: points in `order`, from its end if `step` is -1, go to `hull` from `first`; returns its end."""
    size = first
    for k in range(count):
        at = order[k] if step > 0 else order[count - 1 - k]
        while size > first + 1:
            a, b = hull[size - 2], hull[size - 1]
            turn = (F[b, 0] - F[a, 0]) * (F[at, 1] - F[a, 1]) - (F[b, 1] - F[a, 1]) * (F[at, 0] - F[a, 0])
            if turn > 0.0:
                break
            size -= 1
        hull[size] = at
        size += 1
    return size - 1  # its last point begins the other half


@kernel
def find_hull(F, order, hull):
    """Corners of the convex hull of points F (n, 2), counterclockwise: their numbers in `hull` (2 n + 2,); how many.

    Points that are the same count once; `order` (n,) is work space.
    """
    count = 0
    for k in range(F.shape[0]):
        at = count
        same = False
        while at > 0:
            j = order[at - 1]
            if F[j, 0] < F[k, 0] or (F[j, 0] == F[k, 0] and F[j, 1] < F[k, 1]):
                break
            if F[j, 0] == F[k, 0] and F[j, 1] == F[k, 1]:
                same = True
                break
            at -= 1
        if not same:
            for i in range(count, at, -1):
                order[i] = order[i - 1]
            order[at] = k
            count += 1
    if count < 3:
        for k in range(count):
            hull[k] = order[k]
        return count
    return half_hull(F, hull, half_hull(F, hull, 0, order, count, 1), order, count, -1)


@entry("i8(f8[:,::1],i8[::1],i8[::1])")
def hull_of(points, order, hull):
    """`find_hull`, for Python."""
    return find_hull(points, order, hull)


def convex_hull(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Corners (n, 2) of the convex hull of points in the plane, counterclockwise."""
    flat = np.ascontiguousarray(points, float).reshape(-1, 2)
    order, hull = np.zeros(len(flat), np.int64), np.zeros(2 * len(flat) + 2, np.int64)
    return flat[hull[: hull_of(flat, order, hull)]]
