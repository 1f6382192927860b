"""A joint's own formulas as a list of operations, and the kernel that works through it.

`TREE.tape` holds (operation, operand, operand) of each step, `TREE.tape_number` its constant. Step m writes
`DATA.tape_value[m]`, and operands are the numbers of earlier steps. Which operation comes next depends on the
joint alone, so that many states of one model go through a tape side by side.
"""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.math.elementary import arctan2, exp, log
from kido.math.trig import sincos

# SIN writes the cosine too, into the next step's value; that step is HELD.
(
    NUMBER, POSITION, VELOCITY, ADD, SUBTRACT, MULTIPLY, DIVIDE, ADD_NUMBER, SCALE, SIN, COS, SQRT, EXP, LOG,
    ARCTAN2, HELD,
) = range(16)  # fmt: skip

INPUTS = (NUMBER, POSITION, VELOCITY)  # operations whose operands are no steps

# Stages: all that transforms and velocities need; derivatives of velocity products.
MOTION, VELOCITY_PRODUCTS = range(2)
NUM_STAGES = 2
FIRST_RESULT = NUM_STAGES + 1  # column of TREE.tape_of


@kernel
def run_tape(t, d, i, stage):
    """Values of one stage of body i's joint; earlier stages must be current."""
    first = t.first_dof[i]
    v = d.tape_value
    for m in range(t.tape_of[i, stage], t.tape_of[i, stage + 1]):
        op, a, b = t.tape[m, 0], t.tape[m, 1], t.tape[m, 2]
        if op == MULTIPLY:
            v[m] = v[a] * v[b]
        elif op == ADD:
            v[m] = v[a] + v[b]
        elif op == SUBTRACT:
            v[m] = v[a] - v[b]
        elif op == SCALE:
            v[m] = v[a] * t.tape_number[m]
        elif op == ADD_NUMBER:
            v[m] = v[a] + t.tape_number[m]
        elif op == SIN:
            s, c = sincos(v[a])
            v[m] = s
            v[m + 1] = c
        elif op == POSITION:
            v[m] = d.q[first + a]
        elif op == VELOCITY:
            v[m] = d.u[first + a]
        elif op == NUMBER:
            v[m] = t.tape_number[m]
        elif op == DIVIDE:
            v[m] = v[a] / v[b]
        elif op == SQRT:
            v[m] = math.sqrt(v[a])
        elif op == EXP:
            v[m] = exp(v[a])
        elif op == LOG:
            v[m] = log(v[a])
        elif op == ARCTAN2:
            v[m] = arctan2(v[a], v[b])


@kernel
def tape_result(t, d, i, m):
    """Result m of body i's joint, numbered as `kido.joints.trace.Tape` says."""
    return d.tape_value[t.tape_result[t.tape_of[i, FIRST_RESULT] + m]]
