"""Proximal Newton method on the exact cone in body space: few iterations, each a sparse factorization.

With u the velocity of the island's segments, v(p, u) = J u + bias + R p (R: softness) and De Saxce's term s = (mu
|v_t|, 0), the method of multipliers with penalty sigma repeats

    u minimizes  1/2 |u - u_free|_M^2 + sum_blocks |proj_K(y)|^2 / (2 sigma),    y = p - sigma (v(p, u) + s)
    p <- proj_K(y)

for `project_cone` and its kin, s and the bounds of spin blocks taken from the last iterate. The minimum is found by
Newton's method with an exact line search: the gradient is M (u - u_free) - J^T proj_K(y), its derivative K = M +
J^T sigma P J with P that of the projection, which is symmetric, so that K is positive definite whatever contacts
there are: redundant ones, and masses that differ by millions, do no harm. K is factorized in blocks by body
(`kido.solvers.body_matrix`). Whatever the iteration does, the best impulses met, the first ones among them, are
left, as `measure_island` sees them.

Source: Rockafellar 1976 (multipliers); Castro, Permenter and Han 2022 (Newton's method for the regularized primal
problem in robotics); De Saxce's term lagged, as Acary, Cadoux, Lemarechal and Malick 2011.
"""

from __future__ import annotations

import math

from kido.jit import callback, kernel, view
from kido.solvers.body_matrix import (
    DOF,
    NUM_SEGMENTS,
    PER_BLOCK,
    PLACES,
    SEGMENT_LENGTH,
    add_block,
    apply_mass,
    factor_matrix,
    plan_island,
    solve_matrix,
    start_matrix,
    table,
)
from kido.solvers.certify import fine_merit, is_fine, measure_island
from kido.solvers.cone import clamp
from kido.solvers.history import BEST_ROW, TRIAL_ROW, gather, scatter
from kido.solvers.problem import BOUNDED, CONTACT, PROBLEM, SPIN_BLOCK
from kido.solvers.rows import (
    INDEX,
    apply_impulses,
    extra_velocity,
    num_segments,
    project_block,
    segment,
    spin_bounds,
    velocity1,
    velocity3,
)

# Rows of `history`.
P, V, RATE_ROW, SIGMA_ROW, SLIP_ROW = 0, 1, 2, 3, 4
BODY_PENALTY = 30.0  # first penalty, relative to a block's mean inertia
PENALTY_GROWTH = 2.0  # of the penalty, where the impulses converge slowly
MAX_PENALTY = 1e6
# Large islands, where too great a penalty changes the cases of many contacts at once: first penalty, share by which
# it shrinks where a change of the impulses took more than MANY_STEPS iterations, and INNER.
PENALTY_LARGE, SHRINKAGE, MANY_STEPS, MIN_PENALTY, INNER_LARGE = 100.0, 0.5, 3, 10.0, 0.3
SLOW_CHANGE = 0.3  # a change of the impulses that leaves more than this share of the merit is slow
# Where a whole step left no more than EXACT_SLOPE of that slope, no contact changed its case and the impulses alone are
# wrong: then the penalty grows fast, up to MAX_FAST.
EXACT_SLOPE, FAST_GROWTH, MAX_FAST = 0.01, 10.0, 1e4
# Small islands that are solved from the start, as at rest, but do not meet `newton_tolerance`: no case will change, and
# what is solved beyond its tolerance need not be touched in many steps to come.
PENALTY_NEAR, GOAL_NEAR = 1e5, 0.1
MAX_SLOPE = 0.3  # share of the slope at the start of a line search that may be left at its end
LINE_STEPS = 12
INNER = 1.0  # error of the velocities, beside the change of the impulses, at which the impulses are changed
MAX_CONE_FRICTION = 100.0  # friction beyond which a cone is as good as a half space, and its natural map blind to v_n
BODY_PATIENCE = 20  # iterations without a gain after which more are a waste


