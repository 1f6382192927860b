"""Shapes of bodies as a format has them, and the mesh files that a written model names.

A mesh that was read from a file is named by that file and a scale, if the file still gives it; else it is written as
an OBJ file with all digits.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kido.errors import KidoError
from kido.io.fields import check_choice, plane_axes
from kido.io.meshes import MESH_SUFFIXES, load_mesh
from kido.io.meshes.obj import files_of
from kido.io.writers.unsupported import UnsupportedFeatures
from kido.shapes import (
    Box,
    Cylinder,
    Heightmap,
    LineSegment,
    Mesh,
    MultiSphereHull,
    Plane,
    Primitive,
    Pyramid,
    Shape,
    VoxelGrid,
    convex_hull,
)
from kido.skeleton import BodyNode, ShapeNode

__all__ = ["MeshStore", "Placed", "shapes_of"]

PLANE_SIZE = 1000.0  # [m] of the box that stands for a plane
RINGS, SECTORS = 16, 32
MODES = ("copy", "reference")


@dataclass(frozen=True)
class Placed:
    """A shape to be written, and its pose in the body."""

    node: ShapeNode
    shape: Shape
    transform: np.ndarray

    @property
    def color(self) -> tuple[float, ...] | None:
        """(r, g, b, a), or None."""
        color = self.node.color
        return None if color is None else (*color, *((1.0,) if len(color) == 3 else ()))


def shapes_of(body: BodyNode | None, kinds: tuple[type[Shape], ...], unsupported: UnsupportedFeatures) -> list[Placed]:
    """Shapes of a body that are seen or touched; those that are of no kind the format has are approximated."""
    placed = []
    for node in [] if body is None else body.shapes:
        if not (node.visual or node.collision):
            unsupported.remark(f"shape '{node.name}' of '{node.body.name}' is neither seen nor touched; left out")
            continue
        shape, transform = node.shape, node.relative_transform
        if not isinstance(shape, kinds):
            what = f"shape '{node.name}' of body '{node.body.name}' ({type(shape).__name__})"
            shape, local = _approximated(shape, what, unsupported)
            transform = transform @ local
        if shape is not None:
            placed.append(Placed(node, shape, transform))
    return placed


def _approximated(shape: Shape, what: str, unsupported: UnsupportedFeatures) -> tuple[Shape | None, np.ndarray]:
    local = np.eye(4)
    if isinstance(shape, Plane):
        unsupported.approximated(what, f"a box {PLANE_SIZE:g} m wide")
        normal = np.array(shape.normal)
        local[:3, :3] = np.column_stack([*plane_axes(normal), normal])
        local[:3, 3] = (shape.offset - 0.5 * PLANE_SIZE) * normal
        return Box((PLANE_SIZE, PLANE_SIZE, PLANE_SIZE)), local
    if isinstance(shape, LineSegment) and len(shape.connections) == 1:
        start, stop = shape.vertices[shape.connections[0]]
        along = (stop - start) / np.linalg.norm(stop - start)
        local[:3, :3] = np.column_stack([*plane_axes(along), along])
        local[:3, 3] = 0.5 * (start + stop)
        unsupported.approximated(what, "a cylinder")
        return Cylinder(0.5 * shape.thickness, shape.length), local
    if isinstance(shape, Pyramid):
        return Mesh(*shape.hull), local
    if isinstance(shape, Heightmap | VoxelGrid):
        unsupported.approximated(what, "a mesh of its surface, whose convex hull collides")
        return Mesh(*(shape.surface if isinstance(shape, VoxelGrid) else (shape.vertices, shape.faces))), local
    if isinstance(shape, MultiSphereHull):
        unsupported.approximated(what, "a mesh with its corners on the surface")
        return Mesh(*shape.polyhedron()), local
    points = shape.surface_points(SECTORS, RINGS) if isinstance(shape, Primitive) else None
    if points is not None:
        unsupported.approximated(what, "a mesh with its corners on the surface")
        hull = convex_hull(points, what)
        return Mesh(hull.vertices, hull.faces), local
    unsupported.approximated(what, "nothing")
    return None, local


class MeshStore:
    """Places the meshes of one written file.

    Args:
        path: the file that will name them. Meshes are placed in the folder ``<name>_meshes`` beside it.
        mode: "copy" copies mesh files there, unless they lie below the file's folder already; "reference" names them
            where they are, so that a reader may need their folder in `package_dirs`.
    """

    def __init__(self, path: Path, mode: str, unsupported: UnsupportedFeatures) -> None:
        check_choice("meshes", mode, MODES)
        self.path = path
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
        if scale is None or mesh.uri is None:
            return self._write(mesh, label), np.ones(3)
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
            for file in files_of(source):
                copy = target.parent / file.relative_to(source.parent)
                if file.is_file() and not copy.exists():
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, copy)
        return target.relative_to(self._folder).as_posix()

    def _write(self, mesh: Mesh, label: str) -> str:
        if id(mesh) not in self._written:
            target = self._target(label, ".obj")
            lines = [f"v {' '.join(repr(float(x)) for x in vertex)}" for vertex in mesh.vertices]
            lines += [f"f {a} {b} {c}" for a, b, c in (mesh.faces + 1).tolist()]
            target.write_text("\n".join(lines) + "\n", encoding="utf-8")
            self._written[id(mesh)] = target.relative_to(self._folder).as_posix()
            self._kept.append(mesh)  # so that no other gets its id
            if mesh.color is not None or mesh.vertex_colors is not None or mesh.textures is not None:
                self._unsupported.remark(f"mesh '{label}' is written without its colours and textures")
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
