"""Broad phase: which pairs of shapes may touch, by sorting their boxes along one axis and sweeping.

The pairs come out in ascending order of shape indices, whatever the sweep found first, so that contacts keep
their order from step to step and depend on nothing but the poses.
"""

from __future__ import annotations

import math

from kido.collision.container import PAIRS_FULL, PLANE
from kido.jit import kernel


@kernel
def may_collide(c, body_a, body_b):
    """True if the filter lets two bodies collide."""
    body_moving, body_collidable, body_group = c.body_moving, c.body_collidable, c.body_group
    excluded_first = c.excluded_first
    if body_a == body_b or body_moving[body_a] + body_moving[body_b] == 0:
        return False
    if body_collidable[body_a] * body_collidable[body_b] == 0:
        return False
    group = body_group[body_a]
    if group >= 0 and group == body_group[body_b]:
        return False
    low, high = excluded_first[body_a], excluded_first[body_a + 1]
    while low < high:
        middle = (low + high) // 2
        other = c.excluded[middle]
        if other == body_b:
            return False
        if other < body_b:
            low = middle + 1
        else:
            high = middle
    return True


@kernel
def sort_boxes(c):
    """Sorts the boxes along the axis of largest variance, by insertion into the previous order."""
    aabb, order, sorted = c.aabb, c.order, c.sorted
    n = c.shape_body.shape[0]
    best, axis = -1.0, 0
    for i in range(3):
        total = square = 0.0
        count = 0
        for s in range(n):
            if c.shape_type[s] != PLANE:
                x = aabb[s, i] + aabb[s, 3 + i]
                total += x
                square += x * x
                count += 1
        spread = square - total * total / max(count, 1)
        if i == c.sweep_axis:
            spread *= 1.5  # a change of axis costs a full sort
        if spread > best:
            best, axis = spread, i
    c.sweep_axis = axis
    for k in range(1, n):
        s = order[k]
        x = aabb[s, axis]
        j = k - 1
        while j >= 0 and (aabb[order[j], axis] > x or (aabb[order[j], axis] == x and order[j] > s)):
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = s
    for k in range(n):
        s = order[k]
        for i in range(3):
            j = (axis + i) % 3
            sorted[k, i] = aabb[s, j]
            sorted[k, 3 + i] = aabb[s, 3 + j]
    return 0


@kernel
def add_pair(c, count, s, t):
    """Appends a pair if the filter lets it; returns the count, which may exceed the capacity."""
    shape_body, category, mask = c.shape_body, c.shape_category, c.shape_mask
    if (category[s] & mask[t]) == 0 or (category[t] & mask[s]) == 0:
        return count
    if may_collide(c, shape_body[s], shape_body[t]):
        if count < c.pair_a.shape[0]:
            c.pair_a[count] = min(s, t)
            c.pair_b[count] = max(s, t)
        return count + 1
    return count


@kernel
def sweep(c):
    """Pairs of overlapping boxes, planes left out; returns their number."""
    order, shape_type, sorted = c.order, c.shape_type, c.sorted
    n = c.shape_body.shape[0]
    count = 0
    for k in range(n):
        s = order[k]
        if shape_type[s] == PLANE:
            continue
        end = sorted[k, 3]
        low1, low2, high1, high2 = sorted[k, 1], sorted[k, 2], sorted[k, 4], sorted[k, 5]
        for j in range(k + 1, n):
            if sorted[j, 0] > end:
                break
            if sorted[j, 1] <= high1 and sorted[j, 4] >= low1 and sorted[j, 2] <= high2 and sorted[j, 5] >= low2:
                t = order[j]
                if shape_type[t] != PLANE:
                    count = add_pair(c, count, s, t)
    return count


@kernel
def sweep_planes(c, count):
    """Pairs of a plane and a shape whose box reaches below it; returns the new number of pairs."""
    shape_type, rotation, position = c.shape_type, c.rotation, c.position
    aabb = c.aabb
    n = c.shape_body.shape[0]
    for p in range(n):
        if shape_type[p] != PLANE:
            continue
        n0, n1, n2 = rotation[p, 2], rotation[p, 5], rotation[p, 8]
        limit = n0 * position[p, 0] + n1 * position[p, 1] + n2 * position[p, 2] + 0.5 * c.margin + c.shape_padding[p]
        for s in range(n):
            if shape_type[s] != PLANE:
                # Twice the height of the box's lowest corner.
                height = (
                    n0 * (aabb[s, 0] + aabb[s, 3])
                    - math.fabs(n0) * (aabb[s, 3] - aabb[s, 0])
                    + n1 * (aabb[s, 1] + aabb[s, 4])
                    - math.fabs(n1) * (aabb[s, 4] - aabb[s, 1])
                    + n2 * (aabb[s, 2] + aabb[s, 5])
                    - math.fabs(n2) * (aabb[s, 5] - aabb[s, 2])
                )
                if height <= 2.0 * limit:
                    count = add_pair(c, count, p, s)
    return count


@kernel
def sort_pairs(c, count):
    """Orders the pairs by (a, b): two stable counting sorts."""
    bucket, pair_b, swap = c.bucket, c.pair_b, c.swap
    pair_a = c.pair_a
    n = c.shape_body.shape[0]
    for k in range(n + 1):
        bucket[k] = 0
    for k in range(count):
        bucket[pair_b[k] + 1] += 1
    for k in range(n):
        bucket[k + 1] += bucket[k]
    for k in range(count):
        b = pair_b[k]
        at = bucket[b]
        bucket[b] = at + 1
        swap[at, 0] = pair_a[k]
        swap[at, 1] = b
    for k in range(n + 1):
        bucket[k] = 0
    for k in range(count):
        bucket[swap[k, 0] + 1] += 1
    for k in range(n):
        bucket[k + 1] += bucket[k]
    for k in range(count):
        a = swap[k, 0]
        at = bucket[a]
        bucket[a] = at + 1
        pair_a[at] = a
        pair_b[at] = swap[k, 1]
    return 0


@kernel
def find_pairs(c):
    """Fills pair_a and pair_b from the bounding boxes; returns PAIRS_FULL or 0.

    Sets pairs_found, and num_pairs if they fit.
    """
    sort_boxes(c)
    count = sweep(c)
    count = sweep_planes(c, count)
    c.pairs_found = count
    c.num_pairs = 0
    if count > c.pair_a.shape[0]:
        return PAIRS_FULL
    sort_pairs(c, count)
    c.num_pairs = count
    return 0
