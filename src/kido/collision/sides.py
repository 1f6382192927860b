"""On which side of a surface a shape is, from what was before.

An open surface has no inside: what is above it is pushed up, what is below it down. Of a pair the detector remembers
where the shape's middle was last without having passed the surface, in the surface's axes. While the way from there to
the middle crosses a triangle, the shape has sunk through it by half of itself or more, and is pushed back as a whole.

The parts of a shape that is not convex have memories only in their contacts of the step before. A part stays on the
side of a face that it touched; one that comes new is on the side that it came from.
"""

from __future__ import annotations

import math

from kido.collision.container import PART_AT, TRIANGLE
from kido.collision.features import triangle_normal
from kido.collision.manifold import add_point, set_normal
from kido.collision.pairs.frames import direction_to_world, middle_of, to_shape, to_world
from kido.collision.pairs.triangle import lies_within
from kido.collision.poses import shape_twist
from kido.collision.triangles import load_triangle, next_node, slot, turn_over, vertex_at
from kido.jit import kernel
from kido.math.so3 import rotate, rotation_vector_to_matrix

DEEP = 1.0  # depth along a triangle's normal, as a fraction of a shape's size, beyond which it is not felt
SAME_FACE = 0.99  # cosine of the normals of a contact and of a triangle that it is on
IN_PLANE = 0.01  # fraction of the size of what touches within which its old point fits to the triangle's plane
WHOLE = 1 << 36  # code of the part of a contact that pushes a shape as a whole


@kernel
def part_middle(c, x):
    """A point within the convex shape x, world axes."""
    if c.shape_type[x] == TRIANGLE:
        corner, k = c.corner, c.shape_hull[x]
        return to_world(
            c,
            x,
            (corner[k, 1, 0] + corner[k, 2, 0]) / 3.0,
            (corner[k, 1, 1] + corner[k, 2, 1]) / 3.0,
            (corner[k, 1, 2] + corner[k, 2, 2]) / 3.0,
        )
    return c.position[x, 0], c.position[x, 1], c.position[x, 2]


@kernel
def came_from(c, s, t, x, y, z):
    """Where the point of shape s that is at (x, y, z), world axes, was before, in the axes of shape t at that time [m].

    At the detection before, by the motion now; what is swept at the start of the step, since it may have bounced.
    """
    swept = c.shape_motion[s] + c.shape_motion[t] > 0.0
    time = c.sweep_time + (c.sweep_back if swept else c.interval)
    for k in range(2):
        b = s if k == 0 else t
        sign = -time if k == 0 else time
        w0, w1, w2, v0, v1, v2 = shape_twist(c, b)
        o0, o1, o2 = c.position[b, 0], c.position[b, 1], c.position[b, 2]
        if k == 1:  # backwards: from where t was to where it is
            x, y, z = x + time * v0, y + time * v1, z + time * v2
        if w0 != 0.0 or w1 != 0.0 or w2 != 0.0:
            R = rotation_vector_to_matrix(sign * w0, sign * w1, sign * w2)
            r0, r1, r2 = rotate(R, x - o0, y - o1, z - o2)
            x, y, z = o0 + r0, o1 + r1, o2 + r2
        if k == 0:
            x, y, z = x - time * v0, y - time * v1, z - time * v2
    return to_shape(c, t, x, y, z)


@kernel
def known_side(c, k, pair, first, codes, reach):
    """Side of the triangle in slot k on which a shape had contacts with its face, or one in its plane.

    Args:
        first, codes: the shape's contacts are those with codes of parts from `first` to `first + codes`.
        reach: its size [m].

    Returns:
        1 the outer side, -1 the inner, 0 it had none.
    """
    if c.old_first >= c.old_last:
        return 0
    t, s = c.corner_shape[k], slot(c, k)
    d0, d1, d2 = triangle_normal(c, k)
    n0, n1, n2 = direction_to_world(c, s, d0, d1, d2)
    p0, p1, p2 = vertex_at(c, t, c.corner_vertex[k, 0])
    is_a = c.pair_a[pair] == t
    for old in range(c.old_first, c.old_last):
        code = (c.old_key[old] >> PART_AT) - 1 - first
        if 0 <= code < codes:
            along = n0 * c.old_normal[old, 0] + n1 * c.old_normal[old, 1] + n2 * c.old_normal[old, 2]
            if not is_a:
                along = -along
            if math.fabs(along) >= SAME_FACE:
                side = 1 if along > 0.0 else -1
                height = 0.0
                for i in range(3):
                    d = d0 if i == 0 else (d1 if i == 1 else d2)
                    p = p0 if i == 0 else (p1 if i == 1 else p2)
                    height += d * ((c.old_local_a[old, i] if is_a else c.old_local_b[old, i]) - p)
                gap, near = side * c.old_gap[old], IN_PLANE * reach + c.shape_padding[t]
                if min(gap, 0.0) - near < height < max(gap, 0.0) + near:  # of what was swept it is on either surface
                    return side
    return 0


