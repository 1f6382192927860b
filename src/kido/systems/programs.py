"""Programs of a system: blocks of operations of one kind, none of which needs another of the block.

So the kind is looked at once for all of them. All this is compiled once, whatever the models.
"""

from __future__ import annotations

import math

from kido.jit import call4, entry, floor, kernel, view
from kido.math.elementary import arctan2, exp, log
from kido.math.trig import sincos
from kido.systems.noise import normal
from kido.systems.schema import (
    ABS,
    ADD,
    ARCTAN2,
    CALL,
    COPY,
    DIVIDE,
    DONE,
    EXP,
    FLOOR,
    LOG,
    MAXIMUM,
    MINIMUM,
    MULTIPLY,
    MULTIPLY_ADD,
    NOISE,
    NOT_SOLVED,
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
)  # fmt: skip

MOST_ITERATIONS = 50
SOLVED = 1e-12  # change of an unknown over 1 + its size
DIFFERENCE = 1.5e-8  # of forward differences
SINGULAR = 1e-7  # pivot that rounding of differences may leave of zero


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
