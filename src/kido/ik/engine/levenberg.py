"""Descents: an attempt to meet the tasks, alone or eight side by side, and the way to the closest pose.

A round of lanes is one iteration of `attempt` for each lane: the step within limits from the normal equations at hand,
residuals there, and what comes of it, kept or not. Lanes that are new take no step: their round evaluates where they
begin. Lanes whose tasks are met have one more, like `last_step`. Choices are selections, so that every lane goes the
way that it would go by itself; a lane that ended says so, and whoever runs the rounds gives it the next positions to
begin at. The arithmetic is that of single descents, in the same order. Lanes are attempts of one search, or first
attempts for eight targets of a batch.

Source: damping by the residual, mu = E + offset, after Sugihara (2011), "Solvability-unconcerned inverse kinematics by
the Levenberg-Marquardt method", section III; its change by the gain ratio after Nielsen (1999), "Damping parameter in
Marquardt's method".
"""

from __future__ import annotations

import math

from kido.ik.engine.residuals import residuals, task_residuals
from kido.ik.engine.search import SEARCH, SEARCH_CLOSEST, SEARCH_MET, SEARCH_NOT_FINITE, SEARCH_STOPPED
from kido.ik.engine.step import (
    hold_pressed,
    keep_positions,
    largest_of,
    limited_step,
    met,
    newton_equations,
    normal_equations,
    predicted_decrease,
    restore_positions,
    solve_free,
    take_step,
    weighted_cost,
)
from kido.ik.engine.tasks import IK_LANES
from kido.jit import all_positive, callback, kernel, lanes_view, view, where_positive
from kido.tree.schema import TREE

GAIN_WINDOW = 4  # iterations after which an attempt must have gained something

COST_ROUNDING = 1e-15  # of costs: a smaller gain is none

SMALL_GRADIENT = 1e-7  # beside the residual: an attempt ends

MIN_CURVATURE = 1e-6  # share of the largest curvature by which one may be negative at a minimum

SADDLE_NUDGES, SADDLE_NUDGE = 3, 1e-3  # times, and how far [rad, m], positions are moved from a saddle


@kernel
def is_met(s):
    """Whether all tasks are met."""
    return met(s, s) > 0.5


@kernel
def last_step(t, d, s, w, cost):
    """One more step where tasks are met already, kept if it lowers the cost: errors end at rounding, mostly."""
    if cost == 0.0:
        return
    normal_equations(s, s, w.g, w.A, True)
    hold_pressed(s, w, w, d.q)
    keep_positions(d, w)
    if limited_step(s, w, w, d.q, w.min_damping) < 0.5:
        take_step(t, d, s, w, w)
        task_residuals(t, d, s)
        if weighted_cost(s, s) < cost and is_met(s):
            return
    restore_positions(d, w)
    task_residuals(t, d, s)


@kernel
def attempt(t, d, s, w, limit):
    """Levenberg-Marquardt steps from the positions in the data, which must be within limits.

    Positions, e and J end at the best found.

    Returns:
        SEARCH_MET, SEARCH_CLOSEST (stationary), SEARCH_STOPPED (it took too many iterations, or gained too little) or
        SEARCH_NOT_FINITE.
    """
    task_residuals(t, d, s)
    cost = weighted_cost(s, s)
    if not cost < math.inf:
        return SEARCH_NOT_FINITE
    if is_met(s):
        last_step(t, d, s, w, cost)
        return SEARCH_MET
    normal_equations(s, s, w.g, w.A, True)
    growth, factor = 2.0, 1.0
    before = cost
    status = SEARCH_STOPPED
    for iteration in range(limit):
        if w.used >= w.max_iterations:
            break
        w.used += 1
        largest = hold_pressed(s, w, w, d.q)
        if largest <= SMALL_GRADIENT * math.sqrt(2.0 * cost):
            status = SEARCH_CLOSEST
            break
        accepted = False
        if limited_step(s, w, w, d.q, factor * (w.damping * cost + w.min_damping)) < 0.5:
            predicted = predicted_decrease(w)
            keep_positions(d, w)
            take_step(t, d, s, w, w)
            task_residuals(t, d, s)
            tried = weighted_cost(s, s)
            if tried < cost and predicted > 0.0:
                accepted = True
                x = 2.0 * (cost - tried) / predicted - 1.0
                cost = tried
                if is_met(s):
                    last_step(t, d, s, w, cost)
                    return SEARCH_MET
                normal_equations(s, s, w.g, w.A, True)
                factor = max(factor * max(1.0 / 3.0, 1.0 - x * x * x), 1e-9)
                growth = 2.0
            else:
                restore_positions(d, w)
                if predicted <= COST_ROUNDING * cost:
                    status = SEARCH_CLOSEST
                    break
        if not accepted:
            factor *= growth
            growth *= 2.0
        if iteration % GAIN_WINDOW == GAIN_WINDOW - 1:
            if cost > (1.0 - w.min_decrease) * before:
                break
            before = cost
    task_residuals(t, d, s)
    return status


