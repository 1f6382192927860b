"""Contact with friction polygons as a linear complementarity problem: its unknowns, coefficients and defect.

`kido.solvers.lcp.lemke` states the problem and solves it. Unknowns are described one by one in `basis` and
`unknown`; the matrix is never stored apart from the solver's dictionary.
"""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.solvers.history import FREE_ROW, SCALE_ROW
from kido.solvers.problem import CONTACT
from kido.solvers.rows import free_velocity

P, V, NEAR_ROW = 0, 1, 5  # rows of `history`, besides those of `vectors`: impulses, velocities, the impulses before

# Columns of `unknown` (floats): direction over two rows from the first, coefficient of friction.
FIRST_PART, SECOND_PART, MU_PART, VALUE = 0, 1, 2, 3
# Columns of `basis` (integers).
KIND, ROW, PARENT, BASIC, WHERE_W, WHERE_Z = 0, 1, 2, 3, 4, 5
# Kinds of unknowns: along a direction of impulses; the slip of the contact whose normal is PARENT; the force of
# an upper bound on unknown PARENT; an impulse without bounds.
ONE_SIDED_PUSH, TANGENT, SLIP_SPEED, UPPER, EQUAL = 0, 1, 2, 3, 4
# WHERE_W and WHERE_Z: column of a variable outside the basis; -1 - row of one in it.


@kernel
def add_unknown(c, m, kind, row, parent, first_part, second_part, mu, offset):
    """Append unknown m. Returns the number of unknowns."""
    if m < c.basis.shape[0]:
        c.basis[m, KIND] = kind
        c.basis[m, ROW] = row
        c.basis[m, PARENT] = parent
        c.unknown[m, FIRST_PART] = first_part
        c.unknown[m, SECOND_PART] = second_part
        c.unknown[m, MU_PART] = mu
        c.unknown[m, VALUE] = offset
    return m + 1


@kernel
def add_contact(c, m, row, mu, floor):
    """Unknowns of a contact."""
    normal = m
    m = add_unknown(c, m, ONE_SIDED_PUSH, row, -1, 1.0, 0.0, mu, 0.0)
    if mu > 0.0:
        directions = int(c.friction_directions)
        slip = m + directions
        for j in range(directions):
            angle = 2.0 * math.pi * j / directions
            m = add_unknown(c, m, TANGENT, row + 1, slip, math.cos(angle), math.sin(angle), mu, 0.0)
        m = add_unknown(c, m, SLIP_SPEED, row, normal, 0.0, 0.0, mu, mu * floor)
    return m


@kernel
def add_bounded(c, m, row, lower, upper):
    """Unknowns of a bounded row."""
    if math.isinf(lower) and math.isinf(upper):
        return add_unknown(c, m, EQUAL, row, -1, 1.0, 0.0, 0.0, 0.0)
    if math.isinf(lower):
        return add_unknown(c, m, ONE_SIDED_PUSH, row, -1, -1.0, 0.0, 0.0, 0.0)
    m = add_unknown(c, m, ONE_SIDED_PUSH, row, -1, 1.0, 0.0, 0.0, 0.0)
    if not math.isinf(upper):
        m = add_unknown(c, m, UPPER, row, m - 1, 0.0, 0.0, 0.0, upper - lower)
    return m


@kernel
def describe(c, island, first):
    """Fill the unknowns, FREE_ROW, and P with the impulses where all unknowns are zero. Returns their number."""
    h = c.history
    m = 0
    k = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        rows = 3 if c.kind[b] == CONTACT else 1
        scale = h[SCALE_ROW, first + k]
        for r in range(rows):
            h[FREE_ROW, first + k + r] = free_velocity(c, b, r) * scale
            h[P, first + k + r] = 0.0
        if scale > 0.0 and rows == 3:
            h[P, first + k] = c.floor[b] / scale
            m = add_contact(c, m, k, c.mu[b], c.floor[b] / scale)
        elif scale > 0.0:
            lower, upper = c.lower[b] / scale, c.upper[b] / scale
            if not math.isinf(lower):
                h[P, first + k] = lower
            elif not math.isinf(upper):
                h[P, first + k] = upper
            m = add_bounded(c, m, k, lower, upper)
        k += rows
    return m


@kernel
def pushes(kind):
    """Whether an unknown stands for an impulse along a direction."""
    return kind == ONE_SIDED_PUSH or kind == TANGENT or kind == EQUAL


