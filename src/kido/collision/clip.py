"""Clipping a convex polygon in the plane (Sutherland and Hodgman, 1974)."""

from __future__ import annotations

from kido.collision.container import COLLISION, WORK
from kido.jit import kernel, view


@kernel
def clip(address, source, count, a, b, limit, side, tolerance):
    """Cuts polygon `source` of `count` corners (u, v, height) down to a u + b v <= limit.

    A polygon of two corners is a segment. The corners' keys name their origin: a corner made by the cut gets
    the key of the corner inside, mixed with the side and the direction. Corners within `tolerance` of the line
    stay.

    Returns: count of corners, and which of the two buffers holds them.
    """
    c = view(COLLISION, address)
    outside = 0
    for k in range(count):
        d = a * c.poly[source, k, 0] + b * c.poly[source, k, 1] - limit
        c.poly[source, k, 3] = d
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
        d = c.poly[source, k, 3]
        if d <= tolerance and made < WORK:
            for i in range(3):
                c.poly[target, made, i] = c.poly[source, k, i]
            c.poly_key[target, made] = c.poly_key[source, k]
            made += 1
        if k < edges:
            after = k + 1 if k + 1 < count else 0
            e = c.poly[source, after, 3]
            if (d > tolerance) != (e > tolerance) and made < WORK:
                w = min(max(d / (d - e), 0.0), 1.0)
                for i in range(3):
                    x = c.poly[source, k, i]
                    c.poly[target, made, i] = x + w * (c.poly[source, after, i] - x)
                inside = k if d <= tolerance else after
                c.poly_key[target, made] = c.poly_key[source, inside] * 67 + 2 * side + 1 + (inside - k != 0)
                made += 1
    return made, target
