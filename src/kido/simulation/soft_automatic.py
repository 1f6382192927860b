"""The automatic mode of soft bodies: points near a contact are free, those far from any and at rest are frozen."""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.math.so3 import cross


@kernel
def mark_near(so, s):
    """Mark points within the radius of one that took an impulse in this step."""
    first, last = so.first[s], so.first[s + 1]
    reach = so.radius[s] * so.radius[s]
    for k in range(first, last):
        so.near[k] = 0
    for k in range(first, last):
        if so.impulse[k, 0] != 0.0 or so.impulse[k, 1] != 0.0 or so.impulse[k, 2] != 0.0:
            for j in range(first, last):
                x, y, z = (
                    so.rest[j, 0] - so.rest[k, 0], so.rest[j, 1] - so.rest[k, 1], so.rest[j, 2] - so.rest[k, 2]
                )  # fmt: skip
                if x * x + y * y + z * z <= reach:
                    so.near[j] = 1


@kernel
def is_calm(so, s, k):
    """Whether a point is at its place of rest and stays there, as fast as gravity's sag lets it be."""
    q = math.sqrt(so.q[k, 0] ** 2 + so.q[k, 1] ** 2 + so.q[k, 2] ** 2)
    v = math.sqrt(so.qd[k, 0] ** 2 + so.qd[k, 1] ** 2 + so.qd[k, 2] ** 2)
    return q <= so.calm[s] and v <= 10.0 * so.calm[s]


@kernel
def adapt(so, s, at_once):
    """Free and freeze points of soft body s for the next step.

    A point that freezes hands the momentum of its motion relative to the link to the skeleton, at once where its
    momentum is balanced (`kido.simulation.soft_balance`), else to the link in the next step.
    """
    mark_near(so, s)
    for k in range(so.first[s], so.first[s + 1]):
        if so.near[k] != 0 and so.frozen[k] != 0:
            so.frozen[k] = 0
            so.factored[s] = 0.0
        elif so.near[k] == 0 and so.frozen[k] == 0 and is_calm(so, s, k):
            if not at_once:
                m = so.mass[k]
                x, y, z = m * so.qd[k, 0], m * so.qd[k, 1], m * so.qd[k, 2]
                n0, n1, n2 = cross(
                    so.rest[k, 0] + so.q[k, 0], so.rest[k, 1] + so.q[k, 1], so.rest[k, 2] + so.q[k, 2], x, y, z
                )
                so.transfer[s, 0] += n0
                so.transfer[s, 1] += n1
                so.transfer[s, 2] += n2
                so.transfer[s, 3] += x
                so.transfer[s, 4] += y
                so.transfer[s, 5] += z
            for c in range(3):
                so.qd[k, c] = 0.0
            so.frozen[k] = 1
            so.factored[s] = 0.0
