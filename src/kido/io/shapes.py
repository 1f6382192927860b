"""Shapes in files: those of a few lengths, as the shapes declare them, and meshes that other files hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from kido.errors import FileFormatError, KidoError, MeshNotFoundError, ShapeError
from kido.io.meshes import load_mesh
from kido.io.resources import ResourceFinder
from kido.io.xml import Node, number, vector
from kido.shapes import PRIMITIVES, Mesh, Primitive

__all__ = ["MeshReader", "primitive_types", "read_primitive", "written"]


def primitive_types(file_format: str) -> dict[str, type[Primitive]]:
    """Types by the names of their elements in a format ("urdf", "sdf", "skel")."""
    return {kind.formats[file_format].tag: kind for kind in PRIMITIVES.values() if file_format in kind.formats}


def read_primitive(
    node: Node, kind: type[Primitive], file_format: str, one: Callable[[str], float], three: Callable[[str], Any]
) -> Primitive | None:
    """A shape from its element, of which `one` and `three` read a length and three by name.

    Forgiven are a radius of zero, and sizes that are all zero, which make no shape (None), and negative sizes.

    Raises:
        FileFormatError: any other length that is not positive.
    """
    element = kind.formats[file_format]
    lengths: dict[str, Any] = {}
    for key, name in element.numbers.items():
        lengths[key] = one(name) / element.factor
        if lengths[key] == 0.0 and key == "radius":
            node.forgive(f"the {name} of <{node.tag}> is 0; expected a length greater than 0", "it is no shape")
            return None
    for key, name in element.triples.items():
        values = np.asarray(three(name))
        shown = " ".join(f"{value:g}" for value in values)
        if not values.any():
            node.forgive(f"the {name} of <{node.tag}> is {shown}; expected lengths greater than 0", "it is no shape")
            return None
        if (values < 0.0).any():
            node.forgive(f"the {name} of <{node.tag}> is {shown}; expected lengths greater than 0", "taken as positive")
        lengths[key] = tuple(np.abs(values) / element.factor)
    try:
        return kind(**lengths)
    except ShapeError as error:
        raise node.error(str(error)) from None


def written(shape: Primitive, file_format: str) -> dict[str, str]:
    """What the element of a shape holds: texts by name."""
    element = shape.formats[file_format]
    texts = {name: number(element.factor * getattr(shape, key)) for key, name in element.numbers.items()}
    return texts | {n: vector(element.factor * np.array(getattr(shape, key))) for key, n in element.triples.items()}


@dataclass(frozen=True)
class MeshReader:
    """Reads the files of meshes and images that shapes name.

    Those that are not there are refused, or with `skip_missing` left out with a remark; of shapes that are only seen
    (`visual`) they are forgiven.
    """

    up_axis: str
    skip_missing: bool

    def find(
        self,
        node: Node,
        uri: str,
        finder: ResourceFinder,
        what: str,
        switch: str = "",
        *,
        visual: bool = False,
        seen: Iterable[str] = (),
    ) -> Path | None:
        """Path of the file of a shape; None if it is left out.

        An absolute path that is not there is looked for below the model's folder, and then for a mesh to collide with
        one of the same file name in another folder, by which the link is `seen`.

        `switch` starts with options of the reader that do without such shapes; messages name it.
        """
        lenient = not node.remarks.strict
        try:
            return finder.find(uri)
        except MeshNotFoundError as error:
            others = [uri.lstrip("/")] if uri.startswith("/") else []
            others += [other for other in seen if PurePosixPath(other).name == PurePosixPath(uri).name]
            for other in others if lenient else []:
                try:
                    path = finder.find(other)
                except MeshNotFoundError:
                    continue
                node.remark(f"{what} '{uri}' is left out: {error.reason}; '{other}' stands for it")
                return path
            if not (self.skip_missing or (visual and lenient)):
                reason = f"{error.reason} (to load the model without it: {switch}missing_meshes='skip')"
                raise MeshNotFoundError(error.uri, error.tried, reason, node.path, node.line) from None
            node.remark(f"{what} '{uri}' is left out: {error.reason}")
            return None

    def mesh(
        self,
        node: Node,
        uri: str,
        scale: np.ndarray,
        finder: ResourceFinder,
        switch: str = "",
        *,
        visual: bool = False,
        seen: Iterable[str] = (),
        **options: Any,
    ) -> Mesh | None:
        """The mesh that an element names; None if it is left out. Arguments are those of `find`."""
        if (scale == 0.0).any():
            raise node.error(f"the scale of mesh '{uri}' is {scale.tolist()}; expected numbers other than zero")
        path = self.find(node, uri, finder, "mesh", switch, visual=visual, seen=seen)
        if path is None:
            return None
        try:
            return load_mesh(
                path,
                scale.tolist(),
                up_axis=self.up_axis,
                remark=node.remarks.once,
                strict=node.remarks.strict,
                **options,
            )
        except FileFormatError as error:
            where = f"{error.path}:{error.line}" if error.line else error.path
            raise node.error(f"mesh {where}: {error.reason}") from None
        except KidoError as error:
            raise node.error(str(error)) from None
