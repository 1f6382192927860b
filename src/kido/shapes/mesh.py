"""Triangle mesh."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kido.attributes import dataclass
from kido.errors import ShapeError
from kido.shapes.hull import Hull, Solid, convex_hull, convex_pieces, second_moments
from kido.shapes.shape import LARGEST

_EMPTY = 1e-14  # a closed mesh of less volume, relative to its size cubed, bounds nothing
COLLIDE_AS = ("hull", "box", "sphere", "triangles", "decomposition")


@dataclass(frozen=True, eq=False)
class Mesh(Solid):
    """Triangle mesh; two meshes are equal only if they are the same object.

    Volume, centroid and inertia are those of the solid that a closed mesh bounds; for an open or inside-out
    mesh those of its convex hull. Arrays are copied and read-only.

    Args:
        vertices: corners (n,3) in the shape's axes [m].
        faces: triangles (m,3), indices of vertices, counterclockwise seen from outside.
        uri: where the mesh was read from, if from a file.
        color: (r,g,b) or (r,g,b,a) of the whole mesh, each from 0 to 1, or None.
        vertex_colors: (n,3) or (n,4), each from 0 to 1, or None.
        textures: images (height, width, 3 or 4) of bytes, the first row above, that faces are covered with, or None.
        texture_coordinates: (m,3,2), for the corners of each face: 0 to 1 from left to right and from below to above;
            beyond, images are repeated.
        texture_of_face: (m,) number of each face's image, -1: none; by default the first.
        collide_as: geometry that stands for the mesh in collisions: its convex hull ("hull"), the box ("box")
            or the sphere ("sphere") around it, its own triangles ("triangles"), or convex pieces that fill it
            ("decomposition"). Triangles of a closed mesh push outwards, those of an open one to the side that a
            body is on; a body that is wholly inside of a closed mesh is not found.
        convex_pieces: for "decomposition", the points (n,3) of each piece, whose convex hull it is [m]; None: the
            mesh is decomposed when it is made, which takes seconds and the extra `decompose`.
    """

    vertices: Any
    faces: Any
    uri: str | None = None
    color: tuple[float, ...] | None = None
    vertex_colors: Any = None
    textures: Any = None
    texture_coordinates: Any = None
    texture_of_face: Any = None
    collide_as: str = "hull"
    convex_pieces: Any = None

    def __post_init__(self) -> None:
        name = f"Mesh {self.uri!r}" if self.uri else "Mesh"
        vertices = _array(name, "vertices", self.vertices, float)
        faces = _array(name, "faces", self.faces, np.int64)
        if len(vertices) < 3 or len(faces) < 1:
            raise ShapeError(
                f"{name}: {len(vertices)} vertices and {len(faces)} faces; expected at least three and one"
            )
        if not np.isfinite(vertices).all():
            raise ShapeError(f"{name}: vertex {int(np.argmin(np.isfinite(vertices).all(1)))} is not finite")
        if (np.abs(vertices) > LARGEST).any():
            raise ShapeError(f"{name}: a vertex is at {np.abs(vertices).max():g} m; expected at most {LARGEST:g} m")
        if faces.min() < 0 or faces.max() >= len(vertices):
            raise ShapeError(
                f"{name}: faces name vertices {faces.min()} to {faces.max()}; expected 0 to {len(vertices) - 1}"
            )
        if self.collide_as not in COLLIDE_AS:
            raise ShapeError(f"{name}: collide_as is {self.collide_as!r}; expected one of {', '.join(COLLIDE_AS)}")
        pieces = self.convex_pieces
        if pieces is not None:
            pieces = tuple(_array(name, f"convex_pieces[{k}]", piece, float) for k, piece in enumerate(pieces))
            if not pieces or not all(np.isfinite(piece).all() for piece in pieces):
                raise ShapeError(f"{name}: convex_pieces are {len(pieces)}; expected at least one, of finite points")
        elif self.collide_as == "decomposition":
            pieces = convex_pieces(vertices, faces)
        colors = self.vertex_colors
        if colors is not None:
            colors = np.array(colors, dtype=float)
            if colors.shape not in ((len(vertices), 3), (len(vertices), 4)) or not np.isfinite(colors).all():
                raise ShapeError(
                    f"{name}: vertex_colors have shape {colors.shape}; expected finite ({len(vertices)}, 3 or 4)"
                )
            colors.setflags(write=False)
        color = self.color
        if color is not None:
            color = tuple(float(c) for c in color)
            if len(color) not in (3, 4) or not np.isfinite(color).all():
                raise ShapeError(f"{name}: color is {self.color!r}; expected three or four finite numbers")
        textures, coordinates, of_face = _textures(name, len(faces), self)
        for field, value in (
            ("textures", textures),
            ("texture_coordinates", coordinates),
            ("texture_of_face", of_face),
            ("vertices", vertices),
            ("faces", faces),
            ("vertex_colors", colors),
            ("color", color),
            ("convex_pieces", pieces),
        ):
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        return f"Mesh({len(self.vertices)} vertices, {len(self.faces)} faces, uri={self.uri!r})"

    @cached_property
    def hull(self) -> Hull:
        """Convex hull: vertices (n,3) [m] and triangles (m,3); computed when first asked for.

        Raises:
            ShapeError: all vertices lie on one line.
        """
        return convex_hull(self.vertices, f"Mesh {self.uri!r}" if self.uri else "Mesh")

    @property
    def aabb(self) -> np.ndarray:
        return np.array([self.vertices.min(axis=0), self.vertices.max(axis=0)])

    @property
    def bounding_radius(self) -> float:
        return float(np.sqrt((self.vertices**2).sum(axis=1).max()))

    @cached_property
    def closed(self) -> bool:
        """True if every edge has one triangle on either side (vertices at one place count as one)."""
        _, number = np.unique(self.vertices, axis=0, return_inverse=True)
        f = number.reshape(-1)[self.faces]
        f = f[(f[:, 0] != f[:, 1]) & (f[:, 1] != f[:, 2]) & (f[:, 2] != f[:, 0])]
        edges = np.concatenate([f[:, [0, 1]], f[:, [1, 2]], f[:, [2, 0]]])
        directed, count = np.unique(edges, axis=0, return_counts=True)
        mirrored = np.unique(edges[:, ::-1], axis=0)
        return len(f) > 0 and bool((count == 1).all()) and np.array_equal(directed, mirrored)

    @cached_property
    def _solid(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Volume, centroid and second moment about it, per unit density."""
        if self.closed:
            found = second_moments(self.vertices, self.faces)
            if found[0] > _EMPTY * float(np.linalg.norm(np.ptp(self.vertices, axis=0))) ** 3:
                return found
        return second_moments(*self.hull)

    def support(self, direction: np.ndarray) -> float:
        return float((self.vertices @ direction).max())


