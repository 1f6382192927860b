"""What detectors of other libraries share."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.collision import geometry
from kido.collision.container import PLANE, TYPE_NAMES
from kido.collision.geometry import Geometry
from kido.errors import ShapeError


def unknown(name: str, known: Geometry) -> ShapeError:
    """The error for a shape that a library does not take."""
    return ShapeError(
        f"{name} takes no shape that KIDO's detector sees as {TYPE_NAMES[known.kind]!r}; the collision detector "
        "'kido' does, and meshes with collide_as='hull' are hulls"
    )


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
