"""Newton's method along the tree of a robot, in eight worlds at once (`kido.batch.lockstep_blocks`).

All bodies of the tree take part, or the first, second, ... of few that each world touches. So what a lane finds does
not depend on the others. It takes the steps that its world would take by itself (`kido.constraints.tree_newton`); a
lane that is done keeps its impulses. What is not solved then is left to its world, from the warm start.
"""

from __future__ import annotations

import math

from kido.batch.lockstep_few import columns_of, solve_few
from kido.batch.lockstep_struct import FEW, LANE_NUMBERS, LOCKSTEP
from kido.constraints.row_origins import ROW_ORIGINS
from kido.constraints.tree_newton import (
    PATIENCE,
    REST_STEPS,
    WARM,
    apply_to_few,
    apply_to_tree,
    follow_tree,
    hold_blocks,
    make_admissible,
)
from kido.jit import LANES, callback, kernel, view, where_positive
from kido.jit.compile import thread_view
from kido.kernels.chain_impulses import apply_chain, clear_impulses
from kido.kernels.regularized_tree import REGULARIZED, list_held, release_tree, solve_held_tree, weigh_held
from kido.kernels.touched_laws import invert_held, release_touched
from kido.math.choices import any_positive, both, either
from kido.solvers.certify import measure_rows
from kido.solvers.default import HOPELESS, TREE_STEPS
from kido.solvers.history import BEST_ROW, gather
from kido.solvers.laws import (
    FIRM_PENALTY,
    GOOD_MERIT,
    LAW_PENALTY,
    V,
    adapt,
    keep_iterate,
    take_back,
    tree_penalty,
)
from kido.solvers.problem import BOUNDED, PROBLEM
from kido.tree.schema import DATA, TREE

FEW_LEFT = 2  # lanes that go on one by one
LEFT_BEHIND = math.inf  # merit of a lane that goes on by itself


@kernel
def keep_impulses(c, live):
    """Where `live` is not positive, the impulses that BEST_ROW holds."""
    k = 0
    for b in range(c.num_blocks):
        i = c.row[b]
        for r in range(1 if c.kind[b] == BOUNDED else 3):
            c.impulse[i + r] = where_positive(live, c.impulse[i + r], c.history[BEST_ROW, k])
            k += 1


@kernel
def is_left(c, merit):
    """Positive where merit is finite and an island that was measured needs iterations."""
    return both(HOPELESS - merit, either(merit - 1.0, c.island_residual[0] - c.newton_tolerance))


@kernel
def first_penalty(merit, done, vain, penalty):
    """Penalty of the next iteration: a firm one where there is nothing left but digits, and after a warm start."""
    cold = both(merit - 1.0, either(done, merit - WARM))
    return where_positive(cold, tree_penalty(merit, vain, penalty), FIRM_PENALTY)


@kernel
def measure(t, d, c, src, y, few, dense, tree_index, columns):
    """What impulses do to what they act on. Returns what `measure_rows` does."""
    if dense:
        return apply_to_few(c, src, y, few, few, 1, 0, 0, columns)
    return apply_to_tree(t, d, c, src, y, 0, tree_index)


@kernel
def iterate(t, d, c, src, y, few, dense, tree_index, columns, penalty, h):
    """Impulses and row velocities by the blocks' laws, linearized, with the equations of motion."""
    if dense:
        release_touched(y, few, 0)
        hold_blocks(c, src, y, 0, penalty)
        solve_few(y, few, columns)
    else:
        first, number = t.tree_body[tree_index], y.number[tree_index]
        release_tree(t, y, first, number)
        hold_blocks(c, src, y, 0, penalty)
        solve_held_tree(t, d, y, first, number, h)
    follow_tree(c, src, y, 0)


@kernel
def go_on(t, d, c, src, y, few, own, dense, tree_index, h):
    """One iteration, of lanes or of a single one of them, whose `inner` is positive; it says then whether more follow."""
    columns = columns_of(few)
    merit, done, vain, penalty, best = own.merit[0], own.taken[0], own.vain[0], own.penalty[0], own.best[0]
    cold, more, inner = own.cold[0], own.more[0], own.inner[0]
    unsolved = both(inner, merit - 1.0)
    rough = either(unsolved, c.island_residual[0] - c.newton_tolerance)
    fine = where_positive(rough, -1.0, inner)
    more = where_positive(fine, 0.0, where_positive(both(inner, 0.0 - unsolved), more - 1.0, more))
    inner = where_positive(fine, -1.0, inner)
    own.more[0], own.inner[0] = more, inner
    if not any_positive(inner):
        return
    held = first_penalty(merit, done, vain, penalty)
    keep_iterate(c, 0)
    iterate(t, d, c, src, y, few, dense, tree_index, columns, held, h)
    keep_impulses(c, inner)
    last = merit
    merit = where_positive(inner, measure_rows(c, 0, V), merit)
    grew = both(inner, merit - last)
    rested = where_positive(last - 1.0, -1.0, both(grew, cold))  # solved it was: the step is taken back, and all
    if any_positive(grew):
        take_back(c, 0, where_positive(grew, where_positive(rested, 1.0, 0.5), 0.0 * grew))
        merit = where_positive(grew, measure_rows(c, 0, V), merit)
    gather(c, 0, BEST_ROW)
    done += where_positive(inner, 1.0, 0.0)
    more, inner = where_positive(rested, 0.0, more), where_positive(rested, -1.0, inner)
    least, times, sigma = adapt(merit, last, best, vain, penalty)
    own.best[0], vain = where_positive(inner, least, best), where_positive(inner, times, vain)
    own.penalty[0] = where_positive(inner, sigma, penalty)
    inner = both(both(inner, HOPELESS - merit), either(merit - GOOD_MERIT, more))
    own.merit[0], own.taken[0], own.vain[0], own.more[0] = merit, done, vain, more
    own.inner[0] = both(inner, both(TREE_STEPS - done, PATIENCE - vain))


@callback
def finish_lanes(address, tree_index, unused_1, unused_2):
    """The iterations of lanes that go on by themselves, where there are few: a lane by itself is quicker than eight.

    By the same source, operations and blocks: what a lane finds does not depend on how many are left.

    Returns:
        How many lanes go on together.
    """
    x = view(LOCKSTEP, address)
    own, few = x.own.address, x.few.address
    number = 0
    for j in range(LANES):
        number += 1 if thread_view(LANE_NUMBERS, own, j).inner[0] > 0.0 else 0
    if number > FEW_LEFT:
        return number
    for j in range(LANES):
        lane = thread_view(LANE_NUMBERS, own, j)
        while lane.inner[0] > 0.0:
            go_on(
                *(thread_view(TREE, x.tree.address, j), thread_view(DATA, x.data.address, j)),
                *(thread_view(PROBLEM, x.problem.address, j), thread_view(ROW_ORIGINS, x.origins.address, j)),
                *(thread_view(REGULARIZED, x.regularized.address, j), thread_view(FEW, few, j)),
                *(lane, x.dense != 0, tree_index, x.time_step),
            )
    return 0


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
