"""A triangle of a surface and a convex shape.

The triangle has an outer side, and stands in a slot. Where the shape stands on it, the normal is the triangle's,
exactly. Else the nearest points (or the least overlap) give the normal, if the surface may have it there; a normal
at an edge inside of a flat or hollow surface is not one that a body feels, and gives way to the triangle's own.
"""

from __future__ import annotations

import math

from kido.collision.container import TRIANGLE
from kido.collision.features import find_feature, triangle_normal
from kido.collision.manifold import add_point, set_normal
from kido.collision.pairs.convex import NEAREST_AT, add_manifold, clip_against, nearest_points
from kido.collision.pairs.frames import direction_to_shape, direction_to_world, to_shape, to_world
from kido.collision.support import core_radius, support
from kido.collision.triangles import allows, edge_allows, slot, vertex_allows
from kido.jit import kernel

SHALLOW_DEPTH = 2e-3  # depth below a triangle's plane, as a fraction of the shape's size, that is surely its own
SNAP = 1e-4  # sine of the angle of normals that are taken as the triangle's
GJK_NORMAL_TOLERANCE = 1e-5  # tolerance on normals from GJK
NORMAL_TOLERANCE = 1e-12  # tolerance on normals in closed form
INSIDE = 1e-10  # fraction of a triangle's size by which a point may lie outside of an edge


@kernel
def lies_within(c, k, x, y, z, n0, n1, n2):
    """True if a point (from the slot's origin, in its axes) lies over the triangle with normal n in slot k."""
    corner = c.corner
    slack = INSIDE * c.shape_reach[slot(c, k)]
    for m in range(3):
        f = m + 1 if m < 2 else 0
        e0, e1, e2 = (
            corner[k, f, 0] - corner[k, m, 0],
            corner[k, f, 1] - corner[k, m, 1],
            corner[k, f, 2] - corner[k, m, 2],
        )
        p0, p1, p2 = x - corner[k, m, 0], y - corner[k, m, 1], z - corner[k, m, 2]
        length = math.sqrt(e0 * e0 + e1 * e1 + e2 * e2)
        inward = n0 * (e1 * p2 - e2 * p1) + n1 * (e2 * p0 - e0 * p2) + n2 * (e0 * p1 - e1 * p0)
        if inward < -slack * length:
            return False
    return True


@kernel
def lowest_point(c, x, k, n0, n1, n2):
    """The point of shape x farthest against n (world axes), from the origin of slot k in world axes, and its height
    along n over the triangle's plane."""
    r = core_radius(c, x)
    p0, p1, p2 = support(c, x, slot(c, k), -n0, -n1, -n2)
    p0, p1, p2 = p0 - r * n0, p1 - r * n1, p2 - r * n2
    return p0, p1, p2, p0 * n0 + p1 * n1 + p2 * n2


@kernel
def add_lowest(c, made, x, k, n0, n1, n2):
    """Adds the lowest point of shape x over the triangle in slot k, along the world vector n; returns the count."""
    s = slot(c, k)
    p0, p1, p2, height = lowest_point(c, x, k, n0, n1, n2)
    if height >= c.margin:
        return made
    half = 0.5 * height
    position = c.position
    return add_point(
        c,
        made,
        position[s, 0] + p0 - half * n0,
        position[s, 1] + p1 - half * n1,
        position[s, 2] + p2 - half * n2,
        height,
        0,
    )


@kernel
def stand_on(c, x, k, n0, n1, n2):
    """Contacts of shape x with the face of the triangle in slot k, along its outward normal n in world axes.

    Those points of the shape's lowest feature that lie over the triangle; none if none does.
    """
    number = c.number
    s = slot(c, k)
    p0, p1, p2, height = lowest_point(c, x, k, n0, n1, n2)
    number[NEAREST_AT], number[NEAREST_AT + 1], number[NEAREST_AT + 2] = n0, n1, n2
    number[NEAREST_AT + 3] = height
    set_normal(c, n0, n1, n2)
    made = 0
    count, _, _, _ = find_feature(c, 1, x, s, -n0, -n1, -n2)
    if count > 1:
        find_feature(c, 0, s, s, n0, n1, n2)
        made = clip_against(c, 0, 3, 1, count, n0, n1, n2, s, 1.0)
    deepest = 1e300
    for w in range(made):
        deepest = min(deepest, c.work_gap[w])
    if height < deepest - 1e-6 * c.shape_reach[x]:
        d0, d1, d2 = direction_to_shape(c, s, n0, n1, n2)
        p0, p1, p2 = direction_to_shape(c, s, p0, p1, p2)
        if lies_within(c, k, p0, p1, p2, d0, d1, d2):
            made = add_lowest(c, made, x, k, n0, n1, n2)
    return made


@kernel
def opposes(c, x, n0, n1, n2):
    """False if shape x is a triangle whose surface cannot have -n, world axes, as its normal; an open one has any."""
    if c.shape_type[x] != TRIANGLE:
        return True
    k = c.shape_hull[x]
    if c.compound_closed[c.shape_compound[c.corner_shape[k]]] == 0:
        return True
    d0, d1, d2 = direction_to_shape(c, x, -n0, -n1, -n2)
    m0, m1, m2 = triangle_normal(c, k)
    return allows(c, k, d0, d1, d2, m0, m1, m2, GJK_NORMAL_TOLERANCE)


