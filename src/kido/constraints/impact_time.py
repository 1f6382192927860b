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
Where two of them would change their angular momentum about each other, because they pass by each other at an angle, and
for all other trees, impacts are at mid-step (`kido.simulation.balance`). Contacts of several points, and those at which
friction acts, are solved with all others, at their time but once in a step.
"""

from __future__ import annotations

import math

from kido.constraints.row_origins import biases
from kido.jit import inlined, kernel
from kido.joints.frames import rotation_of
from kido.kernels.free_lanes import INVERSE_MASS_AT, centre_of_mass, offset_velocity
from kido.solvers.rows import coupling, first_velocity, product, segment, velocity1

# What dq of a tree is, in `steady` at its first coordinate.
UNSTEADY, STRAIGHT, CENTRE = 0, 1, 2
# How an impact is solved: alone; with all others, at its time; the same, at mid-step.
ALONE, WITH_OTHERS, UNTIMED = 0, 1, 2
LATE = 3.0  # [steps] an impact may be this late; what overlaps for longer never met
DIRECT = 1e-6  # speed at which two free bodies pass by each other, beside that of their impact, that is still none
MOST_EACH = 8  # impacts of a step, for each contact, that are followed
OUTSIDE = 1e6  # [m/s] bias that no impact of others makes up for
NEVER = 1e300


@kernel
def centre_velocity(d, src, body, k, u):
    """Velocity of the centre of mass of a single free body with first coordinate k."""
    c = centre_of_mass(src.responses.number, body)
    x, y, z = offset_velocity(rotation_of(d, body), (u[k], u[k + 1], u[k + 2]), c)
    return u[k + 3] + x, u[k + 4] + y, u[k + 5] + z


@kernel
def is_direct(d, c, pr, src, k, block, a, b, speed):
    """Whether centres of mass of two free bodies that meet at contact k move along its normal only."""
    x, y, z = centre_velocity(d, src, b, pr.dof_b[block], pr.u_free)
    e, f, g = centre_velocity(d, src, a, pr.dof_a[block], pr.u_free)
    x, y, z = x - e, y - f, z - g
    s = x * c.normal[k, 0] + y * c.normal[k, 1] + z * c.normal[k, 2]
    x, y, z = x - s * c.normal[k, 0], y - s * c.normal[k, 1], z - s * c.normal[k, 2]
    return x * x + y * y + z * z <= (DIRECT * speed) ** 2


@kernel
def turns_momentum(d, c, pr, src, n, speed):
    """Whether an impact of two free bodies at its time would change their angular momentum about each other."""
    b = src.impact[n]
    if pr.len_a[b] == 0 or pr.len_b[b] == 0 or src.steady[pr.dof_a[b]] != CENTRE or src.steady[pr.dof_b[b]] != CENTRE:
        return False
    if src.impact_kind[n] == WITH_OTHERS and pr.mu[b] > 0.0:  # impulses across the normal
        return True
    return not is_direct(d, c, pr, src, src.index[b], b, src.impact_body[n, 0], src.impact_body[n, 1], speed)


@kernel
def slips(pr, block, speed):
    """Whether friction acts in an impact."""
    if pr.mu[block] == 0.0:
        return False
    x = y = 0.0
    for side in range(2):
        dof, length, at = segment(pr, block, side)
        x += velocity1(pr.J, at + length, length, pr.u_free, dof)
        y += velocity1(pr.J, at + 2 * length, length, pr.u_free, dof)
    return x * x + y * y > (DIRECT * speed) ** 2


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
    src.impact_gap[n], src.impact_speed[n] = c.gap[k] - 0.5 * h * start, start
    src.impact_rate[n] = -rate
    src.impact_sum[n] = src.impact_way[n] = src.impact_time[n] = 0.0
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
def meeting(src, n):
    """Time at which surfaces meet and their speed there; NEVER if they do not, or are too slow to bounce."""
    g, v, a = src.impact_gap[n], src.impact_speed[n], src.impact_rate[n]
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
    src.impact_way[n] += (0.5 * src.time_step - time) * p
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
def next_meeting(src, now):
    """The contact that meets next, alone; the time, not before `now`, and the speed; -1 if none does."""
    found, first, fastest = -1, NEVER, 0.0
    for n in range(src.num_impacts):
        time, speed = meeting(src, n)
        if time < NEVER and src.impact_kind[n] == ALONE:
            time = max(time, now)
            if time < first:
                found, first, fastest = n, time, speed
    return found, first, fastest


@kernel
def set_with_others(d, c, pr, src, n):
    """Have an impact solved with all others, at its time, once the ones that are alone took place."""
    b = src.impact[n]
    time, speed = meeting(src, n)
    if not time < NEVER or turns_momentum(d, c, pr, src, n, speed):
        src.impact_kind[n] = UNTIMED
        return
    h, e = src.time_step, c.restitution[src.index[b]]
    row = pr.row[b]
    pr.bias[row] = -src.impact_rate[n] * (h - time)
    pr.restitution[b] = pr.position_bias[b] = src.correction[b] = 0.0
    if src.newton_restitution != 0:
        pr.bias[row] -= e * speed
    else:
        pr.restitution[b] = e
    src.impact_time[n] = time


@kernel
def set_after_impacts(pr, src, n):
    """What a contact asks of velocities that impacts have changed: nothing if it opens, to hold if it is slow."""
    b = src.impact[n]
    h = src.time_step
    v = src.impact_speed[n] + h * src.impact_rate[n]
    gap = src.impact_gap[n] + 0.5 * h * src.impact_speed[n]
    if v < -src.restitution_speed or v > 0.0 or (gap > src.skin and gap + h * v > 0.0):
        leave_out(pr, b)
        return
    pr.restitution[b] = src.correction[b] = 0.0
    pr.bias[pr.row[b]], pr.position_bias[b] = biases(src, gap, src.slop, src.max_correction)


@kernel
def follow_impacts(d, c, pr, src):
    """Impacts of a step in the order of their times."""
    now = -LATE * src.time_step
    for n in range(src.num_impacts):
        if src.impact_kind[n] == ALONE and slips(pr, src.impact[n], abs(src.impact_speed[n])):
            src.impact_kind[n] = WITH_OTHERS
    for _ in range(MOST_EACH * src.num_impacts):
        n, now, speed = next_meeting(src, now)
        if n < 0:
            break
        if turns_momentum(d, c, pr, src, n, speed):
            src.impact_kind[n] = UNTIMED
            continue
        b = src.impact[n]
        strike(pr, src, n, now, (1.0 + c.restitution[src.index[b]]) * speed / coupling(pr, b, 0, 0))
    for n in range(src.num_impacts):
        if src.impact_kind[n] == WITH_OTHERS:
            set_with_others(d, c, pr, src, n)
        elif src.impact_changed[n] != 0:
            set_after_impacts(pr, src, n)


@kernel
def add_impulses(pr, src):
    """Impulses of impacts that were alone, to those of the solution; after that, dq takes all of them."""
    struck = 0
    for n in range(src.num_impacts):
        row = pr.row[src.impact[n]]
        if src.impact_kind[n] == WITH_OTHERS and pr.restitution[src.impact[n]] > 0.0:
            src.impact_way[n] = (0.5 * src.time_step - src.impact_time[n]) * pr.impulse[row]
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
        k = src.index[b]
        for side in range(2):
            dof, length, at = segment(pr, b, side)
            if length == 0:
                continue
            s = src.impact_way[n]
            if src.steady[dof] == CENTRE:
                s *= (1.0 if side == 1 else -1.0) * src.responses.number[t.body_of_dof[dof], INVERSE_MASS_AT]
                for j in range(3):
                    q[dof + 3 + j] += s * c.normal[k, j]
            else:
                for j in range(length):
                    q[dof + j] += s * pr.Y[at + j]
