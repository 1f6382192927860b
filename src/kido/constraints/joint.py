"""Rows of coordinates as blocks of one row: limits, dry friction, servos, springs of POSITION actuators, couplings
of mimics, and velocity limits.

A limit at distance g (negative: overrun) takes part when it may be reached in the step; it asks for a
velocity not below -g / h towards it. Joint friction bounds its impulse by +-f h.

A servo on coordinate k asks for u_k = target with an impulse within its force limits times h. A coupling asks for
u_k = m u_r and acts on both coordinates, with impulses p and -m p: a gear, which keeps the power. What its
positions are out, q_k - m q_r - b, is left to the position correction, or, if its force is limited so that it may
slip, taken back by the velocity within that limit. A velocity limit asks for u_lower <= u_k <= u_upper.

A servo of unlimited force would fight a limit of its coordinate; it asks for no more than the limits allow. One
of limited force is stopped by the limit and presses against it. So is one of unlimited force by contacts that
cannot give way: it takes at most the impulse that would change the coordinate's own velocity by STRONGEST.

A POSITION actuator is a spring towards the position asked for, with a damper (`springs`), whose impulse stays within
the force limits times h.
"""

from __future__ import annotations

import math

from kido.constraints.row_origins import (
    FROM_FRICTION,
    FROM_LIMIT,
    FROM_MIMIC,
    FROM_SERVO,
    FROM_SPEED_LIMIT,
    distance_biases,
)
from kido.constraints.springs import resolved_share, set_spring_row
from kido.jit import kernel
from kido.joints.actuators import MIMIC, POSITION, SERVO
from kido.joints.kinds import FREE
from kido.kernels.actuation import position_error
from kido.kernels.impulse import joint_impulse_row
from kido.kernels.responses import coordinate_row
from kido.math.so3 import rotate, rotate_inverse, rotation_vector_to_matrix
from kido.solvers.problem import BOUNDED

NEAR_LIMIT = 0.02  # [rad or m] a limit this near takes part: other impulses may push the joint into it


@kernel
def make_joint_row(t, d, pr, src, block):
    """The row of a block of one coordinate, and its response."""
    at = pr.at_a[block]
    for q in range(at, at + pr.len_a[block]):
        pr.J[q] = 0.0
        pr.Y[q] = 0.0
    coordinate_row(t, d, src.responses, src.index[block], src.sign[block], pr.J, pr.Y, at)


@kernel
def joint_row(t, d, pr, src, k, sign, block, row, pool):
    """Make a block of one row on coordinate k, with velocity sign * u_k, its own compliance in W. Returns its pool
    entries."""
    tree_index = t.tree_of_body[t.body_of_dof[k]]
    length = t.tree_dof[tree_index + 1] - t.tree_dof[tree_index]
    pr.kind[block] = BOUNDED
    pr.row[block] = row
    pr.dof_a[block], pr.len_a[block], pr.at_a[block] = t.tree_dof[tree_index], length, pool
    pr.dof_b[block], pr.len_b[block], pr.at_b[block] = 0, 0, pool
    pr.more_count[block] = 0
    pr.mu[block], pr.floor[block], pr.restitution[block] = 0.0, 0.0, 0.0
    pr.position_bias[block] = 0.0
    pr.bias[row], pr.compliance[row] = 0.0, 0.0
    src.index[block], src.sign[block] = k, sign
    src.correction[block] = 0.0
    if src.responses.deferred[tree_index] != 0:
        pr.deferred[block] = 1
        pr.W[block, 0] = src.regularized.own[k]
    else:
        make_joint_row(t, d, pr, src, block)
        pr.W[block, 0] = sign * pr.Y[pool + k - t.tree_dof[tree_index]]
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


STRONGEST = 1e6  # [m/s or rad/s] change of velocity that a servo of unlimited force can bring about in a step


@kernel
def number_prescribed(t, begin, end):
    """How many of the coordinates begin..end-1 are prescribed."""
    number = 0
    for k in range(begin, end):
        number += t.prescribed[k]
    return number


@kernel
def has_row(t, k):
    """Whether the actuator of coordinate k is a row of the problem."""
    kind = t.actuator[k]
    if kind == POSITION:
        return t.position_gain[k] + t.velocity_gain[k] > 0.0
    return kind == SERVO or (kind == MIMIC and t.mimic[k] != 0)


@kernel
def is_unlimited(t, k):
    """Whether the actuator of coordinate k can give any force."""
    return t.force_lower[k] == -math.inf and t.force_upper[k] == math.inf


@kernel
def is_dragged(t, k):
    """Whether coordinate k follows a prescribed one through a gear of unlimited force: nothing else can hold it."""
    return t.actuator[k] == MIMIC and t.mimic[k] != 0 and t.prescribed[k + t.mimic[k]] != 0 and is_unlimited(t, k)


@kernel
def wanted_velocity(t, d, pr, src, k):
    """Velocity that the actuator of coordinate k will ask for; the free one if it asks for none."""
    if t.actuator[k] == SERVO:
        return d.command[k]
    if t.actuator[k] == POSITION:
        return -0.5 * position_error(t, d, k) / src.time_step  # a limit before the position asked for may be met
    if t.actuator[k] == MIMIC and t.mimic[k] != 0:
        return t.multiplier[k] * pr.u_free[k + t.mimic[k]]
    return pr.u_free[k]


