"""A compound (mesh, voxel grid, point cloud, ...) or a height map, and another shape: that against each part near it.

Parts of compounds are found in their tree of boxes, cells of a height map by index. On which side of an open surface a
shape is, and whether it has sunk through one, tells what was before (`kido.collision.sides`).
"""

from __future__ import annotations

import math

from kido.collision.container import COLLISION, HEIGHTMAP
from kido.collision.features import triangle_normal
from kido.collision.manifold import set_normal
from kido.collision.pairs.frames import direction_to_shape, direction_to_world, to_shape, to_world
from kido.collision.pairs.plane import add_lowest
from kido.collision.pairs.triangle import add_lowest as add_lowest_over
from kido.collision.pairs.triangle import ball_triangle, convex_triangle, lowest_point, stand_on
from kido.collision.patches import file_points, finish_patches, start_patches
from kido.collision.poses import bound_shape
from kido.collision.primitives import SPHERE
from kido.collision.sides import (
    DEEP,
    IN_PLANE,
    WHOLE,
    came_from,
    height_over,
    keep_outside,
    known_side,
    part_middle,
    push_back,
)
from kido.collision.triangles import load_cell, load_triangle, next_node, slot, turn_over
from kido.jit import call4, callback, kernel, view

PIECES, CLOSED, OPEN, MAP = range(4)  # what a shape that is not convex is made of: `rank`


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
def box_in(c, x, t):
    """The bounding box of shape x, grown by the margin, in the axes of shape t: lower and upper corner."""
    aabb, rotation = c.aabb, c.rotation
    m0, m1, m2 = to_shape(
        c, t, 0.5 * (aabb[x, 0] + aabb[x, 3]), 0.5 * (aabb[x, 1] + aabb[x, 4]), 0.5 * (aabb[x, 2] + aabb[x, 5])
    )
    h0, h1, h2 = 0.5 * (aabb[x, 3] - aabb[x, 0]), 0.5 * (aabb[x, 4] - aabb[x, 1]), 0.5 * (aabb[x, 5] - aabb[x, 2])
    g0 = math.fabs(rotation[t, 0]) * h0 + math.fabs(rotation[t, 3]) * h1 + math.fabs(rotation[t, 6]) * h2 + c.margin
    g1 = math.fabs(rotation[t, 1]) * h0 + math.fabs(rotation[t, 4]) * h1 + math.fabs(rotation[t, 7]) * h2 + c.margin
    g2 = math.fabs(rotation[t, 2]) * h0 + math.fabs(rotation[t, 5]) * h1 + math.fabs(rotation[t, 8]) * h2 + c.margin
    return m0 - g0, m1 - g1, m2 - g2, m0 + g0, m1 + g1, m2 + g2


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
def came_behind(c, t, r0, r1, r2):
    """True if the point r, and `outside`, in the axes of shape t, are behind the plane of its first contact."""
    n0, n1, n2 = direction_to_shape(c, t, c.work_normal[0], c.work_normal[1], c.work_normal[2])
    p0, p1, p2 = to_shape(c, t, c.work_point[0, 0], c.work_point[0, 1], c.work_point[0, 2])
    plane = n0 * p0 + n1 * p1 + n2 * p2 - 0.5 * c.work_gap[0]
    q = c.outside
    return n0 * r0 + n1 * r1 + n2 * r2 < plane and n0 * q[0] + n1 * q[1] + n2 * q[2] < plane


@kernel
def triangle_contacts(c, x, t, pair, first, codes, r0, r1, r2):
    """Contacts of the convex shape x with the triangle in slot 0, of surface t; returns their number.

    What touches a face is in front of it as a whole. So what came from behind the plane of a contact did not come
    through there: it has sunk in elsewhere, and a thin wall would be passed if its other face pushed too. (Of a large
    shape x the middle says nothing of where a small surface is, and queries do not know where x was before.)

    Args:
        first, codes: x has contacts with the surface under codes of parts from `first` to `first + codes`.
        r: where the middle of x was before, in the axes of t (3 numbers).
    """
    reach = c.shape_reach[x]
    known = known_side(c, 0, pair, first, codes, reach)
    front = known >= 0
    if known == 0:
        height = height_over(c, 0, t, r0, r1, r2)
        if math.fabs(height) < IN_PLANE * reach:  # as of a triangle that lies flat
            height = height_over(c, 0, t, c.outside[0], c.outside[1], c.outside[2])
        front = height >= 0.0
    closed = c.compound_closed[c.shape_compound[t]] != 0
    if not front and not closed:
        turn_over(c, 0)
    limit = DEEP * reach
    if c.shape_type[x] == SPHERE:
        made = ball_triangle(c, x, 0, limit)
    else:
        made = convex_triangle(c, x, 0, pair, limit)
    if made > 0 and closed and not front and c.interval > 0.0:
        if reach <= c.shape_reach[t] and came_behind(c, t, r0, r1, r2):
            return 0
    if made == 0 and (known > 0 or (known < 0 and not closed)):
        n0, n1, n2 = triangle_normal(c, 0)
        n0, n1, n2 = direction_to_world(c, t, n0, n1, n2)
        _, _, _, height = lowest_point(c, x, 0, n0, n1, n2)
        if -limit < height < 0.0:  # it has sunk through
            made = stand_on(c, x, 0, n0, n1, n2)
    return made


