"""Pairs of shapes that are kept apart: a row for each that is near, as a callback, compiled where it is used.

With the nearest points A and B of two shapes at distance d, and the unit normal n from A to B, d' = n . (v_B - v_A),
and as the pair may come nearer by a share of what is left in a step,

    n . (J_B - J_A) u >= -share (d - d_min) / h.

Source: Faverjon, Tournassoud (1987).
"""

from __future__ import annotations

import math

from kido.collision.container import COLLISION
from kido.collision.poses import update_bounds, update_poses
from kido.collision.queries import box_gap2, function_of, pair_distance
from kido.ik.differential.desired_velocities import approach
from kido.ik.differential.hard import open_row
from kido.ik.differential.schema import (
    DIFFERENTIAL,
    OF_PAIR,
    STEP_NOT_FINITE,
)
from kido.ik.engine.tasks import TASKS
from kido.jit import callback, kernel, view
from kido.math.so3 import cross
from kido.tree.schema import DATA, TREE


@kernel
def add_point(t, d, s, x, h, link, a, b, c, n0, n1, n2):
    """Add to hard row h: velocity along n of a point of a link that is at (a, b, c)."""
    i = link
    while i >= 0:
        rx, ry, rz = a - d.p[i, 0], b - d.p[i, 1], c - d.p[i, 2]
        m0, m1, m2 = cross(rx, ry, rz, n0, n1, n2)
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            column = s.column[k]
            if column >= 0:
                turn = d.H[k, 0] * m0 + d.H[k, 1] * m1 + d.H[k, 2] * m2
                x.hard_J[h, column] += s.ratio[k] * (turn + d.H[k, 3] * n0 + d.H[k, 4] * n1 + d.H[k, 5] * n2)
        i = t.parent[i]


@callback
def avoid(tree, data, tasks, own):
    """Rows of all pairs within their distance of influence; 0, or STEP_NOT_FINITE."""
    t, d, s, x = view(TREE, tree), view(DATA, data), view(TASKS, tasks), view(DIFFERENTIAL, own)
    c = view(COLLISION, x.collisions)
    links = t.parent.shape[0]
    for i in range(links):
        for k in range(9):
            c.body_rotation[i, k] = d.R[i, k]
        for k in range(3):
            c.body_position[i, k] = d.p[i, k]
    c.margin = 0.0
    if update_poses(c) != 0:
        return STEP_NOT_FINITE
    update_bounds(c)
    for k in range(x.pair.shape[0]):
        a, b = x.pair[k, 0], x.pair[k, 1]
        least, influence, share = x.pair_limit[k, 0], x.pair_limit[k, 1], x.pair_limit[k, 2]
        x.pair_gap[k] = math.inf
        if box_gap2(c, a, b) < influence * influence:
            found, gap, p0, p1, p2, n0, n1, n2 = pair_distance(
                c, function_of(c, c.pair_function, a, b), a, b, influence
            )
            if found:
                f = 0.5 * gap
                a0, a1, a2 = p0 - f * n0, p1 - f * n1, p2 - f * n2
                b0, b1, b2 = p0 + f * n0, p1 + f * n1, p2 + f * n2
                x.pair_gap[k] = gap
                x.pair_point[k, 0], x.pair_point[k, 1], x.pair_point[k, 2] = a0, a1, a2
                x.pair_point[k, 3], x.pair_point[k, 4], x.pair_point[k, 5] = b0, b1, b2
                low = -approach(gap - least, share, x.time_step, x.recovery_speed)
                h = open_row(x, low, math.inf, OF_PAIR, k)
                link_a, link_b = c.shape_body[a], c.shape_body[b]
                if link_b < links:
                    add_point(t, d, s, x, h, link_b, b0, b1, b2, n0, n1, n2)
                if link_a < links:
                    add_point(t, d, s, x, h, link_a, a0, a1, a2, -n0, -n1, -n2)
    return 0
