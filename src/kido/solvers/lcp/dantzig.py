"""Dantzig's pivoting method for the boxed LCP: a friction pyramid with bounds from the normal impulses.

With v = A p + b in impulses scaled per block (as for ADMM), each row wants v = 0 between its bounds, v >= 0
at the lower and v <= 0 at the upper one. Rows are driven to that one after another, those driven before
staying where they should be: the path of p is followed through changes of the set C of rows with v = 0 by
principal pivots of one square tableau. Normals and other rows come first, then the tangents with bounds
+- mu p_n of the normal impulses found so far. In further rounds the bounds follow the normal impulses by
Newton's method, until both agree; one round is what ODE and DART do. Where the rows at bounds stay the same,
a round is one linear solve.

Redundant rows: the tableau is that of A + DANTZIG_SHIFT I; the error of the shift is taken out again by iterative
refinement on C, which does not need A to be invertible.

What the box costs: sliding along the diagonal of its two tangents meets sqrt(2) mu p_n, and slip is not
opposite to friction but for the tangents' own directions.

Source: Cottle and Dantzig 1968; Baraff, Fast contact force computation (1994).
"""

from __future__ import annotations

import math

from kido.jit import callback, kernel, view
from kido.solvers.admm import assemble
from kido.solvers.certify import SPEED_FLOOR
from kido.solvers.cone import clamp
from kido.solvers.history import FREE_ROW, SCALE_ROW, adopt
from kido.solvers.problem import CONTACT, INACCURATE, OWN_SOLVED, PROBLEM, STUCK
from kido.solvers.rows import INDEX, apply_impulses, free_velocity

# Rows of `history`, besides those of `vectors`.
P, V, LOW_ROW, HIGH_ROW, MU_ROW, CHANGED_ROW = 0, 1, 5, 6, 7, 8

# Where a row is (`row_state`): its velocity is zero, at a bound, at one of two equal bounds, not driven yet.
ZERO, AT_LOW, AT_HIGH, FIXED, WAITING = 0, 1, 2, 3, 4

DANTZIG_SHIFT = 1e-8  # added to the scaled compliance, whose diagonal is about 1
REFINEMENTS = 8
ACCURACY = 1e-7  # defect of the box's natural map, relative to the impulses
SWEEPS_PER_ROUND = 10  # of Gauss-Seidel in every third round, times the number of rounds so far
AGREEMENT_TOLERANCE = 1e-8  # of bounds and normal impulses, relative to the largest


@kernel
def exchange(t, n, r):
    """Principal pivot on row r: its impulse and its velocity change places."""
    inverse = 1.0 / t[r, r]
    for j in range(n):
        t[r, j] *= -inverse
    t[r, r] = inverse
    for i in range(n):
        if i != r:
            a = t[i, r]
            if a != 0.0:
                for j in range(n):
                    t[i, j] += a * t[r, j]
                t[i, r] = a * inverse


@kernel
def load_box(c, island, first):
    """Fill FREE_ROW, MU_ROW, the bounds of all rows but tangents, and what is a tangent of which row."""
    h = c.history
    k = first
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        scale = h[SCALE_ROW, k]
        contact = c.kind[b] == CONTACT
        for r in range(3 if contact else 1):
            h[FREE_ROW, k + r] = free_velocity(c, b, r) * scale
            h[MU_ROW, k + r] = c.mu[b]
            h[LOW_ROW, k + r] = 0.0
            h[HIGH_ROW, k + r] = 0.0
            c.row_normal[k + r] = k - first if r > 0 else -1
        if scale > 0.0:
            h[LOW_ROW, k] = (c.floor[b] if contact else c.lower[b]) / scale
            h[HIGH_ROW, k] = math.inf if contact else c.upper[b] / scale
        k += 3 if contact else 1


@kernel
def restart(c, n, first):
    """No row is driven yet; impulses are as near to zero as bounds allow."""
    h = c.history
    for i in range(n):
        for j in range(n):
            c.factor[i, j] = c.matrix[i, j]
        c.factor[i, i] += DANTZIG_SHIFT
        c.row_state[first + i] = WAITING
        h[P, first + i] = clamp(0.0, h[LOW_ROW, first + i], h[HIGH_ROW, first + i])
        if c.row_normal[first + i] >= 0:
            h[P, first + i] = 0.0


