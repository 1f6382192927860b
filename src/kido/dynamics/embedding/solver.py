"""CE, constraint embedding: loops become aggregate bodies, and the articulated-body algorithm runs on that tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kido.constraints.closure import OPEN_TOLERANCE
from kido.constraints.constraint import Constraint
from kido.dynamics.embedding.combined import accelerate_loose, project_loose, respond_loose
from kido.dynamics.embedding.container import embed, size_of_loop
from kido.dynamics.embedding.integration import project_stage, project_step
from kido.dynamics.embedding.project_dependent import is_poor, partition_tree, project_tree
from kido.dynamics.embedding.schema import EMBEDDING
from kido.dynamics.embedding.solve import (
    accelerations_of_tree,
    begin_response,
    forces_of_tree,
    response_of_tree,
)
from kido.dynamics.rows import missing
from kido.dynamics.schema import DYNAMICS
from kido.dynamics.solver import DynamicsSolver
from kido.dynamics.system import ConstrainedSystem
from kido.errors import StateError
from kido.integrators.schema import FAILED
from kido.jit import callback, entry, kernel, view
from kido.skeleton import DegreeOfFreedom

LOOPS_NOT_CLOSED, INDEFINITE = -1, -2  # status of a call: above FAILED
MISSED_TOLERANCE = 1e-12  # share of the accelerations by which rows may be missed until partitions are chosen anew
MORE = 10.0  # multiple of what was missed then, up to which it is put up with


@kernel
def partition_at(t, d, lp, y, e):
    """Partitions for the state of the data, which stays as it is."""
    n = d.q.shape[0]
    for k in range(n):
        e.kept_q[k], e.before[k] = d.q[k], d.u[k]
    partition_tree(t, d, lp, y, e)
    for k in range(n):
        d.q[k], d.u[k] = e.kept_q[k], e.before[k]


@kernel
def any_poor(e):
    """Whether an aggregate's partition is to be chosen anew."""
    found = False
    for c in range(e.num_aggregates):
        found = found or is_poor(e, c)
    return found


@kernel
def status_of(status):
    """What a callback returns for a status of `articulate_tree`."""
    if status >= 0:
        return FAILED - 1 - status
    return INDEFINITE if status < -1 else 0


@kernel
def all_forces(d, y, e, A, udot, tau):
    """`constraint_force`, `multiplier`, `redundant` of embedded and loose rows."""
    forces_of_tree(d, y, e, A, udot, tau)
    for a in range(e.num_loose):
        y.redundant[e.loose[a]] = 1
    for j in range(e.loose_rank):
        y.redundant[e.loose[e.order[j]]] = 0
    if e.num_loose > 0:
        y.rank += e.loose_rank
        for k in range(y.constraint_force.shape[0]):
            y.constraint_force[k] += e.loose_force[k]


@callback
def accelerate(address, part, _b, _c):
    """See `kido.dynamics.schema`; with `part` = 1 accelerations alone, without the constraints' forces."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    e = view(EMBEDDING, y.own)
    y.evaluations += 1
    if e.is_partitioned == 0:
        partition_at(t, d, lp, y, e)
    _, status = accelerations_of_tree(t, d, lp, y, e)
    if any_poor(e):
        partition_at(t, d, lp, y, e)
        _, status = accelerations_of_tree(t, d, lp, y, e)
    if e.num_loose > 0:
        accelerate_loose(t, d, lp, y, e)
    if part != 0:
        return status_of(status)
    all_forces(d, y, e, d.A, d.udot, d.tau)
    left = missing(t, d, lp, y, y.residual)
    size = 1.0
    for k in range(d.udot.shape[0]):
        size = max(size, abs(d.udot[k]))
    if left > max(MISSED_TOLERANCE, e.missed) * size:
        partition_at(t, d, lp, y, e)
        _, status = accelerations_of_tree(t, d, lp, y, e)
        if e.num_loose > 0:
            accelerate_loose(t, d, lp, y, e)
        all_forces(d, y, e, d.A, d.udot, d.tau)
        e.missed = MORE * missing(t, d, lp, y, y.residual) / size
    return status_of(status)


@callback
def project_dependent(address, keeps, _b, _c):
    """See `kido.dynamics.schema`; with `keeps` = 1 by the partitions that there are."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    e = view(EMBEDDING, y.own)
    if e.is_partitioned == 0:
        for k in range(d.u.shape[0]):
            e.before[k] = d.u[k]
        partition_tree(t, d, lp, y, e)
        for k in range(d.u.shape[0]):
            d.u[k] = e.before[k]
    error = project_tree(t, d, lp, y, e, keeps)
    if e.num_loose > 0 and error <= OPEN_TOLERANCE:
        error = project_loose(t, d, lp, y, e, keeps)
    if not error <= OPEN_TOLERANCE:
        return LOOPS_NOT_CLOSED
    return 0


@kernel
def begin_responses(t, d, lp, y, e):
    """Articulated inertias and partitions at the positions of the data. Returns the status of a callback."""
    if e.is_partitioned == 0:
        partition_at(t, d, lp, y, e)
    _, status = begin_response(t, d, lp, y, e)
    if any_poor(e):
        partition_at(t, d, lp, y, e)
        _, status = begin_response(t, d, lp, y, e)
    return status_of(status)


@callback
def respond(address, _a, _b, _c):
    """See `kido.dynamics.schema`."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    e = view(EMBEDDING, y.own)
    status = begin_responses(t, d, lp, y, e)
    if e.num_loose > 0:
        respond_loose(t, d, lp, y, e)
    else:
        response_of_tree(t, d, e, y.impulse, y.jump, y.change)
    all_forces(d, y, e, d.B, y.change, y.impulse)
    return status


@entry("i8(i8,f8[:,::1],f8[:,::1])")
def respond_many(address, impulses, changes):
    """changes (rows, dofs): responses to generalized impulses without jumps, at the q of the data. Returns a status."""
    y = view(DYNAMICS, address)
    t, d, lp = y.tree, y.data, y.loops
    e = view(EMBEDDING, y.own)
    status = begin_responses(t, d, lp, y, e)
    for row in range(impulses.shape[0]):
        for s in range(y.num_rows):
            y.jump[s] = 0.0
        for k in range(impulses.shape[1]):
            y.impulse[k] = impulses[row, k]
        if e.num_loose > 0:
            respond_loose(t, d, lp, y, e)
        else:
            response_of_tree(t, d, e, y.impulse, y.jump, y.change)
        for k in range(impulses.shape[1]):
            changes[row, k] = y.change[k]
    return status


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
