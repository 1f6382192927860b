"""Shortest lines around circles: where a string that wraps touches, in the plane of the circle about the origin.

Outside of it there are two candidates, one for each sense of turning, each a pair of tangents. Inside, the string goes
through one point of the circle where both its parts make the same angle with the normal (of all such paths the
shortest).
"""

from __future__ import annotations

import math

from kido.jit import kernel

TINY = 1e-15  # lengths and areas below are nothing
_CROSSED = -1e4  # goodness of tangents that cross
_START = 1.0 - 1e-7
_MOST_ITERATIONS = 60


@kernel
def segments_cross(a0, a1, b0, b1, c0, c1, d0, d1):
    """Whether the segment from a to b meets that from c to d."""
    determinant = (d1 - c1) * (b0 - a0) - (d0 - c0) * (b1 - a1)
    if abs(determinant) < TINY:
        return False
    s = ((d0 - c0) * (a1 - c1) - (d1 - c1) * (a0 - c0)) / determinant
    t = ((b0 - a0) * (a1 - c1) - (b1 - a1) * (a0 - c0)) / determinant
    return 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0


@kernel
def tangent_point(x, y, r, side):
    """Where a tangent from (x, y) touches the circle of radius r; `side` (1 or -1) says which of two."""
    n2 = x * x + y * y
    root = side * r * math.sqrt(max(n2 - r * r, TINY))
    return (x * r * r + y * root) / n2, (y * r * r - x * root) / n2


@kernel
def tangents(a0, a1, b0, b1, r, has_side, s0, s1, side):
    """Points of contact of one candidate, whether its tangents cross, and how good it is.

    Returns:
        p0, p1, q0, q1: contact on the side of a and of b.
        crossed: whether the straight parts cross.
        goodness: the nearer to the side point s the better, or without one the shorter.
    """
    p0, p1 = tangent_point(a0, a1, r, side)
    q0, q1 = tangent_point(b0, b1, r, -side)
    crossed = segments_cross(a0, a1, p0, p1, b0, b1, q0, q1)
    goodness = -((p0 - q0) ** 2 + (p1 - q1) ** 2)
    if has_side:
        m0, m1 = p0 + q0, p1 + q1
        goodness = (m0 * s0 + m1 * s1) / max(math.sqrt(m0 * m0 + m1 * m1), TINY)
    if crossed:
        goodness = _CROSSED
    return p0, p1, q0, q1, crossed, goodness


@kernel
def passes_behind(a0, a1, b0, b1, s0, s1):
    """Whether the segment from a to b meets the ray from the centre that goes away from the side point."""
    ca, cb = s0 * a1 - s1 * a0, s0 * b1 - s1 * b0
    if ca * cb >= 0.0:
        return False
    da, db = s0 * a0 + s1 * a1, s0 * b0 + s1 * b1
    return da + (db - da) * ca / (ca - cb) < 0.0


@kernel
def wrap_outside(a0, a1, b0, b1, r, has_side, s0, s1):
    """String from a to b around the outside of the circle.

    Args:
        s0, s1: with `has_side`, point of the circle on the side where the string is. A straight line that is clear of
            the circle, but passes it on the other side, does not stay.

    Returns:
        arc: length along the circle [m]; -1: the string does not touch.
        p0, p1, q0, q1: where it touches first and last.
    """
    d0, d1 = b0 - a0, b1 - a1
    d2 = d0 * d0 + d1 * d1
    r2 = r * r
    if a0 * a0 + a1 * a1 < r2 or b0 * b0 + b1 * b1 < r2 or r < TINY or d2 < TINY:
        return -1.0, 0.0, 0.0, 0.0, 0.0
    along = min(max(-(d0 * a0 + d1 * a1) / d2, 0.0), 1.0)  # nearest point of the straight line
    n0, n1 = a0 + along * d0, a1 + along * d1
    if n0 * n0 + n1 * n1 > r2 and not (has_side and passes_behind(a0, a1, b0, b1, s0, s1)):
        return -1.0, 0.0, 0.0, 0.0, 0.0
    p0, p1, q0, q1, crossed, goodness = tangents(a0, a1, b0, b1, r, has_side, s0, s1, 1.0)
    e0, e1, f0, f1, other_crossed, other = tangents(a0, a1, b0, b1, r, has_side, s0, s1, -1.0)
    turn = 1.0
    if other > goodness:
        p0, p1, q0, q1, crossed, turn = e0, e1, f0, f1, other_crossed, -1.0
    if crossed:
        return -1.0, 0.0, 0.0, 0.0, 0.0
    angle = math.atan2(turn * (p1 * q0 - p0 * q1), p0 * q0 + p1 * q1)
    if angle < 0.0:
        angle += 2.0 * math.pi
    return r * angle, p0, p1, q0, q1


@kernel
def inside_angle(z, a, b, opening):
    """asin(a z) + asin(b z) - 2 asin(z) + opening: zero where both parts make the same angle, of sine z."""
    return math.asin(a * z) + math.asin(b * z) - 2.0 * math.asin(z) + opening


@kernel
def wrap_inside(a0, a1, b0, b1, r):
    """String from a to b through one point of the circle, on the side of the origin that is away from the string.

    Returns:
        found: whether it touches.
        p0, p1: where.
    """
    la, lb = math.sqrt(a0 * a0 + a1 * a1), math.sqrt(b0 * b0 + b1 * b1)
    d0, d1 = b0 - a0, b1 - a1
    d2 = d0 * d0 + d1 * d1
    if la <= r or lb <= r or r < TINY:
        return False, 0.0, 0.0
    if d2 > TINY:
        along = -(d0 * a0 + d1 * a1) / d2
        n0, n1 = a0 + along * d0, a1 + along * d1
        if 0.0 < along < 1.0 and n0 * n0 + n1 * n1 <= r * r:
            return False, 0.0, 0.0
    m0, m1 = a0 + b0, a1 + b1
    size = max(math.sqrt(m0 * m0 + m1 * m1), TINY)
    m0, m1 = r * m0 / size, r * m1 / size  # in the middle, if nothing better is found
    cosine = (la * la + lb * lb - d2) / (2.0 * la * lb)
    if cosine < TINY - 1.0:
        return False, 0.0, 0.0
    if cosine > 1.0 - TINY:
        return True, m0, m1
    opening, ka, kb = math.acos(cosine), r / la, r / lb
    z = _START
    f = inside_angle(z, ka, kb, opening)
    if f > 0.0:
        return True, m0, m1
    for _ in range(_MOST_ITERATIONS):  # f is concave and falls: Newton's steps go to the left and do not pass
        slope = (
            ka / math.sqrt(1.0 - ka * ka * z * z) + kb / math.sqrt(1.0 - kb * kb * z * z) - 2.0 / math.sqrt(1.0 - z * z)
        )
        if slope > -TINY:
            return True, m0, m1
        after = z - f / slope
        if not 0.0 <= after < z:
            break
        z = after
        f = inside_angle(z, ka, kb, opening)
    if a0 * b1 - a1 * b0 > 0.0:
        e0, e1, angle = a0 / la, a1 / la, math.asin(z) - math.asin(ka * z)
    else:
        e0, e1, angle = b0 / lb, b1 / lb, math.asin(z) - math.asin(kb * z)
    c, s = math.cos(angle), math.sin(angle)
    return True, r * (c * e0 - s * e1), r * (s * e0 + c * e1)
