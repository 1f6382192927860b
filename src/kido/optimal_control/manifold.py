"""Derivatives of moves along the joints' manifolds, for states of which ball and free joints are a part.

A position q of such a joint moves along a velocity v to q exp(v), v in the body's axes: angular, or a twist [angular;
linear]. A change of q there is d with q exp(d). With ad v the matrix of the bracket, exp(v + dv) = exp(v) exp(J dv) for
the right Jacobian J(v) = sum_k (-ad v)^k / (k + 1)!, and q exp(d) exp(v) = q exp(v) exp(T d) for T = exp(-ad v).

Source: Sola, Deray, Atchuthan (2018), "A micro Lie theory for state estimation in robotics".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kido.optimal_control.dynamics import Array
from kido.skeleton import Skeleton
from kido.skeleton.joints.coordinates import CoordinateKind

_TERMS = 40  # at most; angles up to pi take 29


def blocks_of(skeleton: Skeleton) -> tuple[slice, ...]:
    """Coordinates of joints whose moves do not commute: three of a ball joint, six of a free one."""
    dofs = [joint.dofs for joint in skeleton.joints if CoordinateKind.ROTATION in joint.coordinate_kinds]
    return tuple(slice(d[0].index, d[0].index + len(d)) for d in dofs)


def _bracket(v: Array) -> Array:
    """ad v (nodes, 3, 3) of angular velocities, or (nodes, 6, 6) of twists."""
    count, size = v.shape
    found = np.zeros((count, size, size))
    for part in range(0, size, 3):
        x, y, z = v[:, part], v[:, part + 1], v[:, part + 2]
        for r, c, value in ((0, 1, -z), (0, 2, y), (1, 0, z), (1, 2, -x), (2, 0, -y), (2, 1, x)):
            found[:, part + r, c] = value
    if size == 6:
        found[:, 3:, 3:] = found[:, :3, :3]
    return found


def right_jacobian(v: Array) -> tuple[Array, Array]:
    """J and T (nodes, k, k) of velocities (nodes, k), k = 3 or 6.

    Powers above the fourth are combinations of lower ones, as A^5 = -2 n^2 A^3 - n^4 A for A = -ad v, n = |angular|.
    """
    n2 = np.einsum("ki,ki->k", v[:, :3], v[:, :3])
    largest = float(np.sqrt(n2.max(initial=0.0)))
    power, total, factor = np.zeros((4, len(v))), np.zeros((4, len(v))), 0.5
    power[0] = 1.0
    for k in range(1, _TERMS):
        total += factor * power
        factor /= k + 2
        if k > 4 and factor * largest ** (k - 4) < 1e-18:
            break
        power = np.stack([-n2 * n2 * power[3], power[0], power[1] - 2.0 * n2 * power[3], power[2]])
    A = -_bracket(v)
    A2 = A @ A
    one = np.eye(v.shape[1])
    a, b, c, d = total[:, :, None, None]
    J = one + a * A + b * A2 + A2 @ (c * A + d * A2)
    return J, one + A @ J


def block_jacobians(blocks: Sequence[slice], steps: Array) -> tuple[Array, Array]:
    """J and T (nodes, n, n) of moves (nodes, n), of which `blocks` do not commute."""
    J, T = np.empty((2, len(steps), steps.shape[1], steps.shape[1]))
    J[:] = T[:] = np.eye(steps.shape[1])
    for block in blocks:
        J[:, block, block], T[:, block, block] = right_jacobian(steps[:, block])
    return J, T
