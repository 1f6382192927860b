"""Rays against shapes, in closed form: the first point at which a ray enters a solid, and the normal there.

All solids of the detector but planes are convex, so that a ray enters each once: the interval of the ray inside is
cut out by slabs (box, ends of a cylinder), quadrics (sphere, cylinder, cone, ellipsoid) or faces (hull).
A ray is x = o + t d with t from 0 to 1; d is not normalised. A ray that starts inside does not enter.
"""

from __future__ import annotations

import math

from kido.collision.container import HULL, PLANE
from kido.collision.pairs.frames import direction_to_shape, direction_to_world, to_shape
from kido.collision.primitives import MISS, NO_WAY, ray_primitive
from kido.jit import kernel


@kernel
def crosses(low0, low1, low2, high0, high1, high2, o0, o1, o2, d0, d1, d2, most):
    """Whether a ray meets a box before the fraction `most`."""
    first, last = 0.0, most
    for i in range(3):
        o = o0 if i == 0 else (o1 if i == 1 else o2)
        d = d0 if i == 0 else (d1 if i == 1 else d2)
        near = (low0 if i == 0 else (low1 if i == 1 else low2)) - o
        far = (high0 if i == 0 else (high1 if i == 1 else high2)) - o
        if math.fabs(d) < NO_WAY:
            if near > 0.0 or far < 0.0:
                return False
        else:
            near, far = near / d, far / d
            if near > far:
                near, far = far, near
            first, last = max(first, near), min(last, far)
            if first > last:
                return False
    return True


@kernel
def ray_hull(c, h, o0, o1, o2, d0, d1, d2):
    """Ray and convex hull, cut by the planes of its faces: fraction and normal."""
    low, high = -1e300, 1e300
    n0 = n1 = n2 = 0.0
    for f in range(c.face_first[h], c.face_first[h + 1]):
        m0, m1, m2 = c.face_normal[f, 0], c.face_normal[f, 1], c.face_normal[f, 2]
        v = c.face_vertex[c.face_loop[f]]
        height = m0 * (o0 - c.hull_vertex[v, 0]) + m1 * (o1 - c.hull_vertex[v, 1]) + m2 * (o2 - c.hull_vertex[v, 2])
        rate = m0 * d0 + m1 * d1 + m2 * d2
        if math.fabs(rate) < NO_WAY:
            if height > 0.0:
                return MISS, 0.0, 0.0, 0.0
        elif rate < 0.0:
            t = -height / rate
            if t > low:
                low, n0, n1, n2 = t, m0, m1, m2
        else:
            high = min(high, -height / rate)
    if low > high or low < 0.0:
        return MISS, 0.0, 0.0, 0.0
    return low, n0, n1, n2


@kernel
def ray_convex(c, s, x, y, z, e0, e1, e2):
    """Where the ray from (x, y, z) along (e0, e1, e2), world axes, enters a plane or a convex shape s.

    Returns:
        fraction (MISS or more if it does not) and outward normal, world axes (3 numbers).
    """
    kind = c.shape_type[s]
    o0, o1, o2 = to_shape(c, s, x, y, z)
    d0, d1, d2 = direction_to_shape(c, s, e0, e1, e2)
    a, b, e = c.shape_size[s, 0], c.shape_size[s, 1], c.shape_size[s, 2]
    t, n0, n1, n2 = MISS, 0.0, 0.0, 0.0
    if kind == PLANE:
        if o2 > 0.0 and d2 < 0.0:
            t, n2 = -o2 / d2, 1.0
    elif kind < HULL:
        t, n0, n1, n2 = ray_primitive(kind, o0, o1, o2, d0, d1, d2, a, b, e)
    elif kind == HULL:
        t, n0, n1, n2 = ray_hull(c, c.shape_hull[s], o0, o1, o2, d0, d1, d2)
    n0, n1, n2 = direction_to_world(c, s, n0, n1, n2)
    return t, n0, n1, n2
