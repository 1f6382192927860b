"""Servos, couplings of mimics, and velocity limits as blocks of one row.

A servo on coordinate k asks for u_k = target with an impulse within its force limits times h. A coupling asks for
u_k = m u_r and acts on both coordinates, with impulses p and -m p: a gear, which keeps the power. What its
positions are out, q_k - m q_r - b, is left to the position correction, or, if its force is limited so that it may
slip, taken back by the velocity within that limit. A velocity limit asks for u_lower <= u_k <= u_upper.

A servo of unlimited force would fight a limit of its coordinate; it asks for no more than the limits allow. One
of limited force is stopped by the limit and presses against it. So is one of unlimited force by contacts that
cannot give way: it takes at most the impulse that would change the coordinate's own velocity by STRONGEST.
"""

from __future__ import annotations

import math

from kido.constraints.joint import joint_row
from kido.constraints.recovery import distance_biases
from kido.constraints.row_origins import FROM_MIMIC, FROM_SERVO, FROM_SPEED_LIMIT
from kido.jit import kernel
from kido.joints.actuators import MIMIC, SERVO
from kido.kernels.responses import coordinate_row

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
    return t.actuator[k] == SERVO or (t.actuator[k] == MIMIC and t.mimic[k] != 0)


@kernel
def is_unlimited(t, k):
    """Whether the actuator of coordinate k can give any force."""
    return t.force_lower[k] == -math.inf and t.force_upper[k] == math.inf


@kernel
def is_dragged(t, k):
    """Whether coordinate k follows a prescribed one through a gear of unlimited force: nothing else can hold it."""
    return t.actuator[k] == MIMIC and t.mimic[k] != 0 and t.prescribed[k + t.mimic[k]] != 0 and is_unlimited(t, k)


@kernel
def wanted_velocity(t, d, pr, k):
    """Velocity that the actuator of coordinate k will ask for; the free one if it asks for none."""
    if t.actuator[k] == SERVO:
        return d.command[k]
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
        most = STRONGEST / pr.Y[pool + k - pr.dof_a[block]]
        pr.lower[block], pr.upper[block] = -most, most
    pr.bias[row] = -servo_target(t, d, src, k)
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
