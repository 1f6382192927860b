"""Descent by levels: steps of inverse differential kinematics until what is wanted is met, or nothing comes nearer.

Costs c_l = |w r_l|^2 / 2 of the levels are compared in order: positions are better than others if the first level that
is not within its tolerance in both, and differs notably, is lower. A step of all levels is judged so:

* It is taken at once if it halves the sum of all costs. Where everything can be met, steps are those of Gauss and
  Newton, and this is all that happens.
* Otherwise what it costs the levels above by their curvature, which is of the size of |u|^2, is first taken back: steps
  of the levels before the last missed one alone, until those that were met are met again. If that ends at better
  positions than the best so far, it goes on from there; if not, from the best, with more damping.

So positions become better all the time but for finitely many steps: the descent cannot cycle where tasks contradict
each other. It ends when steps fade, when many in a row were refused, or when it became slow.

Each level has a damping of its own, factor (c_l / 10) + 1e-9: Levenberg-Marquardt's, by the cost (Sugihara 2011), so
that levels that are met are served by full steps beside others that cannot be met. The factor of the level that decides
follows the ratio of its gain to what the linear model promised (Nielsen 1999); where positions became no better, it
grows for the level that became worse and for all below.

Sources: Escande, Mansard, Wieber (2014) for the steps; second-order corrections: Nocedal, Wright, "Numerical
Optimization", section 18.3; Sugihara, "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method"
(2011); Nielsen, "Damping parameter in Marquardt's method" (1999).
"""

from __future__ import annotations

import math

from kido.ik.differential.arrays import DIFFERENTIAL, STEP_NOT_FINITE, STEP_REFUSED
from kido.ik.differential.desired_velocities import coordinate_bounds, is_turn
from kido.ik.differential.levels import solve_levels
from kido.ik.differential.measures import assess, predict
from kido.ik.engine.residuals import follow, task_residuals
from kido.ik.engine.tasks import TASKS
from kido.jit import Struct, direct_entry, floats, integer, integers, kernel, view
from kido.kernels.entries import OK, copy_finite
from kido.kernels.integration import advance
from kido.optimization.dense_qp.arrays import QP_SOLVED, QUADRATIC
from kido.tree.schema import DATA, TREE

# What a descent returns beside what a step does: all levels are within their tolerances; no step leads nearer; as many
# iterations as allowed.
LEVELS_MET, LEVELS_STALLED, OUT_OF_ITERATIONS = 20, 21, 22


LEVEL_DAMPING, MIN_LEVEL_DAMPING = 0.1, 1e-9  # of the cost, and at least
MIN_DAMPING_FACTOR, MAX_DAMPING_FACTOR = 1e-6, 1e12  # factors
FAST_SHARE = 0.5  # share of all costs that a step may leave to be taken at once
NOTABLE = 1e-6  # share of a cost by which another one differs from it
FADING = 1e-9  # [rad, m] steps that are smaller lead nowhere
MAX_REFUSED = 12  # steps in a row
SLOW_WINDOW, SLOW_SHARE = 25, 1e-4  # iterations, and the share of a cost that they must remove
REPAIRS = 4  # steps that take back what a step cost the levels above
FACTOR_GROWTH = 8.0  # of factors


class DESCENT(Struct):
    """Arrays of a descent by levels, beside those of its steps.

    Entry 0 of what is counted by level are hard rows: half spaces, limits of ball and free joints, pairs of shapes.
    Level l of the list is entry l + 1.
    """

    used = integer(doc="iterations of the last descent")
    refused_steps = integer(doc="steps refused in it")
    level_of = integers("tasks", doc="place of a soft task's level in the list")
    masked = integers("tasks", doc="1: not all columns are the task's own")
    own = integers("tasks", "columns", doc="1: a column that the task may use")
    whole_J = floats("rows", "columns", doc="Jacobians of such tasks by all columns")
    tolerance = floats("levels1", doc="size up to which a level is satisfied")
    factor = floats("levels1", doc="of a level's damping")
    least = floats("columns", unit="rad or m", doc="positions that are not left; -inf: none")
    most = floats("columns", unit="rad or m")
    reach = floats("columns", unit="rad or m", doc="how far a coordinate may move in all; inf: any")
    moved = floats("columns", unit="rad or m", doc="sum of all steps")
    best_moved = floats("columns")
    best = floats("dofs", doc="the best positions so far")
    cost = floats("levels1", doc="half the sum of squares of a level's weighted residuals")
    size = floats("levels1", doc="the largest of them")
    new_cost = floats("levels1", doc="after a step")
    new_size = floats("levels1")
    model_cost = floats("levels1", doc="after a step, by the linear model")
    model_size = floats("levels1")
    old_cost = floats("levels1", doc="before a step that is being repaired")
    mark_cost = floats("levels1", doc="the best some iterations ago")
    mark_size = floats("levels1")
    lowest = floats("levels1", doc="the lowest cost that did not cost a level above")
    best_cost = floats("levels1", doc="at the best positions")
    best_size = floats("levels1")


