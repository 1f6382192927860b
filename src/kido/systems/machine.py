"""What moves a system on: ticks, steps of integration, crossings.

Source: of the Runge-Kutta methods and step sizes `kido.integrators`; crossings are found by bisection of the step.
Crossings are looked at where each step begins too: what ticks, worlds, events and users change makes them jump.
"""

from __future__ import annotations

import math

from kido.integrators.run import accept, number_of_steps
from kido.jit import entry, kernel, view
from kido.systems.programs import run_blocks, run_program
from kido.systems.schema import (
    ASKS_PYTHON,
    CROSSINGS,
    DERIVE,
    DONE,
    FIRST_CROSSING,
    FIRST_TICK,
    HELD,
    LOG_FULL,
    NOT_FINITE,
    NOT_SOLVED,
    PAUSED,
    PYTHON,
    RECORD,
    STANDS_STILL,
    STARTS,
    SYSTEM,
    TICKING,
    TIME,
    TOO_MANY,
    TOO_SMALL,
    UNKNOWN_TICK,
)  # fmt: skip

NANO = 1e-9
HALVINGS = 60  # of a step, to find a crossing
TIME_TOLERANCE = 1e-14
MOST_EVENTS = 200  # one after the other, without time that goes on
ARRIVED = 1e-300  # size kept of what has passed zero, and is just there


# Ticks -----------------------------------------------------------------------------------------------------


@kernel
def begin_tick(s):
    """Find what is due now. Returns TICKING; DONE: nothing is; UNKNOWN_TICK: there is no program for it."""
    s.due = first = 0
    for r in range(s.next.shape[0]):
        if s.next[r] == s.now:
            s.due |= 1 << r
            if s.fresh[r] != 0:
                first = FIRST_TICK
    if s.due == 0:
        return DONE
    s.due |= first
    for k in range(s.code.mask.shape[0]):
        if s.code.mask[k] == s.due:
            s.at, s.end = s.code.tick[k, 0], s.code.tick[k, 1]
            s.pending = 1
            for i in range(s.value.shape[0]):
                s.undo[i] = s.value[i]
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
    total = 0.0
    for k in range(s.checked.shape[0]):
        total += 0.0 * s.value[s.checked[k]]
    if total != 0.0:
        return NOT_FINITE
    s.pending, s.ticked = 0, 1
    s.budget -= 1
    for r in range(s.next.shape[0]):
        if (s.due >> r) & 1 != 0:
            s.fresh[r] = 0
            s.ticks[r] += 1
            s.next[r] += s.whole[r]
            s.carry[r] += s.rest[r]
            if s.carry[r] >= s.denominator[r]:
                s.carry[r] -= s.denominator[r]
                s.next[r] += 1
    return DONE


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
def crossed(s):
    """How many crossings were passed since `keep`, and which; what was zero then passes it as it leaves."""
    found = 0
    if s.crossing.shape[0] > 0:
        run_program(s, CROSSINGS)
        for k in range(s.crossing.shape[0]):
            b, a, way = s.before[k], s.value[s.crossing[k]], s.direction[k]
            up = (b < -ARRIVED and a >= 0.0) or (b <= 0.0 and a > 0.0)
            down = (b > ARRIVED and a <= 0.0) or (b >= 0.0 and a < 0.0)
            s.fired[k] = 1 if (up and way >= 0) or (down and way <= 0) else 0
            found += s.fired[k]
    return found


@kernel
def keep(s):
    """Keep the values that `crossed` saw; what is zero stays on the side that it came from, unless it fired there."""
    for k in range(s.crossing.shape[0]):
        b, a = s.before[k], s.value[s.crossing[k]]
        if a != 0.0 or b != b:
            s.before[k] = a
        elif s.fired[k] != 0:
            s.before[k] = ARRIVED if b < 0.0 else -ARRIVED


@kernel
def happen(s):
    """Do what crossings that `crossed` found bring about. Returns DONE, NOT_FINITE or STANDS_STILL.

    Where that makes others jump over zero, they are found next; one that is put on zero is on neither side.
    """
    keep(s)
    for k in range(s.crossing.shape[0]):
        if s.fired[k] != 0:
            run_program(s, FIRST_CROSSING + k)
    run_program(s, HELD)
    run_program(s, CROSSINGS)
    for k in range(s.crossing.shape[0]):
        if s.fired[k] != 0:
            a = s.value[s.crossing[k]]
            if a != 0.0 or math.fabs(s.before[k]) > ARRIVED:
                s.before[k] = a
    s.events += 1
    if s.events > MOST_EVENTS:
        return STANDS_STILL
    return DONE if states_are_finite(s) else NOT_FINITE


@kernel
def look(s):
    """Crossings where a step begins, and what those that were passed bring about. Returns as `happen`."""
    while crossed(s) > 0:
        for k in range(s.rate_slot.shape[0]):
            s.motion.u0[k] = s.value[s.first_state + k]  # what is left if that goes wrong
        status = happen(s)
        if status != DONE:
            return status
    keep(s)
    return DONE


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
        DONE, PAUSED, NOT_FINITE, NOT_SOLVED, STANDS_STILL, TOO_SMALL or TOO_MANY.
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
        run_program(s, STARTS)
        status = look(s)
        if status != DONE:
            return status
        for k in range(n):
            m.u0[k] = v[first + k]
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
            if size > TIME_TOLERANCE * max(span, base):
                s.events = 0
            status = happen(s)
            if status != DONE:
                return status
            s.begin, s.part = s.elapsed, 0
            s.parts = number_of_steps(max(span - s.begin, 0.0), m.max_step)
            h = (span - s.begin) / s.parts
        else:
            keep(s)
            s.events = 0
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
            return look(s)
        if s.budget <= 0:
            return PAUSED
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
    if s.pending != 0:
        status = go_on_tick(s)
        if status != DONE:
            return status
    return look(s)


@entry("i8(i8)")
def look_now(system):
    """Crossings that were passed since they were looked at, see `look`."""
    return look(view(SYSTEM, system))