@kernel
def row_velocity(c, n, first, i):
    """Velocity of a row, without the shift."""
    v = c.history[FREE_ROW, first + i]
    for j in range(n):
        v += c.matrix[i, j] * c.history[P, first + j]
    return v


@kernel
def disagreement(c, n, first):
    """Largest difference of the tangents' bounds and mu times the normal impulses, and the largest impulse."""
    h = c.history
    change = 0.0
    largest = 0.0
    for k in range(first, first + n):
        largest = max(largest, math.fabs(h[P, k]))
        if c.row_normal[k] >= 0:
            bound = h[MU_ROW, k] * max(h[P, first + c.row_normal[k]], 0.0)
            change = max(change, math.fabs(bound - h[HIGH_ROW, k]))
    return change, largest


@kernel
def eliminate(t, m):
    """Solve t[:m, :m] x = t[:m, m] by elimination with row exchanges; x in column m. False if singular."""
    for k in range(m):
        best = k
        for i in range(k + 1, m):
            if math.fabs(t[i, k]) > math.fabs(t[best, k]):
                best = i
        if not math.fabs(t[best, k]) > 1e-12:
            return False
        for j in range(k, m + 1):
            t[k, j], t[best, j] = t[best, j], t[k, j]
        for i in range(k + 1, m):
            a = t[i, k] / t[k, k]
            if a != 0.0:
                for j in range(k, m + 1):
                    t[i, j] -= a * t[k, j]
    for k in range(m - 1, -1, -1):
        x = t[k, m]
        for j in range(k + 1, m):
            x -= t[k, j] * t[j, m]
        t[k, m] = x / t[k, k]
    return True


@kernel
def follow_bounds(c, n, first):
    """Changes of the normal impulses (row CHANGED_ROW) when tangents at bounds go along with them: Newton's step.

    With x the change of impulse of a tangent at a bound, T the tableau and N its normal row:
    p + x = +- mu (p_N + sum over such tangents j of T[N, j] x_j). None where that is singular.
    """
    h = c.history
    t = c.tableau
    m = 0
    for i in range(n):
        k = first + i
        h[CHANGED_ROW, k] = 0.0
        if c.row_normal[k] >= 0 and (c.row_state[k] == AT_LOW or c.row_state[k] == AT_HIGH):
            c.basis[m, 0] = i
            m += 1
    for r in range(m):
        k = first + c.basis[r, 0]
        normal = c.row_normal[k]
        slope = h[MU_ROW, k] if c.row_state[k] == AT_HIGH else -h[MU_ROW, k]
        moves = c.row_state[first + normal] == ZERO
        for j in range(m):
            t[r, j] = -slope * c.factor[normal, c.basis[j, 0]] if moves else 0.0
        t[r, r] += 1.0
        t[r, m] = slope * h[P, first + normal] - h[P, k]
    if m > 0 and eliminate(t, m):
        for i in range(n):
            if c.row_state[first + i] == ZERO:
                for j in range(m):
                    h[CHANGED_ROW, first + i] += c.factor[i, c.basis[j, 0]] * t[j, m]


@kernel
def move_bounds(c, n, first):
    """Set the bounds of tangents to those of the normal impulses, changed as foreseen."""
    h = c.history
    for k in range(first, first + n):
        if c.row_normal[k] >= 0:
            normal = first + c.row_normal[k]
            bound = h[MU_ROW, k] * max(h[P, normal] + h[CHANGED_ROW, normal], 0.0)
            h[LOW_ROW, k] = -bound
            h[HIGH_ROW, k] = bound


@kernel
def sweep_box(c, n, first, sweeps):
    """Projected Gauss-Seidel on all rows, bounds going along: nearer to where Newton's steps agree."""
    h = c.history
    for _ in range(sweeps):
        for i in range(n):
            k = first + i
            if c.row_normal[k] >= 0:
                bound = h[MU_ROW, k] * max(h[P, first + c.row_normal[k]], 0.0)
                h[LOW_ROW, k] = -bound
                h[HIGH_ROW, k] = bound
            if c.matrix[i, i] > 0.0:
                h[P, k] = clamp(h[P, k] - row_velocity(c, n, first, i) / c.matrix[i, i], h[LOW_ROW, k], h[HIGH_ROW, k])


