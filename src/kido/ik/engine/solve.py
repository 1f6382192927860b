"""A whole search in one call: descents from the start and from seeds, and the closest pose where nothing meets.

The first attempt begins at the start, those after it at the user's seeds, and then at the other seeds, in the order
of how far their poses are from the targets: a table of sampled positions and the poses that they reach. After some of
these every other one is the next of the table. Where early attempts fail, the others are made eight at a time, in lanes
(`kido.ik.engine.levenberg`), and the first to meet the tasks, counted by rounds, is the result.
"""

from __future__ import annotations

import math

from kido.ik.engine.levenberg import aim_lane, attempt, begin_lane, ended_positions, refine
from kido.ik.engine.residuals import follow, needed_transforms, placed, task_residuals
from kido.ik.engine.search import (
    ALREADY_MET,
    CANDIDATES,
    EARLY,
    OUT_ANGLE,
    OUT_ATTEMPT,
    OUT_ATTEMPTS,
    OUT_COST,
    OUT_DISTANCE,
    OUT_ITERATIONS,
    OUT_POSTURE,
    OUT_STATUS,
    SEARCH,
    SEARCH_MET,
    SEARCH_NOT_FINITE,
    SEARCH_STOPPED,
    now,
)
from kido.ik.engine.step import clamp, take_limits, unwind, weighted_cost
from kido.ik.engine.tasks import TASKS
from kido.jit import callback, direct_entry, entry, kernel, view
from kido.kernels.entries import OK, REFUSED
from kido.tree.schema import DATA, TREE

NEAREST_SEEDS = 12  # seeds, after which every other one is taken in the table's own order: where the near ones all fail
_RIGID = 1e-6  # of a target's rotation, as files have it


@kernel
def copy_active(s, source, row, target):
    """Copy active coordinates from a row of a table."""
    for c in range(s.active.shape[0]):
        k = s.active[c]
        target[k] = source[row, k]


@kernel
def copy_row(source, row, target):
    """Copy a row of a table to a vector."""
    for k in range(target.shape[0]):
        target[k] = source[row, k]


@kernel
def copy(source, target):
    """Copy a vector."""
    for k in range(target.shape[0]):
        target[k] = source[k]


@kernel
def measure_seeds(s, w):
    """How far the poses of seeds are from the targets: squares of distances and angles, weighted as residuals."""
    for n in range(w.seed.shape[0]):
        w.distance[n] = 0.0
    T = s.target
    for k in range(s.framed.shape[0]):
        if s.seeded[k] == 0 or s.base[k] >= 0:
            continue
        row = s.first_row[k]
        a, p = 0.0, 0.0
        for r in range(3):
            if s.lower[row + r] > -math.inf and s.upper[row + r] < math.inf:
                a = max(a, s.weight[row + r])
            if s.lower[row + 3 + r] > -math.inf and s.upper[row + 3 + r] < math.inf:
                p = max(p, s.weight[row + 3 + r])
        a, p = a * a, p * p
        at = 12 * k
        for n in range(w.seed.shape[0]):
            turn, shift = 3.0, 0.0
            for r in range(3):
                b = at + 4 * r
                x = w.place[n, b + 3] - T[k, 4 * r + 3]
                shift += x * x
                for c in range(3):
                    turn -= w.place[n, b + c] * T[k, 4 * r + c]
            w.distance[n] += a * turn + p * shift  # angle^2 is about 3 - tr(R^T R')


@kernel
def nearest_seed(w):
    """Index of the seed with the least distance, which then counts as used; -1: none is left."""
    best, found = math.inf, -1
    for n in range(w.given_seeds, w.seed.shape[0]):
        if w.distance[n] < best:
            best, found = w.distance[n], n
    if found >= 0:
        w.distance[found] = math.inf
    return found


@kernel
def next_seed(w):
    """Index of the first seed that is not used yet, which then counts as used; -1: none is left."""
    for n in range(w.given_seeds, w.seed.shape[0]):
        if w.distance[n] < math.inf:
            w.distance[n] = math.inf
            return n
    return -1


