"""Closed chains with flexible bodies: accelerations at a state by three formulations that share no matrix.

All take independent rows, chosen by a pivoted QR factorization of G, and free coordinates, those that nothing
prescribes. With N = M^-1 G^T by sweeps over articulated bodies, and c the bias:

* TA: (G N) lambda = gamma - G a, a the accelerations of the open tree, then udot = a + N lambda; M is not formed.
* FA: [M, -G^T; G, 0] [udot; lambda] = [T - c; gamma], by Gaussian elimination.
* CE: udot = X v + b with G X = 0, G b = gamma, X the unit matrix for independent coordinates, and
  X^T M X v = X^T (T - c - M b).

Source: Jain (2013), Multibody graph transformations and analysis; the choice of rows is Businger and Golub (1965).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from kido.dynamics.flexible_rows import evaluate_rows
from kido.dynamics.solver import DynamicsSolver, project_dependent
from kido.errors import ModelError, StateError
from kido.flexible import entries
from kido.kernels.entries import OK

Array = NDArray[np.float64]
RANK = 1e-10  # of the largest pivot, below which rows follow from others


class FlexibleSolver(DynamicsSolver):
    """What the three have in common; `_solve` is theirs."""

    _accelerate: ClassVar[Any] = project_dependent  # motions do not run compiled
    _respond: ClassVar[Any] = project_dependent

    def _make_own(self) -> Any:
        return None

    # Sweeps ----------------------------------------------------------------------------------------------

    def _call(self, entry: Any, *arguments: Any) -> None:
        system = self.system
        status = entry(system.tree.address, self.data.address, system.flex.address, *arguments)
        if status != OK:
            system.skeleton.current_state.raise_singular(status - 2)

    @property
    def _free(self) -> NDArray[np.bool_]:
        return self.system.tree.prescribed == 0

    def _mass(self, q: Array) -> Array:
        self._inverse(q, np.zeros((1, len(q))))  # refuses what is not positive, by name
        M = np.empty((len(q),) * 2)
        self._call(entries.mass_matrix, q, M)
        return M

    def _bias(self, q: Array, u: Array) -> Array:
        """C(q, u) less external forces."""
        out = np.empty(len(q))
        self._call(entries.inverse_dynamics, q, u, np.zeros(len(q)), 0, out)
        return out

    def _open(self, q: Array, u: Array, tau: Array, given: Array) -> Array:
        """Accelerations of the tree without rows."""
        out = np.empty(len(q))
        self.data.udot[:] = given
        self._call(entries.forward_dynamics, q, u, tau, 0, out)
        return out

    def _inverse(self, q: Array, rows: Array) -> Array:
        """M^-1 times each row, prescribed coordinates held."""
        out = np.empty_like(rows)
        if len(rows):
            self._call(entries.responses, q, np.ascontiguousarray(rows), out)
        return out

    # Calls -----------------------------------------------------------------------------------------------

    def accelerate(self, q: Array, u: Array, forces: Array | None = None, time: float = 0.0) -> Array:
        """See `DynamicsSolver.accelerate`."""
        y, d, system = self.container, self.data, self.system
        system.load(y, forces, time)
        d.q[:], d.u[:] = q, u
        _, G, _, gamma = rows_at(system, y)
        tau, given = d.tau.copy(), np.where(self._free, 0.0, d.udot)
        udot, rate = self._solved(q, u, G, gamma, tau, given)
        d.q[:], d.u[:], d.udot[:], d.tau[:] = q, u, udot, tau
        y.residual[: len(G)] = rate - G @ udot
        return udot

    def respond(self, q: Array, impulse: Array, jump: Array) -> Array:
        """See `DynamicsSolver.respond`."""
        d, y = self.data, self.container
        d.q[:], d.u[:] = q, 0.0
        G = rows_at(self.system, y)[1]
        rows = self._independent(G)
        free = self._free
        Y = self._inverse(q, np.vstack([np.where(free, impulse, 0.0), np.where(free, G[rows], 0.0)]))
        change, N = Y[0], Y[1:]
        if len(rows):
            change = change + np.linalg.solve(G[rows] @ N.T, jump[rows] - G[rows] @ change) @ N
        y.change[:] = change
        return change

    def _independent(self, G: Array) -> NDArray[np.intp]:
        """Rows of G that do not follow from others, on free coordinates."""
        A = np.where(self._free, G, 0.0)
        size = np.linalg.norm(A, axis=1)
        A = A / np.where(size > 0.0, size, 1.0)[:, None]
        if not A.size:
            return np.zeros(0, np.intp)
        R, order = scipy.linalg.qr(A.T, mode="r", pivoting=True)
        pivots = np.abs(np.diag(R))
        return np.sort(order[: int((pivots > RANK * max(pivots[0], RANK)).sum())])

    def _solved(self, q: Array, u: Array, G: Array, gamma: Array, tau: Array, given: Array) -> tuple[Array, Array]:
        y = self.container
        rows = self._independent(G)
        udot, force = self._solve(q, u, G[rows], gamma[rows], tau, given)
        if not np.isfinite(udot).all():
            raise StateError(
                f"skeleton {self.system.skeleton.name!r}: solver {self.name}: accelerations are not finite"
            )
        m = len(G)
        y.multiplier[:m], y.redundant[:m], y.rank = 0.0, 1, len(rows)
        y.multiplier[rows], y.redundant[rows] = force, 0
        y.constraint_force[:] = force @ G[rows]
        return udot, gamma

    @abstractmethod
    def _solve(self, q: Array, u: Array, G: Array, gamma: Array, tau: Array, given: Array) -> tuple[Array, Array]:
        """udot and the force of each row, of rows that are independent."""


class FlexibleTree(FlexibleSolver):
    """A tree that no rows hold."""

    name = "tree"

    def _make_own(self) -> Any:
        system = self.system
        if system.num_rows:
            raise ModelError(
                f"skeleton {system.skeleton.name!r}: solver tree takes no constraints, and there are "
                f"{len(system.constraints)}; take TA or FA"
            )

    def _solve(self, q, u, G, gamma, tau, given):
        return self._open(q, u, tau, given), np.zeros(len(G))


class FlexibleTreeAugmented(FlexibleSolver):
    """TA by sweeps."""

    name = "TA"

    def _solve(self, q, u, G, gamma, tau, given):
        a = self._open(q, u, tau, given)
        N = self._inverse(q, np.where(self._free, G, 0.0))
        S = G @ N.T
        force = np.linalg.solve(S, gamma - G @ a) if len(G) else np.zeros(0)
        udot = a + force @ N
        if len(G):  # what rounding left
            more = np.linalg.solve(S, gamma - G @ udot)
            force, udot = force + more, udot + more @ N
        return udot, force


class FlexibleFullyAugmented(FlexibleSolver):
    """FA: accelerations and forces of rows together."""

    name = "FA"

    def _solve(self, q, u, G, gamma, tau, given):
        free, m = self._free, len(G)
        M, n = self._mass(q), int(free.sum())
        right = np.concatenate([(tau - self._bias(q, u) - M @ given)[free], gamma - G @ given])
        K = np.zeros((n + m, n + m))
        K[:n, :n], K[:n, n:], K[n:, :n] = M[np.ix_(free, free)], -G[:, free].T, G[:, free]
        x = np.linalg.solve(K, right)
        x += np.linalg.solve(K, right - K @ x)
        udot = given.copy()
        udot[free] = x[:n]
        return udot, x[n:]


class FlexibleEmbedding(FlexibleSolver):
    """CE: rows embedded, by coordinates that are independent of each other."""

    name = "CE"

    def _solve(self, q, u, G, gamma, tau, given):
        free, m = np.flatnonzero(self._free), len(G)
        M, c = self._mass(q), self._bias(q, u)
        order = scipy.linalg.qr(G[:, free], mode="r", pivoting=True)[1] if m else np.arange(len(free))
        dependent, own = free[order[:m]], free[order[m:]]
        X, b = np.zeros((len(q), len(own))), given.copy()
        X[own, np.arange(len(own))] = 1.0
        if m:
            X[dependent] = -np.linalg.solve(G[:, dependent], G[:, own])
            b[dependent] = np.linalg.solve(G[:, dependent], gamma - G @ given)
        udot = b + X @ scipy.linalg.solve(X.T @ M @ X, X.T @ (tau - c - M @ b), assume_a="pos")
        missing = (M @ udot + c - tau)[dependent]
        return udot, np.linalg.solve(G[:, dependent].T, missing) if m else np.zeros(0)


KINDS: dict[str, type[FlexibleSolver]] = {
    kind.name: kind for kind in (FlexibleTreeAugmented, FlexibleFullyAugmented, FlexibleEmbedding, FlexibleTree)
}


def rows_at(system: Any, y: Any) -> tuple[Array, Array, Array, Array]:
    """phi, G, G u and gamma of the slots at the state in the container's data."""
    m, n = system.num_rows, system.num_dofs
    phi, rate, gamma = np.zeros((3, max(m, 1)))
    G = np.zeros((max(m, 1), n))
    evaluate_rows(y.address, system.flex.address, phi, G, rate, gamma)
    return phi[:m], G[:m], rate[:m], gamma[:m]
