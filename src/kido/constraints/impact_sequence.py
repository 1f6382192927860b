"""Impacts of a step in the order of their times, and where bodies that pass by each other meet.

Two free bodies that pass by each other at an angle have another normal n and other arms r at the time t* of their
impact than at mid-step, and would change their angular momentum about each other with those. So their shapes are looked
at once more where they are then, with x the centres of mass at mid-step and dq the ways of impacts before,

    x(t*) = x + dq + (t* - h/2) v

the rows of the contact are made anew of what is found there, and t* of the gap there, until it stays. Momentum, linear
and angular, and energy are kept so, and balls leave as exact ones do. Other bodies have the moments of inertia with
which they stand at mid-step.
"""

from __future__ import annotations

from kido.collision.container import PLANE
from kido.collision.poses import bound_shape
from kido.collision.sweep import gap_at, keep_pose
from kido.constraints.contact import contact_rows, set_tangents
from kido.constraints.contact_bias import approach_rate
from kido.constraints.impact_time import (
    ALONE,
    CENTRE,
    NEVER,
    UNTIMED,
    WITH_OTHERS,
    leave_out,
    meeting,
    strike,
)
from kido.constraints.row_origins import biases
from kido.constraints.surfaces import row_of
from kido.jit import inlined, kernel
from kido.joints.frames import rotation_of
from kido.kernels.free_lanes import INVERSE_MASS_AT, centre_of_mass, offset_velocity
from kido.math.so3 import cross, rotate
from kido.solvers.rows import coupling, first_velocity, segment, velocity1

LATE = 3.0  # [steps] an impact may be this late; what overlaps for longer never met
DIRECT = 1e-6  # speed at which two bodies pass by each other, beside that of their impact, that is still none
MOST_EACH = 16  # impacts of a step, for each contact, that are followed, and looks at where they are
SAME_TIME = 1e-10  # share of a step by which the time of an impact is known
SAME_SIDE = 0.5  # cosine of the normals at mid-step and at the impact from which on they are of one impact
OPENING = 1.0  # [m/s] speed of what does not meet in this step
PLACED, PASSED, UNKNOWN = 0, 1, 2  # what a look says: where they meet; that they do not; nothing


@kernel
def centre_velocity(d, src, body, k, u):
    """Velocity of the centre of mass of a single free body with first coordinate k."""
    c = centre_of_mass(src.responses.number, body)
    x, y, z = offset_velocity(rotation_of(d, body), (u[k], u[k + 1], u[k + 2]), c)
    return u[k + 3] + x, u[k + 4] + y, u[k + 5] + z


@inlined
def sides(c, pr, k, block):
    """Bodies and first coordinates of a block's two sides; -1 for the coordinate of one that does not move."""
    return (
        (c.body_a[k], pr.dof_a[block] if pr.len_a[block] > 0 else -1),
        (c.body_b[k], pr.dof_b[block] if pr.len_b[block] > 0 else -1),
    )


@kernel
def pair_of(c, k):
    """The pair of shapes whose only contact is k; -1: it has others, or was not found by the pair's function."""
    low, high = 0, c.num_pairs
    while high - low > 1:
        middle = (low + high) // 2
        if c.pair_first[middle] <= k:
            low = middle
        else:
            high = middle
    if high == 0 or c.pair_first[low] != k or c.pair_count[low] != 1:
        return -1
    if c.pair_a[low] != c.shape_a[k] or c.pair_b[low] != c.shape_b[k]:
        return -1
    return low


@kernel
def passes_by(d, c, pr, src, n, speed):
    """Whether the normal or the arms of an impact of free bodies are others where it takes place than at mid-step.

    They are where bodies move across it, but for a single one and a plane; and where friction acts, whose arms reach
    to the surfaces.
    """
    b = src.impact[n]
    k = src.index[b]
    (body_a, dof_a), (body_b, dof_b) = sides(c, pr, k, b)
    x, y, z = 0.0, 0.0, 0.0
    if dof_b >= 0:
        if src.steady[dof_b] != CENTRE:
            return False
        x, y, z = centre_velocity(d, src, body_b, dof_b, pr.u_free)
    if dof_a >= 0:
        if src.steady[dof_a] != CENTRE:
            return False
        e, f, g = centre_velocity(d, src, body_a, dof_a, pr.u_free)
        x, y, z = x - e, y - f, z - g
    if src.impact_kind[n] == WITH_OTHERS and pr.mu[b] > 0.0 and ((dof_a >= 0 and dof_b >= 0) or pair_of(c, k) >= 0):
        return True
    if (dof_a < 0 or dof_b < 0) and (c.shape_type[c.shape_a[k]] == PLANE or c.shape_type[c.shape_b[k]] == PLANE):
        return False
    s = x * c.normal[k, 0] + y * c.normal[k, 1] + z * c.normal[k, 2]
    x, y, z = x - s * c.normal[k, 0], y - s * c.normal[k, 1], z - s * c.normal[k, 2]
    return x * x + y * y + z * z > (DIRECT * speed) ** 2


