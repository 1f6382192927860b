"""Two capsules: the nearest points of their axes; if parallel, the ends of the stretch where they touch."""

from __future__ import annotations

import math

from kido.collision.container import COLLISION
from kido.collision.manifold import add_point, set_normal
from kido.jit import callback, kernel, view

SIDE_BY_SIDE = 0.05  # sine of the angle of two axes that touch along a stretch


@kernel
def nearest_on_segments(a0, a1, a2, ha, b0, b1, b2, hb, r0, r1, r2):
    """Parameters s, t of the nearest points s a and r + t b, |s| <= ha, |t| <= hb, with unit directions a, b.

    Source: Ericson, Real-Time Collision Detection (2005), section 5.1.9, for centred segments.
    """
    ab = a0 * b0 + a1 * b1 + a2 * b2
    ar = a0 * r0 + a1 * r1 + a2 * r2
    br = b0 * r0 + b1 * r1 + b2 * r2
    det = 1.0 - ab * ab
    s = 0.0
    if det > 1e-14:
        s = (ar - ab * br) / det
    else:
        s = ar
    s = min(max(s, -ha), ha)
    t = ab * s - br
    if t > hb or t < -hb:
        t = min(max(t, -hb), hb)
        s = min(max(ab * t + ar, -ha), ha)
    return s, t


@kernel
def add_between(c, a, b, made, s, t, key):
    """Adds the contact between the points s and t of the two axes, along the manifold's normal."""
    position, rotation, n = c.position, c.rotation, c.work_normal
    ra, rb = c.shape_size[a, 0], c.shape_size[b, 0]
    shift = 0.5 * (ra - rb)
    p0, p1, p2 = (
        position[a, 0] + s * rotation[a, 2],
        position[a, 1] + s * rotation[a, 5],
        position[a, 2] + s * rotation[a, 8],
    )
    q0, q1, q2 = (
        position[b, 0] + t * rotation[b, 2],
        position[b, 1] + t * rotation[b, 5],
        position[b, 2] + t * rotation[b, 8],
    )
    gap = n[0] * (q0 - p0) + n[1] * (q1 - p1) + n[2] * (q2 - p2) - ra - rb
    if gap >= c.margin:
        return made
    return add_point(
        c,
        made,
        0.5 * (p0 + q0) + shift * n[0],
        0.5 * (p1 + q1) + shift * n[1],
        0.5 * (p2 + q2) + shift * n[2],
        gap,
        key,
    )


@callback
def capsule_capsule(address, a, b, pair):
    """One point; two if the axes are nearly parallel and side by side."""
    c = view(COLLISION, address)
    position, rotation, size = c.position, c.rotation, c.shape_size
    r0, r1, r2 = (
        position[b, 0] - position[a, 0],
        position[b, 1] - position[a, 1],
        position[b, 2] - position[a, 2],
    )
    a0, a1, a2 = rotation[a, 2], rotation[a, 5], rotation[a, 8]
    b0, b1, b2 = rotation[b, 2], rotation[b, 5], rotation[b, 8]
    ha, hb = size[a, 1], size[b, 1]
    s, t = nearest_on_segments(a0, a1, a2, ha, b0, b1, b2, hb, r0, r1, r2)
    n0, n1, n2 = r0 + t * b0 - s * a0, r1 + t * b1 - s * a1, r2 + t * b2 - s * a2
    d = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    if d - size[a, 0] - size[b, 0] >= c.margin:
        return 0
    x0, x1, x2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    sine = math.sqrt(x0 * x0 + x1 * x1 + x2 * x2)
    if d > 1e-12:
        n0, n1, n2 = n0 / d, n1 / d, n2 / d
    elif sine > 1e-6:  # the axes cross
        n0, n1, n2 = x0 / sine, x1 / sine, x2 / sine
    else:  # the axes lie in each other
        n0, n1, n2 = rotation[a, 0], rotation[a, 3], rotation[a, 6]
    set_normal(c, n0, n1, n2)
    if sine < SIDE_BY_SIDE:
        middle = a0 * r0 + a1 * r1 + a2 * r2
        low, high = max(-ha, middle - hb), min(ha, middle + hb)
        if high - low > 1e-3 * min(ha, hb):
            along = a0 * b0 + a1 * b1 + a2 * b2
            made = 0
            for end in range(2):
                u = low if end == 0 else high
                v = min(max((u - middle) / along, -hb), hb)
                made = add_between(c, a, b, made, u, v, end + 1)
            # The nearest points, where the slant makes them deeper than the ends.
            if s > low + 1e-2 * (high - low) and s < high - 1e-2 * (high - low) and sine > 1e-6:
                made = add_between(c, a, b, made, s, t, 0)
            return made
    return add_between(c, a, b, 0, s, t, 0)
