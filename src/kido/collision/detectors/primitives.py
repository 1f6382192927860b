"""Primitives that FCL and Coal, which came of it, make by the same names and arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.collision import geometry
from kido.collision.container import PLANE
from kido.collision.geometry import Geometry


def primitive(library: Any, g: Geometry) -> Any | None:
    """A geometry as a shape of one of the two libraries; None if it is no primitive of theirs.

    Args:
        library: the module `fcl` or `coal`.
        g: KIDO's geometry, which has half the lengths.
    """
    if g.kind == PLANE:
        return library.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    shape = geometry.primitive(g)
    return None if shape is None else getattr(library, type(shape).__name__)(*shape.parameters)