@kernel
def too_wide(c, island):
    """Whether a contact of the island has a coefficient of friction beyond WIDEST."""
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        if c.kind[b] == CONTACT and c.mu[b] > MAX_CONE_FRICTION:
            return True
    return False


@kernel
def rows_of(c, b):
    """Number of rows of a block."""
    return 1 if c.kind[b] == BOUNDED else 3


@kernel
def block_rates(c, b, u):
    """J u of a block; zeros beyond its rows."""
    a, na, da = c.at_a[b] & INDEX, c.len_a[b] & INDEX, c.dof_a[b] & INDEX
    e, nb, db = c.at_b[b] & INDEX, c.len_b[b] & INDEX, c.dof_b[b] & INDEX
    if c.kind[b] == BOUNDED:
        v0 = velocity1(c.J, a, na, u, da) + velocity1(c.J, e, nb, u, db)
        v1 = 0.0
        v2 = 0.0
        if c.more_count[b] != 0:
            v0 += extra_velocity(c, b, 0, u)
    else:
        x0, x1, x2 = velocity3(c.J, a, na, u, da)
        y0, y1, y2 = velocity3(c.J, e, nb, u, db)
        v0 = x0 + y0
        v1 = x1 + y1
        v2 = x2 + y2
        if c.more_count[b] != 0:
            v0 += extra_velocity(c, b, 0, u)
            v1 += extra_velocity(c, b, 1, u)
            v2 += extra_velocity(c, b, 2, u)
    return v0, v1, v2


@kernel
def pull_back(c, b, p0, p1, p2):
    """pull -= J^T p of a block."""
    for s in range(num_segments(c, b)):
        dof, n, at = segment(c, b, s)
        if c.kind[b] == BOUNDED:
            for k in range(n):
                c.pull[dof + k] -= c.J[at + k] * p0
        else:
            for k in range(n):
                c.pull[dof + k] -= c.J[at + k] * p0 + c.J[at + n + k] * p1 + c.J[at + 2 * n + k] * p2


@kernel
def disc_slope(t1, t2, radius):
    """Derivative (11, 12, 22) of the projection of t on a disc."""
    t = math.sqrt(t1 * t1 + t2 * t2)
    if t <= radius:
        return 1.0, 0.0, 1.0
    e1 = t1 / t
    e2 = t2 / t
    w = radius / t
    return w * e2 * e2, -w * e1 * e2, w * e1 * e1


@kernel
def cone_slope(n, t1, t2, mu, floor):
    """Derivative (nn, n1, n2, 11, 12, 22) of `project_cone`, symmetric and positive semidefinite."""
    t = math.sqrt(t1 * t1 + t2 * t2)
    if t <= mu * n:
        m = n
    elif mu * t <= -n:
        m = 0.0
    else:
        m = (mu * t + n) / (1.0 + mu * mu)
    if m < floor:
        g11, g12, g22 = disc_slope(t1, t2, mu * floor)
        return 0.0, 0.0, 0.0, g11, g12, g22
    if t <= mu * n:
        return 1.0, 0.0, 0.0, 1.0, 0.0, 1.0
    if mu * t <= -n:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    w = 1.0 / (1.0 + mu * mu)
    e1 = t1 / t
    e2 = t2 / t
    a = mu * mu * w
    q = mu * m / t
    return w, mu * w * e1, mu * w * e2, a * e1 * e1 + q * e2 * e2, (a - q) * e1 * e2, a * e2 * e2 + q * e1 * e1


@kernel
def block_slope(c, b, y0, y1, y2):
    """Derivative (nn, n1, n2, 11, 12, 22) of `project_block`."""
    if c.kind[b] == CONTACT:
        return cone_slope(y0, y1, y2, c.mu[b], c.floor[b])
    if c.kind[b] == SPIN_BLOCK:
        about, across = spin_bounds(c, b)
        g11, g12, g22 = disc_slope(y1, y2, across)
        return (1.0 if math.fabs(y0) <= about else 0.0), 0.0, 0.0, g11, g12, g22
    inside = 1.0 if y0 >= c.lower[b] and y0 <= c.upper[b] else 0.0
    return inside, 0.0, 0.0, 0.0, 0.0, 0.0


