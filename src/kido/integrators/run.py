"""From one requested time to the next in compiled code: step after step, their sizes, results at the times."""

from __future__ import annotations

import math

from kido.integrators.rates import displace, displacement_rate, evaluate_system
from kido.integrators.schema import DONE, FAILED, FORCES, MOTION, NOT_CLOSED, NOT_FINITE, PAUSED, TOO_MANY, TOO_SMALL
from kido.jit import entry, kernel, view
from kido.joints.kinds import FREE_MIXED
from kido.kernels.integration import to_body_axes, to_parent_axes
from kido.math.so3 import cross

SAFETY, MIN_GROWTH, MAX_GROWTH = 0.9, 0.2, 10.0
# Exponents of the error of this step and of the one before, for a fifth-order method (Hairer, Norsett, Wanner).
NOW_EXPONENT, BEFORE_EXPONENT = 0.2 - 0.75 * 0.04, 0.04
MAX_POSITION = 1e15  # [m, rad]
TIME_TOLERANCE = 1e-14  # share of a time below which a difference of times is nothing


@kernel
def number_of_steps(interval, largest):
    """Equal steps not above the largest that make up an interval; one too many is worse than 1e-9 of a step."""
    return max(1, math.ceil(interval / largest - 1e-9))


@kernel
def choose_size(m):
    """Start and size of the next step. Returns a status."""
    out = m.output
    if m.adaptive == 0:
        interval = m.times[out] - m.times[out - 1]
        number = number_of_steps(interval, m.max_step)
        h = interval / number
        m.start = m.times[out - 1] + m.part * h
        m.size = h
        return DONE
    if m.steps + m.rejected >= m.max_steps:
        return TOO_MANY
    start = m.start
    end = m.times[m.times.shape[0] - 1] if m.dense != 0 else m.times[out]
    h = min(m.next_size, m.max_step)
    if h <= TIME_TOLERANCE * max(math.fabs(start), math.fabs(end)):
        return TOO_SMALL
    left = end - start
    if 1.01 * h >= left:
        h = left
    elif 2.0 * h > left:
        h = 0.5 * left
    m.size = h
    return DONE


@kernel
def begin_step(t, d, m):
    """Keep the state that the step starts from, free joints in fixed axes."""
    if m.retries == 0:
        to_parent_axes(t, d, 0, t.parent.shape[0], d.u)
        for k in range(m.q0.shape[0]):
            m.q0[k] = d.q[k]
            m.u0[k] = d.u[k]
        if m.adaptive != 0 and m.reuses != 0:  # the last stage of the step before is the first of this one
            for k in range(m.q0.shape[0]):
                m.L[0, k] = m.L[m.num_stages - 1, k]


@kernel
def take_back(d, m):
    """The state that the step started from."""
    for k in range(m.q0.shape[0]):
        d.q[k] = m.q0[k]
        d.u[k] = m.u0[k]


@kernel
def all_finite(d):
    """Whether the state and the poses are finite, and positions small enough to have digits after the point."""
    total = 0.0
    for k in range(d.q.shape[0]):
        total += 0.0 * d.q[k] + 0.0 * d.u[k]
        if not math.fabs(d.q[k]) < MAX_POSITION:
            total = math.nan
    for i in range(d.p.shape[0]):
        total += 0.0 * d.p[i, 0] + 0.0 * d.R[i, 0]
    return total == 0.0


@kernel
def accept(m):
    """Whether the step's error is tolerated; sets the size of the next (proportional-integral control)."""
    error = m.error
    h, planned = m.size, m.next_size
    if not error <= 1.0:
        factor = MIN_GROWTH
        if error < 1e300:
            factor = max(MIN_GROWTH, SAFETY * error**-NOW_EXPONENT)
        m.next_size = h * factor
        return False
    error = max(error, 1e-4)
    factor = SAFETY * error**-NOW_EXPONENT * m.last_error**BEFORE_EXPONENT
    size = h * min(max(factor, MIN_GROWTH), 1.0 if m.retries != 0 else MAX_GROWTH)
    # A step shortened to meet a time says nothing against the size that was planned.
    m.next_size = max(size, planned) if h < planned else size
    m.last_error = error
    return True


