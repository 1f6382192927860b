"""Structures of plates: membranes that bend, with shear and inertia of the cross-section (Mindlin).

Triangles of degree 4 for displacements and rotations, integrated in full: their degree, not a reduced rule, is what
keeps thin plates from locking. Displacements through the thickness are u + theta x z.

Source: Mindlin (1951), Influence of rotatory inertia and shear on flexural motions of isotropic, elastic plates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from kido.attributes import named_arguments
from kido.errors import ModelError
from kido.flexible.beams import Material
from kido.flexible.meshing import MOST, Shapes, density_of, disc, fem, intervals, too_small
from kido.flexible.solids import at_nodes, stiffness_by_stress
from kido.flexible.structure import Structure
from kido.math.transform import as_transform, number_or_nan
from kido.shapes import Box, Cylinder, Shape

Array = NDArray[np.float64]
SHEAR_FACTOR = 5.0 / 6.0
DIVISIONS = 5  # elements along the longest side, by default
ORDER = 8  # of integration: masses of degree 4 are exact


@named_arguments
def plate(
    shape: Shape,
    material: Material,
    size: float | None = None,
    transform: Any = None,
    mass: float | None = None,
    name: str = "plate",
) -> Structure:
    """A structure of plate elements: a rectangle or a disc that bends, stretches and shears.

    Nodes lie in the middle surface and have three displacements and two rotations; tie those of an edge to a named node
    (`Structure.tied`) to hold it or to hang a body on it. Stresses are those of the face on the positive side.

    Args:
        shape: a box, whose shortest side is the thickness, or a cylinder, whose height is.
        material: of the plate.
        size: length of elements [m]; by default a fifth of the longest side.
        transform: pose of the shape in the structure's axes, which may turn it by right angles only: its body can be
            turned as one likes.
        mass: of all [kg]; by default by the material's density.
        name: for messages.

    Raises:
        ModelError: another shape, one that is thicker than a third of its sides, a turned one, elements that are too
            small.
        MissingExtraError: the extra `fem` is not installed.
    """
    what = f"structure {name!r}"
    if not isinstance(material, Material):
        raise ModelError(f"{what}: material: expected a kido.flexible.Material, got {material!r}")
    if not isinstance(shape, Box | Cylinder):
        raise ModelError(f"{what}: shape: expected a Box or a Cylinder, got {shape!r}; solid() takes others")
    sides = np.ptp(shape.aabb, axis=0)
    across = int(sides.argmin()) if isinstance(shape, Box) else 2
    plane = sides[[(across + 1) % 3, (across + 2) % 3]]
    if not 3.0 * sides[across] <= plane.min():
        raise ModelError(
            f"{what}: a plate of {plane.min():g} m is {sides[across]:g} m thick; solid() is for such shapes"
        )
    X = as_transform(transform, f"{what}: transform")
    turn = np.roll(np.eye(3), across + 1, axis=0)  # from the plate's axes, z across, to the shape's
    R = X[:3, :3] @ turn
    if np.abs(R - np.round(R)).max() > 1e-9:
        raise ModelError(f"{what}: transform: expected one that turns by right angles; turn the plate's body instead")
    if size is None:
        size = float(plane.max()) / DIVISIONS
    elif not 0.0 < number_or_nan(size) < np.inf:
        raise ModelError(f"{what}: size: expected a positive length of elements [m], got {size!r}")
    skfem = fem()
    if isinstance(shape, Box):
        counts = [intervals(length, size, what) for length in plane]
        if 4 * counts[0] * counts[1] > MOST:
            raise too_small(size, what)
        mesh = skfem.MeshTri2.from_mesh(_rectangle(skfem, plane, counts))
    else:
        points, triangles = disc(shape.radius, size, what)
        mesh = skfem.MeshTri2.from_mesh(skfem.MeshTri(points.T, triangles.T))
        x, rim = mesh.doflocs.copy(), mesh.facets[:, mesh.boundary_facets()]
        middle = len(points) + mesh.boundary_facets()
        x[:, middle] *= shape.radius / np.hypot(*x[:, middle])
        assert np.allclose(np.hypot(*x[:, rim.ravel()]), shape.radius)
        mesh = type(mesh)(x, mesh.t)
    return _PlateElements(mesh, material, float(sides[across]), np.round(R)).structure(name, X[:3, 3], mass)


def _rectangle(skfem: Any, sides: Array, counts: list[int]) -> Any:
    """Squares of four triangles each, so that the mesh has the rectangle's symmetries."""
    edges = [np.linspace(-0.5 * a, 0.5 * a, n + 1) for a, n in zip(sides, counts, strict=True)]
    corners, middles = (
        np.stack(np.meshgrid(*axes, indexing="ij")).reshape(2, -1)
        for axes in (edges, [0.5 * (x[1:] + x[:-1]) for x in edges])
    )
    number = np.arange(corners.shape[1]).reshape(counts[0] + 1, counts[1] + 1)
    around = [number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]]
    middle = corners.shape[1] + np.arange(middles.shape[1])
    triangles = [np.stack([around[k].ravel(), around[(k + 1) % 4].ravel(), middle]) for k in range(4)]
    return skfem.MeshTri(np.hstack([corners, middles]), np.hstack(triangles))


