"""Primitives that FCL and Coal, which came of it, make by the same names and arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.collision.container import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, PLANE, SPHERE
from kido.collision.geometry import Geometry


def primitive(library: Any, g: Geometry) -> Any | None:
    """A geometry as a shape of one of the two libraries; None if it is no primitive of theirs.

    Args:
        library: the module `fcl` or `coal`.
        g: KIDO's geometry, which has half the lengths.
    """
    a, b, c = g.size
    if g.kind == PLANE:
        return library.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    if g.kind == SPHERE:
        return library.Sphere(a)
    if g.kind == BOX:
        return library.Box(2.0 * a, 2.0 * b, 2.0 * c)
    if g.kind == CAPSULE:
        return library.Capsule(a, 2.0 * b)
    if g.kind == CYLINDER:
        return library.Cylinder(a, 2.0 * b)
    if g.kind == CONE:
        return library.Cone(a, 2.0 * b)
    if g.kind == ELLIPSOID:
        return library.Ellipsoid(a, b, c)
    return None
