"""Penetration of two convex cores: the expanding polytope algorithm (van den Bergen, 2001).

Minimises the support function h(n) = max over A - B of n . w over unit vectors n, by growing a polytope
inside A - B at the face whose plane is nearest to the origin. Offsets are signed: the origin may lie on the
polytope's surface or a little outside, so that touching shapes are no special case.
"""

from __future__ import annotations

import math

from kido.collision.gjk import add_support, norm
from kido.jit import kernel

DEPTH_TOLERANCE = 1e-10  # on the depth, relative to the shapes' size
MIN_VOLUME = 1e-12  # relative size below which a simplex has no volume
NO_FACE = 1e300


@kernel
def set_vertex(c, row, vertex):
    """Copies a row of the simplex to a vertex of the polytope."""
    w, expand = c.simplex, c.expand
    for m in range(9):
        expand[vertex, m] = w[row, m]
    return 0


@kernel
def add_face(c, face, i, j, k):
    """Face i j k, counterclockwise from outside; its plane, unless it has no area."""
    w, plane, corner = c.expand, c.hull_face, c.hull_corner
    a0, a1, a2 = w[j, 0] - w[i, 0], w[j, 1] - w[i, 1], w[j, 2] - w[i, 2]
    b0, b1, b2 = w[k, 0] - w[i, 0], w[k, 1] - w[i, 1], w[k, 2] - w[i, 2]
    n0, n1, n2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    size = norm(n0, n1, n2)
    corner[face, 0], corner[face, 1], corner[face, 2], corner[face, 3] = i, j, k, 1
    if size > 1e-14 * norm(a0, a1, a2) * norm(b0, b1, b2) and size > 0.0:
        n0, n1, n2 = n0 / size, n1 / size, n2 / size
        plane[face, 0], plane[face, 1], plane[face, 2] = n0, n1, n2
        plane[face, 3] = n0 * w[i, 0] + n1 * w[i, 1] + n2 * w[i, 2]
    else:
        plane[face, 0] = plane[face, 1] = plane[face, 2] = 0.0
        plane[face, 3] = NO_FACE
    return 0


@kernel
def start_direction(c, count, attempt):
    """A direction that leaves the affine hull of the first `count` simplex points."""
    w = c.simplex
    if count == 3:
        a0, a1, a2 = w[1, 0] - w[0, 0], w[1, 1] - w[0, 1], w[1, 2] - w[0, 2]
        b0, b1, b2 = w[2, 0] - w[0, 0], w[2, 1] - w[0, 1], w[2, 2] - w[0, 2]
        sign = 1.0 - 2.0 * (attempt % 2)
        return sign * (a1 * b2 - a2 * b1), sign * (a2 * b0 - a0 * b2), sign * (a0 * b1 - a1 * b0)
    x = 1.0 if attempt // 2 == 0 else 0.0
    y = 1.0 if attempt // 2 == 1 else 0.0
    z = 1.0 if attempt // 2 == 2 else 0.0
    sign = 1.0 - 2.0 * (attempt % 2)
    if count == 2:  # across the segment
        a0, a1, a2 = w[1, 0] - w[0, 0], w[1, 1] - w[0, 1], w[1, 2] - w[0, 2]
        return sign * (a1 * z - a2 * y), sign * (a2 * x - a0 * z), sign * (a0 * y - a1 * x)
    return sign * x, sign * y, sign * z


@kernel
def leaves(c, count, size):
    """True if simplex point `count` is off the affine hull of the points before it."""
    w = c.simplex
    d0, d1, d2 = w[count, 0] - w[0, 0], w[count, 1] - w[0, 1], w[count, 2] - w[0, 2]
    if count == 1:
        return norm(d0, d1, d2) > MIN_VOLUME * size
    a0, a1, a2 = w[1, 0] - w[0, 0], w[1, 1] - w[0, 1], w[1, 2] - w[0, 2]
    if count == 2:
        return norm(a1 * d2 - a2 * d1, a2 * d0 - a0 * d2, a0 * d1 - a1 * d0) > MIN_VOLUME * size * norm(a0, a1, a2)
    b0, b1, b2 = w[2, 0] - w[0, 0], w[2, 1] - w[0, 1], w[2, 2] - w[0, 2]
    n0, n1, n2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    return math.fabs(n0 * d0 + n1 * d1 + n2 * d2) > MIN_VOLUME * size * norm(n0, n1, n2)


