"""Manifolds: collecting a pair's contact points, and choosing four of them that are well spread."""

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


@kernel
def reduce_manifold(c, count, first_old, last_old):
    """Keeps at most four of `count` work points, moved to the front; returns how many.

    The deepest point stays; then the one farthest from it, the one that spans the largest triangle with these
    two, and the one that adds the largest area on the outside. Points whose key was in the previous manifold
    (old contacts first_old to last_old) are preferred by a tenth, so that ties do not flicker.
    """
    if count <= MAX_MANIFOLD:
        return count
    work_gap, work_keep, work_point = c.work_gap, c.work_keep, c.work_point
    n0, n1, n2 = c.work_normal[0], c.work_normal[1], c.work_normal[2]
    lowest, deepest = work_gap[0], 0
    size = 0.0
    for k in range(count):
        work_keep[k] = 0
        for old in range(first_old, last_old):
            if c.old_key[old] == c.work_key[k]:
                work_keep[k] = 1
        lowest = min(lowest, work_gap[k])
        for i in range(3):
            size = max(size, math.fabs(work_point[k, i] - work_point[0, i]))
    # Of the points about as deep as the deepest, a known one.
    best = -1.0
    for k in range(count):
        score = (lowest - work_gap[k]) + 1e-4 * size * (1.0 + work_keep[k])
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
