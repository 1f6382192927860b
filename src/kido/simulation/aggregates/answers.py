"""What others ask of aggregates: responses for the contact problem, inertias, partitions by snapshots."""

from __future__ import annotations

from kido.constraints.loop_schema import LOOPS
from kido.dynamics.embedding.responses import answer_impulse, responses_of_tree
from kido.dynamics.embedding.schema import EMBEDDING
from kido.dynamics.embedding.solve import articulate_tree
from kido.jit import callback, entry, view
from kido.kernels.inertia import start_inertia
from kido.simulation.aggregates.choose import note_void_rows, restore_partitions, tree_of_group
from kido.simulation.world_struct import WORLD
from kido.tree.schema import DATA, TREE


@callback
def answer_tree(address, _a, _b, _c):
    """Responses of bodies and coordinates of trees with aggregates, for RESPONSES.others. Returns 0."""
    w = view(WORLD, address)
    t, d, lp = w.tree, w.data, w.loops
    e = w.aggregates.embedding
    r = w.row_origins.responses
    for g in range(lp.num_groups):
        if lp.embedded[g] != 0:
            responses_of_tree(t, d, e, r, tree_of_group(lp, g))
    return 0


@callback
def answer_row(address, at, tree_index, _c):
    """Response of a constraint's row to a tree with aggregates: Y of the problem from J, from `at` on. Returns 0."""
    w = view(WORLD, address)
    t, d, pr = w.tree, w.data, w.problem
    z, lp = w.aggregates, w.loops
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
    t, d, lp = w.tree, w.data, w.loops
    e = w.aggregates.embedding
    for g in range(lp.num_groups):
        if lp.embedded[g] != 0:
            tree_index = tree_of_group(lp, g)
            for i in range(t.tree_body[tree_index], t.tree_body[tree_index + 1]):
                start_inertia(t, d, i)
            articulate_tree(t, d, e, e.tree_item[tree_index], e.tree_item[tree_index + 1], w.time_step)
    return 0


@entry("i8(i8)")
def note_partitions(world):
    """Rebuild partitions from what a snapshot keeps of them. Returns 0."""
    w = view(WORLD, world)
    z = w.aggregates
    e, end = z.embedding, z.end_embedding
    restore_partitions(w.tree, w.loops, e, end)
    return 0
