"""Triangle meshes of the shapes, as parts that many shapes can share.

A shape becomes one or more *parts*: a unit geometry (cube, tube, hemisphere, ...), a scale along its
axes and a transform. Shapes of different size then share one geometry, so that a scene of a thousand
different boxes is one batched mesh on the wire and one draw call in the browser. A capsule is a tube and
two hemispheres for the same reason.
"""

from __future__ import annotations

import hashlib
import weakref
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from kido.errors import KidoError
from kido.shapes import (
    PRIMITIVES,
    Arrow,
    Heightmap,
    LineSegment,
    Mesh,
    MultiSphereHull,
    Plane,
    PointCloud,
    Primitive,
    Pyramid,
    VoxelGrid,
)

SEGMENTS = 40
"""Edges of a circle."""

CREASE_ANGLE = np.deg2rad(35.0)
"""Faces of a mesh that meet at a larger angle are shaded as a sharp edge [rad]."""


@dataclass(frozen=True)
class Part:
    """One piece of a shape: geometry ``key`` scaled by ``scale`` (3,), placed by ``transform`` (4, 4)."""

    key: tuple
    scale: tuple[float, ...]
    transform: np.ndarray


def shape_parts(shape: object, transform: np.ndarray) -> list[Part]:
    """Parts that draw ``shape`` placed at ``transform`` (4, 4) in some frame; parts are in that frame.

    A :class:`kido.shapes.Plane` has no parts: it is drawn as ground.
    """
    if isinstance(shape, Plane):
        return []
    if isinstance(shape, Primitive):
        return [
            Part((key,), scale, transform if place is None else transform @ place)
            for key, scale, place in shape.drawn()
        ]
    if isinstance(shape, Mesh | Heightmap | VoxelGrid | Pyramid | MultiSphereHull):
        return [Part(("mesh", MeshKey(_mesh_of(shape))), (1.0, 1.0, 1.0), transform)]
    if isinstance(shape, PointCloud):
        return [Part(("sphere",), (shape.radius,) * 3, transform @ _at(point)) for point in shape.points]
    if isinstance(shape, LineSegment):
        r = 0.5 * shape.thickness
        return [_between("cylinder", a, b, r, transform) for a, b in shape.vertices[shape.connections]]
    if isinstance(shape, Arrow):
        tail, head = np.array(shape.tail), np.array(shape.head)
        base = head - shape.head_length * shape.direction
        parts = [_between("cone", base, head, shape.head_radius, transform)]
        if shape.head_length < shape.length:
            parts.append(_between("cylinder", tail, base, shape.radius, transform))
        return parts
    raise KidoError(
        f"KIDO cannot draw a shape of type {type(shape).__name__!r}; it draws "
        f"{', '.join(kind.__name__ for kind in PRIMITIVES.values())}, Plane, Mesh, Pyramid, MultiSphereHull, "
        "LineSegment, Heightmap, VoxelGrid, PointCloud and Arrow."
    )


@lru_cache(maxsize=256)
def _mesh_of(shape: Mesh | Heightmap | VoxelGrid | Pyramid | MultiSphereHull) -> Mesh:
    """The triangles of a shape's surface."""
    if isinstance(shape, Mesh):
        return shape
    if isinstance(shape, Heightmap):
        return Mesh(shape.vertices, shape.faces)
    if isinstance(shape, VoxelGrid):
        return Mesh(*shape.surface)
    return Mesh(*(shape.hull if isinstance(shape, Pyramid) else shape.polyhedron(3)))


def _at(position: np.ndarray) -> np.ndarray:
    place = np.eye(4)
    place[:3, 3] = position
    return place


def _between(kind: str, start: np.ndarray, stop: np.ndarray, radius: float, transform: np.ndarray) -> Part:
    """A unit geometry about z, stretched from one point to another."""
    place, length = _at(0.5 * (start + stop)), float(np.linalg.norm(stop - start))
    z = (stop - start) / length
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    place[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    return Part((kind,), (radius, radius, length), transform @ place)


_DIGESTS: weakref.WeakKeyDictionary[Mesh, bytes] = weakref.WeakKeyDictionary()  # shapes never change


class MeshKey:
    """Names a mesh by its content, so that equal meshes read twice are one geometry."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        if mesh not in _DIGESTS:
            digest = hashlib.blake2b(digest_size=16)
            images = (mesh.texture_coordinates, mesh.texture_of_face, *(mesh.textures or ()))
            for array in (mesh.vertices, mesh.faces, mesh.vertex_colors, *images):
                if array is not None:
                    digest.update(np.ascontiguousarray(array).tobytes())
            _DIGESTS[mesh] = digest.digest()
        self._digest = _DIGESTS[mesh]

    def __hash__(self) -> int:
        return hash(self._digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeshKey) and self._digest == other._digest


def geometry(key: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and faces (m, 3) of the geometry named by ``key``."""
    if key[0] != "mesh":
        return _unit_geometry(key[0])
    mesh = key[1].mesh
    vertices, faces, _ = split_creases(np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64))
    return vertices, faces


