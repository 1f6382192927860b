"""A height map and another shape: the triangles of the cells under it, found by index."""

from __future__ import annotations

import math

from kido.collision.container import COLLISION, SPHERE
from kido.collision.features import triangle_normal
from kido.collision.manifold import set_normal
from kido.collision.pairs.compound import DEEP, box_in, load_part, middle_in, next_node
from kido.collision.pairs.frames import direction_to_world, to_world
from kido.collision.pairs.plane import add_lowest
from kido.collision.pairs.triangle import add_lowest as add_lowest_over
from kido.collision.pairs.triangle import ball_triangle, convex_triangle
from kido.collision.patches import file_points, finish_patches, start_patches
from kido.collision.triangles import load_cell, slot
from kido.jit import callback, kernel, view


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


@callback
def convex_heightmap(address, s, t, pair):
    """Patches of a convex shape with the triangles under it."""
    c = view(COLLISION, address)
    start_patches(c)
    file_map(c, s, t, pair, 0, -1.0)
    return finish_patches(c)


@callback
def compound_heightmap(address, s, t, pair):
    """Patches of each part of a compound with the triangles under it."""
    c = view(COLLISION, address)
    node_part = c.node_part
    start_patches(c)
    low0, low1, low2, high0, high1, high2 = box_in(c, t, s)
    compound = c.shape_compound[s]
    at, end = c.compound_node[compound], c.compound_node[compound + 1]
    cells = 2 * c.map_height.shape[0]
    at = next_node(c, at, end, low0, low1, low2, high0, high1, high2)
    while at < end:
        for part in range(node_part[at, 0], node_part[at, 0] + node_part[at, 1]):
            x = load_part(c, s, part)
            file_map(c, x, t, pair, part * cells, -1.0)
        at = next_node(c, at + 1, end, low0, low1, low2, high0, high1, high2)
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
