"""What a compiled system reads and writes: values in one array, operations on them, and when they are due."""

from __future__ import annotations

from kido.integrators.schema import MOTION
from kido.jit import Struct, floats, integer, integers, number, reference

# Operations, in blocks of one kind: value[out] = f(value[a], value[b], value[c]).
(
    COPY, ADD, SUBTRACT, MULTIPLY, DIVIDE, MULTIPLY_ADD, SUBTRACT_PRODUCT, SINCOS, SQRT, EXP, LOG, ARCTAN2, ABS,
    MINIMUM, MAXIMUM, SIGN, FLOOR, POSITIVE, SELECT, NOISE, CALL, PYTHON, SOLVE, RECORD,
) = range(24)  # fmt: skip

# Programs besides those of ticks: ranges of blocks. Those of crossings follow.
CONSTANTS, HELD, DERIVE, SIGNALS, CROSSINGS, COMMANDS, STARTS, FIRST_CROSSING = range(8)

FIRST_TICK = 1 << 62  # besides the rates that are due, as bits: the first of outputs that had no value before

# Values of every system.
TIME = 0

# What `advance` returns; from ASKS_PYTHON on, the number of the call that Python is to do besides.
DONE, TICKING, UNKNOWN_TICK, LOG_FULL, PAUSED, ASKS_PYTHON = range(6)
NOT_FINITE, NOT_SOLVED, TOO_SMALL, TOO_MANY, NO_MASS, STANDS_STILL, BAD_COMMAND = -1, -2, -3, -4, -5, -6, -7

# What a callback of a model is asked for.
OUTPUTS, DERIVATIVES, UPDATE, CROSSING, EVENT, START = range(6)


class MODEL(Struct):
    """What callbacks of a compiled model are given; its arrays are parts of the system's values.

    Besides those in place of methods there are `event`, called when a crossing was passed, and `start`, at the start of
    each step of integration: they may change `state` itself.
    """

    time = floats(1, unit="s")
    period = number("s", doc="of its ticks; 0: it is continuous")
    parameter = floats("parameters", doc="in the order of declaration, arrays row by row")
    input = floats("inputs")
    state = floats("states")
    output = floats("outputs", doc="written by `outputs`")
    result = floats("states", doc="written by `derivatives` (dx/dt), or by `update` (new states)")
    crossing = floats("crossings", doc="written by `crossings`")


class CODE(Struct):
    out = integers("operations", doc="value that is written")
    a = integers("operations", doc="operand; of noise: number of the tick's rate")
    b = integers("operations", doc="operand")
    c = integers("operations", doc="operand; of a sine: where the cosine goes; of noise: key")
    block = integers("blocks", 4, doc="kind, first operation, end; of calls: address, struct, what is asked for")
    program = integers("programs", 2, doc="first block, end")
    mask = integers("ticks", doc="which rates are due together, as bits")
    tick = integers("ticks", 2, doc="first block, end")
    unknown = integers("unknowns", doc="values that are solved for")
    residual = integers("unknowns", doc="values that are to be zero")
    work = floats("unknowns", "columns", doc="Jacobian and right side of Newton's method")


class RECORDING(Struct):
    slot = integers("signals", doc="values that are written down")
    rows = floats("room", "signals")
    times = integers("room", unit="ns")
    count = integer(doc="rows that are written")


class SYSTEM(Struct):
    code = reference(CODE)
    motion = reference(MOTION, doc="the method of integration, and its work")
    value = floats("values", doc="time, parameters, states, signals and what lies between")
    undo = floats("values", doc="values before the tick that is under way")
    first_state = integer(doc="value of the first continuous state")
    rate_slot = integers("continuous", doc="values of the states' derivatives")
    checked = integers("checks", doc="values that must be finite after a tick")
    # The clock.
    now = integer("ns", doc="time of the last tick, or of the last call's end")
    elapsed = number("s", doc="since then")
    begin = number("s", doc="elapsed time at which equal steps begin")
    parts = integer(doc="number of them to the next tick; 0: they are to be chosen")
    part = integer(doc="those that are done")
    stop = integer("ns", doc="where to stop")
    ticked = integer(doc="1: what is due now has been done")
    pending = integer(doc="1: a tick is under way")
    at = integer(doc="its next block")
    end = integer(doc="its last block")
    due = integer(doc="rates that are due now, as bits")
    full = integer(doc="address of the recording that is full")
    budget = integer(doc="steps until Python has its turn")
    failure = integer(doc="why a step of a world could not be made; DONE: it was")
    steps = integer(doc="steps of integration done")
    located = integer(doc="crossings located")
    ticks = integers("rates", doc="ticks up to now")
    next = integers("rates", unit="ns", doc="time of the next tick")
    whole = integers("rates", unit="ns", doc="whole part of the period")
    rest = integers("rates", doc="rest of the period over its denominator")
    denominator = integers("rates")
    fresh = integers("rates", doc="1: there are outputs at this rate that were not written yet")
    carry = integers("rates", doc="rests up to now over the denominator")
    # Crossings.
    crossing = integers("crossings", doc="values that pass zero")
    direction = integers("crossings")
    events = integer(doc="events one after the other, without time that goes on")
    before = floats("crossings", doc="values when they were looked at last; NaN: they were not yet")
    fired = integers("crossings", doc="1: it was passed in the step")