@kernel
def convex_triangle(c, x, k, pair, limit):
    """Contacts of shape x and the triangle in slot k; the normal is the triangle's side's, outwards.

    `limit` is the greatest depth [m] along a triangle's normal that stands in for another normal.
    """
    number, axis = c.number, c.pair_axis
    s = slot(c, k)
    m0, m1, m2 = triangle_normal(c, k)
    n0, n1, n2 = direction_to_world(c, s, m0, m1, m2)
    _, _, _, height = lowest_point(c, x, k, n0, n1, n2)
    if height >= c.margin:
        return 0
    face = opposes(c, x, n0, n1, n2)
    if face and height > -SHALLOW_DEPTH * c.shape_reach[x]:
        made = stand_on(c, x, k, n0, n1, n2)
        deepest = 1e300
        for w in range(made):
            deepest = min(deepest, c.work_gap[w])
        if deepest <= height + 2.0 * SNAP * c.shape_reach[x]:  # else the lowest point is not over the triangle
            return made
    axis[pair, 0], axis[pair, 1], axis[pair, 2] = -n0, -n1, -n2
    if not nearest_points(c, s, x, pair):
        return 0
    e0, e1, e2 = number[NEAREST_AT], number[NEAREST_AT + 1], number[NEAREST_AT + 2]
    across0, across1, across2 = e1 * n2 - e2 * n1, e2 * n0 - e0 * n2, e0 * n1 - e1 * n0
    sine2 = across0 * across0 + across1 * across1 + across2 * across2
    if sine2 > SNAP * SNAP:
        d0, d1, d2 = direction_to_shape(c, s, e0, e1, e2)
        if allows(c, k, d0, d1, d2, m0, m1, m2, GJK_NORMAL_TOLERANCE):
            if opposes(c, x, e0, e1, e2):
                return add_manifold(c, s, x)
            return 0
    # Where a corner of the triangle just reaches into the shape, the depth of its plane says nothing.
    slight = SHALLOW_DEPTH * c.shape_reach[x] + 4.0 * max(-number[NEAREST_AT + 3], 0.0)
    if face and height > -min(limit, slight):
        return stand_on(c, x, k, n0, n1, n2)
    return 0


@kernel
def _touch(c, x, k, q0, q1, q2, d0, d1, d2, gap):
    """The contact of ball x at the surface point q with the normal d, both in the axes of slot k."""
    s = slot(c, k)
    half = 0.5 * gap
    p0, p1, p2 = to_world(c, s, q0 + half * d0, q1 + half * d1, q2 + half * d2)
    n0, n1, n2 = direction_to_world(c, s, d0, d1, d2)
    set_normal(c, n0, n1, n2)
    return add_point(c, 0, p0, p1, p2, gap, 0)


@kernel
def ball_triangle(c, x, k, limit):
    """The contact of ball x with the triangle in slot k, in closed form; as `convex_triangle`."""
    corner = c.corner
    s = slot(c, k)
    r = c.shape_size[x, 0]
    n0, n1, n2 = triangle_normal(c, k)
    p0, p1, p2 = to_shape(c, s, c.position[x, 0], c.position[x, 1], c.position[x, 2])
    height = p0 * n0 + p1 * n1 + p2 * n2
    if height - r >= c.margin or height - r < -limit:
        return 0
    if lies_within(c, k, p0, p1, p2, n0, n1, n2):
        return _touch(c, x, k, p0 - height * n0, p1 - height * n1, p2 - height * n2, n0, n1, n2, height - r)
    if height <= 0.0:
        return 0
    # The nearest point of the three edges.
    best, edge, place = 1e300, 0, 0.0
    for m in range(3):
        f = m + 1 if m < 2 else 0
        e0, e1, e2 = (
            corner[k, f, 0] - corner[k, m, 0],
            corner[k, f, 1] - corner[k, m, 1],
            corner[k, f, 2] - corner[k, m, 2],
        )
        d0, d1, d2 = p0 - corner[k, m, 0], p1 - corner[k, m, 1], p2 - corner[k, m, 2]
        along = min(max((d0 * e0 + d1 * e1 + d2 * e2) / (e0 * e0 + e1 * e1 + e2 * e2), 0.0), 1.0)
        d0, d1, d2 = d0 - along * e0, d1 - along * e1, d2 - along * e2
        square = d0 * d0 + d1 * d1 + d2 * d2
        if square < best:
            best, edge, place = square, m, along
    distance = math.sqrt(best)
    if distance - r >= c.margin:
        return 0
    f = edge + 1 if edge < 2 else 0
    q0 = corner[k, edge, 0] + place * (corner[k, f, 0] - corner[k, edge, 0])
    q1 = corner[k, edge, 1] + place * (corner[k, f, 1] - corner[k, edge, 1])
    q2 = corner[k, edge, 2] + place * (corner[k, f, 2] - corner[k, edge, 2])
    d0, d1, d2 = (p0 - q0) / distance, (p1 - q1) / distance, (p2 - q2) / distance
    if 0.0 < place < 1.0:
        found = edge_allows(c, k, edge, d0, d1, d2, NORMAL_TOLERANCE)
    else:
        v = c.corner_vertex[k, edge if place == 0.0 else f]
        found = vertex_allows(c, c.corner_shape[k], v, d0, d1, d2, NORMAL_TOLERANCE)
    if not found:
        return 0
    return _touch(c, x, k, q0, q1, q2, d0, d1, d2, distance - r)
