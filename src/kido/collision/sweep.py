"""Continuous detection: contacts of shapes that move so far in a step that they could pass through others.

A step finds its contacts at one moment. A shape that moves farther than its own size between two such moments may
be beyond a thin wall at the next one. Pairs with such a shape are swept, from the start of the step to the next
detection, along the motion that both have now (constant velocity of the shape's origin, constant angular velocity):
conservative advancement takes steps of time that cannot pass the first touch. The contact found there is brought
back to the present: its points move with the shapes, its normal stays, its gap is extrapolated along the normal. So
a gap g > 0 still lets the surfaces just meet (v_n >= -g / h), and one that was passed already has g < 0.

A pair that the sweep does not let meet keeps those of its present points that the motion leaves idle: they stand by
in case that something else turns the shapes aside. The others are taken off: they would deflect what flies past.

Source: conservative advancement after Mirtich (1996); contacts with a gap as in Stewart and Trinkle (1996).
"""

from __future__ import annotations

import math

from kido.collision.container import COMPOUND, MAX_MANIFOLD, MAX_PATCH_POINTS, MAX_POINTS, PART_AT
from kido.collision.manifold import add_point
from kido.collision.pairs.frames import middle_of, to_shape
from kido.collision.patches import file_points, pair_points, take_point
from kido.collision.poses import bound_shape, shape_twist
from kido.jit import kernel
from kido.math.so3 import cross
from kido.math.trig import sincos

ENGAGE = 0.5  # a shape that moves less than this share of its inner size in a step is not swept
SWEEP_ROUNDS = 40
TOUCH = 1e-2  # advancement stops at a gap of this share of the margin
GUARD_PART = 1 << 37  # code of the part of the point that holds back a shape's middle
GUARD = (GUARD_PART + 1) << PART_AT  # its key
SAME_SIDE = 0.0  # cosine of the normals at the start and now from which on nothing was passed through


@kernel
def update_motion(c):
    """Sets how far each swept shape moves in a step, 0 for those that are not or move too little."""
    h = c.sweep_step
    c.sweep_push = 0.0
    for s in range(c.shape_body.shape[0]):
        c.shape_motion[s] = 0.0
        if c.shape_continuous[s] != 0 and h > 0.0:
            w0, w1, w2, x, y, z = shape_twist(c, s)
            turning = min(math.sqrt(w0 * w0 + w1 * w1 + w2 * w2) * h, 2.0) * c.shape_outer[s]
            motion = h * math.sqrt(x * x + y * y + z * z) + turning
            if motion > ENGAGE * c.shape_inner[s]:
                c.shape_motion[s] = motion
    return 0


@kernel
def move_shape(c, s, row, time):
    """Puts shape s where it is a time [s] from now: by its twist, from its present pose in `still_pose`."""
    w0, w1, w2 = c.twist[row, 0], c.twist[row, 1], c.twist[row, 2]
    rate = math.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
    for i in range(3):
        c.position[s, i] = c.still_pose[row, 9 + i] + time * c.twist[row, 3 + i]
    for i in range(9):
        c.rotation[s, i] = c.still_pose[row, i]
    if rate > 0.0:
        sine, cosine = sincos(rate * time)
        k0, k1, k2 = w0 / rate, w1 / rate, w2 / rate
        for j in range(3):
            x, y, z = c.still_pose[row, j], c.still_pose[row, 3 + j], c.still_pose[row, 6 + j]
            p0, p1, p2 = cross(k0, k1, k2, x, y, z)
            along = (1.0 - cosine) * (k0 * x + k1 * y + k2 * z)
            c.rotation[s, j] = cosine * x + sine * p0 + along * k0
            c.rotation[s, 3 + j] = cosine * y + sine * p1 + along * k1
            c.rotation[s, 6 + j] = cosine * z + sine * p2 + along * k2
    return 0


