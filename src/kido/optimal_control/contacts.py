"""Points and bodies that are held in phases: forces, touch-downs, and the derivatives of both.

With J the rows of all that is held, one linear system tells how the skeleton moves and what holds it:

    [M  -J^T] [udot]   [T - C(q, u)      ]        [M  -J^T] [u+]   [M u]
    [J    0 ] [ f  ] = [-Jdot u - g J u  ],       [J    0 ] [p ] = [ 0 ]

the first while phases last, with forces f, and velocities along held rows that fade at the rate g; the second when one
begins: a touch-down without rebound, with impulses p, after which held rows are at rest. Derivatives of its solution
are solutions of the same system.

Source: Featherstone (2008), "Rigid body dynamics algorithms", chapters 8 and 11; Budhiraja, Carpentier, Mastalli,
Mansard (2018), "Differential dynamic programming for multi-phase rigid contact dynamics".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import dataclass
from kido.batch import Batch
from kido.errors import ModelError
from kido.math.transform import as_positive, as_vector
from kido.optimal_control.dynamics import Array
from kido.optimal_control.point_motion import point_motions
from kido.quantities.branches import derivatives_workspace
from kido.quantities.soft import refuse_flexible
from kido.reprs import brief
from kido.skeleton import BodyNode
from kido.tree import data_for

ALL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class ContactPhase:
    """A point of a body, or the body, that is held where it is during some steps.

    Attributes:
        body: index of the body.
        point: in the body's axes (3,) [m].
        begin, end: steps begin, ..., end - 1.
        directions: (rows, 3), along which the point is held, world axes: all three by default; two for planar robots.
            (rows, 6) hold rows of [angular; linear] velocity; the unit matrix holds the body in all of them.
    """

    body: int
    point: Array
    begin: int
    end: int
    directions: Array

    __repr__ = brief

    @classmethod
    def of(
        cls, body: BodyNode, begin: int, end: int, point: ArrayLike, directions: ArrayLike, radius: float
    ) -> ContactPhase:
        """A phase of checked arguments; see `SkeletonDynamics.contact`."""
        rows = np.atleast_2d(np.asarray(directions, dtype=float))
        good = rows.ndim == 2 and rows.shape[1] in (3, 6) and np.isfinite(rows).all()
        if not isinstance(body, BodyNode) or not good or not 0 <= begin < end:
            raise ModelError(
                f"contact: expected a body, steps begin < end and directions (rows, 3) or (rows, 6), got {body!r:.60}, "
                f"{begin!r}, {end!r}, an array of shape {rows.shape}"
            )
        if radius and rows.shape[1] == 3:  # the velocity at (0, 0, -radius), world axes, from the point
            below = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]) * as_positive(radius, "radius", "m")
            rows = np.concatenate([rows @ below, rows], axis=1)
        return cls(body.index, as_vector(point, "point"), int(begin), int(end), rows)

    @cached_property
    def rows(self) -> Array:
        """(rows, 6) of [angular; linear]."""
        D = self.directions
        return D if D.shape[1] == 6 else np.concatenate([np.zeros_like(D), D], axis=1)


class Held(NamedTuple):
    """Nodes where the same phases hold, and what holds them there."""

    nodes: NDArray[np.intp]
    phases: list[int]
    forces: Array  # (nodes, rows), of all phases one after the other
    by: tuple[Array, ...] = ()  # its derivatives (nodes, rows, ...): by q, u and T


Groups = list[tuple[NDArray[np.intp], list[int]]]


class Contacts:
    """The phases of a skeleton.

    Args:
        batch: of the skeleton.
        phases: all of them.
        fading: g [1/s].
    """

    def __init__(self, batch: Batch, phases: Sequence[ContactPhase], fading: float) -> None:
        self.batch, self.phases, self.fading = batch, tuple(phases), float(fading)
        self._tree: Any = None
        self._places_in: Any = None
        self._groups: dict[tuple[int, int, bool], Groups] = {}
        for phase in self.phases:
            if not isinstance(phase, ContactPhase):
                raise ModelError(f"contacts: expected what `SkeletonDynamics.contact` gives, got {phase!r:.80}")

    def groups(self, count: int, first: int = 0, touching: bool = False) -> Groups:
        """Nodes by the phases that hold there, all or those at which a phase begins."""
        if (count, first, touching) not in self._groups:
            self._groups[count, first, touching] = self._made_groups(count, first, touching)
        return self._groups[count, first, touching]

    def _made_groups(self, count: int, first: int, touching: bool) -> Groups:
        sets: dict[tuple[int, ...], list[int]] = {}
        for node in range(count if self.phases else 0):
            now = first + node
            active = tuple(i for i, p in enumerate(self.phases) if p.begin <= now < p.end)
            if active and (not touching or any(self.phases[i].begin == now for i in active)):
                sets.setdefault(active, []).append(node)
        return [(np.array(nodes), list(active)) for active, nodes in sets.items()]

    # What is held ---------------------------------------------------------------------------------------------

    def hold(self, q: Array, u: Array, udot: Array, first: int = 0) -> list[Held]:
        """Add to accelerations (nodes, dofs) what contacts change of them."""
        found = []
        for nodes, active in self.groups(len(q), first):
            qn, un = q[nodes], u[nodes]
            J, bias = self._rows(qn, un, active)
            M, JT = self.batch.mass_matrix(qn), np.swapaxes(J, 1, 2)
            MiJT = np.linalg.solve(M, JT)
            f = self._solved(J @ MiJT, -(bias + np.einsum("kij,kj->ki", J, udot[nodes])), active)
            udot[nodes] += np.einsum("kij,kj->ki", MiJT, f)
            found.append(Held(nodes, active, f))
        return found

    def touch(self, q: Array, u: Array, first: int = 0) -> tuple[Array, list[Held]]:
        """Velocities after touch-downs, and impulses."""
        after, found = u, []
        for nodes, active in self.groups(len(q), first, touching=True):
            if after is u:
                after = u.copy()
            J = self.jacobians(q[nodes], active)
            MiJT = np.linalg.solve(self.batch.mass_matrix(q[nodes]), np.swapaxes(J, 1, 2))
            p = self._solved(J @ MiJT, -np.einsum("kij,kj->ki", J, u[nodes]), active)
            after[nodes] += np.einsum("kij,kj->ki", MiJT, p)
            found.append(Held(nodes, active, p))
        return after, found

    def hold_derivatives(self, q: Array, u: Array, udot: Array, held: list[Held], by: Array) -> list[Held]:
        """Put derivatives of accelerations into `by` (nodes, 3, dofs, dofs), by q, u and T at held nodes.

        Returns:
            What holds, with the derivatives of forces.
        """
        found, n = [], q.shape[1]
        for nodes, active, f, _ in held:
            qn, un, an = q[nodes], u[nodes], udot[nodes]
            slope_q, slope_u, M = self._force_slopes(qn, un, an, f, active)
            by_q, by_u, J = self._motions(qn, un, an, active, (0, 1, 2))
            one = np.broadcast_to(np.eye(n), M.shape)
            right = np.block([[-slope_q, -slope_u, one], [-by_q, -by_u, np.zeros_like(J)]])
            solved = self._system(M, J, right, active)
            for k in range(3):
                by[nodes, k] = solved[:, :n, k * n : (k + 1) * n]
            found.append(Held(nodes, active, f, tuple(solved[:, n:, k * n : (k + 1) * n] for k in range(3))))
        return found

    def touch_derivatives(self, q: Array, u: Array, after: Array, touched: list[Held], by: Array) -> list[Held]:
        """Put derivatives of velocities after touch-downs into `by` (nodes, dofs, 2 dofs), by q and u.

        Returns:
            What touches, with the derivatives of impulses.
        """
        found, n = [], q.shape[1]
        for nodes, active, p, _ in touched:
            qn, change, zero = q[nodes], after[nodes] - u[nodes], np.zeros_like(u[nodes])
            slope_q, _, M = self._force_slopes(qn, zero, change, p, active)
            slope_q = slope_q - self.batch.inverse_dynamics_derivatives(qn, zero, zero).dq  # gravity is no impulse
            J, by_q = self._motions(qn, after[nodes], zero, active, (2, 3))
            solved = self._system(M, J, np.block([[-slope_q, M], [-by_q, np.zeros_like(J)]]), active)
            by[nodes] = solved[:, :n]
            found.append(Held(nodes, active, p, tuple(solved[:, n:, k * n : (k + 1) * n] for k in range(2))))
        return found

    def wrenches(self, active: list[int], forces: Array) -> list[Array]:
        """[torque; force] of each phase at its point, world axes, (nodes, 6, ...) each, of rows (nodes, rows, ...)."""
        found, at = [], 0
        for i in active:
            rows = self.phases[i].rows
            found.append(np.einsum("rc,kr...->kc...", rows, forces[:, at : at + len(rows)]))
            at += len(rows)
        return found

    # Rows -----------------------------------------------------------------------------------------------------

    def jacobians(self, q: Array, active: list[int]) -> Array:
        """J (nodes, rows, dofs)."""
        phases = [self.phases[i] for i in active]
        return np.concatenate([p.rows @ self.batch.jacobian(q, p.body, p.point) for p in phases], axis=1)

    def _rows(self, q: Array, u: Array, active: list[int]) -> tuple[Array, Array]:
        """J (nodes, rows, dofs), and Jdot u + g J u; the acceleration at udot = 0 is of second degree in u."""
        by_u, J = self._motions(q, u, np.zeros_like(u), active, (1, 2))
        return J, 0.5 * np.einsum("kij,kj->ki", by_u + self.fading * J, u)

    def _motions(self, q: Array, u: Array, udot: Array, active: list[int], which: Sequence[int]) -> list[Array]:
        """Of held rows (nodes, rows, dofs), as `point_motions` has them: A + g V by q, by u, A by udot, V by q."""
        state = self.batch.skeleton.current_state
        refuse_flexible(state.skeleton, "optimal control")
        tree = state.compiled_tree()
        if self._tree is not tree:
            self._tree, self._spaces = tree, (data_for(tree), derivatives_workspace(tree))
            self._places_in = None
        if self._places_in is None or self._places_in is not state.ready:  # paths are those of this work space
            places = [state.place_of(state.skeleton.bodies[p.body], p.point) for p in self.phases]
            self._paths, self._points = np.array([p[0] for p in places]), np.array([p[1:] for p in places])
            self._places_in = state.ready
        D = np.zeros((len(q), len(active), 5, 6, q.shape[1]))
        data, work = (space.address for space in self._spaces)
        point_motions(tree.address, data, work, self._paths[active], self._points[active], self.fading, q, u, udot, D)
        phases = [self.phases[i] for i in active]
        return [np.concatenate([p.rows @ D[:, i, k] for i, p in enumerate(phases)], axis=1) for k in which]

    def _force_slopes(
        self, q: Array, u: Array, udot: Array, forces: Array, active: list[int]
    ) -> tuple[Array, Array, Array]:
        """Derivatives of M udot + C - J^T f by q and u at constant f, and M.

        A force at a point r from its body's origin has the torque r x f there, and r turns with the body.
        """
        X, given = self.batch.forward_kinematics(q), np.zeros((len(q), self.batch.skeleton.num_bodies, 6))
        turning = np.zeros((len(q), q.shape[1], q.shape[1]))
        for i, wrench in zip(active, self.wrenches(active, forces)):
            p = self.phases[i]
            r, f = X[:, p.body, :3, :3] @ p.point, wrench[:, 3:]
            given[:, p.body, :3] += wrench[:, :3] + np.cross(r, f)
            given[:, p.body, 3:] += f
            if p.point.any():
                W = self.batch.jacobian(q, p.body)[:, :3]
                moved = np.cross(np.cross(W, r[:, :, None], axis=1), f[:, :, None], axis=1)
                turning += np.swapaxes(W, 1, 2) @ moved
        D = self.batch.inverse_dynamics_derivatives(q, u, udot, wrenches=given)
        return D.dq - turning, D.du, D.dudot

    def _system(self, M: Array, J: Array, right: Array, active: list[int]) -> Array:
        n, rows = M.shape[1], J.shape[1]
        system = np.zeros((len(M), n + rows, n + rows))
        system[:, :n, :n], system[:, :n, n:], system[:, n:, :n] = M, -np.swapaxes(J, 1, 2), J
        return self._checked(lambda: np.linalg.solve(system, right), active)

    def _solved(self, S: Array, right: Array, active: list[int]) -> Array:
        return self._checked(lambda: np.linalg.solve(S, right[:, :, None])[:, :, 0], active)

    def _checked(self, solve: Callable[[], Any], active: list[int]) -> Array:
        try:
            return solve()
        except np.linalg.LinAlgError:
            names = [self.batch.skeleton.bodies[self.phases[i].body].name for i in active]
            raise ModelError(
                f"contacts: rows that hold {', '.join(names)} depend on each other; hold fewer directions"
            ) from None
