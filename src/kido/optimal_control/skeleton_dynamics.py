"""Dynamics of a skeleton: states [q, u], on manifolds too, analytic derivatives, contacts as given phases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.batch import Batch
from kido.batch.states import forward_dynamics_of
from kido.errors import ModelError
from kido.jit import entry, view
from kido.math.transform import as_positive, number_or_nan
from kido.optimal_control.contacts import ALL, ContactPhase, Contacts, Held
from kido.optimal_control.dynamics import Array, Dynamics
from kido.optimal_control.manifold import block_jacobians, blocks_of, right_jacobian
from kido.quantities.soft import refuse_flexible
from kido.skeleton import BodyNode, Skeleton
from kido.tree import TREE, data_for
from kido.tree.schema import DATA

# Next velocities; derivatives of accelerations, and of velocities after impacts; what holds, and touches, with theirs.
Expansion = tuple[Array, Array, Array | None, list[Held], list[Held]]


class SkeletonDynamics(Dynamics):
    """x = [q, u], controls are joint forces: u' = u + h udot(q, u, T), q' = q + h u', moved along the manifold.

    udot is that of `Skeleton.forward_dynamics`: joint springs, damping and friction do not act. In phases of contact,
    forces f at points hold them: M udot - J^T f = T - C, J udot + Jdot u = -g J u, so that velocities along held
    directions fade at the rate g. Where a phase begins, an impact comes first: held directions come to rest, by
    impulses at all that is held then, M (u+ - u) = J^T p, J u+ = 0. A touch-down without impact is for the problem's
    constraints to ask for. Derivatives are analytic, of forces and impulses too; those by positions are along
    velocities, as everywhere, so that ball and free joints have no special place.

    Args:
        skeleton: read, not changed.
        time_step: h [s].
        actuated: coordinates that controls drive, by name or index; all by default.
        contacts: phases; see `contact`.
        fading: g [1/s].
        threads: how many compute.

    Raises:
        ModelError: no skeleton, nothing that moves, phases of nothing.
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
        if not skeleton.num_dofs:
            raise ModelError(f"dynamics: skeleton {skeleton.name!r} has no coordinate that moves")
        self.skeleton, self.time_step = skeleton, as_positive(time_step, "time_step", "s")
        n = skeleton.num_dofs
        dofs = [skeleton.dof(key).index for key in (range(n) if actuated is None else actuated)]
        self.selection: Array = np.eye(n)[:, dofs]
        self.num_states, self.num_controls = 2 * n, len(dofs)
        self._dofs, self._whole = np.array(dofs, dtype=np.int64), dofs == list(range(n))
        self.fading = number_or_nan(fading)
        if not 0.0 <= self.fading < np.inf:
            raise ModelError(f"fading: expected a number not below 0 [1/s], got {fading!r}")
        self._blocks = blocks_of(skeleton)
        self.curved = tuple(i for block in self._blocks for i in range(block.start, block.stop))
        self._batch = Batch(skeleton, threads)
        self._contacts = Contacts(self._batch, contacts, self.fading)
        self._last: tuple[tuple[bytes, float], Expansion] | None = None

    @property
    def contacts(self) -> tuple[ContactPhase, ...]:
        """The phases."""
        return self._contacts.phases

    @staticmethod
    def contact(
        body: BodyNode,
        begin: int,
        end: int,
        point: ArrayLike = (0.0, 0.0, 0.0),
        directions: ArrayLike = ALL,
        radius: float = 0.0,
    ) -> ContactPhase:
        """A phase in which a point of a body, or the body, is held; see `ContactPhase`.

        With a radius [m] the point is the middle of a ball that rolls on level ground: what is held is not the point,
        but the ball's lowest one, whichever this is.

        Raises:
            ModelError: arguments that do not fit.
        """
        return ContactPhase.of(body, begin, end, point, directions, radius)

    # Manifold -------------------------------------------------------------------------------------------------

    def differences(self, after: Array, before: Array) -> Array:
        """Moves (nodes, 2 dofs) from states to others; NaN for states that are not finite."""
        found = after - before
        if self.curved:
            n = self.skeleton.num_dofs
            for k in np.flatnonzero(np.isfinite(found).all(axis=1)):
                found[k, :n] = self.skeleton.position_differences(after[k, :n], before[k, :n])
        return found

    def moved(self, states: Array, steps: Array) -> Array:
        """States moved by steps."""
        found = states + steps
        if self.curved:
            n = self.skeleton.num_dofs
            found[:, :n] = self._moved_positions(states[:, :n], steps[:, :n], 1.0)
        return found

    def _moved_positions(self, q: Array, u: Array, h: float) -> Array:
        good = np.isfinite(q + u).all(axis=1)
        found = np.full(q.shape, np.nan)
        found[good] = self._batch.integrate(q[good], u[good], h)
        return found

    def move_derivatives(self, steps: Array) -> tuple[Array, Array] | None:
        """J and T (nodes, 2 dofs, 2 dofs); see `Dynamics.move_derivatives`."""
        return block_jacobians(self._blocks, steps) if self.curved else None

    # Steps ----------------------------------------------------------------------------------------------------

    def step(self, states: Array, controls: Array) -> Array:
        """States (nodes, 2 dofs) after one time step; nodes are 0, 1, ... of the phases of contact."""
        return self._stepped(states, controls, 0)

    def step_of_node(self, node: int, state: Array, control: Array) -> Array:
        """The state after that of one node."""
        return self._stepped(state[None], control[None], node)[0]

    def _stepped(self, states: Array, controls: Array, first: int) -> Array:
        n, h = self.skeleton.num_dofs, self.time_step
        q, u = np.ascontiguousarray(states[:, :n]), np.ascontiguousarray(states[:, n:])
        u, _ = self._contacts.touch(q, u, first)
        udot, _ = self._accelerations(q, u, self.forces(controls), first)
        after = np.empty_like(states)
        after[:, n:] = u + h * udot
        after[:, :n] = self._moved_positions(q, after[:, n:], h) if self.curved else q + h * after[:, n:]
        return after

    def _accelerations(self, q: Array, u: Array, tau: Array, first: int = 0) -> tuple[Array, list[Held]]:
        udot = self._batch.forward_dynamics(q, u, tau)
        return udot, self._contacts.hold(q, u, udot, first)

    def forces(self, controls: Array) -> Array:
        """Joint forces (nodes, dofs) of controls."""
        return np.ascontiguousarray(controls if self._whole else controls @ self.selection.T)

    def derivatives(self, states: Array, controls: Array) -> tuple[Array, Array]:
        """A (nodes, 2 dofs, 2 dofs) and B (nodes, 2 dofs, controls)."""
        n, h = self.skeleton.num_dofs, self.time_step
        after, by, touched, _, _ = self._expanded(states, controls)
        A, B = np.empty((len(by), 2 * n, 2 * n)), np.empty((len(by), 2 * n, self.num_controls))
        assemble(by, np.empty((0, n, 2 * n)) if touched is None else touched, self._dofs, h, A, B)
        for block in self._blocks:
            J, T = right_jacobian(h * after[:, block])
            A[:, block, block] -= np.eye(block.stop - block.start)
            A[:, block], B[:, block] = J @ A[:, block], J @ B[:, block]
            A[:, block, block] += T
        return A, B

    def _expanded(self, states: Array, controls: Array) -> Expansion:
        """What derivatives are made of; of the states and controls that were asked about last it is kept."""
        key = self._key(states, controls)
        if self._last is None or self._last[0] != key:
            self._last = key, self._make_expansion(states, controls)
        return self._last[1]

    def _key(self, states: Array, controls: Array) -> tuple[bytes, float]:
        """All that an expansion depends on."""
        tree = self.skeleton.current_state.compiled_tree()
        model = (getattr(tree, name).tobytes() for name in TREE.arrays)
        return b"".join([states.tobytes(), controls.tobytes(), *model]), self.time_step

    def _make_expansion(self, states: Array, controls: Array) -> Expansion:
        """What derivatives are made of.

        Returns:
            Next velocities; derivatives (nodes, 3, dofs, dofs) of udot by the state's q and u, and by T; of velocities
            after impacts by q and u (nodes, dofs, 2 dofs), None without impacts; what holds, and touches, with theirs.
        """
        n, h = self.skeleton.num_dofs, self.time_step
        q, u, tau = np.ascontiguousarray(states[:, :n]), np.ascontiguousarray(states[:, n:]), self.forces(controls)
        after, impacts = self._contacts.touch(q, u)
        by = np.empty((len(q), 3, n, n))
        self._batch.forward_dynamics_derivatives(q, after, tau, by)
        speed, held, touched = after, [], None
        if self.contacts or self.curved:
            udot, held = self._accelerations(q, after, tau)
            speed = after + h * udot
            held = self._contacts.hold_derivatives(q, after, udot, held, by)
        if impacts:
            touched = np.zeros((len(q), n, 2 * n))
            touched[:, :, n:] = np.eye(n)
            impacts = self._contacts.touch_derivatives(q, u, after, impacts, touched)
            by[:, 0] += by[:, 1] @ touched[:, :, :n]
            by[:, 1] = by[:, 1] @ touched[:, :, n:]
        return speed, by, touched, held, impacts

    # Forces of contact ----------------------------------------------------------------------------------------

    def contact_wrenches(self, states: Array, controls: Array) -> Array:
        """[torque; force] (nodes, phases, 6) at the phases' points, world axes, means over a step; 0 where none hold.

        They are forces f, and where a phase begins p / h besides: what a simulation in steps tells as well.
        """
        n = self.skeleton.num_dofs
        if self._last is not None and self._last[0] == self._key(states, controls):
            *_, held, impacts = self._last[1]
        else:
            q, u = np.ascontiguousarray(states[:, :n]), np.ascontiguousarray(states[:, n:])
            after, impacts = self._contacts.touch(q, u)
            _, held = self._accelerations(q, after, self.forces(controls))
        return self._spread(held, len(states), lambda part: part.forces, ()) + self._spread(
            impacts, len(states), lambda part: part.forces / self.time_step, ()
        )

    def contact_impulses(self, states: Array) -> Array:
        """[angular; linear] impulses (nodes, phases, 6) of touch-downs, world axes."""
        n = self.skeleton.num_dofs
        q, u = np.ascontiguousarray(states[:, :n]), np.ascontiguousarray(states[:, n:])
        return self._spread(self._contacts.touch(q, u)[1], len(q), lambda part: part.forces, ())

    def contact_wrench_derivatives(self, states: Array, controls: Array) -> tuple[Array, Array]:
        """Derivatives (nodes, phases, 6, 2 dofs) and (nodes, phases, 6, controls) of `contact_wrenches`."""
        n = self.skeleton.num_dofs
        _, _, touched, held, impacts = self._expanded(states, controls)

        def of_states(part: Held) -> Array:
            by_q, by_u = part.by[:2]
            if touched is None:
                return np.concatenate([by_q, by_u], axis=2)
            found = by_u @ touched[part.nodes]
            found[:, :, :n] += by_q
            return found

        F = self._spread(held, len(states), of_states, (2 * n,))
        F += self._spread(impacts, len(states), lambda part: np.concatenate(part.by, axis=2) / self.time_step, (2 * n,))
        by_tau = self._spread(held, len(states), lambda part: part.by[2] @ self.selection, (self.num_controls,))
        return F, by_tau

    def _spread(self, parts: list[Held], count: int, rows: Any, shape: tuple[int, ...]) -> Array:
        found = np.zeros((count, len(self.contacts), 6, *shape))
        for part in parts:
            for i, wrench in zip(part.phases, self._contacts.wrenches(part.phases, rows(part))):
                found[part.nodes, i] = wrench
        return found

    def holding_controls(self, states: ArrayLike) -> Array:
        """Controls (nodes, controls) that, with forces of the contacts, come nearest to holding states still.

        The least of T^2 + f^2 of the least (S T + J^T f - C(q, 0))^2; exact where legs and arms can carry the robot.
        """
        X, n = np.atleast_2d(np.asarray(states, dtype=float)), self.skeleton.num_dofs
        q = np.ascontiguousarray(X[:, :n])
        load = self._batch.inverse_dynamics(q, np.zeros_like(q), np.zeros_like(q))
        found = load @ np.linalg.pinv(self.selection).T
        for nodes, active in self._contacts.groups(len(q)):
            JT = np.swapaxes(self._contacts.jacobians(q[nodes], active), 1, 2)
            system = np.concatenate([np.broadcast_to(self.selection, (len(nodes), *self.selection.shape)), JT], axis=2)
            found[nodes] = (np.linalg.pinv(system) @ load[nodes][:, :, None])[:, : self.num_controls, 0]
        return found

    def rollout(
        self, start: Array, states: Array, controls: Array, gains: Array, steps: Array, gaps: Array, bounds: Any
    ) -> tuple[Array, Array]:
        """See `Dynamics.rollout`; compiled where there are no contacts and no manifolds."""
        if self.contacts or self.curved:
            return super().rollout(start, states, controls, gains, steps, gaps, bounds)
        refuse_flexible(self.skeleton, "optimal control")
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


@entry("i8(f8[:,:,:,::1],f8[:,:,::1],i8[::1],f8,f8[:,:,::1],f8[:,:,::1])")
def assemble(by, touched, dofs, h, A, B):
    """A and B of u' = u+ + h udot, q' = q + h u' from derivatives of udot and u+; u+ = u where `touched` is empty."""
    n, m = by.shape[2], dofs.shape[0]
    for node in range(by.shape[0]):
        for i in range(n):
            for j in range(n):
                A[node, n + i, j] = h * by[node, 0, i, j]
                A[node, n + i, n + j] = h * by[node, 1, i, j]
            for j in range(m):
                B[node, n + i, j] = h * by[node, 2, i, dofs[j]]
            if touched.shape[0] > 0:
                for j in range(2 * n):
                    A[node, n + i, j] += touched[node, i, j]
            else:
                A[node, n + i, n + i] += 1.0
            for j in range(2 * n):
                A[node, i, j] = h * A[node, n + i, j]
            for j in range(m):
                B[node, i, j] = h * B[node, n + i, j]
            A[node, i, i] += 1.0
    return 0


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