@kernel
def set_penalties(c, island, penalty):
    """SIGMA_ROW of all rows: `penalty` over the block's mean compliance, at most what its softness allows."""
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        sigma = penalty * c.step[b]
        for r in range(rows_of(c, b)):
            if c.compliance[c.row[b] + r] * sigma > 1.0:
                sigma = 1.0 / c.compliance[c.row[b] + r]
        for _ in range(rows_of(c, b)):
            c.history[SIGMA_ROW, k] = sigma
            k += 1


@kernel
def load_velocities(c, island):
    """V = J walk + bias + R p, and SLIP_ROW = mu |v_t| of contacts."""
    h = c.history
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        i = c.row[b] & INDEX
        v0, v1, v2 = block_rates(c, b, c.walk)
        h[V, k] = v0 + c.bias[i] + c.compliance[i] * h[P, k]
        h[SLIP_ROW, k] = 0.0
        if c.kind[b] != BOUNDED:
            v1 += c.bias[i + 1] + c.compliance[i + 1] * h[P, k + 1]
            v2 += c.bias[i + 2] + c.compliance[i + 2] * h[P, k + 2]
            h[V, k + 1] = v1
            h[V, k + 2] = v2
            if c.kind[b] == CONTACT:
                h[SLIP_ROW, k] = c.mu[b] * math.sqrt(v1 * v1 + v2 * v2)
        k += rows_of(c, b)


@kernel
def linearize(c, island):
    """TRIAL_ROW = proj_K(y), pull = M (walk - u_free) - J^T TRIAL_ROW and K at the present velocity."""
    h = c.history
    start_matrix(c)
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        for s in range(num_segments(c, b)):
            dof, n, _ = segment(c, b, s)
            for k in range(dof, dof + n):
                c.pull[k] = c.momentum[k]
    k = c.island_row[island] & INDEX
    place = c.plan[PLACES]
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        sigma = h[SIGMA_ROW, k]
        y0 = h[P, k] - sigma * (h[V, k] + h[SLIP_ROW, k])
        y1 = 0.0
        y2 = 0.0
        if c.kind[b] != BOUNDED:
            y1 = h[P, k + 1] - sigma * h[V, k + 1]
            y2 = h[P, k + 2] - sigma * h[V, k + 2]
        p0, p1, p2 = project_block(c, b, y0, y1, y2)
        g00, g01, g02, g11, g12, g22 = block_slope(c, b, y0, y1, y2)
        if p0 != 0.0 or p1 != 0.0 or p2 != 0.0:
            pull_back(c, b, p0, p1, p2)
        if sigma > 0.0 and (g00 != 0.0 or g11 != 0.0 or g22 != 0.0):
            add_block(c, b, place, sigma * g00, sigma * g01, sigma * g02, sigma * g11, sigma * g12, sigma * g22)
        k += rows_of(c, b)
        place += PER_BLOCK


@kernel
def load_rates(c, island):
    """RATE_ROW = J direction."""
    h = c.history
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        v0, v1, v2 = block_rates(c, b, c.direction)
        h[RATE_ROW, k] = v0
        if c.kind[b] != BOUNDED:
            h[RATE_ROW, k + 1] = v1
            h[RATE_ROW, k + 2] = v2
        k += rows_of(c, b)