@kernel
def start_polytope(c, a, b, count, size):
    """Completes the simplex to a tetrahedron, the first polytope; false if A - B is flat."""
    simplex, w = c.simplex, c.expand
    have = 1
    for k in range(1, min(count, 4)):  # drop points that add no dimension
        for m in range(9):
            simplex[have, m] = simplex[k, m]
        if leaves(c, have, size):
            have += 1
    for want in range(have, 4):
        found = False
        for attempt in range(6):
            if not found:
                x, y, z = start_direction(c, want, attempt)
                add_support(c, want, a, b, x, y, z)
                found = leaves(c, want, size)
        if not found:
            return False
    for k in range(4):
        set_vertex(c, k, k)
    volume = 0.0
    for k in range(3):
        m, n = (k + 1) % 3, (k + 2) % 3
        volume += (w[1, k] - w[0, k]) * (
            (w[2, m] - w[0, m]) * (w[3, n] - w[0, n]) - (w[2, n] - w[0, n]) * (w[3, m] - w[0, m])
        )
    i, j = (1, 2) if volume > 0.0 else (2, 1)
    add_face(c, 0, 0, j, i)
    add_face(c, 1, 0, i, 3)
    add_face(c, 2, i, j, 3)
    add_face(c, 3, j, 0, 3)
    return True


@kernel
def add_edge(c, edges, i, j):
    """Adds edge i j to the horizon, or removes it if it is there the other way round; returns the count."""
    horizon = c.horizon
    for e in range(edges):
        if horizon[e, 0] == j and horizon[e, 1] == i:
            horizon[e, 0], horizon[e, 1] = horizon[edges - 1, 0], horizon[edges - 1, 1]
            return edges - 1
    if edges < horizon.shape[0]:
        horizon[edges, 0], horizon[edges, 1] = i, j
        return edges + 1
    return edges


@kernel
def expand_polytope(c, faces, vertex, near):
    """Takes vertex `vertex` into the polytope: faces that see it go, the hole is closed by new ones.

    Returns the new number of faces, dead ones included; 0 if the arrays are full.
    """
    w, plane, corner, horizon = c.expand, c.hull_face, c.hull_corner, c.horizon
    x, y, z = w[vertex, 0], w[vertex, 1], w[vertex, 2]
    edges = 0
    for f in range(faces):
        if corner[f, 3] == 1:
            i, j, k = corner[f, 0], corner[f, 1], corner[f, 2]
            above = plane[f, 0] * x + plane[f, 1] * y + plane[f, 2] * z - plane[f, 3]
            if above > near:
                corner[f, 3] = 0
                edges = add_edge(c, edges, i, j)
                edges = add_edge(c, edges, j, k)
                edges = add_edge(c, edges, k, i)
    free = 0
    for e in range(edges):
        while free < faces and corner[free, 3] == 1:
            free += 1
        if free >= corner.shape[0]:
            return 0
        add_face(c, free, horizon[e, 0], horizon[e, 1], vertex)
        faces = max(faces, free + 1)
        free += 1
    return faces


@kernel
def nearest_face(c, faces):
    """The face whose plane has the least signed offset from the origin; -1 if there is none."""
    plane, corner = c.hull_face, c.hull_corner
    best, nearest = NO_FACE, -1
    for f in range(faces):
        if corner[f, 3] == 1 and plane[f, 3] < best:
            best, nearest = plane[f, 3], f
    return nearest


@kernel
def penetration(c, a, b, count):
    """Direction in which two cores overlap least.

    Starts from the simplex of `distance`. Leaves the nearest points' triangle in the simplex.

    Returns:
        found: false if A - B is flat.
        n: unit normal from A to B (3 numbers).
        depth: overlap along n [m], negative if the cores are separated.
    """
    w, plane, corner, simplex = c.expand, c.hull_face, c.hull_corner, c.simplex
    size = c.shape_reach[a] + c.shape_reach[b]
    if not start_polytope(c, a, b, count, size):
        return False, 0.0, 0.0, 0.0, 0.0
    faces, vertices = 4, 4
    near = 1e-13 * size
    nearest = nearest_face(c, faces)
    best, kept0, kept1, kept2 = NO_FACE, 0, 1, 2
    n0 = n1 = n2 = 0.0
    while nearest >= 0:
        m0, m1, m2 = plane[nearest, 0], plane[nearest, 1], plane[nearest, 2]
        offset = plane[nearest, 3]
        s0, s1, s2 = add_support(c, 0, a, b, m0, m1, m2)
        height = m0 * s0 + m1 * s1 + m2 * s2
        if height < best:  # the best upper bound so far, should the arrays fill up
            best, n0, n1, n2 = height, m0, m1, m2
            kept0, kept1, kept2 = corner[nearest, 0], corner[nearest, 1], corner[nearest, 2]
        if height - offset <= DEPTH_TOLERANCE * size or vertices >= w.shape[0]:
            break
        set_vertex(c, 0, vertices)
        faces = expand_polytope(c, faces, vertices, near)
        vertices += 1
        nearest = nearest_face(c, faces)
    for m in range(9):
        simplex[0, m] = w[kept0, m]
        simplex[1, m] = w[kept1, m]
        simplex[2, m] = w[kept2, m]
    return best < NO_FACE, n0, n1, n2, best
