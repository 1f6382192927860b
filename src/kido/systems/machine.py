"""The machine that works through a system: blocks of operations, ticks, steps of integration, crossings.

It is compiled once, whatever the models. A block is a run of operations of one kind, none of which needs another of the
block, so that the machine looks at the kind once for all of them.

Source: of the Runge-Kutta methods and step sizes `kido.integrators`; crossings are found by bisection of the step.
"""

from __future__ import annotations

import math

from kido.integrators.run import accept, number_of_steps
from kido.jit import call4, entry, floor, kernel, view
from kido.math.elementary import arctan2, exp, log
from kido.math.trig import sincos
from kido.systems.noise import normal
from kido.systems.schema import (
    ABS,
    ADD,
    ARCTAN2,
    ASKS_PYTHON,
    CALL,
    COPY,
    CROSSINGS,
    DERIVE,
    DIVIDE,
    DONE,
    EXP,
    FIRST_CROSSING,
    FLOOR,
    HELD,
    LOG,
    LOG_FULL,
    MAXIMUM,
    MINIMUM,
    MULTIPLY,
    MULTIPLY_ADD,
    NOISE,
    NOT_FINITE,
    NOT_SOLVED,
    PAUSED,
    POSITIVE,
    PYTHON,
    RECORD,
    RECORDING,
    SELECT,
    SIGN,
    SINCOS,
    SOLVE,
    SQRT,
    SUBTRACT,
    SUBTRACT_PRODUCT,
    SYSTEM,
    TICKING,
    TIME,
    TOO_MANY,
    TOO_SMALL,
    UNKNOWN_TICK,
)

NANO = 1e-9
MOST_ITERATIONS = 50
SOLVED = 1e-12  # change of an unknown over 1 + its size
DIFFERENCE = 1.5e-8  # of forward differences
SINGULAR = 1e-7  # pivot that rounding of differences may leave of zero
HALVINGS = 60  # of a step, to find a crossing
TIME_TOLERANCE = 1e-14


@kernel
def run_rare(s, v, c, kind, first, end):
    """A block of an operation that is used now and then."""
    if kind == SQRT:
        for i in range(first, end):
            v[c.out[i]] = math.sqrt(v[c.a[i]])
    elif kind == EXP:
        for i in range(first, end):
            v[c.out[i]] = exp(v[c.a[i]])
    elif kind == LOG:
        for i in range(first, end):
            v[c.out[i]] = log(v[c.a[i]])
    elif kind == ARCTAN2:
        for i in range(first, end):
            v[c.out[i]] = arctan2(v[c.a[i]], v[c.b[i]])
    elif kind == ABS:
        for i in range(first, end):
            v[c.out[i]] = math.fabs(v[c.a[i]])
    elif kind == MINIMUM:
        for i in range(first, end):
            x, y = v[c.a[i]], v[c.b[i]]
            v[c.out[i]] = y if y < x or y != y else x
    elif kind == MAXIMUM:
        for i in range(first, end):
            x, y = v[c.a[i]], v[c.b[i]]
            v[c.out[i]] = y if y > x or y != y else x
    elif kind == SIGN:
        for i in range(first, end):
            x = v[c.a[i]]
            v[c.out[i]] = 1.0 if x > 0.0 else (-1.0 if x < 0.0 else x)
    elif kind == FLOOR:
        for i in range(first, end):
            v[c.out[i]] = floor(v[c.a[i]])
    elif kind == POSITIVE:
        for i in range(first, end):
            v[c.out[i]] = 1.0 if v[c.a[i]] > 0.0 else 0.0
    elif kind == SELECT:
        for i in range(first, end):
            v[c.out[i]] = v[c.b[i]] if v[c.a[i]] > 0.0 else v[c.c[i]]
    elif kind == NOISE:
        for i in range(first, end):
            v[c.out[i]] = normal(c.c[i], s.ticks[c.a[i]])


