"""Mesh files: STL (text and binary), OBJ, COLLADA (DAE) and glTF, read into `kido.shapes.Mesh`.

A file shared by several links, or read again unchanged, is read once.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kido.attributes import named_arguments
from kido.errors import FileFormatError, KidoError, MeshNotFoundError
from kido.io.meshes.dae import MAX_MESH_BYTES, UP_AXIS_CHOICES, read_dae
from kido.io.meshes.gltf import read_gltf
from kido.io.meshes.obj import read_obj
from kido.io.meshes.stl import read_stl
from kido.io.meshes.triangles import MeshData
from kido.shapes import Mesh

__all__ = ["MESH_SUFFIXES", "MeshData", "load_mesh", "read_mesh_data"]

MESH_SUFFIXES = (".dae", ".glb", ".gltf", ".obj", ".stl")
CACHED_MESHES = 1024

_read: OrderedDict[tuple[Any, ...], tuple[Mesh, tuple[str, ...], tuple[FileFormatError, ...]]] = OrderedDict()


def read_mesh_data(path: str | Path, *, up_axis: str = "ignore", submesh: str | None = None) -> MeshData:
    """Triangles, colours and textures of an STL, OBJ, DAE or glTF file, in metres and in the file's axes.

    `up_axis` concerns DAE and glTF files only: "ignore" keeps the coordinates, "apply" turns the up axis the file
    names into +Z (see `kido.io.meshes.dae` for why robot models need "ignore"). `submesh` names the one part of an
    OBJ or DAE file that is wanted.

    Raises MeshNotFoundError if there is no such file, FileFormatError if it cannot be understood.
    """
    if up_axis not in UP_AXIS_CHOICES:
        raise KidoError(f"up_axis is {up_axis!r}; expected one of {', '.join(UP_AXIS_CHOICES)}")
    path = Path(path)
    name = str(path)
    suffix = path.suffix.lower()
    if suffix not in MESH_SUFFIXES:
        raise FileFormatError(
            path, None, f"mesh format '{suffix}' is not supported; expected one of {', '.join(MESH_SUFFIXES)}"
        )
    if suffix in (".stl", ".glb", ".gltf") and submesh is not None:
        kind = "an STL file" if suffix == ".stl" else "a glTF file, as it is read,"
        raise FileFormatError(path, None, f"{kind} has no parts, and so no '{submesh}'")
    if suffix == ".stl":
        mesh = read_stl(_read_bytes(path), name)
    elif suffix in (".glb", ".gltf"):
        mesh = read_gltf(_read_bytes(path), name, suffix, up_axis)
    elif suffix == ".obj":
        mesh = read_obj(_read_bytes(path), name, submesh)
    else:
        if not path.exists():
            raise MeshNotFoundError(name, [path])
        mesh = read_dae(name, up_axis, submesh)
    if not len(mesh.faces):
        if mesh.mistakes:
            raise mesh.mistakes[0]
        raise FileFormatError(name, None, "the mesh has no triangles")
    finite = np.isfinite(mesh.vertices).all(axis=1)
    if not finite.all():
        bad = int(np.argmin(finite))
        raise FileFormatError(name, None, f"vertex {bad} is {mesh.vertices[bad].tolist()}; expected finite numbers")
    return mesh


@named_arguments
def load_mesh(
    path: str | Path,
    scale: float | Sequence[float] = 1.0,
    *,
    up_axis: str = "ignore",
    collide_as: str = "hull",
    submesh: str | None = None,
    center: bool = False,
    remark: Callable[[str], None] | None = None,
    strict: bool = False,
) -> Mesh:
    """A `kido.shapes.Mesh` from an STL, OBJ, DAE or glTF file.

    Parameters:
        path: the file.
        scale: one factor, or one per axis; negative factors mirror (triangles keep facing outwards).
        up_axis: as in `read_mesh_data`.
        collide_as: as in `Mesh`.
        submesh: name of the one part of an OBJ or DAE file that is wanted.
        center: move the middle of the bounding box to the origin, before scaling.
        remark: called with each thing the reader left out, in words.
        strict: refuse what is wrong in the file and would be left out: faces with less than three corners.

    The same arguments give the same object for as long as the file does not change.

    Raises MeshNotFoundError, FileFormatError, or KidoError for a bad scale.
    """
    factors = _factors(scale)
    resolved = os.path.abspath(path)
    try:
        status = os.stat(resolved)
    except (OSError, ValueError):
        raise MeshNotFoundError(str(path), [resolved]) from None
    key = (resolved, status.st_mtime_ns, status.st_size, factors, up_axis, collide_as, submesh, center)
    found = _read.get(key)
    if found is None:
        data = read_mesh_data(resolved, up_axis=up_axis, submesh=submesh)
        if center:
            middle = 0.5 * data.vertices.min(axis=0) + 0.5 * data.vertices.max(axis=0)
            data = replace(data, vertices=data.vertices - middle)
        found = (_scaled(data, factors, resolved, collide_as), data.remarks, data.mistakes)
        _read[key] = found
        while len(_read) > CACHED_MESHES:
            _read.popitem(last=False)
    else:
        _read.move_to_end(key)
    mesh, remarks, mistakes = found
    if strict and mistakes:
        raise copy(mistakes[0])
    if remark is not None:
        for text in remarks:
            remark(text)
        if mistakes:
            remark(f"{mistakes[0]}; {len(mistakes)} of that kind are left out")
    return mesh


def _scaled(data: MeshData, factors: tuple[float, float, float], uri: str, collide_as: str) -> Mesh:
    vertices = data.vertices if factors == (1.0, 1.0, 1.0) else data.vertices * np.array(factors)
    mirrored = np.prod(np.sign(factors)) < 0.0
    faces = data.faces[:, ::-1] if mirrored else data.faces
    corners = data.texture_coordinates
    return Mesh(
        vertices,
        faces,
        uri=uri,
        color=data.color,
        vertex_colors=data.vertex_colors,
        textures=data.textures,
        texture_coordinates=corners[:, ::-1] if mirrored and corners is not None else corners,
        texture_of_face=data.texture_of_face,
        collide_as=collide_as,
    )


def _factors(scale: float | Sequence[float]) -> tuple[float, float, float]:
    try:
        values = np.array(scale, dtype=float)
        if values.ndim == 0:
            values = np.full(3, float(values))
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.shape != (3,) or not np.isfinite(values).all() or (values == 0.0).any():
        raise KidoError(f"mesh scale is {scale!r}; expected one or three finite numbers other than zero")
    return (float(values[0]), float(values[1]), float(values[2]))


def _read_bytes(path: Path) -> bytes:
    try:
        size = os.stat(path).st_size
        if size > MAX_MESH_BYTES:
            raise FileFormatError(path, None, f"larger than {MAX_MESH_BYTES // 2**20} MiB; refused")
        return path.read_bytes()
    except (FileNotFoundError, ValueError):
        raise MeshNotFoundError(str(path), [path]) from None
    except OSError as error:
        raise FileFormatError(path, None, f"cannot be read: {error.strerror or error}") from None
