"""Structures of solid finite elements that fill shapes: quadratic bricks and tetrahedra.

Elements of second order bend without locking; the mass is consistent. Elasticity is Hooke's law of small strains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.attributes import named_arguments
from kido.errors import ModelError
from kido.flexible.beams import Material
from kido.flexible.meshing import density_of, fem, mesh_of
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
        self.basis = skfem.Basis(mesh, self.element, intorder=4)
        self.weights = self.basis.dx  # (elements, points)
        E, nu = material.young, material.poisson
        self.lame = E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), material.shear

    def structure(self, name: str, mass: float | None) -> Structure:
        skfem = fem()
        p = self.basis.N
        volume = skfem.Basis(self.mesh, self.element, intorder=6 if self.brick else 4) if self.brick else self.basis
        density = density_of(self.material, mass, float(self.weights.sum()), name)
        inertia = skfem.BilinearForm(lambda u, v, w: density * u * v).assemble(volume)
        vector = skfem.Basis(self.mesh, skfem.ElementVector(self.element), intorder=4)
        from skfem.models.elasticity import linear_elasticity

        stiffness = skfem.BilinearForm(linear_elasticity(*self.lame)).assemble(vector)
        warm = (3.0 * self.lame[0] + 2.0 * self.lame[1]) * self.material.expansion
        fields = (lambda x: 1.0, lambda x: x[0], lambda x: x[1], lambda x: x[2])
        div = skfem.helpers.div
        thermal = np.stack(
            [skfem.LinearForm(lambda v, w, T=T: warm * T(w.x) * div(v)).assemble(vector) for T in fields], axis=1
        )
        return Structure(
            self.mesh.doflocs[:, :p].T, scipy.sparse.kron(inertia, np.eye(3)), stiffness, name=name,
            faces=self._faces(), thermal=thermal, elements=self,
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
        inward = np.einsum("fi,fi->f", np.cross(b - a, c - a), a - np.tile(middle, (len(triangles) // len(middle), 1))) < 0
        triangles[inward] = triangles[inward][:, [0, 2, 1]]
        return triangles

    def _gradients(self, basis: Any, moved: Array) -> Array:
        """(k, 3, 3, elements, points) derivatives d_j u_i of motions (nodes, 6, k)."""
        return np.array(
            [[basis.interpolate(np.ascontiguousarray(moved[:, i, k])).grad for i in range(3)] for k in range(moved.shape[2])]
        )

    def _stress(self, grad: Array) -> Array:
        strain = 0.5 * (grad + grad.swapaxes(1, 2))
        trace = np.einsum("kii...->k...", strain)
        return 2.0 * self.lame[1] * strain + self.lame[0] * trace[:, None, None] * np.eye(3)[None, :, :, None, None]

    def stress(self, moved: Array) -> Array:
        """(nodes, 6, k) stress at the nodes by their motions (nodes, 6, k), the mean of the elements around."""
        skfem, mesh = fem(), self.mesh
        at = self.element.doflocs.T  # of an element's nodes
        basis = skfem.Basis(mesh, self.element, quadrature=(at, np.ones(at.shape[1])))
        stress = self._stress(self._gradients(basis, moved))
        number = basis.element_dofs.T.ravel()  # (elements, nodes of one)
        count = np.bincount(number, minlength=basis.N)
        out = np.zeros((basis.N, 6, moved.shape[2]))
        for k in range(moved.shape[2]):
            for c, (i, j) in enumerate(VOIGT):
                out[:, c, k] = np.bincount(number, stress[k, i, j].ravel(), basis.N) / count
        return out

    def geometric(self, loaded: Array, moved: Array) -> Array:
        """(l, n, n) geometric stiffness of motions (nodes, 6, n) under loads that deform by (nodes, 6, l)."""
        stress = self._stress(self._gradients(self.basis, loaded))
        grad = self._gradients(self.basis, moved)
        out = np.empty((len(stress), len(grad), len(grad)))
        for s, K in zip(stress, out, strict=True):
            pulled = np.einsum("jlep,ep,nilep->nijep", s, self.weights, grad)
            K[:] = np.einsum("nijep,mijep->nm", pulled, grad)
        return 0.5 * (out + out.swapaxes(1, 2))