@kernel
def allowed_velocities(t, d, src, k):
    """Lowest and highest velocity of coordinate k that its position and velocity limits allow in the step."""
    lowest, highest = t.velocity_lower[k], t.velocity_upper[k]
    if t.lower[k] > -math.inf:
        bias, _ = distance_biases(src, d.q[k] - t.lower[k])
        lowest = max(lowest, -bias)
    if t.upper[k] < math.inf:
        bias, _ = distance_biases(src, t.upper[k] - d.q[k])
        highest = min(highest, bias)
    return lowest, highest


@kernel
def servo_target(t, d, src, k):
    """Velocity that a servo asks for: its command, or, if its force has no limit, what the limits of its coordinate
    and of those that follow it allow."""
    target = d.command[k]
    if is_unlimited(t, k):
        lowest, highest = allowed_velocities(t, d, src, k)
        tree_index = t.tree_of_body[t.body_of_dof[k]]
        for i in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            m = t.multiplier[i]
            if t.actuator[i] == MIMIC and i + t.mimic[i] == k and m != 0.0 and is_unlimited(t, i):
                low, high = allowed_velocities(t, d, src, i)
                lowest = max(lowest, min(low / m, high / m))
                highest = min(highest, max(low / m, high / m))
        target = min(max(target, lowest), highest)
    return target


@kernel
def add_servo(t, d, pr, src, k, block, row, pool):
    """The servo of coordinate k as a block. Returns pool entries."""
    length = joint_row(t, d, pr, src, k, 1.0, block, row, pool)
    h = src.time_step
    src.origin[block] = FROM_SERVO
    pr.lower[block], pr.upper[block] = t.force_lower[k] * h, t.force_upper[k] * h
    if is_unlimited(t, k):
        most = STRONGEST / pr.W[block, 0]
        pr.lower[block], pr.upper[block] = -most, most
    pr.bias[row] = -servo_target(t, d, src, k)
    pr.impulse[row] = src.actuator_impulse[k]
    return length


@kernel
def add_position_actuator(t, d, pr, src, k, block, row, pool):
    """The spring of a POSITION actuator of coordinate k as a block. Returns pool entries."""
    length = joint_row(t, d, pr, src, k, 1.0, block, row, pool)
    h = src.time_step
    kp, kd = t.position_gain[k], t.velocity_gain[k]
    src.origin[block] = FROM_SERVO
    pr.lower[block], pr.upper[block] = t.force_lower[k] * h, t.force_upper[k] * h
    resolved = resolved_share(kp, kd, pr.W[block, 0], h)
    set_spring_row(pr, row, kp, kd, position_error(t, d, k), d.u[k], resolved, h)
    pr.impulse[row] = src.actuator_impulse[k]
    return length


@kernel
def add_coupling(t, d, pr, src, k, block, row, pool):
    """The gear between coordinate k and the one it mimics as a block. Returns pool entries."""
    length = joint_row(t, d, pr, src, k, 1.0, block, row, pool)
    followed, m = k + t.mimic[k], t.multiplier[k]
    coordinate_row(t, d, src.responses, followed, -m, pr.J, pr.Y, pool)
    h = src.time_step
    src.origin[block] = FROM_MIMIC
    pr.lower[block], pr.upper[block] = t.force_lower[k] * h, t.force_upper[k] * h
    error = src.erp * (d.q[k] - m * d.q[followed] - t.offset[k])
    if is_unlimited(t, k):
        most = src.max_correction
        pr.position_bias[block] = min(max(error, -most), most) / h
    else:
        pr.bias[row] = error / h
    pr.impulse[row] = src.actuator_impulse[k]
    return length


@kernel
def add_velocity_limit(t, d, pr, src, k, sign, limit, block, row, pool):
    """sign * u_k >= sign * limit as a block; sign is +1 for the lower limit, -1 for the upper. Returns pool entries."""
    length = joint_row(t, d, pr, src, k, sign, block, row, pool)
    src.origin[block] = FROM_SPEED_LIMIT
    pr.lower[block], pr.upper[block] = 0.0, math.inf
    pr.bias[row] = -sign * limit
    pr.position_bias[block] = max(-sign * limit, 0.0)  # positions are corrected no faster
    pr.impulse[row] = 0.0
    return length


@kernel
def add_actuator(t, d, pr, src, k, block, row, pool):
    """Rows of what drives coordinate k and of its velocity limits. Returns block, row and pool entries in use."""
    if has_row(t, k):
        if t.actuator[k] == SERVO:
            pool += add_servo(t, d, pr, src, k, block, row, pool)
        elif t.actuator[k] == POSITION:
            pool += add_position_actuator(t, d, pr, src, k, block, row, pool)
        else:
            pool += add_coupling(t, d, pr, src, k, block, row, pool)
        block += 1
        row += 1
    if not is_dragged(t, k):
        if t.velocity_lower[k] > -math.inf:
            pool += add_velocity_limit(t, d, pr, src, k, 1.0, t.velocity_lower[k], block, row, pool)
            block += 1
            row += 1
        if t.velocity_upper[k] < math.inf:
            pool += add_velocity_limit(t, d, pr, src, k, -1.0, t.velocity_upper[k], block, row, pool)
            block += 1
            row += 1
    return block, row, pool


@kernel
def most_actuator_rows(t, k):
    """Upper bound of the rows of `add_actuator`."""
    number = 1 if has_row(t, k) else 0
    if t.velocity_lower[k] > -math.inf:
        number += 1
    if t.velocity_upper[k] < math.inf:
        number += 1
    return number