@kernel
def keep_pose(c, s, row):
    """Keeps the present pose and twist of a shape."""
    for i in range(9):
        c.still_pose[row, i] = c.rotation[s, i]
    for i in range(3):
        c.still_pose[row, 9 + i] = c.position[s, i]
    w0, w1, w2, x, y, z = shape_twist(c, s)
    c.twist[row, 0], c.twist[row, 1], c.twist[row, 2] = w0, w1, w2
    c.twist[row, 3], c.twist[row, 4], c.twist[row, 5] = x, y, z
    return 0


@kernel
def restore_pose(c, s, row):
    """Puts a shape back to the pose that was kept, bit for bit."""
    for i in range(9):
        c.rotation[s, i] = c.still_pose[row, i]
    for i in range(3):
        c.position[s, i] = c.still_pose[row, 9 + i]
    return 0


@kernel
def deepest(c, count):
    """Least gap of the work points [m]."""
    gap = c.work_gap[0]
    for k in range(1, count):
        gap = min(gap, c.work_gap[k])
    return gap


@kernel
def take_deepest_patch(c):
    """Makes the points of the patch that has the deepest one the work points; returns their number."""
    best, deep = 1e300, 0
    for patch in range(c.num_patches):
        for k in range(patch * MAX_PATCH_POINTS, patch * MAX_PATCH_POINTS + c.patch_count[patch]):
            if c.patch_gap[k] < best:
                best, deep = c.patch_gap[k], patch
    first = deep * MAX_PATCH_POINTS
    for k in range(c.patch_count[deep]):
        take_point(c, first + k, k)
    return c.patch_count[deep]


@kernel
def work_points(c, function, s, t, pair):
    """Calls a pair function; of shapes that are not convex one patch is left, the deepest. Returns their number."""
    count = pair_points(c, function, s, t, pair)
    if count > 0 and c.shape_type[t] >= COMPOUND:
        return take_deepest_patch(c)
    return count


@kernel
def gap_at(c, function, s, t, pair, time):
    """Points of the pair at a time [s] from now; returns their number."""
    c.sweep_time = time
    move_shape(c, s, 0, time)
    move_shape(c, t, 1, time)
    bound_shape(c, s, 0.5 * c.margin)
    bound_shape(c, t, 0.5 * c.margin)
    return work_points(c, function, s, t, pair)


@kernel
def approach_at(c, row, s, x, y, z, n0, n1, n2):
    """Velocity along n of the material point (x, y, z) of a shape at the present pose."""
    r0, r1, r2 = x - c.still_pose[row, 9], y - c.still_pose[row, 10], z - c.still_pose[row, 11]
    v0, v1, v2 = cross(c.twist[row, 0], c.twist[row, 1], c.twist[row, 2], r0, r1, r2)
    return n0 * (v0 + c.twist[row, 3]) + n1 * (v1 + c.twist[row, 4]) + n2 * (v2 + c.twist[row, 5])


@kernel
def carried_back(c, row, s, x, y, z):
    """Where the material point of a shape that is at (x, y, z) at its moved pose is at the pose kept."""
    still = c.still_pose
    p0, p1, p2 = to_shape(c, s, x, y, z)
    return (
        still[row, 9] + still[row, 0] * p0 + still[row, 1] * p1 + still[row, 2] * p2,
        still[row, 10] + still[row, 3] * p0 + still[row, 4] * p1 + still[row, 5] * p2,
        still[row, 11] + still[row, 6] * p0 + still[row, 7] * p1 + still[row, 8] * p2,
    )


