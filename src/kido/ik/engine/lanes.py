"""Eight descents side by side, in lanes: attempts of one search, or first attempts of eight targets of a batch.

A round is one iteration of `kido.ik.engine.levenberg.attempt` for each lane: the step within limits from the normal
equations at hand, residuals there, and what comes of it, kept or not. Lanes that are new take no step: their round
evaluates where they begin. Lanes whose tasks are met have one more, like `last_step`. Choices are selections, so that
every lane goes the way that it would go by itself; a lane that ended says so, and whoever runs the rounds gives it the
next positions to begin at. The arithmetic is that of single descents, in the same order.

Coordinates at limits keep their rows of the Cholesky factor, as rows of a unit matrix.
"""

from __future__ import annotations

import math

from kido.ik.engine.levenberg import ROUNDING, SMALL_GRADIENT, WINDOW
from kido.ik.engine.residuals import clear_rows, com_task, follow, needed_transforms, pose_task, posture_task
from kido.ik.engine.search import (
    CLOSEST,
    DAMPING,
    MET,
    MIN_DAMPING,
    MIN_DECREASE,
    NOT_FINITE,
    SEARCH,
    STOPPED,
)
from kido.ik.engine.tasks import COM, POSE, POSTURE, TASKS
from kido.jit import Struct, all_positive, callback, floats, integers, kernel, lanes_view, view, where_positive
from kido.kernels.integration import advance_joint
from kido.tree.schema import DATA, TREE

# Numbers of a lane: the cost; the damping's factor and its growth; cost at the start of the window, and iterations left
# of it; iterations made, and how many there may be; 1 in its first round; 1 in its last; 0 or 1 + how it ended.
COST, FACTOR, GROWTH, BEFORE, LEFT, MADE, MOST, NEW, LAST, ENDED = range(10)
NUMBERS = 10


class IK_LANES(Struct):
    q = floats("positions", unit="rad or m", doc="positions of the descents")
    number = floats("numbers", doc="see COST ... ENDED")
    target = floats("tasks", "poses", doc="targets, as TASKS.target")
    e = floats("rows", unit="rad or m", doc="residuals of trial positions")
    J = floats("rows", "columns", doc="their Jacobian")
    g = floats("columns", doc="gradient of the cost at q")
    A = floats("columns", "columns", doc="J^T W^2 J there; the lower triangle")
    new_g = floats("columns", doc="these at trial positions")
    new_A = floats("columns", "columns")
    L = floats("columns", "columns", doc="Cholesky factor")
    y = floats("columns", doc="right-hand side")
    step = floats("columns")
    held = floats("columns", doc="1: at a limit after the step")
    sample = integers("lanes", doc="attempt or target that each lane works on; -1: none")
    made = integers("lanes", doc="of targets: attempts that each lane has made for its own")
    past = floats("pasts", "past_numbers", doc="EARLY ends of these for each lane: iterations, cost, positions")
    search = integers(1, doc="address of the SEARCH with limits and settings")


@kernel
def largest_of(a, b):
    """The larger of two numbers, by lanes."""
    return where_positive(a - b, a, b)


@kernel
def hold_pressed(s, w, x):
    """As `kido.ik.engine.step.hold_pressed`."""
    largest = 0.0
    for c in range(x.g.shape[0]):
        q, g = x.q[s.active[c]], x.g[c]
        low = where_positive(q - w.lower[c], 0.0, where_positive(-g, 0.0, 1.0))
        high = where_positive(w.upper[c] - q, 0.0, where_positive(g, 0.0, 1.0))
        held = where_positive(low + high, 1.0, 0.0)
        x.held[c] = held
        x.step[c] = 0.0
        largest = where_positive(held, largest, largest_of(largest, where_positive(g, g, -g)))
    return largest


@kernel
def solve_free(x, mu):
    """As `kido.ik.engine.step.solve_free`; returns 1 where the matrix was not positive."""
    n = x.g.shape[0]
    L, A = x.L, x.A
    bad = 0.0
    for a in range(n):
        held = x.held[a]
        right = -x.g[a]
        for c in range(n):
            shift = where_positive(x.held[c], x.step[c], 0.0)
            if c <= a:
                right -= A[a, c] * shift
            else:
                right -= A[c, a] * shift
        for b in range(a):
            y = where_positive(held + x.held[b], 0.0, A[a, b])
            for k in range(b):
                y -= L[a, k] * L[b, k]
            y *= L[b, b]
            L[a, b] = y
            right -= y * x.y[b]
        y = where_positive(held, 1.0, A[a, a] + mu)
        for k in range(a):
            y -= L[a, k] * L[a, k]
        bad = where_positive(y, bad, 1.0)
        L[a, a] = 1.0 / math.sqrt(where_positive(y, y, 1.0))
        x.y[a] = where_positive(held, 0.0, right * L[a, a])
    for a in range(n - 1, -1, -1):
        right = x.y[a]
        for b in range(a + 1, n):
            right -= L[b, a] * x.y[b]
        right *= L[a, a]
        x.y[a] = right
        x.step[a] = where_positive(x.held[a], x.step[a], right)
    return bad


