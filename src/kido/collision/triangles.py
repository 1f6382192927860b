"""Triangles of meshes and height maps: fetched into a slot, and which normals their edges and corners may have.

A triangle knows the vertices across its edges. A contact normal on an edge or a corner is one that the surface has
there only if no neighbour rises above the plane through the contact across that normal. Edges inside of a flat or
hollow surface have none, so that nothing trips over them.
"""

from __future__ import annotations

import math

from kido.collision.container import HEIGHTMAP, TRIANGLE
from kido.collision.pairs.frames import to_world
from kido.jit import kernel

EDGE_TOLERANCE = 1e-6  # fraction of a triangle's size within which corners are equally far along a normal


@kernel
def slot(c, k):
    """Index, among the shapes, of slot k."""
    return c.shape_body.shape[0] + k


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
def vertex_at(c, t, v):
    """Vertex v of a compound or height map, in its axes [m]."""
    if c.shape_type[t] == HEIGHTMAP:
        m = c.shape_compound[t]
        rows, columns = c.map_size[m, 0], c.map_size[m, 1]
        i = v // columns
        j = v - i * columns
        x = (j - 0.5 * (columns - 1)) * c.map_spacing[m, 0]
        y = (i - 0.5 * (rows - 1)) * c.map_spacing[m, 1]
        return x, y, c.map_height[c.map_first[m] + v]
    return c.hull_vertex[v, 0], c.hull_vertex[v, 1], c.hull_vertex[v, 2]


@kernel
def place_triangle(c, k, t):
    """Makes slot k the triangle whose vertices are named in `corner_vertex`, of shape t."""
    corner, vertex = c.corner, c.corner_vertex
    s = slot(c, k)
    x, y, z = vertex_at(c, t, vertex[k, 0])
    corner[k, 0, 0], corner[k, 0, 1], corner[k, 0, 2] = 0.0, 0.0, 0.0
    size = 0.0
    for m in range(1, 3):
        p, q, r = vertex_at(c, t, vertex[k, m])
        corner[k, m, 0], corner[k, m, 1], corner[k, m, 2] = p - x, q - y, r - z
        size = max(size, (p - x) * (p - x) + (q - y) * (q - y) + (r - z) * (r - z))
    c.shape_type[s] = TRIANGLE
    c.shape_hull[s] = k
    c.shape_reach[s] = 0.5 * math.sqrt(size)
    c.corner_shape[k] = t
    for m in range(9):
        c.rotation[s, m] = c.rotation[t, m]
    c.position[s, 0], c.position[s, 1], c.position[s, 2] = to_world(c, t, x, y, z)
    return s


@kernel
def load_triangle(c, k, t, row):
    """Fetches a mesh's triangle, a row of `triangle`, into slot k; returns the slot's index among the shapes."""
    for m in range(6):
        c.corner_vertex[k, m] = c.triangle[row, m]
    return place_triangle(c, k, t)


@kernel
def load_cell(c, k, t, i, j, half):
    """Fetches one half (0: below the diagonal, 1: above) of cell (i, j) of a height map into slot k."""
    vertex, m = c.corner_vertex, c.shape_compound[t]
    rows, columns = c.map_size[m, 0], c.map_size[m, 1]
    v = i * columns + j
    vertex[k, 0] = v
    if half == 0:
        vertex[k, 1], vertex[k, 2] = v + 1, v + columns + 1
        vertex[k, 3] = v - columns if i > 0 else -1
        vertex[k, 4] = v + columns + 2 if j + 2 < columns else -1
        vertex[k, 5] = v + columns
    else:
        vertex[k, 1], vertex[k, 2] = v + columns + 1, v + columns
        vertex[k, 3] = v + 1
        vertex[k, 4] = v + 2 * columns + 1 if i + 2 < rows else -1
        vertex[k, 5] = v - 1 if j > 0 else -1
    return place_triangle(c, k, t)