@kernel
def run_plain(s, v, c, first, last):
    """Blocks that neither ask Python nor solve. Returns `last`, or the block where it stopped."""
    for m in range(first, last):
        kind, i, end = c.block[m, 0], c.block[m, 1], c.block[m, 2]
        if kind == MULTIPLY_ADD:
            for k in range(i, end):
                v[c.out[k]] = v[c.a[k]] * v[c.b[k]] + v[c.c[k]]
        elif kind == MULTIPLY:
            for k in range(i, end):
                v[c.out[k]] = v[c.a[k]] * v[c.b[k]]
        elif kind == ADD:
            for k in range(i, end):
                v[c.out[k]] = v[c.a[k]] + v[c.b[k]]
        elif kind == SUBTRACT:
            for k in range(i, end):
                v[c.out[k]] = v[c.a[k]] - v[c.b[k]]
        elif kind == SUBTRACT_PRODUCT:
            for k in range(i, end):
                v[c.out[k]] = v[c.c[k]] - v[c.a[k]] * v[c.b[k]]
        elif kind == COPY:
            for k in range(i, end):
                v[c.out[k]] = v[c.a[k]]
        elif kind == DIVIDE:
            for k in range(i, end):
                v[c.out[k]] = v[c.a[k]] / v[c.b[k]]
        elif kind == SINCOS:
            for k in range(i, end):
                sine, cosine = sincos(v[c.a[k]])
                v[c.out[k]] = sine
                v[c.c[k]] = cosine
        elif kind == CALL:
            call4(i, end, c.block[m, 3], 0, 0)
        elif kind == PYTHON or kind == SOLVE:
            return m
        elif kind == RECORD:
            r = view(RECORDING, i)
            if r.count >= r.times.shape[0]:
                s.full = i
                return m
            r.times[r.count] = s.now
            for k in range(r.slot.shape[0]):
                r.rows[r.count, k] = v[r.slot[k]]
            r.count += 1
        else:
            run_rare(s, v, c, kind, i, end)
    return last


@kernel
def solve(s, v, c, block):
    """Newton's method on the unknowns of a SOLVE block, with a Jacobian by forward differences.

    Returns:
        1: solved; 0: not.
    """
    i, end = c.block[block, 1], c.block[block, 2]
    first, last, n = block + 1, block + 1 + c.block[block, 3], end - i
    W = c.work
    for _ in range(MOST_ITERATIONS):
        run_plain(s, v, c, first, last)
        for k in range(n):
            W[k, n] = -v[c.residual[i + k]]
        for j in range(n):
            x = v[c.unknown[i + j]]
            h = DIFFERENCE * (1.0 + math.fabs(x))
            v[c.unknown[i + j]] = x + h
            run_plain(s, v, c, first, last)
            for k in range(n):
                W[k, j] = (v[c.residual[i + k]] + W[k, n]) / h
            v[c.unknown[i + j]] = x
        for j in range(n):  # Gauss, with the largest pivot of each column
            best = j
            for k in range(j + 1, n):
                if math.fabs(W[k, j]) > math.fabs(W[best, j]):
                    best = k
            if not math.fabs(W[best, j]) > SINGULAR:
                return 0
            for m in range(n + 1):
                W[j, m], W[best, m] = W[best, m], W[j, m]
            for k in range(j + 1, n):
                factor = W[k, j] / W[j, j]
                for m in range(j, n + 1):
                    W[k, m] -= factor * W[j, m]
        worst = 0.0
        for back in range(n):
            j = n - 1 - back
            total = W[j, n]
            for m in range(j + 1, n):
                total -= W[j, m] * W[m, n]
            W[j, n] = total / W[j, j]
            x = v[c.unknown[i + j]] + W[j, n]
            v[c.unknown[i + j]] = x
            worst = max(worst, math.fabs(W[j, n]) / (1.0 + math.fabs(x)))
        if not worst < 1e300:
            return 0
        if worst <= SOLVED:
            run_plain(s, v, c, first, last)
            return 1
    return 0


@kernel
def run_blocks(s, first, last):
    """Blocks. Returns `last`, or the block where it stopped: one that asks Python, is full, or is not solved."""
    v, c = s.value, s.code
    m = first
    while m < last:
        m = run_plain(s, v, c, m, last)
        if m >= last or c.block[m, 0] != SOLVE:
            break
        if solve(s, v, c, m) == 0:
            break
        m += 1 + c.block[m, 3]
    return m


@kernel
def run_program(s, program):
    """A program that asks nobody. Returns DONE or NOT_SOLVED."""
    end = s.code.program[program, 1]
    return DONE if run_blocks(s, s.code.program[program, 0], end) == end else NOT_SOLVED


# Ticks -----------------------------------------------------------------------------------------------------