@kernel
def refine(t, d, s, w, limit):
    """Newton steps from the positions in the data to a minimum of the cost within limits; ends like `attempt`."""
    task_residuals(t, d, s)
    cost = weighted_cost(s, s)
    damping = 0.0
    status = SEARCH_STOPPED
    nudges = 0
    newton_equations(t, d, s, w)
    for _ in range(limit):
        w.used += 1
        largest = hold_pressed(s, w, w, d.q)
        scale = 0.0
        for c in range(w.g.shape[0]):
            scale = max(scale, math.fabs(w.A[c, c]))
        if largest <= w.stationary * math.sqrt(2.0 * cost):
            if nudges == SADDLE_NUDGES or solve_free(w, MIN_CURVATURE * scale) < 0.5:
                status = SEARCH_CLOSEST
                break
            nudges += 1
            for c in range(w.step.shape[0]):
                w.step[c] = SADDLE_NUDGE if (c + nudges) % 2 == 0 else -SADDLE_NUDGE * nudges
            take_step(t, d, s, w, w)
            task_residuals(t, d, s)
            cost = weighted_cost(s, s)
            newton_equations(t, d, s, w)
            continue
        accepted = False
        if limited_step(s, w, w, d.q, damping * scale) < 0.5:
            predicted = predicted_decrease(w)
            keep_positions(d, w)
            take_step(t, d, s, w, w)
            task_residuals(t, d, s)
            tried = weighted_cost(s, s)
            if tried < cost and predicted > 0.0:
                accepted = True
                cost = tried
                if is_met(s):
                    last_step(t, d, s, w, cost)
                    return SEARCH_MET
                damping = 0.0 if damping < 1e-6 else 0.125 * damping
                newton_equations(t, d, s, w)
            else:
                restore_positions(d, w)
                if abs(predicted) <= COST_ROUNDING * cost:
                    status = SEARCH_CLOSEST
                    break
        if not accepted:
            damping = max(1e-5, 8.0 * damping)
            if damping > 1e12:
                break
    task_residuals(t, d, s)
    return status