@kernel
def begin_attempt(s, w, d, number):
    """Positions of attempt `number` in the data; returns whether there are any."""
    if number == 0:
        copy(w.start, d.q)
        return True
    n = number - 1
    if n >= w.given_seeds:
        if n == w.given_seeds:
            measure_seeds(s, w)
        beyond = n - w.given_seeds - NEAREST_SEEDS
        n = next_seed(w) if beyond >= 0 and beyond % 2 == 0 else nearest_seed(w)
        if n < 0:
            return False
    copy_active(s, w.seed, n, d.q)
    return True


@kernel
def remember(q, cost, w, number):
    """Enter the end of an attempt among the best, if it is."""
    n = CANDIDATES - 1
    if not cost < w.best_cost[n]:
        return
    while n > 0 and cost < w.best_cost[n - 1]:
        w.best_cost[n], w.best_attempt[n] = w.best_cost[n - 1], w.best_attempt[n - 1]
        for k in range(w.kept.shape[0]):
            w.best[n, k] = w.best[n - 1, k]
        n -= 1
    w.best_cost[n], w.best_attempt[n] = cost, number
    for k in range(w.kept.shape[0]):
        w.best[n, k] = q[k]


@kernel
def closest(t, d, s, w, late):
    """Refine the best ends of attempts; positions become those with the least cost. Returns the status."""
    if w.best_cost[0] == math.inf:
        copy(w.start, d.q)
        return SEARCH_NOT_FINITE
    if w.refinement == 0:
        w.winner = w.best_attempt[0]
        copy_row(w.best, 0, d.q)
        return SEARCH_STOPPED
    best, status = 0, SEARCH_STOPPED
    for n in range(CANDIDATES):
        if late or w.best_cost[n] == math.inf or w.used >= w.max_iterations:
            break
        copy_row(w.best, n, d.q)
        ended = refine(t, d, s, w, min(w.refinement, w.max_iterations - w.used))
        cost = weighted_cost(s, s)
        if ended == SEARCH_MET:
            w.winner = w.best_attempt[n]
            return SEARCH_MET
        # A start that is no worse stands for its own end.
        if cost <= w.best_cost[n]:
            w.best_cost[n] = cost
            for k in range(w.kept.shape[0]):
                w.best[n, k] = d.q[k]
        if n == 0 or w.best_cost[n] < w.best_cost[best]:
            best, status = n, ended
        late = w.seconds < math.inf and now(w) > w.deadline
    w.winner = w.best_attempt[best]
    copy_row(w.best, best, d.q)
    return status


@kernel
def start_lane(s, w, d, n, lane, number, reserved):
    """Have a lane make an attempt, if there is one left; returns how many iterations it may take, 0: there is none."""
    lanes = n.sample.shape[0]
    most = min(w.iterations, w.max_iterations - w.used - reserved)
    n.sample[lane] = -1
    if number >= w.attempts or most <= 0 or not begin_attempt(s, w, d, number):
        return 0
    clamp(s, w, d.q)
    begin_lane(w, n, lane, lanes, d.q, number, most)
    w.tried += 1
    return most


@kernel
def attempts_in_lanes(t, d, s, w, number):
    """Attempts from a number on, side by side, until one meets the tasks: the first, counted by rounds."""
    n = w.attempt_numbers
    lanes = n.sample.shape[0]
    running, reserved = 0, 0
    for lane in range(lanes):
        aim_lane(s, n, lane, lanes)
        most = start_lane(s, w, d, n, lane, number, reserved)
        if most > 0:
            number, running, reserved = number + 1, running + 1, reserved + most
    while running > 0:
        if w.round(t, w, w.attempt_lanes) == 0:
            continue
        best, winner = -1, -1
        for lane in range(lanes):
            ended = int(n.ended[lane])
            if n.sample[lane] < 0 or ended == 0:
                continue
            w.used += int(n.made[lane])
            reserved -= int(n.most[lane])
            running -= 1
            ended -= 1
            if ended == SEARCH_MET:
                if best < 0 or n.sample[lane] < best:
                    best, winner = n.sample[lane], lane
            elif ended != SEARCH_NOT_FINITE:
                ended_positions(w, n, lane, lanes, d.q)
                remember(d.q, n.cost[lane], w, n.sample[lane])
            n.sample[lane] = -1
        if best >= 0:
            for lane in range(lanes):
                if n.sample[lane] >= 0:
                    w.used += int(n.made[lane])
            w.winner = best
            ended_positions(w, n, winner, lanes, d.q)
            return SEARCH_MET
        for lane in range(lanes):
            if n.sample[lane] < 0:
                most = start_lane(s, w, d, n, lane, number, reserved)
                if most > 0:
                    number, running, reserved = number + 1, running + 1, reserved + most
    return SEARCH_STOPPED


