"""Tables of a search for positions: what it may move, how long it may take, what it works in, what it found.

The time is asked for in compiled code: a search stops at its deadline without coming back to Python.
"""

from __future__ import annotations

import ctypes
import sys

from kido.ik.engine.tasks import IK_LANES, LANE_NUMBERS, TASKS
from kido.jit import JIT_DISABLED, Struct, call4, callback, floats, integer, integers, kernel, number, reference, stage
from kido.tree.schema import DATA

# How a search ended: tasks are met; nothing nearby is closer (a minimum of the sum of squares within limits); the
# budget ended before either; or numbers left their range.
SEARCH_MET, SEARCH_CLOSEST, SEARCH_STOPPED, SEARCH_NOT_FINITE = range(4)

ALREADY_MET = -1  # of `made_already`: the tasks are met at the positions in the data

EARLY = 4  # attempts that are made one after the other, as one of them mostly meets; later ones are made side by side

CANDIDATES = 6  # ends of attempts that are refined where no attempt meets the tasks

# What is reported beside positions, in numbers after them.
REPORT = 8

(
    OUT_STATUS, OUT_ITERATIONS, OUT_ATTEMPTS, OUT_ATTEMPT, OUT_ANGLE, OUT_DISTANCE, OUT_POSTURE, OUT_COST,
) = range(REPORT)  # fmt: skip


class SEARCH(Struct):
    tasks = reference(TASKS, doc="what is to be met")
    iterations = integer(doc="most of an attempt")
    attempts = integer(doc="most attempts")
    max_iterations = integer(doc="most of all attempts")
    refinement = integer(doc="most of the refinement of what is closest")
    given_seeds = integer(doc="seeds of the user's, which come before the others")
    made_already = integer(doc="attempts that were made already, with ends that are among the best, or ALREADY_MET")
    seconds = number("s", doc="after which no further attempt begins; inf: any")
    min_decrease = number(doc="share of the cost that an attempt's window of iterations must remove")
    stationary = number(doc="gradient that counts as zero beside the residual")
    damping = number(doc="by the cost")
    min_damping = number(doc="at least")
    status = integer(doc="of the last search: SEARCH_MET ... SEARCH_NOT_FINITE")
    used = integer(doc="iterations of the last search")
    tried = integer(doc="attempts of the last search")
    winner = integer(doc="attempt that the result of the last search is from")
    search = stage(doc="the whole search: (tree, data, tasks, work)")
    round = stage(doc="a round of lanes: (tree, work, lanes)")
    lanes_data = reference(DATA, lanes=True, doc="of eight poses; unset: attempts are made one by one")
    attempt_lanes = reference(IK_LANES, doc="attempts of a search, side by side")
    attempt_numbers = reference(LANE_NUMBERS, doc="the same as numbers")
    target_lanes = reference(IK_LANES, doc="first attempts for targets of a batch, side by side")
    target_numbers = reference(LANE_NUMBERS, doc="the same as numbers")
    clock = integer(doc="address of the operating system's clock")
    first = integer(doc="its first argument")
    second = integer(doc="its second argument")
    tick_scale = number("s", doc="of a tick")
    deadline = number("s", doc="when to stop")
    tick = integers(2, doc="what the clock writes")
    turns = integers("columns", doc="1: the coordinate is an angle")
    lower = floats("columns", unit="rad or m", doc="least position while searching; -inf: none")
    upper = floats("columns", unit="rad or m", doc="greatest position; inf: none")
    plain = integers("columns", doc="1: a step adds to the position; 0: the joint is moved on its manifold")
    turning = integers("joints", doc="links whose joints are moved on their manifolds, or in their chart")
    start = floats("dofs", doc="positions of the first attempt")
    seed = floats("seeds", "dofs", doc="positions that attempts after it begin at")
    place = floats("seeds", "poses", doc="poses of tasks' frames there, 12 numbers each")
    distance = floats("seeds", doc="how far these are from the targets")
    kept = floats("dofs", doc="positions before a trial step")
    best = floats(CANDIDATES, "dofs", doc="best positions of attempts so far")
    best_cost = floats(CANDIDATES, doc="their costs, ascending; inf: none")
    best_attempt = integers(CANDIDATES, doc="attempts that they are from")
    g = floats("columns", doc="gradient of the cost")
    A = floats("columns", "columns", doc="its derivative, or J^T W^2 J in its place; the lower triangle")
    L = floats("columns", "columns", doc="Cholesky factor of what is free, reciprocals on the diagonal")
    step = floats("columns", doc="step of the velocities")
    y = floats("columns", doc="right-hand side")
    held = floats("columns", doc="1: the coordinate is at a limit after this step")


@kernel
def now(w):
    """Seconds since some moment."""
    call4(w.clock, w.first, w.second, 0, 0)
    return w.tick[0] * w.tick_scale + w.tick[1] * 1e-9


def link_clock(w: SEARCH) -> None:
    """Enter the operating system's clock into the table of a search."""
    ticks = int(w.tick.ctypes.data)
    if JIT_DISABLED:  # callbacks are Python functions here

        def read(a: int, b: int, c: int, d: int) -> int:
            from time import perf_counter_ns

            w.tick[0], w.tick[1] = divmod(perf_counter_ns(), 1_000_000_000)
            return 0

        w.clock, w.first, w.second, w.tick_scale = callback(read).address, 0, 0, 1.0
    elif sys.platform == "win32":
        kernel32 = getattr(ctypes, "windll").kernel32  # noqa: B009  (of Windows alone)
        frequency = ctypes.c_int64()
        kernel32.QueryPerformanceFrequency(ctypes.byref(frequency))
        address = ctypes.cast(kernel32.QueryPerformanceCounter, ctypes.c_void_p).value or 0
        w.clock, w.first, w.second, w.tick_scale = address, ticks, 0, 1.0 / frequency.value
    else:
        monotonic = 6 if sys.platform == "darwin" else 1
        address = ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value or 0
        w.clock, w.first, w.second, w.tick_scale = address, monotonic, ticks, 1.0
