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
from kido.solvers.admm import assemble
from kido.solvers.certify import SPEED_FLOOR
from kido.solvers.history import SCALE_ROW, adopt
from kido.solvers.lcp.polygon import (
    BASIC,
    EQUAL,
    KIND,
    NEAR_ROW,
    WHERE_W,
    WHERE_Z,
    P,
    coefficient,
    constant,
    describe,
    polyhedral_defect,
    read_solution,
)
from kido.solvers.problem import (
    INACCURATE,
    OWN_SOLVED,
    PROBLEM,
    RAY,
    STUCK,
    TOO_LARGE,
)
from kido.solvers.rows import INDEX, apply_impulses

LEMKE_PIVOT_TOLERANCE = 1e-10  # least pivot beside the largest entry of its column
TIE_TOLERANCE = 1e-10  # difference of ratios that is none
ARRIVED = 1e-8  # z_0 beside the largest |q| that is zero but for rounding: redundant contacts end so
LEMKE_SHIFT = 1e-7  # added to the diagonal of the scaled compliance, about 1, where rounding made the first path fail
PROXIMAL_STEPS = 4  # at most, with the shift
COMPLEMENTARITY_TOLERANCE = 1e-6  # largest min(z, w), relative to the impulses


@kernel
def fill(c, n, first, m, shift):
    """The dictionary w = q + M z + e z_0: columns of z, then z_0, then q. Returns the largest |q|."""
    t = c.tableau
    largest = 0.0
    for i in range(m):
        for j in range(m):
            t[i, j] = coefficient(c, i, j, shift)
        t[i, m] = 0.0 if c.basis[i, KIND] == EQUAL else 1.0
        t[i, m + 1] = constant(c, n, first, i, shift)
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
        if math.fabs(x - y) > TIE_TOLERANCE * (math.fabs(x) + math.fabs(y)):
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
        if t[i, s] < -LEMKE_PIVOT_TOLERANCE * largest and not is_equal(c, m, i):
            least = min(least, max(t[i, m + 1], 0.0) / -t[i, s])
    row = -1
    if math.isinf(least):
        return row
    for i in range(m):
        if t[i, s] < -LEMKE_PIVOT_TOLERANCE * largest and not is_equal(c, m, i):
            if max(t[i, m + 1], 0.0) / -t[i, s] <= least * (1.0 + TIE_TOLERANCE) + 1e-300:
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
            if c.basis[i, KIND] != EQUAL and c.tableau[i, m + 1] <= least + TIE_TOLERANCE * math.fabs(least):
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
    """Pivot from the first dictionary. Returns (OWN_SOLVED, RAY or STUCK; pivots).

    Args:
        zero: z_0 that counts as none at a ray.
    """
    solve_equalities(c, m)
    r = first_row(c, m)
    if r < 0:
        return OWN_SOLVED, 0
    leaving = pivot(c, m, r, m)
    for pivots in range(1, cap):
        s = c.basis[leaving, WHERE_Z] if leaving < m else c.basis[leaving - m, WHERE_W]
        if s < 0:
            return STUCK, pivots
        r = leaving_row(c, m, s)
        if r < 0:
            return OWN_SOLVED if artificial(c, m) <= zero else RAY, pivots
        leaving = pivot(c, m, r, s)
        if leaving == 2 * m:
            return OWN_SOLVED, pivots + 1
    return STUCK, cap


@kernel
def attempt(c, island, n, first, m, cap, shift):
    """Follow the path for A p + b + shift (p - NEAR_ROW), and check the solution for A.

    Returns:
        How it ended, and pivots.
    """
    largest = fill(c, n, first, m, shift)
    ended, pivots = follow_path(c, m, cap, ARRIVED * largest)
    if ended == OWN_SOLVED:
        read_solution(c, first, m)
        defect, speed, largest = polyhedral_defect(c, n, first, m)
        slow = speed <= c.speed_tolerance * c.island_approach[island] + SPEED_FLOOR
        if not (slow and defect <= COMPLEMENTARITY_TOLERANCE * largest + 1e-300):
            ended = INACCURATE
    return ended, pivots


@callback
def lemke_island(address, island, cap, unused):
    """Solve one island, which must fit into `matrix`, with `friction_directions`.

    Leaves impulses and u alone unless it succeeds, and says in `island_ended` how it went: OWN_SOLVED, RAY,
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
    ended, pivots = attempt(c, island, n, first, m, cap, 0.0)
    # Where rounding spoils the path: the problem with a shift, and its impulses p in A p + b + shift (p - last p).
    for k in range(first, first + n):
        h[NEAR_ROW, k] = 0.0
    for _ in range(PROXIMAL_STEPS):
        if ended != OWN_SOLVED:
            describe(c, island, first)
            again, more = attempt(c, island, n, first, m, cap, LEMKE_SHIFT)
            pivots += more
            if again == OWN_SOLVED:
                ended = OWN_SOLVED
            elif again != INACCURATE:
                break
            for k in range(first, first + n):
                h[NEAR_ROW, k] = h[P, k]
    c.island_ended[island] = ended
    if ended == OWN_SOLVED:
        adopt(c, island, P, SCALE_ROW)
        apply_impulses(c, island)
    return pivots
