"""What others ask of aggregates: responses for the contact problem, inertias, partitions by snapshots."""

from __future__ import annotations

from kido.constraints.loop_schema import (
    LOOPS,
)
from kido.constraints.row_origins import ROW_ORIGINS
from kido.dynamics.embedding.responses import answer_impulse, responses_of_tree
from kido.dynamics.embedding.schema import EMBEDDING
from kido.dynamics.embedding.sweeps import articulate_tree
from kido.jit import callback, entry, view
from kido.kernels.inertia import start_inertia
from kido.kernels.responses import RESPONSES
from kido.simulation.aggregates.choose import note_void_rows, restore_partitions, tree_of_group
from kido.simulation.aggregates.schema import (
    AGGREGATE_STEP,
)
from kido.simulation.schema import (
    AGGREGATES_AT,
    DATA_AT,
    LOOPS_AT,
    PROBLEM_AT,
    ROW_ORIGINS_AT,
    TREE_AT,
    WORLD,
)
from kido.solvers.problem import PROBLEM
from kido.tree.schema import DATA, TREE


@callback
def answer_tree(address, _a, _b, _c):
    """Responses of bodies and coordinates of trees with aggregates, for RESPONSES.others. Returns 0."""
    w = view(WORLD, address)
    t, d, lp = view(TREE, w.table[TREE_AT]), view(DATA, w.table[DATA_AT]), view(LOOPS, w.table[LOOPS_AT])
    e = view(AGGREGATE_STEP, w.table[AGGREGATES_AT]).embedding
    r = view(RESPONSES, view(ROW_ORIGINS, w.table[ROW_ORIGINS_AT]).responses[0])
    for g in range(lp.num_groups):
        if lp.embedded[g] != 0:
            responses_of_tree(t, d, e, r, tree_of_group(lp, g))
    return 0


@callback
def answer_row(address, at, tree_index, _c):
    """Response of a constraint's row to a tree with aggregates: Y of the problem from J, from `at` on. Returns 0."""
    w = view(WORLD, address)
    t, d, pr = view(TREE, w.table[TREE_AT]), view(DATA, w.table[DATA_AT]), view(PROBLEM, w.table[PROBLEM_AT])
    z, lp = view(AGGREGATE_STEP, w.table[AGGREGATES_AT]), view(LOOPS, w.table[LOOPS_AT])
    begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
    for k in range(begin, end):
        z.loaded[k], lp.kept_u[k] = pr.J[at + k - begin], 0.0
    answer_impulse(t, d, z.embedding, tree_index, z.loaded, lp.kept_u)
    for k in range(begin, end):
        pr.Y[at + k - begin] = lp.kept_u[k]
        lp.kept_u[k] = 0.0
    return 0


@entry("i8(i8,i8,i8,i8,i8[::1])")
def look_for_void_rows(tree, data, loops, embedding, void):
    """`note_void_rows` by addresses. Returns 0."""
    note_void_rows(view(TREE, tree), view(DATA, data), view(LOOPS, loops), view(EMBEDDING, embedding), void)
    return 0


@entry("i8(i8)")
def restore_inertias(world):
    """Articulated inertias of trees with aggregates at mid-step, from bodies' own at the same poses. Returns 0."""
    w = view(WORLD, world)
    t, d, lp = view(TREE, w.table[TREE_AT]), view(DATA, w.table[DATA_AT]), view(LOOPS, w.table[LOOPS_AT])
    e = view(AGGREGATE_STEP, w.table[AGGREGATES_AT]).embedding
    for g in range(lp.num_groups):
        if lp.embedded[g] != 0:
            tree_index = tree_of_group(lp, g)
            for i in range(t.tree_body[tree_index], t.tree_body[tree_index + 1]):
                start_inertia(t, d, i)
            articulate_tree(t, d, e, e.tree_item[tree_index], e.tree_item[tree_index + 1], w.time_step[0])
    return 0


@entry("i8(i8)")
def note_partitions(world):
    """Rebuild partitions from what a snapshot keeps of them. Returns 0."""
    w = view(WORLD, world)
    z = view(AGGREGATE_STEP, w.table[AGGREGATES_AT])
    e, end = z.embedding, z.end_embedding
    restore_partitions(view(TREE, w.table[TREE_AT]), view(LOOPS, w.table[LOOPS_AT]), e, end)
    return 0
