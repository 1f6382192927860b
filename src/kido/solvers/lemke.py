"""Lemke's method for contact with polyhedral friction of d directions (Stewart-Trinkle, Anitescu-Potra).

With impulses scaled per block (as for ADMM), directions D = (d_1 ... d_d) evenly spread in the tangent plane
and E = (1 ... 1)^T, each contact has the unknowns p_n, beta (d) and sigma, the slip speed:

    0 <= p_n - floor  _|_  v_n >= 0
    0 <= beta  _|_  D^T v_t + E sigma >= 0          p_t = D beta
    0 <= sigma  _|_  mu p_n - E^T beta >= 0

A row with one bound has one unknown, its distance from the bound; one with two has a second one for the
other bound; an equality is solved for its impulse before anything else. The dictionary w = q + M z + e z_0
is pivoted in place, with lexicographic choice among rows that tie, so that it cannot cycle; M is copositive,
so that for contacts of bodies that can move the path ends at a solution. Where no impulses exist it ends in
a ray, which is reported.

What the pyramid costs: the impulse is limited to the polygon inscribed in the friction disc, so that a slide
between two directions meets as little as cos(pi / d) mu p_n (0.707 for 4, 0.924 for 8), and deviates from
the opposite of slip by up to pi / d.

Source: Stewart and Trinkle 1996; Anitescu and Potra 1997; Cottle, Pang and Stone, The linear
complementarity problem, 4.4 and 4.9.
"""

from __future__ import annotations

import math

from kido.jit import callback, kernel, view
from kido.solvers.admm import FREE, SCALE, assemble
from kido.solvers.problem import CONTACT, DIRECTIONS, INACCURATE, PROBLEM, RAY, SOLVED, STUCK, TOO_LARGE
from kido.solvers.rows import INDEX, apply_impulses, free_velocity

P, V = 0, 1  # rows of `history`: impulses and velocities; FREE = 3 and SCALE = 4 are those of `assemble`

# Columns of `unknown` (floats): direction over two rows from the first, coefficient of friction.
FIRST_PART, SECOND_PART, FRICTION, VALUE = 0, 1, 2, 3
# Columns of `basis` (integers).
KIND, ROW, PARENT, BASIC, WHERE_W, WHERE_Z = 0, 1, 2, 3, 4, 5
# Kinds of unknowns: along a direction of impulses; the slip of the contact whose normal is PARENT; the force of
# an upper bound on unknown PARENT; an impulse without bounds.
PUSH, TANGENT, SLIP, UPPER, EQUAL = 0, 1, 2, 3, 4
# WHERE_W and WHERE_Z: column of a variable outside the basis; -1 - row of one in it.

PIVOT = 1e-10  # least pivot beside the largest entry of its column
TIE = 1e-10  # difference of ratios that is none
ARRIVED = 1e-8  # z_0 beside the largest |q| that is zero but for rounding: redundant contacts end so
SHIFT = 1e-7  # added to the diagonal of the scaled compliance, about 1, where rounding made the first path fail
ACCURACY = 1e-6  # largest min(z, w), relative to the impulses


@kernel
def add_unknown(c, m, kind, row, parent, first_part, second_part, mu, offset):
    """Append unknown m. Returns the number of unknowns."""
    if m < c.basis.shape[0]:
        c.basis[m, KIND] = kind
        c.basis[m, ROW] = row
        c.basis[m, PARENT] = parent
        c.unknown[m, FIRST_PART] = first_part
        c.unknown[m, SECOND_PART] = second_part
        c.unknown[m, FRICTION] = mu
        c.unknown[m, VALUE] = offset
    return m + 1


@kernel
def add_contact(c, m, row, mu, floor):
    """Unknowns of a contact."""
    normal = m
    m = add_unknown(c, m, PUSH, row, -1, 1.0, 0.0, mu, 0.0)
    if mu > 0.0:
        directions = int(c.choice[DIRECTIONS])
        slip = m + directions
        for j in range(directions):
            angle = 2.0 * math.pi * j / directions
            m = add_unknown(c, m, TANGENT, row + 1, slip, math.cos(angle), math.sin(angle), mu, 0.0)
        m = add_unknown(c, m, SLIP, row, normal, 0.0, 0.0, mu, mu * floor)
    return m


