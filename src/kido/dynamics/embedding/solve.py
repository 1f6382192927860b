"""What the constraint-embedding solver does at a state: sweeps, accelerations, constraint forces, responses.

The sweeps are those of articulated bodies on a tree with aggregate bodies (theory reference, sections a3, a7, b4):
links outside of aggregates are as in `kido.kernels.forward_dynamics`, what an aggregate does is in `aggregate_body`.
"""

from __future__ import annotations

import math

from kido.constraints.loop_factor import measure_all
from kido.dynamics.embedding.aggregate_body import (
    add_six,
    aggregate_accelerations,
    aggregate_bias,
    aggregate_geometry,
    aggregate_rest,
    articulate_aggregate,
    dot6,
    fill_right_side,
)
from kido.dynamics.embedding.elimination import solve_right, solve_transposed
from kido.dynamics.rows import clear_wrenches, free_axis_wrenches, gather_wrenches
from kido.integrators.rates import commands, given_accelerations, loads
from kido.jit import kernel
from kido.kernels.forward_dynamics import eliminate_joint, joint_bias, joint_motion, start_bias
from kido.kernels.inertia import apply_inertia, body_inertia, read_inertia, start_inertia
from kido.kernels.kinematics import body_velocity, transforms
from kido.math.so3 import cross


@kernel
def gather_bias_of_tree(t, d, e, begin, end, share, tau):
    """e, y and z of the tree with aggregates, from bodies' own biases in z; `share` as in `joint_motion`.

    This and the other sweeps go over items begin..end-1, those of one part or all.
    """
    for q in range(end - 1, begin - 1, -1):
        i = e.item[q]
        if i >= 0:
            joint_bias(t, d, 0, i, share, tau)
        else:
            aggregate_bias(t, d, e, -1 - i, tau)


@kernel
def scatter_accelerations(t, d, e, begin, end, share, A, out):
    """`out` of the free coordinates and A of all links; `share` as in `joint_motion`."""
    for q in range(begin, end):
        i = e.item[q]
        if i >= 0:
            joint_motion(t, d, i, share, A, out)
        else:
            aggregate_accelerations(t, d, e, -1 - i, share, A, out)


@kernel
def articulate_tree(t, d, e, begin, end, h):
    """`articulated_inertias` on the tree with aggregates, from bodies' own inertias in P.

    Returns:
        -1, a coordinate whose inertia is not positive, or -2 - c for an aggregate whose D is not.
    """
    status = -1
    for q in range(end - 1, begin - 1, -1):
        i = e.item[q]
        if i >= 0:
            found = eliminate_joint(t, d, 0, i, h, 0.25 * h, 1, -1.0)
            if found >= 0.0:
                status = int(found)
        elif not articulate_aggregate(t, d, e, -1 - i, h):
            status = -2 - (-1 - i)
    return status


@kernel
def articulate_and_gather(t, d, e, tau):
    """`articulate_tree` and `gather_bias_of_tree` of accelerations in one sweep."""
    status = -1
    for q in range(e.num_items - 1, -1, -1):
        i = e.item[q]
        if i >= 0:
            found = eliminate_joint(t, d, 0, i, 0.0, 0.0, 1, -1.0)
            if found >= 0.0:
                status = int(found)
            joint_bias(t, d, 0, i, 1.0, tau)
        else:
            if not articulate_aggregate(t, d, e, -1 - i, 0.0):
                status = -2 - (-1 - i)
            aggregate_bias(t, d, e, -1 - i, tau)
    return status


@kernel
def aggregates_at_state(d, lp, y, e):
    """Columns, X, xb of all aggregates at the present poses and velocities; returns the least pivot."""
    least = math.inf
    for c in range(e.num_aggregates):
        least = min(least, aggregate_geometry(d, lp, y, e, c, 1))
        aggregate_rest(d, e, c)
    return least


@kernel
def begin_bodies(t, d):
    """Poses, velocities, own inertias and biases of all links."""
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
        body_velocity(t, d, i)
        start_inertia(t, d, i)
        start_bias(t, d, i)


@kernel
def begin_forces(t, d, lp, y, e):
    """tau with all that acts, and udot of prescribed coordinates."""
    if y.passive != 0:
        loads(t, d, y)
    else:
        commands(t, d, y)
        given_accelerations(t, d, y)
    if e.has_axial != 0:
        measure_all(d, lp)
        clear_wrenches(y.wrench)
        for k in range(y.load.shape[0]):
            y.load[k] = 0.0
        if free_axis_wrenches(t, d, lp, y.wrench) != 0:
            gather_wrenches(t, d, y.wrench, y.load)
            for k in range(y.load.shape[0]):
                d.tau[k] += y.load[k]


@kernel
def accelerations_of_tree(t, d, lp, y, e):
    """udot and A at q, u and the forces of the data: the articulated-body algorithm on the tree with aggregates.

    Returns:
        The least pivot of the partitions, and the status of `articulate_tree`.
    """
    begin_bodies(t, d)
    begin_forces(t, d, lp, y, e)
    least = aggregates_at_state(d, lp, y, e)
    status = articulate_and_gather(t, d, e, d.tau)
    scatter_accelerations(t, d, e, 0, e.num_items, 1.0, d.A, d.udot)
    return least, status