def _textures(name: str, faces: int, mesh: Mesh) -> tuple[Any, Any, Any]:
    """Images, coordinates and numbers of a mesh, checked; None if it has none."""
    given = (mesh.textures, mesh.texture_coordinates, mesh.texture_of_face)
    if mesh.textures is None:
        if any(value is not None for value in given):
            raise ShapeError(f"{name}: texture_coordinates and texture_of_face are of textures, of which it has none")
        return given
    images = tuple(np.array(image) for image in mesh.textures)
    for k, image in enumerate(images):
        if image.ndim != 3 or image.shape[2] not in (3, 4) or 0 in image.shape or image.dtype.kind not in "ui":
            raise ShapeError(
                f"{name}: textures[{k}] is {image.shape} of {image.dtype}; expected bytes (height, width, 3)"
            )
        if image.min() < 0 or image.max() > 255:
            raise ShapeError(f"{name}: textures[{k}] has values {image.min()} to {image.max()}; expected 0 to 255")
    coordinates = np.array(given[1], dtype=float)
    if coordinates.shape != (faces, 3, 2) or not np.isfinite(coordinates).all():
        raise ShapeError(
            f"{name}: texture_coordinates have shape {coordinates.shape}; expected finite numbers ({faces}, 3, 2)"
        )
    of_face = np.zeros(faces, np.int64) if given[2] is None else np.array(given[2])
    fits = of_face.shape == (faces,) and of_face.dtype.kind in "iu"
    if not fits or of_face.min() < -1 or of_face.max() >= len(images):
        raise ShapeError(f"{name}: texture_of_face: expected {faces} numbers from -1 to {len(images) - 1}")
    images = tuple(image[..., :3].astype(np.uint8) for image in images)
    for array in (*images, coordinates, of_face):
        array.setflags(write=False)
    return images, coordinates, of_face


def _array(name: str, field: str, value: Any, dtype: Any) -> np.ndarray:
    try:
        array = np.array(value)
        exact = array.astype(dtype)
        same = np.issubdtype(array.dtype, np.number) and (dtype is float or bool((exact == array).all()))
    except (TypeError, ValueError):
        raise ShapeError(f"{name}: {field} are not an array of numbers") from None
    if exact.ndim != 2 or exact.shape[1] != 3 or not same:
        raise ShapeError(f"{name}: {field} have shape {array.shape} and type {array.dtype}; expected (n, 3) numbers")
    exact.setflags(write=False)
    return exact
