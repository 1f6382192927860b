"""Rays against shapes without a closed form: triangles of meshes, cells of height maps, hulls of balls.

A mesh's tree of boxes is walked as detection walks it; a height map's cells are crossed one after the other along
the ray; a hull of balls is approached in steps as long as its distance allows (convex: no step passes it).
"""

from __future__ import annotations

import math

from kido.collision.container import SPHERE
from kido.collision.features import triangle_normal
from kido.collision.pairs.compound import load_piece
from kido.collision.pairs.convex import NEAREST_AT, nearest_points
from kido.collision.pairs.frames import direction_to_shape, direction_to_world, to_shape
from kido.collision.rays import MISS, NO_WAY, crosses, ray_convex
from kido.collision.triangles import load_cell, load_triangle, slot
from kido.jit import kernel

APPROACH_STEPS = 60  # of the approach to a hull of balls
REACHED_GAP = 1e-9  # gap, as a fraction of the size, at which it is reached


@kernel
def ray_corners(c, k, x, y, z, e0, e1, e2, both):
    """Ray and the triangle in slot k: fraction and outward normal, world axes (Moeller and Trumbore 1997).

    Args:
        both: 1: both sides are hit, and the normal is against the ray; 0: only the outer side.
    """
    corner, s = c.corner, slot(c, k)
    o0, o1, o2 = to_shape(c, s, x, y, z)
    d0, d1, d2 = direction_to_shape(c, s, e0, e1, e2)
    a0, a1, a2 = corner[k, 1, 0], corner[k, 1, 1], corner[k, 1, 2]  # the first corner is the origin
    b0, b1, b2 = corner[k, 2, 0], corner[k, 2, 1], corner[k, 2, 2]
    p0, p1, p2 = d1 * b2 - d2 * b1, d2 * b0 - d0 * b2, d0 * b1 - d1 * b0
    volume = a0 * p0 + a1 * p1 + a2 * p2  # positive: the ray goes against the outward normal
    if math.fabs(volume) < NO_WAY or (volume < 0.0 and both == 0):
        return MISS, 0.0, 0.0, 0.0
    u = (o0 * p0 + o1 * p1 + o2 * p2) / volume
    q0, q1, q2 = o1 * a2 - o2 * a1, o2 * a0 - o0 * a2, o0 * a1 - o1 * a0
    v = (d0 * q0 + d1 * q1 + d2 * q2) / volume
    t = (b0 * q0 + b1 * q1 + b2 * q2) / volume
    if u < -1e-12 or v < -1e-12 or u + v > 1.0 + 1e-12 or t < 0.0:  # no gap between neighbours
        return MISS, 0.0, 0.0, 0.0
    n0, n1, n2 = triangle_normal(c, k)
    if volume < 0.0:
        n0, n1, n2 = -n0, -n1, -n2
    n0, n1, n2 = direction_to_world(c, s, n0, n1, n2)
    return t, n0, n1, n2


@kernel
def ray_compound(c, t, x, y, z, e0, e1, e2):
    """Ray and the parts of compound t: fraction and normal of the first entry, world axes."""
    box, node_next, node_part = c.node_box, c.node_next, c.node_part
    o0, o1, o2 = to_shape(c, t, x, y, z)
    d0, d1, d2 = direction_to_shape(c, t, e0, e1, e2)
    compound = c.shape_compound[t]
    both = 1 - c.compound_closed[compound]
    best, n0, n1, n2 = MISS, 0.0, 0.0, 0.0
    at, end = c.compound_node[compound], c.compound_node[compound + 1]
    while at < end:
        if not crosses(
            *(box[at, 0], box[at, 1], box[at, 2], box[at, 3], box[at, 4], box[at, 5], o0, o1, o2, d0, d1, d2, best)
        ):
            at = node_next[at]
            continue
        for part in range(node_part[at, 0], node_part[at, 0] + node_part[at, 1]):
            row = c.part[part]
            if row < 0:
                f, m0, m1, m2 = ray_convex(c, load_piece(c, 0, t, -1 - row), x, y, z, e0, e1, e2)
            else:
                load_triangle(c, 0, t, row)
                f, m0, m1, m2 = ray_corners(c, 0, x, y, z, e0, e1, e2, both)
            if f < best:
                best, n0, n1, n2 = f, m0, m1, m2
        at += 1
    return best, n0, n1, n2


