"""Structures: nodes with masses and stiffnesses, of finite elements or of files, before modes are made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed
from kido.attributes import FixedAttributes
from kido.errors import ModelError, NameLookupError
from kido.flexible.modes import numbers

Array = NDArray[np.float64]
VOIGT = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))  # components of a symmetric tensor, as surfaces have them
SYMMETRY = 1e-6  # share of a matrix's largest entry by which it may be unsymmetric: rounding of printed digits
GROUNDED = 1e-5  # share of the stiffness of its rows that a rigid motion may meet: the same


class Elements(Protocol):
    """What finite elements tell besides matrices."""

    def stress(self, moved: Array) -> Array:
        """(p, 6, k) stress (xx, yy, zz, yz, xz, xy) at nodes by their displacements and rotations (p, 6, k) [Pa]."""
        ...

    def geometric(self, loaded: Array, moved: Array) -> Array:
        """(l, n, n) stiffness of motions (p, 6, n) by the stress of static deflections (p, 6, l)."""
        ...


class Structure(FixedAttributes):
    """A linear elastic structure: nodes, and matrices of mass and stiffness over their displacements and rotations.

    A *row* of the matrices is one component of one node: 0, 1, 2 are displacements along x, y, z, and 3, 4, 5 rotations
    about them. Nodes may have some of these only. Modes hold and lead named nodes, which have all six: `tied` makes one
    of several nodes that move as one rigid piece, such as those of a flange.

    Args:
        positions: (p, 3) of the nodes, undeformed [m].
        mass, stiffness: (N, N), symmetric, dense or sparse of SciPy [kg, kg m, kg m^2; N/m, N, N m].
        rows: (N, 2) the node and the component of each row; by default three or six of each node in order, whichever
            fits.
        nodes: numbers of nodes by name.
        faces: (f, 3) nodes of triangles of its surface, counter-clockwise from outside.
        thermal: (N, 4) forces by which it would deform: per kelvin of warming, and per K/m of a gradient of
            temperature along x, y and z, which is zero at the origin.
        labels: (p,) numbers of the nodes in the file that they are from; by default 0, 1, ...
        elements: what knows its stresses and geometric stiffness; see `Elements`.
        name: for messages.

    Raises:
        ModelError: sizes that do not fit, numbers that are not finite, matrices that are not symmetric, nodes that
            there are not, parts that nothing joins, a stiffness against rigid motions.
    """

    def __init__(
        self,
        positions: ArrayLike,
        mass: Any,
        stiffness: Any,
        rows: ArrayLike | None = None,
        nodes: Mapping[str, int] | None = None,
        faces: ArrayLike | None = None,
        thermal: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        elements: Elements | None = None,
        name: str = "structure",
    ):
        self.name, self.elements = str(name), elements
        what = f"structure {self.name!r}"
        self.positions = fixed(numbers(positions, f"{what}: positions", (None, 3)))
        p = len(self.positions)
        self.labels = fixed(
            np.arange(p) if labels is None else numbers(labels, f"{what}: labels", (p,)).astype(np.int64)
        )
        self.mass_matrix, self.stiffness_matrix = (
            _sparse(M, f"{what}: {kind}") for M, kind in ((mass, "mass"), (stiffness, "stiffness"))
        )
        N = self.mass_matrix.shape[0]
        if self.stiffness_matrix.shape[0] != N:
            raise ModelError(f"{what}: {N} rows of mass and {self.stiffness_matrix.shape[0]} of stiffness")
        self.rows = fixed(_rows(rows, p, N, what))
        self.faces = fixed(_whole(np.zeros((0, 3)) if faces is None else faces, f"{what}: faces", (None, 3), p))
        load = np.zeros((N, 4)) if thermal is None else numbers(thermal, f"{what}: thermal", (N, 4))
        self.thermal = fixed(load)
        self.rigid = fixed(self._rigid_motions())
        self._check_parts()
        self._check_free()
        # Rows of the matrices from coordinates of the tied structure; coordinates of each named node.
        self.ties: Any = scipy.sparse.identity(N, format="csc")
        self._named: dict[str, tuple[Array, NDArray[np.int64]]] = {}
        for key, k in (nodes or {}).items():
            known = isinstance(k, int | np.integer) and 0 <= k < p
            if not known:
                raise ModelError(f"{what}: node {key!r}: expected a number from 0 to below {p}, got {k!r}")
            own = np.flatnonzero(self.rows[:, 0] == k)
            self._named[str(key)] = self.positions[k], own[np.argsort(self.rows[own, 1])]

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of its named nodes."""
        return tuple(self._named)

    @property
    def num_coordinates(self) -> int:
        """Of the tied structure."""
        return self.ties.shape[1]

    @property
    def mass(self) -> float:
        """Of all [kg]."""
        return float(self.rigid[:, 3] @ (self.mass_matrix @ self.rigid[:, 3]))

    def place(self, node: str) -> Array:
        """Where a named node is (3,) [m].

        Raises:
            NameLookupError: there is none of this name; lists them.
        """
        return self._of(node)[0]

    def coordinates(self, node: str) -> NDArray[np.int64]:
        """The six coordinates of a named node in the tied structure: displacements, then rotations.

        Raises:
            NameLookupError: there is none of this name; lists them.
            ModelError: it has not all six.
        """
        found = self._of(node)[1]
        if len(found) != 6:
            raise ModelError(
                f"structure {self.name!r}: node {node!r} has {len(found)} of three displacements and three rotations; "
                "a node that moves and turns something has all: make one of several nodes by Structure.tied"
            )
        return found

    def rows_of(self, node: str) -> NDArray[np.int64]:
        """Rows that move with a named node.

        Raises:
            NameLookupError: there is none of this name; lists them.
        """
        return np.flatnonzero(self.ties[:, self._of(node)[1]].getnnz(axis=1))

    def matrices(self) -> tuple[Any, Any]:
        """Mass and stiffness (sparse) over the coordinates of the tied structure."""
        return tuple((self.ties.T @ A @ self.ties).tocsc() for A in (self.mass_matrix, self.stiffness_matrix))  # type: ignore[return-value]

    def labelled(self, labels: ArrayLike) -> NDArray[np.int64]:
        """Numbers of the nodes with some labels.

        Raises:
            ModelError: there is no such label.
        """
        wanted = np.atleast_1d(np.asarray(labels))
        order = np.argsort(self.labels)
        at = np.searchsorted(self.labels, wanted, sorter=order).clip(max=len(order) - 1)
        wrong = self.labels[order[at]] != wanted
        if wrong.any():
            raise ModelError(f"structure {self.name!r} has no node {wanted[wrong][0]}")
        return order[at]

    def near(self, position: ArrayLike, radius: float) -> NDArray[np.int64]:
        """Numbers of the nodes within a distance of a place [m]."""
        reach = np.linalg.norm(self.positions - numbers(position, "position", (3,)), axis=1)
        return np.flatnonzero(reach <= radius)

    def tied(self, node: str, position: ArrayLike, numbers_of_nodes: ArrayLike) -> Structure:
        """The structure with one more named node, with which several nodes move as one rigid piece.

        The matrices over what is left are T^T M T and T^T K T, where T has the motions of the tied nodes by the six of
        the named one.

        Args:
            node: its name.
            position: where it is (3,) [m]; need not be on the structure.
            numbers_of_nodes: of those that move with it.

        Raises:
            ModelError: a name that is taken, no nodes or some that there are not or that are tied already, nodes on a
                line, which leave it free to turn.
        """
        what = f"structure {self.name!r}: node {node!r}"
        if node in self._named:
            raise ModelError(f"{what} exists already")
        place = numbers(position, f"{what}: position", (3,))
        chosen = np.unique(_whole(np.atleast_1d(numbers_of_nodes), f"{what}: nodes", (None,), len(self.positions)))
        own = np.flatnonzero(np.isin(self.rows[:, 0], chosen))
        if not len(own):
            raise ModelError(f"{what}: expected nodes that are to move with it, got none")
        single = np.asarray(self.ties[own].getnnz(axis=1) == 1).ravel()
        coordinates = np.asarray(self.ties[own].argmax(axis=1)).ravel()
        shared = np.asarray(self.ties.getnnz(axis=0)).ravel()[coordinates]
        of_named = np.isin(coordinates, np.concatenate([[-1], *(c for _, c in self._named.values())]))
        taken = ~single | (shared > 1) | of_named
        if taken.any():
            k = int(self.rows[own[taken][0], 0])
            raise ModelError(f"{what}: node {k} of those tied to it is a named node or tied to one already")
        motion = self.rigid_about(place)[own][:, [3, 4, 5, 0, 1, 2]]
        size = np.array([1.0] * 3 + [max(float(np.ptp(self.positions, axis=0).max()), 1e-300)] * 3)
        if np.linalg.matrix_rank(motion / size, tol=1e-9 * np.sqrt(len(own))) < 6:
            raise ModelError(
                f"{what}: the {len(chosen)} nodes tied to it lie on a line, so that it could turn about it; "
                "tie more of them"
            )
        left = np.setdiff1d(np.arange(self.num_coordinates), coordinates)
        made = Structure.__new__(Structure)
        made.__dict__.update(self.__dict__)
        block = scipy.sparse.lil_matrix((self.ties.shape[0], 6))
        block[own] = motion
        made.ties = scipy.sparse.hstack([self.ties[:, left], block], format="csc")
        moved = np.full(self.num_coordinates, -1)
        moved[left] = np.arange(len(left))
        made._named = {key: (x, moved[c]) for key, (x, c) in self._named.items()}
        made._named[str(node)] = fixed(place), len(left) + np.arange(6)
        return made

    def rigid_about(self, place: Array) -> Array:
        """(N, 6): what rows do in rotations about axes through a place, and in displacements along them."""
        out = self.rigid.copy()
        out[:, :3] -= out[:, 3:] @ np.cross(np.eye(3), place).T
        return out

    def motions(self, vectors: Array) -> Array:
        """(p, 6, ...) displacements and rotations of all nodes of vectors (N, ...) over the rows of the matrices."""
        out = np.zeros((len(self.positions), 6, *vectors.shape[1:]))
        out[self.rows[:, 0], self.rows[:, 1]] = vectors
        return out

    def turned(self, vectors: Array) -> Array:
        """(3, N, ...): e_a x the displacements of vectors (N, ...), for each axis a; rotations become zero."""
        moved = self.motions(vectors)[:, :3]
        out = np.zeros((3, *vectors.shape))
        straight = np.flatnonzero(self.rows[:, 1] < 3)
        node, component = self.rows[straight].T
        for a, e in enumerate(np.eye(3)):
            around = np.moveaxis(np.cross(e, np.moveaxis(moved, 1, -1)), -1, 1)
            out[a, straight] = around[node, component]
        return out

    def _of(self, node: str) -> tuple[Array, NDArray[np.int64]]:
        if node not in self._named:
            raise NameLookupError(f"node of structure {self.name!r}", node, list(self._named))
        return self._named[node]

    def _rigid_motions(self) -> Array:
        """(N, 6): what rows do in rotations about the axes through the origin, then in displacements along them."""
        node, component = self.rows.T
        every = np.zeros((len(self.positions), 6, 6))
        for a, e in enumerate(np.eye(3)):
            every[:, :3, a] = np.cross(e, self.positions)
            every[:, 3 + a, a], every[:, a, 3 + a] = 1.0, 1.0
        return every[node, component]

    def _check_parts(self) -> None:
        """All nodes that have mass hang together."""
        links = abs(self.stiffness_matrix)
        joined = scipy.sparse.csr_matrix(
            (np.ones(len(self.rows)), (self.rows[:, 0], np.arange(len(self.rows)))),
            (len(self.positions), len(self.rows)),
        )
        count, part = scipy.sparse.csgraph.connected_components(joined @ links @ joined.T, directed=False)
        if count > 1:
            used = np.isin(np.arange(len(part)), self.rows[:, 0])
            sizes = np.bincount(part[used], minlength=count)
            sizes = np.sort(sizes[sizes > 0])[::-1]
            if len(sizes) > 1:
                shown = " and ".join(str(s) for s in sizes[:4]) + (" and more" if len(sizes) > 4 else "")
                raise ModelError(
                    f"structure {self.name!r} is of {len(sizes)} parts, of {shown} nodes, that nothing joins; expected "
                    "one that hangs together"
                )

    def _check_free(self) -> None:
        """Nothing holds it."""
        resisted = np.abs(np.einsum("na,na->a", self.rigid, self.stiffness_matrix @ self.rigid))
        own = np.einsum("na,n,na->a", self.rigid, np.abs(self.stiffness_matrix.diagonal()), self.rigid)
        if (resisted > GROUNDED * own).any():
            a = int((resisted / np.maximum(own, 1e-300)).argmax())
            motion = ("rotation about ", "displacement along ")[a // 3] + "xyz"[a % 3]
            raise ModelError(
                f"structure {self.name!r}: its stiffness resists a rigid {motion} by {resisted[a] / own[a]:.2g} of its "
                "rows' own; expected that of a structure that nothing holds"
            )

    def __repr__(self) -> str:
        named = ", ".join(self.nodes) or "none"
        return (
            f"Structure({self.name!r}: {len(self.positions)} nodes, {len(self.rows)} rows, "
            f"{self.mass:.4g} kg; named: {named})"
        )


def _sparse(given: Any, what: str) -> Any:
    """A symmetric matrix (csc) of a dense or sparse one."""
    if not scipy.sparse.issparse(given):
        given = numbers(given, what, (None, None))
    M = scipy.sparse.csc_matrix(given, dtype=float)
    if M.shape[0] != M.shape[1]:
        raise ModelError(f"{what}: expected a square matrix, got one of {M.shape[0]} x {M.shape[1]}")
    if not np.isfinite(M.data).all():
        raise ModelError(f"{what}: expected finite numbers")
    largest = float(abs(M).max()) if M.nnz else 0.0
    if not largest > 0.0:
        raise ModelError(f"{what}: expected numbers that are not all zero")
    off = float(abs(M - M.T).max())
    if off > SYMMETRY * largest:
        raise ModelError(f"{what}: expected a symmetric matrix; it differs from its transpose by {off:.3g}")
    return (0.5 * (M + M.T)).tocsc()


def _rows(rows: ArrayLike | None, p: int, N: int, what: str) -> NDArray[np.int64]:
    if rows is None:
        if N not in (3 * p, 6 * p):
            raise ModelError(f"{what}: {N} rows of {p} nodes; expected 3 or 6 of each, or rows that say which")
        return np.stack(np.divmod(np.arange(N), N // p), axis=1).astype(np.int64)
    found = np.stack(
        [
            _whole(column, f"{what}: rows", (N,), below)
            for column, below in zip(numbers(rows, f"{what}: rows", (N, 2)).T, (p, 6), strict=True)
        ],
        axis=1,
    )
    twice = len(np.unique(found, axis=0)) < N
    if twice:
        raise ModelError(f"{what}: rows: a component of a node has two rows")
    return found


def _whole(value: Any, what: str, shape: Sequence[int | None], below: int) -> NDArray[np.int64]:
    given = numbers(value, what, tuple(shape))
    found = given.astype(np.int64)
    wrong = (found != given) | (found < 0) | (found >= below)
    if wrong.any():
        raise ModelError(f"{what}: expected whole numbers from 0 to below {below}, got {given[wrong].flat[0]:g}")
    return found
