"""Joints that users define by a formula: motion and velocity products from the joint's tape.

Results of a tape with n coordinates, in the axes of the joint's parent-side frame: child-side rotation (9),
displacement (3), motion columns (n x 6); their rates (n x 6); derivatives of column k along coordinate j
(n x n x 6); derivatives of the velocity product along each coordinate (n x 6).
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.tape import MOTION, RATES, run_tape, tape_result
from kido.math.so3 import compose, rotate

COLUMNS_AT = 12


@inlined
def rotated_result(F, t, d, i, m):
    """Results m..m+5 as a spatial vector in the axes that F turns to."""
    w0, w1, w2 = rotate(F, tape_result(t, d, i, m), tape_result(t, d, i, m + 1), tape_result(t, d, i, m + 2))
    v0, v1, v2 = rotate(F, tape_result(t, d, i, m + 3), tape_result(t, d, i, m + 4), tape_result(t, d, i, m + 5))
    return w0, w1, w2, v0, v1, v2


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
def user_velocity_product(F, t, d, i, k):
    """Hdot u about the joint's child-side origin; leaves the columns' rates in the tape's values."""
    run_tape(t, d, i, RATES)
    n = t.first_dof[i + 1] - k
    e0, e1, e2, e3, e4, e5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        w0, w1, w2, v0, v1, v2 = rotated_result(F, t, d, i, COLUMNS_AT + 6 * (n + j))
        u = d.u[k + j]
        e0, e1, e2 = e0 + w0 * u, e1 + w1 * u, e2 + w2 * u
        e3, e4, e5 = e3 + v0 * u, e4 + v1 * u, e5 + v2 * u
    return e0, e1, e2, e3, e4, e5