@kernel
def next_line(o, d, cell, spacing, lines):
    """Fraction at which a ray in a cell along one axis leaves it; MISS if it runs along it."""
    if math.fabs(d) < NO_WAY:
        return MISS
    line = cell + 1 if d > 0.0 else cell
    return ((line - 0.5 * (lines - 1)) * spacing - o) / d


@kernel
def ray_heightmap(c, t, x, y, z, e0, e1, e2):
    """Ray and height map t, from above: fraction and normal, world axes."""
    m = c.shape_compound[t]
    rows, columns = c.map_size[m, 0], c.map_size[m, 1]
    dx, dy = c.map_spacing[m, 0], c.map_spacing[m, 1]
    o0, o1, o2 = to_shape(c, t, x, y, z)
    d0, d1, d2 = direction_to_shape(c, t, e0, e1, e2)
    half0, half1 = 0.5 * (columns - 1) * dx, 0.5 * (rows - 1) * dy
    if not crosses(-half0, -half1, -1e300, half0, half1, 1e300, o0, o1, o2, d0, d1, d2, 1.0):
        return MISS, 0.0, 0.0, 0.0
    start = 0.0
    for i in range(2):
        o, d, half = (o0, d0, half0) if i == 0 else (o1, d1, half1)
        if math.fabs(d) >= NO_WAY:
            start = max(start, min((-half - o) / d, (half - o) / d))
    j = min(max(math.floor((o0 + start * d0 + half0) / dx), 0), columns - 2)
    i = min(max(math.floor((o1 + start * d1 + half1) / dy), 0), rows - 2)
    while 0 <= i < rows - 1 and 0 <= j < columns - 1 and start <= 1.0:
        best, n0, n1, n2 = MISS, 0.0, 0.0, 0.0
        for half in range(2):
            load_cell(c, 0, t, i, j, half)
            f, m0, m1, m2 = ray_corners(c, 0, x, y, z, e0, e1, e2, 0)
            if f < best:
                best, n0, n1, n2 = f, m0, m1, m2
        if best < MISS:
            return best, n0, n1, n2
        along_x, along_y = next_line(o0, d0, j, dx, columns), next_line(o1, d1, i, dy, rows)
        start = min(along_x, along_y)
        if start >= MISS:
            break
        if along_x <= along_y:
            j += 1 if d0 > 0.0 else -1
        else:
            i += 1 if d1 > 0.0 else -1
    return MISS, 0.0, 0.0, 0.0


@kernel
def ray_balls(c, s, x, y, z, e0, e1, e2):
    """Ray and the convex hull of balls s: fraction and normal, world axes."""
    probe = slot(c, 1)
    c.shape_type[probe] = SPHERE
    c.shape_size[probe, 0] = 0.0
    c.shape_reach[probe] = c.shape_reach[s]
    margin = c.margin
    c.margin = 1e30
    f, found = 0.0, MISS
    n0 = n1 = n2 = 0.0
    for step in range(APPROACH_STEPS):
        c.position[probe, 0], c.position[probe, 1], c.position[probe, 2] = x + f * e0, y + f * e1, z + f * e2
        for i in range(3):
            c.pair_axis[0, i] = 0.0
        if not nearest_points(c, s, probe, 0):
            break
        gap = c.number[NEAREST_AT + 3]
        n0, n1, n2 = c.number[NEAREST_AT], c.number[NEAREST_AT + 1], c.number[NEAREST_AT + 2]
        if gap <= REACHED_GAP * c.shape_reach[s]:
            if step > 0:  # else it starts inside
                found = f
            break
        speed = -(n0 * e0 + n1 * e1 + n2 * e2)
        if speed <= 0.0:
            break
        f += gap / speed
        if f > 1.0 + REACHED_GAP:
            break
    c.margin = margin
    return found, n0, n1, n2