@kernel
def work_along(c, island, share):
    """TRIAL_ROW = proj_K(y) at walk + share direction; returns their work along the direction."""
    h = c.history
    work = 0.0
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        sigma = h[SIGMA_ROW, k]
        y0 = h[P, k] - sigma * (h[V, k] + share * h[RATE_ROW, k] + h[SLIP_ROW, k])
        y1 = 0.0
        y2 = 0.0
        if c.kind[b] != BOUNDED:
            y1 = h[P, k + 1] - sigma * (h[V, k + 1] + share * h[RATE_ROW, k + 1])
            y2 = h[P, k + 2] - sigma * (h[V, k + 2] + share * h[RATE_ROW, k + 2])
        p0, p1, p2 = project_block(c, b, y0, y1, y2)
        h[TRIAL_ROW, k] = p0
        work += p0 * h[RATE_ROW, k]
        if c.kind[b] != BOUNDED:
            h[TRIAL_ROW, k + 1] = p1
            h[TRIAL_ROW, k + 2] = p2
            work += p1 * h[RATE_ROW, k + 1] + p2 * h[RATE_ROW, k + 2]
        k += rows_of(c, b)
    return work


@kernel
def dot_dofs(c, island, x, y):
    """Sum of x . y, fields over DOFs, over the island's segments, each once."""
    total = 0.0
    plan = c.plan
    number = plan[NUM_SEGMENTS]
    for p in range(number):
        d = plan[table(c, DOF, p)]
        for k in range(d, d + plan[table(c, SEGMENT_LENGTH, p)]):
            total += x[k] * y[k]
    return total


@kernel
def search_line(c, island):
    """Length of the step along `direction` that the convex function has its minimum at; TRIAL_ROW belongs to it.

    Needs `pull` = M direction. The slope grows along the line: the root is bracketed, and found by the secant.

    Returns:
        The length, and whether it is one and the function is quadratic so far.
    """
    fixed = dot_dofs(c, island, c.direction, c.momentum)
    growth = dot_dofs(c, island, c.direction, c.pull)
    start = fixed - work_along(c, island, 0.0)
    low = 0.0
    slope_low = start
    high = -1.0
    slope_high = 0.0
    share = 1.0
    for _ in range(LINE_STEPS):
        slope = fixed + share * growth - work_along(c, island, share)
        if math.fabs(slope) <= -MAX_SLOPE * start or not math.isfinite(slope):
            return share, share == 1.0 and math.fabs(slope) <= -EXACT_SLOPE * start
        if slope < 0.0:
            low = share
            slope_low = slope
        else:
            high = share
            slope_high = slope
        if high < 0.0:
            if share >= 4.0:
                return share, False
            share *= 2.0
        else:
            share = low - slope_low * (high - low) / (slope_high - slope_low)
            edge = 0.05 * (high - low)
            share = clamp(share, low + edge, high - edge)
    work_along(c, island, share)
    return share, False


@kernel
def change_of_impulses(c, island):
    """Sum of (TRIAL_ROW - P)^2 / SIGMA_ROW [J]."""
    h = c.history
    total = 0.0
    for k in range(c.island_row[island], c.island_row[island + 1]):
        if h[SIGMA_ROW, k] > 0.0:
            d = h[TRIAL_ROW, k] - h[P, k]
            total += d * d / h[SIGMA_ROW, k]
    return total


@kernel
def walk_along(c, share):
    """Take the step: walk, and momentum = M (walk - u_free), with `pull` = M direction."""
    plan = c.plan
    number = plan[NUM_SEGMENTS]
    for p in range(number):
        d = plan[table(c, DOF, p)]
        for k in range(d, d + plan[table(c, SEGMENT_LENGTH, p)]):
            c.walk[k] += share * c.direction[k]
            c.momentum[k] += share * c.pull[k]


@kernel
def velocity_error(c, island):
    """|walk - u|_M^2 [J], u that of the impulses: how far the velocity is from what the impulses give."""
    plan = c.plan
    number = plan[NUM_SEGMENTS]
    for p in range(number):
        d = plan[table(c, DOF, p)]
        for k in range(d, d + plan[table(c, SEGMENT_LENGTH, p)]):
            c.direction[k] = c.walk[k] - c.u[k]
    apply_mass(c, c.direction, c.pull)
    return dot_dofs(c, island, c.direction, c.pull)