@kernel
def crossed_triangle(c, t, p0, p1, p2, q0, q1, q2):
    """The first triangle of surface t that the way from p to q, in its axes, crosses: its row, -1 if none does.

    Triangles of closed surfaces are crossed from outside alone.
    """
    low0, low1, low2 = min(p0, q0), min(p1, q1), min(p2, q2)
    high0, high1, high2 = max(p0, q0), max(p1, q1), max(p2, q2)
    compound = c.shape_compound[t]
    closed = c.compound_closed[compound] != 0
    found, first = -1, 2.0
    at, end = c.compound_node[compound], c.compound_node[compound + 1]
    at = next_node(c, at, end, low0, low1, low2, high0, high1, high2)
    while at < end:
        for part in range(c.node_part[at, 0], c.node_part[at, 0] + c.node_part[at, 1]):
            load_triangle(c, 0, t, c.part[part])
            n0, n1, n2 = triangle_normal(c, 0)
            o0, o1, o2 = vertex_at(c, t, c.corner_vertex[0, 0])
            d = n0 * (p0 - o0) + n1 * (p1 - o1) + n2 * (p2 - o2)
            e = n0 * (q0 - o0) + n1 * (q1 - o1) + n2 * (q2 - o2)
            if (d > 0.0 and e <= 0.0) or (d < 0.0 and e >= 0.0 and not closed):
                f = d / (d - e)
                x, y, z = p0 + f * (q0 - p0) - o0, p1 + f * (q1 - p1) - o1, p2 + f * (q2 - p2) - o2
                if f < first and lies_within(c, 0, x, y, z, n0, n1, n2):
                    found, first = c.part[part], f
        at = next_node(c, at + 1, end, low0, low1, low2, high0, high1, high2)
    return found


@kernel
def height_over(c, k, t, x, y, z):
    """Height of a point, in the axes of surface t, over the triangle in slot k [m]."""
    n0, n1, n2 = triangle_normal(c, k)
    o0, o1, o2 = vertex_at(c, t, c.corner_vertex[k, 0])
    return n0 * (x - o0) + n1 * (y - o1) + n2 * (z - o2)


@kernel
def push_back(c, x, t, pair):
    """Updates `outside`, where the middle of shape x was last without having passed surface t, in the axes of t.

    If it has passed, adds the contact that pushes it back, until it is over the surface by a quarter of its least
    extent. What is far beyond did not get there by moving, and is left there.

    Returns:
        1 if there is such a contact, else 0.
    """
    p = c.outside
    x0, x1, x2 = middle_of(c, x)
    m0, m1, m2 = to_shape(c, t, x0, x1, x2)
    if c.pair_code[pair] == 0:
        p[0], p[1], p[2] = came_from(c, x, t, x0, x1, x2)
    else:
        for i in range(3):
            p[i] = c.pair_axis[pair, i]
    c.pair_code[pair] = 1
    if c.sweep_time != 0.0:
        return 0
    row = crossed_triangle(c, t, p[0], p[1], p[2], m0, m1, m2)
    if row >= 0:
        load_triangle(c, 0, t, row)
        if height_over(c, 0, t, p[0], p[1], p[2]) < 0.0:
            turn_over(c, 0)
        height = height_over(c, 0, t, m0, m1, m2)
        if height >= -DEEP * c.shape_reach[x] - 2.0 * (c.shape_motion[x] + c.shape_motion[t]):
            gap = height - c.shape_inner[x]
            n0, n1, n2 = triangle_normal(c, 0)
            n0, n1, n2 = direction_to_world(c, t, n0, n1, n2)
            up = 0.5 * gap - height
            set_normal(c, n0, n1, n2)
            return add_point(c, 0, x0 + up * n0, x1 + up * n1, x2 + up * n2, gap, 0)
    p[0], p[1], p[2] = m0, m1, m2
    return 0


@kernel
def keep_outside(c, pair):
    """Has the pair remember `outside`."""
    for i in range(3):
        c.pair_axis[pair, i] = c.outside[i]
    return 0
