"""The dual method of Goldfarb and Idnani: constraints are added one by one to the unconstrained minimum.

Every point on the way is the minimum under the constraints that are active so far, and the objective only grows, so
that the method ends; where a constraint cannot be added, its normal is a non-negative combination of active ones, and
those are the constraints in conflict.

A program that differs little from the last one starts warm: constraints that were active then are looked at first,
which saves the search through all of them and detours.

Source: Goldfarb, Idnani, "A numerically stable dual method for solving strictly convex quadratic programs",
Mathematical Programming 27 (1983), section 3. Householder reflections take the place of their Givens rotations
where constraints are added.
"""

from __future__ import annotations

import math

from kido.jit import entry, kernel, view
from kido.optimization.dense_qp.arrays import (
    ASIDE,
    AT_LOWER,
    AT_UPPER,
    EQUALITY,
    INFEASIBLE,
    NOT_CONVEX,
    QP_SOLVED,
    QUADRATIC,
    UNFINISHED,
)
from kido.optimization.dense_qp.factors import (
    append,
    factorize,
    free_direction,
    multiplier_direction,
    remove,
    seen_by,
    start_directions,
    unconstrained,
)

# Part of a normal beyond the active ones, over its size in the metric of H^-1, that is nothing.
DEPENDENCE_TOLERANCE = 1e-12

# Of the largest share, in a normal that depends on active ones, of one of them: below it is rounding.
NOISE_TOLERANCE = 1e-9

DEPENDENT_ROUNDING = 100.0  # times the tolerance: by how much a constraint that depends on others may miss its bound


@kernel
def limits_of(s, p):
    """Lower and upper bound of constraint p."""
    n = s.num_variables
    if p < n:
        return s.lower[p], s.upper[p]
    return s.row_lower[p - n], s.row_upper[p - n]


@kernel
def value_of(s, p):
    """Constraint p at x, and the norm of its normal."""
    n = s.num_variables
    if p < n:
        return s.x[p], 1.0
    A, x, row = s.A, s.x, p - n
    total = 0.0
    for i in range(n):
        total += A[row, i] * x[i]
    return total, s.row_norm[row]


@kernel
def violation(s, p):
    """By how much constraint p is violated, over its norm; AT_LOWER or AT_UPPER; 0.0 within tolerance."""
    low, high = limits_of(s, p)
    value, norm = value_of(s, p)
    slack = s.tolerance * norm
    if value < low - slack * (1.0 + math.fabs(low)):
        return (low - value) / (norm + 1e-300), AT_LOWER
    if value > high + slack * (1.0 + math.fabs(high)):
        return (value - high) / (norm + 1e-300), AT_UPPER
    return 0.0, AT_LOWER


@kernel
def most_violated(s):
    """The constraint to be added next and its side, -1 if there is none: the worst of the warm ones, else of all."""
    n, m = s.num_variables, s.num_rows
    worst, which, at = 0.0, -1, AT_LOWER
    for k in range(s.num_warm):
        p = s.warm[k]
        if p < n + m and s.is_active[p] == 0:
            size, side = violation(s, p)
            if size > worst:
                worst, which, at = size, p, side
    if which >= 0:
        return which, at
    s.num_warm = 0
    for p in range(n + m):
        if s.is_active[p] == 0:
            size, side = violation(s, p)
            if size > worst:
                worst, which, at = size, p, side
    return which, at


@kernel
def share_of(s, k):
    """Size of the part that active constraint k has in the normal that r belongs to."""
    p, n = s.active[k], s.num_variables
    return math.fabs(s.r[k]) * (1.0 if p < n else s.row_norm[p - n])


@kernel
def rounding_of_shares(s):
    """What `share_of` is at least where a constraint has a part in the normal."""
    largest = 0.0
    for k in range(s.num_active):
        largest = max(largest, share_of(s, k))
    return NOISE_TOLERANCE * largest


@kernel
def note_conflict(s, p, least):
    """The constraint that cannot be added, and the active ones that stand against it."""
    s.conflict[0] = p
    found = 1
    for k in range(s.num_active):
        if share_of(s, k) > least:
            s.conflict[found] = s.active[k]
            found += 1
    s.num_conflicts = found


@kernel
def add(s, p, side, largest):
    """Make constraint p hold, with others active or not as they must be; returns QP_SOLVED, INFEASIBLE or UNFINISHED.

    Args:
        side: AT_LOWER or AT_UPPER, or EQUALITY.
        largest: number in J that tells what rounding amounts to.
    """
    n = s.num_variables
    low, high = limits_of(s, p)
    value, norm = value_of(s, p)
    sign, gap = 1.0, low - value
    if side == AT_UPPER or (side == EQUALITY and gap < 0.0):
        sign, gap = -1.0, value - high
    nothing = (DEPENDENCE_TOLERANCE * largest * norm) ** 2
    own = 0.0  # multiplier of p
    while True:
        s.iterations += 1
        if s.iterations > s.max_iterations:
            return UNFINISHED
        beyond = seen_by(s, p)
        q = s.num_active
        for j in range(n):
            s.d[j] *= sign
        multiplier_direction(s)
        # Only where the step ends at the constraint is what rounding leaves in r harmless.
        least = -1.0 if beyond > nothing else rounding_of_shares(s)
        partial, blocks = math.inf, -1
        for k in range(q):
            if s.side[k] != EQUALITY and s.r[k] > 0.0 and s.multiplier[k] < partial * s.r[k] and share_of(s, k) > least:
                partial, blocks = s.multiplier[k] / s.r[k], k
        full = math.inf
        if beyond > nothing:
            full = gap / beyond
        elif blocks < 0 and gap <= DEPENDENT_ROUNDING * s.tolerance * norm * (1.0 + math.fabs(value)):
            s.is_active[p] = ASIDE  # it follows from the active ones, as long as they are
            return QP_SOLVED
        elif blocks < 0:
            note_conflict(s, p, least)
            return INFEASIBLE
        step = min(partial, full)
        if beyond > nothing:
            free_direction(s)
            for i in range(n):
                s.x[i] += step * s.z[i]
        for k in range(q):
            s.multiplier[k] -= step * s.r[k]
        own += step
        if beyond > nothing and full <= partial:
            append(s, beyond)
            s.active[q] = p
            s.side[q] = side
            s.multiplier[q] = own
            s.is_active[p] = 1 if sign > 0.0 else -1  # the factors hold sign times the normal
            return QP_SOLVED
        s.multiplier[blocks] = 0.0
        remove(s, blocks)
        if beyond > nothing:
            value, _ = value_of(s, p)
            gap = low - value if sign > 0.0 else value - high


