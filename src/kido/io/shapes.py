"""Shapes in files: those of a few lengths, as the shapes declare them, and meshes that other files hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kido.errors import FileFormatError, KidoError, MeshNotFoundError
from kido.io.meshes import load_mesh
from kido.io.resources import ResourceFinder
from kido.io.xml import Node, number, vector
from kido.shapes import PRIMITIVES, Mesh, Primitive

__all__ = ["MeshReader", "primitive_types", "read_primitive", "written"]


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


@dataclass(frozen=True)
class MeshReader:
    """Reads the files of meshes and images that shapes name.

    With `skip_missing`, those that are not there are left out with a remark, instead of being refused.
    """

    up_axis: str
    skip_missing: bool

    def find(self, node: Node, uri: str, finder: ResourceFinder, what: str, switch: str = "") -> Path | None:
        """Path of the file of a shape; None if it is left out.

        `switch` starts with options of the reader that do without such shapes; messages name it.
        """
        try:
            return finder.find(uri)
        except MeshNotFoundError as error:
            if not self.skip_missing:
                reason = f"{error.reason} (to load the model without it: {switch}missing_meshes='skip')"
                raise MeshNotFoundError(error.uri, error.tried, reason, node.path, node.line) from None
            node.remark(f"{what} '{uri}' is left out: {error.reason}")
            return None

    def mesh(
        self, node: Node, uri: str, scale: np.ndarray, finder: ResourceFinder, switch: str = "", **options: Any
    ) -> Mesh | None:
        """The mesh that an element names; None if it is left out."""
        if (scale == 0.0).any():
            raise node.error(f"the scale of mesh '{uri}' is {scale.tolist()}; expected numbers other than zero")
        path = self.find(node, uri, finder, "mesh", switch)
        if path is None:
            return None
        try:
            return load_mesh(path, scale.tolist(), up_axis=self.up_axis, remark=node.remarks.once, **options)
        except FileFormatError as error:
            where = f"{error.path}:{error.line}" if error.line else error.path
            raise node.error(f"mesh {where}: {error.reason}") from None
        except KidoError as error:
            raise node.error(str(error)) from None
