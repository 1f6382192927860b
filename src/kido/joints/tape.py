"""A joint's own formulas as a list of operations, and the kernel that works through it.

`TREE.tape` holds (operation, operand, operand) of each step, `TREE.tape_number` its constant. Step m writes
`DATA.tape_value[m]`, and operands are the numbers of earlier steps. Which operation comes next depends on the
joint alone, so that many states of one model go through a tape side by side.

Joints that users define by a formula: motion, columns and their derivatives from the joint's tape.

Results of a tape with n coordinates, in the axes of the joint's parent-side frame: child-side rotation (9),
displacement (3), motion columns (n x 6) and the derivatives of column k along coordinate j (n x n x 6), about the
child-side origin; and of the second stage, derivatives of the velocity product along each coordinate (n x 6).
"""

from __future__ import annotations

import math

from kido.jit import inlined, kernel
from kido.joints.frames import child_offset, joint_frame_of
from kido.math.elementary import arctan2, exp, log
from kido.math.so3 import compose, cross, rotate
from kido.math.trig import sincos

# SIN writes the cosine too, into the next step's value; that step is HELD.
(
    NUMBER, POSITION, VELOCITY_INPUT, ADD, SUBTRACT, MULTIPLY, DIVIDE, ADD_NUMBER, SCALE, SIN, COS, SQRT, EXP, LOG,
    ARCTAN2, HELD,
) = range(16)  # fmt: skip

INPUTS = (NUMBER, POSITION, VELOCITY_INPUT)  # operations whose operands are no steps

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
        elif op == VELOCITY_INPUT:
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


COLUMNS_AT = 12


@inlined
def rotated_result(F, t, d, i, m):
    """Results m..m+5 as a spatial vector in the axes that F turns to."""
    w0, w1, w2 = rotate(F, tape_result(t, d, i, m), tape_result(t, d, i, m + 1), tape_result(t, d, i, m + 2))
    v0, v1, v2 = rotate(F, tape_result(t, d, i, m + 3), tape_result(t, d, i, m + 4), tape_result(t, d, i, m + 5))
    return w0, w1, w2, v0, v1, v2


@inlined
def derivative_at(n, k, j):
    """Number of the result that starts the derivative of column k along coordinate j."""
    return COLUMNS_AT + 6 * (n + n * k + j)


@kernel
def user_motion(F, t, d, i, k):
    """Child-side rotation and displacement of a user's joint, and its columns."""
    run_tape(t, d, i, MOTION)
    for j in range(k, t.first_dof[i + 1]):
        w0, w1, w2, v0, v1, v2 = rotated_result(F, t, d, i, COLUMNS_AT + 6 * (j - k))
        d.H[j, 0], d.H[j, 1], d.H[j, 2] = w0, w1, w2
        d.H[j, 3], d.H[j, 4], d.H[j, 5] = v0, v1, v2
    R = compose(
        F,
        (
            tape_result(t, d, i, 0), tape_result(t, d, i, 1), tape_result(t, d, i, 2),
            tape_result(t, d, i, 3), tape_result(t, d, i, 4), tape_result(t, d, i, 5),
            tape_result(t, d, i, 6), tape_result(t, d, i, 7), tape_result(t, d, i, 8),
        ),
    )  # fmt: skip
    x, y, z = rotate(F, tape_result(t, d, i, 9), tape_result(t, d, i, 10), tape_result(t, d, i, 11))
    return R, x, y, z


