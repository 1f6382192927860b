"""Rays against shapes: the first point at which a ray enters a solid, and the normal there; in batches for all shapes.

All solids of the detector but planes and surfaces are convex, so that a ray enters each once: the interval of the ray
inside is cut out by slabs (box, ends of a cylinder), quadrics (sphere, cylinder, cone, ellipsoid) or faces (hull).
A ray is x = o + t d with t from 0 to 1; d is not normalised. A ray that starts inside does not enter.

A mesh's tree of boxes is walked as detection walks it; a height map's cells are crossed one after the other along
the ray; a hull of balls is approached in steps as long as its distance allows (convex: no step passes it).
"""

from __future__ import annotations

import math

from kido.collision.container import COLLISION, COMPOUND, HEIGHTMAP, HULL, PLANE, SPHERES
from kido.collision.features import triangle_normal
from kido.collision.pairs.compound import load_piece
from kido.collision.pairs.convex import NEAREST_AT, nearest_points
from kido.collision.pairs.frames import direction_to_shape, direction_to_world, to_shape
from kido.collision.primitives import MISS, NO_WAY, SPHERE, ray_primitive
from kido.collision.triangles import load_cell, load_triangle, slot
from kido.jit import entry, kernel, view


@kernel
def crosses(low0, low1, low2, high0, high1, high2, o0, o1, o2, d0, d1, d2, most):
    """Whether a ray meets a box before the fraction `most`."""
    first, last = 0.0, most
    for i in range(3):
        o = o0 if i == 0 else (o1 if i == 1 else o2)
        d = d0 if i == 0 else (d1 if i == 1 else d2)
        near = (low0 if i == 0 else (low1 if i == 1 else low2)) - o
        far = (high0 if i == 0 else (high1 if i == 1 else high2)) - o
        if math.fabs(d) < NO_WAY:
            if near > 0.0 or far < 0.0:
                return False
        else:
            near, far = near / d, far / d
            if near > far:
                near, far = far, near
            first, last = max(first, near), min(last, far)
            if first > last:
                return False
    return True


@kernel
def ray_hull(c, h, o0, o1, o2, d0, d1, d2):
    """Ray and convex hull, cut by the planes of its faces: fraction and normal."""
    low, high = -1e300, 1e300
    n0 = n1 = n2 = 0.0
    for f in range(c.face_first[h], c.face_first[h + 1]):
        m0, m1, m2 = c.face_normal[f, 0], c.face_normal[f, 1], c.face_normal[f, 2]
        v = c.face_vertex[c.face_loop[f]]
        height = m0 * (o0 - c.hull_vertex[v, 0]) + m1 * (o1 - c.hull_vertex[v, 1]) + m2 * (o2 - c.hull_vertex[v, 2])
        rate = m0 * d0 + m1 * d1 + m2 * d2
        if math.fabs(rate) < NO_WAY:
            if height > 0.0:
                return MISS, 0.0, 0.0, 0.0
        elif rate < 0.0:
            t = -height / rate
            if t > low:
                low, n0, n1, n2 = t, m0, m1, m2
        else:
            high = min(high, -height / rate)
    if low > high or low < 0.0:
        return MISS, 0.0, 0.0, 0.0
    return low, n0, n1, n2


@kernel
def ray_convex(c, s, x, y, z, e0, e1, e2):
    """Where the ray from (x, y, z) along (e0, e1, e2), world axes, enters a plane or a convex shape s.

    Returns:
        fraction (MISS or more if it does not) and outward normal, world axes (3 numbers).
    """
    kind = c.shape_type[s]
    o0, o1, o2 = to_shape(c, s, x, y, z)
    d0, d1, d2 = direction_to_shape(c, s, e0, e1, e2)
    a, b, e = c.shape_size[s, 0], c.shape_size[s, 1], c.shape_size[s, 2]
    t, n0, n1, n2 = MISS, 0.0, 0.0, 0.0
    if kind == PLANE:
        if o2 > 0.0 and d2 < 0.0:
            t, n2 = -o2 / d2, 1.0
    elif kind < HULL:
        t, n0, n1, n2 = ray_primitive(kind, o0, o1, o2, d0, d1, d2, a, b, e)
    elif kind == HULL:
        t, n0, n1, n2 = ray_hull(c, c.shape_hull[s], o0, o1, o2, d0, d1, d2)
    n0, n1, n2 = direction_to_world(c, s, n0, n1, n2)
    return t, n0, n1, n2


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