@kernel
def first_event(c, n, first, d, sign, step):
    """The row whose place changes first as impulse d grows by sign * step, and the step until then."""
    h = c.history
    row = d
    for i in range(n):
        state = c.row_state[first + i]
        if i == d or state >= FIXED:
            continue
        k = first + i
        if state == ZERO:
            rate = -sign * c.factor[d, i]
            if rate < 0.0:
                room = h[P, k] - h[LOW_ROW, k]
            else:
                room = h[HIGH_ROW, k] - h[P, k]
        else:
            rate = sign * c.factor[d, i]
            if (rate < 0.0) != (state == AT_LOW):
                continue
            room = math.fabs(h[V, k])
        if rate != 0.0:
            length = max(room, 0.0) / math.fabs(rate)
            if length < step:
                step = length
                row = i
    return row, step


@kernel
def move(c, n, first, d, amount):
    """Change impulse d; the rows of ZERO follow with their impulses, the others with their velocities."""
    h = c.history
    for i in range(n):
        if c.row_state[first + i] == ZERO:
            h[P, first + i] -= amount * c.factor[d, i]
        else:
            h[V, first + i] += amount * c.factor[d, i]
    h[P, first + d] += amount


@kernel
def change_place(c, n, first, i):
    """A row other than the one being driven reached a bound, or its velocity reached zero."""
    h = c.history
    k = first + i
    if c.row_state[k] == ZERO:
        low = math.fabs(h[P, k] - h[LOW_ROW, k]) <= math.fabs(h[P, k] - h[HIGH_ROW, k])
        c.row_state[k] = AT_LOW if low else AT_HIGH
        h[P, k] = h[LOW_ROW, k] if low else h[HIGH_ROW, k]
    else:
        c.row_state[k] = ZERO
    h[V, k] = 0.0
    exchange(c.factor, n, i)


@kernel
def drive(c, n, first, d, cap):
    """Bring row d to where it should be, the rows driven before staying so. Returns pivots, or -1."""
    h = c.history
    k = first + d
    h[V, k] = row_velocity(c, n, first, d)
    if h[LOW_ROW, k] >= h[HIGH_ROW, k]:
        c.row_state[k] = FIXED
        return 0
    for pivots in range(cap):
        v = h[V, k]
        if v >= 0.0 and h[P, k] <= h[LOW_ROW, k]:
            c.row_state[k] = AT_LOW
            return pivots
        if v <= 0.0 and h[P, k] >= h[HIGH_ROW, k]:
            c.row_state[k] = AT_HIGH
            return pivots
        own = c.factor[d, d]
        if not own > 0.0:
            return -1
        sign = -1.0 if v > 0.0 else 1.0
        to_zero = math.fabs(v) / own
        to_bound = h[HIGH_ROW, k] - h[P, k] if v < 0.0 else h[P, k] - h[LOW_ROW, k]
        i, step = first_event(c, n, first, d, sign, min(to_zero, to_bound))
        move(c, n, first, d, sign * step)
        if i != d:
            if not math.fabs(c.factor[i, i]) > 0.0:
                return -1
            change_place(c, n, first, i)
        elif to_zero <= to_bound:
            c.row_state[k] = ZERO
            h[V, k] = 0.0
            exchange(c.factor, n, d)
            return pivots + 1
        else:
            h[P, k] = h[LOW_ROW, k] if v > 0.0 else h[HIGH_ROW, k]
    return -1


@kernel
def refine(c, n, first):
    """Make velocities of the rows of ZERO zero for A itself: p_C <- p_C - (A_CC + DANTZIG_SHIFT I)^-1 v_C, repeated.

    It ends at a bound: where A has a (nearly) redundant row, the rows at bounds would be others than with the
    shift, which is then left in.
    """
    h = c.history
    before = math.inf
    for _ in range(REFINEMENTS):
        largest = 0.0
        for i in range(n):
            h[CHANGED_ROW, first + i] = 0.0
            if c.row_state[first + i] == ZERO:
                h[V, first + i] = row_velocity(c, n, first, i)
                largest = max(largest, math.fabs(h[V, first + i]))
        if not largest < 0.5 * before:
            return
        before = largest
        share = 1.0
        for i in range(n):
            k = first + i
            if c.row_state[k] == ZERO:
                x = 0.0
                for j in range(n):
                    if c.row_state[first + j] == ZERO:
                        x -= c.factor[i, j] * h[V, first + j]
                h[CHANGED_ROW, k] = x
                room = h[P, k] - h[LOW_ROW, k] if x < 0.0 else h[HIGH_ROW, k] - h[P, k]
                if math.fabs(x) * share > room:
                    share = max(room, 0.0) / math.fabs(x)
        for k in range(first, first + n):
            h[P, k] += share * h[CHANGED_ROW, k]
        if share < 1.0:
            return