@kernel
def slope(s):
    """d = J^T (H x + g): what is left of the objective's gradient, seen from the factors; z = H x + g."""
    n = s.num_variables
    H, J, x, z, d = s.H, s.J, s.x, s.z, s.d
    for i in range(n):
        z[i] = s.g[i]
    for i in range(n):
        f, total = x[i], H[i, i] * x[i]
        for j in range(i + 1, n):
            z[j] += f * H[i, j]
            total += H[i, j] * x[j]
        z[i] += total
    for j in range(n):
        total = 0.0
        for i in range(n):
            total += J[j, i] * z[i]
        d[j] = total


@kernel
def polish(s):
    """Take away what steps have added up: x back to its bounds, x along the free directions, then the multipliers.

    x += J_1 R^-T (bounds - N^T x), x -= J_2 J_2^T (H x + g), R multipliers = J_1^T (H x + g).
    """
    n, q = s.num_variables, s.num_active
    J, R, x, d, r = s.J, s.R, s.x, s.d, s.r
    for k in range(q):
        p = s.active[k]
        low, high = limits_of(s, p)
        value, _ = value_of(s, p)
        f = low - value if s.is_active[p] > 0 else value - high
        for i in range(k):
            f -= R[k, i] * r[i]
        r[k] = f / R[k, k]
    for k in range(q):
        f = r[k]
        for i in range(n):
            x[i] += f * J[k, i]
    slope(s)
    for k in range(q, n):
        f = d[k]
        for i in range(n):
            x[i] -= f * J[k, i]
    multiplier_direction(s)
    for k in range(q):
        f = r[k]
        if s.side[k] != EQUALITY and f < 0.0:
            f = 0.0
        s.multiplier[k] = f


@kernel
def keep_warm(s):
    """What is active now is tried first in the next program."""
    q = s.num_active
    for k in range(q):
        s.warm[k] = s.active[k]
    s.num_warm = q


@kernel
def prepare_rows(s):
    """Norms of rows; the first constraint whose lower bound is above the upper, or -1."""
    n, m = s.num_variables, s.num_rows
    wrong = -1
    for row in range(m):
        total = 0.0
        for i in range(n):
            total += s.A[row, i] * s.A[row, i]
        s.row_norm[row] = max(math.sqrt(total), s.row_floor[row])
    for p in range(n + m):
        s.is_active[p] = 0
        low, high = limits_of(s, p)
        if wrong < 0 and not low <= high:
            wrong = p
    return wrong


@kernel
def minimize(s):
    """Solve the program; returns QP_SOLVED, INFEASIBLE (see `conflict`), NOT_CONVEX or UNFINISHED.

    `x`, `active`, `side` and `multiplier` are the solution: H x + g = sum of multipliers times normals, minus those
    at upper bounds. Multipliers of equalities go with their normals.
    """
    n, m = s.num_variables, s.num_rows
    s.num_active = s.iterations = s.num_conflicts = 0
    if s.max_iterations <= 0:
        s.max_iterations = 100 + 20 * (n + m)
    wrong = prepare_rows(s)
    if wrong >= 0:
        s.conflict[0] = wrong
        s.num_conflicts = 1
        return INFEASIBLE
    if not factorize(s):
        return NOT_CONVEX
    unconstrained(s)
    largest = 0.0
    for p in range(n + m):
        low, high = limits_of(s, p)
        if low == high:
            if largest == 0.0:
                largest = start_directions(s)
            status = add(s, p, EQUALITY, largest)
            if status != QP_SOLVED:
                return status
    polished = False
    while True:
        p, side = most_violated(s)
        if p < 0:
            if largest == 0.0 or polished:
                break
            polish(s)  # after which something else may be violated
            polished = True
        else:
            if largest == 0.0:
                largest = start_directions(s)
            status = add(s, p, side, largest)
            if status != QP_SOLVED:
                return status
            polished = False
    if largest > 0.0:
        for k in range(s.num_active):
            if s.side[k] == EQUALITY and s.is_active[s.active[k]] < 0:
                s.multiplier[k] = -s.multiplier[k]
    keep_warm(s)
    return QP_SOLVED


@entry("i8(i8)")
def solve(address):
    """Solve the program in a container; returns as `minimize` does."""
    return minimize(view(QUADRATIC, address))
