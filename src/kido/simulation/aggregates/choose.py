"""Which groups of a world have their loops as aggregates in a step, and by which partitions.

A group of one skeleton whose coordinates all move by forces fits (kido.simulation.aggregates.container). Near to
positions where rows lose rank, or where rows follow from others that do not do so everywhere, it is eliminated.
"""

from __future__ import annotations

from kido.constraints.loop_solve import is_awake
from kido.dynamics.embedding.elimination import (
    dependent_rows,
    mark_rows,
    note_partition,
    reduce_rows_against,
    write_all_rows,
)
from kido.dynamics.embedding.project_dependent import is_poor, measure_aggregate, partition
from kido.dynamics.embedding.rows import aggregate_columns
from kido.jit import kernel
from kido.kernels.kinematics import transforms

VOID = 1e-4  # share of an aggregate's largest number that a row never has which nothing moves
FLAT_SHARE, STEEP_AGGREGATE = 0.002, 60.0  # least lever, and largest number in X, of loops that are aggregates


@kernel
def tree_of_group(lp, g):
    """The first part of a group, the only one of those whose loops are aggregates."""
    return lp.member[lp.group_member[g]]


@kernel
def is_whole(lp, g):
    """Whether none of a group's constraints is broken."""
    broken = 0
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        broken += 1 - lp.enabled[lp.of[lp.slot[s]]]
    return broken == 0


@kernel
def reach(lp, e, c, u, share):
    """X of an aggregate, with share * K u on its rows' right-hand side. Returns its largest number."""
    e.least[c] = reduce_rows_against(lp, e, c, u, share)
    return dependent_rows(e, c)


@kernel
def is_near_singular(e, c):
    """Whether an aggregate's position is near to one where its rows lose rank: elimination does better there."""
    return not (e.lever[c] > FLAT_SHARE and e.largest[c] < STEEP_AGGREGATE)


@kernel
def may_become_singular(e, c, u, h):
    """Whether levers of an aggregate may vanish in a step: they change by what its coordinates turn, or move, by."""
    most = 0.0
    for s in range(e.first_place[c], e.first_place[c + 1]):
        most = max(most, abs(u[e.dof[s]]))
    return not e.lever[c] > h * most


@kernel
def note_void_rows(t, d, lp, e, void):
    """Take out of `void` (rows of aggregates) those that have numbers at the positions of the data.

    Such rows, as those across the plane of a planar linkage, never move; any other that follows from the rest tells a
    singular position, or a linkage that owes its mobility to its proportions.
    """
    transforms(t, d, 0, t.parent.shape[0])
    for c in range(e.num_aggregates):
        measure_aggregate(d, lp, e, c)
        aggregate_columns(d, e, c)
        write_all_rows(lp, e, c)
        whole = 0.0
        at, width = e.matrix_at[c], e.first_place[c + 1] - e.first_place[c] + 1
        for row in range(e.first_row[c], e.first_row[c + 1]):
            e.reach[row] = 0.0
            for k in range(width):
                e.reach[row] = max(e.reach[row], abs(e.K[at + k]))
                e.K[at + k] = 0.0
            whole = max(whole, e.reach[row])
            at += width
        for row in range(e.first_row[c], e.first_row[c + 1]):
            if e.reach[row] > VOID * whole:
                void[row] = 0


@kernel
def choose_group(t, d, lp, y, e, end, z, g, h):
    """Whether the loops of a group are aggregates in this step; partitions are chosen anew where they are poor."""
    tree_index = tree_of_group(lp, g)
    chosen = 0
    for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            if z.anew[g] != 0 or is_poor(e, c) or is_near_singular(e, c) or may_become_singular(e, c, d.u, h):
                if chosen == 0:
                    transforms(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1])
                    chosen = 1
                partition(t, d, lp, y, e, c)
                e.largest[c] = reach(lp, e, c, d.u, 0.0)
                for k in range(e.matrix_at[c], e.matrix_at[c] + rows_times_width(e, c)):
                    end.K[k] = 0.0
            if e.rank[c] < z.wanted[c] or is_near_singular(e, c) or may_become_singular(e, c, d.u, h):
                z.anew[g] = 1
                return False
    z.anew[g] = 0
    return True


@kernel
def rows_times_width(e, c):
    """Entries of K of an aggregate."""
    return (e.first_row[c + 1] - e.first_row[c]) * (e.first_place[c + 1] - e.first_place[c] + 1)


@kernel
def restore_partitions(t, lp, e, end):
    """All that follows from the kept fields of partitions (kido.simulation.aggregates.container)."""
    for c in range(e.num_aggregates):
        mark_rows(e, c)
        note_partition(t, lp, e, c)
        for k in range(e.matrix_at[c], e.matrix_at[c] + rows_times_width(e, c)):
            end.K[k] = 0.0


@kernel
def choose_aggregates(t, d, lp, y, e, end, z, r, h):
    """Decide for each group whether its loops are aggregates in a step of h: `embedded`, and `apart` of its tree."""
    for g in range(lp.num_groups):
        if z.fits[g] != 0:
            now = 0
            if is_awake(t, lp, g) and lp.left_open[g] == 0 and is_whole(lp, g):
                now = 1 if choose_group(t, d, lp, y, e, end, z, g, h) else 0
            else:
                z.anew[g] = 1
            lp.embedded[g] = now
            r.apart[tree_of_group(lp, g)] = now