@kernel
def copy_to(a, b):
    """b = a."""
    for k in range(b.shape[0]):
        b[k] = a[k]


@kernel
def narrow_bounds(t, d, s, x, w):
    """Bounds of the step: those of limits, of the positions that are not left, and of how far coordinates may move."""
    coordinate_bounds(t, d, s, x)
    for c in range(s.active.shape[0]):
        j = s.active[c]
        low, high = x.bound_low[c], x.bound_high[c]
        if not is_turn(t, t.body_of_dof[j], j):
            low, high = max(low, min(w.least[c] - d.q[j], 0.0)), min(high, max(w.most[c] - d.q[j], 0.0))
        low, high = max(low, min(-w.reach[c] - w.moved[c], 0.0)), min(high, max(w.reach[c] - w.moved[c], 0.0))
        x.bound_low[c], x.bound_high[c] = low, high


@kernel
def take(t, d, s, x, w):
    """Move the positions in the data along u."""
    for k in range(d.u.shape[0]):
        d.u[k] = 0.0
    for c in range(s.active.shape[0]):
        d.u[s.active[c]] = x.u[c]
        w.moved[c] += x.u[c]
    advance(t, d, 0, t.parent.shape[0], 1.0)
    follow(s, d.q)


@kernel
def adapt(w, level):
    """The factor of a level's damping after a step that was taken, from its cost before to its new cost."""
    promise = w.cost[level] - w.model_cost[level]
    if promise > 0.0:
        y = 2.0 * (w.cost[level] - w.new_cost[level]) / promise - 1.0
        f = min(max(1.0 - y * y * y, 1.0 / 3.0), 2.0)
        w.factor[level] = min(max(f * w.factor[level], MIN_DAMPING_FACTOR), MAX_DAMPING_FACTOR)


@kernel
def order(w, levels):
    """How the new measures compare with the best: level + 1 if one is better first, -1 - level if worse; 0: equal."""
    for i in range(levels):
        if w.new_size[i] <= w.tolerance[i] and w.best_size[i] <= w.tolerance[i]:
            continue
        if w.new_cost[i] < (1.0 - NOTABLE) * w.best_cost[i]:
            return i + 1
        if not w.new_cost[i] <= (1.0 + NOTABLE) * w.lowest[i]:
            return -1 - i
    return 0


@kernel
def last_missed(size, tolerance, levels):
    """The last level that is not within its tolerance; -1: all are."""
    for i in range(levels - 1, -1, -1):
        if not size[i] <= tolerance[i]:
            return i
    return -1


@kernel
def is_satisfied(w, levels):
    """Whether all levels are within their tolerances."""
    return last_missed(w.size, w.tolerance, levels) < 0


@kernel
def total(cost, levels):
    """Sum of costs."""
    found = 0.0
    for i in range(levels):
        found += cost[i]
    return found


@kernel
def take_measures(w):
    """The new measures are those of the positions at hand."""
    copy_to(w.new_cost, w.cost)
    copy_to(w.new_size, w.size)


@kernel
def keep_best(d, w, first):
    """The positions and measures at hand are the best; levels before `first` are as before."""
    for i in range(w.cost.shape[0]):
        w.lowest[i] = min(w.lowest[i], w.cost[i]) if i < first else w.cost[i]
    copy_to(d.q, w.best)
    copy_to(w.cost, w.best_cost)
    copy_to(w.size, w.best_size)
    copy_to(w.moved, w.best_moved)


@kernel
def back_to_best(d, w):
    """The best positions, and their measures."""
    copy_to(w.best, d.q)
    copy_to(w.best_cost, w.cost)
    copy_to(w.best_size, w.size)
    copy_to(w.best_moved, w.moved)


@kernel
def is_slow(w, levels):
    """Whether no level has gained notably since the last call."""
    slow = True
    for i in range(levels):
        met = w.best_size[i] <= w.tolerance[i] and w.mark_size[i] <= w.tolerance[i]
        if not met and w.best_cost[i] < (1.0 - SLOW_SHARE) * w.mark_cost[i]:
            slow = False
    copy_to(w.best_cost, w.mark_cost)
    copy_to(w.best_size, w.mark_size)
    return slow


@kernel
def step_of(t, d, s, x, p, w, count):
    """u of the first `count` levels, as `assess` left what it needs; QP_SOLVED, or why there is none."""
    for i in range(count):
        x.level_damping[i] = w.factor[i + 1] * (LEVEL_DAMPING * w.cost[i + 1]) + MIN_LEVEL_DAMPING
    narrow_bounds(t, d, s, x, w)
    return solve_levels(s, x, p, count)


