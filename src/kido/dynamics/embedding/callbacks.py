"""The constraint-embedding solver's callbacks: see `kido.dynamics.schema`."""

from __future__ import annotations

from kido.constraints.closure import OPEN_TOLERANCE
from kido.dynamics.embedding.combined import accelerate_loose, project_loose, respond_loose
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
from kido.integrators.schema import FAILED
from kido.jit import callback, entry, kernel, view

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
def all_forces(d, y, e, A, tau):
    """`constraint_force`, `multiplier`, `redundant` of embedded and loose rows."""
    forces_of_tree(d, y, e, A, tau)
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
    all_forces(d, y, e, d.A, d.tau)
    left = missing(t, d, lp, y, y.residual)
    size = 1.0
    for k in range(d.udot.shape[0]):
        size = max(size, abs(d.udot[k]))
    if left > max(MISSED_TOLERANCE, e.missed) * size:
        partition_at(t, d, lp, y, e)
        _, status = accelerations_of_tree(t, d, lp, y, e)
        if e.num_loose > 0:
            accelerate_loose(t, d, lp, y, e)
        all_forces(d, y, e, d.A, d.tau)
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
    all_forces(d, y, e, d.B, y.impulse)
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