@kernel
def file_compound(c, x, t, pair, part_0, sign, r0, r1, r2):
    """Files the contacts of the convex shape x with compound t.

    Args:
        part_0: code of the part that the first part of t is filed under.
        sign: +1: the pair's normal goes from t to x.
        r: see `triangle_contacts` (3 numbers).
    """
    node_part = c.node_part
    low0, low1, low2, high0, high1, high2 = box_in(c, x, t)
    compound = c.shape_compound[t]
    size = min(c.shape_reach[x], c.shape_reach[t])
    codes = c.part.shape[0]
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
                made = triangle_contacts(c, x, t, pair, part_0, codes, r0, r1, r2)
                file_points(c, made, sign, part_0 + part, size)
        at = next_node(c, at + 1, end, low0, low1, low2, high0, high1, high2)
    return 0


@kernel
def lift(c, x, k):
    """The contact of a shape whose middle is right below the triangle in slot k: what it has sunk by.

    The ground is solid all the way down, so a body that is wholly below its surface is pushed up again.
    """
    corner, s = c.corner, slot(c, k)
    m0, m1, m2 = to_shape(c, s, *part_middle(c, x))
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
def first_part(c, t):
    """The first part of compound t: a triangle, or -1 - piece."""
    at = c.compound_node[c.shape_compound[t]]
    while c.node_part[at, 1] == 0:
        at += 1
    return c.part[c.node_part[at, 0]]


@kernel
def rank(c, t):
    """What shape t is: PIECES, CLOSED, OPEN or MAP. Of two that meet the lower one is taken apart, or the smaller."""
    if c.shape_type[t] == HEIGHTMAP:
        return MAP
    if first_part(c, t) < 0:
        return PIECES
    return CLOSED if c.compound_closed[c.shape_compound[t]] != 0 else OPEN


@kernel
def file_push(c, x, t, pair, sign):
    """Files the contact that pushes shape x back out of the surface t if it has sunk through; returns 1 if it has."""
    made = push_back(c, x, t, pair)
    file_points(c, made, sign, WHOLE, c.shape_reach[x])
    return made


@callback
def convex_surface(address, s, t, pair):
    """Patches of a convex shape with the parts of a compound, or the triangles of a height map under it."""
    c = view(COLLISION, address)
    start_patches(c)
    kind = rank(c, t)
    if kind == MAP:
        file_map(c, s, t, pair, 0, -1.0)
    elif kind == PIECES:
        file_compound(c, s, t, pair, 0, -1.0, 0.0, 0.0, 0.0)
    else:
        file_push(c, s, t, pair, -1.0)
        p = c.outside
        file_compound(c, s, t, pair, 0, -1.0, p[0], p[1], p[2])
        keep_outside(c, pair)
    return finish_patches(c)


@callback
def compound_compound(address, s, t, pair):
    """Patches of the parts of a compound with another or a height map: each part near that is a convex shape."""
    c = view(COLLISION, address)
    node_part = c.node_part
    start_patches(c)
    sign = -1.0
    first, kind = rank(c, s), rank(c, t)
    if kind < first or (kind == first and c.shape_reach[t] < c.shape_reach[s]):
        s, t, sign, kind = t, s, 1.0, first
    surface = kind == CLOSED or kind == OPEN
    sunk = file_push(c, s, t, pair, sign) if surface else 0
    low0, low1, low2, high0, high1, high2 = box_in(c, t, s)
    compound = c.shape_compound[s]
    at, end = c.compound_node[compound], c.compound_node[compound + 1]
    codes = 2 * c.map_height.shape[0] if kind == MAP else c.part.shape[0]
    at = next_node(c, at, end, low0, low1, low2, high0, high1, high2)
    while at < end:
        for part in range(node_part[at, 0], node_part[at, 0] + node_part[at, 1]):
            x = load_part(c, s, part)
            if kind == MAP:
                file_map(c, x, t, pair, part * codes, sign)
            elif surface and sunk == 0:
                m0, m1, m2 = part_middle(c, x)
                r0, r1, r2 = came_from(c, s, t, m0, m1, m2)
                file_compound(c, x, t, pair, part * codes, sign, r0, r1, r2)
            else:
                file_compound(c, x, t, pair, part * codes, sign, c.outside[0], c.outside[1], c.outside[2])
        at = next_node(c, at + 1, end, low0, low1, low2, high0, high1, high2)
    if surface:
        keep_outside(c, pair)
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
