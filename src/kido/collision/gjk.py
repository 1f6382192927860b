"""Distance of two convex cores: Gilbert, Johnson and Keerthi (1988).

Rows of `simplex` hold a point of A - B and the points of A and B it comes from. The nearest point of a simplex is
found by the regions of Ericson, Real-Time Collision Detection (2005), section 5.1.
"""

from __future__ import annotations

import math

from kido.collision.container import COLLISION
from kido.collision.support import support
from kido.jit import kernel, view

ROUNDS = 80
RELATIVE = 1e-14  # on the squared distance
SEPARATED, FAR, OVERLAP = 0, 1, 2
WEIGHT = 24  # places of the four weights in the scratch numbers


@kernel
def add_support(address, row, a, b, x, y, z):
    """Writes the support of A - B along (x, y, z) into a row of the simplex; returns the point of A - B."""
    c = view(COLLISION, address)
    simplex = c.simplex
    p0, p1, p2 = support(address, a, a, x, y, z)
    q0, q1, q2 = support(address, b, a, -x, -y, -z)
    simplex[row, 0], simplex[row, 1], simplex[row, 2] = p0 - q0, p1 - q1, p2 - q2
    simplex[row, 3], simplex[row, 4], simplex[row, 5] = p0, p1, p2
    simplex[row, 6], simplex[row, 7], simplex[row, 8] = q0, q1, q2
    return p0 - q0, p1 - q1, p2 - q2


@kernel
def weigh_segment(address, i, j):
    """Weight of point j in the point of segment i j nearest to the origin."""
    c = view(COLLISION, address)
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
def weigh_triangle(address, i, j, k):
    """Weights of the three corners in the point of triangle i j k nearest to the origin."""
    c = view(COLLISION, address)
    w = c.simplex
    d1 = d2 = d3 = d4 = d5 = d6 = 0.0
    for m in range(3):
        ab, ac = w[j, m] - w[i, m], w[k, m] - w[i, m]
        d1 -= ab * w[i, m]
        d2 -= ac * w[i, m]
        d3 -= ab * w[j, m]
        d4 -= ac * w[j, m]
        d5 -= ab * w[k, m]
        d6 -= ac * w[k, m]
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        v = d1 / (d1 - d3)
        return 1.0 - v, v, 0.0
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        v = d2 / (d2 - d6)
        return 1.0 - v, 0.0, v
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        v = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 0.0, 1.0 - v, v
    total = 1.0 / (va + vb + vc)
    return va * total, vb * total, vc * total


@kernel
def outside(address, i, j, k, opposite):
    """True if the plane of i, j, k does not separate the inside of the tetrahedron from the origin's far side:
    the origin lies on the other side than the fourth corner, or the tetrahedron is flat."""
    c = view(COLLISION, address)
    w = c.simplex
    a0, a1, a2 = w[j, 0] - w[i, 0], w[j, 1] - w[i, 1], w[j, 2] - w[i, 2]
    b0, b1, b2 = w[k, 0] - w[i, 0], w[k, 1] - w[i, 1], w[k, 2] - w[i, 2]
    n0, n1, n2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    origin = -(n0 * w[i, 0] + n1 * w[i, 1] + n2 * w[i, 2])
    inside = (
        n0 * (w[opposite, 0] - w[i, 0]) + n1 * (w[opposite, 1] - w[i, 1]) + n2 * (w[opposite, 2] - w[i, 2])
    )
    return origin * inside <= 0.0


@kernel
def weigh_tetrahedron(address):
    """Sets the four weights of the point of the tetrahedron nearest to the origin; false if the origin is inside."""
    c = view(COLLISION, address)
    w, number = c.simplex, c.number
    best = 1e300
    found = False
    for face in range(4):
        i = 0 if face != 0 else 1
        j = 1 if face > 1 else 2
        k = 2 if face == 3 else 3
        if outside(address, i, j, k, face):
            a, b, d = weigh_triangle(address, i, j, k)
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
def weigh(address, count):
    """Sets the weights of the simplex's point nearest to the origin; false if the origin is inside."""
    c = view(COLLISION, address)
    number = c.number
    if count == 4:
        return weigh_tetrahedron(address)
    if count == 3:
        number[WEIGHT], number[WEIGHT + 1], number[WEIGHT + 2] = weigh_triangle(address, 0, 1, 2)
    elif count == 2:
        t = weigh_segment(address, 0, 1)
        number[WEIGHT], number[WEIGHT + 1] = 1.0 - t, t
    else:
        number[WEIGHT] = 1.0
    return True


@kernel
def distance(address, a, b, x, y, z, limit):
    """Nearest points of the cores of two shapes.

    Args:
        x, y, z: first guess of a vector from B to A; not zero.
        limit: cores farther apart than this are not resolved.

    Returns:
        state: SEPARATED (v is the vector from the nearest point of B to that of A), FAR (v separates the cores
            by more than `limit`) or OVERLAP (they overlap, or are too near for a direction).
        count: points of the simplex, whose weights make up the nearest points.
        v: (3 numbers) [m].
    """
    c = view(COLLISION, address)
    w, number = c.simplex, c.number
    count = 0
    old2 = 1e300
    reach = min(c.shape_reach[a], c.shape_reach[b])
    nothing = 1e-14 * reach * reach
    p0, p1, p2 = x, y, z
    for _ in range(ROUNDS):
        s0, s1, s2 = add_support(address, count, a, b, -x, -y, -z)
        along = x * s0 + y * s1 + z * s2
        v2 = x * x + y * y + z * z
        if along > 0.0 and along * along > limit * limit * v2:
            return FAR, count, x, y, z
        if count > 0 and v2 - along <= RELATIVE * v2:
            return SEPARATED, count, x, y, z
        for k in range(count):
            if w[k, 0] == s0 and w[k, 1] == s1 and w[k, 2] == s2:
                return SEPARATED, count, x, y, z
        count += 1
        if not weigh(address, count):
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
def witness(address, count, column):
    """Nearest point of A (column 3) or B (column 6) from the weights of the simplex."""
    c = view(COLLISION, address)
    w, number = c.simplex, c.number
    x = y = z = 0.0
    for k in range(count):
        x += number[WEIGHT + k] * w[k, column]
        y += number[WEIGHT + k] * w[k, column + 1]
        z += number[WEIGHT + k] * w[k, column + 2]
    return x, y, z


@kernel
def norm(x, y, z):
    """Length of a vector."""
    return math.sqrt(x * x + y * y + z * z)
