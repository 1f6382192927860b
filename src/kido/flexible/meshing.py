"""Meshes of finite elements that fill shapes: bricks of boxes, prisms of cylinders, tetrahedra of all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.flexible.beams import Material
from kido.libraries import library
from kido.math.transform import number_or_nan
from kido.shapes import Box, Cylinder, Mesh, Shape
from kido.shapes.hull import Solid, convex_hull
from kido.shapes.primitives import Primitive

Array = NDArray[np.float64]
FEATURE, EXTRA = "modes of solids and plates", "fem"
SECTORS = 24  # of round shapes, for the mesher
DIVISIONS = 12  # elements along the longest side, by default
TOLERANCE = 0.06  # share of an element's length by which tetrahedra may leave the surface
MOST = 100_000  # elements


def fem() -> Any:
    """The library of finite elements.

    Raises:
        MissingExtraError: it is not installed.
    """
    return library("skfem", FEATURE, EXTRA)


class Shapes:
    """Shape functions of a basis of scikit-fem at its points of integration.

    Attributes:
        value, gradient: (functions, elements, points), (functions, axes, elements, points).
        weight: (elements, points).
        number: (functions, elements) of a function's coordinate.
        size: how many coordinates there are.
    """

    def __init__(self, basis: Any):
        of_element = [function[0] for function in basis.basis]
        shape = (basis.nelems, basis.dx.shape[1])
        self.value = np.stack([np.broadcast_to(np.asarray(f), shape) for f in of_element])
        self.gradient = np.stack([np.broadcast_to(f.grad, (len(f.grad), *shape)) for f in of_element])
        self.weight, self.number, self.size = basis.dx, basis.element_dofs, basis.N

    def _summed(self, blocks: Array) -> Any:
        """A matrix (size, size) of those of elements (elements, functions, functions)."""
        n = len(self.number)
        row, column = np.repeat(self.number.T, n, axis=1).ravel(), np.tile(self.number.T, (1, n)).ravel()
        return scipy.sparse.coo_matrix((blocks.ravel(), (row, column)), (self.size, self.size)).tocsr()

    def products(self, axis: int | None = None, other: int | None = None) -> Any:
        """Integrals of N_i N_j, or of their derivatives along an axis and another, (size, size)."""
        a, b = (self.value if k is None else self.gradient[:, k] for k in (axis, other))
        return self._summed(np.matmul((a * self.weight).transpose(1, 0, 2), b.transpose(1, 2, 0)))

    def loads(self, factor: Any, axis: int) -> Array:
        """Integrals of a factor (elements, points) and the derivatives along an axis (size,)."""
        own = np.einsum("neq,eq->ne", self.gradient[:, axis], factor * self.weight)
        return np.bincount(self.number.ravel(), own.ravel(), self.size).astype(float)

    def derivatives(self, field: Array) -> Array:
        """(k, c, axes, elements, points) of a field (size, c, k) by its coordinates."""
        own = field[self.number]  # (functions, elements, c, k)
        elements = np.matmul(own.transpose(1, 2, 3, 0).reshape(own.shape[1], -1, len(own)), self._flat())
        k, c = field.shape[2], field.shape[1]
        out = elements.reshape(own.shape[1], c, k, self.gradient.shape[1], -1)
        return out.transpose(2, 1, 3, 0, 4)

    def _flat(self) -> Array:
        n, axes, e, q = self.gradient.shape
        return self.gradient.transpose(2, 0, 1, 3).reshape(e, n, axes * q)


def mesh_of(shapes: Sequence[tuple[Shape, Array]], size: float | None, what: str) -> Any:
    """A mesh of scikit-fem, of quadratic geometry, that fills shapes by their poses (4, 4).

    Raises:
        ModelError: no solid, shapes that do not touch each other, elements that are too small for the shape.
        MissingExtraError: a library is not installed.
    """
    skfem = fem()
    if size is None:
        size = max(float(np.ptp(shape.aabb, axis=0).max()) for shape, _ in shapes) / DIVISIONS
    if len(shapes) == 1:
        shape, X = shapes[0]
        if isinstance(shape, Box):
            mesh = skfem.MeshHex2.from_mesh(_bricks(skfem, shape, size, what))
            return _placed(mesh, X)
        if isinstance(shape, Cylinder):
            return _placed(_round_bar(skfem, shape, size, what), X)
    return skfem.MeshTet2.from_mesh(_tetrahedra(skfem, shapes, size, what))


def density_of(material: Material, mass: float | None, volume: float, name: str) -> float:
    """That of a material, or that which gives a mass.

    Raises:
        ModelError: a mass that is not positive.
    """
    if mass is None:
        return material.density
    if not 0.0 < number_or_nan(mass) < math.inf:
        raise ModelError(f"structure {name!r}: mass: expected a positive number [kg], got {mass!r}")
    return mass / volume


def intervals(length: float, size: float, what: str) -> int:
    """How many elements of a size go along a length.

    Raises:
        ModelError: too many.
    """
    count = max(math.ceil(length / size * (1.0 - 1e-9)), 1)
    if count > MOST:
        raise too_small(size, what)
    return count


def disc(radius: float, size: float, what: str) -> tuple[Array, NDArray[np.int64]]:
    """Points (n, 2) and triangles (m, 3) of a disc: rings of six, twelve, ... points around the middle."""
    rings = max(intervals(radius, size, what), 2)
    points, triangles, first = [np.zeros((1, 2))], [], 0
    for k in range(1, rings + 1):
        angle = 2.0 * np.pi * np.arange(6 * k) / (6 * k)
        points.append(radius * k / rings * np.stack([np.cos(angle), np.sin(angle)], axis=1))
        below, above, start = max(6 * (k - 1), 1), 6 * k, first + max(6 * (k - 1), 1)
        for sector in range(6):
            for j in range(k):
                outer = start + sector * k + j
                inner = first + (sector * (k - 1) + j) % below
                triangles.append((inner, outer, start + (sector * k + j + 1) % above))
                if j < k - 1:
                    triangles.append(
                        (inner, start + (sector * k + j + 1) % above, first + (sector * (k - 1) + j + 1) % below)
                    )
        first = start
    return np.concatenate(points), np.array(triangles)


def _bricks(skfem: Any, box: Box, size: float, what: str) -> Any:
    counts = [intervals(length, size, what) for length in box.size]
    if math.prod(counts) > MOST:
        raise too_small(size, what)
    return skfem.MeshHex.init_tensor(
        *(np.linspace(-0.5 * s, 0.5 * s, n + 1) for s, n in zip(box.size, counts, strict=True))
    )


def _round_bar(skfem: Any, cylinder: Cylinder, size: float, what: str) -> Any:
    """Prisms on a disc, each of three tetrahedra, whose edges on the rim are round."""
    points, triangles = disc(cylinder.radius, size, what)
    layers = intervals(cylinder.height, size, what)
    if 3 * layers * len(triangles) > MOST:
        raise too_small(size, what)
    z = np.linspace(-0.5 * cylinder.height, 0.5 * cylinder.height, layers + 1)
    n = len(points)
    p = np.concatenate([np.column_stack([points, np.full(n, height)]) for height in z])
    a, b, c = np.sort(triangles, axis=1).T  # neighbours cut their common side along the same diagonal
    one = np.concatenate(
        [np.stack(t, axis=1) for t in ((a, b, c, c + n), (a, b, b + n, c + n), (a, a + n, b + n, c + n))]
    )
    tets = np.concatenate([one + k * n for k in range(layers)])
    mesh = skfem.MeshTet2.from_mesh(skfem.MeshTet(p.T, _right_handed(p, tets).T))
    x = mesh.doflocs.copy()
    edges = mesh.edges
    rim = np.isclose(np.hypot(*x[:2, : len(p)]), cylinder.radius, rtol=1e-9)
    middle = len(p) + np.flatnonzero(rim[edges].all(axis=0))
    x[:2, middle] *= cylinder.radius / np.hypot(*x[:2, middle])
    return _with_places(mesh, x)


def _tetrahedra(skfem: Any, shapes: Sequence[tuple[Shape, Array]], size: float, what: str) -> Any:
    mesher = library("pytetwild", FEATURE, EXTRA)
    vertices, faces, first = [], [], 0
    for shape, X in shapes:
        v, f = surface_of(shape, what)
        vertices.append(v @ X[:3, :3].T + X[:3, 3])
        faces.append(f + first)
        first += len(v)
    v, f = np.concatenate(vertices), np.concatenate(faces)
    extent = float(np.linalg.norm(np.ptp(v, axis=0)))
    if (extent / size) ** 3 > 100.0 * MOST:
        raise too_small(size, what)
    p, tets = mesher.tetrahedralize(
        v,
        f.astype(np.int32),
        edge_length_fac=min(size / extent, 1.0),
        epsilon=TOLERANCE * size / extent,
        num_threads=1,
        quiet=True,
    )
    if not len(tets):
        raise ModelError(f"{what}: its surface encloses nothing; expected a closed one, or solid shapes")
    used, tets = np.unique(tets, return_inverse=True)
    p, tets = np.asarray(p, float)[used], tets.reshape(-1, 4)
    joined = scipy.sparse.coo_matrix(
        (np.ones(6 * len(tets)), (np.repeat(tets[:, :2], 3), np.tile(tets[:, 1:], 2).ravel()))
    )
    check_parts(joined, len(p), p, what)
    return skfem.MeshTet(np.ascontiguousarray(p.T), np.ascontiguousarray(_right_handed(p, tets).T))


def check_parts(joined: Any, count: int, positions: Array, what: str) -> None:
    """All points hang together.

    Raises:
        ModelError: they are of several parts; says of what sizes and where.
    """
    graph = scipy.sparse.csr_matrix((joined.data, (joined.row, joined.col)), (count, count))
    parts, part = scipy.sparse.csgraph.connected_components(graph, directed=False)
    if parts > 1:
        sizes = np.bincount(part)
        order = np.argsort(-sizes)[:4]
        shown = ", ".join(
            f"{sizes[k]} nodes about {np.round(positions[part == k].mean(axis=0), 4).tolist()}" for k in order
        )
        raise ModelError(f"{what}: its mesh is of {parts} parts that do not touch: {shown}; expected one")


def surface_of(shape: Shape, what: str) -> tuple[Array, NDArray[np.int64]]:
    """Triangles around a solid shape: vertices (v, 3), faces (f, 3).

    Raises:
        ModelError: it is no solid.
    """
    if isinstance(shape, Mesh):
        return shape.vertices, shape.faces
    if isinstance(shape, Solid):
        return shape.hull  # type: ignore[attr-defined]
    points = None
    if isinstance(shape, Primitive):
        points = shape.surface_points(SECTORS, SECTORS // 2)
        if points is None:
            points = _support_points(shape)
    if points is None:
        raise ModelError(f"{what}: a {type(shape).__name__} is no solid that elements could fill")
    return convex_hull(points, what)


def _support_points(shape: Primitive) -> Array:
    """Points of a box, or of a round shape that is symmetric about z, from its lengths."""
    half = 0.5 * np.ptp(shape.aabb, axis=0)
    if isinstance(shape, Box):
        return half * np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    angle = 2.0 * np.pi * np.arange(SECTORS) / SECTORS
    polar = np.linspace(0.0, np.pi, SECTORS // 2 + 1)
    d = np.array([(np.sin(b) * np.cos(a), np.sin(b) * np.sin(a), np.cos(b)) for b in polar for a in angle])
    radius, height = half[0], half[2]
    if isinstance(shape, Cylinder):
        rim = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return np.concatenate([np.column_stack([rim, np.full(SECTORS, z)]) for z in (-height, height)])
    shift = np.sign(np.round(d[:, 2], 12)) * (height - radius)  # a sphere's halves apart: capsules, spheres
    points = radius * d
    points[:, 2] += shift
    return points


def _right_handed(p: Array, tets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tetrahedra with positive volumes."""
    a, b, c, d = (p[tets[:, k]] for k in range(4))
    volume = np.einsum("ei,ei->e", np.cross(b - a, c - a), d - a)
    out = tets.copy()
    out[volume < 0.0] = out[volume < 0.0][:, [0, 2, 1, 3]]
    return out


def _with_places(mesh: Any, x: Array) -> Any:
    return type(mesh)(np.ascontiguousarray(x), mesh.t)


def _placed(mesh: Any, X: Array) -> Any:
    return _with_places(mesh, X[:3, :3] @ mesh.doflocs + X[:3, 3:])


def too_small(size: float, what: str) -> ModelError:
    return ModelError(f"{what}: elements of {size:g} m would be more than {MOST}; expected larger ones")