@kernel
def interpolate(t, d, m, out):
    """Result `out` within the step just done, by the method's interpolant of x and u; leaves q, u there.

    A system with callbacks closes it. Returns 0 or its status.

    Source: Hairer, Norsett, Wanner (1993), section II.6.
    """
    h = m.size
    s = (m.times[out] - m.start) / h
    r = 1.0 - s
    stages = m.num_stages
    for k in range(m.x.shape[0]):
        x, e = 0.0, 0.0
        for j in range(stages):
            x += h * m.b[j] * m.K[j, k]
            e += h * m.db_dense[j] * m.K[j, k]
        c = h * m.K[0, k] - x
        m.x[k] = s * (x + r * (c + s * (x - h * m.K[stages - 1, k] - c + r * e)))
    displace(t, d, m.q0, m.x)
    for k in range(m.x.shape[0]):
        x, e = 0.0, 0.0
        for j in range(stages):
            x += h * m.b[j] * m.L[j, k]
            e += h * m.db_dense[j] * m.L[j, k]
        c = h * m.L[0, k] - x
        d.u[k] = m.u0[k] + s * (x + r * (c + s * (x - h * m.L[stages - 1, k] - c + r * e)))
    m.now = m.times[out]
    status = m.close(m.owner, m)
    to_body_axes(t, d, 0, t.parent.shape[0], d.u)
    return status


@kernel
def note(d, m, out):
    """Write the state into the row of a requested time."""
    for k in range(d.q.shape[0]):
        m.Q[out, k] = d.q[k]
        m.U[out, k] = d.u[k]
    m.output = out + 1


@kernel
def end_fixed_step(t, d, m):
    """Count the step, and write the state where it meets a requested time. Returns DONE or NOT_FINITE."""
    if not all_finite(d):
        take_back(d, m)
        to_body_axes(t, d, 0, t.parent.shape[0], d.u)
        return NOT_FINITE
    to_body_axes(t, d, 0, t.parent.shape[0], d.u)
    m.steps += 1
    m.part += 1
    out = m.output
    if m.part == number_of_steps(m.times[out] - m.times[out - 1], m.max_step):
        m.part = 0
        m.now = m.times[out]
        note(d, m, out)
    else:
        m.now = m.start + m.size
    return DONE


@kernel
def end_adaptive_step(t, d, m):
    """Take the step or take it back; results at the requested times that it met or passed.

    Returns DONE, or the status of a result that could not be closed.
    """
    if not all_finite(d):
        m.error = math.inf
    if not accept(m):
        m.rejected += 1
        m.retries = 1
        m.reuses = 1
        take_back(d, m)
        return DONE
    to_body_axes(t, d, 0, t.parent.shape[0], d.u)
    m.steps += 1
    m.retries = 0
    m.reuses = 1 - m.altered
    out, last = m.output, m.times.shape[0] - 1
    end = m.start + m.size
    goal = m.times[last] if m.dense != 0 else m.times[out]
    if math.fabs(goal - end) <= TIME_TOLERANCE * max(math.fabs(goal), math.fabs(end)):
        end = goal
    if m.times[out] < end:
        for k in range(d.q.shape[0]):
            m.y[k] = d.q[k]
            m.u1[k] = d.u[k]
        while m.times[m.output] < end:
            status = interpolate(t, d, m, m.output)
            if status < 0:
                return status
            note(d, m, m.output)
        for k in range(d.q.shape[0]):
            d.q[k] = m.y[k]
            d.u[k] = m.u1[k]
    if m.times[m.output] == end:
        note(d, m, m.output)
    m.start = end
    m.now = end
    return DONE


