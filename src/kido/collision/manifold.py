"""Manifolds: a pair's contact points, collected, clipped, reduced to four that are well spread, and found again.

Polygons in a plane are clipped after Sutherland and Hodgman (1974). A contact of the same pair with the same key as
one of the step before is the same contact, and takes over its impulse; else the nearest old contact of the pair is,
measured in the axes of either shape, if it is within a quarter of the smaller shape's reach.
"""

from __future__ import annotations

import math

from kido.collision.container import MAX_MANIFOLD, MAX_POINTS
from kido.jit import kernel


@kernel
def set_normal(c, x, y, z):
    """Sets the pair's unit normal, from the pair function's first shape to its second."""
    work_normal = c.work_normal
    work_normal[0] = x
    work_normal[1] = y
    work_normal[2] = z
    return 0


@kernel
def add_point(c, count, x, y, z, gap, key):
    """Appends a contact point; returns the new count. A pair function adds at most MAX_POINTS points."""
    work_point = c.work_point
    at = min(count, MAX_POINTS - 1)
    work_point[at, 0] = x
    work_point[at, 1] = y
    work_point[at, 2] = z
    c.work_gap[at] = gap
    c.work_key[at] = key
    return at + 1


@kernel
def triangle_area(p, n0, n1, n2, i, j, k):
    """Twice the area of a triangle of points p, with sign as seen along a normal."""
    a0, a1, a2 = p[j, 0] - p[i, 0], p[j, 1] - p[i, 1], p[j, 2] - p[i, 2]
    b0, b1, b2 = p[k, 0] - p[i, 0], p[k, 1] - p[i, 1], p[k, 2] - p[i, 2]
    return n0 * (a1 * b2 - a2 * b1) + n1 * (a2 * b0 - a0 * b2) + n2 * (a0 * b1 - a1 * b0)


@kernel
def _move(c, source, target):
    work_point, work_gap, work_key = c.work_point, c.work_gap, c.work_key
    for i in range(3):
        work_point[target, i] = work_point[source, i]
    work_gap[target] = work_gap[source]
    work_key[target] = work_key[source]
    return 0


BEHIND = -10  # of `work_keep`: a point that another one is in front of, which counts for nothing
LEVEL = 1e-4  # share of a manifold's size within which its points are at one height


@kernel
def drop_points_behind(c, count):
    """Marks points above another one by more than they lie beside it, as the top of a thin sheet on a plane."""
    work_gap, work_keep, work_point = c.work_gap, c.work_keep, c.work_point
    n0, n1, n2 = c.work_normal[0], c.work_normal[1], c.work_normal[2]
    for k in range(count):
        for front in range(count):
            above = work_gap[k] - work_gap[front]
            if above > 0.0:
                x = work_point[k, 0] - work_point[front, 0]
                y = work_point[k, 1] - work_point[front, 1]
                z = work_point[k, 2] - work_point[front, 2]
                along = n0 * x + n1 * y + n2 * z
                if x * x + y * y + z * z - along * along < above * above:
                    work_keep[k] = BEHIND


