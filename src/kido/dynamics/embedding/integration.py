"""Callbacks of integrations by constraint embedding: an ordinary differential equation of independent coordinates.

Where a loop passes a singular position, such as a four-bar whose bars are in one line, dependent coordinates follow
from independent ones no more: their errors grow with the inverse square of the lever arm of the row that fails, and
Newton's method may end on another branch. So the *lever* of the rows, how far the points of a constraint move along a
row as a share of how far they move at all, is watched from step to step. Where it could vanish within the next few
steps, the state is moved by the tree-augmented solver, which needs no partition, and projected after each step, until
the position is behind.
"""

from __future__ import annotations

import math

from kido.constraints.loop_schema import COUPLE
from kido.dynamics.embedding.elimination import is_length
from kido.dynamics.embedding.rows import aggregate_columns, write_row
from kido.dynamics.embedding.schema import EMBEDDING
from kido.dynamics.moving import (
    MOVING,
    close_positions,
    close_velocities,
    drive,
    solver_status,
)
from kido.integrators.schema import MOTION
from kido.jit import callback, kernel, view

KEEPS, CHOOSES = 1, 0
# Levers below which a position counts as singular, and above which none is near
SINGULAR_LEVER, REGULAR_LEVER = 0.01, 0.3
LEVER_STEPS = 3.0  # within which a lever that shrinks as it did could vanish


@kernel
def count_independent(e, m):
    """Errors of dependent coordinates follow from those of others, and do not count."""
    for k in range(m.counted.shape[0]):
        m.counted[k] = 1
    for k in range(e.first_place[e.num_aggregates]):
        if e.role[k] < 0:
            m.counted[e.dof[k]] = 0


@kernel
def least_lever(d, lp, e):
    """Least lever of the rows that are solved for dependent coordinates; uses K."""
    least = 1.0
    for c in range(e.num_aggregates):
        if e.constant[c] != 0:
            continue
        aggregate_columns(d, e, c)
        place, first = e.first_place[c], e.first_row[c]
        n, base = e.first_place[c + 1] - place, e.matrix_at[c]
        for s in range(e.rank[c]):
            row = first + e.kept[first + s]
            r = e.row[row]
            if lp.kind[r] == COUPLE:
                continue
            own, most = 0.0, 0.0
            for other in range(first, e.first_row[c + 1]):
                q = e.row[other]
                if lp.of[q] == lp.of[r] and is_length(lp.kind[q]) == is_length(lp.kind[r]):
                    write_row(lp, e, c, other, base)
                    size = 0.0
                    for k in range(e.first_touch[other], e.first_touch[other + 1]):
                        size = max(size, math.fabs(e.K[base + e.touch[k]]))
                        e.K[base + e.touch[k]] = 0.0
                    most = max(most, size)
                    if other == row:
                        own = size
            if most > 0.0:
                least = min(least, own / most)
        for k in range(n + 1):
            e.K[base + k] = 0.0
    return least


@kernel
def take_back_decision(g, m):
    """A step that is tried again begins with the solver that it began with."""
    if m.retries != 0 and g.decided_at == m.start:
        g.uses_fallback = g.used_fallback
        g.lever = g.lever_before
        g.decided_at = math.nan


@kernel
def decide(g, m, lever):
    """Which solver goes on from here."""
    g.used_fallback = g.uses_fallback
    g.lever_before = g.lever
    g.decided_at = m.start
    change = lever - g.lever
    g.lever = lever
    if g.uses_fallback == 0:
        if lever < SINGULAR_LEVER or (lever < REGULAR_LEVER and lever < -LEVER_STEPS * change):
            g.uses_fallback = 1
    elif lever > REGULAR_LEVER or (lever > SINGULAR_LEVER and change > 0.0 and lever > 1.5 * change):
        g.uses_fallback = 0


@kernel
def project_embedded(g, m, choice):
    """The embedding's projection of dependent coordinates. Returns 0 or a status."""
    y = g.solver
    drive(g, y, m.now)
    status = y.project_dependent(y, choice)
    if status < 0 and choice == KEEPS:
        status = y.project_dependent(y, CHOOSES)
    return solver_status(status)


@kernel
def project_state(g, m):
    """The fallback's projection. Returns 0 or a status."""
    y = g.fallback
    t, d, lp = y.tree, y.data, y.loops
    drive(g, y, m.now)
    status = close_positions(t, d, lp, g, y)
    return status if status < 0 else close_velocities(t, d, lp, g, y)


@callback
def project_stage(owner, motion, _a, _b):
    """See `kido.integrators.schema`: by the partitions that there are, and by others only where these fail."""
    g, m = view(MOVING, owner), view(MOTION, motion)
    take_back_decision(g, m)
    if g.uses_fallback != 0:
        return 0
    return project_embedded(g, m, KEEPS)


@callback
def project_step(owner, motion, _a, _b):
    """See `kido.integrators.schema`: partitions that became poor are chosen anew between steps."""
    g, m = view(MOVING, owner), view(MOTION, motion)
    take_back_decision(g, m)
    y = g.solver
    d, lp, e = y.data, y.loops, view(EMBEDDING, y.own)
    embedded = g.uses_fallback == 0
    status = project_embedded(g, m, CHOOSES) if embedded else project_state(g, m)
    if status < 0 or m.now != m.start + m.size:
        return status
    decide(g, m, least_lever(d, lp, e))
    m.altered = 0 if embedded else 1
    count_independent(e, m)
    if not embedded:
        for k in range(m.counted.shape[0]):
            m.counted[k] = 1
    return 0
