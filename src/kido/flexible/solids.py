"""Structures of solid finite elements that fill shapes: quadratic bricks and tetrahedra.

Elements of second order bend without locking; the mass is consistent. Elasticity is Hooke's law of small strains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from kido.attributes import named_arguments
from kido.errors import ModelError
from kido.flexible.beams import Material
from kido.flexible.meshing import Shapes, density_of, fem, mesh_of
from kido.flexible.structure import VOIGT, Structure
from kido.math.transform import as_transform, number_or_nan
from kido.shapes import Shape

Array = NDArray[np.float64]


@named_arguments
def solid(
    shape: Shape | Sequence[tuple[Shape, Any]],
    material: Material,
    size: float | None = None,
    transform: Any = None,
    mass: float | None = None,
    name: str = "solid",
) -> Structure:
    """A structure of solid elements that fill a shape: what modes of a machine part are made of.

    Boxes become bricks of 27 nodes, cylinders tetrahedra of 10 nodes with round rims, all else tetrahedra made by
    fTetWild, which needs no closed mesh, only one that encloses something. Nodes are the elements' own; tie those of a
    flange to a named node (`Structure.tied`).

    Args:
        shape: a box, cylinder, mesh or other solid; or several with their poses, which must touch.
        material: of all.
        size: length of elements [m]; by default a twelfth of the longest side.
        transform: pose of the shape in the structure's axes.
        mass: of all [kg]; by default by the material's density.
        name: for messages.

    Raises:
        ModelError: a shape that is no solid, parts that do not touch, elements too small to be made.
        MissingExtraError: the extra `fem` is not installed.
    """
    what = f"structure {name!r}"
    if not isinstance(material, Material):
        raise ModelError(f"{what}: material: expected a kido.flexible.Material, got {material!r}")
    given = [(shape, None)] if isinstance(shape, Shape) else list(shape)
    placed, X = [], as_transform(transform, f"{what}: transform")
    for item in given:
        if not (isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], Shape)):
            raise ModelError(f"{what}: shape: expected a kido shape, or shapes with their poses, got {item!r}")
        placed.append((item[0], X @ as_transform(item[1], f"{what}: pose of a {type(item[0]).__name__}")))
    if not placed:
        raise ModelError(f"{what}: shape: expected at least one")
    if size is not None and not 0.0 < number_or_nan(size) < np.inf:
        raise ModelError(f"{what}: size: expected a positive length of elements [m], got {size!r}")
    return _SolidElements(mesh_of(placed, size, what), material).structure(name, mass)


class _SolidElements:
    """Elements of a mesh, their matrices, and stresses in them."""

    def __init__(self, mesh: Any, material: Material):
        skfem = fem()
        self.mesh, self.material = mesh, material
        self.element = mesh.elem()
        self.brick = mesh.t.shape[0] == 8
        self.shapes = Shapes(skfem.Basis(mesh, self.element, intorder=4))
        self.weights = self.shapes.weight
        E, nu = material.young, material.poisson
        self.lame = E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), material.shear

    def structure(self, name: str, mass: float | None) -> Structure:
        skfem, shapes = fem(), self.shapes
        p, (bulk, shear) = shapes.size, self.lame
        # Bricks of degree 2 in each direction need order 6 where tetrahedra need 4.
        fine = Shapes(skfem.Basis(self.mesh, self.element, intorder=6)) if self.brick else shapes
        density = density_of(self.material, mass, float(self.weights.sum()), name)
        D = [[shapes.products(a, b) for b in range(3)] for a in range(3)]
        trace = D[0][0] + D[1][1] + D[2][2]
        K = sum(
            scipy.sparse.kron(bulk * D[a][b] + shear * D[b][a] + (shear * trace if a == b else 0.0), _unit(a, b))
            for a in range(3)
            for b in range(3)
        )
        warm = (3.0 * bulk + 2.0 * shear) * self.material.expansion
        places = self.mesh.doflocs[:, :p].T
        x = np.einsum("nec,neq->ceq", places[shapes.number], shapes.value)
        fields = (np.ones(x.shape[1:]), *x)
        thermal = warm * np.stack(
            [np.stack([shapes.loads(T, a) for a in range(3)], axis=1).ravel() for T in fields], axis=1
        )
        return Structure(
            places, scipy.sparse.kron(density * fine.products(), np.eye(3)), K, name=name, faces=self._faces(),
            thermal=thermal, elements=self,
        )  # fmt: skip

    def _faces(self) -> NDArray[np.int64]:
        """Triangles of corners, counter-clockwise from outside."""
        mesh = self.mesh
        boundary = mesh.boundary_facets()
        corners = mesh.facets[:, boundary]
        triangles = np.vstack([corners[[0, 1, 2]].T, corners[[0, 2, 3]].T]) if self.brick else corners.T
        x = mesh.doflocs.T
        middle = x[mesh.t[:, mesh.f2t[0, boundary]]].mean(axis=0)
        a, b, c = (x[triangles[:, k]] for k in range(3))
        inward = (
            np.einsum("fi,fi->f", np.cross(b - a, c - a), a - np.tile(middle, (len(triangles) // len(middle), 1))) < 0
        )
        triangles[inward] = triangles[inward][:, [0, 2, 1]]
        return triangles

    def _stress(self, grad: Array) -> Array:
        strain = 0.5 * (grad + grad.swapaxes(1, 2))
        trace = np.einsum("kii...->k...", strain)
        return 2.0 * self.lame[1] * strain + self.lame[0] * trace[:, None, None] * np.eye(3)[None, :, :, None, None]

    def stress(self, moved: Array) -> Array:
        """(nodes, 6, k) stress at the nodes by their motions (nodes, 6, k), the mean of the elements around."""
        skfem, mesh = fem(), self.mesh
        at = self.element.doflocs.T  # of an element's nodes
        shapes = Shapes(skfem.Basis(mesh, self.element, quadrature=(at, np.ones(at.shape[1]))))
        return at_nodes(self._stress(shapes.derivatives(moved[:, :3])), shapes)

    def geometric(self, loaded: Array, moved: Array) -> Array:
        """(l, n, n) geometric stiffness of motions (nodes, 6, n) under loads that deform by (nodes, 6, l)."""
        stress = self._stress(self.shapes.derivatives(loaded[:, :3]))
        return stiffness_by_stress(stress, self.shapes.derivatives(moved[:, :3]), self.weights)


def at_nodes(stress: Array, shapes: Shapes) -> Array:
    """(nodes, 6, k) means of stress (k, 3, 3, elements, nodes of one) of the elements around."""
    number = shapes.number.T.ravel()
    count = np.bincount(number, minlength=shapes.size)
    return np.array(
        [[np.bincount(number, one[i, j].ravel(), shapes.size) / count for i, j in VOIGT] for one in stress]
    ).transpose(2, 1, 0)


def stiffness_by_stress(stress: Array, grad: Array, weights: Array) -> Array:
    """(l, n, n): integrals of s_jk d_j u_i d_k v_i; stress (l, j, k, elements, points), derivatives (n, i, j, ...)."""
    out = np.empty((len(stress), len(grad), len(grad)))
    flat = grad.reshape(len(grad), -1)
    for s, K in zip(stress, out, strict=True):
        pulled = np.einsum("jkeq,nikeq->nijeq", s * weights, grad)
        K[:] = pulled.reshape(len(grad), -1) @ flat.T
    return 0.5 * (out + out.swapaxes(1, 2))


def _unit(a: int, b: int) -> Array:
    out = np.zeros((3, 3))
    out[a, b] = 1.0
    return out