@kernel
def reduce_manifold(c, count, first_old, last_old):
    """Keeps at most four of `count` work points, moved to the front; returns how many.

    Points behind others are dropped. The deepest point stays; then the one farthest from it, the one that spans the
    largest triangle with these two, and the one that adds the largest area on the outside. Points whose key was in the
    previous manifold (old contacts first_old to last_old) are preferred by a tenth, so that ties do not flicker.
    """
    if count <= MAX_MANIFOLD:
        return count
    work_gap, work_keep, work_point = c.work_gap, c.work_keep, c.work_point
    n0, n1, n2 = c.work_normal[0], c.work_normal[1], c.work_normal[2]
    lowest, highest, deepest = work_gap[0], work_gap[0], 0
    size = 0.0
    for k in range(count):
        work_keep[k] = 0
        for old in range(first_old, last_old):
            if c.old_key[old] == c.work_key[k]:
                work_keep[k] = 1
        lowest, highest = min(lowest, work_gap[k]), max(highest, work_gap[k])
        for i in range(3):
            size = max(size, math.fabs(work_point[k, i] - work_point[0, i]))
    if highest - lowest > LEVEL * size:
        drop_points_behind(c, count)
    # Of the points about as deep as the deepest, a known one.
    best = -1.0
    for k in range(count):
        score = (lowest - work_gap[k]) + LEVEL * size * (1.0 + work_keep[k])
        if score > best:
            best, deepest = score, k
    second, best = -1, 0.0
    for k in range(count):
        d2 = 0.0
        for i in range(3):
            d = work_point[k, i] - work_point[deepest, i]
            d2 += d * d
        d2 *= 1.0 + 0.1 * work_keep[k]
        if d2 > best:
            best, second = d2, k
    if second < 0:
        _move(c, deepest, 0)
        return 1
    third, best, side = -1, 1e-12 * size * size, 1.0
    for k in range(count):
        area = triangle_area(work_point, n0, n1, n2, deepest, second, k)
        score = math.fabs(area) * (1.0 + 0.1 * work_keep[k])
        if score > best:
            best, third = score, k
            side = 1.0 if area > 0.0 else -1.0
    fourth = -1
    if third >= 0:
        best = 1e-12 * size * size
        for k in range(count):
            # Outside of the triangle (deepest, second, third), across any of its edges.
            out = max(
                -side * triangle_area(work_point, n0, n1, n2, deepest, second, k),
                max(
                    -side * triangle_area(work_point, n0, n1, n2, second, third, k),
                    -side * triangle_area(work_point, n0, n1, n2, third, deepest, k),
                ),
            )
            out *= 1.0 + 0.1 * work_keep[k]
            if out > best:
                best, fourth = out, k
    # Move the chosen to the front in ascending order: no target is overwritten before it is read.
    for k in range(count):
        work_keep[k] = 0
    work_keep[deepest] = 1
    work_keep[second] = 1
    if third >= 0:
        work_keep[third] = 1
    if fourth >= 0:
        work_keep[fourth] = 1
    kept = 0
    for k in range(count):
        if work_keep[k] == 1:
            _move(c, k, kept)
            kept += 1
    return kept


@kernel
def clip(c, source, count, a, b, limit, side, tolerance):
    """Cuts polygon `source` of `count` corners (u, v, height) down to a u + b v <= limit.

    A polygon of two corners is a segment. The corners' keys name their origin: a corner made by the cut gets
    the key of the corner inside, mixed with the side and the direction. Corners within `tolerance` of the
    line stay.

    Returns: count of corners, and which of the two buffers holds them.
    """
    poly, poly_key = c.poly, c.poly_key
    outside = 0
    for k in range(count):
        d = a * poly[source, k, 0] + b * poly[source, k, 1] - limit
        poly[source, k, 3] = d
        if d > tolerance:
            outside += 1
    if outside == 0:
        return count, source
    if outside == count:
        return 0, source
    target = 1 - source
    made = 0
    edges = count if count > 2 else 1
    for k in range(count):
        d = poly[source, k, 3]
        if d <= tolerance and made < MAX_POINTS:
            for i in range(3):
                poly[target, made, i] = poly[source, k, i]
            poly_key[target, made] = poly_key[source, k]
            made += 1
        if k < edges:
            after = k + 1 if k + 1 < count else 0
            e = poly[source, after, 3]
            if (d > tolerance) != (e > tolerance) and made < MAX_POINTS:
                w = min(max(d / (d - e), 0.0), 1.0)
                for i in range(3):
                    x = poly[source, k, i]
                    poly[target, made, i] = x + w * (poly[source, after, i] - x)
                inside = k if d <= tolerance else after
                poly_key[target, made] = poly_key[source, inside] * 67 + 2 * side + 1 + (inside - k != 0)
                made += 1
    return made, target


MIN_NORMAL_COSINE = 0.7  # an old contact is forgotten if the normal turned by more than this cosine
REACH = 0.25


@kernel
def keep_old(c):
    """Makes the present pairs and contacts, with the impulses the solver left, the previous ones."""
    keep_old_pairs(c)
    keep_old_contacts(c, 0, c.num_contacts)
    return 0


@kernel
def keep_old_pairs(c):
    """`keep_old` of the pairs alone."""
    pairs = c.num_pairs
    for p in range(pairs):
        c.old_pair_a[p] = c.pair_a[p]
        c.old_pair_b[p] = c.pair_b[p]
        c.old_pair_first[p] = c.pair_first[p]
        c.old_pair_count[p] = c.pair_count[p]
        c.old_pair_code[p] = c.pair_code[p]
        for i in range(3):
            c.old_pair_axis[p, i] = c.pair_axis[p, i]
    c.num_old_pairs = pairs
    return 0