@kernel
def start_walk(c):
    """walk = u and momentum = M (u - u_free)."""
    plan = c.plan
    number = plan[NUM_SEGMENTS]
    for p in range(number):
        d = plan[table(c, DOF, p)]
        for k in range(d, d + plan[table(c, SEGMENT_LENGTH, p)]):
            c.walk[k] = c.u[k]
            c.direction[k] = c.u[k] - c.u_free[k]
    apply_mass(c, c.direction, c.momentum)


@kernel
def keep_impulses(c, island, target):
    """history[target] = TRIAL_ROW."""
    for k in range(c.island_row[island], c.island_row[island + 1]):
        c.history[target, k] = c.history[TRIAL_ROW, k]


@callback
def body_newton_island(address, island, cap, unused):
    """Newton's method on one island until it is solved (`measure_island`) or `cap` iterations are done.

    Reads impulses and u, which must belong together; leaves the best impulses met, the start included, with
    their u and what `measure_island` sets.

    Returns:
        The number of iterations; 0 also where the island has no room or masses are not known.
    """
    c = view(PROBLEM, address)
    best = measure_island(c, island)
    near = best <= 1.0
    if (near and is_fine(c, island)) or not math.isfinite(best) or too_wide(c, island) or not plan_island(c, island):
        return 0
    gather(c, island, BEST_ROW)
    gather(c, island, P)
    start_walk(c)
    large = c.island_row[island + 1] - c.island_row[island] > c.small_rows
    penalty = PENALTY_LARGE if large else BODY_PENALTY
    goal = 1.0
    if near:
        penalty = PENALTY_NEAR
        goal = GOAL_NEAR
        best = fine_merit(c, island)
    inner_share = INNER_LARGE if large else INNER
    set_penalties(c, island, penalty)
    last = best
    gained = 0
    done = 0
    taken = 0  # iterations since the impulses were changed
    while done < cap and best > goal and done < gained + BODY_PATIENCE:
        load_velocities(c, island)
        linearize(c, island)
        if not factor_matrix(c):
            break
        for p in range(c.plan[NUM_SEGMENTS]):
            d = c.plan[table(c, DOF, p)]
            for k in range(d, d + c.plan[table(c, SEGMENT_LENGTH, p)]):
                c.direction[k] = -c.pull[k]
        solve_matrix(c, c.direction)
        apply_mass(c, c.direction, c.pull)
        load_rates(c, island)
        share, exact = search_line(c, island)
        walk_along(c, share)
        done += 1
        taken += 1
        scatter(c, island, TRIAL_ROW)
        apply_impulses(c, island)
        merit = measure_island(c, island)
        if near:
            merit = fine_merit(c, island)
        if not math.isfinite(merit):
            break
        if merit < best:
            if merit < 0.9 * best:
                gained = done
            best = merit
            gather(c, island, BEST_ROW)
        inner = velocity_error(c, island)
        if inner <= inner_share * inner_share * change_of_impulses(c, island):
            keep_impulses(c, island, P)
            if taken == 1 and exact and penalty < MAX_FAST:
                penalty *= FAST_GROWTH
                set_penalties(c, island, penalty)
            elif (taken == 1 or not large) and merit > SLOW_CHANGE * last and penalty < MAX_PENALTY:
                penalty *= PENALTY_GROWTH
                set_penalties(c, island, penalty)
            elif large and taken > MANY_STEPS and penalty > MIN_PENALTY:
                penalty *= SHRINKAGE
                set_penalties(c, island, penalty)
            taken = 0
            last = merit
    scatter(c, island, BEST_ROW)
    apply_impulses(c, island)
    measure_island(c, island)
    return done
