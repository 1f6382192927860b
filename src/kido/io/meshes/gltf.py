"""glTF files of one piece (.glb, or .gltf with all data in it), by trimesh, with colours and base colour textures."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from kido.errors import FileFormatError
from kido.io.meshes.pictures import pixels_of
from kido.io.meshes.triangles import MeshData, Part, join_parts
from kido.libraries import library

__all__ = ["data_of_scene", "read_gltf"]


def read_gltf(data: bytes, path: str, suffix: str, up_axis: str) -> MeshData:
    """Triangles of a glTF file; its y axis, which is up there, becomes z if `up_axis` is "apply".

    Raises:
        FileFormatError: it cannot be read.
        MissingExtraError: trimesh is not there.
    """
    trimesh = library("trimesh", "glTF files", "viewer")
    try:
        found = data_of_scene(trimesh.load_scene(io.BytesIO(data), file_type=suffix[1:]))
    except Exception as error:  # whatever a damaged file brings about
        raise FileFormatError(path, None, f"no glTF file of one piece: {error!s:.300}") from error
    if up_axis == "apply":
        found.vertices.flags.writeable = True
        found.vertices[:] = found.vertices @ np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
        found.vertices.flags.writeable = False
    return found


def data_of_scene(scene: Any) -> MeshData:
    """Triangles, colours and textures of a scene of trimesh."""
    parts, remarks = [], []
    for mesh in scene.dump():
        visual, faces = mesh.visual, np.asarray(mesh.faces, np.int64)
        color, colors, image, coordinates = None, None, None, None
        if visual.kind == "texture":
            picture = getattr(visual.material, "baseColorTexture", None) or getattr(visual.material, "image", None)
            if picture is not None and visual.uv is not None:
                image, coordinates = pixels_of(picture), np.asarray(visual.uv, float)[faces]
            else:
                main = np.asarray(visual.material.main_color, float) / 255.0
                color = (float(main[0]), float(main[1]), float(main[2]), float(main[3]))
        elif visual.defined:
            colors = np.asarray(visual.vertex_colors, float) / 255.0
        parts.append(Part(np.asarray(mesh.vertices, float), faces, color, colors, image, coordinates))
    return join_parts(parts, remarks)