@kernel
def limited_step(s, w, x, mu):
    """As `kido.ik.engine.step.limited_step`; returns 1 where there is none."""
    n = x.g.shape[0]
    bad = 0.0
    for _ in range(n + 1):
        bad = where_positive(solve_free(x, mu), 1.0, bad)
        left = 0.0
        for c in range(n):
            q, held, step = x.q[s.active[c]], x.held[c], x.step[c]
            down, up = w.lower[c] - q, w.upper[c] - q
            below = where_positive(held, 0.0, where_positive(w.lower[c] - (q + step), 1.0, 0.0))
            above = where_positive(held, 0.0, where_positive((q + step) - w.upper[c], 1.0, 0.0))
            x.step[c] = where_positive(below, down, where_positive(above, up, step))
            x.held[c] = held + below + above
            left += below + above
        if all_positive(0.5 - left):
            break
    return bad


@kernel
def predicted_decrease(x):
    """As `kido.ik.engine.step.predicted_decrease`."""
    total = 0.0
    for c in range(x.g.shape[0]):
        step = x.step[c]
        y = x.g[c] + 0.5 * x.A[c, c] * step
        for k in range(c):
            y += x.A[c, k] * x.step[k]
        total -= step * y
    return total


@kernel
def take_step(t, d, s, w, x):
    """Trial positions in the data."""
    for k in range(d.q.shape[0]):
        d.q[k] = x.q[k]
    for n in range(w.turning.shape[0]):
        i = w.turning[n]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            d.u[k] = 0.0
    for c in range(s.active.shape[0]):
        k = s.active[c]
        if w.plain[c] != 0:
            q = d.q[k] + x.step[c]
            q = where_positive(w.lower[c] - q, w.lower[c], q)
            d.q[k] = where_positive(q - w.upper[c], w.upper[c], q)
        else:
            d.u[k] = x.step[c]
    for n in range(w.turning.shape[0]):
        if s.chart[w.turning[n]] == 0:
            advance_joint(t, d, w.turning[n], 1.0)
    follow(s, d.q)


@kernel
def residuals(t, d, s, x):
    """e and J of all tasks, which are no look-ats, at the positions in the data."""
    needed_transforms(t, d, s)
    for k in range(s.kind.shape[0]):
        clear_rows(x, s.first_row[k], s.first_row[k + 1])
        if s.enabled[k] != 0:
            if s.kind[k] == POSE:
                pose_task(t, d, s, x, k)
            elif s.kind[k] == COM:
                com_task(t, d, s, x, k)
            elif s.kind[k] == POSTURE:
                posture_task(t, d, s, x, k)


@kernel
def weighted_cost(s, x):
    """|W e|^2 / 2."""
    cost = 0.0
    for r in range(x.e.shape[0]):
        y = s.weight[r] * x.e[r]
        cost += 0.5 * y * y
    return cost


@kernel
def met(s, x):
    """1 where all tasks are met, else 0."""
    worst = 0.0
    for k in range(s.kind.shape[0]):
        first, last = s.first_row[k], s.first_row[k + 1]
        if s.kind[k] == POSTURE:
            for r in range(first, last):
                y = x.e[r] / s.tolerance[r]
                worst = largest_of(y * y, worst)
        else:
            a, b = 0.0, 0.0
            for r in range(first, first + 3):
                y, z = x.e[r] / s.tolerance[r], x.e[r + 3] / s.tolerance[r + 3]
                a += y * y
                b += z * z
            worst = largest_of(a, largest_of(b, worst))
    return where_positive(worst - 1.0, 0.0, 1.0)


@kernel
def normal_equations(s, x):
    """As `kido.ik.engine.step.normal_equations`, at trial positions."""
    n = x.J.shape[1]
    for c in range(n):
        x.new_g[c] = 0.0
        for k in range(c + 1):
            x.new_A[c, k] = 0.0
    for r in range(x.J.shape[0]):
        f = s.weight[r] * s.weight[r]
        if f != 0.0:
            e = x.e[r]
            for c in range(n):
                y = f * x.J[r, c]
                x.new_g[c] += y * e
                for k in range(c + 1):
                    x.new_A[c, k] += y * x.J[r, k]


