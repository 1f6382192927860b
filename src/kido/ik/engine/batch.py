"""Searches for many targets, shared out to threads. Each is the same as by itself, whichever thread takes it.

Early attempts for eight targets are made side by side, in lanes; a lane that ends goes on with the next attempt for its
target, or with the next target. What is left after early attempts is a search of its own, as for a single target.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import StateError
from kido.ik.engine.levenberg import aim_lane, begin_lane, ended_positions
from kido.ik.engine.search import ALREADY_MET, CANDIDATES, EARLY, SEARCH, SEARCH_MET, SEARCH_NOT_FINITE
from kido.ik.engine.solve import begin_attempt, remember, search_and_report, target_is_rigid
from kido.ik.engine.step import clamp, take_limits
from kido.ik.engine.tasks import TASKS
from kido.jit import JIT_DISABLED, Struct, callback, entry, floats, integers, kernel, reference, view
from kido.jit.team import MOST_THREADS, Team, available_cores, share_out
from kido.tree.schema import DATA, TREE

if TYPE_CHECKING:
    from kido.ik.engine.arrays import SearchArrays

Array = NDArray[np.float64]
TARGETS_TOGETHER = 64  # targets that a thread takes at a time
MIN_TARGETS_PER_THREAD = 64  # targets for which another thread pays


class BATCH(Struct):
    tree = reference(TREE)
    worker = integers("workers", 3, doc="addresses of what each thread works in: data, tasks, search")
    target = floats("samples", "numbers", doc="targets of all tasks, 16 numbers each, in the world")
    start = floats("starts", "dofs", doc="positions to begin at, of each sample or of all")
    out = floats("samples", "results", doc="positions and report of each")


@kernel
def take_targets(s, b, n):
    """Targets of sample n, unless tasks keep their own."""
    if b.target.shape[1] == 0:
        return
    for k in range(s.framed.shape[0]):
        s.base[k] = -1
        for i in range(12):
            s.target[k, i] = b.target[n, 16 * k + i]


@kernel
def take_sample(s, w, b, n):
    """Targets and start of sample n."""
    take_targets(s, b, n)
    row = n if b.start.shape[0] > 1 else 0
    for k in range(w.start.shape[0]):
        w.start[k] = b.start[row, k]


@kernel
def start_sample(t, d, s, w, b, n, lane, sample, end):
    """Have a lane make the first attempt for a sample, if there is one left; returns whether there is."""
    lanes = n.sample.shape[0]
    n.sample[lane] = -1
    if sample >= end:
        return False
    take_sample(s, w, b, sample)
    aim_lane(s, n, lane, lanes)
    for k in range(w.start.shape[0]):
        d.q[k] = w.start[k]
    clamp(s, w, d.q)
    begin_lane(w, n, lane, lanes, d.q, sample, min(w.iterations, w.max_iterations))
    n.attempts[lane] = 0
    return True


@kernel
def go_on(s, w, d, b, n, lane):
    """Have a lane make the next attempt for its sample, if it is an early one; returns whether it is."""
    lanes = n.sample.shape[0]
    row, made, used = EARLY * lane, n.attempts[lane], 0
    n.past[row + made, 0] = n.made[lane]
    n.past[row + made, 1] = n.cost[lane]
    if n.ended[lane] == 1.0 + SEARCH_NOT_FINITE:
        n.past[row + made, 1] = math.inf
    for k in range(w.start.shape[0]):
        n.past[row + made, 2 + k] = n.q[k * lanes + lane]
    made += 1
    n.attempts[lane] = made
    for k in range(made):
        used += int(n.past[row + k, 0])
    most = min(w.iterations, w.max_iterations - used)
    if made >= min(EARLY, w.attempts) or most <= 0:
        return False
    take_sample(s, w, b, n.sample[lane])
    for number in range(1, made + 1):
        if not begin_attempt(s, w, d, number):
            return False
    clamp(s, w, d.q)
    begin_lane(w, n, lane, lanes, d.q, n.sample[lane], most)
    return True


@kernel
def finish_sample(s, d, w, b, n, lane, data, tasks, work):
    """What is left to do for a sample after the early attempts of its lane."""
    lanes, sample, row, made = n.sample.shape[0], n.sample[lane], EARLY * lane, n.attempts[lane]
    take_sample(s, w, b, sample)
    w.used, w.tried, w.winner = 0, made, 0
    for k in range(made):
        w.used += int(n.past[row + k, 0])
    w.made_already = made
    if n.ended[lane] == 1.0 + SEARCH_MET:
        w.made_already = ALREADY_MET
        w.used, w.tried, w.winner = w.used + int(n.made[lane]), made + 1, made
        ended_positions(w, n, lane, lanes, d.q)
    else:
        for k in range(CANDIDATES):
            w.best_cost[k] = math.inf
        for k in range(made):
            for i in range(w.kept.shape[0]):
                w.kept[i] = n.past[row + k, 2 + i]
            remember(w.kept, n.past[row + k, 1], w, k)
    search_and_report(b.tree.address, data, tasks, work, b.out, sample)
    w.made_already = 0


@kernel
def solve_in_lanes(b, begin, end, data, tasks, work):
    """Search for samples begin..end-1, their early attempts side by side."""
    t, d, s, w = b.tree, view(DATA, data), view(TASKS, tasks), view(SEARCH, work)
    n = w.target_numbers
    take_limits(t, s, w)
    lanes, running, sample = n.sample.shape[0], 0, begin
    for lane in range(lanes):
        if start_sample(t, d, s, w, b, n, lane, sample, end):
            running, sample = running + 1, sample + 1
    while running > 0:
        if w.round(t, w, w.target_lanes) == 0:
            continue
        for lane in range(lanes):
            ended = n.ended[lane]
            if n.sample[lane] < 0 or ended == 0.0:
                continue
            if ended != 1.0 + SEARCH_MET and go_on(s, w, d, b, n, lane):
                continue
            finish_sample(s, d, w, b, n, lane, data, tasks, work)
            if start_sample(t, d, s, w, b, n, lane, sample, end):
                sample += 1
            else:
                running -= 1


@callback
def solve_share(address, begin, end, worker):
    """Search for samples begin..end-1 in the arrays of a thread. Returns 0."""
    b = view(BATCH, address)
    data, tasks, work = b.worker[worker, 0], b.worker[worker, 1], b.worker[worker, 2]
    s, w = view(TASKS, tasks), view(SEARCH, work)
    if w.lanes_data.address != 0 and w.target_lanes.address != 0 and not w.seconds < math.inf:
        solve_in_lanes(b, begin, end, data, tasks, work)
        return 0
    for n in range(begin, end):
        take_sample(s, w, b, n)
        search_and_report(b.tree.address, data, tasks, work, b.out, n)
    return 0


@entry("i8(i8,i8,i8,i8,i8)")
def solve_batch(team, function, batch, samples, size):
    """Have a team search for all samples, `size` of them at a time."""
    share_out(team, function, batch, samples, size)
    return 0


@entry("i8(f8[:,:,::1])")
def first_not_rigid(X):
    """Index of the first matrix of (n, 4, 4) that is no rigid transform; -1: there is none."""
    for n in range(X.shape[0]):
        if not target_is_rigid(X, n):
            return n
    return -1


class SearchPool:
    """What each thread of a batch works in, and the threads; kept from one call to the next."""

    def __init__(self) -> None:
        self._arrays: list[SearchArrays] = []
        self._team: Team | None = None

    def _workers(self, first: SearchArrays, number: int) -> list[SearchArrays]:
        if not self._arrays or self._arrays[0] is not first:
            self._arrays = [first]
        while len(self._arrays) < number:
            self._arrays.append(first.twin())
        for other in self._arrays[1:number]:
            other.tasks.base[:], other.tasks.target[:] = first.tasks.base, first.tasks.target
        return self._arrays[:number]

    def run(self, arrays: SearchArrays, targets: Array, starts: Array, threads: Any) -> Array:
        """Positions and reports (samples, numbers) of searches for rows of `targets` from rows of `starts`.

        Raises:
            StateError: a number of threads that is none.
        """
        if threads is None:
            threads = available_cores()
        if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
            raise StateError(f"threads: expected a whole number above 0, got {threads!r}")
        samples = len(targets)
        wanted = 1 if JIT_DISABLED else min(int(threads), MOST_THREADS, max(1, samples // MIN_TARGETS_PER_THREAD))
        workers = self._workers(arrays, wanted)
        out = np.zeros((samples, arrays.result[1]))
        table = BATCH(workers=wanted, tree=arrays.tree, target=targets, start=starts, out=out)
        table.worker[:] = [w.addresses for w in workers]
        function = solve_share.address
        if wanted == 1:
            solve_batch(0, function, table.address, samples, TARGETS_TOGETHER)
            return out
        if self._team is None or self._team.threads != wanted:
            self._team = Team(wanted)
        with self._team.working():
            solve_batch(self._team.address, function, table.address, samples, TARGETS_TOGETHER)
        return out
