"""The feature of a shape that faces a direction: a polygon, a segment or a point, for the manifold."""

from __future__ import annotations

import math

from kido.collision.container import HULL, SPHERES, TRIANGLE
from kido.collision.pairs.frames import direction_to_shape, direction_to_world
from kido.collision.primitives import BOX, CAPSULE, CONE, CYLINDER
from kido.collision.support import farthest_ball
from kido.jit import kernel
from kido.math.trig import sincos

CAP_CORNERS = 12  # corners of the polygon that stands for a round cap
CAP_TILT = 1e-4  # sine of the tilt below which the cap's corners keep their places in the body
ABOUT = 1e-3  # fraction of a triangle's size within which corners are one edge
LEANING = 0.2  # fraction of the size within which two balls of a hull of balls make a segment
CAP_COSINE = 0.7  # cosine: a cylinder shows its cap beyond, its flank below


@kernel
def put(c, which, k, s, origin, x, y, z):
    """Stores corner k, given in the axes of shape s, relative to the origin of a shape in world axes."""
    feature, position = c.feature, c.position
    x, y, z = direction_to_world(c, s, x, y, z)
    feature[which, k, 0] = x + (position[s, 0] - position[origin, 0])
    feature[which, k, 1] = y + (position[s, 1] - position[origin, 1])
    feature[which, k, 2] = z + (position[s, 2] - position[origin, 2])
    return 0


@kernel
def cap(c, which, s, origin, r, z, d0, d1, level):
    """Polygon of the cap of radius r at height z; its first corner towards (d0, d1), unless level."""
    if level:
        d0, d1 = 1.0, 0.0
    turn = 6.283185307179586 / CAP_CORNERS
    if z < 0.0:
        turn = -turn  # counterclockwise seen from outside
    sine, cosine = sincos(turn)
    for k in range(CAP_CORNERS):
        put(c, which, k, s, origin, r * d0, r * d1, z)
        d0, d1 = cosine * d0 - sine * d1, sine * d0 + cosine * d1
    return CAP_CORNERS


@kernel
def box_face(c, which, s, origin, d0, d1, d2):
    """The face of a box that faces d; returns its axis and side."""
    size = c.shape_size
    a0, a1, a2 = math.fabs(d0), math.fabs(d1), math.fabs(d2)
    axis = 0 if (a0 >= a1 and a0 >= a2) else (1 if a1 >= a2 else 2)
    d = d0 if axis == 0 else (d1 if axis == 1 else d2)
    side = 1.0 if d > 0.0 else -1.0
    for k in range(4):
        u = -1.0 if k == 0 or k == 3 else 1.0
        v = -side if k < 2 else side
        if axis == 0:
            put(c, which, k, s, origin, side * size[s, 0], u * size[s, 1], v * size[s, 2])
        elif axis == 1:
            put(c, which, k, s, origin, v * size[s, 0], side * size[s, 1], u * size[s, 2])
        else:
            put(c, which, k, s, origin, u * size[s, 0], v * size[s, 1], side * size[s, 2])
    return axis, side


@kernel
def hull_face_towards(c, h, d0, d1, d2):
    """The face of hull h whose normal is nearest to d."""
    normal = c.face_normal
    best, face = -2.0, c.face_first[h]
    for f in range(c.face_first[h], c.face_first[h + 1]):
        along = normal[f, 0] * d0 + normal[f, 1] * d1 + normal[f, 2] * d2
        if along > best:
            best, face = along, f
    return face


@kernel
def triangle_normal(c, slot):
    """Unit normal of the triangle in a slot, in the axes of its shape."""
    corner = c.corner
    a0, a1, a2 = (
        corner[slot, 1, 0] - corner[slot, 0, 0],
        corner[slot, 1, 1] - corner[slot, 0, 1],
        corner[slot, 1, 2] - corner[slot, 0, 2],
    )
    b0, b1, b2 = (
        corner[slot, 2, 0] - corner[slot, 0, 0],
        corner[slot, 2, 1] - corner[slot, 0, 1],
        corner[slot, 2, 2] - corner[slot, 0, 2],
    )
    n0, n1, n2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    scale = 1.0 / math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    return n0 * scale, n1 * scale, n2 * scale


@kernel
def triangle_feature(c, which, s, origin, d0, d1, d2):
    """The corners of a triangle that are about farthest along d; returns their number."""
    corner, k = c.corner, c.shape_hull[s]
    best, least = -1e300, 1e300
    for v in range(3):
        d = corner[k, v, 0] * d0 + corner[k, v, 1] * d1 + corner[k, v, 2] * d2
        best = max(best, d)
        least = min(least, d)
    limit = best - ABOUT * c.shape_reach[s]
    if least >= limit:
        limit = least
    count = 0
    for v in range(3):
        if corner[k, v, 0] * d0 + corner[k, v, 1] * d1 + corner[k, v, 2] * d2 >= limit:
            put(c, which, count, s, origin, corner[k, v, 0], corner[k, v, 1], corner[k, v, 2])
            count += 1
    return count


