"""Narrow phase: calls the pair function of every candidate pair and turns its points into contacts.

A pair function is a callback f(container, first shape, second shape, pair) that expects its shapes in the
order of their types, sets the pair's normal, adds points (`manifold`), and returns their number; if the second is
not convex it files points in patches (`patches`). It is found in the table pair_function[type, type], so that only
the functions of pairs present in a scene are compiled.
"""

from __future__ import annotations

from kido.collision.broad import find_pairs
from kido.collision.container import COLLISION, COMPOUND, CONTACTS_FULL, MAX_PATCH_POINTS
from kido.collision.manifold import find_old_pair, keep_old, match_contacts, reduce_manifold
from kido.collision.pairs.frames import to_shape
from kido.collision.patches import pair_points, take_point
from kido.collision.poses import update_bounds, update_poses
from kido.collision.sweep import GUARD, sweep_pair, update_motion
from kido.jit import callback, kernel, view


@kernel
def write_contacts(c, pair, first, count, sign):
    """Writes `count` work points as contacts from index `first` on."""
    shape_friction, shape_restitution, shape_body = c.shape_friction, c.shape_restitution, c.shape_body
    work_point = c.work_point
    a, b = c.pair_a[pair], c.pair_b[pair]
    friction = min(shape_friction[a], shape_friction[b])
    restitution = shape_restitution[a] * shape_restitution[b]
    for i in range(count):
        k = first + i
        c.shape_a[k] = a
        c.shape_b[k] = b
        c.body_a[k] = shape_body[a]
        c.body_b[k] = shape_body[b]
        c.gap[k] = c.work_gap[i]
        c.key[k] = c.work_key[i]
        c.friction[k] = friction
        c.restitution[k] = restitution
        c.matched[k] = 0
        c.same_feature[k] = -1
        c.turning[k] = 0.0
        c.swept[k] = 0
        for j in range(3):
            c.point[k, j] = work_point[i, j]
            c.normal[k, j] = sign * c.work_normal[j]
            c.impulse[k, j] = 0.0
            c.torque[k, j] = 0.0
        x, y, z = work_point[i, 0], work_point[i, 1], work_point[i, 2]
        c.local_a[k, 0], c.local_a[k, 1], c.local_a[k, 2] = to_shape(c, a, x, y, z)
        c.local_b[k, 0], c.local_b[k, 1], c.local_b[k, 2] = to_shape(c, b, x, y, z)
    return 0


@kernel
def write_patches(c, pair, first, sign):
    """Writes the points of all patches as contacts from index `first` on."""
    at = first
    for patch in range(c.num_patches):
        for k in range(patch * MAX_PATCH_POINTS, patch * MAX_PATCH_POINTS + c.patch_count[patch]):
            take_point(c, k, 0)
            write_contacts(c, pair, at, 1, sign)
            at += 1
    return 0


@kernel
def recall_pair(c, p, old):
    """What is known of candidate pair p from the detection before, given the number of an old pair not after it.

    Returns:
        The number for the next pair; the pair's old contacts, first and the one after the last.
    """
    old, known, first_old, last_old = find_old_pair(c, c.pair_a[p], c.pair_b[p], old, c.num_old_pairs)
    c.pair_code[p] = c.old_pair_code[old] if known else 0
    for i in range(3):
        c.pair_axis[p, i] = c.old_pair_axis[old, i] if known else 0.0
    c.old_first, c.old_last = first_old, last_old
    return old, first_old, last_old


@kernel
def by_type(c, p):
    """The shapes of pair p in the order of their types; -1.0 if that is not the pair's own, 1.0 otherwise."""
    a, b = c.pair_a[p], c.pair_b[p]
    return (b, a, -1.0) if c.shape_type[a] > c.shape_type[b] else (a, b, 1.0)


@kernel
def find_contacts(c):
    """Fills the contacts from the candidate pairs; returns CONTACTS_FULL or 0.

    Sets contacts_found, and num_contacts if they fit.
    """
    shape_type = c.shape_type
    found, old = 0, 0
    capacity = c.gap.shape[0]
    for p in range(c.num_pairs):
        old, first_old, last_old = recall_pair(c, p, old)
        s, t, sign = by_type(c, p)
        function = c.pair_function[shape_type[s], shape_type[t]]
        count = swept = 0
        patches = 1 if shape_type[t] >= COMPOUND else 0
        if function != 0:
            if c.shape_motion[s] + c.shape_motion[t] > 0.0:
                count, swept, patches = sweep_pair(c, function, s, t, p)
            else:
                count = pair_points(c, function, s, t, p)
        c.pair_first[p] = found
        if count > 0:
            if patches == 0:
                count = reduce_manifold(c, count, first_old, last_old)
            if found + count <= capacity:
                if patches != 0:
                    write_patches(c, p, found, sign)
                else:
                    write_contacts(c, p, found, count, sign)
                if swept != 0:
                    for k in range(found, found + count):
                        c.swept[k] = 1
                        if c.key[k] == GUARD:
                            c.friction[k] = 0.0
                if last_old > first_old:
                    reach = min(c.shape_reach[s], c.shape_reach[t])
                    match_contacts(c, found, found + count, first_old, last_old, reach)
        c.pair_count[p] = count
        found += count
    c.old_first = c.old_last = 0
    c.contacts_found = found
    if found > capacity:
        return CONTACTS_FULL
    c.num_contacts = found
    return 0


@kernel
def place_shapes(c):
    """Poses and boxes of all shapes; returns the status."""
    status = update_poses(c)
    if status != 0:
        c.num_contacts = 0
        c.num_pairs = 0
        return status
    update_motion(c)
    update_bounds(c)
    return 0


@kernel
def find_candidates(c):
    """Poses, boxes and candidate pairs, with what was found before kept as old; returns the status."""
    status = place_shapes(c)
    if status != 0:
        return status
    if c.pending == 0:
        keep_old(c)
    c.pending = 1  # until all contacts fit, a further call must not take over the unfinished ones
    c.num_contacts = 0
    return find_pairs(c)


@callback
def detect_contacts(address, unused_1, unused_2, unused_3):
    """`detect` as a callback, so that callers do not compile it again."""
    c = view(COLLISION, address)
    status = find_candidates(c)
    if status == 0:
        status = find_contacts(c)
    if status == 0:
        c.pending = 0
    return status


@kernel
def detect(address):
    """Finds all contacts of a COLLISION container at the present poses of its bodies.

    Contacts stand in the container's arrays, num_contacts of them, ascending by pair of shapes. Returns 0,
    or a status (PAIRS_FULL, CONTACTS_FULL, POSE_NOT_FINITE) with no contacts; after the arrays have been grown
    (`NativeDetector.grow`) the call is repeated and carries over the impulses of the last complete one.
    """
    c = view(COLLISION, address)
    return c.detect(c)
