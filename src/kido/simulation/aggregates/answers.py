"""What others ask of aggregates: responses for the contact problem, inertias, partitions by snapshots."""

from __future__ import annotations

from kido.constraints.loop_schema import LOOPS
from kido.dynamics.embedding.jumps import apply_to_links
from kido.dynamics.embedding.responses import answer_impulse, columns_of_tree, responses_of_tree
from kido.dynamics.embedding.schema import EMBEDDING
from kido.dynamics.embedding.solve import articulate_tree
from kido.jit import callback, entry, lanes_view, view
from kido.kernels.inertia import start_inertia
from kido.kernels.responses import RESPONSE_SWEEP
from kido.simulation.aggregates.choose import note_void_rows, restore_partitions, tree_of_group
from kido.simulation.world_struct import WORLD
from kido.tree.schema import DATA, TREE


@callback
def answer_tree(address, only, thread, _c):
    """Responses of bodies and coordinates of trees with aggregates, for RESPONSES.others. Returns 0.

    Args:
        only: 1 + the tree, in the work space of a thread; 0: all that are not deferred.
    """
    w = view(WORLD, address)
    t, d, lp = w.tree, w.data, w.loops
    e = w.aggregates.embedding
    r = w.row_origins.responses
    if only > 0:
        sweep, numbers = lanes_view(RESPONSE_SWEEP, r.sweeps[thread, 0]), view(RESPONSE_SWEEP, r.sweeps[thread, 1])
        responses_of_tree(t, d, e, r, sweep, numbers, only - 1)
        return 0
    for g in range(lp.num_groups):
        tree_index = tree_of_group(lp, g)
        if lp.embedded[g] != 0 and r.deferred[tree_index] == 0:
            responses_of_tree(t, d, e, r, r.sweep, r.numbers, tree_index)
    return 0


@callback
def answer_columns(address, tree_index, _b, _c):
    """Columns of few touched bodies of a tree with aggregates, for RESPONSES.columns. Returns 0."""
    w = view(WORLD, address)
    src, e = w.row_origins, w.aggregates.embedding
    r = src.responses
    columns_of_tree(w.tree, w.data, e, src.regularized, src.touched, r.sweep, r.numbers, tree_index)
    return 0


@callback
def answer_blocks(address, tree_index, _b, _c):
    """What impulses of blocks do to a tree with aggregates, for RESPONSES.apply. Returns 0."""
    w = view(WORLD, address)
    t, d, z, y = w.tree, w.data, w.aggregates, w.row_origins.regularized
    for i in range(t.tree_body[tree_index], t.tree_body[tree_index + 1]):
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            z.loaded[k] = y.joint_pull[k] if y.held[i] != 0 else 0.0
    apply_to_links(t, d, z.embedding, y, tree_index, z.loaded)
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