@kernel
def ways_before(c, pr, src, dof):
    """Way of the centre of mass of a free body with first coordinate `dof` by the impacts of the step so far [m]."""
    x, y, z = 0.0, 0.0, 0.0
    for n in range(src.num_impacts):
        if src.impact_way[n] != 0.0:
            b = src.impact[n]
            k = src.index[b]
            (body_a, dof_a), (body_b, dof_b) = sides(c, pr, k, b)
            s = 0.0
            if dof_b == dof:
                s = src.impact_way[n] * src.responses.number[body_b, INVERSE_MASS_AT]
            elif dof_a == dof:
                s = -src.impact_way[n] * src.responses.number[body_a, INVERSE_MASS_AT]
            x, y, z = x + s * c.normal[k, 0], y + s * c.normal[k, 1], z + s * c.normal[k, 2]
    return x, y, z


@kernel
def centre_at(d, c, pr, src, body, dof, time):
    """Centre of mass of a free body `time` from mid-step, and from the body's origin at mid-step; world axes."""
    m = centre_of_mass(src.responses.number, body)
    m = rotate(rotation_of(d, body), m[0], m[1], m[2])
    v = centre_velocity(d, src, body, dof, pr.u_free)
    x, y, z = ways_before(c, pr, src, dof)
    return (
        d.p[body, 0] + m[0] + x + time * v[0],
        d.p[body, 1] + m[1] + y + time * v[1],
        d.p[body, 2] + m[2] + z + time * v[2],
    ), m


@kernel
def set_motion(d, c, pr, src, row, shape, body, dof):
    """Pose and twist of a shape at mid-step for `gap_at`, after the ways of impacts before."""
    keep_pose(c, shape, row)
    for j in range(6):
        c.twist[row, j] = 0.0
    if dof < 0:
        return
    u = pr.u_free
    w = rotate(rotation_of(d, body), u[dof], u[dof + 1], u[dof + 2])
    v = centre_velocity(d, src, body, dof, u)
    x, m = centre_at(d, c, pr, src, body, dof, 0.0)
    p = d.p[body, 0] + m[0], d.p[body, 1] + m[1], d.p[body, 2] + m[2]
    s0, s1, s2 = c.position[shape, 0] - p[0], c.position[shape, 1] - p[1], c.position[shape, 2] - p[2]
    e = cross(w[0], w[1], w[2], s0, s1, s2)
    for j in range(3):
        c.twist[row, j] = w[j]
        c.twist[row, 3 + j] = v[j] + e[j]
        c.still_pose[row, 9 + j] += x[j] - p[j]


@kernel
def look(d, c, pr, src, n, time):
    """Points of an impact's shapes at a time from mid-step, in the work arrays, and the sign of their normal.

    Returns:
        How many points there are, -1 if that cannot be said; the sign.
    """
    block = src.impact[n]
    k = src.index[block]
    pair = pair_of(c, k)
    if pair < 0:
        return -1, 1.0
    (body_a, dof_a), (body_b, dof_b) = sides(c, pr, k, block)
    s, t, sign = c.pair_a[pair], c.pair_b[pair], 1.0
    body_s, dof_s, body_t, dof_t = body_a, dof_a, body_b, dof_b
    if c.shape_type[s] > c.shape_type[t]:
        s, t, sign = t, s, -1.0
        body_s, dof_s, body_t, dof_t = body_b, dof_b, body_a, dof_a
    function = c.pair_function[c.shape_type[s], c.shape_type[t]]
    if function == 0:
        return -1, sign
    code, axis = c.pair_code[pair], (c.pair_axis[pair, 0], c.pair_axis[pair, 1], c.pair_axis[pair, 2])
    at_s = c.position[s, 0], c.position[s, 1], c.position[s, 2]
    at_t = c.position[t, 0], c.position[t, 1], c.position[t, 2]
    set_motion(d, c, pr, src, 0, s, body_s, dof_s)
    set_motion(d, c, pr, src, 1, t, body_t, dof_t)
    margin = c.margin
    c.margin = margin + LATE * src.time_step * abs(src.impact_speed[n])
    count = gap_at(c, function, s, t, pair, time)
    c.margin = margin
    c.sweep_time = 0.0
    c.pair_code[pair] = code
    for j in range(3):
        c.pair_axis[pair, j], c.position[s, j], c.position[t, j] = axis[j], at_s[j], at_t[j]
    for j in range(9):
        c.rotation[s, j], c.rotation[t, j] = c.still_pose[0, j], c.still_pose[1, j]
    bound_shape(c, s, 0.5 * margin + c.shape_motion[s])
    bound_shape(c, t, 0.5 * margin + c.shape_motion[t])
    return count, sign


