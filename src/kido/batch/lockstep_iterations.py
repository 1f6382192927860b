"""One iteration of Newton's method on the blocks of a robot, of eight worlds at once or of one of them by itself."""

from __future__ import annotations

from kido.batch.lockstep_few import columns_of, solve_few
from kido.constraints.tree_newton import PATIENCE, WARM, follow_tree, hold_blocks
from kido.jit import kernel, where_positive
from kido.kernels.regularized_tree import release_tree, solve_held_tree
from kido.kernels.touched_laws import release_touched
from kido.math.choices import any_positive, both, either
from kido.solvers.certify import measure_rows
from kido.solvers.default import HOPELESS, TREE_STEPS
from kido.solvers.history import BEST_ROW, gather
from kido.solvers.laws import FIRM_PENALTY, GOOD_MERIT, V, adapt, keep_iterate, take_back, tree_penalty
from kido.solvers.problem import BOUNDED


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
def first_penalty(merit, done, vain, penalty):
    """Penalty of the next iteration: a firm one where there is nothing left but digits, and after a warm start."""
    cold = both(merit - 1.0, either(done, merit - WARM))
    return where_positive(cold, tree_penalty(merit, vain, penalty), FIRM_PENALTY)


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
    """One iteration of lanes, or of one of them, whose `inner` is positive; it says then whether more follow."""
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
