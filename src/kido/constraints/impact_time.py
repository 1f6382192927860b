"""Impacts at the times within a step at which surfaces meet, one after the other.

With g the gap at the start of a step h, v and a the relative velocity along the normal and its rate by forces, surfaces
meet at t* with g + v t* + a t*^2 / 2 = 0, and leave with e times their speed there. In terms of the free velocity at
the end, u_free = v + h a, and of the midpoint rule, whose impulses p act at mid-step,

    u_new = -e u_free + (1 + e) a (h - t*),    dq = (h/2 - t*) M^-1 J^T p

where dq is added to its positions. Speed, energy and phase are those of the exact impact then. What else may meet has
another g and v afterwards, as if the impulse had acted from the start on, so that impacts of a row of balls follow
each other within a step.

That asks for an inertia M that dq does not change: of what moves along straight lines, or about one axis; of single
free bodies dq is the way of their centres of mass, which leaves angular momentum about them and energy as they are.
Those that pass by each other at an angle are looked at where they meet (`kido.constraints.impact_sequence`). Steps in
which other trees rebound have their middle there (`kido.simulation.middle`). Contacts of several points, and those at
which friction acts, are solved with all others, at their time but once in a step.
"""

from __future__ import annotations

import math

from kido.jit import inlined, kernel
from kido.kernels.free_lanes import INVERSE_MASS_AT
from kido.solvers.rows import first_velocity, product, segment

# What dq of a tree is, in `steady` at its first coordinate.
UNSTEADY, STRAIGHT, CENTRE = 0, 1, 2
# How an impact is solved: alone; with all others, at its time; the same, at mid-step.
ALONE, WITH_OTHERS, UNTIMED = 0, 1, 2
LATE = 3.0  # [steps] an impact may be this late; what overlaps for longer never met
LATEST = 1.0  # [steps] the same of one that a step's middle is moved to: nothing else is to have changed since then
OUTSIDE = 1e6  # [m/s] bias that no impact of others makes up for
NEVER = 1e300


@inlined
def steadiness(pr, src, block, side):
    """`steady` of the tree on one side of a block; STRAIGHT where nothing moves."""
    dof, length, _ = segment(pr, block, side)
    return src.steady[dof] if length > 0 else STRAIGHT


@kernel
def may_be_timed(c, pr, src, k, block):
    """Whether impacts of contact k may be at their time."""
    if c.swept[k] != 0 or pr.more_count[block] != 0:
        return False
    return steadiness(pr, src, block, 0) != UNSTEADY and steadiness(pr, src, block, 1) != UNSTEADY


@kernel
def note_impact(c, pr, src, k, block, a, b, rate):
    """Note a contact that may bounce in this step; `rate`: acceleration of approach by forces [m/s^2]."""
    h = src.time_step
    start = first_velocity(pr, block, pr.u_free) + rate * h
    pair = c.shape_a[k], c.shape_b[k]
    several = (k > 0 and pair == (c.shape_a[k - 1], c.shape_b[k - 1])) or (
        k + 1 < c.num_contacts and pair == (c.shape_a[k + 1], c.shape_b[k + 1])
    )
    n = src.num_impacts
    src.impact[n], src.impact_kind[n] = block, WITH_OTHERS if several else ALONE
    src.impact_body[n, 0], src.impact_body[n, 1] = a, b
    src.impact_gap[n], src.impact_speed[n] = c.gap[k] - src.middle[0] * start, start
    src.impact_rate[n] = -rate
    src.impact_sum[n] = src.impact_way[n] = src.impact_time[n] = 0.0
    src.impact_placed[n] = NEVER
    src.impact_changed[n] = 0
    src.num_impacts = n + 1


@kernel
def leave_out(pr, block):
    """Let a block do nothing in this step."""
    row = pr.row[block]
    pr.bias[row], pr.restitution[block], pr.position_bias[block] = OUTSIDE, 0.0, 0.0
    for r in range(3):
        pr.impulse[row + r] = 0.0