@kernel
def search(t, d, s, w):
    """Have the positions in the data meet the tasks, or come as close as may be; returns the status."""
    take_limits(t, s, w)
    first = w.made_already
    if first == ALREADY_MET:
        unwind(t, s, w, d.q)
        w.status = SEARCH_MET
        return SEARCH_MET
    if first == 0:
        w.used, w.tried, w.winner = 0, 0, 0
        for n in range(CANDIDATES):
            w.best_cost[n] = math.inf
    for number in range(1, first):
        begin_attempt(s, w, d, number)  # of seeds, these are used
    limited = w.seconds < math.inf
    if limited:
        w.deadline = now(w) + w.seconds
    status, late = SEARCH_STOPPED, False
    one_by_one = w.attempts
    if w.lanes_data.address != 0 and not limited:
        one_by_one = min(one_by_one, EARLY + w.given_seeds)
    for number in range(first, one_by_one):
        if (number > 0 and w.used >= w.max_iterations) or not begin_attempt(s, w, d, number):
            break
        clamp(s, w, d.q)
        w.tried += 1
        ended = attempt(t, d, s, w, w.iterations)
        if ended == SEARCH_MET:
            status, w.winner = SEARCH_MET, number
            break
        if ended != SEARCH_NOT_FINITE:
            remember(d.q, weighted_cost(s, s), w, number)
        late = limited and now(w) > w.deadline
        if late:
            break
    if status != SEARCH_MET and one_by_one < w.attempts:
        status = attempts_in_lanes(t, d, s, w, one_by_one)
    if status != SEARCH_MET:
        status = closest(t, d, s, w, late)
    unwind(t, s, w, d.q)
    w.status = status
    return status


@kernel
def report(s, w, out, row, at):
    """Write what was found, from the residuals at hand, into REPORT numbers of a row of `out` from `at`."""
    angle, distance, posture = 0.0, 0.0, 0.0
    for k in range(s.framed.shape[0]):
        first = s.first_row[k]
        a, b = 0.0, 0.0
        if s.framed[k] == 0:
            for r in range(first, s.first_row[k + 1]):
                posture = max(posture, math.fabs(s.e[r]))
        else:
            for r in range(first, first + 3):
                a += s.e[r] * s.e[r]
                b += s.e[r + 3] * s.e[r + 3]
        angle, distance = max(angle, math.sqrt(a)), max(distance, math.sqrt(b))
    out[row, at + OUT_STATUS] = w.status
    out[row, at + OUT_ITERATIONS] = w.used
    out[row, at + OUT_ATTEMPTS] = w.tried
    out[row, at + OUT_ATTEMPT] = w.winner
    out[row, at + OUT_ANGLE], out[row, at + OUT_DISTANCE], out[row, at + OUT_POSTURE] = angle, distance, posture
    out[row, at + OUT_COST] = weighted_cost(s, s)


