"""A compound (mesh, voxel grid, point cloud, ...) or a height map, and another shape: that against each part near it.

Parts of compounds are found in their tree of boxes, cells of a height map by index.
"""

from __future__ import annotations

import math

from kido.collision.container import COLLISION, HEIGHTMAP
from kido.collision.features import triangle_normal
from kido.collision.manifold import set_normal
from kido.collision.pairs.frames import direction_to_shape, direction_to_world, to_shape, to_world
from kido.collision.pairs.plane import add_lowest
from kido.collision.pairs.triangle import add_lowest as add_lowest_over
from kido.collision.pairs.triangle import ball_triangle, convex_triangle
from kido.collision.patches import file_points, finish_patches, start_patches
from kido.collision.poses import bound_shape
from kido.collision.primitives import SPHERE
from kido.collision.triangles import load_cell, load_triangle, slot, turn_over
from kido.jit import call4, callback, kernel, view

DEEP = 1.0  # depth along a triangle's normal, as a fraction of the other shape's size, beyond which it is not felt


@kernel
def load_piece(c, k, t, piece):
    """Fetches a convex piece of compound t into slot k; returns the slot's index among the shapes."""
    rotation, piece_rotation, position = c.rotation, c.piece_rotation, c.piece_position
    s = slot(c, k)
    c.shape_type[s] = c.piece_type[piece]
    c.shape_hull[s] = c.piece_hull[piece]
    c.shape_reach[s] = c.piece_reach[piece]
    for i in range(3):
        c.shape_size[s, i] = c.piece_size[piece, i]
        for j in range(3):
            rotation[s, 3 * i + j] = (
                rotation[t, 3 * i] * piece_rotation[piece, j]
                + rotation[t, 3 * i + 1] * piece_rotation[piece, 3 + j]
                + rotation[t, 3 * i + 2] * piece_rotation[piece, 6 + j]
            )
    x, y, z = to_world(c, t, position[piece, 0], position[piece, 1], position[piece, 2])
    c.position[s, 0], c.position[s, 1], c.position[s, 2] = x, y, z
    return s


@kernel
def middle_in(c, x, t):
    """The middle of the bounding box of shape x, in the axes of shape t."""
    aabb = c.aabb
    return to_shape(
        c,
        t,
        0.5 * (aabb[x, 0] + aabb[x, 3]),
        0.5 * (aabb[x, 1] + aabb[x, 4]),
        0.5 * (aabb[x, 2] + aabb[x, 5]),
    )


@kernel
def box_in(c, x, t):
    """The bounding box of shape x, grown by the margin, in the axes of shape t: lower and upper corner."""
    aabb, rotation = c.aabb, c.rotation
    m0, m1, m2 = middle_in(c, x, t)
    h0, h1, h2 = 0.5 * (aabb[x, 3] - aabb[x, 0]), 0.5 * (aabb[x, 4] - aabb[x, 1]), 0.5 * (aabb[x, 5] - aabb[x, 2])
    g0 = math.fabs(rotation[t, 0]) * h0 + math.fabs(rotation[t, 3]) * h1 + math.fabs(rotation[t, 6]) * h2 + c.margin
    g1 = math.fabs(rotation[t, 1]) * h0 + math.fabs(rotation[t, 4]) * h1 + math.fabs(rotation[t, 7]) * h2 + c.margin
    g2 = math.fabs(rotation[t, 2]) * h0 + math.fabs(rotation[t, 5]) * h1 + math.fabs(rotation[t, 8]) * h2 + c.margin
    return m0 - g0, m1 - g1, m2 - g2, m0 + g0, m1 + g1, m2 + g2


@kernel
def is_behind(c, x, k):
    """True if the middle of shape x is on the inner side of the triangle in slot k."""
    s = slot(c, k)
    m0, m1, m2 = middle_in(c, x, s)
    n0, n1, n2 = triangle_normal(c, k)
    return m0 * n0 + m1 * n1 + m2 * n2 < 0.0


@kernel
def next_node(c, at, end, low0, low1, low2, high0, high1, high2):
    """The first node from `at` on whose box meets a box; `end` if there is none."""
    box = c.node_box
    while at < end and (
        box[at, 0] > high0
        or box[at, 3] < low0
        or box[at, 1] > high1
        or box[at, 4] < low1
        or box[at, 2] > high2
        or box[at, 5] < low2
    ):
        at = c.node_next[at]
    return at


@kernel
def load_part(c, t, part):
    """Fetches a part of compound t into slot 1, as a convex shape with its box; returns the slot's index."""
    row = c.part[part]
    x = load_triangle(c, 1, t, row) if row >= 0 else load_piece(c, 1, t, -1 - row)
    bound_shape(c, x, 0.5 * c.margin)
    return x