@kernel
def add_bounded(c, m, row, lower, upper):
    """Unknowns of a bounded row."""
    if math.isinf(lower) and math.isinf(upper):
        return add_unknown(c, m, EQUAL, row, -1, 1.0, 0.0, 0.0, 0.0)
    if math.isinf(lower):
        return add_unknown(c, m, PUSH, row, -1, -1.0, 0.0, 0.0, 0.0)
    m = add_unknown(c, m, PUSH, row, -1, 1.0, 0.0, 0.0, 0.0)
    if not math.isinf(upper):
        m = add_unknown(c, m, UPPER, row, m - 1, 0.0, 0.0, 0.0, upper - lower)
    return m


@kernel
def describe(c, island, first):
    """Fill the unknowns, FREE, and P with the impulses where all unknowns are zero. Returns their number."""
    h = c.history
    m = 0
    k = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        rows = 3 if c.kind[b] == CONTACT else 1
        scale = h[SCALE, first + k]
        for r in range(rows):
            h[FREE, first + k + r] = free_velocity(c, b, r) * scale
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
    return kind == PUSH or kind == TANGENT or kind == EQUAL


@kernel
def along(c, n, first, i, j):
    """Velocity along unknown i per unit of unknown j."""
    a, b = c.basis[i, ROW], c.basis[j, ROW]
    x0, x1 = c.unknown[i, FIRST_PART], c.unknown[i, SECOND_PART]
    y0, y1 = c.unknown[j, FIRST_PART], c.unknown[j, SECOND_PART]
    s = x0 * y0 * c.matrix[a, b]
    if x1 != 0.0:
        s += x1 * y0 * c.matrix[a + 1, b]
    if y1 != 0.0:
        s += x0 * y1 * c.matrix[a, b + 1]
        if x1 != 0.0:
            s += x1 * y1 * c.matrix[a + 1, b + 1]
    return s


@kernel
def coefficient(c, n, first, i, j):
    """M[i, j]."""
    kind_i, kind_j = c.basis[i, KIND], c.basis[j, KIND]
    if pushes(kind_i):
        if pushes(kind_j):
            return along(c, n, first, i, j)
        if kind_i == TANGENT:
            return 1.0 if j == c.basis[i, PARENT] else 0.0
        return 1.0 if kind_j == UPPER and c.basis[j, PARENT] == i else 0.0
    if kind_i == SLIP:
        if j == c.basis[i, PARENT]:
            return c.unknown[i, FRICTION]
        return -1.0 if kind_j == TANGENT and c.basis[j, PARENT] == i else 0.0
    return -1.0 if j == c.basis[i, PARENT] else 0.0


@kernel
def constant(c, n, first, i):
    """q[i]: velocity along unknown i, or room, where all unknowns are zero."""
    if not pushes(c.basis[i, KIND]):
        return c.unknown[i, VALUE]
    h = c.history
    a = c.basis[i, ROW]
    x0, x1 = c.unknown[i, FIRST_PART], c.unknown[i, SECOND_PART]
    v0 = h[FREE, first + a]
    for k in range(n):
        v0 += c.matrix[a, k] * h[P, first + k]
    if x1 == 0.0:
        return x0 * v0
    v1 = h[FREE, first + a + 1]
    for k in range(n):
        v1 += c.matrix[a + 1, k] * h[P, first + k]
    return x0 * v0 + x1 * v1


