"""One pair of shapes, from Python: `collide` and `distance`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kido.collision.detector import NativeDetector
from kido.errors import ShapeError, StateError
from kido.shapes import Plane, Shape


class Contacts(NamedTuple):
    """Contacts of two shapes.

    Attributes:
        points: (n,3) midway between the two surfaces, world axes [m].
        normals: (n,3) unit, from a to b, world axes.
        gaps: (n,) distance of the surfaces along the normal [m]; negative: penetration.
    """

    points: np.ndarray
    normals: np.ndarray
    gaps: np.ndarray


def collide(shape_a: Shape, X_WA: Any, shape_b: Shape, X_WB: Any, margin: float = 0.0) -> Contacts:
    """Contacts of two shapes at given poses.

    Args:
        shape_a, shape_b: geometry.
        X_WA, X_WB: poses (4,4) of the shapes in the world [m].
        margin: points with a gap below this are reported [m].

    Returns:
        Up to four points, none if the shapes are at least `margin` apart.

    Raises:
        ShapeError: both are planes.
        StateError: a pose is not a finite (4,4) array.
    """
    detector = _pair(shape_a, X_WA, shape_b, X_WB, margin)
    n = detector.detect()
    c = detector.container
    return Contacts(c.point[:n].copy(), c.normal[:n].copy(), c.gap[:n].copy())


def distance(shape_a: Shape, X_WA: Any, shape_b: Shape, X_WB: Any) -> float:
    """Signed distance of two shapes [m]: negative the depth of the deepest contact point.

    Raises as `collide` does.
    """
    apart = float(np.linalg.norm(np.asarray(X_WA, float)[:3, 3] - np.asarray(X_WB, float)[:3, 3]))
    reach = sum(s.bounding_radius for s in (shape_a, shape_b) if not isinstance(s, Plane))
    offset = sum(abs(s.offset) for s in (shape_a, shape_b) if isinstance(s, Plane))
    return float(collide(shape_a, X_WA, shape_b, X_WB, 2.0 * (apart + reach + offset) + 1.0).gaps.min())


def _pair(shape_a: Shape, X_WA: Any, shape_b: Shape, X_WB: Any, margin: float) -> NativeDetector:
    if isinstance(shape_a, Plane) and isinstance(shape_b, Plane):
        raise ShapeError("collide: both shapes are planes, which have no contacts with each other")
    rotation, position = np.zeros((2, 9)), np.zeros((2, 3))
    for k, (name, pose) in enumerate((("X_WA", X_WA), ("X_WB", X_WB))):
        X = np.asarray(pose, dtype=float)
        if X.shape != (4, 4) or not np.isfinite(X).all():
            raise StateError(f"collide: {name} has shape {X.shape}; expected a finite (4, 4) array")
        rotation[k], position[k] = X[:3, :3].ravel(), X[:3, 3]
    return NativeDetector([(shape_a, 0), (shape_b, 1)], rotation, position, margin=margin)
