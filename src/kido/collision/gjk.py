"""Distance of two convex cores: Gilbert, Johnson and Keerthi (1988).

Rows of `simplex` hold a point of A - B and the points of A and B it comes from. The nearest point of a
simplex is found face by face and edge by edge, with areas that lose no digits when the simplex is small and
far away."""

from __future__ import annotations

import math

from kido.collision.support import support
from kido.jit import kernel
from kido.math.so3 import cross

GJK_ROUNDS = 80
RELATIVE = 1e-14  # on the squared distance
MIN_TILT = 1e-10  # sine of the angle of an edge and a face below which a tetrahedron is flat
SEPARATED, BEYOND_LIMIT, OVERLAP = 0, 1, 2
WEIGHT = 24  # places of the four weights in the scratch numbers


@kernel
def norm(x, y, z):
    """Length of a vector."""
    return math.sqrt(x * x + y * y + z * z)


@kernel
def add_support(c, row, a, b, x, y, z):
    """Writes the support of A - B along (x, y, z) into a row of the simplex; returns the point of A - B."""
    simplex = c.simplex
    p0, p1, p2 = support(c, a, a, x, y, z)
    q0, q1, q2 = support(c, b, a, -x, -y, -z)
    simplex[row, 0], simplex[row, 1], simplex[row, 2] = p0 - q0, p1 - q1, p2 - q2
    simplex[row, 3], simplex[row, 4], simplex[row, 5] = p0, p1, p2
    simplex[row, 6], simplex[row, 7], simplex[row, 8] = q0, q1, q2
    return p0 - q0, p1 - q1, p2 - q2


@kernel
def weigh_segment(c, i, j):
    """Weight of point j in the point of segment i j nearest to the origin."""
    w = c.simplex
    along = length2 = 0.0
    for k in range(3):
        e = w[j, k] - w[i, k]
        along -= w[i, k] * e
        length2 += e * e
    if along <= 0.0:
        return 0.0
    if along >= length2:
        return 1.0
    return along / length2


@kernel
def segment_distance2(c, i, j, t):
    """Squared distance of the origin from the point of segment i j with weight t of point j."""
    w = c.simplex
    size = 0.0
    for k in range(3):
        x = w[i, k] + t * (w[j, k] - w[i, k])
        size += x * x
    return size


@kernel
def weigh_triangle(c, i, j, k):
    """Weights of the three corners in the point of triangle i j k nearest to the origin.

    The areas are taken about the origin's foot on the plane, which stays exact for small, far triangles.
    """
    w = c.simplex
    x0, x1, x2 = w[i, 0], w[i, 1], w[i, 2]
    y0, y1, y2 = w[j, 0], w[j, 1], w[j, 2]
    z0, z1, z2 = w[k, 0], w[k, 1], w[k, 2]
    n0, n1, n2 = cross(y0 - x0, y1 - x1, y2 - x2, z0 - x0, z1 - x1, z2 - x2)
    square = n0 * n0 + n1 * n1 + n2 * n2
    vi = vj = vk = -1.0
    if square > 0.0:
        foot = (n0 * x0 + n1 * x1 + n2 * x2) / square
        p0, p1, p2 = foot * n0, foot * n1, foot * n2
        x0, x1, x2 = x0 - p0, x1 - p1, x2 - p2
        y0, y1, y2 = y0 - p0, y1 - p1, y2 - p2
        z0, z1, z2 = z0 - p0, z1 - p1, z2 - p2
        c0, c1, c2 = cross(y0, y1, y2, z0, z1, z2)
        vi = n0 * c0 + n1 * c1 + n2 * c2
        c0, c1, c2 = cross(z0, z1, z2, x0, x1, x2)
        vj = n0 * c0 + n1 * c1 + n2 * c2
        c0, c1, c2 = cross(x0, x1, x2, y0, y1, y2)
        vk = n0 * c0 + n1 * c1 + n2 * c2
        if vi >= 0.0 and vj >= 0.0 and vk >= 0.0:
            total = 1.0 / (vi + vj + vk)
            return vi * total, vj * total, vk * total
    # On an edge, across which the foot lies.
    best = 1e300
    a = b = d = 0.0
    if vi < 0.0:
        t = weigh_segment(c, j, k)
        best = segment_distance2(c, j, k, t)
        a, b, d = 0.0, 1.0 - t, t
    if vj < 0.0:
        t = weigh_segment(c, i, k)
        size = segment_distance2(c, i, k, t)
        if size < best:
            best = size
            a, b, d = 1.0 - t, 0.0, t
    if vk < 0.0:
        t = weigh_segment(c, i, j)
        if segment_distance2(c, i, j, t) < best:
            a, b, d = 1.0 - t, t, 0.0
    return a, b, d