def extents(key: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corner (3,) of the box around the geometry."""
    vertices = np.asarray(key[1].mesh.vertices) if key[0] == "mesh" else _unit_geometry(key[0])[0]
    return vertices.min(axis=0), vertices.max(axis=0)


@lru_cache
def _unit_geometry(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Unit geometries: box with edges 1, radius 1, height 1, centred, axis z."""
    if kind == "box":
        return _box()
    if kind == "sphere":
        return _revolve(*_arc(-0.5 * np.pi, 0.5 * np.pi, 20))
    if kind == "hemisphere":
        # The short ring below the equator makes the normals there match the tube's.
        r, z = _arc(0.0, 0.5 * np.pi, 10)
        return _revolve(np.r_[1.0, r], np.r_[-1e-2, z])
    if kind == "tube":
        return _revolve(np.ones(2), np.array([-0.5, 0.5]))
    if kind == "cylinder":
        side = _revolve(np.ones(2), np.array([-0.5, 0.5]))
        return _join(side, _disk(0.5, True), _disk(-0.5, False))
    if kind == "cone":
        # Several rings so that the interpolated normals stay those of the cone up to the apex.
        s = np.linspace(0.0, 1.0, 9)
        return _join(_revolve(1.0 - s, s - 0.5), _disk(-0.5, False))
    raise KidoError(f"There is no geometry named {kind!r}.")


def _box() -> tuple[np.ndarray, np.ndarray]:
    vertices, faces = [], []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            n = np.zeros(3)
            n[axis] = sign
            u = np.roll(np.array([1.0, 0.0, 0.0]), (axis + 1) % 3)
            v = np.cross(n, u)
            k = 4 * len(faces) // 2
            vertices += [0.5 * (n + a * u + b * v) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            faces += [(k, k + 1, k + 2), (k, k + 2, k + 3)]
    return np.array(vertices), np.array(faces)


def _arc(start: float, stop: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    angle = np.linspace(start, stop, n + 1)
    r = np.cos(angle)
    r[np.abs(r) < 1e-12] = 0.0
    return r, np.sin(angle)


def _revolve(r: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Surface of revolution about z of the profile (r, z), walked upwards, normals outwards."""
    angle = np.linspace(0.0, 2 * np.pi, SEGMENTS, endpoint=False)
    rings = np.stack(
        [np.outer(r, np.cos(angle)), np.outer(r, np.sin(angle)), np.repeat(z[:, None], SEGMENTS, 1)], axis=-1
    )
    vertices = rings.reshape(-1, 3)
    i = np.arange(len(r) - 1)[:, None] * SEGMENTS
    j = np.arange(SEGMENTS)[None, :]
    a, b = i + j, i + (j + 1) % SEGMENTS
    quads = np.stack([a, b, b + SEGMENTS, a + SEGMENTS], axis=-1).reshape(-1, 4)
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    p = vertices[faces]
    area = np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1)
    return vertices, faces[area > 1e-12]


def _disk(z: float, up: bool) -> tuple[np.ndarray, np.ndarray]:
    angle = np.linspace(0.0, 2 * np.pi, SEGMENTS, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle), np.full(SEGMENTS, z)], axis=1)
    vertices = np.vstack([ring, [0.0, 0.0, z]])
    j = np.arange(SEGMENTS)
    faces = np.stack([j, (j + 1) % SEGMENTS, np.full(SEGMENTS, SEGMENTS)], axis=1)
    return vertices, faces if up else faces[:, ::-1]


def _join(*pieces: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    vertices, faces, n = [], [], 0
    for v, f in pieces:
        vertices.append(v)
        faces.append(f + n)
        n += len(v)
    return np.vstack(vertices), np.vstack(faces)


def split_creases(
    vertices: np.ndarray, faces: np.ndarray, angle: float = CREASE_ANGLE
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give every smooth patch of a mesh vertices of its own, so that sharp edges look sharp.

    Browsers average the normals of the faces around a vertex. Here the corners of faces that share an edge
    and turn by less than ``angle`` [rad] are joined to one vertex, all others are split.

    Returns vertices (n', 3), faces (m, 3) in the order given, and the index (n',) of the old vertex.
    """
    if len(faces) == 0:
        return vertices, faces, np.arange(len(vertices))
    _, welded = np.unique(np.round(vertices, 7), axis=0, return_inverse=True)
    welded = welded.reshape(-1)
    p = vertices[faces]
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-30)

    # Half edges: corner index at their two ends, sorted by the welded vertices they join.
    corner = np.arange(3 * len(faces)).reshape(-1, 3)
    start, stop = corner.reshape(-1), np.roll(corner, -1, axis=1).reshape(-1)
    w = welded[faces].reshape(-1)
    swap = w[start] > w[stop]
    a, b = np.where(swap, stop, start), np.where(swap, start, stop)
    order = np.lexsort((w[b], w[a]))
    a, b = a[order], b[order]
    same = (w[a][1:] == w[a][:-1]) & (w[b][1:] == w[b][:-1])
    i = np.flatnonzero(same)
    smooth = np.einsum("ij,ij->i", normal[a[i] // 3], normal[a[i + 1] // 3]) > np.cos(angle)
    i = i[smooth]
    rows, cols = np.r_[a[i], b[i]], np.r_[a[i + 1], b[i + 1]]
    n = corner.size
    _, label = scipy.sparse.csgraph.connected_components(
        scipy.sparse.coo_array((np.ones(len(rows)), (rows, cols)), shape=(n, n)), directed=False
    )
    _, first = np.unique(label, return_index=True)
    source = faces.reshape(-1)[first]
    return vertices[source], label.reshape(-1, 3), source
