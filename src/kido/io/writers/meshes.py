"""Mesh files that a written model names.

A mesh that was read from a file is named by that file and a scale, if the file still gives it; else it is written as
an OBJ file with all digits.
"""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath

import numpy as np

from kido.errors import KidoError
from kido.io.meshes import MESH_SUFFIXES, load_mesh
from kido.io.writers.unsupported import UnsupportedFeatures
from kido.shapes import Mesh

__all__ = ["MeshStore"]

MODES = ("copy", "reference")


class MeshStore:
    """Places the meshes of one written file.

    Args:
        path: the file that will name them. Meshes are placed in the folder ``<name>_meshes`` beside it.
        mode: "copy" copies mesh files there, unless they lie below the file's folder already; "reference" names them
            where they are, so that a reader may need their folder in `package_dirs`.
    """

    def __init__(self, path: Path, mode: str, unsupported: UnsupportedFeatures) -> None:
        if mode not in MODES:
            raise KidoError(f"meshes is {mode!r}; expected one of {', '.join(map(repr, MODES))}")
        self._folder = path.absolute().parent
        self._own = self._folder / f"{path.stem}_meshes"
        self._mode = mode
        self._unsupported = unsupported
        self._placed: dict[Path, str] = {}
        self._written: dict[int, str] = {}
        self._names: set[str] = set()
        self._kept: list[Mesh] = []

    def place(self, mesh: Mesh, label: str) -> tuple[str, np.ndarray]:
        """Name of a file as the model is to write it, and the scale (3,) of its vertices."""
        if mesh.collide_as != "hull":
            self._unsupported.remark(f"meshes that collide as their {mesh.collide_as} are written as any")
        scale = _scale_of_file(mesh)
        if scale is None:
            return self._write(mesh, label), np.ones(3)
        assert mesh.uri is not None
        source = Path(mesh.uri).absolute()
        if source.is_relative_to(self._folder):
            return source.relative_to(self._folder).as_posix(), scale
        if self._mode == "reference":
            return source.as_posix(), scale
        if source not in self._placed:
            self._placed[source] = self._copy(source)
        return self._placed[source], scale

    def _copy(self, source: Path) -> str:
        target = self._target(source.stem, source.suffix)
        shutil.copyfile(source, target)
        if source.suffix.lower() == ".obj":
            for name in _libraries(source):
                library = source.parent / name
                if library.is_file() and not (target.parent / name).exists():
                    (target.parent / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(library, target.parent / name)
        return target.relative_to(self._folder).as_posix()

    def _write(self, mesh: Mesh, label: str) -> str:
        if id(mesh) not in self._written:
            target = self._target(label, ".obj")
            lines = [f"v {' '.join(repr(float(x)) for x in vertex)}" for vertex in mesh.vertices]
            lines += [f"f {a} {b} {c}" for a, b, c in (mesh.faces + 1).tolist()]
            target.write_text("\n".join(lines) + "\n", encoding="utf-8")
            self._written[id(mesh)] = target.relative_to(self._folder).as_posix()
            self._kept.append(mesh)  # so that no other gets its id
            if mesh.color is not None or mesh.vertex_colors is not None:
                self._unsupported.remark(f"mesh '{label}' is written without the colours of its vertices")
        return self._written[id(mesh)]

    def _target(self, stem: str, suffix: str) -> Path:
        clean = "".join(c if c.isalnum() or c in "-_." else "_" for c in stem) or "mesh"
        name, count = f"{clean}{suffix}", 1
        while name.lower() in self._names:
            count += 1
            name = f"{clean}_{count}{suffix}"
        self._names.add(name.lower())
        self._own.mkdir(parents=True, exist_ok=True)
        return self._own / name


def _scale_of_file(mesh: Mesh) -> np.ndarray | None:
    """Factors (3,) that make the vertices in the mesh's file those of the mesh; None if there are none."""
    if mesh.uri is None or Path(mesh.uri).suffix.lower() not in MESH_SUFFIXES:
        return None
    try:
        source = load_mesh(mesh.uri)
    except KidoError:
        return None
    if source.vertices.shape != mesh.vertices.shape or source.faces.shape != mesh.faces.shape:
        return None
    scale = np.ones(3)
    for k in range(3):
        largest = int(np.abs(source.vertices[:, k]).argmax())
        if source.vertices[largest, k] != 0.0:
            scale[k] = mesh.vertices[largest, k] / source.vertices[largest, k]
    if (scale == 0.0).any():
        return None
    for candidate in (np.round(scale, 12), scale):
        if np.array_equal(source.vertices * candidate, mesh.vertices):
            return candidate
    size = np.abs(mesh.vertices).max()
    return scale if np.abs(source.vertices * scale - mesh.vertices).max() <= 1e-15 * size else None


def _libraries(path: Path) -> list[str]:
    """Material libraries that an OBJ file names, those below its folder only."""
    names = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("mtllib "):
                relative = PurePosixPath(line[7:].strip())
                if relative.parts and not relative.is_absolute() and ".." not in relative.parts:
                    names.append(str(relative))
    return names
