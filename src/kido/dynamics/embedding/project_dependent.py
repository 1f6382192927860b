"""A state brought onto what the embedding takes for granted: dependent positions by Newton, velocities by X.

    positions:   K_d dq_d = -phi           on the manifold of each joint, from where the dependent coordinates are
    velocities:  u_d = X u_i + K_d^-1 U

Independent coordinates stay as they are, so that an integration of all coordinates that projects after each stage is
one of the independent coordinates alone. A partition whose X has grown, or whose pivots are small, is chosen anew.
"""

from __future__ import annotations

import math

from kido.constraints.closure import (
    AGGREGATE_TOLERANCE,
    CONTRADICTION_TOLERANCE,
    newton_closure,
    share_of_move,
)
from kido.constraints.loop_rows import measure
from kido.dynamics.embedding.aggregate_body import fill_right_side
from kido.dynamics.embedding.elimination import choose_partition, dependent_rows, reduce_rows, solve_right
from kido.dynamics.embedding.rows import aggregate_columns, write_row
from kido.jit import kernel
from kido.kernels.integration import advance_joint
from kido.kernels.kinematics import transforms

MISFIT_TOLERANCE = 1e-7  # share of the largest velocity by which rows left out may be missed
PARTITION_TOLERANCE = 1e-4  # share of a row's largest number below which what is left of it is nothing
# The same by |phi|: off the positions that close a loop dependent rows look independent
OPEN_FACTOR, MAX_PARTITION_TOLERANCE = 100.0, 1e-2
MAX_AGGREGATE_STEPS = 30
WEAK, WEAKER = 1e-3, 0.1  # least pivot of scaled rows, and as a share of that at the choice, below which it is repeated
# Largest number in X, and as a multiple of that at the choice, above which it is
STEEP_NUMBER, STEEP_FACTOR = 20.0, 4.0
TRIALS = 8


@kernel
def aggregate_transforms(t, d, e, c):
    """Poses and columns of the members of an aggregate."""
    for m in range(e.first_member[c], e.first_member[c + 1]):
        transforms(t, d, e.member[m], e.member[m] + 1)


@kernel
def openness(lp, y, e, c, whole):
    """Largest |phi - aim| of the kept rows of an aggregate, or of all."""
    first = e.first_row[c]
    largest = 0.0
    last = e.first_row[c + 1] - first if whole != 0 else e.rank[c]
    for s in range(last):
        row = first + e.kept[first + s]
        value = math.fabs(lp.phi[e.row[row]] - y.aim[e.slot[row]])
        if not value <= largest:
            largest = value
    return largest


@kernel
def measure_aggregate(d, lp, e, c):
    """Values and directions of the rows of an aggregate."""
    for n in range(e.first_tie[c], e.first_tie[c + 1]):
        measure(d, lp, e.tie[n])


@kernel
def sum_of_dependent(e, c):
    """A number that tells which coordinates of an aggregate are dependent."""
    place, total = e.first_place[c], 0
    for s in range(e.rank[c]):
        k = e.dof[place + e.solved[place + s]] + 1
        total += k * k
    return total


@kernel
def partition(t, d, lp, y, e, c):
    """The partition of an aggregate at its present poses; counts a change of it."""
    aggregate_columns(d, e, c)
    measure_aggregate(d, lp, e, c)
    e.drop = min(max(OPEN_FACTOR * openness(lp, y, e, c, 1), PARTITION_TOLERANCE), MAX_PARTITION_TOLERANCE)
    before, had = sum_of_dependent(e, c), e.rank[c]
    choose_partition(t, lp, e, c)
    if e.rank[c] != had or sum_of_dependent(e, c) != before:
        e.repartitions += 1
    e.least[c] = reduce_rows(lp, e, c)
    e.largest[c] = dependent_rows(e, c)
    e.weak[c] = min(WEAK, WEAKER * e.least[c])
    e.steep[c] = max(STEEP_NUMBER, STEEP_FACTOR * e.largest[c])


@kernel
def closing_direction(d, lp, y, e, c):
    """xb: what Newton's method moves the dependent coordinates of an aggregate by; needs `measure_aggregate`."""
    aggregate_columns(d, e, c)
    reduce_rows(lp, e, c)
    closing_direction_again(lp, y, e, c)


@kernel
def closing_direction_again(lp, y, e, c):
    """`closing_direction` by the rows as they were reduced last."""
    first, n, base = e.first_row[c], e.first_place[c + 1] - e.first_place[c], e.matrix_at[c]
    for s in range(e.rank[c]):
        row = first + e.kept[first + s]
        e.K[base + s * (n + 1) + n] = y.aim[e.slot[row]] - lp.phi[e.row[row]]
    solve_right(e, c)


@kernel
def move_dependent(t, d, lp, e, c):
    """Dependent coordinates of an aggregate by xb, or a share of it, and what it measures then; d.u is used up."""
    place, largest = e.first_place[c], 0.0
    for s in range(place, e.first_place[c + 1]):
        d.u[e.dof[s]] = 0.0
    for s in range(e.rank[c]):
        k = place + e.solved[place + s]
        d.u[e.dof[k]] = e.xb[k]
        largest = max(largest, math.fabs(e.xb[k]))
    share = share_of_move(largest)
    for m in range(e.first_member[c], e.first_member[c + 1]):
        advance_joint(t, d, e.member[m], share)
    e.iterations += 1
    aggregate_transforms(t, d, e, c)
    measure_aggregate(d, lp, e, c)


