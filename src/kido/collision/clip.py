"""Clipping a convex polygon in the plane (Sutherland and Hodgman, 1974)."""

from __future__ import annotations

from kido.collision.container import MAX_POINTS
from kido.jit import kernel


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