@kernel
def bring_back(c, s, t, count, time):
    """Work points at the time of impact, brought to the present; those of the shape that moves more are taken."""
    n0, n1, n2 = c.work_normal[0], c.work_normal[1], c.work_normal[2]
    for k in range(count):
        x, y, z = c.work_point[k, 0], c.work_point[k, 1], c.work_point[k, 2]
        a0, a1, a2 = carried_back(c, 0, s, x, y, z)
        b0, b1, b2 = carried_back(c, 1, t, x, y, z)
        speed = approach_at(c, 1, t, b0, b1, b2, n0, n1, n2) - approach_at(c, 0, s, a0, a1, a2, n0, n1, n2)
        c.work_gap[k] -= time * speed
        if c.shape_motion[s] > c.shape_motion[t]:
            c.work_point[k, 0], c.work_point[k, 1], c.work_point[k, 2] = a0, a1, a2
        else:
            c.work_point[k, 0], c.work_point[k, 1], c.work_point[k, 2] = b0, b1, b2
    return count


@kernel
def guard_middle(c, s, t, count, time):
    """Adds a point that keeps the middle of the shape that moves more from passing the plane of a time of impact.

    The points of impact alone let a body that turns by much in a step roll through: one of its points stays, and the
    middle goes on. The middle may come as near as a quarter of the shape's least extent.
    """
    row, x, sign = 0, s, -1.0
    if c.shape_motion[t] >= c.shape_motion[s]:
        row, x, sign = 1, t, 1.0
    n0, n1, n2 = c.work_normal[0], c.work_normal[1], c.work_normal[2]
    p0, p1, p2 = middle_of(c, x)
    height = sign * (n0 * (p0 - c.work_point[0, 0]) + n1 * (p1 - c.work_point[0, 1]) + n2 * (p2 - c.work_point[0, 2]))
    p0, p1, p2 = carried_back(c, row, x, p0, p1, p2)
    speed = approach_at(c, 1, t, p0, p1, p2, n0, n1, n2) - approach_at(c, 0, s, p0, p1, p2, n0, n1, n2)
    if height > 0.0:
        gap = height - min(height, c.shape_inner[x]) - time * speed
        return add_point(c, count, p0, p1, p2, gap, GUARD)
    return count


@kernel
def guard_arrived(c, s, t, count):
    """`guard_middle` for points, or patches, of the present; returns the number of points."""
    if c.shape_type[t] < COMPOUND:
        return guard_middle(c, s, t, count, 0.0) if count < MAX_MANIFOLD else count
    made = take_deepest_patch(c)
    if made < MAX_MANIFOLD and guard_middle(c, s, t, made, 0.0) > made:
        for i in range(3):
            c.work_point[0, i] = c.work_point[made, i]
        c.work_gap[0] = c.work_gap[made]
        c.work_key[0] = 0
        file_points(c, 1, 1.0, GUARD_PART, c.shape_reach[s])
        return count + 1
    return count


@kernel
def keep_idle(c, s, t, count, h):
    """Keeps the present points that the present motion does not close within a step; returns their number."""
    n0, n1, n2 = c.work_normal[0], c.work_normal[1], c.work_normal[2]
    kept = 0
    for k in range(count):
        x, y, z = c.work_point[k, 0], c.work_point[k, 1], c.work_point[k, 2]
        speed = approach_at(c, 1, t, x, y, z, n0, n1, n2) - approach_at(c, 0, s, x, y, z, n0, n1, n2)
        if c.work_gap[k] + h * speed >= 0.0:
            for i in range(3):
                c.work_point[kept, i] = c.work_point[k, i]
            c.work_gap[kept] = c.work_gap[k]
            c.work_key[kept] = c.work_key[k]
            kept += 1
    return kept


@kernel
def time_ahead(c, gap, turning):
    """Time [s] in which two shapes cannot close a gap along the work normal; `turning` is of both [m/s]."""
    n0, n1, n2 = c.work_normal[0], c.work_normal[1], c.work_normal[2]
    speed = turning
    for i in range(3):
        n = n0 if i == 0 else (n1 if i == 1 else n2)
        speed -= n * (c.twist[1, 3 + i] - c.twist[0, 3 + i])
    return gap / speed if speed > 0.0 else 1e300


