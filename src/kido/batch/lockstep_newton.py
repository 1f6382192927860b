"""Newton's method along the tree of a robot, in eight worlds at once (`kido.batch.lockstep_blocks`).

All bodies of the tree take part, or the first, second, ... of few that each world touches. So what a lane finds does
not depend on the others. It takes the steps that its world would take by itself (`kido.constraints.tree_newton`); a
lane that is done keeps its impulses. What is not solved then is left to its world, from the warm start.
"""

from __future__ import annotations

import math

from kido.batch.lockstep_few import columns_of
from kido.batch.lockstep_iterations import go_on, keep_impulses
from kido.batch.lockstep_struct import LOCKSTEP
from kido.constraints.tree_newton import PATIENCE, REST_STEPS, apply_to_few, apply_to_tree, make_admissible
from kido.jit import callback, kernel, view, where_positive
from kido.kernels.chain_impulses import apply_chain, clear_impulses
from kido.kernels.regularized_tree import list_held, weigh_held
from kido.kernels.touched_laws import invert_held
from kido.math.choices import any_positive, both, either
from kido.solvers.default import HOPELESS, TREE_STEPS
from kido.solvers.history import BEST_ROW, gather
from kido.solvers.laws import GOOD_MERIT, LAW_PENALTY

LEFT_BEHIND = math.inf  # merit of a lane that goes on by itself


@kernel
def is_left(c, merit):
    """Positive where merit is finite and an island that was measured needs iterations."""
    return both(HOPELESS - merit, either(merit - 1.0, c.island_residual[0] - c.newton_tolerance))


@kernel
def measure(t, d, c, src, y, few, dense, tree_index, columns):
    """What impulses do to what they act on. Returns what `measure_rows` does."""
    if dense:
        return apply_to_few(c, src, y, few, few, 1, 0, 0, columns)
    return apply_to_tree(t, d, c, src, y, 0, tree_index)


@kernel
def newton(x, dense, tree_index):
    """Newton's method on the blocks in lanes (`tree_newton_island`); leaves merit and iterations of each."""
    t = x.tree
    d = x.data
    c = x.problem
    src = x.origins
    y = x.regularized
    few = x.few
    own = x.own
    columns = columns_of(few)
    merit = measure(t, d, c, src, y, few, dense, tree_index, columns)
    none = 0.0 * c.step[0]
    own.taken[0], own.vain[0], own.penalty[0], own.best[0] = none, none, none + LAW_PENALTY, merit
    own.cold[0] = merit - 1.0
    own.more[0] = where_positive(own.cold[0], 1.0, float(REST_STEPS)) + none
    outer = is_left(c, merit)
    if any_positive(outer):
        if dense:
            merit = where_positive(invert_held(few, 0, columns), merit, LEFT_BEHIND)
            outer = both(outer, HOPELESS - merit)
        else:
            weigh_held(t, d, y, t.tree_body[tree_index], t.tree_body[tree_index + 1])
    own.merit[0] = merit
    while any_positive(outer):
        gather(c, 0, BEST_ROW)
        own.inner[0] = both(outer, either(own.merit[0] - GOOD_MERIT, own.more[0]))
        while x.finish(x, tree_index) > 0:
            go_on(t, d, c, src, y, few, own, dense, tree_index, x.time_step)
        make_admissible(c, 0)
        keep_impulses(c, outer)
        finite = HOPELESS - own.merit[0]
        measured = measure(t, d, c, src, y, few, dense, tree_index, columns)
        own.merit[0] = where_positive(outer, where_positive(finite, measured, LEFT_BEHIND), own.merit[0])
        outer = both(both(outer, HOPELESS - own.merit[0]), either(own.merit[0] - 1.0, own.more[0]))
        outer = both(outer, both(TREE_STEPS - own.taken[0], PATIENCE - own.vain[0]))


@kernel
def hold_all(t, y, tree_index):
    """All bodies of a tree take part."""
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    for i in range(first, last):
        y.held[i] = 1
    list_held(t, y, first, last)


@callback
def solve_together(address, tree_index, unused_1, unused_2):
    """`newton` for a robot in lanes."""
    x = view(LOCKSTEP, address)
    dense = x.dense != 0
    if not dense:
        hold_all(x.tree, x.regularized, tree_index)
    newton(x, dense, tree_index)
    return 0


@callback
def clear_pulls(address, tree_index, unused_1, unused_2):
    """No impulses on a robot in lanes. Returns 0."""
    x = view(LOCKSTEP, address)
    t = x.tree
    y = x.regularized
    hold_all(t, y, tree_index)
    clear_impulses(t, y, t.tree_body[tree_index], y.number[tree_index])
    return 0


@callback
def apply_together(address, tree_index, unused_1, unused_2):
    """What these impulses do to the robot. Returns 0."""
    x = view(LOCKSTEP, address)
    t = x.tree
    y = x.regularized
    apply_chain(t, x.data, y, t.tree_body[tree_index], t.tree_body[tree_index + 1], y.number[tree_index])
    return 0