@kernel
def target_is_rigid(X, n):
    """Whether X[n] is a finite rigid transform, to the digits of a text file."""
    for i in range(3):
        if not (math.fabs(X[n, i, 3]) < math.inf) or X[n, 3, i] != 0.0:
            return False
        for j in range(i + 1):
            x = X[n, i, 0] * X[n, j, 0] + X[n, i, 1] * X[n, j, 1] + X[n, i, 2] * X[n, j, 2]
            if i == j:
                x -= 1.0
            if not math.fabs(x) <= _RIGID:
                return False
    a = X[n, 1, 1] * X[n, 2, 2] - X[n, 1, 2] * X[n, 2, 1]
    b = X[n, 1, 2] * X[n, 2, 0] - X[n, 1, 0] * X[n, 2, 2]
    c = X[n, 1, 0] * X[n, 2, 1] - X[n, 1, 1] * X[n, 2, 0]
    return X[n, 3, 3] == 1.0 and X[n, 0, 0] * a + X[n, 0, 1] * b + X[n, 0, 2] * c > 0.0


@kernel
def take_target(s, k, X, n):
    """Target of task k from X[n], in the world."""
    s.base[k] = -1
    for i in range(3):
        for j in range(4):
            s.target[k, 4 * i + j] = X[n, i, j]


@callback
def search_callback(tree, data, tasks, work):
    """`search`, with residuals at what it found; one piece of code for all that call it. Returns the status."""
    t, d, s = view(TREE, tree), view(DATA, data), view(TASKS, tasks)
    status = search(t, d, s, view(SEARCH, work))
    task_residuals(t, d, s)
    return status


@kernel
def search_and_report(tree, data, tasks, work, out, row):
    """`search`; positions and report in a row of `out`."""
    d, s, w = view(DATA, data), view(TASKS, tasks), view(SEARCH, work)
    w.search(tree, data, tasks, work)
    n = w.start.shape[0]
    for k in range(n):
        out[row, k] = d.q[k]
    report(s, w, out, row, n)


@direct_entry("i8(i8,i8,i8,i8,i8,f8[:,:,::1],f8[:,::1])")
def solve_from_held(tree, held, data, tasks, work, X, out):
    """Search from the positions that a skeleton holds; X: targets (tasks, 4, 4), or none, to keep those there are."""
    h, s, w = view(DATA, held), view(TASKS, tasks), view(SEARCH, work)
    for k in range(X.shape[0]):
        if not target_is_rigid(X, k):
            return REFUSED
    for k in range(X.shape[0]):
        take_target(s, k, X, k)
    copy(h.q, w.start)
    search_and_report(tree, data, tasks, work, out, 0)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[:,:,::1],f8[:,::1])")
def solve_from(tree, data, tasks, work, start, X, out):
    """Search from given positions."""
    s, w = view(TASKS, tasks), view(SEARCH, work)
    if start.shape[0] != w.start.shape[0]:
        return REFUSED
    for k in range(start.shape[0]):
        if start[k] * 0.0 != 0.0:
            return REFUSED
    for k in range(X.shape[0]):
        if not target_is_rigid(X, k):
            return REFUSED
    for k in range(X.shape[0]):
        take_target(s, k, X, k)
    copy(start, w.start)
    search_and_report(tree, data, tasks, work, out, 0)
    return OK


@entry("i8(i8,i8,i8,i8)")
def place_seeds(tree, data, tasks, work):
    """Poses of tasks' frames at all seeds."""
    t, d, s, w = view(TREE, tree), view(DATA, data), view(TASKS, tasks), view(SEARCH, work)
    for n in range(w.seed.shape[0]):
        for k in range(w.seed.shape[1]):
            d.q[k] = w.seed[n, k]
        follow(s, d.q)
        needed_transforms(t, d, s, s)
        for k in range(s.framed.shape[0]):
            if s.seeded[k] != 0:
                R, x, y, z = placed(d, s.link[k], s.pose, k)
                at = 12 * k
                w.place[n, at], w.place[n, at + 1], w.place[n, at + 2], w.place[n, at + 3] = R[0], R[1], R[2], x
                w.place[n, at + 4], w.place[n, at + 5], w.place[n, at + 6], w.place[n, at + 7] = R[3], R[4], R[5], y
                w.place[n, at + 8], w.place[n, at + 9], w.place[n, at + 10], w.place[n, at + 11] = R[6], R[7], R[8], z
    return OK