@kernel
def begin_tick(s):
    """Find what is due now. Returns TICKING; DONE: nothing is; UNKNOWN_TICK: there is no program for it."""
    s.due = 0
    for r in range(s.next.shape[0]):
        if s.next[r] == s.now:
            s.due |= 1 << r
    if s.due == 0:
        return DONE
    for k in range(s.code.mask.shape[0]):
        if s.code.mask[k] == s.due:
            s.at, s.end = s.code.tick[k, 0], s.code.tick[k, 1]
            s.pending = 1
            return TICKING
    return UNKNOWN_TICK


@kernel
def go_on_tick(s):
    """Work on the tick that is under way. Returns DONE, ASKS_PYTHON + a call, LOG_FULL, NOT_SOLVED or NOT_FINITE."""
    s.at = run_blocks(s, s.at, s.end)
    if s.at < s.end:
        kind = s.code.block[s.at, 0]
        if kind == PYTHON:
            s.at += 1  # where it goes on once Python has done it
            return ASKS_PYTHON + s.code.block[s.at - 1, 1]
        return LOG_FULL if kind == RECORD else NOT_SOLVED
    s.pending, s.ticked = 0, 1
    for r in range(s.next.shape[0]):
        if (s.due >> r) & 1 != 0:
            s.ticks[r] += 1
            s.next[r] += s.whole[r]
            s.carry[r] += s.rest[r]
            if s.carry[r] >= s.denominator[r]:
                s.carry[r] -= s.denominator[r]
                s.next[r] += 1
    total = 0.0
    for k in range(s.checked.shape[0]):
        total += 0.0 * s.value[s.checked[k]]
    return DONE if total == 0.0 else NOT_FINITE


# Integration -----------------------------------------------------------------------------------------------


@kernel
def slopes(s, m, stage):
    """Derivatives of the states at a stage. Returns DONE or NOT_SOLVED."""
    status = run_program(s, DERIVE)
    for k in range(s.rate_slot.shape[0]):
        m.L[stage, k] = s.value[s.rate_slot[k]]
    return status


@kernel
def step_from(s, m, start, h):
    """The state after a step of size h from u0. Returns DONE or NOT_SOLVED."""
    v, first, stages = s.value, s.first_state, m.num_stages
    n, result = s.rate_slot.shape[0], DONE
    for stage in range(stages):
        v[TIME] = start + m.c[stage] * h
        for k in range(n):
            total = 0.0
            for j in range(stage):
                total += m.A[stage, j] * m.L[j, k]
            v[first + k] = m.u0[k] + h * total
        status = slopes(s, m, stage)
        if status != DONE:
            result = status
    v[TIME] = start + h
    for k in range(n):
        total = 0.0
        for j in range(stages):
            total += m.b[j] * m.L[j, k]
        v[first + k] = m.u0[k] + h * total
    return result


@kernel
def error_of(s, m, h):
    """Root mean square of the embedded method's errors over atol + rtol |x|; 1 is just tolerated."""
    n, total = s.rate_slot.shape[0], 0.0
    for k in range(n):
        e = 0.0
        for j in range(m.num_stages):
            e += m.db[j] * m.L[j, k]
        size = max(math.fabs(m.u0[k]), math.fabs(s.value[s.first_state + k]))
        e *= h / (m.atol + m.rtol * size)
        total += e * e
    return math.sqrt(total / max(n, 1))


@kernel
def states_are_finite(s):
    """Whether all continuous states are."""
    total = 0.0
    for k in range(s.rate_slot.shape[0]):
        total += 0.0 * s.value[s.first_state + k]
    return total == 0.0


@kernel
def note_crossings(s):
    """Values of the crossings now."""
    run_program(s, CROSSINGS)
    for k in range(s.crossing.shape[0]):
        s.before[k] = s.value[s.crossing[k]]


@kernel
def crossed(s):
    """How many crossings were passed since `note_crossings`, and which."""
    found = 0
    if s.crossing.shape[0] > 0:
        run_program(s, CROSSINGS)
        for k in range(s.crossing.shape[0]):
            b, a, way = s.before[k], s.value[s.crossing[k]], s.direction[k]
            up, down = b < 0.0 and a >= 0.0, b > 0.0 and a <= 0.0
            s.fired[k] = 1 if (up and way >= 0) or (down and way <= 0) else 0
            found += s.fired[k]
    return found


@kernel
def locate(s, m, start, h):
    """The first moment in a step of size h after which a crossing has been passed. Returns the size up to it."""
    low, high = 0.0, h
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        step_from(s, m, start, middle)
        if crossed(s) > 0:
            high = middle
        else:
            low = middle
    step_from(s, m, start, high)
    crossed(s)
    return high