@kernel
def fill(c, n, first, m, shift):
    """The dictionary w = q + M z + e z_0: columns of z, then z_0, then q. Returns the largest |q|."""
    t = c.tableau
    largest = 0.0
    for i in range(m):
        for j in range(m):
            t[i, j] = coefficient(c, n, first, i, j)
        if pushes(c.basis[i, KIND]):
            t[i, i] += shift
        t[i, m] = 0.0 if c.basis[i, KIND] == EQUAL else 1.0
        t[i, m + 1] = constant(c, n, first, i)
        largest = max(largest, math.fabs(t[i, m + 1]))
        c.basis[i, BASIC] = i
        c.basis[i, WHERE_W] = -1 - i
        c.basis[i, WHERE_Z] = i
        c.column[i, 0] = m + i
    c.column[m, 0] = 2 * m
    return largest


@kernel
def place_variable(c, m, variable, where):
    """Note where a variable is: w_i is i, z_i is m + i, z_0 is 2 m."""
    if variable < m:
        c.basis[variable, WHERE_W] = where
    elif variable < 2 * m:
        c.basis[variable - m, WHERE_Z] = where


@kernel
def pivot(c, m, r, s):
    """Exchange the basic variable of row r and the one of column s. Returns the one that left."""
    t = c.tableau
    inverse = 1.0 / t[r, s]
    for j in range(m + 2):
        t[r, j] *= -inverse
    t[r, s] = inverse
    for i in range(m):
        a = t[i, s]
        if i != r and a != 0.0:
            for j in range(m + 2):
                t[i, j] += a * t[r, j]
            t[i, s] = a * inverse
    leaving = c.basis[r, BASIC]
    entering = c.column[s, 0]
    c.basis[r, BASIC] = entering
    c.column[s, 0] = leaving
    place_variable(c, m, entering, -1 - r)
    place_variable(c, m, leaving, s)
    return leaving


@kernel
def lexicographic(c, m, j, i):
    """Row i's coefficient of the perturbation of q_j."""
    where = c.basis[j, WHERE_W]
    if where >= 0:
        return -c.tableau[i, where]
    return 1.0 if where == -1 - i else 0.0


@kernel
def comes_first(c, m, i, k, s):
    """Whether row i leaves before row k where their ratios tie: the perturbed ratio is smaller."""
    t = c.tableau
    a = -1.0 / t[i, s]
    b = -1.0 / t[k, s]
    for j in range(m):
        x = a * lexicographic(c, m, j, i)
        y = b * lexicographic(c, m, j, k)
        if math.fabs(x - y) > TIE * (math.fabs(x) + math.fabs(y)):
            return x < y
    return False


@kernel
def is_equal(c, m, i):
    """Whether the basic variable of row i has no bounds."""
    j = c.basis[i, BASIC] - m
    return j >= 0 and j < m and c.basis[j, KIND] == EQUAL


@kernel
def leaving_row(c, m, s):
    """Row whose variable reaches zero first as that of column s grows; -1: none does, a ray."""
    t = c.tableau
    largest = 0.0
    for i in range(m):
        if not is_equal(c, m, i):
            largest = max(largest, math.fabs(t[i, s]))
    least = math.inf
    for i in range(m):
        if t[i, s] < -PIVOT * largest and not is_equal(c, m, i):
            least = min(least, max(t[i, m + 1], 0.0) / -t[i, s])
    row = -1
    if math.isinf(least):
        return row
    for i in range(m):
        if t[i, s] < -PIVOT * largest and not is_equal(c, m, i):
            if max(t[i, m + 1], 0.0) / -t[i, s] <= least * (1.0 + TIE) + 1e-300:
                if c.basis[i, BASIC] == 2 * m:
                    return i
                if row < 0 or comes_first(c, m, i, row, s):
                    row = i
    return row


@kernel
def first_row(c, m):
    """Row that z_0 enters at: the most negative q, the last one among equals; -1 if none is negative."""
    row = -1
    least = 0.0
    for i in range(m):
        if c.basis[i, KIND] != EQUAL and c.tableau[i, m + 1] < least:
            least = c.tableau[i, m + 1]
            row = i
    if row >= 0:
        s = row
        for i in range(m):
            if c.basis[i, KIND] != EQUAL and c.tableau[i, m + 1] <= least + TIE * math.fabs(least):
                s = i
        row = s
    return row


