"""World poses, velocities and bounding boxes of shapes."""

from __future__ import annotations

import math

from kido.collision.container import COMPOUND, FACE, HEIGHTMAP, HUGE, HULL, PLANE, POSE_NOT_FINITE, SPHERES, TRIANGLE
from kido.collision.primitives import box_extent, primitive_extent
from kido.collision.support import farthest_ball, hull_support
from kido.jit import kernel
from kido.math.so3 import cross


@kernel
def update_poses(c):
    """X_WS = X_WB X_BS of every shape; returns POSE_NOT_FINITE if a pose is not finite, else 0."""
    body_rotation, local_rotation, local_position = c.body_rotation, c.local_rotation, c.local_position
    bad = 0.0
    for s in range(c.shape_body.shape[0]):
        b = c.shape_body[s]
        for i in range(3):
            r0 = body_rotation[b, 3 * i]
            r1 = body_rotation[b, 3 * i + 1]
            r2 = body_rotation[b, 3 * i + 2]
            for j in range(3):
                c.rotation[s, 3 * i + j] = (
                    r0 * local_rotation[s, j] + r1 * local_rotation[s, 3 + j] + r2 * local_rotation[s, 6 + j]
                )
            x = (
                c.body_position[b, i]
                + r0 * local_position[s, 0]
                + r1 * local_position[s, 1]
                + r2 * local_position[s, 2]
            )
            c.position[s, i] = x
            bad += 0.0 * (x + r0 + r1 + r2)  # NaN if any of them is NaN or infinite
    if bad == 0.0:
        return 0
    return POSE_NOT_FINITE


@kernel
def shape_twist(c, s):
    """Angular velocity of a shape and velocity of its origin, world axes."""
    b = c.shape_body[s]
    if c.body_moving[b] == 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    w0, w1, w2 = c.body_velocity[b, 0], c.body_velocity[b, 1], c.body_velocity[b, 2]
    x, y, z = (
        c.position[s, 0] - c.body_position[b, 0],
        c.position[s, 1] - c.body_position[b, 1],
        c.position[s, 2] - c.body_position[b, 2],
    )
    x, y, z = cross(w0, w1, w2, x, y, z)
    return w0, w1, w2, c.body_velocity[b, 3] + x, c.body_velocity[b, 4] + y, c.body_velocity[b, 5] + z


@kernel
def face_bounds(c, s, i):
    """Extent of a triangle of a soft skin along world axis i, from the shape's origin, down to its depth."""
    triangle, rotation = c.skin_triangle, c.rotation
    t, r0, r1, r2 = c.shape_hull[s], rotation[s, 3 * i], rotation[s, 3 * i + 1], rotation[s, 3 * i + 2]
    low, high = 1e300, -1e300
    for k in range(3):
        x = r0 * triangle[t, 3 * k] + r1 * triangle[t, 3 * k + 1] + r2 * triangle[t, 3 * k + 2]
        low, high = min(low, x), max(high, x)
    a0, a1, a2 = triangle[t, 0], triangle[t, 1], triangle[t, 2]
    e0, e1, e2 = triangle[t, 3] - a0, triangle[t, 4] - a1, triangle[t, 5] - a2
    f0, f1, f2 = triangle[t, 6] - a0, triangle[t, 7] - a1, triangle[t, 8] - a2
    n0, n1, n2 = e1 * f2 - e2 * f1, e2 * f0 - e0 * f2, e0 * f1 - e1 * f0
    size = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    inside = 0.0
    if size > 0.0:
        inside = -c.shape_size[s, 0] * (r0 * n0 + r1 * n1 + r2 * n2) / size
    return low + min(inside, 0.0), high + max(inside, 0.0)


@kernel
def bound_shape(c, s, grow):
    """Axis-aligned box of one shape in world axes, grown on every side, by its padding too."""
    grow += c.shape_padding[s]
    shape_size, rotation = c.shape_size, c.rotation
    vertex, aabb = c.hull_vertex, c.aabb
    kind = c.shape_type[s]
    s0, s1, s2 = shape_size[s, 0], shape_size[s, 1], shape_size[s, 2]
    for i in range(3):
        r0, r1, r2 = rotation[s, 3 * i], rotation[s, 3 * i + 1], rotation[s, 3 * i + 2]
        x = c.position[s, i]
        low = high = 0.0
        if PLANE < kind < HULL:
            low, high = primitive_extent(kind, s0, s1, s2, r0, r1, r2)
        elif kind in (COMPOUND, HEIGHTMAP):
            high = box_extent(s0, s1, s2, r0, r1, r2)
            low = -high
        elif kind == HULL:
            h = c.shape_hull[s]
            v = hull_support(c, h, r0, r1, r2)
            high = r0 * vertex[v, 0] + r1 * vertex[v, 1] + r2 * vertex[v, 2]
            v = hull_support(c, h, -r0, -r1, -r2)
            low = r0 * vertex[v, 0] + r1 * vertex[v, 1] + r2 * vertex[v, 2]
        elif kind == SPHERES:
            h = c.shape_hull[s]
            _, high = farthest_ball(c, h, r0, r1, r2)
            _, low = farthest_ball(c, h, -r0, -r1, -r2)
            high, low = high + s0, -low - s0
        elif kind == TRIANGLE:
            k = c.shape_hull[s]
            for v in range(3):
                d = r0 * c.corner[k, v, 0] + r1 * c.corner[k, v, 1] + r2 * c.corner[k, v, 2]
                high = max(high, d)
                low = min(low, d)
        elif kind == FACE:
            low, high = face_bounds(c, s, i)
        elif kind == PLANE:
            high = HUGE
            low = -high
        aabb[s, i] = x + low - grow
        aabb[s, 3 + i] = x + high + grow
    return 0


@kernel
def update_bounds(c):
    """Axis-aligned box of every shape in world axes, grown by half the margin and its motion on every side."""
    half_margin = 0.5 * c.margin
    for s in range(c.shape_body.shape[0]):
        bound_shape(c, s, half_margin + c.shape_motion[s])
    return 0
