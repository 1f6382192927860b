"""CE, constraint embedding: loops become aggregate bodies, and the articulated-body algorithm runs on that tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kido.constraints.constraint import Constraint
from kido.dynamics.embedding.callbacks import INDEFINITE, LOOPS_NOT_CLOSED, accelerate, project_dependent, respond
from kido.dynamics.embedding.container import embed, size_of_loop
from kido.dynamics.embedding.integration import project_stage, project_step
from kido.dynamics.embedding.schema import EMBEDDING
from kido.dynamics.solver import DynamicsSolver
from kido.dynamics.system import ConstrainedSystem
from kido.errors import StateError
from kido.skeleton import DegreeOfFreedom

__all__ = ["CombinedSolver", "EmbeddingSolver"]

LARGE = 12  # coordinates from which a loop is not embedded where both methods are combined


class EmbeddingSolver(DynamicsSolver):
    """CE: each loop's bodies are one aggregate body, whose coordinates are the loop's independent ones.

    Dependent velocities follow, u_dep = X u_ind + K_d^-1 U, so that the recursions of a tree run unchanged and the
    accelerations meet the rows to rounding. Costs O(n) where loops are small. Independent coordinates are chosen by
    elimination with pivots, those of driven joints if there is a choice, and anew where the choice becomes poor;
    rows that follow from others are left out, and their residual shows whether they really do.
    Source: Jain (2012), "Multibody graph transformations and analysis, part II: closed-chain constraint embedding".

    Args:
        system: as of `DynamicsSolver`, and so are other options.
        independent: coordinates to be preferred as independent ones.
        loose: constraints that are not embedded, but get multipliers over the tree with aggregates.
    """

    name = "CE"
    _accelerate, _project_dependent, _respond = accelerate, project_dependent, respond
    project_stage, project_step = project_stage, project_step

    def __init__(
        self,
        system: ConstrainedSystem,
        *,
        independent: Iterable[DegreeOfFreedom] = (),
        loose: Iterable[Constraint] | None = None,
        **options: Any,
    ):
        self._named = [dof.index for dof in independent]
        self._loose = list(self._large_loops(system) if loose is None else loose)
        super().__init__(system, **options)

    def _large_loops(self, system: ConstrainedSystem) -> list[Constraint]:
        return []

    def _make_own(self) -> EMBEDDING:
        return embed(self.system, self._named, self._loose)

    def _check(self, status: int) -> None:
        what = f"skeleton {self.system.skeleton.name!r}: constraint embedding"
        if status == LOOPS_NOT_CLOSED:
            raise StateError(f"{what}: no positions near the given ones close the loops; assemble the skeleton first")
        if status == INDEFINITE:
            raise StateError(f"{what}: independent coordinates of a loop see no inertia")
        super()._check(status)

    @property
    def partition(self) -> list[str]:
        """Names of the independent coordinates: those outside of aggregates, and the aggregates' own."""
        dofs = self.system.skeleton.dofs
        return [dofs[k].name for k in self.independent]

    @property
    def independent(self) -> list[int]:
        """Indices of the independent coordinates."""
        e = self._own
        dependent: set[int] = set()
        for c in range(e.num_aggregates):
            place = int(e.first_place[c])
            dependent |= {int(e.dof[place + k]) for k in e.solved[place : place + int(e.rank[c])]}
        return [k for k in range(self.system.num_dofs) if k not in dependent]

    @property
    def repartitions(self) -> int:
        return self._own.repartitions


class CombinedSolver(EmbeddingSolver):
    """CE+TA: loops over few coordinates are embedded, rows of large ones get multipliers over the tree that results.

    Large are loops over 12 coordinates or more, whose aggregate would make what hangs on them expensive.
    Source: Jain (2013), "Structure-based computational modeling architecture for robotics", sec. IV.
    """

    name = "CE+TA"

    def _large_loops(self, system: ConstrainedSystem) -> list[Constraint]:
        return [c for k, c in enumerate(system.constraints) if size_of_loop(system, k) >= LARGE]
