"""Wavefront OBJ files with the colours of their material libraries.

Read: ``v`` (with or without colour), ``f`` (polygons, negative indices), ``usemtl``, ``mtllib`` with ``Kd``,
``d``, ``Tr`` and ``map_Kd``, images in the mesh's own folder or below it, with the ``vt`` of their corners; ``o`` and
``g`` where one part is asked for. Normals and smoothing do not change the triangles. Lines, points and free-form
surfaces are left out, with a remark.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np

from kido.errors import FileFormatError
from kido.io.meshes.pictures import read_picture
from kido.io.meshes.triangles import Color, MeshData, Part, join_parts

__all__ = ["files_of", "read_obj"]

MAX_LIBRARY_BYTES = 16 * 1024 * 1024

SURFACES = ("curv", "curv2", "surf", "cstype")


def read_obj(data: bytes, path: str, submesh: str | None = None) -> MeshData:
    """Triangles of an OBJ file, or of its objects and groups of one name; polygons become fans.

    Raises FileFormatError naming the line, or the parts that there are.
    """
    names: dict[str, None] = {}
    name_of = ""
    wanted = submesh is None
    vertices: list[list[float]] = []
    groups: dict[str, list[tuple[int, int, int]]] = {}
    faces = groups.setdefault("", [])
    pinned: list[list[float]] = []  # texture coordinates
    pins: dict[str, list[tuple[int, int, int]]] = {"": []}
    materials: dict[str, Color] = {}
    pictures: dict[str, Path] = {}
    remarks: list[str] = []
    mistakes: list[FileFormatError] = []
    for line, words in _statements(data):
        keyword = words[0]
        if keyword == "v":
            vertices.append(_numbers(words[1:], 3, path, line))
        elif keyword == "vt":
            pinned.append((_numbers(words[1:], 1, path, line) + [float(x) for x in words[2:3]] + [0.0])[:2])
        elif keyword == "f":
            corners = [_index(word, len(vertices), path, line) for word in words[1:]]
            if len(corners) < 3:
                mistakes.append(FileFormatError(path, line, f"a face with {len(corners)} corners; expected at least 3"))
            elif wanted:
                fan = range(1, len(corners) - 1)
                faces.extend((corners[0], corners[k], corners[k + 1]) for k in fan)
                if pinned:
                    pin = [_pin(word, len(pinned)) for word in words[1:]]
                    pins[name_of].extend((pin[0], pin[k], pin[k + 1]) for k in fan)
        elif keyword in ("o", "g"):
            name = " ".join(words[1:])
            names[name] = None
            wanted = submesh in (None, name)
        elif keyword == "usemtl":
            name_of = " ".join(words[1:])
            faces = groups.setdefault(name_of, [])
            pins.setdefault(name_of, [])
        elif keyword == "mtllib":
            colors, maps = _read_library(" ".join(words[1:]), path, remarks)
            materials.update(colors)
            pictures.update(maps)
        elif keyword in SURFACES:
            remarks.append(f"{path}:{line}: free-form surfaces are left out")
    if submesh is not None and submesh not in names:
        raise FileFormatError(path, None, f"no part '{submesh}'; expected one of {', '.join(names) or '(none)'}")
    points = np.array(vertices, dtype=float).reshape(-1, 3)
    places = np.array([*pinned, [0.0, 0.0]])
    parts = []
    for name, group in groups.items():
        image = coordinates = None
        if name in pictures and group and len(pins[name]) == len(group):
            image, coordinates = read_picture(pictures[name], path, remarks), places[np.array(pins[name])]
        if group:
            triangles = np.array(group, dtype=np.int64).reshape(-1, 3)
            parts.append(Part(points, triangles, materials.get(name), None, image, coordinates))
    return replace(join_parts(parts, remarks), mistakes=tuple(mistakes))


def _statements(data: bytes) -> Iterator[tuple[int, list[str]]]:
    pending: list[str] = []
    start = 0
    for number, text in enumerate(data.decode("utf-8", errors="replace").splitlines(), start=1):
        words = text.split("#", 1)[0].split()
        if not words:
            continue
        start = start if pending else number
        if words[-1].endswith("\\"):
            pending.extend(word for word in (*words[:-1], words[-1][:-1]) if word)
            continue
        yield start, pending + words
        pending = []
    if pending:
        yield start, pending


def _numbers(words: list[str], count: int, path: str, line: int) -> list[float]:
    try:
        values = [float(word) for word in words[:count]]
    except ValueError:
        values = []
    if len(values) != count:
        raise FileFormatError(path, line, f"expected {count} numbers, got '{' '.join(words)}'")
    return values


def _index(word: str, count: int, path: str, line: int) -> int:
    try:
        index = int(word.split("/", 1)[0])
    except ValueError:
        raise FileFormatError(path, line, f"'{word}' is not a vertex index") from None
    resolved = index - 1 if index > 0 else count + index
    if index == 0 or not 0 <= resolved < count:
        raise FileFormatError(path, line, f"vertex index {index}; the file has {count} vertices so far")
    return resolved


def _pin(word: str, count: int) -> int:
    """Number of a corner's texture coordinates; -1: it has none, or none that there are."""
    try:
        index = int(word.split("/")[1])
    except (IndexError, ValueError):
        return -1
    resolved = index - 1 if index > 0 else count + index
    return resolved if 0 <= resolved < count else -1