@kernel
def outside(c, i, j, k, opposite):
    """True if the plane of i, j, k does not separate the inside of the tetrahedron from the origin's far
    side: the origin lies on the other side than the fourth corner, or the tetrahedron is flat."""
    w = c.simplex
    a0, a1, a2 = w[j, 0] - w[i, 0], w[j, 1] - w[i, 1], w[j, 2] - w[i, 2]
    b0, b1, b2 = w[k, 0] - w[i, 0], w[k, 1] - w[i, 1], w[k, 2] - w[i, 2]
    n0, n1, n2 = cross(a0, a1, a2, b0, b1, b2)
    d0, d1, d2 = w[opposite, 0] - w[i, 0], w[opposite, 1] - w[i, 1], w[opposite, 2] - w[i, 2]
    origin = -(n0 * w[i, 0] + n1 * w[i, 1] + n2 * w[i, 2])
    inside = n0 * d0 + n1 * d1 + n2 * d2
    if math.fabs(inside) <= MIN_TILT * norm(n0, n1, n2) * norm(d0, d1, d2):
        return True
    return origin * inside <= 0.0


@kernel
def weigh_tetrahedron(c):
    """Sets the weights of the tetrahedron's point nearest to the origin; false if the origin is inside."""
    w, number = c.simplex, c.number
    best = 1e300
    found = False
    for face in range(4):
        i = 0 if face != 0 else 1
        j = 1 if face > 1 else 2
        k = 2 if face == 3 else 3
        if outside(c, i, j, k, face):
            a, b, d = weigh_triangle(c, i, j, k)
            size = 0.0
            for m in range(3):
                x = a * w[i, m] + b * w[j, m] + d * w[k, m]
                size += x * x
            if size < best:
                best = size
                found = True
                number[WEIGHT + face] = 0.0
                number[WEIGHT + i], number[WEIGHT + j], number[WEIGHT + k] = a, b, d
    return found


@kernel
def weigh(c, count):
    """Sets the weights of the simplex's point nearest to the origin; false if the origin is inside."""
    number = c.number
    if count == 4:
        return weigh_tetrahedron(c)
    if count == 3:
        number[WEIGHT], number[WEIGHT + 1], number[WEIGHT + 2] = weigh_triangle(c, 0, 1, 2)
    elif count == 2:
        t = weigh_segment(c, 0, 1)
        number[WEIGHT], number[WEIGHT + 1] = 1.0 - t, t
    else:
        number[WEIGHT] = 1.0
    return True


@kernel
def distance(c, a, b, x, y, z, limit):
    """Nearest points of the cores of two shapes.

    Args:
        x, y, z: first guess of a vector from B to A; not zero.
        limit: cores farther apart than this are not resolved.

    Returns:
        state: SEPARATED (v is the vector from the nearest point of B to that of A), BEYOND_LIMIT (v separates the
            cores by more than `limit`) or OVERLAP (they overlap, or are too near for a direction).
        count: points of the simplex, whose weights make up the nearest points.
        v: (3 numbers) [m].
    """
    w, number = c.simplex, c.number
    count = 0
    old2 = 1e300
    reach = min(c.shape_reach[a], c.shape_reach[b])
    nothing = 1e-14 * reach * reach
    p0, p1, p2 = x, y, z
    for _ in range(GJK_ROUNDS):
        s0, s1, s2 = add_support(c, count, a, b, -x, -y, -z)
        along = x * s0 + y * s1 + z * s2
        v2 = x * x + y * y + z * z
        if along > 0.0 and along * along > limit * limit * v2:
            return BEYOND_LIMIT, count, x, y, z
        if count > 0 and v2 - along <= RELATIVE * v2:
            return SEPARATED, count, x, y, z
        for k in range(count):
            if w[k, 0] == s0 and w[k, 1] == s1 and w[k, 2] == s2:
                return SEPARATED, count, x, y, z
        count += 1
        if not weigh(c, count):
            return OVERLAP, count, x, y, z
        p0 = p1 = p2 = 0.0
        for k in range(count):
            p0 += number[WEIGHT + k] * w[k, 0]
            p1 += number[WEIGHT + k] * w[k, 1]
            p2 += number[WEIGHT + k] * w[k, 2]
        new2 = p0 * p0 + p1 * p1 + p2 * p2
        kept = 0
        for k in range(count):
            if number[WEIGHT + k] > 0.0:
                for m in range(9):
                    w[kept, m] = w[k, m]
                number[WEIGHT + kept] = number[WEIGHT + k]
                kept += 1
        count = kept
        x, y, z = p0, p1, p2
        if new2 <= nothing:
            return OVERLAP, count, x, y, z
        if new2 >= old2:  # rounding: no nearer than before
            return SEPARATED, count, x, y, z
        old2 = new2
    return SEPARATED, count, x, y, z


@kernel
def witness(c, count, column):
    """Nearest point of A (column 3) or B (column 6) from the weights of the simplex."""
    w, number = c.simplex, c.number
    x = y = z = 0.0
    for k in range(count):
        x += number[WEIGHT + k] * w[k, column]
        y += number[WEIGHT + k] * w[k, column + 1]
        z += number[WEIGHT + k] * w[k, column + 2]
    return x, y, z
