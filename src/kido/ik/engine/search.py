"""Tables of a search for positions: what it may move, how long it may take, what it works in, what it found."""

from __future__ import annotations

from kido.jit import Struct, floats, integers

# How a search ended: tasks are met; nothing nearby is closer (a minimum of the sum of squares within limits); the
# budget ended before either; or numbers left their range.
MET, CLOSEST, STOPPED, NOT_FINITE = range(4)

# Whole-number settings: iterations of an attempt; attempts; iterations of all; of the refinement of what is closest;
# seeds of the user's, which come before the others; and how many attempts were made already, with ends that are among
# the best, or DONE: the tasks are met at the positions in the data.
ITERATIONS, ATTEMPTS, TOTAL, REFINEMENT, GIVEN_SEEDS, MADE_ALREADY = range(6)
DONE = -1
EARLY = 4  # attempts that are made one after the other, as one of them mostly meets; later ones are made side by side
# Other settings: seconds (inf: any), share of the cost that four iterations must remove, gradient that counts as zero
# beside the residual, damping by the cost, least damping; seconds of a clock's tick; when to stop.
SECONDS, MIN_DECREASE, STATIONARY, DAMPING, MIN_DAMPING, SCALE, DEADLINE = range(7)
# Counts of the last search: status, iterations, attempts, attempt that the result is from.
STATUS, USED, TRIED, BEST_ATTEMPT = range(4)
# Functions: the clock and its arguments, the search itself, a round of lanes.
CLOCK, FIRST, SECOND, SEARCHER, ROUND = range(5)
# Addresses of lanes: the data of eight poses; of the attempts of a search, and as numbers; of a batch's targets, and as
# numbers.
LANES_DATA, ATTEMPTS_LANES, ATTEMPTS_NUMBERS, TARGETS_LANES, TARGETS_NUMBERS = range(5)
CANDIDATES = 6  # ends of attempts that are refined where no attempt meets the tasks
# What is reported beside positions, in numbers after them.
REPORT = 8
(
    OUT_STATUS, OUT_ITERATIONS, OUT_ATTEMPTS, OUT_ATTEMPT, OUT_ANGLE, OUT_DISTANCE, OUT_POSTURE, OUT_COST,
) = range(REPORT)  # fmt: skip


class SEARCH(Struct):
    setting = integers(8, doc="whole-number settings")
    measure = floats(8, doc="other settings")
    found = integers(4, doc="counts of the last search")
    function = integers(5, doc="addresses of the operating system's clock, with its arguments, and of our own")
    lanes = integers(5, doc="addresses, see LANES_DATA ...; 0: attempts are made one by one")
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
    held = integers("columns", doc="1: the coordinate is at a limit after this step")
    free = integers("columns", doc="columns that are free, in order")
