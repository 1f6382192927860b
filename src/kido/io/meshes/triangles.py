"""Triangles as the mesh readers hand them over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kido.errors import FileFormatError

__all__ = ["Color", "MeshData", "Part", "join_parts", "merge_equal_vertices"]

Color = tuple[float, float, float, float]

UNCOLORED: Color = (0.7, 0.7, 0.7, 1.0)


@dataclass(frozen=True)
class Part:
    """Triangles of one colour: vertices (n, 3), faces (m, 3) of vertex indices, RGBA colour or None.

    colors: (n, 4) RGBA of vertices in its place, or None.
    image: (height, width, 3) that they are covered with, or None; coordinates: (m, 3, 2) of their corners in it.
    """

    vertices: np.ndarray
    faces: np.ndarray
    color: Color | None = None
    colors: np.ndarray | None = None
    image: np.ndarray | None = None
    coordinates: np.ndarray | None = None


@dataclass(frozen=True)
class MeshData:
    """Triangles of a whole mesh file, in metres, read-only.

    vertices: (n, 3) [m]; faces: (m, 3) vertex indices, counter-clockwise seen from outside.
    color: RGBA in 0..1 if the whole mesh has one colour; vertex_colors: (n, 4) RGBA in 0..1 if it has
        several.
    textures, texture_coordinates, texture_of_face: as those of `kido.shapes.Mesh`, or None.
    remarks: what the reader left out, in words.
    mistakes: what is wrong in the file and was left out, as the errors that strict reading raises.
    """

    vertices: np.ndarray
    faces: np.ndarray
    color: Color | None = None
    vertex_colors: np.ndarray | None = None
    textures: tuple[np.ndarray, ...] | None = None
    texture_coordinates: np.ndarray | None = None
    texture_of_face: np.ndarray | None = None
    remarks: tuple[str, ...] = ()
    mistakes: tuple[FileFormatError, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.vertices, self.faces, self.vertex_colors):
            if array is not None:
                array.flags.writeable = False


def join_parts(parts: Iterable[Part], remarks: Iterable[str] = ()) -> MeshData:
    """One mesh of several parts, without unused vertices and triangles with two equal corners."""
    vertices: list[np.ndarray] = []
    faces: list[np.ndarray] = []
    colors: list[Color | None] = []
    tints: list[np.ndarray | None] = []
    images: list[np.ndarray] = []
    coordinates: list[np.ndarray] = []
    numbers: list[np.ndarray] = []
    offset = 0
    for part in parts:
        kept = _proper_faces(part.faces)
        proper = part.faces[kept]
        if not len(proper):
            continue
        used, local = np.unique(proper, return_inverse=True)
        vertices.append(part.vertices[used])
        faces.append(local.reshape(-1, 3) + offset)
        colors.append(part.color)
        tints.append(None if part.colors is None else part.colors[used])
        covered = part.image is not None and part.coordinates is not None
        numbers.append(np.full(len(proper), len(images) if covered else -1))
        coordinates.append(part.coordinates[kept] if part.coordinates is not None else np.zeros((len(proper), 3, 2)))
        images += [part.image] if part.image is not None and covered else []
        offset += len(used)
    if not faces:
        return MeshData(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64), remarks=tuple(remarks))
    all_vertices = np.ascontiguousarray(np.concatenate(vertices), dtype=float)
    all_faces = np.ascontiguousarray(np.concatenate(faces), dtype=np.int64)
    textures: dict[str, Any] = {}
    if images:
        textures = {"textures": tuple(images), "texture_coordinates": np.concatenate(coordinates)}
        textures["texture_of_face"] = np.concatenate(numbers)
    distinct = set(colors)
    if len(distinct) == 1 and all(tint is None for tint in tints):
        return MeshData(all_vertices, all_faces, color=colors[0], remarks=tuple(remarks), **textures)
    vertex_colors = np.concatenate(
        [
            np.tile(color or UNCOLORED, (len(block), 1)) if tint is None else tint
            for color, tint, block in zip(colors, tints, vertices, strict=True)
        ]
    )
    return MeshData(all_vertices, all_faces, vertex_colors=vertex_colors, remarks=tuple(remarks), **textures)


def merge_equal_vertices(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners of triangles (3m, 3) to vertices (n, 3) and faces (m, 3); only equal corners are merged."""
    with np.errstate(invalid="ignore"):  # damaged files hold signalling NaN; whoever takes the mesh refuses them
        corners = np.ascontiguousarray(corners) + corners.dtype.type(0.0)  # turns -0.0 into 0.0
    bits = corners.astype(np.float64).view(np.uint64)
    keys = np.zeros(len(bits), dtype=np.uint64)
    for axis, factor in enumerate((0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)):
        keys = (keys + bits[:, axis]) * np.uint64(factor)  # modulo 2^64
        keys ^= keys >> np.uint64(32)  # single precision leaves the low bits empty: bring the high ones down
    order = np.argsort(keys)  # not np.unique: its stable sort takes many times as long
    ordered = keys[order]
    starts = np.concatenate([np.ones(min(1, len(keys)), dtype=bool), ordered[1:] != ordered[:-1]])
    inverse = np.empty(len(keys), dtype=np.int64)
    inverse[order] = np.cumsum(starts) - 1
    vertices = corners[order[starts]]
    if not np.array_equal(vertices[inverse], corners):  # two keys collided: sort by value instead
        vertices, inverse = np.unique(corners, axis=0, return_inverse=True)
    return vertices.astype(float), inverse.reshape(-1, 3).astype(np.int64)


def _proper_faces(faces: np.ndarray) -> np.ndarray:
    """Which have three different corners."""
    a, b, c = faces[:, 0], faces[:, 1], faces[:, 2]
    return (a != b) & (b != c) & (c != a)
