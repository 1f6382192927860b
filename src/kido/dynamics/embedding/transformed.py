"""The transformed tree: a skeleton's loops as aggregate bodies, and the algorithms of a tree on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido import quantities
from kido.constraints.constraint import Constraint
from kido.dynamics.embedding.solver import EmbeddingSolver, respond_many
from kido.dynamics.system import ConstrainedSystem, Rates, listed_constraints
from kido.errors import ModelError, StateError
from kido.reprs import brief
from kido.skeleton import BodyNode, DegreeOfFreedom, Skeleton

__all__ = ["AggregateBody", "ConstraintEmbedding"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AggregateBody:
    """Bodies that loops tie together, as one body of the transformed tree.

    Attributes:
        bodies: the topmost body of each link in it.
        parent: the body it hangs on; None: the world.
        constraints: whose rows it has.
        independent, dependent: its coordinates.
        redundant: rows that follow from others, as "constraint: row".
        least_pivot: of the elimination of the dependent coordinates, rows scaled to 1: near 0 the partition, or any,
            is singular.
    """

    bodies: list[BodyNode]
    parent: BodyNode | None
    constraints: list[Constraint]
    independent: list[DegreeOfFreedom]
    dependent: list[DegreeOfFreedom]
    redundant: list[str]
    least_pivot: float

    __repr__ = brief


class ConstraintEmbedding:
    """A skeleton with loops as a tree of bodies and aggregate bodies, in independent coordinates.

    u = X u_R for velocities that the constraints allow, and then as for any tree

        T_R = X^T (M udot + C),    M_R = X^T M X,    M_c^-1 = X M_R^-1 X^T = M^-1 - M^-1 G^T (G M^-1 G^T)^+ G M^-1

    M_c^-1 and det M_R come from the articulated-body recursion over the aggregates, which forms no matrix of the
    skeleton's size. Positions are those that the skeleton holds, or given ones; they should meet the constraints
    (`project_dependent` brings them there). The partition is the one of the last call.

    Args:
        skeleton, constraints, rates: as of `kido.ConstrainedSystem`.
        independent: coordinates, or their names, that are to be independent where that is possible.

    Raises:
        ModelError: as `kido.ConstrainedSystem`, or something that is no coordinate of the skeleton.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        constraints: Iterable[Constraint] | None = None,
        *,
        rates: Rates | None = None,
        independent: Iterable[DegreeOfFreedom | str] = (),
    ):
        self._skeleton = skeleton
        self._given = None if constraints is None else listed_constraints(skeleton, constraints)
        self._rates = rates
        self._named = [skeleton.dof(d) if isinstance(d, str) else d for d in independent]
        for dof in self._named:
            if not isinstance(dof, DegreeOfFreedom) or dof.joint.child.skeleton is not skeleton:
                raise ModelError(f"skeleton {skeleton.name!r}: independent: expected its coordinates, got {dof!r}")
        self._made = EmbeddingSolver(ConstrainedSystem(skeleton, self._given, rates), independent=self._named)

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton."""
        return self._skeleton

    @property
    def system(self) -> ConstrainedSystem:
        """The skeleton with its rows, made anew after its bodies, joints or actuators changed."""
        return self._solver.system

    @property
    def _solver(self) -> EmbeddingSolver:
        if not self._made.system.is_current:
            self.update()
        return self._made

    def update(self) -> None:
        """Read the constraints anew: after a change of one's frames, offset or other numbers."""
        named = [dof for dof in self._named if dof.joint.child.skeleton is self._skeleton]
        self._made = EmbeddingSolver(ConstrainedSystem(self._skeleton, self._given, self._rates), independent=named)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.update()

    # Structure ---------------------------------------------------------------------------------------------

    def aggregates(self, q: ArrayLike | None = None) -> list[AggregateBody]:
        """Aggregate bodies, with their partition at positions q."""
        e, system = self._at(q), self.system
        top, names = system.links[self.skeleton].top, system.row_names
        found = []
        for c in range(e.num_aggregates):
            place, rank = int(e.first_place[c]), int(e.rank[c])
            own = [self.skeleton.dofs[int(k)] for k in e.dof[place : int(e.first_place[c + 1])]]
            solved = [own[int(k)] for k in e.solved[place : place + len(own)]]
            rows = slice(int(e.first_row[c]), int(e.first_row[c + 1]))
            ties = e.tie[int(e.first_tie[c]) : int(e.first_tie[c + 1])]
            found.append(
                AggregateBody(
                    bodies=[top[int(i)] for i in e.member[int(e.first_member[c]) : int(e.first_member[c + 1])]],
                    parent=top[int(e.parent[c])] if e.parent[c] >= 0 else None,
                    constraints=[system.constraints[int(k)] for k in ties],
                    independent=solved[rank:],
                    dependent=solved[:rank],
                    redundant=[names[int(s)] for s, p in zip(e.slot[rows], e.pivot[rows], strict=True) if p < 0],
                    least_pivot=float(e.least[c]) if rank else 1.0,
                )
            )
        return found

    def independent(self, q: ArrayLike | None = None) -> list[DegreeOfFreedom]:
        """Independent coordinates, in the skeleton's order: reduced vectors have one number for each."""
        self._at(q)
        return [self.skeleton.dofs[k] for k in self._solver.independent]

    def velocity_map(self, q: ArrayLike | None = None) -> Array:
        """X (dofs, independent): u = X u_R are the velocities with G u = 0."""
        e = self._at(q)
        own = self._solver.independent
        column = {k: j for j, k in enumerate(own)}
        X = np.zeros((self.system.num_dofs, len(own)))
        X[own, range(len(own))] = 1.0
        for c in range(e.num_aggregates):
            place, rank, columns = int(e.first_place[c]), int(e.rank[c]), int(e.columns[c])
            solved = e.dof[place + e.solved[place : place + rank + columns]]
            size = rank * (columns + 1)
            rows = e.X[int(e.X_at[c]) : int(e.X_at[c]) + size].reshape(rank, columns + 1)
            X[np.ix_(solved[:rank], [column[int(k)] for k in solved[rank:]])] = rows[:, :columns]
        return X

    def project_dependent(
        self, q: ArrayLike | None = None, u: ArrayLike | None = None, time: float = 0.0
    ) -> tuple[Array, Array]:
        """Positions and velocities that meet the constraints, with the same independent coordinates.

        Args:
            q, u: by default those that the skeleton holds.
            time: [s] at which rates are taken.

        Raises:
            StateError: no positions near the given ones do.
        """
        return self._solver.project_dependent(*self.system.checked_state(q, u), time)

    # Quantities of the transformed tree --------------------------------------------------------------------

    def inverse_dynamics(self, q: ArrayLike, u: ArrayLike, udot: ArrayLike) -> Array:
        """T_R = X^T (M udot + C): forces at the independent coordinates alone that make this motion [N, N m].

        Args:
            q, u, udot: of all coordinates, (dofs,); `project_dependent` gives velocities that the constraints allow.
        """
        return self.velocity_map(q).T @ self.skeleton.inverse_dynamics(q, u, udot)

    def mass_matrix(self, q: ArrayLike | None = None) -> Array:
        """M_R = X^T M X, (independent, independent)."""
        X = self.velocity_map(q)
        M = quantities.mass_matrix(self.skeleton, q)
        return X.T @ M @ X

    def log_det_mass_matrix(self, q: ArrayLike | None = None) -> float:
        """log det M_R as the sum over bodies and aggregates of log det D: O(n)."""
        e, d = self._at(q), self._solver.data
        tied = {int(k) for k in e.dof[: int(e.first_place[e.num_aggregates])]}
        total = -sum(np.log(d.Dinv[k]) for k in range(self.system.num_dofs) if k not in tied and d.Dinv[k] > 0.0)
        for c in range(e.num_aggregates):
            free, at = int(e.free[c]), int(e.X_at[c])
            diagonal = e.D[at : at + free * free].reshape(free, free).diagonal()  # 1 / L_aa
            total -= 2.0 * np.log(diagonal).sum()
        return float(total)

    def responses(self, impulses: ArrayLike, q: ArrayLike | None = None) -> Array:
        """M_c^-1 times each row of generalized impulses (rows, dofs): velocities that the constrained system gets."""
        block = np.ascontiguousarray(np.atleast_2d(np.asarray(impulses, float)))
        if block.shape[-1] != self.system.num_dofs or block.ndim != 2 or not np.isfinite(block).all():
            raise StateError(
                f"skeleton {self.skeleton.name!r}: impulses: expected finite numbers (rows, {self.system.num_dofs}), "
                f"got shape {np.shape(impulses)}"
            )
        self._take(q)
        changes = np.zeros_like(block)
        self._solver._check(respond_many(self._solver.container.address, block, changes))
        return changes

    def operational_space_compliance(
        self, nodes: Any, offsets: Sequence[ArrayLike] | None = None, q: ArrayLike | None = None
    ) -> Array:
        """J M_c^-1 J^T (6 nodes, 6 nodes), [angular; linear] of each node in world axes: constraints are in it.

        Contacts, or tasks, of a closed-chain robot see this matrix, and need no rows for its loops.

        Args:
            nodes: a node or a list of them.
            offsets: points on the nodes, in their axes; by default their origins.
            q: positions; by default those that the skeleton holds.
        """
        items = list(nodes) if isinstance(nodes, list | tuple) else [nodes]
        places = [np.zeros(3)] * len(items) if offsets is None else list(offsets)
        q = self.skeleton.positions if q is None else q
        pairs = zip(items, places, strict=True)
        J = np.concatenate([quantities.jacobian(self.skeleton, q, node, offset) for node, offset in pairs])
        A = J @ self.responses(J, q).T
        return 0.5 * (A + A.T)

    def articulated_inertia(self, body: BodyNode, q: ArrayLike | None = None) -> Array:
        """(6, 6) articulated inertia of a body's link about the link's origin, world axes.

        With all that hangs on it outside of its own aggregate, aggregates included, free to move.
        """
        self._at(q)
        P = self._solver.data.P[self.system.link_index(body)]
        A = np.zeros((6, 6))
        A[:3, :3][np.triu_indices(3)], A[3:, 3:][np.triu_indices(3)] = P[:6], P[15:]
        A = A + np.triu(A, 1).T
        A[:3, 3:] = P[6:15].reshape(3, 3)
        A[3:, :3] = A[:3, 3:].T
        return A

    # Evaluation --------------------------------------------------------------------------------------------

    def _take(self, q: ArrayLike | None) -> None:
        self._solver.data.q[:] = self.system.checked_state(q, None)[0]

    def _at(self, q: ArrayLike | None) -> Any:
        """The embedding with X and articulated inertias at positions."""
        self.responses(np.zeros((1, self.system.num_dofs)), q)
        return self._solver._own

    def __repr__(self) -> str:
        return f"ConstraintEmbedding({self.skeleton.name!r}, {len(self.system.constraints)} constraints)"
