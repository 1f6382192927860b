"""Any two convex shapes: GJK while the cores are apart, EPA when they overlap, a manifold of features.

The two features that face each other along the normal (a flat face, a line of a flank, a point) are clipped
against each other. The nearest points are a contact of their own where the features do not hold them.
"""

from __future__ import annotations

import math

from kido.collision.container import COLLISION, MAX_POINTS
from kido.collision.epa import penetration
from kido.collision.features import find_feature
from kido.collision.gjk import BEYOND_LIMIT, OVERLAP, WEIGHT, distance, norm, weigh_triangle, witness
from kido.collision.manifold import add_point, clip, set_normal
from kido.collision.pairs.capsule import SIDE_BY_SIDE
from kido.collision.support import core_radius
from kido.jit import callback, kernel, view

TOUCHING = 1e-6  # cores nearer than this fraction of their size are left to EPA: their direction is uncertain
FLAT_ON = 0.995  # cosine of normal and face beyond which the face carries a manifold
NEAREST_AT = 32  # place of normal, gap and the nearest midpoint in the scratch numbers, 7 numbers


@kernel
def nearest_points(c, a, b, pair):
    """Normal, gap and midpoint of two shapes, into the scratch numbers; false beyond the margin."""
    number, axis, position = c.number, c.pair_axis, c.position
    radius_a, radius_b = core_radius(c, a), core_radius(c, b)
    x, y, z = axis[pair, 0], axis[pair, 1], axis[pair, 2]
    if x * x + y * y + z * z == 0.0:
        x = position[a, 0] - position[b, 0]
        y = position[a, 1] - position[b, 1]
        z = position[a, 2] - position[b, 2]
        if x * x + y * y + z * z == 0.0:
            x = 1.0
    limit = radius_a + radius_b + c.margin
    state, count, x, y, z = distance(c, a, b, x, y, z, limit)
    away = norm(x, y, z)
    n0 = n1 = n2 = depth = 0.0
    if state == BEYOND_LIMIT:
        axis[pair, 0], axis[pair, 1], axis[pair, 2] = x / away, y / away, z / away
        return False
    if state == OVERLAP or away < TOUCHING * min(c.shape_reach[a], c.shape_reach[b]):
        found, n0, n1, n2, depth = penetration(c, a, b, count)
        if not found:
            return False
        # The origin's foot on the last face; shifted to the origin, the face is a triangle like any other.
        simplex = c.simplex
        for k in range(3):
            simplex[k, 0] -= depth * n0
            simplex[k, 1] -= depth * n1
            simplex[k, 2] -= depth * n2
        number[WEIGHT], number[WEIGHT + 1], number[WEIGHT + 2] = weigh_triangle(c, 0, 1, 2)
        count = 3
    else:
        n0, n1, n2, depth = -x / away, -y / away, -z / away, -away
    axis[pair, 0], axis[pair, 1], axis[pair, 2] = -n0, -n1, -n2
    gap = -depth - radius_a - radius_b
    if gap >= c.margin:
        return False
    p0, p1, p2 = witness(c, count, 3)
    q0, q1, q2 = witness(c, count, 6)
    shift = 0.5 * (radius_a - radius_b)
    number[NEAREST_AT], number[NEAREST_AT + 1], number[NEAREST_AT + 2] = n0, n1, n2
    number[NEAREST_AT + 3] = gap
    number[NEAREST_AT + 4] = 0.5 * (p0 + q0) + shift * n0
    number[NEAREST_AT + 5] = 0.5 * (p1 + q1) + shift * n1
    number[NEAREST_AT + 6] = 0.5 * (p2 + q2) + shift * n2
    set_normal(c, n0, n1, n2)
    return True


@kernel
def clip_against(c, face, count, other, others, f0, f1, f2, a, sign):
    """Contacts of polygon `face` (normal f) with the clipped feature `other`; sign +1: the face is of A."""
    feature, number, poly, position = c.feature, c.number, c.poly, c.position
    n0, n1, n2 = number[NEAREST_AT], number[NEAREST_AT + 1], number[NEAREST_AT + 2]
    # Axes u, v in the face.
    o0, o1, o2 = feature[face, 0, 0], feature[face, 0, 1], feature[face, 0, 2]
    u0, u1, u2 = feature[face, 1, 0] - o0, feature[face, 1, 1] - o1, feature[face, 1, 2] - o2
    length = norm(u0, u1, u2)
    u0, u1, u2 = u0 / length, u1 / length, u2 / length
    v0, v1, v2 = f1 * u2 - f2 * u1, f2 * u0 - f0 * u2, f0 * u1 - f1 * u0
    size = 0.0
    for k in range(others):
        x, y, z = feature[other, k, 0] - o0, feature[other, k, 1] - o1, feature[other, k, 2] - o2
        poly[0, k, 0] = x * u0 + y * u1 + z * u2
        poly[0, k, 1] = x * v0 + y * v1 + z * v2
        poly[0, k, 2] = x * f0 + y * f1 + z * f2
        c.poly_key[0, k] = k + 1
        size = max(size, math.fabs(poly[0, k, 0]) + math.fabs(poly[0, k, 1]))
    at, left = 0, others
    last_u = last_v = 0.0
    for k in range(count + 1):
        m = k if k < count else 0
        x, y, z = feature[face, m, 0] - o0, feature[face, m, 1] - o1, feature[face, m, 2] - o2
        u, v = x * u0 + y * u1 + z * u2, x * v0 + y * v1 + z * v2
        if k > 0 and left > 0:
            e, f = v - last_v, last_u - u  # outward normal of the edge
            length = math.sqrt(e * e + f * f)
            if length > 0.0:
                e, f = e / length, f / length
                left, at = clip(c, at, left, e, f, e * u + f * v, k - 1, 1e-9 * size)
        last_u, last_v = u, v
    slope = sign * (f0 * n0 + f1 * n1 + f2 * n2)
    made = 0
    for k in range(left):
        u, v, height = poly[at, k, 0], poly[at, k, 1], poly[at, k, 2]
        gap = max(height / slope, number[NEAREST_AT + 3])  # nothing is deeper than the depth
        if gap < c.margin and made < MAX_POINTS - 1:
            half = -0.5 * sign * gap
            made = add_point(
                c,
                made,
                position[a, 0] + o0 + u * u0 + v * v0 + height * f0 + half * n0,
                position[a, 1] + o1 + u * u1 + v * v1 + height * f1 + half * n1,
                position[a, 2] + o2 + u * u2 + v * v2 + height * f2 + half * n2,
                gap,
                2 * c.poly_key[at, k] + (sign > 0.0),
            )
    return made