@kernel
def is_solved(c, island, n, first):
    """Whether the box's natural map p - clamp(p - v, low, high) is small beside the impulses and as a speed.

    Impulses without end, where none exist that could do, would make any defect small beside them.
    """
    h = c.history
    defect2 = 0.0
    impulse2 = 0.0
    speed = 0.0
    for i in range(n):
        k = first + i
        p = h[P, k]
        r = p - clamp(p - row_velocity(c, n, first, i), h[LOW_ROW, k], h[HIGH_ROW, k])
        defect2 += r * r
        impulse2 += p * p
        if h[SCALE_ROW, k] > 0.0:
            speed = max(speed, math.fabs(r) / h[SCALE_ROW, k])
    slow = speed <= c.speed_tolerance * c.island_approach[island] + SPEED_FLOOR
    return slow and defect2 <= ACCURACY * ACCURACY * impulse2 + 1e-300


@kernel
def same_places(c, island, n, first):
    """Move the rows at bounds with them and solve the rest anew. True if the solution is still one."""
    h = c.history
    for k in range(first, first + n):
        state = c.row_state[k]
        if state == AT_LOW:
            h[P, k] = h[LOW_ROW, k]
        elif state == AT_HIGH:
            h[P, k] = h[HIGH_ROW, k]
        elif state == FIXED and c.row_normal[k] >= 0 and h[HIGH_ROW, k] > h[LOW_ROW, k]:
            return False
    refine(c, n, first)
    return is_solved(c, island, n, first)


@kernel
def drive_all(c, n, first):
    """Solve the box from nothing, normals and other rows before tangents. Returns pivots, or -1."""
    restart(c, n, first)
    pivots = 0
    for tangents in range(2):
        for d in range(n):
            k = first + d
            if (c.row_normal[k] >= 0) == (tangents == 1):
                took = drive(c, n, first, d, 20 * n + 100)
                if took < 0:
                    return -1
                pivots += took
    refine(c, n, first)
    return pivots


@kernel
def drive_normals(c, n, first):
    """Normal impulses without friction, for the first bounds. Returns pivots, or -1."""
    for k in range(first, first + n):
        if c.row_normal[k] >= 0:
            c.history[LOW_ROW, k] = 0.0
            c.history[HIGH_ROW, k] = 0.0
    return drive_all(c, n, first)


@callback
def dantzig_island(address, island, rounds, unused):
    """Solve the boxed LCP of one island, which must fit into `matrix`.

    Args:
        address: of the PROBLEM.
        island: its number.
        rounds: the most rounds of bounds; with one, the bounds are those of the frictionless problem.

    Leaves impulses and u alone unless it succeeds, and says in `island_ended` how it went: OWN_SOLVED, STUCK,
    or INACCURATE where bounds and normal impulses do not agree after several rounds, or no impulses exist.

    Returns:
        The number of pivots.
    """
    c = view(PROBLEM, address)
    first = c.island_row[island] & INDEX
    n = assemble(c, island)
    load_box(c, island, first)
    c.island_ended[island] = STUCK
    pivots = drive_normals(c, n, first)
    if pivots < 0:
        return 0
    ended = INACCURATE
    for number in range(rounds):
        change, largest = disagreement(c, n, first)
        if change <= AGREEMENT_TOLERANCE * largest:
            ended = OWN_SOLVED
            break
        if number % 3 == 2:
            sweep_box(c, n, first, SWEEPS_PER_ROUND * number)
        else:
            follow_bounds(c, n, first)
            move_bounds(c, n, first)
        if number == 0 or not same_places(c, island, n, first):
            took = drive_all(c, n, first)
            if took < 0:
                return pivots
            pivots += took
    if not is_solved(c, island, n, first):
        ended = INACCURATE
    elif rounds == 1:
        ended = OWN_SOLVED
    c.island_ended[island] = ended
    if ended == OWN_SOLVED:
        adopt(c, island, P, SCALE_ROW)
        apply_impulses(c, island)
    return pivots