@kernel
def forces_of_aggregate(d, y, e, c, A, udot, tau):
    """`constraint_force` of the aggregate's coordinates, G^T lambda: what its motion takes beyond tau; by 6-vectors.

    The force through a member's joint is the sum of P A + z of the members beyond it.
    """
    first, last = e.first_member[c], e.first_member[c + 1]
    for m in range(first, last):
        i = e.member[m]
        f0, f1, f2, f3, f4, f5 = apply_inertia(read_inertia(d, i), A[i, 0], A[i, 1], A[i, 2], A[i, 3], A[i, 4], A[i, 5])
        f0 += d.z[i, 0]
        f1 += d.z[i, 1]
        f2 += d.z[i, 2]
        f3 += d.z[i, 3]
        f4 += d.z[i, 4]
        f5 += d.z[i, 5]
        x, v, w = cross(d.p[i, 0] - e.point[c, 0], d.p[i, 1] - e.point[c, 1], d.p[i, 2] - e.point[c, 2], f3, f4, f5)
        e.f[m, 0], e.f[m, 1], e.f[m, 2] = f0 + x, f1 + v, f2 + w
        e.f[m, 3], e.f[m, 4], e.f[m, 5] = f3, f4, f5
    for m in range(last - 1, first - 1, -1):
        f0, f1, f2, f3, f4, f5 = e.f[m, 0], e.f[m, 1], e.f[m, 2], e.f[m, 3], e.f[m, 4], e.f[m, 5]
        for s in range(e.member_place[m], e.member_place[m + 1]):
            k = e.dof[s]
            rotor = y.tree.armature[k] * udot[k]
            y.constraint_force[k] = dot6(e.S, s, f0, f1, f2, f3, f4, f5) + rotor - tau[k]
        if e.above[m] >= 0:
            add_six(e.f, e.above[m], f0, f1, f2, f3, f4, f5)


@kernel
def multipliers_of_aggregate(y, e, c):
    """Multipliers of the kept rows from the dependent coordinates' constraint forces; rows left out have none.

    What prescribed coordinates take has their own force in it: the constraints' share is K^T lambda.
    """
    place, rank = e.first_place[c], e.rank[c]
    for s in range(place, e.first_place[c + 1]):
        e.w[s] = y.constraint_force[e.dof[s]]
    solve_transposed(e, c)
    first = e.first_row[c]
    for s in range(e.first_row[c + 1] - first):
        row = first + e.kept[first + s]
        y.multiplier[e.slot[row]] = e.w[place + e.solved[place + s]] if s < rank else 0.0
        y.redundant[e.slot[row]] = 0 if s < rank else 1
    columns = e.columns[c]
    for a in range(e.free[c], columns):
        k = e.dof[place + e.solved[place + rank + a]]
        value = 0.0
        for s in range(rank):
            value -= e.X[e.X_at[c] + s * (columns + 1) + a] * y.constraint_force[e.dof[place + e.solved[place + s]]]
        y.constraint_force[k] = value


@kernel
def forces_of_tree(d, y, e, A, udot, tau):
    """`constraint_force`, `multiplier`, `redundant` after a solution for tau with the accelerations A and udot."""
    for k in range(y.constraint_force.shape[0]):
        y.constraint_force[k] = 0.0
    rank = 0
    for c in range(e.num_aggregates):
        forces_of_aggregate(d, y, e, c, A, udot, tau)
        multipliers_of_aggregate(y, e, c)
        rank += e.rank[c]
    y.rank = rank


@kernel
def begin_response(t, d, lp, y, e):
    """All that responses need at the positions of the data: articulated inertias and X; velocities do not matter.

    Returns:
        The least pivot, and the status of `articulate_tree`.
    """
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
        start_inertia(t, d, i)
    least = 1.0
    for c in range(e.num_aggregates):
        least = min(least, aggregate_geometry(d, lp, y, e, c, 0))
    return least, articulate_tree(t, d, e, 0, e.num_items, 0.0)


@kernel
def motions_from(e, c):
    """A of the members from xb alone."""
    for m in range(e.first_member[c], e.first_member[c + 1]):
        above = e.above[m]
        for j in range(6):
            value = e.A[above, j] if above >= 0 else 0.0
            for s in range(e.member_place[m], e.member_place[m + 1]):
                value += e.S[s, j] * e.xb[s]
            e.A[m, j] = value


@kernel
def answer(t, d, e, first, last, begin, end, impulse, change):
    """Changes of velocity of links first..last-1, items begin..end-1, by an impulse and the aggregates' own part xb.

    B of the data are those of the links; `change` of prescribed coordinates stays as it is.
    """
    for i in range(first, last):
        for j in range(6):
            d.z[i, j] = 0.0
    for q in range(begin, end):
        if e.item[q] < 0:
            motions_from(e, -1 - e.item[q])
    gather_bias_of_tree(t, d, e, begin, end, 0.0, impulse)
    scatter_accelerations(t, d, e, begin, end, 0.0, d.B, change)


@kernel
def response_of_tree(t, d, e, impulse, jump, change):
    """change (dofs,) with M change = impulse + G^T x, G change = jump (slots,); needs `begin_response`.

    B of the data are the changes of velocity of all links.
    """
    for k in range(change.shape[0]):
        change[k] = 0.0
    for c in range(e.num_aggregates):
        for s in range(e.first_place[c], e.first_place[c + 1]):
            e.xb[s] = 0.0
        if e.rank[c] > 0:
            fill_right_side(e, c, jump)
            solve_right(e, c)
    answer(t, d, e, 0, t.parent.shape[0], 0, e.num_items, impulse, change)