@kernel
def along_lines(c, a):
    """Contacts of two parallel segments: the ends of the stretch that they share; none if they cross."""
    p, number, position = c.feature, c.number, c.position
    n0, n1, n2 = number[NEAREST_AT], number[NEAREST_AT + 1], number[NEAREST_AT + 2]
    e0, e1, e2 = p[0, 1, 0] - p[0, 0, 0], p[0, 1, 1] - p[0, 0, 1], p[0, 1, 2] - p[0, 0, 2]
    f0, f1, f2 = p[1, 1, 0] - p[1, 0, 0], p[1, 1, 1] - p[1, 0, 1], p[1, 1, 2] - p[1, 0, 2]
    le, lf = norm(e0, e1, e2), norm(f0, f1, f2)
    if norm(e1 * f2 - e2 * f1, e2 * f0 - e0 * f2, e0 * f1 - e1 * f0) > SIDE_BY_SIDE * le * lf:
        return 0
    g0, g1, g2 = p[1, 0, 0] - p[0, 0, 0], p[1, 0, 1] - p[0, 0, 1], p[1, 0, 2] - p[0, 0, 2]
    start = (g0 * e0 + g1 * e1 + g2 * e2) / (le * le)
    stretch = (f0 * e0 + f1 * e1 + f2 * e2) / (le * le)
    low = max(0.0, min(start, start + stretch))
    high = min(1.0, max(start, start + stretch))
    if high - low < 1e-3:
        return 0
    made = 0
    for end in range(2):
        s = low if end == 0 else high
        t = min(max((s - start) / stretch, 0.0), 1.0)
        x0, x1, x2 = p[0, 0, 0] + s * e0, p[0, 0, 1] + s * e1, p[0, 0, 2] + s * e2
        y0, y1, y2 = p[1, 0, 0] + t * f0, p[1, 0, 1] + t * f1, p[1, 0, 2] + t * f2
        gap = max((y0 - x0) * n0 + (y1 - x1) * n1 + (y2 - x2) * n2, number[NEAREST_AT + 3])
        if gap < c.margin:
            made = add_point(
                c,
                made,
                position[a, 0] + 0.5 * (x0 + y0),
                position[a, 1] + 0.5 * (x1 + y1),
                position[a, 2] + 0.5 * (x2 + y2),
                gap,
                end + 1,
            )
    return made


@kernel
def add_manifold(c, a, b):
    """Contacts of the features that face each other along the normal of `nearest_points`; returns their number."""
    number, work_gap = c.number, c.work_gap
    n0, n1, n2 = number[NEAREST_AT], number[NEAREST_AT + 1], number[NEAREST_AT + 2]
    count_a, f0, f1, f2 = find_feature(c, 0, a, a, n0, n1, n2)
    count_b, g0, g1, g2 = find_feature(c, 1, b, a, -n0, -n1, -n2)
    made = 0
    if count_a > 1 and count_b > 1:
        flat_a, flat_b = f0 * n0 + f1 * n1 + f2 * n2, -(g0 * n0 + g1 * n1 + g2 * n2)
        if flat_a >= flat_b - 1e-6 and flat_a > FLAT_ON:
            made = clip_against(c, 0, count_a, 1, count_b, f0, f1, f2, a, 1.0)
        elif flat_b > FLAT_ON:
            made = clip_against(c, 1, count_b, 0, count_a, g0, g1, g2, a, -1.0)
        elif count_a == 2 and count_b == 2:
            made = along_lines(c, a)
    deepest = 1e300
    for k in range(made):
        deepest = min(deepest, work_gap[k])
    gap = number[NEAREST_AT + 3]
    if gap < deepest - 1e-6 * min(c.shape_reach[a], c.shape_reach[b]):
        made = add_point(
            c,
            made,
            c.position[a, 0] + number[NEAREST_AT + 4],
            c.position[a, 1] + number[NEAREST_AT + 5],
            c.position[a, 2] + number[NEAREST_AT + 6],
            gap,
            0,
        )
    return made


@callback
def convex_convex(address, a, b, pair):
    """Up to MAX_POINTS points, reduced by the caller."""
    c = view(COLLISION, address)
    if not nearest_points(c, a, b, pair):
        return 0
    return add_manifold(c, a, b)
