"""Points and triangles of soft skins, with other shapes and with each other.

A point is a ball without size. A triangle has an outside; what has passed it from there by less than its depth, half
the thickness of the body at rest, is pushed back out. Its corners are points of their own, so that planes meet those
alone, and other shapes meet the triangle only with what may lie between its corners: a ball's centre, corners of the
face that looks at it, points.
Positions of the corners, in the axes of the link, are per-step data.
"""

from __future__ import annotations

import math

from kido.collision.container import COLLISION, FACE, PLANE, SKIN_POINT
from kido.collision.features import find_feature
from kido.collision.manifold import add_point, set_normal
from kido.collision.pairs.frames import to_world
from kido.collision.primitives import CAPSULE, SPHERE
from kido.collision.support import core_radius, support
from kido.jit import call4, callback, kernel, view

SHALLOW_SHARE = 0.02  # share of a triangle's depth up to which it does not matter where a point came in
FACING = 0.1  # cosine of the angle between the normals of a point and a triangle up to which they can touch
BESIDE = (
    0.1  # barycentric coordinate up to which what is beside a triangle belongs to it, in the search for the nearest
)


@callback
def shape_point(address, s, t, pair):
    """A shape and a point: as with a ball of radius zero."""
    c = view(COLLISION, address)
    kind, normal = c.shape_type[s], c.work_normal
    if kind == PLANE or kind == SPHERE:
        return call4(c.pair_function[kind, SPHERE], address, s, t, pair)
    count = call4(c.pair_function[SPHERE, kind], address, t, s, pair)
    for i in range(3):
        normal[i] = -normal[i]
    return count


@kernel
def corner(c, t, k):
    """Corner k of triangle t in the world."""
    f = c.shape_hull[t]
    return to_world(c, t, c.skin_triangle[f, 3 * k], c.skin_triangle[f, 3 * k + 1], c.skin_triangle[f, 3 * k + 2])


@kernel
def triangle_of(c, t):
    """Corners of triangle t in the world, its edges from the first corner, and its outward unit normal."""
    a0, a1, a2 = corner(c, t, 0)
    b0, b1, b2 = corner(c, t, 1)
    d0, d1, d2 = corner(c, t, 2)
    e0, e1, e2 = b0 - a0, b1 - a1, b2 - a2
    f0, f1, f2 = d0 - a0, d1 - a1, d2 - a2
    n0, n1, n2 = e1 * f2 - e2 * f1, e2 * f0 - e0 * f2, e0 * f1 - e1 * f0
    size = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    inverse = 1.0 / size if size > 0.0 else 0.0
    return (a0, a1, a2), (e0, e1, e2), (f0, f1, f2), (n0 * inverse, n1 * inverse, n2 * inverse)


@kernel
def weights(e, f, x, y, z):
    """Barycentric coordinates of (x, y, z), from the triangle's first corner, along its edges e and f."""
    ee, ef, ff = (
        e[0] * e[0] + e[1] * e[1] + e[2] * e[2],
        e[0] * f[0] + e[1] * f[1] + e[2] * f[2],
        f[0] * f[0] + f[1] * f[1] + f[2] * f[2],
    )
    xe, xf = x * e[0] + y * e[1] + z * e[2], x * f[0] + y * f[1] + z * f[2]
    area = ee * ff - ef * ef
    if area <= 0.0:
        return -1.0, -1.0
    return (ff * xe - ef * xf) / area, (ee * xf - ef * xe) / area


@kernel
def passed_elsewhere(c, t, x, y, z, d):
    """Whether a point under triangle t by -d is nearer to another triangle of the same skin: it came in there."""
    for way in range(2):
        step = 1 - 2 * way
        k = t + step
        while 0 <= k < c.shape_body.shape[0] and c.shape_type[k] == FACE and c.shape_body[k] == c.shape_body[t]:
            a, e, f, n = triangle_of(c, k)
            x0, x1, x2 = x - a[0], y - a[1], z - a[2]
            height = x0 * n[0] + x1 * n[1] + x2 * n[2]
            if d < height < -d:
                s, r = weights(e, f, x0, x1, x2)
                if s >= -BESIDE and r >= -BESIDE and s + r <= 1.0 + BESIDE:
                    return True
            k += step
    return False