@kernel
def patches_ahead(c, turning, touch):
    """Time [s] in which no gap of any patch closes down to `touch`: the nearest part need not be that which is met."""
    time = 1e300
    for patch in range(c.num_patches):
        for k in range(patch * MAX_PATCH_POINTS, patch * MAX_PATCH_POINTS + c.patch_count[patch]):
            take_point(c, k, 0)
            time = min(time, time_ahead(c, c.work_gap[0] - touch, turning))
    return time


@kernel
def advance_pair(c, function, s, t, pair, start, end, touch):
    """Conservative advancement of two shapes from a time to a time [s], both from now.

    Returns:
        count: points at the first touch, in the work arrays; 0 if they do not meet.
        time: of the first touch [s].
    """
    turning = 0.0
    for row in range(2):
        w = math.sqrt(c.twist[row, 0] ** 2 + c.twist[row, 1] ** 2 + c.twist[row, 2] ** 2)
        turning += w * c.shape_outer[s if row == 0 else t] if w > 0.0 else 0.0
    time = start
    for _ in range(SWEEP_ROUNDS):
        count = gap_at(c, function, s, t, pair, time)
        if count == 0:  # farther apart than they can move
            return 0, time
        if deepest(c, count) <= touch:
            return count, time
        if c.shape_type[t] >= COMPOUND:
            time += patches_ahead(c, turning, 0.5 * touch)
        else:
            time += time_ahead(c, deepest(c, count) - 0.5 * touch, turning)
        if time > end:
            return 0, time
    return count, time


@kernel
def sweep_pair(c, function, s, t, pair):
    """Points of a pair with a swept shape, into the work arrays, at the present poses.

    Returns:
        count: their number, at most MAX_POINTS; or that of the points of all patches.
        swept: 1 if they are of a time of impact, or the body came so deep in this step.
        patches: 1 if they are in the patches.
    """
    h, back = c.sweep_step, c.sweep_back
    margin = c.margin
    c.margin = margin + 2.0 * (c.shape_motion[s] + c.shape_motion[t])
    keep_pose(c, s, 0)
    keep_pose(c, t, 1)
    count = work_points(c, function, s, t, pair)
    touching = count > 0 and deepest(c, count) < margin
    n0, n1, n2 = c.work_normal[0], c.work_normal[1], c.work_normal[2]
    gap = deepest(c, count) if count > 0 else margin
    looking = True
    swept = 0
    arrived = False
    if touching:
        before = gap_at(c, function, s, t, pair, -back)
        m0, m1, m2 = c.work_normal[0], c.work_normal[1], c.work_normal[2]
        looking = before > 0 and n0 * m0 + n1 * m1 + n2 * m2 < SAME_SIDE
        least = deepest(c, before) if before > 0 else margin
        # On the side that it came from, but deeper than it was: what touched first holds, and is pushed out at once,
        # or the present points if it touched before.
        arrived = gap < -TOUCH * margin and least > gap
        looking = looking or (arrived and least > TOUCH * margin)
    if looking:
        count, time = advance_pair(c, function, s, t, pair, -back, h, TOUCH * margin)
        if count > 0:
            made = min(count, MAX_POINTS)
            count = guard_middle(c, s, t, made, time) if made < MAX_MANIFOLD else made
            bring_back(c, s, t, made, time)
            swept = 1
    c.sweep_time = 0.0
    restore_pose(c, s, 0)
    restore_pose(c, t, 1)
    bound_shape(c, s, 0.5 * margin + c.shape_motion[s])
    bound_shape(c, t, 0.5 * margin + c.shape_motion[t])
    patches = 0
    if swept == 0:
        patches = 1 if c.shape_type[t] >= COMPOUND else 0
        if patches == 1 and not touching:
            count = 0
        else:
            count = pair_points(c, function, s, t, pair)
            if arrived:
                count = guard_arrived(c, s, t, count)
                swept = 1
            elif count > 0 and not touching:
                count = keep_idle(c, s, t, count, h)
    c.margin = margin
    return count, swept, patches
