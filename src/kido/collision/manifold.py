"""Manifolds: collecting a pair's contact points, and choosing four of them that are well spread."""

from __future__ import annotations

import math

from kido.collision.container import COLLISION, MANIFOLD, WORK
from kido.jit import kernel, view


@kernel
def set_normal(address, x, y, z):
    """Sets the pair's unit normal, from the pair function's first shape to its second."""
    c = view(COLLISION, address)
    c.work_normal[0] = x
    c.work_normal[1] = y
    c.work_normal[2] = z
    return 0


@kernel
def add_point(address, count, x, y, z, gap, key):
    """Appends a contact point; returns the new count. A pair function adds at most WORK points."""
    c = view(COLLISION, address)
    at = min(count, WORK - 1)
    c.work_point[at, 0] = x
    c.work_point[at, 1] = y
    c.work_point[at, 2] = z
    c.work_gap[at] = gap
    c.work_key[at] = key
    return at + 1


@kernel
def _area(address, i, j, k):
    """Twice the area of a triangle of work points, with sign as seen along the normal."""
    c = view(COLLISION, address)
    x, y, z = c.work_point[i, 0], c.work_point[i, 1], c.work_point[i, 2]
    a0, a1, a2 = c.work_point[j, 0] - x, c.work_point[j, 1] - y, c.work_point[j, 2] - z
    b0, b1, b2 = c.work_point[k, 0] - x, c.work_point[k, 1] - y, c.work_point[k, 2] - z
    return (
        c.work_normal[0] * (a1 * b2 - a2 * b1)
        + c.work_normal[1] * (a2 * b0 - a0 * b2)
        + c.work_normal[2] * (a0 * b1 - a1 * b0)
    )


@kernel
def _move(address, source, target):
    c = view(COLLISION, address)
    for i in range(3):
        c.work_point[target, i] = c.work_point[source, i]
    c.work_gap[target] = c.work_gap[source]
    c.work_key[target] = c.work_key[source]
    return 0


@kernel
def reduce_manifold(address, count, first_old, last_old):
    """Keeps at most four of `count` work points, moved to the front; returns how many.

    The deepest point stays; then the one farthest from it, the one that spans the largest triangle with these
    two, and the one that adds the largest area on the outside. Points whose key was in the previous manifold
    (old contacts first_old to last_old) are preferred by a tenth, so that ties do not flicker.
    """
    if count <= MANIFOLD:
        return count
    c = view(COLLISION, address)
    lowest, deepest = c.work_gap[0], 0
    size = 0.0
    for k in range(count):
        c.work_keep[k] = 0
        for old in range(first_old, last_old):
            if c.old_key[old] == c.work_key[k]:
                c.work_keep[k] = 1
        lowest = min(lowest, c.work_gap[k])
        for i in range(3):
            size = max(size, math.fabs(c.work_point[k, i] - c.work_point[0, i]))
    # Of the points about as deep as the deepest, a known one.
    best = -1.0
    for k in range(count):
        score = (lowest - c.work_gap[k]) + 1e-4 * size * (1.0 + c.work_keep[k])
        if score > best:
            best, deepest = score, k
    second, best = -1, 0.0
    for k in range(count):
        d2 = 0.0
        for i in range(3):
            d = c.work_point[k, i] - c.work_point[deepest, i]
            d2 += d * d
        d2 *= 1.0 + 0.1 * c.work_keep[k]
        if d2 > best:
            best, second = d2, k
    if second < 0:
        _move(address, deepest, 0)
        return 1
    third, best, side = -1, 1e-12 * size * size, 1.0
    for k in range(count):
        area = _area(address, deepest, second, k)
        score = math.fabs(area) * (1.0 + 0.1 * c.work_keep[k])
        if score > best:
            best, third = score, k
            side = 1.0 if area > 0.0 else -1.0
    fourth = -1
    if third >= 0:
        best = 1e-12 * size * size
        for k in range(count):
            # Outside of the triangle (deepest, second, third), across any of its edges.
            out = max(
                -side * _area(address, deepest, second, k),
                max(-side * _area(address, second, third, k), -side * _area(address, third, deepest, k)),
            )
            out *= 1.0 + 0.1 * c.work_keep[k]
            if out > best:
                best, fourth = out, k
    # Move the chosen to the front in ascending order: no target is overwritten before it is read.
    for k in range(count):
        c.work_keep[k] = 0
    c.work_keep[deepest] = 1
    c.work_keep[second] = 1
    if third >= 0:
        c.work_keep[third] = 1
    if fourth >= 0:
        c.work_keep[fourth] = 1
    kept = 0
    for k in range(count):
        if c.work_keep[k] == 1:
            _move(address, k, kept)
            kept += 1
    return kept