@kernel
def add_over(c, made, t, a, e, f, n, x, y, z, radius, key):
    """Add the contact of a ball whose centre (x, y, z) is over or under a triangle. Returns the new count."""
    x, y, z = x - a[0], y - a[1], z - a[2]
    d = x * n[0] + y * n[1] + z * n[2]
    gap = d - radius
    if gap >= c.margin or gap < -c.shape_size[t, 0]:
        return made
    s, r = weights(e, f, x, y, z)
    if s < 0.0 or r < 0.0 or s + r > 1.0:
        return made
    if d < -SHALLOW_SHARE * c.shape_size[t, 0] and passed_elsewhere(c, t, a[0] + x, a[1] + y, a[2] + z, d):
        return made
    down = radius + 0.5 * gap  # from the centre to half way between the surfaces
    return add_point(c, made, a[0] + x - down * n[0], a[1] + y - down * n[1], a[2] + z - down * n[2], gap, key)


@callback
def sphere_face(address, s, t, pair):
    """The centre's foot on the triangle; from outside, also the nearest point of its edges."""
    c = view(COLLISION, address)
    a, e, f, n = triangle_of(c, t)
    x, y, z = c.position[s, 0], c.position[s, 1], c.position[s, 2]
    radius = core_radius(c, s)
    set_normal(c, -n[0], -n[1], -n[2])
    if add_over(c, 0, t, a, e, f, n, x, y, z, radius, 0) == 1:
        return 1
    x, y, z = x - a[0], y - a[1], z - a[2]
    if radius == 0.0 or x * n[0] + y * n[1] + z * n[2] <= 0.0:
        return 0
    best = radius + c.margin
    q0 = q1 = q2 = 0.0
    for k in range(3):
        o0, o1, o2 = (0.0, 0.0, 0.0) if k < 2 else e
        g0, g1, g2 = e if k == 0 else (f if k == 1 else (f[0] - e[0], f[1] - e[1], f[2] - e[2]))
        gg = g0 * g0 + g1 * g1 + g2 * g2
        share = ((x - o0) * g0 + (y - o1) * g1 + (z - o2) * g2) / gg if gg > 0.0 else 0.0
        share = min(max(share, 0.0), 1.0)
        r0, r1, r2 = o0 + share * g0, o1 + share * g1, o2 + share * g2
        d = math.sqrt((x - r0) ** 2 + (y - r1) ** 2 + (z - r2) ** 2)
        if d < best:
            best, q0, q1, q2 = d, r0, r1, r2
    if best >= radius + c.margin or best <= 0.0:
        return 0
    m0, m1, m2 = (q0 - x) / best, (q1 - y) / best, (q2 - z) / best
    set_normal(c, m0, m1, m2)
    half = 0.5 * (best - radius)
    return add_point(c, 0, a[0] + q0 - half * m0, a[1] + q1 - half * m1, a[2] + q2 - half * m2, best - radius, 1)


@callback
def solid_face(address, s, t, pair):
    """Corners of what of the solid looks at the triangle."""
    c = view(COLLISION, address)
    a, e, f, n = triangle_of(c, t)
    set_normal(c, -n[0], -n[1], -n[2])
    p, position = c.feature, c.position
    o0, o1, o2 = position[s, 0], position[s, 1], position[s, 2]
    count, _, _, _ = find_feature(c, 0, s, s, -n[0], -n[1], -n[2])
    if count <= 1:
        x, y, z = support(c, s, s, -n[0], -n[1], -n[2])
        return add_over(c, 0, t, a, e, f, n, o0 + x, o1 + y, o2 + z, core_radius(c, s), 0)
    radius = core_radius(c, s)
    made = 0
    for k in range(count):
        x, y, z = p[0, k, 0], p[0, k, 1], p[0, k, 2]
        if c.shape_type[s] == CAPSULE:  # the feature lies on the surface
            x, y, z = x + radius * n[0], y + radius * n[1], z + radius * n[2]
        made = add_over(c, made, t, a, e, f, n, o0 + x, o1 + y, o2 + z, radius, k)
    return made


@callback
def point_face(address, s, t, pair):
    """A point of one skin and a triangle of another that looks at it: its foot."""
    c = view(COLLISION, address)
    a, e, f, n = triangle_of(c, t)
    if c.rotation[s, 2] * n[0] + c.rotation[s, 5] * n[1] + c.rotation[s, 8] * n[2] > FACING:
        return 0  # their surfaces look the same way
    set_normal(c, -n[0], -n[1], -n[2])
    return add_over(
        c, 0, t, a, e, f, n, c.position[s, 0], c.position[s, 1], c.position[s, 2], 0.0, 0
    )  # fmt: skip


def function_of(first: int, second: int):
    """The callback of a pair with a point or a triangle; None where there is none."""
    if second == SKIN_POINT:
        return None if first == SKIN_POINT else shape_point
    if first == PLANE or first >= FACE or second != FACE:
        return None
    if first == SPHERE:
        return sphere_face
    return point_face if first == SKIN_POINT else solid_face
