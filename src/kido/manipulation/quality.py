"""How well contacts hold an object: the hull of the wrenches that they can give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.manipulation.manipulability import chosen_rows
from kido.math.transform import as_positive, as_vector, number_or_nan, numbers_or_nan

Array = NDArray[np.float64]

_FLAT = 1e-9  # share of the largest extent below which a hull has none in a direction


class GraspQuality(NamedTuple):
    """Of the hull of unit contact wrenches.

    Attributes:
        epsilon: the largest ball about zero in it: the weakest wrench, of the best directed forces that sum up to 1;
            zero where contacts do not hold the object.
        volume: of the hull; zero where it is flat.
    """

    epsilon: float
    volume: float


def contact_wrenches(
    points: ArrayLike,
    normals: ArrayLike,
    friction: float = 0.5,
    torsion: float = 0.0,
    center: ArrayLike = (0.0, 0.0, 0.0),
    length: float = 1.0,
    edges: int = 8,
) -> Array:
    """Wrenches (k, 6) [moment / length; force] about a centre that contacts give by normal forces of 1.

    Of each contact the edges of a pyramid in its friction cone, with corners on the cone, and if it has torsion, the
    normal force with a moment about it either way.

    Args:
        points: (n, 3) of contacts [m].
        normals: (n, 3) outward normals of the object there.
        friction: Coulomb coefficient.
        torsion: moment about the normal per normal force, as of a soft finger [m].
        center: about which moments are; best the centre of mass.
        length: that makes moments comparable with forces [m].
        edges: of the pyramid.

    Raises:
        ModelError: arrays of other shapes, coefficients that are none.
    """
    p, n = (numbers_or_nan(value) for value in (points, normals))
    if p.ndim != 2 or p.shape[1:] != (3,) or p.shape != n.shape or not (np.isfinite(p).all() and np.isfinite(n).all()):
        raise ModelError(f"contact wrenches: expected finite points and normals (n, 3), got {p.shape} and {n.shape}")
    sizes = np.linalg.norm(n, axis=1)
    if not (sizes > 0.0).all():
        raise ModelError("contact wrenches: normals: expected vectors of some length")
    if not 0.0 <= number_or_nan(friction) < np.inf or not 0.0 <= number_or_nan(torsion) < np.inf:
        raise ModelError(
            f"contact wrenches: friction and torsion: expected numbers from 0 on, got {friction}, {torsion}"
        )
    if not isinstance(edges, int) or edges < 3:
        raise ModelError(f"contact wrenches: edges: expected a number from 3 on, got {edges!r}")
    scale, o = as_positive(length, "contact wrenches: length", "m"), as_vector(center, "contact wrenches: center")
    inward = -n / sizes[:, None]
    angles = 2.0 * np.pi * np.arange(edges) / edges
    found = []
    for r, d in zip(p - o, inward, strict=True):
        s = np.cross(d, np.eye(3)[int(np.argmin(np.abs(d)))])
        s /= np.linalg.norm(s)
        t = np.cross(d, s)
        forces = d + friction * (np.outer(np.cos(angles), s) + np.outer(np.sin(angles), t))
        found.append(np.concatenate([np.cross(r, forces) / scale, forces], axis=1))
        if torsion > 0.0:
            for sign in (1.0, -1.0):
                found.append(np.concatenate([np.cross(r, d) + sign * torsion * d, d * scale])[None] / scale)
    return np.concatenate(found) if found else np.zeros((0, 6))


def grasp_quality(wrenches: ArrayLike, rows: str | Sequence[int] = "all") -> GraspQuality:
    """Quality of contacts by the convex hull of their wrenches (k, 6), see `contact_wrenches`.

    Args:
        wrenches: (k, 6).
        rows: components that count: "all", "angular", "linear" or numbers; of planar grasps (2, 3, 4).

    Source: Ferrari and Canny (1992), "Planning optimal grasps"; sums of contact forces bounded by 1.
    """
    w = numbers_or_nan(wrenches)
    if w.ndim != 2 or w.shape[1:] != (6,) or not np.isfinite(w).all():
        raise ModelError(f"grasp quality: expected finite wrenches (k, 6), got an array of shape {w.shape}")
    w = w[:, chosen_rows(rows)]
    dims = w.shape[1]
    if len(w) <= dims:
        return GraspQuality(0.0, 0.0)
    extents = np.linalg.svd(w - w.mean(axis=0), compute_uv=False)
    if extents[-1] <= _FLAT * extents[0]:
        return GraspQuality(0.0, 0.0)
    if dims == 1:
        return GraspQuality(float(max(0.0, min(-w.min(), w.max()))), float(np.ptp(w)))
    hull = scipy.spatial.ConvexHull(w)
    return GraspQuality(float(max(0.0, -hull.equations[:, -1].max())), float(hull.volume))