@kernel
def user_velocity_product(t, d, i, k):
    """Hdot u = sum over j, k of (dH_k/dq_j) u_j u_k, about the joint's child-side origin."""
    n = t.first_dof[i + 1] - k
    e0, e1, e2, e3, e4, e5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(n):
        for b in range(n):
            m = derivative_at(n, a, b)
            s = d.u[k + a] * d.u[k + b]
            e0 += s * tape_result(t, d, i, m)
            e1 += s * tape_result(t, d, i, m + 1)
            e2 += s * tape_result(t, d, i, m + 2)
            e3 += s * tape_result(t, d, i, m + 3)
            e4 += s * tape_result(t, d, i, m + 4)
            e5 += s * tape_result(t, d, i, m + 5)
    F = joint_frame_of(t, d, i)
    e0, e1, e2 = rotate(F, e0, e1, e2)
    e3, e4, e5 = rotate(F, e3, e4, e5)
    return e0, e1, e2, e3, e4, e5


@kernel
def user_column_derivative(t, d, i, k, j):
    """dH_k / dq_j about the body's origin, world axes; needs H."""
    first = t.first_dof[i]
    m = derivative_at(t.first_dof[i + 1] - first, k - first, j - first)
    e0, e1, e2, e3, e4, e5 = rotated_result(joint_frame_of(t, d, i), t, d, i, m)
    if t.has_child_offset[i] != 0:  # H_k has w_k x o, and o turns with w_j
        o0, o1, o2 = child_offset(t, d, i)
        x, y, z = cross(e0, e1, e2, o0, o1, o2)
        o0, o1, o2 = cross(d.H[j, 0], d.H[j, 1], d.H[j, 2], o0, o1, o2)
        a, b, c = cross(d.H[k, 0], d.H[k, 1], d.H[k, 2], o0, o1, o2)
        e3, e4, e5 = e3 + x + a, e4 + y + b, e5 + z + c
    return e0, e1, e2, e3, e4, e5


@kernel
def evaluate_velocity_products(t, d, i):
    """What `user_velocity_product_derivative` needs beyond H and u."""
    run_tape(t, d, i, VELOCITY_PRODUCTS)


@kernel
def user_velocity_product_derivative(t, d, i, j):
    """d(Hdot u)/dq_j about the body's origin, world axes; needs H and `evaluate_velocity_products` at u."""
    first, end = t.first_dof[i], t.first_dof[i + 1]
    n = end - first
    F = joint_frame_of(t, d, i)
    e0, e1, e2, e3, e4, e5 = rotated_result(F, t, d, i, derivative_at(n, n, 0) + 6 * (j - first))
    if t.has_child_offset[i] != 0:
        # Hdot u about the body's origin has b x o + w x (w x o), with b its angular part and w the relative
        # angular velocity; along q_j, o turns with h_j, and w and b change.
        o0, o1, o2 = child_offset(t, d, i)
        p0, p1, p2 = cross(d.H[j, 0], d.H[j, 1], d.H[j, 2], o0, o1, o2)
        b0, b1, b2, _, _, _ = user_velocity_product(t, d, i, first)
        w0, w1, w2, x0, x1, x2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(first, end):
            s = d.u[k]
            w0, w1, w2 = w0 + s * d.H[k, 0], w1 + s * d.H[k, 1], w2 + s * d.H[k, 2]
            a, b, c, _, _, _ = rotated_result(F, t, d, i, derivative_at(n, k - first, j - first))
            x0, x1, x2 = x0 + s * a, x1 + s * b, x2 + s * c
        for term in range(3):
            if term == 0:
                a, b, c = cross(e0, e1, e2, o0, o1, o2)
                p, q, r = cross(b0, b1, b2, p0, p1, p2)
            elif term == 1:
                a, b, c = cross(w0, w1, w2, o0, o1, o2)
                a, b, c = cross(x0, x1, x2, a, b, c)
                p, q, r = cross(x0, x1, x2, o0, o1, o2)
                p, q, r = cross(w0, w1, w2, p, q, r)
            else:
                a, b, c = cross(w0, w1, w2, p0, p1, p2)
                a, b, c = cross(w0, w1, w2, a, b, c)
                p, q, r = 0.0, 0.0, 0.0
            e3, e4, e5 = e3 + a + p, e4 + b + q, e5 + c + r
    return e0, e1, e2, e3, e4, e5
