"""Modes of a structure: what is left of its many coordinates, by component mode synthesis.

All bases are referred to the inboard node: the rigid motion by which a vector moves it is taken away, so that it stands
still, as modes of `kido.flexible` do. Then the eigenvalue problem of the reduced stiffness and mass makes the basis
orthogonal.

Source: Craig and Bampton (1968), Coupling of substructures for dynamic analyses; Craig and Chang (1977), On the use of
attachment modes in substructure coupling for dynamic analysis; Wallrapp (1994), Standardization of flexible body
modeling in multibody system codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.attributes import named_arguments
from kido.errors import ModelError
from kido.flexible.integrals import PRODUCTS, modes_of
from kido.flexible.modes import ModeNode, Modes, numbers
from kido.flexible.structure import GROUNDED, Structure

Array = NDArray[np.float64]
METHODS = ("clamped", "craig-bampton", "free")
DEPENDENT = (
    1e-11  # share of a direction in a basis of unit vectors, in strain energy, below which it is none of its own
)


@named_arguments
def reduced_modes(
    structure: Structure,
    inboard: str,
    outboard: Sequence[str] = (),
    number: int = 6,
    method: str = "craig-bampton",
    stiffening: bool = True,
    thermal: bool = False,
    damping_ratio: ArrayLike = 0.0,
    rayleigh: ArrayLike = (0.0, 0.0),
) -> Modes:
    """The modes of a structure, for a flexible body whose frame is the structure's inboard node.

    Three methods of component mode synthesis, with k outboard nodes:

    - "clamped": the lowest `number` modes of the structure held at its inboard node;
    - "craig-bampton": deflections by a unit motion of each outboard node, 6 k, with the others held, and the lowest
      `number` modes with all of them held. Deflections by forces at nodes are exact;
    - "free": the lowest `number` elastic modes of the free structure, and what forces at inboard and outboard nodes do
      besides (residual attachment modes with inertia relief), 6 k + 6. Deflections by forces at nodes are exact, and so
      are the frequencies of the free structure.

    Args:
        structure: its nodes, masses and stiffnesses.
        inboard: the named node that becomes the body's frame, axes as those of the structure.
        outboard: named nodes that bodies will hang on.
        number: of normal modes, besides those of nodes.
        method: see above.
        stiffening: whether loads stiffen it, where its elements know how: as foreshortening does in beams.
        thermal: up to four more modes, deflections by warming and by gradients of temperature, so that they are exact.
        damping_ratio, rayleigh: as of `Modes`, for all modes in order of their frequencies.

    Returns:
        Modes by rising frequencies with the inboard node held, each with a largest displacement of 1.

    Raises:
        ModelError: a method that there is not, no mode at all, more than the structure has, nodes twice, a stiffness
            that is negative in some direction, parts without mass.
        NameLookupError: nodes that the structure does not have.
    """
    what = f"structure {structure.name!r}"
    if method not in METHODS:
        raise ModelError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
        raise ModelError(f"number: expected a whole number of normal modes, from 0, got {number!r}")
    names = [inboard, *outboard]
    if len(set(names)) < len(names):
        raise ModelError(f"{what}: expected an inboard node and outboard ones, all different, got {names}")
    held = structure.coordinates(inboard)
    bounds = [structure.coordinates(name) for name in outboard]
    bound = np.concatenate([np.zeros(0, np.int64), *bounds])
    if thermal and not structure.thermal.any():
        raise ModelError(f"{what}: thermal: it has no thermal load")
    M, K = structure.matrices()
    work = _Held(structure, M, K, held)
    if method == "clamped":
        basis = work.normal_modes(number, np.zeros(0, np.int64))
    elif method == "craig-bampton":
        basis = np.hstack([work.constraint_modes(bound), work.normal_modes(number, bound)])
    else:
        basis = work.free_modes(number, bound)
    if thermal:
        loads = structure.ties.T @ structure.thermal
        basis = np.hstack([basis, work.solved(loads[:, np.abs(loads).max(axis=0) > 0.0])])
    if not basis.shape[1]:
        raise ModelError(f"{what}: expected at least one mode: number is {number}, and there are no outboard nodes")
    return _made(structure, basis, work, inboard, outboard, stiffening, damping_ratio, rayleigh)


@named_arguments
def modes_of_vectors(
    structure: Structure,
    vectors: ArrayLike,
    inboard: str,
    outboard: Sequence[str] = (),
    stiffening: bool = True,
    damping_ratio: ArrayLike = 0.0,
    rayleigh: ArrayLike = (0.0, 0.0),
) -> Modes:
    """The modes of a structure by vectors of any kind, such as eigenvectors of another program.

    The rigid motion of the inboard node is taken out of them, what then deforms nothing is left out, and what is left
    is made orthogonal.

    Args:
        structure: their nodes, masses and stiffnesses, with no tied nodes.
        vectors: (N, k) over its rows, with any boundary conditions.
        inboard, outboard, stiffening, damping_ratio, rayleigh: as of `reduced_modes`.

    Raises:
        ModelError: vectors of another size, or that deform nothing; and as `reduced_modes`.
    """
    what = f"structure {structure.name!r}"
    N = len(structure.rows)
    if structure.num_coordinates != N:
        raise ModelError(f"{what}: vectors are those of a structure without tied nodes")
    given = numbers(vectors, f"{what}: vectors", (N, None))
    held = structure.coordinates(inboard)
    basis = given - structure.rigid_about(structure.place(inboard))[:, [3, 4, 5, 0, 1, 2]] @ given[held]
    M, K = structure.matrices()
    size = np.sqrt(np.einsum("ik,ik->k", basis, K @ basis) / np.einsum("ik,i,ik->k", given, K.diagonal(), given))
    basis = basis[:, size > np.sqrt(GROUNDED)]
    if not basis.shape[1]:
        raise ModelError(f"{what}: its {given.shape[1]} vectors are rigid motions; expected some that deform it")
    work = _Held(structure, M, K, held)
    return _made(structure, basis, work, inboard, outboard, stiffening, damping_ratio, rayleigh)


def _made(
    structure: Structure,
    basis: Array,
    work: _Held,
    inboard: str,
    outboard: Sequence[str],
    stiffening: bool,
    damping_ratio: ArrayLike,
    rayleigh: ArrayLike,
) -> Modes:
    """Modes that span what a basis spans, at rest at the inboard node."""
    M, K = work.M, work.K
    bounds = [structure.coordinates(name) for name in outboard]
    vectors, values = _orthogonal(M, K, basis, f"structure {structure.name!r}")
    vectors, values = _scaled(structure, vectors, values)
    phi, origin = structure.ties @ vectors, structure.place(inboard)
    bent = np.zeros((6 + 6 + 6 * len(bounds), len(values), len(values)))
    if stiffening and structure.elements is not None:
        inertial = _inertial(structure, origin)
        loads = np.hstack([structure.ties.T @ inertial, np.zeros((M.shape[0], 6 * len(bounds)))])
        for k, own in enumerate(bounds):
            loads[own, 12 + 6 * k + np.arange(6)] = 1.0
        deflected = structure.ties @ work.solved(loads)
        bent = structure.elements.geometric(structure.motions(deflected), structure.motions(phi))
        inner = structure.stiffness_matrix @ deflected
        inner[:, :12] -= inertial
        bent += _turned_pieces(structure, inner, vectors)
    nodes = [
        ModeNode(
            name, structure.place(name) - origin, vectors[own[:3]], vectors[own[3:]],
            *-bent[12 + 6 * k : 18 + 6 * k].reshape(2, 3, *bent.shape[1:]),
        )
        for k, (name, own) in enumerate(zip(outboard, bounds, strict=True))
    ]  # fmt: skip
    return modes_of(structure, phi, values, origin, nodes, bent[:12], damping_ratio, rayleigh)


class _Held:
    """A structure held at its inboard node: its modes, and what loads do."""

    def __init__(self, structure: Structure, M: Any, K: Any, held: NDArray[np.int64]):
        self.name, self.M, self.K, self.held = structure.name, M, K, held
        self.size = M.shape[0]
        self.factor, self.inner = self._factored(held)

    def _factored(self, held: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
        """Factors of the stiffness without the rows that are held, and those that are left."""
        inner = np.setdiff1d(np.arange(self.size), held)
        part = self.K[inner][:, inner].tocsc()
        try:
            factor = scipy.sparse.linalg.splu(
                part, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
            pivots = factor.U.diagonal()
        except RuntimeError:  # exactly singular
            pivots = np.zeros(1)
        # Sylvester's law: as many negative pivots as negative eigenvalues.
        negative = int((pivots < 0.0).sum())
        if negative:
            raise ModelError(
                f"structure {self.name!r}: its stiffness is negative in {negative} direction(s), with the inboard node "
                "held; expected a positive stiffness"
            )
        if not np.abs(pivots).min() > 1e-14 * np.abs(pivots).max():
            raise ModelError(
                f"structure {self.name!r}: with the inboard node held it can still move without any force; expected a "
                "stiffness that is positive then"
            )
        return factor, inner

    def solved(self, loads: Array) -> Array:
        """Deflections (size, k) by loads (size, k), with the inboard node held."""
        out = np.zeros(loads.shape)
        out[self.inner] = self.factor.solve(np.ascontiguousarray(loads[self.inner]))
        return out

    def constraint_modes(self, bound: NDArray[np.int64]) -> Array:
        """What a unit motion of each bound coordinate does, the other ones held (size, bound)."""
        out = np.zeros((self.size, len(bound)))
        if len(bound):
            factor, inner = self._factored(np.concatenate([self.held, bound]))
            out[bound, np.arange(len(bound))] = 1.0
            out[inner] = factor.solve(-self.K[inner][:, bound].toarray())
        return out

    def normal_modes(self, number: int, bound: NDArray[np.int64]) -> Array:
        """The lowest modes with inboard and bound coordinates held (size, number)."""
        out = np.zeros((self.size, number))
        if number:
            factor, inner = (
                self._factored(np.concatenate([self.held, bound])) if len(bound) else (self.factor, self.inner)
            )
            out[inner] = self._lowest(number, inner, factor)
        return out

    def free_modes(self, number: int, bound: NDArray[np.int64]) -> Array:
        """Elastic modes of the free structure and residual attachment modes, at rest at the inboard node."""
        R = self.rigid()
        MR = self.M @ R
        inertia = scipy.linalg.cho_factor(R.T @ MR)

        def relieved(loads: Array) -> Array:
            """Deflections by loads and the inertia forces that balance them, orthogonal to rigid motions."""
            x = self.solved(loads - MR @ scipy.linalg.cho_solve(inertia, R.T @ loads))
            return x - R @ scipy.linalg.cho_solve(inertia, MR.T @ x)

        at = np.concatenate([self.held, bound])
        loads = np.zeros((self.size, len(at)))
        loads[at, np.arange(len(at))] = 1.0
        parts = [relieved(loads)]
        if number:
            shift = self._lowest_free(number, R, MR, relieved)
            values = np.einsum("ik,ik->k", shift, self.K @ shift)
            parts[0] = parts[0] - shift @ ((shift.T @ loads) / values[:, None])
            parts.insert(0, shift)
        basis = np.hstack(parts)
        basis = basis - R @ basis[self.held]
        basis[self.held] = 0.0
        return basis

    def rigid(self) -> Array:
        """Rigid motions (size, 6) by unit motions of the inboard node: solutions of K x = 0."""
        out = np.zeros((self.size, 6))
        out[self.held] = np.eye(6)
        out[self.inner] = self.factor.solve(-self.K[self.inner][:, self.held].toarray())
        return out

    def _lowest(self, number: int, inner: NDArray[np.int64], factor: Any) -> Array:
        K, M = (A[inner][:, inner] for A in (self.K, self.M))
        if number > len(inner) // 2 or len(inner) < 200:
            return self._dense(number, K.toarray(), M.toarray())
        solve = scipy.sparse.linalg.LinearOperator(K.shape, matvec=factor.solve, dtype=float)
        start = np.random.default_rng(0).standard_normal(len(inner))
        values, V = scipy.sparse.linalg.eigsh(K, number, M, sigma=0.0, OPinv=solve, v0=start)
        return V[:, np.argsort(values)]

    def _lowest_free(self, number: int, R: Array, MR: Array, relieved: Any) -> Array:
        """Elastic modes of the free structure: eigenvectors of the relieved flexibility, of modal mass 1."""
        if number > self.size - 6:
            raise self._too_many(number, self.size - 6)
        if self.size < 400 or number > self.size // 2:
            inner = self.inner  # with the rigid motions taken out, those at rest at the inboard node are a basis
            T = np.zeros((self.size, len(inner)))
            T[inner] = np.eye(len(inner))
            T -= R @ np.linalg.solve(R.T @ MR, MR.T @ T)
            V = T @ self._dense(number, T.T @ (self.K @ T), T.T @ (self.M @ T))
        else:
            operator = scipy.sparse.linalg.LinearOperator(
                (self.size, self.size), matvec=lambda f: relieved(np.asarray(f).reshape(-1, 1)).ravel(), dtype=float
            )
            start = relieved(np.random.default_rng(0).standard_normal((self.size, 1))).ravel()
            values, V = scipy.sparse.linalg.eigsh(self.K, number, self.M, sigma=0.0, OPinv=operator, v0=start)
            V = V[:, np.argsort(values)]
        return V / np.sqrt(np.einsum("ik,ik->k", V, self.M @ V))

    def _dense(self, number: int, K: Array, M: Array) -> Array:
        if number > len(K):
            raise self._too_many(number, len(K))
        # The mass may be singular (massless rows), the stiffness is not: M x = (1 / w^2) K x.
        values, V = scipy.linalg.eigh(M, K, subset_by_index=(len(K) - number, len(K) - 1))
        found = int((values > 1e-14 * values.max(initial=0.0)).sum())
        if found < number:
            raise self._too_many(number, found)
        return V[:, ::-1]

    def _too_many(self, number: int, most: int) -> ModelError:
        return ModelError(f"structure {self.name!r}: {number} normal modes were asked for; it has {most}")


def _orthogonal(M: Any, K: Any, basis: Array, what: str) -> tuple[Array, Array]:
    """Vectors orthogonal in mass and stiffness, of modal mass 1, by rising frequencies; and their stiffnesses.

    Directions of the basis that are none of their own are left out.
    """
    strain = np.einsum("ik,ik->k", basis, K @ basis)
    if not (strain > 0.0).all():
        raise ModelError(f"{what}: its stiffness is not positive in direction {int(strain.argmin())} of its modes")
    basis = basis / np.sqrt(strain)
    values, V = np.linalg.eigh(basis.T @ (K @ basis))
    own = values > DEPENDENT * values[-1]
    basis = basis @ (V[:, own] / np.sqrt(values[own]))
    mass = basis.T @ (M @ basis)
    values, V = np.linalg.eigh(0.5 * (mass + mass.T))
    moving = values > 1e-14 * values[-1]
    if not moving.all():
        raise ModelError(f"{what}: {int((~moving).sum())} of its modes move no mass; expected mass wherever it deforms")
    order = np.argsort(-values)
    return basis @ (V[:, order] / np.sqrt(values[order])), 1.0 / values[order]


def _scaled(structure: Structure, vectors: Array, values: Array) -> tuple[Array, Array]:
    """Vectors with a largest displacement of 1, which is positive along the axis that it is largest along."""
    moved = structure.motions(structure.ties @ vectors)[:, :3]
    reach = np.linalg.norm(moved, axis=1)
    at = reach.argmax(axis=0)
    k = np.arange(len(values))
    own = moved[at, :, k]
    scale = np.sign(own[k, np.abs(own).argmax(axis=1)]) / reach[at, k]
    return vectors * scale, values * scale**2


def _turned_pieces(structure: Structure, forces: Array, vectors: Array) -> Array:
    """(l, n, n): what forces (N, l) that hold rigid pieces do where these turn by more than a linear motion has.

    A point at r from a piece's node moves by theta x r + theta x (theta x r) / 2; the work of a force f in the second
    term is theta^T (sym(f r^T) - (f . r) 1) theta / 2.
    """
    out = np.zeros((forces.shape[1], vectors.shape[1], vectors.shape[1]))
    for name in structure.nodes:
        place, rows = structure.place(name), structure.rows_of(name)
        rows = rows[structure.rows[rows, 1] < 3]
        node, component = structure.rows[rows].T
        moment = np.zeros((3, 3, forces.shape[1]))
        np.add.at(moment, component, (structure.positions[node] - place)[:, :, None] * forces[rows][:, None])
        work = 0.5 * (moment + moment.swapaxes(0, 1)) - np.einsum("aal->l", moment) * np.eye(3)[:, :, None]
        if moment.any():
            theta = vectors[structure.coordinates(name)[3:]]
            out += np.einsum("am,abl,bn->lmn", theta, work, theta)
    return out


def _inertial(structure: Structure, origin: Array) -> Array:
    """Loads (N, 12) by unit motions of the body's frame: inertia forces of linear and of angular acceleration along
    the axes, and centrifugal ones by products of angular velocities (xx, xy, xz, yy, yz, zz)."""
    rigid = structure.rigid_about(origin)
    straight = (structure.rows[:, 1] < 3)[:, None]
    rho = structure.positions[structure.rows[:, 0]] - origin
    component = structure.rows[:, 1]
    out = [-rigid[:, 3:], -rigid[:, :3]]
    for a, b in PRODUCTS:
        # x - (e_a x_b + e_b x_a) / 2 along each row's axis
        field = (a == b) * rho[np.arange(len(rho)), component % 3]
        field = field - 0.5 * ((component == a) * rho[:, b] + (component == b) * rho[:, a])
        out.append(field[:, None])
    loads = np.hstack(out) * straight
    return structure.mass_matrix @ loads
