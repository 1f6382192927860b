"""Operational space: compliance, inertia and bias of one or many nodes, by articulated bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import empty
from numpy.typing import ArrayLike

from kido.errors import ModelError, StateError
from kido.kernels import operational_entries as entries
from kido.kernels.entries import REFUSED
from kido.math.transform import as_numbers, number_or_nan
from kido.skeleton.arrays import Array
from kido.skeleton.results.articulated import SkeletonArticulated
from kido.skeleton.results.selections import NOTHING
from kido.skeleton.state.subsets import Dofs

_ROWS = {"all": (0, 6), "angular": (0, 3), "linear": (3, 3)}
_COMPLIANCE_TOLERANCE = 1e-10  # of the largest eigenvalue of a compliance, below which a direction does not move at all


class SkeletonOperationalSpace(SkeletonArticulated):
    """How points of the skeleton give way together.

    `nodes` is a node or a list of them: bodies, names or indices, or nodes on bodies, of any of its trees; `offsets`
    (nodes, 3) are points from their origins in their own axes [m]. Rows are those of the nodes' Jacobians J, one
    below the other: [angular; linear] of each in world axes, or with `rows` "angular" or "linear" alone.

    `prescribed` names coordinates that do not give way, whatever acts on them (locked joints); None: all are free. With
    M, J those of the free coordinates, and C = C(q, u) u + g(q):

        Lambda^-1 = J M^-1 J^T (compliance),    F = Lambda xdd + mu,    mu = Lambda (J M^-1 C - Jdot u)

    Where nodes cannot move independently, Lambda^-1 is singular and Lambda its pseudo-inverse: eigenvalues below 1e-10
    of the largest count as zero. With `damping` [1/kg, 1/(kg m^2)] it is (Lambda^-1 + damping 1)^-1 instead.

    Sources: Khatib (1987), "A unified approach for motion and force control of robot manipulators"; Jain (2013),
    section III; Wensing, Featherstone, Orin (2012), "A reduced-order recursive algorithm for the computation of the
    operational-space inertia matrix".
    """

    # Arguments -------------------------------------------------------------------------------------------

    def _row_range(self, rows: str) -> tuple[int, int]:
        if not isinstance(rows, str) or rows not in _ROWS:
            raise ModelError(f"skeleton {self.name!r}: rows: expected 'all', 'angular' or 'linear', got {rows!r}")
        return _ROWS[rows]

    def _damping(self, damping: float) -> float:
        number = number_or_nan(damping)
        if not 0.0 <= number < np.inf:
            raise ModelError(f"skeleton {self.name!r}: damping: expected a number not below 0, got {damping!r}")
        return number

    # Matrices --------------------------------------------------------------------------------------------

    def operational_space_compliance(
        self, nodes: Any, offsets: ArrayLike | None = None, rows: str = "all", prescribed: Dofs | None = None
    ) -> Array:
        """Lambda^-1 = J M^-1 J^T (rows, rows), symmetric, of the current positions: accelerations by unit forces.

        O(n + m d + m^2) for m nodes at depth d; J and M are not formed.

        Args:
            nodes, offsets, rows, prescribed: see the class.

        Raises:
            ModelError: no node of it, another `rows`, or the inertia seen by a coordinate is not positive.
        """
        return self._compliance(nodes, offsets, rows, prescribed, None)

    def compute_operational_space_compliance(
        self,
        positions: ArrayLike,
        nodes: Any,
        offsets: ArrayLike | None = None,
        rows: str = "all",
        prescribed: Dofs | None = None,
    ) -> Array:
        """`operational_space_compliance` at given positions; the current state stays."""
        return self._compliance(nodes, offsets, rows, prescribed, positions)

    def _compliance(self, nodes: Any, offsets: Any, rows: str, prescribed: Any, positions: ArrayLike | None) -> Array:
        first, count = self._row_range(rows)
        w = self._nodes(nodes, offsets)
        flags = NOTHING if prescribed is None else self._flags(prescribed)
        size = count * w.link.shape[0]
        out = empty((size, size))
        self._called(entries.operational_compliance, (w.address,), flags, positions, first, count, out)
        return out

    def operational_space_inertia(
        self,
        nodes: Any,
        offsets: ArrayLike | None = None,
        rows: str = "all",
        damping: float = 0.0,
        prescribed: Dofs | None = None,
    ) -> Array:
        """Lambda (rows, rows), symmetric, of the current positions: the inertia that forces on the nodes feel.

        Args:
            nodes, offsets, rows, damping, prescribed: see the class.

        Raises:
            ModelError: no node of it, another `rows`, or the inertia seen by a coordinate is not positive.
        """
        return self._inertia(nodes, offsets, rows, damping, prescribed, None)

    def compute_operational_space_inertia(
        self,
        positions: ArrayLike,
        nodes: Any,
        offsets: ArrayLike | None = None,
        rows: str = "all",
        damping: float = 0.0,
        prescribed: Dofs | None = None,
    ) -> Array:
        """`operational_space_inertia` at given positions; the current state stays."""
        return self._inertia(nodes, offsets, rows, damping, prescribed, positions)

    def _inertia(
        self, nodes: Any, offsets: Any, rows: str, damping: float, prescribed: Any, positions: ArrayLike | None
    ) -> Array:
        first, count = self._row_range(rows)
        more = damping if type(damping) is float and damping == 0.0 else self._damping(damping)
        w = self._nodes(nodes, offsets)
        flags = NOTHING if prescribed is None else self._flags(prescribed)
        size = count * w.link.shape[0]
        A, out = empty((size, size)), empty((size, size))
        arguments = first, count, more, A, out
        status = self._called(entries.operational_inertia, (w.address,), flags, positions, *arguments)
        return _pseudo_inverse(A) if status == entries.SINGULAR else out

    def dynamically_consistent_inverse(
        self,
        nodes: Any,
        offsets: ArrayLike | None = None,
        rows: str = "all",
        damping: float = 0.0,
        prescribed: Dofs | None = None,
    ) -> Array:
        """Jbar = M^-1 J^T Lambda (dofs, rows) of the current positions; J Jbar = 1 where the nodes move independently.

        Of all velocities that give the nodes theirs, Jbar v has the least kinetic energy; joint forces
        (1 - J^T Jbar^T) T do not accelerate the nodes. Rows of prescribed coordinates are zero.

        Args:
            nodes, offsets, rows, damping, prescribed: see the class.
        """
        first, count = self._row_range(rows)
        more = self._damping(damping)
        J, Y = self._responses(nodes, offsets, prescribed)
        chosen = _chosen(len(J) // 6, first, count)
        J, Y = J[chosen], Y[chosen]
        A = J @ Y.T
        A = 0.5 * (A + A.T) + more * np.eye(len(A))
        return Y.T @ _pseudo_inverse(A)

    def node_responses(
        self, nodes: Any, offsets: ArrayLike | None = None, rows: str = "all", prescribed: Dofs | None = None
    ) -> Array:
        """M^-1 J^T (dofs, rows) of the current positions: velocity changes by unit impulses on the nodes.

        Args:
            nodes, offsets, rows, prescribed: see the class.
        """
        first, count = self._row_range(rows)
        _, Y = self._responses(nodes, offsets, prescribed)
        return Y[_chosen(len(Y) // 6, first, count)].T.copy()

    def _responses(self, nodes: Any, offsets: Any, prescribed: Any) -> tuple[Array, Array]:
        """J and (M^-1 J^T)^T, (6 nodes, dofs)."""
        w, flags, n = self._nodes(nodes, offsets, False), self._flags(prescribed), len(self._dofs)
        d = self._with_transforms()
        J, Y = empty((2, 6 * len(w.link), n))
        flat = J.reshape(-1), Y.reshape(-1)
        self._check_pivot(self._of_current(entries.node_responses, d, w.address, 0, flags, NOTHING, *flat))
        return J, Y

    # Accelerations and forces ----------------------------------------------------------------------------

    def _node_accelerations(
        self, w: Any, prescribed: Any, q: ArrayLike, u: ArrayLike, udot: ArrayLike, tau: ArrayLike, free: bool
    ) -> Array:
        s = self._ready or self._workspace()
        flags, out = self._flags(prescribed), empty((len(w.link), 6))
        n = len(self._dofs)
        given = [self._vector(x, n, what) for x, what in ((q, "positions"), (u, "velocities"))]
        status = entries.node_accelerations.call(s.tree, s.data, w.address, int(free), flags, *given, udot, tau, out)
        if status == REFUSED:
            for what, vector in zip(("positions", "velocities"), given, strict=True):
                if not np.isfinite(vector).all():
                    self._raise_not_finite(what, vector)
        self._check_pivot(status)
        return out

    def operational_space_velocity_product(
        self, nodes: Any, offsets: ArrayLike | None = None, rows: str = "all"
    ) -> Array:
        """Jdot u (rows,): [angular; classic linear] acceleration of the nodes at zero udot, of the current state, O(n).

        Args:
            nodes, offsets, rows: see the class.
        """
        d = self._compiled()
        return self.compute_operational_space_velocity_product(d.q, d.u, nodes, offsets, rows)

    def compute_operational_space_velocity_product(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        nodes: Any,
        offsets: ArrayLike | None = None,
        rows: str = "all",
    ) -> Array:
        """`operational_space_velocity_product` of a given state; the current state stays."""
        first, count = self._row_range(rows)
        w, zero = self._nodes(nodes, offsets, False), np.zeros(len(self._dofs))
        A = self._node_accelerations(w, None, positions, velocities, zero, zero, False)
        return A[:, first : first + count].reshape(-1)

    def operational_space_bias(
        self,
        nodes: Any,
        offsets: ArrayLike | None = None,
        rows: str = "all",
        damping: float = 0.0,
        prescribed: Dofs | None = None,
    ) -> Array:
        """mu (rows,) of F = Lambda xdd + mu, of the current state: what holds the nodes against gravity and velocities.

        mu = Lambda (J M^-1 C - Jdot u) is -Lambda times the nodes' accelerations without joint forces, which forward
        dynamics has in O(n). Prescribed coordinates do not accelerate. External forces are no part of it.

        Args:
            nodes, offsets, rows, damping, prescribed: see the class.
        """
        d = self._compiled()
        return self.compute_operational_space_bias(d.q, d.u, nodes, offsets, rows, damping, prescribed)

    def compute_operational_space_bias(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        nodes: Any,
        offsets: ArrayLike | None = None,
        rows: str = "all",
        damping: float = 0.0,
        prescribed: Dofs | None = None,
    ) -> Array:
        """`operational_space_bias` of a given state; the current state stays."""
        first, count = self._row_range(rows)
        w, zero = self._nodes(nodes, offsets, False), np.zeros(len(self._dofs))
        A = self._node_accelerations(w, prescribed, positions, velocities, zero, zero, True)
        inertia = self._inertia(nodes, offsets, rows, damping, prescribed, positions)
        return -inertia @ A[:, first : first + count].reshape(-1)

    def joint_forces_of_wrenches(self, nodes: Any, wrenches: ArrayLike, offsets: ArrayLike | None = None) -> Array:
        """J^T f (dofs,): joint forces that do what wrenches on nodes do, of the current positions; O(n), without J.

        Args:
            nodes, offsets: see the class.
            wrenches: (nodes, 6), or (6,) for one, [torque; force] at the points, world axes [N m, N].

        Raises:
            StateError: wrenches of another shape, or not finite.
        """
        w = self._nodes(nodes, offsets, False)
        shape = len(w.link), 6
        try:
            given = as_numbers(wrenches)
        except (TypeError, ValueError):
            given = np.zeros(0)
        if given.shape == (6,) and shape[0] == 1:
            given = given[None]
        if given.shape != shape or not np.isfinite(given).all():
            raise StateError(
                f"skeleton {self.name!r}: wrenches: expected finite numbers of shape {shape}, got {wrenches!r}"
            )
        d, out = self._with_transforms(), empty(len(self._dofs))
        self._of_current(entries.gather_wrenches, d, w.address, 0, NOTHING, np.ascontiguousarray(given, float), out)
        return out


def _chosen(nodes: int, first: int, count: int) -> Any:
    return (6 * np.arange(nodes)[:, None] + np.arange(first, first + count)).reshape(-1)


def _pseudo_inverse(A: Array) -> Array:
    """Of a symmetric matrix that is not negative."""
    if not len(A):
        return np.zeros_like(A)
    values, vectors = np.linalg.eigh(A)
    kept = values > _COMPLIANCE_TOLERANCE * max(float(values[-1]), 0.0)
    V = vectors[:, kept]
    return (V / values[kept]) @ V.T
