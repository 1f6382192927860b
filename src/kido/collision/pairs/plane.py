"""A plane and another shape: the lowest points of the shape over the plane.

The plane's own z axis is its outward normal. The normal of the manifold is that axis, exactly.
"""

from __future__ import annotations

import math

from kido.collision.container import COLLISION, MAX_POINTS
from kido.collision.manifold import add_point, reduce_manifold, set_normal
from kido.collision.pairs.frames import direction_to_shape, to_world
from kido.jit import callback, kernel, view

RIM_TILT = 1e-4  # sine of the tilt below which a rim keeps its points fixed in the body


@kernel
def plane_normal(c, p):
    """Normal of plane p in world axes; makes it the manifold's."""
    rotation = c.rotation
    x, y, z = rotation[p, 2], rotation[p, 5], rotation[p, 8]
    set_normal(c, x, y, z)
    return x, y, z


@kernel
def add_lowest(c, count, p, x, y, z, key):
    """Adds the world point (x, y, z) of the other shape if it is below the margin."""
    work_normal, position = c.work_normal, c.position
    n0, n1, n2 = work_normal[0], work_normal[1], work_normal[2]
    gap = n0 * (x - position[p, 0]) + n1 * (y - position[p, 1]) + n2 * (z - position[p, 2])
    if gap < c.margin:
        half = 0.5 * gap
        return add_point(c, count, x - half * n0, y - half * n1, z - half * n2, gap, key)
    return count


@callback
def plane_sphere(address, p, s, pair):
    """One point under the centre."""
    c = view(COLLISION, address)
    position = c.position
    n0, n1, n2 = plane_normal(c, p)
    r = c.shape_size[s, 0]
    return add_lowest(c, 0, p, position[s, 0] - r * n0, position[s, 1] - r * n1, position[s, 2] - r * n2, 0)


@callback
def plane_capsule(address, p, s, pair):
    """One point under each end."""
    c = view(COLLISION, address)
    shape_size = c.shape_size
    n0, n1, n2 = plane_normal(c, p)
    r, half = shape_size[s, 0], shape_size[s, 1]
    count = 0
    for end in range(2):
        x, y, z = to_world(c, s, 0.0, 0.0, half if end == 0 else -half)
        count = add_lowest(c, count, p, x - r * n0, y - r * n1, z - r * n2, end)
    return count


@callback
def plane_box(address, p, s, pair):
    """The corners below the margin."""
    c = view(COLLISION, address)
    shape_size = c.shape_size
    plane_normal(c, p)
    count = 0
    for corner in range(8):
        x = shape_size[s, 0] if corner & 1 else -shape_size[s, 0]
        y = shape_size[s, 1] if corner & 2 else -shape_size[s, 1]
        z = shape_size[s, 2] if corner & 4 else -shape_size[s, 2]
        x, y, z = to_world(c, s, x, y, z)
        count = add_lowest(c, count, p, x, y, z, corner)
    return count


@kernel
def add_rim(c, count, p, s, r, z, d0, d1, key):
    """Four points of the circle of radius r at height z; the first in direction (d0, d1)."""
    for quarter in range(4):
        x, y, w = to_world(c, s, r * d0, r * d1, z)
        count = add_lowest(c, count, p, x, y, w, key + quarter)
        d0, d1 = -d1, d0
    return count


@kernel
def downward(c, p, s):
    """Unit vector in the xy plane of shape s that points most steeply into the plane; x if level."""
    work_normal = c.work_normal
    d0, d1, d2 = direction_to_shape(c, s, -work_normal[0], -work_normal[1], -work_normal[2])
    size = math.sqrt(d0 * d0 + d1 * d1)
    if size < RIM_TILT:
        return 1.0, 0.0, d2
    return d0 / size, d1 / size, d2


@callback
def plane_cylinder(address, p, s, pair):
    """Four points on each rim, one of them the lowest."""
    c = view(COLLISION, address)
    shape_size = c.shape_size
    plane_normal(c, p)
    d0, d1, d2 = downward(c, p, s)
    count = 0
    for end in range(2):
        z = shape_size[s, 1] if end == 0 else -shape_size[s, 1]
        if d2 * z > 0.0 or math.fabs(d2) < 0.7:
            count = add_rim(c, count, p, s, shape_size[s, 0], z, d0, d1, 4 * end)
    return count


@callback
def plane_cone(address, p, s, pair):
    """The apex and four points on the rim, one of them the lowest."""
    c = view(COLLISION, address)
    shape_size = c.shape_size
    plane_normal(c, p)
    d0, d1, _ = downward(c, p, s)
    half = shape_size[s, 1]
    x, y, z = to_world(c, s, 0.0, 0.0, half)
    count = add_lowest(c, 0, p, x, y, z, 4)
    return add_rim(c, count, p, s, shape_size[s, 0], -half, d0, d1, 0)


@callback
def plane_spheres(address, p, s, pair):
    """The lowest point of each ball of a hull of balls, below the margin."""
    c = view(COLLISION, address)
    hull_first, vertex = c.hull_first, c.hull_vertex
    n0, n1, n2 = plane_normal(c, p)
    count, h = 0, c.shape_hull[s]
    for v in range(hull_first[h], hull_first[h + 1]):
        r = c.hull_radius[v] + c.shape_size[s, 0]
        x, y, z = to_world(c, s, vertex[v, 0], vertex[v, 1], vertex[v, 2])
        count = add_lowest(c, count, p, x - r * n0, y - r * n1, z - r * n2, v - hull_first[h])
        if count == MAX_POINTS:
            count = reduce_manifold(c, count, 0, 0)
    return count


plane_hull = plane_spheres  # balls without radius