@kernel
def is_repaired(w, last):
    """Whether the levels before `last` that the best positions meet are met by the new measures."""
    lost = 0
    for i in range(last):
        if w.best_size[i] <= w.tolerance[i] and not w.new_size[i] <= w.tolerance[i]:
            lost += 1
    return lost == 0


@kernel
def repair(t, d, s, x, p, w, last):
    """Take back what a step cost the levels before `last`, which were met; returns whether they are, or a status."""
    for _ in range(REPAIRS):
        if is_repaired(w, last):
            return OK
        copy_to(w.new_cost, w.cost)
        status = step_of(t, d, s, x, p, w, last - 1)
        if status != QP_SOLVED:
            return status
        take(t, d, s, x, w)
        w.used += 1
        status = assess(t, d, s, x, w, w.new_cost, w.new_size)
        if status != OK:
            return status
    return OK


@kernel
def descend_levels(t, d, s, x, p, w, count, most):
    """Descend from the positions in the data with the first `count` levels; positions end at the best.

    Returns:
        LEVELS_MET, LEVELS_STALLED, OUT_OF_ITERATIONS, or why there is no step.
    """
    levels = count + 1
    w.used = w.refused_steps = 0
    for i in range(x.warm_count.shape[0]):
        x.warm_count[i] = 0
    status = assess(t, d, s, x, w, w.cost, w.size)
    if status != OK:
        return status
    for i in range(levels):
        w.factor[i] = 1.0
        if not w.cost[i] < math.inf:
            return STEP_NOT_FINITE
    keep_best(d, w, 0)
    copy_to(w.cost, w.mark_cost)
    copy_to(w.size, w.mark_size)
    ended, refused, checked = OUT_OF_ITERATIONS, 0, 0
    while w.used < most:
        if is_satisfied(w, levels):
            return LEVELS_MET
        status = step_of(t, d, s, x, p, w, count)
        if status != QP_SOLVED:
            ended = status
            break
        predict(s, x, w)
        length = 0.0
        for c in range(x.u.shape[0]):
            length = max(length, math.fabs(x.u[c]))
        if w.used >= checked + SLOW_WINDOW:
            checked = w.used
            if is_slow(w, levels):
                length = 0.0
        if length < FADING or refused == MAX_REFUSED:
            ended = LEVELS_STALLED
            break
        before = total(w.cost, levels)
        take(t, d, s, x, w)
        w.used += 1
        status = assess(t, d, s, x, w, w.new_cost, w.new_size)
        if status != OK:
            ended = status
            break
        if total(w.new_cost, levels) <= FAST_SHARE * before:
            for i in range(1, levels):
                w.factor[i] = max(w.factor[i] / 3.0, MIN_DAMPING_FACTOR)
            take_measures(w)
            if order(w, levels) > 0:
                keep_best(d, w, order(w, levels) - 1)
            continue
        last = last_missed(w.best_size, w.tolerance, levels)
        if last > 1:
            copy_to(w.cost, w.old_cost)
            status = repair(t, d, s, x, p, w, last)
            if status != OK:
                ended = status
                break
            copy_to(w.old_cost, w.cost)
        found = order(w, levels)
        if found > 0:
            adapt(w, found - 1)
            take_measures(w)
            keep_best(d, w, found - 1)
            refused = 0
            continue
        refused += 1
        w.refused_steps += 1
        for i in range(max(-1 - found, 1) if found < 0 else 1, levels):
            w.factor[i] = min(FACTOR_GROWTH * max(w.factor[i], 1e-3), MAX_DAMPING_FACTOR)
        back_to_best(d, w)
        status = assess(t, d, s, x, w, w.cost, w.size)
        if status != OK:
            ended = status
            break
    back_to_best(d, w)
    return LEVELS_MET if is_satisfied(w, levels) else ended


@direct_entry("i8(i8,i8,i8,i8,i8,i8,f8[::1],i8,i8,f8[::1])")
def descend(tree, data, tasks, own, program, descent, q, count, most, after):
    """Descend from q with the first `count` levels, at most so many steps; where it ended goes to `after`, e is there.

    Returns:
        LEVELS_MET, LEVELS_STALLED, OUT_OF_ITERATIONS, or why there is no step.
    """
    t, d, s = view(TREE, tree), view(DATA, data), view(TASKS, tasks)
    x, p, w = view(DIFFERENTIAL, own), view(QUADRATIC, program), view(DESCENT, descent)
    if copy_finite(q, d.q) != OK:
        return STEP_REFUSED
    follow(s, d.q)
    status = descend_levels(t, d, s, x, p, w, count, most)
    task_residuals(t, d, s)
    for k in range(d.q.shape[0]):
        after[k] = d.q[k]
    return status