@kernel
def progress(motion, budget):
    """Go on until all results are there, `budget` steps were tried, or joint forces are wanted.

    Returns:
        DONE, PAUSED, FORCES, or why the integration failed.
    """
    m = view(MOTION, motion)
    t = m.tree
    d = m.data
    left = budget
    while True:
        if m.at_stage == 0:
            if m.output >= m.times.shape[0]:
                return DONE
            if left <= 0:
                return PAUSED
            left -= 1
            status = choose_size(m)
            if status != DONE:
                return status
            begin_step(t, d, m)
        stage = m.step(m, m.at_stage)
        if stage < 0 and not all_finite(d):
            # A pose without bounds, which looks like a coordinate without inertia, is but a step too large.
            stage = 0 if m.adaptive != 0 else NOT_FINITE
        elif (stage == NOT_CLOSED or stage < FAILED) and m.adaptive != 0 and m.at_stage > 1:
            m.error = math.inf
            stage = 0
        m.at_stage = max(stage, 0)
        if stage < 0:
            take_back(d, m)
            to_body_axes(t, d, 0, t.parent.shape[0], d.u)
            return stage
        if stage == 0:
            status = end_adaptive_step(t, d, m) if m.adaptive != 0 else end_fixed_step(t, d, m)
            if status != DONE:
                return status
        elif m.asks != 0:
            return FORCES


@entry("i8(i8,i8)")
def run(motion, budget):
    """`progress`, from Python."""
    return progress(motion, budget)


@entry("i8(i8,f8[::1],f8[::1])")
def asked_state(motion, q, u):
    """The state at which joint forces are wanted, in the joints' own axes."""
    m = view(MOTION, motion)
    t = m.tree
    d = m.data
    for k in range(q.shape[0]):
        q[k] = d.q[k]
        u[k] = d.u[k]
    to_body_axes(t, d, 0, t.parent.shape[0], u)
    return 0


@entry("i8(i8)")
def rewind(motion):
    """Back to the last state that was completed, if a step is under way."""
    m = view(MOTION, motion)
    t = m.tree
    d = m.data
    if m.at_stage != 0 or m.retries != 0:
        take_back(d, m)
        to_body_axes(t, d, 0, t.parent.shape[0], d.u)
        m.at_stage = 0
        m.retries = 0
    return 0


@entry("i8(i8)")
def accelerations_of(motion):
    """udot at the state of the data, in the joints' own axes. Returns 0, or a status below FAILED."""
    m = view(MOTION, motion)
    t = m.tree
    d = m.data
    to_parent_axes(t, d, 0, t.parent.shape[0], d.u)
    status = evaluate_system(t, d, m)
    to_body_axes(t, d, 0, t.parent.shape[0], d.u)
    to_body_axes(t, d, 0, t.parent.shape[0], d.udot)
    for i in range(t.parent.shape[0]):
        if t.kind[i] == FREE_MIXED:  # the twist's numbers also change because its axes turn
            k = t.first_dof[i]
            x, y, z = cross(d.u[k], d.u[k + 1], d.u[k + 2], d.u[k + 3], d.u[k + 4], d.u[k + 5])
            d.udot[k + 3] -= x
            d.udot[k + 4] -= y
            d.udot[k + 5] -= z
    return status


@entry("i8(i8)")
def displaced(motion):
    """Positions of the data: q0 moved by x."""
    m = view(MOTION, motion)
    displace(m.tree, m.data, m.q0, m.x)
    return 0


@entry("i8(i8)")
def interpolated(motion):
    """State of the data: by the interpolant at `times[0]`, from what the step left. Returns 0 or a status."""
    m = view(MOTION, motion)
    return interpolate(m.tree, m.data, m, 0)


@entry("i8(i8)")
def closed(motion):
    """The state of the data closed as at the end of a step, at the time `now`. Returns 0 or a status."""
    m = view(MOTION, motion)
    t = m.tree
    d = m.data
    to_parent_axes(t, d, 0, t.parent.shape[0], d.u)
    status = m.close(m.owner, m)
    to_body_axes(t, d, 0, t.parent.shape[0], d.u)
    return status


@entry("i8(i8)")
def rate_of_displacement(motion):
    """K[0]: rate of the displacement x for the velocities of the data."""
    m = view(MOTION, motion)
    displacement_rate(m.tree, m.data, m.x, m.K, 0)
    return 0
