"""The support polygon: the convex hull of where a skeleton stands, seen from above."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kido.math.hull import convex_hull
from kido.skeleton.nodes.end_effector import Support
from kido.skeleton.nodes.node import FrameNode

if TYPE_CHECKING:
    from kido.skeleton.skeleton import Skeleton

Array = NDArray[np.float64]


def horizontal_axes(gravity: Array) -> Array:
    """Two unit vectors (2, 3) across gravity: x and y if z is up (or there is no gravity).

    The first is x without its vertical part, or y if x is vertical; the second is up x first.
    """
    size = float(np.linalg.norm(gravity))
    up = np.array([0.0, 0.0, 1.0]) if size == 0.0 else -gravity / size
    first = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.99 else np.array([0.0, 1.0, 0.0])
    first = first - (first @ up) * up
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(up, first)])


def centroid(polygon: Array) -> Array:
    """Centre of area (2,) of a convex polygon; of a segment its middle, of a point itself."""
    base = polygon[0]
    a, b = polygon[1:-1] - base, polygon[2:] - base
    areas = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    if areas.sum() <= 0.0:
        return polygon.mean(axis=0)
    return base + (areas[:, None] * (a + b)).sum(axis=0) / (3.0 * areas.sum())


def support_polygon(skeleton: Skeleton) -> Array:
    """See `Skeleton.support_polygon`."""
    found = [node.get(Support) for node in skeleton.nodes(FrameNode)]
    points = [s.points for s in found if s is not None and s.active]
    return convex_hull(np.concatenate([np.zeros((0, 3)), *points]) @ skeleton.support_axes.T)