@kernel
def keep_old_contacts(c, first, last):
    """`keep_old` of contacts first..last-1 alone."""
    for k in range(first, last):
        c.old_key[k] = c.key[k]
        c.old_gap[k] = c.gap[k]
        c.old_turning[k] = c.turning[k]
        for i in range(3):
            c.old_point[k, i] = c.point[k, i]
            c.old_normal[k, i] = c.normal[k, i]
            c.old_impulse[k, i] = c.impulse[k, i]
            c.old_torque[k, i] = c.torque[k, i]
            c.old_local_a[k, i] = c.local_a[k, i]
            c.old_local_b[k, i] = c.local_b[k, i]
    return 0


@kernel
def distance2(c, k, old):
    """Squared distance of a new and an old contact in the axes of the shape that saw it move less."""
    in_a = in_b = 0.0
    for i in range(3):
        d = c.local_a[k, i] - c.old_local_a[old, i]
        in_a += d * d
        d = c.local_b[k, i] - c.old_local_b[old, i]
        in_b += d * d
    return min(in_a, in_b)


@kernel
def same_normal(c, k, old):
    """True if the normal turned little enough for an impulse to be carried over."""
    normal, old_normal = c.normal, c.old_normal
    return (
        normal[k, 0] * old_normal[old, 0] + normal[k, 1] * old_normal[old, 1] + normal[k, 2] * old_normal[old, 2]
    ) > MIN_NORMAL_COSINE


@kernel
def carry(c, k, old):
    """Gives contact k the impulse of an old contact: its normal part along the new normal, and the rest of it
    in the new tangent plane; its torque as it is."""
    old_impulse, old_normal, normal = c.old_impulse, c.old_normal, c.normal
    along = across = 0.0
    for i in range(3):
        along += old_impulse[old, i] * old_normal[old, i]
    for i in range(3):
        across += (old_impulse[old, i] - along * old_normal[old, i]) * normal[k, i]
    for i in range(3):
        c.impulse[k, i] = old_impulse[old, i] - along * old_normal[old, i] + (along - across) * normal[k, i]
        c.torque[k, i] = c.old_torque[old, i]
    c.matched[k] = 1
    return 0


@kernel
def find_old_pair(c, a, b, old, olds):
    """The pair of shapes a, b among the first `olds` old ones, from number `old` on; both ascend.

    Returns:
        Its number, or that of the next one; whether it is there; its first old contact, and that after its last.
    """
    old_a, old_b = c.old_pair_a, c.old_pair_b
    while old < olds and (old_a[old] < a or (old_a[old] == a and old_b[old] < b)):
        old += 1
    if old < olds and old_a[old] == a and old_b[old] == b:
        return old, True, c.old_pair_first[old], c.old_pair_first[old] + c.old_pair_count[old]
    return old, False, 0, 0


@kernel
def first_old_pair(c, a, b):
    """Number of the first old pair that is not before the pair of shapes a, b."""
    low, high = 0, c.num_old_pairs
    while low < high:
        middle = (low + high) // 2
        if c.old_pair_a[middle] < a or (c.old_pair_a[middle] == a and c.old_pair_b[middle] < b):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def match_contacts(c, first, last, first_old, last_old, reach):
    """Matches the contacts first..last of a pair with its old ones, first_old..last_old."""
    matched, taken = c.matched, c.old_taken
    free = last_old - first_old
    for old in range(first_old, last_old):
        taken[old] = 0
    for k in range(first, last):
        for old in range(first_old, last_old):
            if matched[k] == 0 and taken[old] == 0 and c.key[k] == c.old_key[old] and same_normal(c, k, old):
                carry(c, k, old)
                c.same_feature[k] = old
                taken[old] = 1
                free -= 1
    limit = REACH * REACH * reach * reach
    for k in range(first, last):
        if matched[k] == 0 and free > 0:
            best, nearest = limit, -1
            for old in range(first_old, last_old):
                if taken[old] == 0 and same_normal(c, k, old):
                    d2 = distance2(c, k, old)
                    if d2 < best:
                        best, nearest = d2, old
            if nearest >= 0:
                carry(c, k, nearest)
                taken[nearest] = 1
                free -= 1
    return 0