@kernel
def integrate(s, target):
    """From now to a later time [ns], to the budget's end or to what is not finite.

    Returns:
        DONE, PAUSED, NOT_FINITE, NOT_SOLVED, TOO_SMALL or TOO_MANY.
    """
    m, v = s.motion, s.value
    first, n = s.first_state, s.rate_slot.shape[0]
    span, base = (target - s.now) * NANO, s.now * NANO
    if n == 0 and s.crossing.shape[0] == 0:
        s.now, s.elapsed = target, 0.0
        v[TIME] = target * NANO
        return DONE
    if s.parts == 0:
        s.begin, s.part = s.elapsed, 0
        s.parts = number_of_steps(span - s.begin, m.max_step)
    h = (span - s.begin) / s.parts
    tries = 0
    while span - s.elapsed > TIME_TOLERANCE * max(span, base):
        if s.budget <= 0:
            return PAUSED
        left = span - s.elapsed
        if m.adaptive != 0:
            h = min(m.next_size, m.max_step)
            if h <= TIME_TOLERANCE * (base + s.elapsed):
                return TOO_SMALL
            h = left if 1.01 * h >= left else (0.5 * left if 2.0 * h > left else h)
            tries += 1
            if tries > m.max_steps:
                return TOO_MANY
        start = base + s.elapsed
        for k in range(n):
            m.u0[k] = v[first + k]
        if s.crossing.shape[0] > 0:
            note_crossings(s)
        status = step_from(s, m, start, h)
        if m.adaptive != 0:
            m.size = h
            m.error = error_of(s, m, h) if states_are_finite(s) else math.inf
            if not accept(m):
                m.retries = 1
                for k in range(n):
                    v[first + k] = m.u0[k]
                v[TIME] = start
                continue
            m.retries = 0
        if status != DONE:
            return status
        s.steps += 1
        s.budget -= 1
        if not states_are_finite(s):
            return NOT_FINITE
        s.part += 1
        if crossed(s) > 0:
            size = locate(s, m, start, h)
            s.elapsed += size
            s.located += 1
            for k in range(s.crossing.shape[0]):
                if s.fired[k] != 0:
                    run_program(s, FIRST_CROSSING + k)
            run_program(s, HELD)
            if not states_are_finite(s):
                return NOT_FINITE
            s.begin, s.part = s.elapsed, 0
            s.parts = number_of_steps(max(span - s.begin, 0.0), m.max_step)
            h = (span - s.begin) / s.parts
        else:
            s.elapsed = s.begin + s.part * h if m.adaptive == 0 else s.elapsed + h
    s.now, s.elapsed, s.parts = target, 0.0, 0
    v[TIME] = target * NANO
    return DONE


@kernel
def next_event(s):
    """The next tick, or where to stop [ns]."""
    target = s.stop
    for r in range(s.next.shape[0]):
        if s.next[r] < target:
            target = s.next[r]
    return target


@entry("i8(i8)")
def advance(system):
    """Go on to `stop`, and do what is due there. Returns DONE, or why Python is wanted."""
    s = view(SYSTEM, system)
    while True:
        if s.pending != 0:
            status = go_on_tick(s)
            if status != DONE:
                return status
        if s.ticked == 0 and s.elapsed == 0.0:
            status = begin_tick(s)
            if status == UNKNOWN_TICK:
                return status
            if status == TICKING:
                continue
            s.ticked = 1
        if s.now >= s.stop and s.elapsed == 0.0:
            return DONE
        target = next_event(s)
        status = integrate(s, target)
        if status != DONE:
            return status
        s.ticked = 0


@entry("i8(i8)")
def tick_now(system):
    """Do what is due now, unless it has been done. Returns DONE, or why Python is wanted."""
    s = view(SYSTEM, system)
    if s.pending == 0 and s.ticked == 0:
        status = begin_tick(s)
        if status == UNKNOWN_TICK:
            return status
        s.ticked = 1
    return go_on_tick(s) if s.pending != 0 else DONE


@entry("i8(i8,i8)")
def run_one(system, program):
    """A program, from Python. Returns DONE or NOT_SOLVED."""
    return run_program(view(SYSTEM, system), program)


@entry("i8(i8,i8,i8,i8)")
def run_often(system, first, last, times):
    """Blocks that ask nobody, over and over. Returns DONE."""
    s = view(SYSTEM, system)
    for _ in range(times):
        run_plain(s, s.value, s.code, first, last)
    return DONE