@kernel
def file_piece(c, x, s, part, pair, sign, size):
    """Files the contacts of shape x with the convex shape s; `sign` +1: the pair's normal goes from s to x."""
    first, second = s, x
    if c.shape_type[x] < c.shape_type[s]:
        first, second, sign = x, s, -sign
    function = c.pair_function[c.shape_type[first], c.shape_type[second]]
    if function != 0:
        for i in range(3):
            c.pair_axis[pair, i] = 0.0
        made = call4(function, c.address, first, second, pair)
        file_points(c, made, sign, part, size)
    return 0


@kernel
def file_compound(c, x, t, pair, part_0, sign):
    """Files the contacts of the convex shape x with compound t; `sign` +1: the pair's normal goes from t to x."""
    node_part = c.node_part
    low0, low1, low2, high0, high1, high2 = box_in(c, x, t)
    compound = c.shape_compound[t]
    closed = c.compound_closed[compound]
    ball = c.shape_type[x] == SPHERE
    size = min(c.shape_reach[x], c.shape_reach[t])
    at, end = c.compound_node[compound], c.compound_node[compound + 1]
    at = next_node(c, at, end, low0, low1, low2, high0, high1, high2)
    while at < end:
        for part in range(node_part[at, 0], node_part[at, 0] + node_part[at, 1]):
            row = c.part[part]
            if row < 0:
                s = load_piece(c, 0, t, -1 - row)
                file_piece(c, x, s, part_0 + part, pair, sign, size)
            else:
                load_triangle(c, 0, t, row)
                if closed == 0 and is_behind(c, x, 0):
                    turn_over(c, 0)
                limit = DEEP * c.shape_reach[x]
                made = ball_triangle(c, x, 0, limit) if ball else convex_triangle(c, x, 0, pair, limit)
                file_points(c, made, sign, part_0 + part, size)
        at = next_node(c, at + 1, end, low0, low1, low2, high0, high1, high2)
    return 0


@kernel
def lift(c, x, k):
    """The contact of a shape whose middle is right below the triangle in slot k: what it has sunk by.

    The ground is solid all the way down, so a body that is wholly below its surface is pushed up again.
    """
    corner, s = c.corner, slot(c, k)
    m0, m1, m2 = middle_in(c, x, s)
    n0, n1, n2 = triangle_normal(c, k)
    if m0 * n0 + m1 * n1 + m2 * n2 >= 0.0:
        return 0
    for m in range(3):  # the map's z axis is vertical: the triangle is seen from above
        f = m + 1 if m < 2 else 0
        e0, e1 = corner[k, f, 0] - corner[k, m, 0], corner[k, f, 1] - corner[k, m, 1]
        if e0 * (m1 - corner[k, m, 1]) - e1 * (m0 - corner[k, m, 0]) < 0.0:
            return 0
    n0, n1, n2 = direction_to_world(c, s, n0, n1, n2)
    set_normal(c, n0, n1, n2)
    return add_lowest_over(c, 0, x, k, n0, n1, n2)


@kernel
def file_map(c, x, t, pair, part_0, sign):
    """Files the contacts of the convex shape x with height map t; `sign` +1: the pair's normal goes from t to x."""
    m = c.shape_compound[t]
    rows, columns, first = c.map_size[m, 0], c.map_size[m, 1], c.map_first[m]
    dx, dy, height = c.map_spacing[m, 0], c.map_spacing[m, 1], c.map_height
    low0, low1, low2, high0, high1, _ = box_in(c, x, t)
    low_j = max(math.floor(low0 / dx + 0.5 * (columns - 1)), 0)
    high_j = min(math.floor(high0 / dx + 0.5 * (columns - 1)), columns - 2)
    low_i = max(math.floor(low1 / dy + 0.5 * (rows - 1)), 0)
    high_i = min(math.floor(high1 / dy + 0.5 * (rows - 1)), rows - 2)
    ball = c.shape_type[x] == SPHERE
    limit = DEEP * c.shape_reach[x]
    size = min(c.shape_reach[x], c.shape_reach[t])
    for i in range(low_i, high_i + 1):
        for j in range(low_j, high_j + 1):
            v = first + i * columns + j
            diagonal = max(height[v], height[v + columns + 1])
            for half in range(2):
                if max(diagonal, height[v + 1] if half == 0 else height[v + columns]) < low2:
                    continue
                load_cell(c, 0, t, i, j, half)
                made = ball_triangle(c, x, 0, limit) if ball else convex_triangle(c, x, 0, pair, limit)
                if made == 0:
                    made = lift(c, x, 0)
                file_points(c, made, sign, part_0 + 2 * (i * columns + j) + half, size)
    return 0


