"""Shapes of a few lengths in files, as the shapes declare them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kido.io.writers.text import number, vector
from kido.shapes import PRIMITIVES, Primitive

__all__ = ["primitive_types", "read_primitive", "written"]


def primitive_types(file_format: str) -> dict[str, type[Primitive]]:
    """Types by the names of their elements in a format ("urdf", "sdf", "skel")."""
    return {kind.formats[file_format].tag: kind for kind in PRIMITIVES.values() if file_format in kind.formats}


def read_primitive(
    kind: type[Primitive], file_format: str, one: Callable[[str], float], three: Callable[[str], Any]
) -> Primitive:
    """A shape from its element, of which `one` and `three` read a length and three by name. Raises what they raise."""
    element = kind.formats[file_format]
    lengths: dict[str, Any] = {key: one(name) / element.factor for key, name in element.numbers.items()}
    lengths |= {key: tuple(np.asarray(three(name)) / element.factor) for key, name in element.triples.items()}
    return kind(**lengths)


def written(shape: Primitive, file_format: str) -> dict[str, str]:
    """What the element of a shape holds: texts by name."""
    element = shape.formats[file_format]
    texts = {name: number(element.factor * getattr(shape, key)) for key, name in element.numbers.items()}
    return texts | {n: vector(element.factor * np.array(getattr(shape, key))) for key, n in element.triples.items()}
