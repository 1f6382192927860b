"""Support points: the point of a shape farthest in a direction.

Spheres, capsules and hulls of spheres are a core (point, segment, hull of smaller balls) with a radius around it;
only the core is supported here.
All points are relative to the origin of the pair's first shape, so that far from the world's origin no digits
are lost.
"""

from __future__ import annotations

import math

from kido.collision.container import HULL, SPHERES, TRIANGLE
from kido.collision.pairs.frames import direction_to_shape, direction_to_world
from kido.collision.primitives import CAPSULE, SPHERE, primitive_support
from kido.jit import kernel


@kernel
def core_radius(c, s):
    """Radius [m] around the core of shape s."""
    kind = c.shape_type[s]
    if kind in (SPHERE, CAPSULE, SPHERES):
        return c.shape_size[s, 0]
    return 0.0


@kernel
def hull_support(c, h, x, y, z):
    """Index of the vertex of hull h farthest along (x, y, z), by climbing from vertex to vertex."""
    vertex, first, neighbor = c.hull_vertex, c.neighbor_first, c.neighbor
    ax, ay, az = math.fabs(x), math.fabs(y), math.fabs(z)
    if ax >= ay and ax >= az:
        side = 1 if x > 0.0 else 0
    elif ay >= az:
        side = 3 if y > 0.0 else 2
    else:
        side = 5 if z > 0.0 else 4
    at = c.hull_start[h, side]
    best = vertex[at, 0] * x + vertex[at, 1] * y + vertex[at, 2] * z
    climbing = True
    while climbing:
        climbing = False
        here = at
        for k in range(first[here], first[here + 1]):
            v = neighbor[k]
            d = vertex[v, 0] * x + vertex[v, 1] * y + vertex[v, 2] * z
            if d > best:
                best, at = d, v
                climbing = True
    return at


@kernel
def farthest_ball(c, h, x, y, z):
    """Index of the ball of hull h that reaches farthest along (x, y, z), and how far times the vector's length."""
    vertex, hull_first, hull_radius = c.hull_vertex, c.hull_first, c.hull_radius
    length = math.sqrt(x * x + y * y + z * z)
    best, at = -1e300, hull_first[h]
    for v in range(hull_first[h], hull_first[h + 1]):
        d = vertex[v, 0] * x + vertex[v, 1] * y + vertex[v, 2] * z + hull_radius[v] * length
        if d > best:
            best, at = d, v
    return at, best


@kernel
def farthest_corner(c, slot, x, y, z):
    """The corner, 0 to 2, of the triangle in a slot that is farthest along (x, y, z)."""
    corner = c.corner
    best, at = -1e300, 0
    for k in range(3):
        d = corner[slot, k, 0] * x + corner[slot, k, 1] * y + corner[slot, k, 2] * z
        if d > best:
            best, at = d, k
    return at


@kernel
def local_support(c, s, x, y, z):
    """Point of the core of shape s farthest along (x, y, z), of any length; both in its axes."""
    size = c.shape_size
    kind = c.shape_type[s]
    if kind < HULL:
        return primitive_support(kind, size[s, 0], size[s, 1], size[s, 2], x, y, z)
    if kind == HULL:
        v = hull_support(c, c.shape_hull[s], x, y, z)
        return c.hull_vertex[v, 0], c.hull_vertex[v, 1], c.hull_vertex[v, 2]
    if kind == TRIANGLE:
        k = c.shape_hull[s]
        v = farthest_corner(c, k, x, y, z)
        return c.corner[k, v, 0], c.corner[k, v, 1], c.corner[k, v, 2]
    if kind == SPHERES:
        v, _ = farthest_ball(c, c.shape_hull[s], x, y, z)
        norm = math.sqrt(x * x + y * y + z * z)
        r = c.hull_radius[v] / norm if norm > 0.0 else 0.0
        return c.hull_vertex[v, 0] + r * x, c.hull_vertex[v, 1] + r * y, c.hull_vertex[v, 2] + r * z
    return 0.0, 0.0, 0.0


@kernel
def support(c, s, origin, x, y, z):
    """Point of the core of shape s farthest along (x, y, z), world axes, relative to a shape's origin."""
    position = c.position
    d0, d1, d2 = direction_to_shape(c, s, x, y, z)
    p0, p1, p2 = local_support(c, s, d0, d1, d2)
    p0, p1, p2 = direction_to_world(c, s, p0, p1, p2)
    return (
        p0 + (position[s, 0] - position[origin, 0]),
        p1 + (position[s, 1] - position[origin, 1]),
        p2 + (position[s, 2] - position[origin, 2]),
    )