@kernel
def turn_rows(d, c, pr, src, block, time, sign):
    """Rows of a block, and its contact, by the work point found at a time from mid-step; arms are those then."""
    k = src.index[block]
    for j in range(3):
        c.normal[k, j] = sign * c.work_normal[j]
    set_tangents(d, c, src.surfaces, pr, src, k, block, row_of(c, src.surfaces, k))
    (body_a, dof_a), (body_b, dof_b) = sides(c, pr, k, block)
    for side in range(2):
        body, dof, at = (body_a, dof_a, pr.at_a[block]) if side == 0 else (body_b, dof_b, pr.at_b[block])
        if dof >= 0:
            x, m = centre_at(d, c, pr, src, body, dof, time)
            for j in range(3):
                c.point[k, j] = d.p[body, j] + m[j] + (c.work_point[0, j] - x[j])
            contact_rows(d, c, pr, src, src.responses, k, block, body, -1.0 if side == 0 else 1.0, at, 6)
    for j in range(3):
        c.point[k, j] = c.work_point[0, j]


@kernel
def place_impact(t, d, c, pr, src, n, time):
    """Rows, gap and speed of an impact where its bodies are at a time of the step; returns what a look says."""
    block, h = src.impact[n], src.time_step
    k = src.index[block]
    count, sign = look(d, c, pr, src, n, time - src.middle[0])
    if count == 0:
        return PASSED
    if count != 1:
        return UNKNOWN
    s = 0.0
    for j in range(3):
        s += sign * c.work_normal[j] * c.normal[k, j]
    if s < SAME_SIDE:
        return UNKNOWN
    gap = c.work_gap[0]
    turn_rows(d, c, pr, src, block, time - src.middle[0], sign)
    a = -approach_rate(t, d, pr, src, block, src.impact_body[n, 0], src.impact_body[n, 1])
    v = first_velocity(pr, block, pr.u_free) - h * a
    # The look was along straight lines at u_free; g + v t + a t^2 / 2 is to be the gap found, forces included.
    src.impact_rate[n], src.impact_speed[n] = a, v
    src.impact_gap[n] = gap - (time - src.middle[0]) * (h * a + v) - src.middle[0] * v
    src.impact_placed[n] = time
    src.impact_changed[n] = 1
    return PLACED


@kernel
def is_placed(t, d, c, pr, src, n, time):
    """Place an impact at a time unless it is there; what cannot be placed is left to mid-step, what passes is left out.

    Returns:
        Whether it takes place at that time as things stand.
    """
    if abs(time - src.impact_placed[n]) <= SAME_TIME * src.time_step:
        return True
    deep = c.gap[src.index[src.impact[n]]] < 0.0
    found = place_impact(t, d, c, pr, src, n, time)
    if found == PLACED:
        time, _ = meeting(src, n)
        if time < NEVER or not deep:
            return False
    if found == PASSED and not deep:
        src.impact_speed[n], src.impact_changed[n] = OPENING, 1
        return False
    place_impact(t, d, c, pr, src, n, src.middle[0])
    src.impact_kind[n], src.impact_changed[n] = UNTIMED, 0
    return False


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
def set_with_others(t, d, c, pr, src, n):
    """Have an impact solved with all others, at its time, once the ones that are alone took place."""
    b = src.impact[n]
    time, speed = meeting(src, n)
    if time < NEVER and passes_by(d, c, pr, src, n, speed):
        for _ in range(MOST_EACH):
            if not time < NEVER or src.impact_kind[n] == UNTIMED or is_placed(t, d, c, pr, src, n, time):
                break
            time, speed = meeting(src, n)
    if src.impact_kind[n] == UNTIMED:
        return
    if not time < NEVER:
        if src.impact_placed[n] == NEVER:
            src.impact_kind[n] = UNTIMED
        else:
            leave_out(pr, b)
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
    gap = src.impact_gap[n] + src.middle[0] * src.impact_speed[n]
    if v < -src.restitution_speed or v > 0.0 or (gap > src.skin and gap + h * v > 0.0):
        leave_out(pr, b)
        return
    pr.restitution[b] = src.correction[b] = 0.0
    pr.bias[pr.row[b]], pr.position_bias[b] = biases(src, gap, src.slop, src.max_correction)


@kernel
def follow_impacts(t, d, c, pr, src):
    """Impacts of a step in the order of their times."""
    now = -LATE * src.time_step
    for n in range(src.num_impacts):
        if src.impact_kind[n] == ALONE and slips(pr, src.impact[n], abs(src.impact_speed[n])):
            src.impact_kind[n] = WITH_OTHERS
    for _ in range(MOST_EACH * src.num_impacts):
        n, time, speed = next_meeting(src, now)
        if n < 0:
            break
        if passes_by(d, c, pr, src, n, speed) and not is_placed(t, d, c, pr, src, n, time):
            continue
        now = time
        b = src.impact[n]
        strike(pr, src, n, now, (1.0 + c.restitution[src.index[b]]) * speed / coupling(pr, b, 0, 0))
    for n in range(src.num_impacts):
        if src.impact_kind[n] == WITH_OTHERS:
            set_with_others(t, d, c, pr, src, n)
        elif src.impact_kind[n] == ALONE and src.impact_changed[n] != 0:
            set_after_impacts(pr, src, n)