def files_of(path: Path) -> list[Path]:
    """Material libraries that an OBJ file names, and images that these name, those below their folders only."""
    found = []
    with open(path, encoding="utf-8", errors="replace") as file:
        libraries = [_path_below(path, line[7:].strip()) for line in file if line.startswith("mtllib ")]
    for library in libraries:
        if library is not None and library.is_file() and library.stat().st_size <= MAX_LIBRARY_BYTES:
            words = [words for _, words in _statements(library.read_bytes()) if words[0] == "map_Kd" and len(words) > 1]
            found += [library, *(_path_below(library, _file_of(line)) for line in words)]
    return [file for file in found if file is not None]


def _file_of(words: list[str]) -> str:
    """Name of the image in a statement of a map, whose options come before it."""
    return words[-1] if words[1].startswith("-") else " ".join(words[1:])


def _path_below(mesh: Path, name: str) -> Path | None:
    """A file that a mesh's file or its material library names; None if it is not below the folder of that."""
    relative = PurePosixPath(name.replace("\\", "/"))
    if not relative.parts or relative.is_absolute() or ".." in relative.parts or "\0" in name:
        return None
    found = mesh.parent / relative
    folders = mesh.parent, Path(os.path.realpath(mesh)).parent
    real = Path(os.path.realpath(found))
    inside = any(real.is_relative_to(os.path.realpath(folder)) for folder in folders)
    return found if inside and (os.path.isfile(found) or not os.path.exists(found)) else None


def _read_library(name: str, path: str, remarks: list[str]) -> tuple[dict[str, Color], dict[str, Path]]:
    """Colours and files of images by material name. All are read only from the mesh's own folder or below it."""
    library = _path_below(Path(path), name)
    if library is None:
        remarks.append(f"{path}: material library '{name}' is not below the mesh's folder; its colours are left out")
        return {}, {}
    try:
        data = library.read_bytes() if library.stat().st_size <= MAX_LIBRARY_BYTES else b""
    except (OSError, ValueError):  # no such file, or a name that no file can have
        data = b""
    if not data:
        remarks.append(f"{path}: material library '{library}' is not there; its colours are left out")
        return {}, {}
    colors: dict[str, Color] = {}
    pictures: dict[str, Path] = {}
    current = ""
    for line, words in _statements(data):
        if words[0] == "newmtl":
            current = " ".join(words[1:])
        elif words[0] == "Kd" and len(words) >= 4 and words[1] not in ("spectral", "xyz"):
            red, green, blue = (min(1.0, max(0.0, x)) for x in _numbers(words[1:], 3, str(library), line))
            colors[current] = (red, green, blue, colors.get(current, (0.0, 0.0, 0.0, 1.0))[3])
        elif words[0] in ("d", "Tr") and len(words) == 2:
            opacity = min(1.0, max(0.0, _numbers(words[1:], 1, str(library), line)[0]))
            opacity = 1.0 - opacity if words[0] == "Tr" else opacity
            colors[current] = (*colors.get(current, (1.0, 1.0, 1.0, 1.0))[:3], opacity)
        elif words[0] == "map_Kd" and len(words) > 1:
            file = _file_of(words)
            picture = _path_below(library, file)
            if picture is None:
                remarks.append(f"{library}: texture '{file}' is not below the mesh's folder and is left out")
            else:
                pictures[current] = picture
    return colors, pictures
