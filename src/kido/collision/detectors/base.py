"""What detectors of other libraries share."""

from __future__ import annotations

import importlib
from typing import Any

from kido.collision.container import TYPE_NAMES
from kido.collision.geometry import Geometry
from kido.errors import MissingExtraError, ShapeError


def library(module: str, feature: str, extra: str) -> Any:
    """An optional library.

    Raises:
        MissingExtraError: it is not installed; the message names the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error


def unknown(name: str, known: Geometry) -> ShapeError:
    """The error for a shape that a library does not take."""
    return ShapeError(
        f"{name} takes no shape that KIDO's detector sees as {TYPE_NAMES[known.kind]!r}; the collision detector "
        "'kido' does, and meshes with collide_as='hull' are hulls"
    )