@kernel
def turn_over(c, k):
    """Turns the triangle in slot k over, so that its other side is the outer one."""
    corner, vertex = c.corner, c.corner_vertex
    for m in range(3):
        corner[k, 1, m], corner[k, 2, m] = corner[k, 2, m], corner[k, 1, m]
    vertex[k, 1], vertex[k, 2] = vertex[k, 2], vertex[k, 1]
    vertex[k, 3], vertex[k, 5] = vertex[k, 5], vertex[k, 3]
    return 0


@kernel
def _rises(c, t, v, w, x, y, z, tolerance):
    """True if vertex w is higher along (x, y, z) than vertex v, seen from there."""
    p0, p1, p2 = vertex_at(c, t, v)
    q0, q1, q2 = vertex_at(c, t, w)
    q0, q1, q2 = q0 - p0, q1 - p1, q2 - p2
    return q0 * x + q1 * y + q2 * z > tolerance * math.sqrt(q0 * q0 + q1 * q1 + q2 * q2)


@kernel
def vertex_allows(c, t, v, x, y, z, tolerance):
    """True if no neighbour of vertex v of shape t is higher along the unit vector (x, y, z)."""
    if c.shape_type[t] == HEIGHTMAP:
        m = c.shape_compound[t]
        rows, columns = c.map_size[m, 0], c.map_size[m, 1]
        i = v // columns
        j = v - i * columns
        for di in range(-1, 2):
            for dj in range(-1, 2):
                if (
                    di * dj != -1
                    and (di != 0 or dj != 0)
                    and 0 <= i + di < rows
                    and 0 <= j + dj < columns
                    and _rises(c, t, v, v + di * columns + dj, x, y, z, tolerance)
                ):
                    return False
        return True
    for k in range(c.neighbor_first[v], c.neighbor_first[v + 1]):
        if _rises(c, t, v, c.neighbor[k], x, y, z, tolerance):
            return False
    return True


@kernel
def edge_allows(c, k, e, x, y, z, tolerance):
    """True if the triangle across edge e (0: corners 0 and 1, ...) of slot k does not rise along (x, y, z)."""
    w = c.corner_vertex[k, 3 + e]
    if w < 0:
        return True
    t = c.corner_shape[k]
    p0, p1, p2 = vertex_at(c, t, c.corner_vertex[k, e])
    q0, q1, q2 = vertex_at(c, t, c.corner_vertex[k, e + 1 if e < 2 else 0])
    w0, w1, w2 = vertex_at(c, t, w)
    q0, q1, q2 = q0 - p0, q1 - p1, q2 - p2
    w0, w1, w2 = w0 - p0, w1 - p1, w2 - p2
    along = (q0 * w0 + q1 * w1 + q2 * w2) / (q0 * q0 + q1 * q1 + q2 * q2)
    w0, w1, w2 = w0 - along * q0, w1 - along * q1, w2 - along * q2  # from the edge to the vertex, across it
    return w0 * x + w1 * y + w2 * z <= tolerance * math.sqrt(w0 * w0 + w1 * w1 + w2 * w2)


@kernel
def allows(c, k, x, y, z, n0, n1, n2, tolerance):
    """True if the surface about the triangle in slot k, with outward normal n, may have the unit vector (x, y, z)
    as a contact normal; all in the shape's axes."""
    corner = c.corner
    if n0 * x + n1 * y + n2 * z < -tolerance:
        return False
    best = -1e300
    for m in range(3):
        best = max(best, corner[k, m, 0] * x + corner[k, m, 1] * y + corner[k, m, 2] * z)
    limit = best - EDGE_TOLERANCE * c.shape_reach[slot(c, k)]
    highest, count, left_out = 0, 0, 0
    for m in range(3):
        if corner[k, m, 0] * x + corner[k, m, 1] * y + corner[k, m, 2] * z >= limit:
            highest = m
            count += 1
        else:
            left_out = m
    if count == 3:
        return True
    if count == 2:  # the edge opposite to the corner left out
        return edge_allows(c, k, left_out + 1 if left_out < 2 else 0, x, y, z, tolerance)
    return vertex_allows(c, c.corner_shape[k], c.corner_vertex[k, highest], x, y, z, tolerance)