@kernel
def kept_openness(_t, _d, lp, y, e, c):
    """Largest |phi - aim| of the kept rows, which were measured, as `newton_closure` asks."""
    return openness(lp, y, e, c, 0)


@kernel
def move_by_rows(t, d, lp, y, e, c):
    """A step of Newton's method in the dependent coordinates, as `newton_closure` asks."""
    closing_direction(d, lp, y, e, c)
    move_dependent(t, d, lp, e, c)
    return True


close_rows = newton_closure(kept_openness, move_by_rows)


@kernel
def close_aggregate(t, d, lp, y, e, c, tolerance):
    """Dependent positions of an aggregate by Newton's method; d.u is used up. Returns the largest |phi - aim| left."""
    aggregate_transforms(t, d, e, c)
    measure_aggregate(d, lp, e, c)
    return close_rows(t, d, lp, y, e, c, tolerance, MAX_AGGREGATE_STEPS)


@kernel
def project_velocities(d, lp, y, e, c, before):
    """Dependent velocities of an aggregate from its independent ones, the state's are in `before`."""
    place, rank, columns = e.first_place[c], e.rank[c], e.columns[c]
    aggregate_columns(d, e, c)
    e.least[c] = reduce_rows(lp, e, c)
    e.largest[c] = dependent_rows(e, c)
    fill_right_side(e, c, y.rate)
    solve_right(e, c)
    for s in range(place, e.first_place[c + 1]):
        role = e.role[s]
        k = e.dof[s]
        if role >= 0:
            d.u[k] = before[k]
        else:
            value = e.xb[s]
            row = e.X_at[c] + (-1 - role) * (columns + 1)
            for a in range(columns):
                value += e.X[row + a] * before[e.dof[place + e.solved[place + rank + a]]]
            d.u[k] = value


@kernel
def misfit(d, lp, y, e, c):
    """Largest |G u - U| of the rows left out, beside the largest velocity of the aggregate; uses K's next row."""
    place, first, rank = e.first_place[c], e.first_row[c], e.rank[c]
    rows = e.first_row[c + 1] - first
    n = e.first_place[c + 1] - place
    largest, speed = 0.0, 0.0
    for s in range(place, place + n):
        speed = max(speed, math.fabs(d.u[e.dof[s]]))
    at = e.matrix_at[c] + rank * (n + 1)
    for s in range(rank, rows):
        row = first + e.kept[first + s]
        write_row(lp, e, c, row, at)
        value = -y.rate[e.slot[row]]
        for k in range(e.first_touch[row], e.first_touch[row + 1]):
            value += e.K[at + e.touch[k]] * d.u[e.dof[place + e.touch[k]]]
            e.K[at + e.touch[k]] = 0.0
        largest = max(largest, math.fabs(value))
    return largest, speed


@kernel
def is_poor(e, c):
    """Whether a partition is to be chosen anew."""
    return e.least[c] < e.weak[c] or e.largest[c] > e.steep[c]


@kernel
def project_aggregate(t, d, lp, y, e, c, before):
    """Positions and velocities of an aggregate by its partition.

    Returns:
        The largest |phi - aim|, and whether another partition should do better.
    """
    close_aggregate(t, d, lp, y, e, c, AGGREGATE_TOLERANCE)
    error = openness(lp, y, e, c, 1)
    project_velocities(d, lp, y, e, c, before)
    poor = is_poor(e, c) or not error <= CONTRADICTION_TOLERANCE
    if not poor and e.rank[c] < e.first_row[c + 1] - e.first_row[c]:
        largest, speed = misfit(d, lp, y, e, c)
        poor = largest > MISFIT_TOLERANCE * speed
    return error, poor


@kernel
def project_tree(t, d, lp, y, e, keeps):
    """Positions and velocities of all aggregates, from the base to the tips; poses of all links are current then.

    Args:
        keeps: 1: partitions stay as they are.

    Returns:
        The largest |phi - aim| of all rows, those left out too.
    """
    worst = 0.0
    for k in range(e.before.shape[0]):
        e.before[k] = d.u[k]
    e.iterations = 0
    for q in range(e.num_items):
        i = e.item[q]
        if i >= 0:
            transforms(t, d, i, i + 1)
        else:
            c = -1 - i
            error, poor = project_aggregate(t, d, lp, y, e, c, e.before)
            for _ in range(TRIALS):
                if keeps != 0 or not poor:
                    break
                had = e.rank[c]
                partition(t, d, lp, y, e, c)
                error, poor = project_aggregate(t, d, lp, y, e, c, e.before)
                if e.rank[c] == had and error <= CONTRADICTION_TOLERANCE:  # as good as it gets here
                    break
            if not error <= worst:
                worst = error
    return worst


@kernel
def partition_tree(t, d, lp, y, e):
    """Partitions of all aggregates from nothing, near to the present positions, which are closed on the way.

    d.u is used up. Returns the largest |phi - aim|.
    """
    worst = 0.0
    for q in range(e.num_items):
        i = e.item[q]
        if i >= 0:
            transforms(t, d, i, i + 1)
        else:
            c = -1 - i
            aggregate_transforms(t, d, e, c)
            error = math.inf
            for _ in range(TRIALS):
                partition(t, d, lp, y, e, c)
                before = error
                error = openness(lp, y, e, c, 1)
                if error <= AGGREGATE_TOLERANCE or (error <= CONTRADICTION_TOLERANCE and error >= 0.5 * before):
                    break
                close_aggregate(t, d, lp, y, e, c, AGGREGATE_TOLERANCE)
                error = openness(lp, y, e, c, 1)
            if not error <= worst:
                worst = error
    e.is_partitioned = 1
    return worst