@kernel
def note_meeting(d, c, pr, src, k, block):
    """Note when contact k of a tree that impacts cannot be timed of would rebound, if it is the first in the step."""
    before, after = first_velocity(pr, block, d.u), first_velocity(pr, block, pr.u_free)
    time, _ = time_of_meeting(src, c.gap[k] - src.middle[0] * before, before, (after - before) / src.time_step)
    if -LATEST * src.time_step <= time < src.first_meeting[0]:
        src.first_meeting[0] = time


@kernel
def meeting(src, n):
    """`time_of_meeting` of an impact."""
    return time_of_meeting(src, src.impact_gap[n], src.impact_speed[n], src.impact_rate[n])


@kernel
def time_of_meeting(src, g, v, a):
    """Time at which surfaces meet and their speed there; NEVER if they do not, or are too slow to bounce.

    g, v, a: gap, velocity along the normal and its rate at the step's start.
    """
    square = v * v - 2.0 * a * g
    if not square > src.restitution_speed * src.restitution_speed:
        return NEVER, 0.0
    speed = math.sqrt(square)
    if not speed - v > 0.0:
        return NEVER, 0.0
    time = 2.0 * g / (speed - v)
    h = src.time_step
    return (time, speed) if -LATE * h <= time <= h else (NEVER, 0.0)


@kernel
def shared(pr, b, c):
    """J_c Y_b of the normals of two blocks: the change of velocity of one by a unit impulse of the other."""
    s = 0.0
    for i in range(2):
        dof, length, at = segment(pr, c, i)
        for j in range(2):
            other, n, place = segment(pr, b, j)
            if length > 0 and n > 0 and dof == other:
                s += product(pr.J, at, pr.Y, place, n)
    return s


@kernel
def strike(pr, src, n, time, p):
    """Let an impulse act at a time: on u_free, and on all gaps and speeds that it changes."""
    b = src.impact[n]
    src.impact_sum[n] += p
    src.impact_way[n] += (src.middle[0] - time) * p
    for side in range(2):
        dof, length, at = segment(pr, b, side)
        for j in range(length):
            pr.u_free[dof + j] += pr.Y[at + j] * p
    for m in range(src.num_impacts):
        change = shared(pr, b, src.impact[m]) * p
        if change != 0.0:
            src.impact_speed[m] += change
            src.impact_gap[m] -= change * time
            src.impact_changed[m] = 1


@kernel
def add_impulses(pr, src):
    """Impulses of impacts that were alone, to those of the solution; after that, dq takes all of them."""
    struck = 0
    for n in range(src.num_impacts):
        row = pr.row[src.impact[n]]
        if src.impact_kind[n] == WITH_OTHERS and pr.restitution[src.impact[n]] > 0.0:
            src.impact_way[n] = src.middle[0] - src.impact_time[n]  # times all of its impulses
        elif src.impact_sum[n] > 0.0:
            pr.impulse[row] += src.impact_sum[n]
            struck = 1
    pr.total_bounces += struck


@kernel
def add_ways(t, d, c, pr, src):
    """Add dq of all impacts to the positions at the end of a step."""
    q = d.q
    for n in range(src.num_impacts):
        if src.impact_way[n] == 0.0:
            continue
        b = src.impact[n]
        k, row = src.index[b], pr.row[b]
        s0, s1, s2 = src.impact_way[n], 0.0, 0.0
        if src.impact_kind[n] == WITH_OTHERS:
            s0, s1, s2 = s0 * pr.impulse[row], s0 * pr.impulse[row + 1], s0 * pr.impulse[row + 2]
        for side in range(2):
            dof, length, at = segment(pr, b, side)
            if length == 0:
                continue
            if src.steady[dof] == CENTRE:
                s = (1.0 if side == 1 else -1.0) * src.responses.number[t.body_of_dof[dof], INVERSE_MASS_AT]
                for j in range(3):
                    way = s0 * c.normal[k, j] + s1 * src.tangent[b, j] + s2 * src.tangent[b, 3 + j]
                    q[dof + 3 + j] += s * way
            else:
                for j in range(length):
                    q[dof + j] += s0 * pr.Y[at + j] + s1 * pr.Y[at + length + j] + s2 * pr.Y[at + 2 * length + j]
