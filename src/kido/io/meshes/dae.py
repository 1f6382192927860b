"""COLLADA files (.dae): all triangles of the scene, with node transforms, unit and material colours.

About the up axis: COLLADA says that a file's ``<up_axis>`` names the direction that points up. Robot descriptions do not
mean it: exporters write a default (Y_UP) while the coordinates are those of the link, and the tools the files were made
for (RViz, Gazebo, DART, Pinocchio) leave the coordinates as they are. Barrett's WAM shows it: its ``wam1.dae`` says
Y_UP, and its raw coordinates equal those of ``wam1.STL`` to 1e-6 m. So ``up_axis="ignore"`` is the default and
``up_axis="apply"`` turns the mesh so that the file's up becomes Z.
"""

from __future__ import annotations

import io
from typing import Any

import collada
import numpy as np
from collada.common import DaeBrokenRefError, DaeError, DaeUnsupportedError
from lxml import etree

from kido.errors import FileFormatError
from kido.io.meshes.triangles import Color, MeshData, Part, join_parts

__all__ = ["UP_AXIS_CHOICES", "read_dae"]

UP_AXIS_CHOICES = ("ignore", "apply")

# Rotations that turn the file's up direction into +Z (COLLADA 1.4.1, up_axis: right, up and in axes).
TO_Z_UP = {
    "X_UP": np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]),
    "Y_UP": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "Z_UP": np.eye(3),
}


def read_dae(data: bytes, path: str, up_axis: str = "ignore") -> MeshData:
    """Triangles of a COLLADA file's scene in metres.

    Raises FileFormatError if it is not COLLADA, or if geometry in it is broken.
    """
    document = _parse(data, path)
    remarks = [f"{path}: {error.msg}" for error in document.errors]
    unit = float(document.assetInfo.unitmeter or 1.0)
    if not (np.isfinite(unit) and unit > 0.0):
        raise FileFormatError(path, None, f"the unit is {unit} metres; expected a positive number")
    turn = TO_Z_UP.get(str(document.assetInfo.upaxis), np.eye(3)) if up_axis == "apply" else np.eye(3)
    parts = []
    for primitive in _primitives(document, path):
        part = _part(primitive, path)
        if part is not None:
            parts.append(Part(unit * part.vertices @ turn.T, part.faces, part.color))
    return join_parts(parts, remarks)


def _parse(data: bytes, path: str) -> Any:
    if b"<!ENTITY" in data[:65536]:
        raise FileFormatError(path, 1, "the document type declares entities; they are refused")
    if data[:2] == b"PK":
        raise FileFormatError(path, None, "a zipped COLLADA file; expected plain XML")
    try:
        return collada.Collada(io.BytesIO(data), ignore=[DaeBrokenRefError, DaeUnsupportedError])
    except etree.XMLSyntaxError as error:
        raise FileFormatError(path, error.lineno, f"not well-formed XML: {str(error.msg).split(', line ')[0]}") from None
    except DaeError as error:
        raise FileFormatError(path, None, f"not a valid COLLADA file: {error.msg}") from None
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise FileFormatError(path, None, f"not a valid COLLADA file: {error or type(error).__name__}") from None


def _primitives(document: Any, path: str) -> list[Any]:
    if document.scene is None:
        raise FileFormatError(path, None, "the COLLADA file has no scene")
    try:
        bound = [*document.scene.objects("geometry"), *document.scene.objects("controller")]
        return [primitive for item in bound for primitive in item.primitives()]
    except (DaeError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        reason = getattr(error, "msg", None) or error
        raise FileFormatError(path, None, f"the COLLADA scene cannot be read: {reason}") from None


def _part(primitive: Any, path: str) -> Part | None:
    if isinstance(primitive, (collada.polylist.BoundPolylist, collada.polygons.BoundPolygons)):
        primitive = primitive.triangleset()
    if not isinstance(primitive, collada.triangleset.BoundTriangleSet):
        return None  # lines and points
    if primitive.vertex is None or primitive.vertex_index is None or not len(primitive.vertex_index):
        return None
    vertices = np.asarray(primitive.vertex, dtype=float)
    faces = np.asarray(primitive.vertex_index, dtype=np.int64).reshape(-1, 3)
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise FileFormatError(path, None, f"a triangle names vertex {faces.max()} of {len(vertices)}")
    matrix = getattr(primitive, "matrix", None)
    if matrix is not None and np.linalg.det(np.asarray(matrix)[:3, :3]) < 0.0:
        faces = faces[:, ::-1]
    return Part(vertices, faces, _diffuse(primitive))


def _diffuse(primitive: Any) -> Color | None:
    """Diffuse colour of a primitive's material; None if it has none or a texture."""
    effect = getattr(getattr(primitive, "material", None), "effect", None)
    diffuse = getattr(effect, "diffuse", None)
    if not isinstance(diffuse, (tuple, list, np.ndarray)) or len(diffuse) < 3:
        return None
    values = [min(1.0, max(0.0, float(x))) for x in diffuse]
    return (values[0], values[1], values[2], values[3] if len(values) > 3 else 1.0)