@callback
def lanes_round(tree, data, tasks, lanes):
    """One round of all lanes. Returns whether any ended."""
    t, s, d, x = view(TREE, tree), view(TASKS, tasks), lanes_view(DATA, data), lanes_view(IK_LANES, lanes)
    w = view(SEARCH, x.search[0])
    f = x.number
    cost, new, last = f[COST], f[NEW], f[LAST]
    both = where_positive(new + last, 1.0, 0.0)
    largest = hold_pressed(s, w, x)
    mu = f[FACTOR] * (w.measure[DAMPING] * cost + w.measure[MIN_DAMPING])
    mu = where_positive(last, w.measure[MIN_DAMPING], where_positive(new, 1.0, mu))
    bad = limited_step(s, w, x, mu)
    for c in range(x.step.shape[0]):
        x.step[c] = where_positive(new, 0.0, x.step[c])
    bad = where_positive(new, 0.0, bad)
    predicted = predicted_decrease(x)
    take_step(t, d, s, w, x)
    residuals(t, d, s, x)
    tried = weighted_cost(s, x)
    good = met(s, x)
    # What was tried is kept where it is better; where the descent is at its end by the gradient, nothing is tried.
    end = where_positive(largest - SMALL_GRADIENT * math.sqrt(2.0 * cost), 0.0, 1.0 - both)
    better = where_positive(bad + end, 0.0, where_positive(cost - tried, 1.0, 0.0))
    better = where_positive(both, better, where_positive(predicted, better, 0.0))
    better = where_positive(last, where_positive(good, better, 0.0), better)
    for k in range(d.q.shape[0]):
        x.q[k] = where_positive(better, d.q[k], x.q[k])
    normal_equations(s, x)
    for c in range(x.g.shape[0]):
        x.g[c] = where_positive(better, x.new_g[c], x.g[c])
        for k in range(c + 1):
            x.A[c, k] = where_positive(better, x.new_A[c, k], x.A[c, k])
    # How the damping goes on.
    moved = where_positive(both, 0.0, better)
    y = 2.0 * (cost - tried) / where_positive(moved, predicted, 1.0) - 1.0
    eased = largest_of(f[FACTOR] * largest_of(1.0 / 3.0, 1.0 - y * y * y), 1e-9)
    tight = where_positive(both, f[FACTOR], f[FACTOR] * f[GROWTH])
    f[FACTOR] = where_positive(moved, eased, tight)
    f[GROWTH] = where_positive(moved, 2.0, where_positive(both, f[GROWTH], 2.0 * f[GROWTH]))
    before = f[BEFORE]
    f[COST] = now = where_positive(better, tried, cost)
    # How it ended: where an earlier reason holds, a later one does not count.
    made = f[MADE] + (1.0 - both)
    f[MADE] = made
    left = f[LEFT] - (1.0 - both)
    window = where_positive(left, 0.0, 1.0 - both)
    slow = where_positive(now - (1.0 - w.measure[MIN_DECREASE]) * before, window, 0.0)
    f[BEFORE] = where_positive(window + new, now, before)
    f[LEFT] = where_positive(window, 1.0 * WINDOW, left)
    stalled = where_positive(predicted - ROUNDING * cost, 0.0, 1.0)
    stalled = where_positive(bad + better + both, 0.0, stalled)
    ended = where_positive(f[MOST] - made, 0.0, 1.0 + STOPPED)
    ended = where_positive(slow, 1.0 + STOPPED, ended)
    ended = where_positive(stalled + end, 1.0 + CLOSEST, ended)
    reached = where_positive(better, good, 0.0)  # then one more round, unless there is nothing left to gain
    ended = where_positive(reached, where_positive(now, 0.0, 1.0 + MET), ended)
    ended = where_positive(where_positive(better, 0.0, new), 1.0 + NOT_FINITE, ended)
    ended = where_positive(last, 1.0 + MET, ended)
    f[ENDED] = ended
    f[LAST] = where_positive(last, 0.0, reached)
    f[NEW] = 0.0
    return 0 if all_positive(0.5 - ended) else 1


@kernel
def begin_lane(w, n, lane, lanes, q, sample, most):
    """Have a lane begin at positions q, with some iterations at most; n: the lanes as numbers."""
    for k in range(w.kept.shape[0]):
        n.q[k * lanes + lane] = q[k]
    n.number[COST * lanes + lane] = math.inf
    n.number[FACTOR * lanes + lane] = 1.0
    n.number[GROWTH * lanes + lane] = 2.0
    n.number[BEFORE * lanes + lane] = math.inf
    n.number[LEFT * lanes + lane] = 1.0 * WINDOW
    n.number[MADE * lanes + lane] = 0.0
    n.number[MOST * lanes + lane] = 1.0 * most
    n.number[NEW * lanes + lane] = 1.0
    n.number[LAST * lanes + lane] = 0.0
    n.number[ENDED * lanes + lane] = 0.0
    n.sample[lane] = sample


@kernel
def aim_lane(s, n, lane, lanes):
    """Give a lane the targets of the tasks."""
    for k in range(s.kind.shape[0]):
        for i in range(12):
            n.target[k, i * lanes + lane] = s.target[k, i]


@kernel
def ended_positions(w, n, lane, lanes, q):
    """Positions of a lane."""
    for k in range(w.kept.shape[0]):
        q[k] = n.q[k * lanes + lane]
