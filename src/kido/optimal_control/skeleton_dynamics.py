"""Dynamics of a skeleton: states [q, u], analytic derivatives in lanes, contacts as given phases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import dataclass
from kido.batch import Batch
from kido.batch.states import forward_dynamics_of
from kido.errors import ModelError
from kido.jit import entry, view
from kido.math.transform import as_positive, as_vector, number_or_nan
from kido.optimal_control.dynamics import Array, Dynamics
from kido.reprs import brief
from kido.skeleton import BodyNode, Skeleton
from kido.tree import TREE, data_for
from kido.tree.schema import DATA


@dataclass(frozen=True)
class ContactPhase:
    """A point of a body that is held where it is during some steps.

    Attributes:
        body: index of the body.
        point: in the body's axes (3,) [m].
        begin, end: steps begin, ..., end - 1.
        directions: (rows, 3), along which it is held, world axes: all three by default; two for planar robots.
    """

    body: int
    point: Array
    begin: int
    end: int
    directions: Array

    __repr__ = brief


class SkeletonDynamics(Dynamics):
    """x = [q, u], controls are joint forces: u' = u + h udot(q, u, T), q' = q + h u'.

    udot is that of `Skeleton.forward_dynamics`: joint springs, damping and friction do not act. In phases of contact,
    forces f at points hold them: M udot - J^T f = T - C, J udot + Jdot u = -g J u, so that velocities along held
    directions fade at the rate g. Derivatives are analytic, of contact forces and Jdot u too. Phases begin with the
    velocity that the motion has: a touch-down without impact is for the problem's constraints to ask for.

    Args:
        skeleton: joints with one coordinate each; read, not changed.
        time_step: h [s].
        actuated: coordinates that controls drive, by name or index; all by default.
        contacts: phases; see `contact`.
        fading: g [1/s].
        threads: how many compute.

    Raises:
        ModelError: no skeleton, joints with more coordinates, phases of nothing.
        NameLookupError: no such coordinate.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        time_step: float,
        actuated: Sequence[str | int] | None = None,
        contacts: Sequence[ContactPhase] = (),
        fading: float = 10.0,
        threads: int | None = None,
    ):
        if not isinstance(skeleton, Skeleton):
            raise ModelError(f"dynamics: expected a kido.Skeleton, got {skeleton!r:.80}")
        unfit = [joint.name for joint in skeleton.joints if joint.num_dofs > 1]
        if unfit or not skeleton.num_dofs:
            raise ModelError(f"dynamics: expected joints with one coordinate each, got {unfit[:1] or skeleton.name!r}")
        self.skeleton, self.time_step = skeleton, as_positive(time_step, "time_step", "s")
        n = skeleton.num_dofs
        dofs = [skeleton.dof(key).index for key in (range(n) if actuated is None else actuated)]
        self.selection: Array = np.eye(n)[:, dofs]
        self.num_states, self.num_controls = 2 * n, len(dofs)
        self._whole = dofs == list(range(n))
        self.contacts: tuple[ContactPhase, ...] = tuple(contacts)
        for phase in self.contacts:
            if not isinstance(phase, ContactPhase):
                raise ModelError(f"contacts: expected what `SkeletonDynamics.contact` gives, got {phase!r:.80}")
        self.fading = number_or_nan(fading)
        if not 0.0 <= self.fading < np.inf:
            raise ModelError(f"fading: expected a number not below 0 [1/s], got {fading!r}")
        self._batch = Batch(skeleton, threads)

    @staticmethod
    def contact(
        body: BodyNode,
        begin: int,
        end: int,
        point: ArrayLike = (0.0, 0.0, 0.0),
        directions: ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    ) -> ContactPhase:
        """A phase in which a point of a body is held; see `ContactPhase`.

        Raises:
            ModelError: arguments that do not fit.
        """
        rows = np.atleast_2d(np.asarray(directions, dtype=float))
        if not isinstance(body, BodyNode) or rows.shape[1] != 3 or not np.isfinite(rows).all() or not 0 <= begin < end:
            raise ModelError(f"contact: expected a body, steps begin < end and directions (rows, 3), got {body!r:.60}")
        return ContactPhase(body.index, as_vector(point, "point"), int(begin), int(end), rows)

    def step(self, states: Array, controls: Array) -> Array:
        """States (nodes, 2 dofs) after one time step; nodes are 0, 1, ... of the phases of contact."""
        return self._stepped(states, controls, 0)

    def _stepped(self, states: Array, controls: Array, first: int) -> Array:
        n, h = self.skeleton.num_dofs, self.time_step
        q, u = np.ascontiguousarray(states[:, :n]), np.ascontiguousarray(states[:, n:])
        udot = self.accelerations(q, u, self.forces(controls), first)
        after = np.empty_like(states)
        after[:, n:] = u + h * udot
        after[:, :n] = q + h * after[:, n:]
        return after

    def forces(self, controls: Array) -> Array:
        """Joint forces (nodes, dofs) of controls."""
        return np.ascontiguousarray(controls if self._whole else controls @ self.selection.T)

    def derivatives(self, states: Array, controls: Array) -> tuple[Array, Array]:
        """A (nodes, 2 dofs, 2 dofs) and B (nodes, 2 dofs, controls)."""
        n, h = self.skeleton.num_dofs, self.time_step
        q, u = np.ascontiguousarray(states[:, :n]), np.ascontiguousarray(states[:, n:])
        by_q, by_u, by_tau = self.acceleration_derivatives(q, u, self.forces(controls))
        if not self._whole:
            by_tau = by_tau @ self.selection
        A, B = np.empty((len(q), 2 * n, 2 * n)), np.empty((len(q), 2 * n, self.num_controls))
        np.multiply(by_q, h, out=A[:, n:, :n])
        np.multiply(by_u, h, out=A[:, n:, n:])
        np.multiply(by_tau, h, out=B[:, n:])
        i = np.arange(n)
        A[:, n + i, n + i] += 1.0
        np.multiply(A[:, n:], h, out=A[:, :n])
        np.multiply(B[:, n:], h, out=B[:, :n])
        A[:, i, i] += 1.0
        return A, B

    # Contacts -------------------------------------------------------------------------------------------------

    def accelerations(self, q: Array, u: Array, tau: Array, first: int = 0) -> Array:
        """udot (nodes, dofs); the first node's number tells which contacts hold."""
        udot = self._batch.forward_dynamics(q, u, tau)
        for nodes, phases in self._held(len(q), first):
            J, bias = self._rows(q[nodes], u[nodes], phases)
            M = self._batch.mass_matrix(np.ascontiguousarray(q[nodes]))
            JT = np.swapaxes(J, 1, 2)
            MiJT = np.linalg.solve(M, JT)
            f = np.linalg.solve(J @ MiJT, -(bias + np.einsum("kij,kj->ki", J, udot[nodes]))[:, :, None])
            udot[nodes] += (MiJT @ f)[:, :, 0]
        return udot

    def acceleration_derivatives(self, q: Array, u: Array, tau: Array) -> tuple[Array, Array, Array]:
        """dudot/dq, dudot/du, dudot/dT (nodes, dofs, dofs)."""
        if not self.contacts:
            found = self._batch.forward_dynamics_derivatives(q, u, tau)
            return found.dq, found.du, found.dtau
        free = self._batch.forward_dynamics_derivatives(q, u, tau)
        by = [np.array(part) for part in (free.dq, free.du, free.dtau)]
        udot = self.accelerations(q, u, tau)
        for nodes, phases in self._held(len(q)):
            qn, un, an = (np.ascontiguousarray(part[nodes]) for part in (q, u, udot))
            J, _ = self._rows(qn, un, phases)
            held = self._batch.inverse_dynamics_derivatives(qn, un, an)
            missing = self._batch.inverse_dynamics(qn, un, an) - tau[nodes]  # J^T f
            JT = np.swapaxes(J, 1, 2)
            f = np.linalg.solve(J @ JT, (J @ missing[:, :, None]))[:, :, 0]
            dq, du = self._row_derivatives(qn, un, an, phases)
            dJTf = np.zeros_like(held.dq)
            first = 0
            for phase in phases:
                rows = len(phase.directions)
                force = f[:, first : first + rows] @ phase.directions
                dJTf += np.einsum("ki,kijl->kjl", force, self._second(*self._columns(qn, phase)))
                first += rows
            n, r = qn.shape[1], J.shape[1]
            system = np.zeros((len(qn), n + r, n + r))
            system[:, :n, :n], system[:, :n, n:], system[:, n:, :n] = held.dudot, -JT, J
            right = np.zeros((len(qn), n + r, 3 * n))
            right[:, :n, :n], right[:, :n, n : 2 * n], right[:, :n, 2 * n :] = dJTf - held.dq, -held.du, np.eye(n)
            right[:, n:, :n], right[:, n:, n : 2 * n] = -dq, -du
            solved = np.linalg.solve(system, right)[:, :n]
            for k in range(3):
                by[k][nodes] = solved[:, :, k * n : (k + 1) * n]
        return by[0], by[1], by[2]

    def _held(self, count: int, first: int = 0) -> list[tuple[NDArray[np.intp], list[ContactPhase]]]:
        """Nodes by the phases that hold there."""
        sets: dict[tuple[int, ...], list[int]] = {}
        for node in range(count if self.contacts else 0):
            active = tuple(i for i, p in enumerate(self.contacts) if p.begin <= first + node < p.end)
            if active:
                sets.setdefault(active, []).append(node)
        return [(np.array(nodes), [self.contacts[i] for i in active]) for active, nodes in sets.items()]

    def _columns(self, q: Array, phase: ContactPhase) -> tuple[Array, Array]:
        J = self._batch.jacobian(np.ascontiguousarray(q), phase.body, phase.point)
        return J[:, :3], J[:, 3:]

    @staticmethod
    def _second(w: Array, v: Array) -> Array:
        """d2p/dq_j dq_l (nodes, 3, dofs, dofs) = w_j x v_l for j <= l along the chain."""
        n = w.shape[2]
        first, last = np.minimum.outer(np.arange(n), np.arange(n)), np.maximum.outer(np.arange(n), np.arange(n))
        return np.cross(w[:, :, first], v[:, :, last], axis=1)

    def _rows(self, q: Array, u: Array, phases: list[ContactPhase]) -> tuple[Array, Array]:
        """J (nodes, rows, dofs), and Jdot u + g J u."""
        J, bias = [], []
        for phase in phases:
            w, v = self._columns(q, phase)
            rate = np.einsum("kijl,kj,kl->ki", self._second(w, v), u, u) + self.fading * np.einsum("kij,kj->ki", v, u)
            J.append(phase.directions @ v)
            bias.append(rate @ phase.directions.T)
        return np.concatenate(J, axis=1), np.concatenate(bias, axis=1)

    def _row_derivatives(self, q: Array, u: Array, udot: Array, phases: list[ContactPhase]) -> tuple[Array, Array]:
        """Derivatives (nodes, rows, dofs) of J udot + Jdot u + g J u by q and u."""
        by_q, by_u = [], []
        n = q.shape[1]
        order = np.sort(np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij")), axis=0)
        for phase in phases:
            w, v = self._columns(q, phase)
            H = self._second(w, v)
            third = np.cross(w[:, :, order[0]], np.cross(w[:, :, order[1]], v[:, :, order[2]], axis=1), axis=1)
            dq = np.einsum("kijl,kj->kil", H, udot + self.fading * u) + np.einsum("kijlm,kj,kl->kim", third, u, u)
            du = 2.0 * np.einsum("kijl,kj->kil", H, u) + self.fading * v
            by_q.append(phase.directions @ dq)
            by_u.append(phase.directions @ du)
        return np.concatenate(by_q, axis=1), np.concatenate(by_u, axis=1)

    def rollout(
        self, start: Array, states: Array, controls: Array, gains: Array, steps: Array, gaps: Array, bounds: Any
    ) -> tuple[Array, Array]:
        """See `Dynamics.rollout`; compiled where there are no contacts."""
        if self.contacts:
            return self._rollout_in_contact(start, states, controls, gains, steps, gaps, bounds)
        tree = self.skeleton.current_state.compiled_tree()
        if getattr(self, "_tree", None) is not tree:
            self._tree, self._data = tree, data_for(tree)
        X, U = np.empty_like(states), np.empty_like(controls)
        X[0] = start
        low, high = bounds
        rollout(
            tree.address, self._data.address, states, controls, gains, np.ascontiguousarray(steps), gaps, low, high,
            self.time_step, np.ascontiguousarray(self.selection), np.zeros((2, self.skeleton.num_dofs)), X, U,
        )  # fmt: skip
        return X, U

    def _rollout_in_contact(
        self, start: Array, states: Array, controls: Array, gains: Array, steps: Array, gaps: Array, bounds: Any
    ) -> tuple[Array, Array]:
        low, high = bounds
        X, U = states.copy(), controls.copy()
        X[0] = start
        for k in range(len(U)):
            U[k] = np.clip(controls[k] + steps[k] + gains[k] @ (X[k] - states[k]), low[k], high[k])
            X[k + 1] = self._stepped(X[k : k + 1], U[k : k + 1], k)[0] - gaps[k]
        return X, U


@entry(
    "i8(i8,i8,f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8,f8[:,::1],f8[:,::1],"
    "f8[:,::1],f8[:,::1])"
)
def rollout(tree, data, states, controls, gains, steps, gaps, low, high, h, selection, work, X, U):
    """`Dynamics.rollout` of a skeleton; what is not finite goes on so."""
    t = view(TREE, tree)
    d = view(DATA, data)
    tau, udot = work[0], work[1]
    n, m = tau.shape[0], U.shape[1]
    for node in range(U.shape[0]):
        for i in range(m):
            s = controls[node, i] + steps[node, i]
            for j in range(2 * n):
                s += gains[node, i, j] * (X[node, j] - states[node, j])
            U[node, i] = min(max(s, low[node, i]), high[node, i])
        for i in range(n):
            tau[i] = 0.0
            for j in range(m):
                tau[i] += selection[i, j] * U[node, j]
        forward_dynamics_of(t, d, X[node, :n], X[node, n:], tau, work[:0], udot)
        for i in range(n):
            after = X[node, n + i] + h * udot[i]
            X[node + 1, n + i] = after - gaps[node, n + i]
            X[node + 1, i] = X[node, i] + h * after - gaps[node, i]
    return 0