@kernel
def ray_shape(c, s, x, y, z, e0, e1, e2):
    """Where the ray from (x, y, z) along (e0, e1, e2), world axes, enters shape s.

    Returns:
        fraction (MISS or more if it does not) and outward normal, world axes (3 numbers).
    """
    kind = c.shape_type[s]
    if kind == COMPOUND:
        return ray_compound(c, s, x, y, z, e0, e1, e2)
    if kind == HEIGHTMAP:
        return ray_heightmap(c, s, x, y, z, e0, e1, e2)
    if kind == SPHERES:
        return ray_balls(c, s, x, y, z, e0, e1, e2)
    return ray_convex(c, s, x, y, z, e0, e1, e2)


@kernel
def meets_box(c, s, x, y, z, d0, d1, d2, most):
    """Whether a ray meets the bounding box of a shape before the fraction `most`."""
    box = c.aabb
    low0, low1, low2, high0, high1, high2 = box[s, 0], box[s, 1], box[s, 2], box[s, 3], box[s, 4], box[s, 5]
    return crosses(low0, low1, low2, high0, high1, high2, x, y, z, d0, d1, d2, most)


@entry("i8(i8, i8[::1], f8[:,::1], f8[:,::1], i8[::1], f8[:,::1])")
def first_hits(address, wanted, starts, ends, shape, numbers):
    """The first hit of each ray: shape (-1 for none) and [fraction, normal] of each.

    Args:
        wanted: (shapes,) 0 for shapes that rays pass through.
    """
    c = view(COLLISION, address)
    shapes = c.shape_body.shape[0]
    for r in range(starts.shape[0]):
        x, y, z = starts[r, 0], starts[r, 1], starts[r, 2]
        d0, d1, d2 = ends[r, 0] - x, ends[r, 1] - y, ends[r, 2] - z
        best, n0, n1, n2, which = 1.0, 0.0, 0.0, 0.0, -1
        for s in range(shapes):
            if wanted[s] != 0 and (c.shape_type[s] == PLANE or meets_box(c, s, x, y, z, d0, d1, d2, best)):
                t, m0, m1, m2 = ray_shape(c, s, x, y, z, d0, d1, d2)
                if t < best or (t == best and which < 0):
                    best, n0, n1, n2, which = t, m0, m1, m2, s
        shape[r] = which
        numbers[r, 0], numbers[r, 1], numbers[r, 2], numbers[r, 3] = best, n0, n1, n2
    return 0


@entry("i8(i8, i8[::1], f8[:,::1], f8[:,::1], i8[:,::1], f8[:,::1])")
def all_hits(address, wanted, starts, ends, which, numbers):
    """All hits: [ray, shape] and [fraction, normal] of each, by ray. Returns how many there are, stored or not."""
    c = view(COLLISION, address)
    shapes = c.shape_body.shape[0]
    found = 0
    for r in range(starts.shape[0]):
        x, y, z = starts[r, 0], starts[r, 1], starts[r, 2]
        d0, d1, d2 = ends[r, 0] - x, ends[r, 1] - y, ends[r, 2] - z
        for s in range(shapes):
            if wanted[s] != 0 and (c.shape_type[s] == PLANE or meets_box(c, s, x, y, z, d0, d1, d2, 1.0)):
                t, m0, m1, m2 = ray_shape(c, s, x, y, z, d0, d1, d2)
                if t <= 1.0:
                    if found < which.shape[0]:
                        which[found, 0], which[found, 1] = r, s
                        numbers[found, 0], numbers[found, 1] = t, m0
                        numbers[found, 2], numbers[found, 3] = m1, m2
                    found += 1
    return found