@kernel
def along(c, i, j, shift):
    """Velocity along unknown i per unit of unknown j."""
    a, b = c.basis[i, ROW], c.basis[j, ROW]
    x0, x1 = c.unknown[i, FIRST_PART], c.unknown[i, SECOND_PART]
    y0, y1 = c.unknown[j, FIRST_PART], c.unknown[j, SECOND_PART]
    s = x0 * y0 * c.matrix[a, b]
    if a == b:
        s += shift * (x0 * y0 + x1 * y1)
    if x1 != 0.0:
        s += x1 * y0 * c.matrix[a + 1, b]
    if y1 != 0.0:
        s += x0 * y1 * c.matrix[a, b + 1]
        if x1 != 0.0:
            s += x1 * y1 * c.matrix[a + 1, b + 1]
    return s


@kernel
def coefficient(c, i, j, shift):
    """M[i, j] with A + shift I for A."""
    kind_i, kind_j = c.basis[i, KIND], c.basis[j, KIND]
    if pushes(kind_i):
        if pushes(kind_j):
            return along(c, i, j, shift)
        if kind_i == TANGENT:
            return 1.0 if j == c.basis[i, PARENT] else 0.0
        return 1.0 if kind_j == UPPER and c.basis[j, PARENT] == i else 0.0
    if kind_i == SLIP_SPEED:
        if j == c.basis[i, PARENT]:
            return c.unknown[i, MU_PART]
        return -1.0 if kind_j == TANGENT and c.basis[j, PARENT] == i else 0.0
    return -1.0 if j == c.basis[i, PARENT] else 0.0


@kernel
def constant(c, n, first, i, shift):
    """q[i]: velocity along unknown i, or room, where all unknowns are zero; less shift times NEAR_ROW."""
    if not pushes(c.basis[i, KIND]):
        return c.unknown[i, VALUE]
    h = c.history
    a = c.basis[i, ROW]
    x0, x1 = c.unknown[i, FIRST_PART], c.unknown[i, SECOND_PART]
    v0 = h[FREE_ROW, first + a] + shift * (h[P, first + a] - h[NEAR_ROW, first + a])
    for k in range(n):
        v0 += c.matrix[a, k] * h[P, first + k]
    if x1 == 0.0:
        return x0 * v0
    v1 = h[FREE_ROW, first + a + 1] + shift * (h[P, first + a + 1] - h[NEAR_ROW, first + a + 1])
    for k in range(n):
        v1 += c.matrix[a + 1, k] * h[P, first + k]
    return x0 * v0 + x1 * v1


@kernel
def read_solution(c, first, m):
    """Add the impulses of the basic unknowns to P; VALUE becomes z."""
    h = c.history
    for j in range(m):
        c.unknown[j, VALUE] = 0.0
    for i in range(m):
        j = c.basis[i, BASIC] - m
        if j >= 0 and j < m:
            z = c.tableau[i, m + 1]
            if c.basis[j, KIND] != EQUAL:
                z = max(z, 0.0)
            c.unknown[j, VALUE] = z
    for j in range(m):
        if pushes(c.basis[j, KIND]):
            z = c.unknown[j, VALUE]
            k = first + c.basis[j, ROW]
            h[P, k] += z * c.unknown[j, FIRST_PART]
            if c.unknown[j, SECOND_PART] != 0.0:
                h[P, k + 1] += z * c.unknown[j, SECOND_PART]


@kernel
def polyhedral_defect(c, n, first, m):
    """Largest |min(z, w)|, w from the compliance itself, the same as a speed, and the largest unknown."""
    h = c.history
    for i in range(n):
        v = h[FREE_ROW, first + i]
        for k in range(n):
            v += c.matrix[i, k] * h[P, first + k]
        h[V, first + i] = v
    defect = 0.0
    speed = 0.0
    largest = 0.0
    for i in range(m):
        kind = c.basis[i, KIND]
        z = c.unknown[i, VALUE]
        largest = max(largest, math.fabs(z))
        if pushes(kind):
            k = first + c.basis[i, ROW]
            w = c.unknown[i, FIRST_PART] * h[V, k]
            if c.unknown[i, SECOND_PART] != 0.0:
                w += c.unknown[i, SECOND_PART] * h[V, k + 1]
            if kind == TANGENT:
                w += c.unknown[c.basis[i, PARENT], VALUE]
            elif i + 1 < m and c.basis[i + 1, KIND] == UPPER:
                w += c.unknown[i + 1, VALUE]
            d = math.fabs(w) if kind == EQUAL else math.fabs(min(z, w))
            speed = max(speed, d / h[SCALE_ROW, k])
        elif kind == SLIP_SPEED:
            w = c.unknown[i, MU_PART] * h[P, first + c.basis[i, ROW]]
            for j in range(c.basis[i, PARENT] + 1, i):
                w -= c.unknown[j, VALUE]
            d = math.fabs(min(z, w))
        else:
            d = 0.0  # an upper bound holds as it stands in the dictionary
        if not d <= defect:  # NaN is passed on
            defect = d
    return defect, speed, largest