@callback
def lanes_round(tree, work, lanes, unused):
    """One round of all lanes. Returns whether any ended."""
    t, w, x = view(TREE, tree), view(SEARCH, work), lanes_view(IK_LANES, lanes)
    s, d = w.tasks, w.lanes_data
    cost, new, last = x.cost[0], x.new[0], x.last[0]
    both = where_positive(new + last, 1.0, 0.0)
    largest = hold_pressed(s, w, x, x.q)
    mu = x.factor[0] * (w.damping * cost + w.min_damping)
    mu = where_positive(last, w.min_damping, where_positive(new, 1.0, mu))
    bad = limited_step(s, w, x, x.q, mu)
    for c in range(x.step.shape[0]):
        x.step[c] = where_positive(new, 0.0, x.step[c])
    bad = where_positive(new, 0.0, bad)
    predicted = predicted_decrease(x)
    for k in range(d.q.shape[0]):
        d.q[k] = x.q[k]
    take_step(t, d, s, w, x)
    residuals(t, d, s, x, s.residual_of_lanes)
    tried = weighted_cost(s, x)
    good = met(s, x)
    # What was tried is kept where it is better; where the descent is at its end by the gradient, nothing is tried.
    end = where_positive(largest - SMALL_GRADIENT * math.sqrt(2.0 * cost), 0.0, 1.0 - both)
    better = where_positive(bad + end, 0.0, where_positive(cost - tried, 1.0, 0.0))
    better = where_positive(both, better, where_positive(predicted, better, 0.0))
    better = where_positive(last, where_positive(good, better, 0.0), better)
    for k in range(d.q.shape[0]):
        x.q[k] = where_positive(better, d.q[k], x.q[k])
    normal_equations(s, x, x.new_g, x.new_A, False)
    for c in range(x.g.shape[0]):
        x.g[c] = where_positive(better, x.new_g[c], x.g[c])
        for k in range(c + 1):
            x.A[c, k] = where_positive(better, x.new_A[c, k], x.A[c, k])
    # How the damping goes on.
    moved = where_positive(both, 0.0, better)
    y = 2.0 * (cost - tried) / where_positive(moved, predicted, 1.0) - 1.0
    eased = largest_of(x.factor[0] * largest_of(1.0 / 3.0, 1.0 - y * y * y), 1e-9)
    tight = where_positive(both, x.factor[0], x.factor[0] * x.growth[0])
    x.factor[0] = where_positive(moved, eased, tight)
    x.growth[0] = where_positive(moved, 2.0, where_positive(both, x.growth[0], 2.0 * x.growth[0]))
    before = x.before[0]
    x.cost[0] = now = where_positive(better, tried, cost)
    # How it ended: where an earlier reason holds, a later one does not count.
    made = x.made[0] + (1.0 - both)
    x.made[0] = made
    left = x.left[0] - (1.0 - both)
    window = where_positive(left, 0.0, 1.0 - both)
    slow = where_positive(now - (1.0 - w.min_decrease) * before, window, 0.0)
    x.before[0] = where_positive(window + new, now, before)
    x.left[0] = where_positive(window, 1.0 * GAIN_WINDOW, left)
    stalled = where_positive(predicted - COST_ROUNDING * cost, 0.0, 1.0)
    stalled = where_positive(bad + better + both, 0.0, stalled)
    ended = where_positive(x.most[0] - made, 0.0, 1.0 + SEARCH_STOPPED)
    ended = where_positive(slow, 1.0 + SEARCH_STOPPED, ended)
    ended = where_positive(stalled + end, 1.0 + SEARCH_CLOSEST, ended)
    reached = where_positive(better, good, 0.0)  # then one more round, unless there is nothing left to gain
    ended = where_positive(reached, where_positive(now, 0.0, 1.0 + SEARCH_MET), ended)
    ended = where_positive(where_positive(better, 0.0, new), 1.0 + SEARCH_NOT_FINITE, ended)
    ended = where_positive(last, 1.0 + SEARCH_MET, ended)
    x.ended[0] = ended
    x.last[0] = where_positive(last, 0.0, reached)
    x.new[0] = 0.0
    return 0 if all_positive(0.5 - ended) else 1


@kernel
def begin_lane(w, n, lane, lanes, q, sample, most):
    """Have a lane begin at positions q, with some iterations at most; n: the lanes as numbers."""
    for k in range(w.kept.shape[0]):
        n.q[k * lanes + lane] = q[k]
    n.cost[lane] = math.inf
    n.factor[lane] = 1.0
    n.growth[lane] = 2.0
    n.before[lane] = math.inf
    n.left[lane] = 1.0 * GAIN_WINDOW
    n.made[lane] = 0.0
    n.most[lane] = 1.0 * most
    n.new[lane] = 1.0
    n.last[lane] = 0.0
    n.ended[lane] = 0.0
    n.sample[lane] = sample


@kernel
def aim_lane(s, n, lane, lanes):
    """Give a lane the targets of the tasks."""
    for k in range(s.framed.shape[0]):
        for i in range(12):
            n.target[k, i * lanes + lane] = s.target[k, i]


@kernel
def ended_positions(w, n, lane, lanes, q):
    """Positions of a lane."""
    for k in range(w.kept.shape[0]):
        q[k] = n.q[k * lanes + lane]