@kernel
def solve_equalities(c, m):
    """Bring the impulses without bounds into the basis; one that is redundant stays zero."""
    for i in range(m):
        if c.basis[i, KIND] == EQUAL and c.tableau[i, i] > 1e-9:
            pivot(c, m, i, i)


@kernel
def artificial(c, m):
    """z_0."""
    for i in range(m):
        if c.basis[i, BASIC] == 2 * m:
            return c.tableau[i, m + 1]
    return 0.0


@kernel
def follow_path(c, m, cap, zero):
    """Pivot from the first dictionary. Returns (SOLVED, RAY or STUCK; pivots).

    Args:
        zero: z_0 that counts as none at a ray.
    """
    solve_equalities(c, m)
    r = first_row(c, m)
    if r < 0:
        return SOLVED, 0
    leaving = pivot(c, m, r, m)
    for pivots in range(1, cap):
        s = c.basis[leaving, WHERE_Z] if leaving < m else c.basis[leaving - m, WHERE_W]
        if s < 0:
            return STUCK, pivots
        r = leaving_row(c, m, s)
        if r < 0:
            return SOLVED if artificial(c, m) <= zero else RAY, pivots
        leaving = pivot(c, m, r, s)
        if leaving == 2 * m:
            return SOLVED, pivots + 1
    return STUCK, cap


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
    """Largest |min(z, w)|, w from the compliance itself, and the largest unknown."""
    h = c.history
    for i in range(n):
        v = h[FREE, first + i]
        for k in range(n):
            v += c.matrix[i, k] * h[P, first + k]
        h[V, first + i] = v
    defect = 0.0
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
        elif kind == SLIP:
            w = c.unknown[i, FRICTION] * h[P, first + c.basis[i, ROW]]
            for j in range(c.basis[i, PARENT] + 1, i):
                w -= c.unknown[j, VALUE]
            d = math.fabs(min(z, w))
        else:
            d = 0.0  # an upper bound holds as it stands in the dictionary
        if not d <= defect:  # NaN is passed on
            defect = d
    return defect, largest


@kernel
def attempt(c, n, first, m, cap, shift):
    """Follow the path for A + shift I, and check the solution for A. Returns how it ended, and pivots."""
    largest = fill(c, n, first, m, shift)
    ended, pivots = follow_path(c, m, cap, ARRIVED * largest)
    if ended == SOLVED:
        read_solution(c, first, m)
        defect, largest = polyhedral_defect(c, n, first, m)
        if not defect <= ACCURACY * largest + 1e-300:
            ended = INACCURATE
    return ended, pivots


@callback
def lemke_island(address, island, cap, unused):
    """Solve one island, which must fit into `matrix`, with `choice[DIRECTIONS]` friction directions.

    Leaves impulses and u alone unless it succeeds, and says in `island_ended` how it went: SOLVED, RAY,
    STUCK at `cap` pivots, INACCURATE after rounding, or TOO_LARGE for `tableau`.

    Returns:
        The number of pivots.
    """
    c = view(PROBLEM, address)
    h = c.history
    first = c.island_row[island] & INDEX
    n = assemble(c, island)
    m = describe(c, island, first)
    c.island_ended[island] = TOO_LARGE
    if m > c.basis.shape[0]:
        return 0
    ended, pivots = attempt(c, n, first, m, cap, 0.0)
    if ended != SOLVED:
        describe(c, island, first)
        again, more = attempt(c, n, first, m, cap, SHIFT)
        pivots += more
        if again == SOLVED:
            ended = SOLVED
    c.island_ended[island] = ended
    if ended == SOLVED:
        k = first
        for e in range(c.island_start[island], c.island_start[island + 1]):
            b = c.island_block[e]
            for r in range(3 if c.kind[b] == CONTACT else 1):
                c.impulse[c.row[b] + r] = h[P, k] * h[SCALE, k]
                k += 1
        apply_impulses(c, island)
    return pivots
