"""Stages of a step that only worlds with soft bodies have, around the solution of the contact problem.

Before it, contacts are made to act on points (`kido.constraints.soft_contact`). After it, with V the velocity of a
link, P the impulses on points and ' for link axes, all free points follow:

    qd = qd_free + S^-1 P' - (a dv' + dw' x b),      q = q_M + (h/2) qd + h (pseudo velocity of the correction)

In the automatic mode points near a contact are free, those far from any and at rest are frozen.
"""

from __future__ import annotations

import math

from kido.constraints.row_origins import FROM_CONTACT
from kido.constraints.soft_contact import assemble_soft, harden_contacts, link_velocity, touched_points
from kido.jit import callback, kernel, view
from kido.joints.frames import rotation_of
from kido.kernels.soft import put_column, solve_columns
from kido.math.so3 import cross, rotate_inverse
from kido.simulation.correction import MAX_CORRECTION_MOVE, correction_share
from kido.simulation.soft_balance import book, is_active
from kido.simulation.world_struct import WORLD


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


@callback
def soft_assemble_stage(address, unused_1, unused_2, unused_3):
    """Make contacts act on points. Returns 0, or 1 if the problem's arrays are too small."""
    w = view(WORLD, address)
    return assemble_soft(
        w.tree,
        w.data,
        w.collision,
        w.problem,
        w.row_origins,
        w.soft,
    )


@kernel
def give(so, i, weight, x, y, z, x0, x1, x2):
    """Add an impulse and a pseudo impulse, both times a weight, to a point's."""
    so.impulse[i, 0] += weight * x
    so.impulse[i, 1] += weight * y
    so.impulse[i, 2] += weight * z
    so.push[i, 0] += weight * x0
    so.push[i, 1] += weight * x1
    so.push[i, 2] += weight * x2


@kernel
def collect_impulses(d, c, pr, src, so):
    """Impulses of contacts on points, frozen ones too; world axes."""
    for i in range(so.impulse.shape[0]):
        for k in range(3):
            so.impulse[i, k] = 0.0
            so.push[i, k] = 0.0
    for b in range(pr.num_blocks):
        if src.origin[b] != FROM_CONTACT:
            continue
        k, row = src.index[b], pr.row[b]
        n0, n1, n2 = c.normal[k, 0], c.normal[k, 1], c.normal[k, 2]
        a0, a1, a2 = src.tangent[b, 0], src.tangent[b, 1], src.tangent[b, 2]
        b0, b1, b2 = src.tangent[b, 3], src.tangent[b, 4], src.tangent[b, 5]
        for side in range(2):
            shape = c.shape_a[k] if side == 0 else c.shape_b[k]
            count, i, j, n, li, lj, ln = touched_points(d, c, so, k, shape)
            if count > 0:
                sign = -1.0 if side == 0 else 1.0
                p, q, r = sign * pr.impulse[row], sign * pr.impulse[row + 1], sign * pr.impulse[row + 2]
                x, y, z = p * n0 + q * a0 + r * b0, p * n1 + q * a1 + r * b1, p * n2 + q * a2 + r * b2
                s = sign * pr.position_impulse[b]
                give(so, i, li, x, y, z, s * n0, s * n1, s * n2)
                if count > 1:
                    give(so, j, lj, x, y, z, s * n0, s * n1, s * n2)
                    give(so, n, ln, x, y, z, s * n0, s * n1, s * n2)


@kernel
def answer(d, so, s, impulse, dV):
    """Leave in `column` what impulses on the points of soft body s and a change of its link's velocity do to them."""
    R = rotation_of(d, so.link[s])
    first, last = so.first[s], so.first[s + 1]
    for k in range(first, last):
        x, y, z = rotate_inverse(R, impulse[k, 0], impulse[k, 1], impulse[k, 2])
        put_column(so, s, k, x, y, z, 0.0)
    solve_columns(so, s)
    w0, w1, w2 = rotate_inverse(R, dV[0], dV[1], dV[2])
    v0, v1, v2 = rotate_inverse(R, dV[3], dV[4], dV[5])
    for k in range(first, last):
        row = first + so.place[k]
        x, y, z = cross(w0, w1, w2, so.reduced[k, 1], so.reduced[k, 2], so.reduced[k, 3])
        a = so.reduced[k, 0]
        so.column[row, 0] -= a * v0 + x
        so.column[row, 1] -= a * v1 + y
        so.column[row, 2] -= a * v2 + z


@kernel
def finish_points(t, d, pr, so, s, h):
    """Velocities of the points of soft body s at the end of the step."""
    i = so.link[s]
    new = link_velocity(t, d, i, pr.u)
    old = link_velocity(t, d, i, pr.u_free)
    change = (new[0] - old[0], new[1] - old[1], new[2] - old[2], new[3] - old[3], new[4] - old[4], new[5] - old[5])
    answer(d, so, s, so.impulse, change)
    for k in range(so.first[s], so.first[s + 1]):
        row = so.first[s] + so.place[k]
        for c in range(3):
            if so.frozen[k] == 0:
                so.qd[k, c] += so.column[row, c]
            so.rate[k, c] = (so.qd[k, c] - so.start[k, c]) / h


@kernel
def move_points(t, d, pr, so, s, h):
    """Displacements of the points of soft body s at the end of the step."""
    tree_index, i = so.tree_index[s], so.link[s]
    for k in range(so.first[s], so.first[s + 1]):
        if so.frozen[k] == 0:
            for c in range(3):
                so.q[k, c] += 0.5 * h * so.qd[k, c]
    answer(d, so, s, so.push, link_velocity(t, d, i, pr.u_position))
    share = correction_share(pr, t.tree_dof[tree_index], t.tree_dof[tree_index + 1], h, 0.0)
    largest = 0.0
    for row in range(so.first[s], so.first[s + 1]):
        for c in range(3):
            largest = max(largest, math.fabs(so.column[row, c]))
    if h * largest > MAX_CORRECTION_MOVE:
        share = min(share, MAX_CORRECTION_MOVE / (h * largest))
    for k in range(so.first[s], so.first[s + 1]):
        if so.frozen[k] == 0:
            for c in range(3):
                so.q[k, c] += h * share * so.column[so.first[s] + so.place[k], c]


@callback
def soft_integrate_stage(address, unused_1, unused_2, unused_3):
    """Move the points, and leave the problem as if there were none. Returns 0."""
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    c = w.collision
    pr = w.problem
    so = w.soft
    src = w.row_origins
    harden_contacts(t, d, c, pr, src, so)
    collect_impulses(d, c, pr, src, so)
    for s in range(so.link.shape[0]):
        if t.tree_mobile[so.tree_index[s]] != 0:
            finish_points(t, d, pr, so, s, w.time_step)
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] != 0:
            book(t, d, so, tree_index, t.tree_body[tree_index], t.tree_body[tree_index + 1], pr.u, 1.0)
    for s in range(so.link.shape[0]):
        if t.tree_mobile[so.tree_index[s]] != 0:
            move_points(t, d, pr, so, s, w.time_step)
            if so.automatic[s] != 0:
                adapt(so, s, is_active(t, so, so.tree_index[s]) >= 0)
    return 0
