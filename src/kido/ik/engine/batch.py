"""Searches for many targets, shared out to threads. Each is the same as by itself, whichever thread takes it."""

from __future__ import annotations

from kido.ik.engine.search import SEARCH
from kido.ik.engine.solve import search_and_report, target_is_rigid
from kido.ik.engine.tasks import TASKS
from kido.jit import Field, Schema, callback, entry, kernel, view
from kido.jit.team import share_out

BATCH = Schema(
    "BATCH",
    Field("tree", "i", (1,), doc="address of the tree"),
    Field("worker", "i", ("workers", 3), doc="addresses of what each thread works in: data, tasks, search"),
    Field("target", "f", ("samples", "numbers"), doc="targets of all tasks, 16 numbers each, in the world"),
    Field("start", "f", ("starts", "dofs"), doc="positions to begin at, of each sample or of all"),
    Field("out", "f", ("samples", "results"), doc="positions and report of each"),
)


@kernel
def take_targets(s, b, n):
    """Targets of sample n, unless tasks keep their own."""
    if b.target.shape[1] == 0:
        return
    for k in range(s.kind.shape[0]):
        s.base[k] = -1
        for i in range(12):
            s.target[k, i] = b.target[n, 16 * k + i]


@callback
def solve_share(address, begin, end, worker):
    """Search for samples begin..end-1 in the arrays of a thread. Returns 0."""
    b = view(BATCH, address)
    data, tasks, work = b.worker[worker, 0], b.worker[worker, 1], b.worker[worker, 2]
    s, w = view(TASKS, tasks), view(SEARCH, work)
    for n in range(begin, end):
        take_targets(s, b, n)
        row = n if b.start.shape[0] > 1 else 0
        for k in range(w.start.shape[0]):
            w.start[k] = b.start[row, k]
        search_and_report(b.tree[0], data, tasks, work, b.out, n)
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