class _PlateElements:
    """Elements of a middle surface in the plate's axes, x and y in it; R turns to the structure's."""

    def __init__(self, mesh: Any, material: Material, thickness: float, R: Array):
        skfem = fem()
        self.material, self.h, self.R = material, thickness, R
        self.mesh, self.element = mesh, skfem.ElementTriP4()
        self.basis = skfem.Basis(mesh, self.element, intorder=ORDER)
        self.shapes = Shapes(self.basis)
        E, nu = material.young, material.poisson
        self.plane = E / (1.0 - nu * nu), E * nu / (1.0 - nu * nu)  # stress of its own strain, and of that across

    def structure(self, name: str, origin: Array, mass: float | None) -> Structure:
        shapes, basis, h, m = self.shapes, self.basis, self.h, self.material
        p, density = shapes.size, density_of(m, mass, h * float(shapes.weight.sum()), name)
        one = shapes.products()
        # d_a u d_b v of all pairs of directions, of which all stiffnesses are sums
        D = [[shapes.products(a, b) for b in range(2)] for a in range(2)]
        C = [shapes.products(a, None) for a in range(2)]
        own, across = self.plane
        G = m.shear
        in_plane = [
            [own * D[0][0] + G * D[1][1], across * D[0][1] + G * D[1][0]],
            [across * D[1][0] + G * D[0][1], own * D[1][1] + G * D[0][0]],
        ]
        bending = [[h**3 / 12.0 * part for part in row] for row in in_plane]
        shear = SHEAR_FACTOR * G * h
        # Coordinates u, v, w, b_x, b_y: b is what the normal leans by.
        K = scipy.sparse.block_array(
            [
                [h * in_plane[0][0], h * in_plane[0][1], None, None, None],
                [h * in_plane[1][0], h * in_plane[1][1], None, None, None],
                [None, None, shear * (D[0][0] + D[1][1]), shear * C[0], shear * C[1]],
                [None, None, shear * C[0].T, bending[0][0] + shear * one, bending[0][1]],
                [None, None, shear * C[1].T, bending[1][0], bending[1][1] + shear * one],
            ],
            format="csr",
        )
        M = density * scipy.sparse.block_diag([h * one] * 3 + [h**3 / 12.0 * one] * 2, format="csr")
        # theta_x = -b_y, theta_y = b_x
        to_rotations = scipy.sparse.block_diag(
            [scipy.sparse.identity(3 * p), scipy.sparse.kron([[0.0, 1.0], [-1.0, 0.0]], scipy.sparse.identity(p))]
        ).tocsr()
        T = np.zeros((5 * p, 4))
        warm = m.young * m.expansion / (1.0 - m.poisson)
        x0 = self.R.T @ origin
        x = np.einsum("cne,neq->ceq", basis.doflocs[:, shapes.number], shapes.value)
        for a in range(2):
            slope = shapes.loads(np.ones(x.shape[1:]), a)
            T[a * p : (a + 1) * p, 0] = warm * h * slope
            T[(3 + a) * p : (4 + a) * p, 3] = warm * h**3 / 12.0 * slope
            for b in range(2):
                T[a * p : (a + 1) * p, 1 + b] = warm * h * (shapes.loads(x[b], a) + x0[b] * slope)
            T[a * p : (a + 1) * p, 3] += warm * h * x0[2] * slope
        T[:, 1:] = T[:, 1:] @ self.R.T
        # Components of the plate's axes are those of the structure's up to their order and signs.
        direction = np.abs(self.R).argmax(axis=0)
        sign = self.R[direction, np.arange(3)]
        component = np.array([*direction, *(3 + direction[:2])])
        turn = to_rotations @ scipy.sparse.diags(np.repeat([*sign, *sign[:2]], p))
        places = np.column_stack([basis.doflocs.T, np.zeros(p)]) @ self.R.T + origin
        rows = np.stack([np.tile(np.arange(p), 5), np.repeat(component, p)], axis=1)
        return Structure(
            places, turn.T @ M @ turn, turn.T @ K @ turn, rows, faces=self._faces(), thermal=turn.T @ T,
            elements=self, name=name,
        )  # fmt: skip

    def _faces(self) -> NDArray[np.int64]:
        """The triangles, each of sixteen between its nodes."""
        at = self.element.doflocs
        small = scipy.spatial.Delaunay(at).simplices
        dofs = self.basis.element_dofs
        faces = dofs[small.ravel()].reshape(len(small), 3, -1).transpose(2, 0, 1).reshape(-1, 3)
        (a, b), (c, d) = (self.basis.doflocs[:, faces[:, k]] - self.basis.doflocs[:, faces[:, 0]] for k in (1, 2))
        flipped = a * d < b * c
        faces[flipped] = faces[flipped][:, [0, 2, 1]]
        return faces

    def _gradients(self, shapes: Shapes, moved: Array) -> tuple[Array, Array]:
        """(k, 3, 2, elements, points) of displacements, (k, 2, 2, ...) of leanings, in the plate's axes."""
        u, turn = (np.einsum("ab,pak->pbk", self.R, part) for part in (moved[:, :3], moved[:, 3:]))
        return shapes.derivatives(u), shapes.derivatives(np.stack([turn[:, 1], -turn[:, 0]], axis=1))

    def _stress(self, grad: Array) -> Array:
        """(k, 2, 2, ...) of gradients in the plane."""
        strain = 0.5 * (grad + grad.swapaxes(1, 2))
        own, across = self.plane
        out = 2.0 * self.material.shear * strain
        xx, yy = strain[:, 0, 0], strain[:, 1, 1]
        out[:, 0, 0], out[:, 1, 1] = own * xx + across * yy, across * xx + own * yy
        return out

    def stress(self, moved: Array) -> Array:
        """(nodes, 6, k) at the face, the mean of the elements around."""
        skfem = fem()
        at = self.element.doflocs.T
        shapes = Shapes(skfem.Basis(self.mesh, self.element, quadrature=(at, np.ones(at.shape[1]))))
        u, lean = self._gradients(shapes, moved)
        plane = self._stress(u[:, :2] + 0.5 * self.h * lean)
        full = np.zeros((len(plane), 3, 3, *plane.shape[3:]))
        full[:, :2, :2] = plane
        return at_nodes(np.einsum("ab,kbceq,dc->kadeq", self.R, full, self.R), shapes)

    def geometric(self, loaded: Array, moved: Array) -> Array:
        """(l, n, n) by the stress of the middle surface."""
        stress = self._stress(self._gradients(self.shapes, loaded)[0][:, :2])
        return stiffness_by_stress(stress, self._gradients(self.shapes, moved)[0], self.h * self.shapes.weight)
