"""Rows J and responses Y of blocks of deferred trees (`kido.constraints.wrenches`), for islands that ask for them."""

from __future__ import annotations

from kido.constraints.contact import make_contact_rows
from kido.constraints.joint import make_joint_row
from kido.constraints.tree_newton import TREE_NEWTON
from kido.jit import callback, view
from kido.kernels.responses import make_deferred_responses
from kido.solvers.problem import BOUNDED, PROBLEM


@callback
def make_deferred_rows(address, island, unused_1, unused_2):
    """Make the rows that an island lacks, as the assembly would have. Returns the number of blocks."""
    c = view(PROBLEM, address)
    newton = view(TREE_NEWTON, c.tree_newton_of)
    t, d, col, src = newton.tree, newton.data, newton.collision, newton.row_origins
    made, found = -1, 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        if c.deferred[b] == 0:
            continue
        tree_index = t.tree_of_body[t.body_of_dof[c.dof_a[b] if c.len_a[b] > 0 else c.dof_b[b]]]
        if tree_index != made:
            r = src.responses
            if r.apart[tree_index] != 0:
                r.others(r.others_of, 1 + tree_index, c.thread[0])
            else:
                make_deferred_responses(t, d, r, tree_index, c.thread[0])
            made = tree_index
        if c.kind[b] == BOUNDED:
            make_joint_row(t, d, c, src, b)
        else:
            make_contact_rows(t, d, col, c, src, src.responses, src.index[b], b)
        c.deferred[b] = 0
        found += 1
    return found