@kernel
def ball_segment(c, which, s, origin, d0, d1, d2):
    """The two points of the balls of shape s that are about farthest along d and most apart; returns 2, or 1."""
    vertex, radius, first = c.hull_vertex, c.hull_radius, c.hull_first
    h = c.shape_hull[s]
    at, best = farthest_ball(c, h, d0, d1, d2)
    limit = best - LEANING * c.shape_reach[s]
    one, other, most = at, at, 0.0
    for turn in range(2):  # the farthest from the best, then the farthest from that
        for v in range(first[h], first[h + 1]):
            along = vertex[v, 0] * d0 + vertex[v, 1] * d1 + vertex[v, 2] * d2 + radius[v]
            if along >= limit:
                x = vertex[v, 0] - vertex[one, 0]
                y = vertex[v, 1] - vertex[one, 1]
                z = vertex[v, 2] - vertex[one, 2]
                d = x * x + y * y + z * z
                if d > most:
                    most, other = d, v
        if turn == 0:
            one, other = other, one
    if most == 0.0:
        return 1
    for k in range(2):
        v = one if k == 0 else other
        r = radius[v] + c.shape_size[s, 0]
        put(c, which, k, s, origin, vertex[v, 0] + r * d0, vertex[v, 1] + r * d1, vertex[v, 2] + r * d2)
    return 2


@kernel
def find_feature(c, which, s, origin, x, y, z):
    """Writes the feature of shape s that faces the unit vector (x, y, z), world axes, to `feature[which]`.

    Returns:
        count: corners: 1 a point (not written), 2 a segment, more a polygon.
        n: outward normal of the polygon, world axes (3 numbers, zero for segment and point).
    """
    size = c.shape_size
    kind = c.shape_type[s]
    d0, d1, d2 = direction_to_shape(c, s, x, y, z)
    count = 1
    n0 = n1 = n2 = 0.0
    if kind == BOX:
        axis, side = box_face(c, which, s, origin, d0, d1, d2)
        count = 4
        if axis == 0:
            n0 = side
        elif axis == 1:
            n1 = side
        else:
            n2 = side
    elif kind == HULL:
        f = hull_face_towards(c, c.shape_hull[s], d0, d1, d2)
        first = c.face_loop[f]
        count = c.face_loop[f + 1] - first
        for k in range(count):
            v = c.face_vertex[first + k]
            put(c, which, k, s, origin, c.hull_vertex[v, 0], c.hull_vertex[v, 1], c.hull_vertex[v, 2])
        n0, n1, n2 = c.face_normal[f, 0], c.face_normal[f, 1], c.face_normal[f, 2]
    elif kind == CAPSULE:
        if math.fabs(d2) < CAP_COSINE:
            r, h = size[s, 0], size[s, 1]
            put(c, which, 0, s, origin, r * d0, r * d1, r * d2 - h)
            put(c, which, 1, s, origin, r * d0, r * d1, r * d2 + h)
            count = 2
    elif kind in (CYLINDER, CONE):
        r, h = size[s, 0], size[s, 1]
        rho = math.sqrt(d0 * d0 + d1 * d1)
        e0, e1 = 1.0, 0.0
        if rho > 0.0:
            e0, e1 = d0 / rho, d1 / rho
        top = 0.0 if kind == CONE else r  # radius of the upper end
        if d2 < -CAP_COSINE or (d2 > CAP_COSINE and kind == CYLINDER):
            end = math.copysign(h, d2)
            count = cap(c, which, s, origin, r, end, e0, e1, rho < CAP_TILT)
            n2 = math.copysign(1.0, d2)
        elif rho * 2.0 * h + d2 * (r - top) > 0.9 * math.sqrt(4.0 * h * h + (r - top) ** 2) or (kind == CYLINDER):
            put(c, which, 0, s, origin, r * e0, r * e1, -h)
            put(c, which, 1, s, origin, top * e0, top * e1, h)
            count = 2
    elif kind == TRIANGLE:
        count = triangle_feature(c, which, s, origin, d0, d1, d2)
        if count == 3:
            n0, n1, n2 = triangle_normal(c, c.shape_hull[s])
            if n0 * d0 + n1 * d1 + n2 * d2 < 0.0:
                n0, n1, n2 = -n0, -n1, -n2
    elif kind == SPHERES:
        count = ball_segment(c, which, s, origin, d0, d1, d2)
    n0, n1, n2 = direction_to_world(c, s, n0, n1, n2)
    return count, n0, n1, n2
