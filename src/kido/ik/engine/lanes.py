"""Eight descents side by side, in lanes: attempts of one search, or first attempts of eight targets of a batch.

A round is one iteration of `kido.ik.engine.levenberg.attempt` for each lane: the step within limits from the normal
equations at hand, residuals there, and what comes of it, kept or not. Lanes that are new take no step: their round
evaluates where they begin. Lanes whose tasks are met have one more, like `last_step`. Choices are selections, so that
every lane goes the way that it would go by itself; a lane that ended says so, and whoever runs the rounds gives it the
next positions to begin at. The arithmetic is that of single descents, in the same order.
"""

from __future__ import annotations

import math

from kido.ik.engine.levenberg import COST_ROUNDING, GAIN_WINDOW, SMALL_GRADIENT
from kido.ik.engine.residuals import residuals
from kido.ik.engine.search import SEARCH, SEARCH_CLOSEST, SEARCH_MET, SEARCH_NOT_FINITE, SEARCH_STOPPED
from kido.ik.engine.step import (
    hold_pressed,
    largest_of,
    limited_step,
    met,
    normal_equations,
    predicted_decrease,
    take_step,
    weighted_cost,
)
from kido.ik.engine.tasks import IK_LANES
from kido.jit import all_positive, callback, kernel, lanes_view, view, where_positive
from kido.tree.schema import TREE


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
