"""Joint position limits and Coulomb joint friction as blocks of one row.

A limit at distance g (negative: overrun) takes part when it may be reached in the step; it asks for a
velocity not below -g / h towards it. Joint friction bounds its impulse by +-f h.
"""

from __future__ import annotations

import math

from kido.constraints.recovery import distance_biases
from kido.constraints.sources import FROM_FRICTION, FROM_LIMIT, TIME_STEP
from kido.jit import kernel
from kido.kernels.impulse import joint_impulse_row
from kido.solvers.problem import BOUNDED

NEAR = 0.02  # [rad or m] a limit this near takes part: other impulses may push the joint into it


@kernel
def joint_row(t, d, pr, src, k, sign, block, row, pool):
    """Make a block of one row on coordinate k, with velocity sign * u_k. Returns its pool entries."""
    part = t.part[t.body_of_dof[k]]
    first, last = t.part_body[part], t.part_body[part + 1]
    length = t.part_dof[part + 1] - t.part_dof[part]
    for q in range(pool, pool + length):
        pr.J[q] = 0.0
        pr.Y[q] = 0.0
    joint_impulse_row(t, d, first, last, k, sign, pr.J, pr.Y, pool)
    pr.kind[block] = BOUNDED
    pr.row[block] = row
    pr.dof_a[block], pr.len_a[block], pr.at_a[block] = t.part_dof[part], length, pool
    pr.dof_b[block], pr.len_b[block], pr.at_b[block] = 0, 0, pool
    pr.more_count[block] = 0
    pr.mu[block], pr.floor[block], pr.restitution[block] = 0.0, 0.0, 0.0
    pr.position_bias[block] = 0.0
    pr.bias[row], pr.compliance[row] = 0.0, 0.0
    src.index[block] = k
    src.correction[block] = 0.0
    return length


@kernel
def limit_is_near(distance, speed, h):
    """Whether a limit at a distance may be met, `speed` being the free velocity towards it."""
    return distance < NEAR or distance < 2.0 * h * speed


@kernel
def add_limit(t, d, pr, src, k, distance, side, block, row, pool):
    """A limit at a distance along `side` (+1 lower, -1 upper, 0 fixed) as a block. Returns pool entries."""
    h = src.parameter[TIME_STEP]
    sign = 1.0 if side >= 0.0 else -1.0
    length = joint_row(t, d, pr, src, k, sign, block, row, pool)
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
    bound = t.coulomb[k] * src.parameter[TIME_STEP]
    src.origin[block] = FROM_FRICTION
    src.side[block] = 0.0
    pr.lower[block], pr.upper[block] = -bound, bound
    pr.impulse[row] = min(max(src.friction_impulse[k], -bound), bound)
    return length