@kernel
def file_shape(c, x, t, pair, part_0):
    """Files the contacts of the convex shape x with a compound or height map t; the pair's normal goes from x to t."""
    if c.shape_type[t] == HEIGHTMAP:
        file_map(c, x, t, pair, part_0, -1.0)
    else:
        file_compound(c, x, t, pair, part_0, -1.0)


@callback
def convex_surface(address, s, t, pair):
    """Patches of a convex shape with the parts of a compound, or the triangles of a height map under it."""
    c = view(COLLISION, address)
    start_patches(c)
    file_shape(c, s, t, pair, 0)
    return finish_patches(c)


@callback
def compound_compound(address, s, t, pair):
    """Patches of the parts of a compound with another or a height map: each part near that is a convex shape."""
    c = view(COLLISION, address)
    node_part = c.node_part
    start_patches(c)
    low0, low1, low2, high0, high1, high2 = box_in(c, t, s)
    compound = c.shape_compound[s]
    at, end = c.compound_node[compound], c.compound_node[compound + 1]
    codes = 2 * c.map_height.shape[0] if c.shape_type[t] == HEIGHTMAP else c.part.shape[0]
    at = next_node(c, at, end, low0, low1, low2, high0, high1, high2)
    while at < end:
        for part in range(node_part[at, 0], node_part[at, 0] + node_part[at, 1]):
            x = load_part(c, s, part)
            file_shape(c, x, t, pair, part * codes)
        at = next_node(c, at + 1, end, low0, low1, low2, high0, high1, high2)
    return finish_patches(c)


compound_heightmap = compound_compound


@callback
def plane_compound(address, p, t, pair):
    """The patch of a plane: vertices of triangles, and the contacts of convex pieces, below the margin."""
    c = view(COLLISION, address)
    node_box, node_next, node_part, rotation = c.node_box, c.node_next, c.node_part, c.rotation
    start_patches(c)
    w0, w1, w2 = rotation[p, 2], rotation[p, 5], rotation[p, 8]
    n0, n1, n2 = direction_to_shape(c, t, w0, w1, w2)
    x, y, z = to_shape(c, t, c.position[p, 0], c.position[p, 1], c.position[p, 2])
    limit = n0 * x + n1 * y + n2 * z + c.margin
    compound = c.shape_compound[t]
    at, end = c.compound_node[compound], c.compound_node[compound + 1]
    while at < end:
        lowest = 0.0
        for i in range(3):
            n = n0 if i == 0 else (n1 if i == 1 else n2)
            lowest += n * (node_box[at, i] if n > 0.0 else node_box[at, 3 + i])
        if lowest > limit:
            at = node_next[at]
            continue
        for part in range(node_part[at, 0], node_part[at, 0] + node_part[at, 1]):
            row = c.part[part]
            if row < 0:
                s = load_piece(c, 0, t, -1 - row)
                function = c.pair_function[0, c.shape_type[s]]
                made = call4(function, address, p, s, pair) if function != 0 else 0
                file_points(c, made, 1.0, part, c.shape_reach[t])
            else:
                made = 0
                set_normal(c, w0, w1, w2)
                for m in range(3):
                    v = c.triangle[row, m]
                    x, y, z = to_world(c, t, c.hull_vertex[v, 0], c.hull_vertex[v, 1], c.hull_vertex[v, 2])
                    made = add_lowest(c, made, p, x, y, z, v)
                file_points(c, made, 1.0, part, c.shape_reach[t])
        at += 1
    return finish_patches(c)


@callback
def plane_heightmap(address, p, t, pair):
    """The patch of a plane: the points of the map below the margin."""
    c = view(COLLISION, address)
    m = c.shape_compound[t]
    columns, first = c.map_size[m, 1], c.map_first[m]
    start_patches(c)
    for v in range(c.map_size[m, 0] * columns):
        i = v // columns
        x = (v - i * columns - 0.5 * (columns - 1)) * c.map_spacing[m, 0]
        y = (i - 0.5 * (c.map_size[m, 0] - 1)) * c.map_spacing[m, 1]
        x, y, z = to_world(c, t, x, y, c.map_height[first + v])
        set_normal(c, c.rotation[p, 2], c.rotation[p, 5], c.rotation[p, 8])
        file_points(c, add_lowest(c, 0, p, x, y, z, v), 1.0, v, c.shape_reach[t])
    return finish_patches(c)
