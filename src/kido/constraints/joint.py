"""Joint position limits and Coulomb joint friction as blocks of one row.

A limit at distance g (negative: overrun) takes part when it may be reached in the step; it asks for a
velocity not below -g / h towards it. Joint friction bounds its impulse by +-f h.
"""

from __future__ import annotations

import math

from kido.constraints.recovery import distance_biases
from kido.constraints.row_origins import FROM_FRICTION, FROM_LIMIT
from kido.jit import kernel
from kido.joints.kinds import FREE
from kido.kernels.impulse import joint_impulse_row
from kido.kernels.responses import coordinate_row
from kido.math.so3 import rotate, rotate_inverse, rotation_vector_to_matrix
from kido.solvers.problem import BOUNDED

NEAR_LIMIT = 0.02  # [rad or m] a limit this near takes part: other impulses may push the joint into it


@kernel
def joint_row(t, d, pr, src, k, sign, block, row, pool):
    """Make a block of one row on coordinate k, with velocity sign * u_k. Returns its pool entries."""
    tree_index = t.tree_of_body[t.body_of_dof[k]]
    length = t.tree_dof[tree_index + 1] - t.tree_dof[tree_index]
    for q in range(pool, pool + length):
        pr.J[q] = 0.0
        pr.Y[q] = 0.0
    coordinate_row(t, d, src.responses, k, sign, pr.J, pr.Y, pool)
    pr.kind[block] = BOUNDED
    pr.row[block] = row
    pr.dof_a[block], pr.len_a[block], pr.at_a[block] = t.tree_dof[tree_index], length, pool
    pr.dof_b[block], pr.len_b[block], pr.at_b[block] = 0, 0, pool
    pr.more_count[block] = 0
    pr.mu[block], pr.floor[block], pr.restitution[block] = 0.0, 0.0, 0.0
    pr.position_bias[block] = 0.0
    pr.bias[row], pr.compliance[row] = 0.0, 0.0
    src.index[block] = k
    src.correction[block] = 0.0
    return length


@kernel
def is_turned(t, k):
    """Whether the rate of position k is no velocity of its own: a driven free joint's translation.

    Its velocities are in body axes, its positions are not; other free joints have both in fixed axes.
    """
    i = t.body_of_dof[k]
    return t.kind[i] == FREE and k >= t.first_dof[i] + 3


@kernel
def can_slide(t, k):
    """Whether one of the translations of a free joint, coordinate k among them, is not prescribed."""
    first = t.first_dof[t.body_of_dof[k]]
    return t.prescribed[first + 3] + t.prescribed[first + 4] + t.prescribed[first + 5] < 3


@kernel
def position_rate(t, d, k, u):
    """Rate of position k for the velocities u: a row of R u where `is_turned`."""
    if not is_turned(t, k):
        return u[k]
    first = t.first_dof[t.body_of_dof[k]]
    R = rotation_vector_to_matrix(d.q[first], d.q[first + 1], d.q[first + 2])
    x, y, z = rotate(R, u[first + 3], u[first + 4], u[first + 5])
    if k == first + 3:
        return x
    return y if k == first + 4 else z


@kernel
def position_row(t, d, pr, k, sign, pool, length):
    """Make the row of coordinate k that of its position where `is_turned`: a row of R."""
    i = t.body_of_dof[k]
    first, tree_index = t.first_dof[i], t.tree_of_body[i]
    R = rotation_vector_to_matrix(d.q[first], d.q[first + 1], d.q[first + 2])
    for q in range(pool, pool + length):
        pr.J[q] = 0.0
        pr.Y[q] = 0.0
    x = 1.0 if k == first + 3 else 0.0
    y = 1.0 if k == first + 4 else 0.0
    z = 1.0 if k == first + 5 else 0.0
    a, b, c = rotate_inverse(R, sign * x, sign * y, sign * z)
    begin, end = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    for j in range(3):
        along = a if j == 0 else (b if j == 1 else c)
        joint_impulse_row(t, d, begin, end, first + 3 + j, along, pr.J, pr.Y, pool)


@kernel
def limit_is_near(distance, speed, h):
    """Whether a limit at a distance may be met, `speed` being the free velocity towards it."""
    return distance < NEAR_LIMIT or distance < 2.0 * h * speed


@kernel
def add_limit(t, d, pr, src, k, distance, side, block, row, pool):
    """A limit at a distance along `side` (+1 lower, -1 upper, 0 fixed) as a block. Returns pool entries."""
    h = src.time_step
    sign = 1.0 if side >= 0.0 else -1.0
    length = joint_row(t, d, pr, src, k, sign, block, row, pool)
    if is_turned(t, k):
        position_row(t, d, pr, k, sign, pool, length)
    src.origin[block] = FROM_LIMIT
    src.side[block] = side
    pr.lower[block] = 0.0 if side != 0.0 else -math.inf
    pr.upper[block] = math.inf
    if side == 0.0:
        pr.bias[row] = distance / h
    else:
        pr.bias[row], pr.position_bias[block] = distance_biases(src, distance)
        src.correction[block] = min(pr.bias[row], 0.0)
    warm = src.limit_impulse[k] * sign
    pr.impulse[row] = warm if side == 0.0 or warm > 0.0 else 0.0
    return length


@kernel
def add_friction(t, d, pr, src, k, block, row, pool):
    """Coulomb friction of coordinate k as a block. Returns pool entries."""
    length = joint_row(t, d, pr, src, k, 1.0, block, row, pool)
    bound = t.coulomb[k] * src.time_step
    src.origin[block] = FROM_FRICTION
    src.side[block] = 0.0
    pr.lower[block], pr.upper[block] = -bound, bound
    pr.impulse[row] = min(max(src.friction_impulse[k], -bound), bound)
    return length
