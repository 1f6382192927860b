"""Newton's method on smoothed cones in row space, for islands on which other methods change cases back and forth.

In impulses x and velocities y = A x + b that are scaled so that blocks of A have mean diagonal 1 and the friction cones
of both are Lorentz cones K, with De Saxce's term s = (|y_t|, 0), contacts and bounded rows are solved by

    F(x) = x - proj_K(x - RATE (y + s)) = 0

whose derivative jumps where a contact opens, sticks or slides. With m > 0 smoothed projections (l + sqrt(l^2 + 4 m^2))
/ 2 take the place of max(l, 0), l the eigenvalues x_n -+ |x_t| of the cone's Jordan algebra, or distances from bounds,
and sqrt(|y_t|^2 + m^2) that of |y_t|: F is smooth, Newton's method with a line search on |F| follows its solution as m
falls to zero, and cases are never chosen. It takes 15 to 40 iterations, where the exact laws take 3 if they do not
cycle.

Source: Fukushima, Luo and Tseng 2002 (smoothing functions for second-order cones); De Saxce and Feng 1998.
"""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.solvers.body_newton import MAX_CONE_FRICTION
from kido.solvers.certify import measure_island, merit
from kido.solvers.history import BEST_ROW, FREE_ROW, SCALE_ROW, TRIAL_ROW, gather, scatter
from kido.solvers.newton import eliminate, scale_rows
from kido.solvers.problem import BOUNDED, CONTACT
from kido.solvers.rows import INDEX, apply_impulses

RATE = 0.3  # of the projected step: islands of redundant contacts have eigenvalues far above 1
NEAR, FAR = 0.1, 10.0  # m beside the impulses at first
SHRINK, GROWTH = 0.35, 3.0  # of m, where F is solved, or stuck
CENTRED = 0.5  # |F| beside m for each row at which F is solved well enough
LEAST_SHARE, STUCK, SLOPE = 1e-3, 1e-2, 1e-2  # of a step, and what it has to gain beside its share

# Rows of `history`: impulses, velocities, -F and then the step, the same of a trial, velocities of the step.
X, Y, STEP, TRIAL_X, TRIAL_Y, RATE_Y = 0, 1, 2, 7, 8, 9


@kernel
def has_cones(c, island):
    """Whether all blocks of an island are contacts, without impulses of a restitution, and bounded rows."""
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        if c.floor[b] != 0.0 or c.step[b] <= 0.0:
            return False
        if c.kind[b] != BOUNDED and (c.kind[b] != CONTACT or c.mu[b] > MAX_CONE_FRICTION):
            return False
    return True


@kernel
def scale_cones(c, island, first, n):
    """`scale_rows`, and tangents so that friction cones are Lorentz cones; those without friction do nothing."""
    h, m = c.history, c.matrix
    scale_rows(c, island, first, n)
    k = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        if c.kind[b] == BOUNDED:
            k += 1
        else:
            for i in range(k + 1, k + 3):
                h[SCALE_ROW, first + i] *= c.mu[b]
                h[FREE_ROW, first + i] *= c.mu[b]
                for j in range(n):
                    m[i, j] *= c.mu[b]
                for j in range(n):
                    m[j, i] *= c.mu[b]
            k += 3


@kernel
def rise(x, m):
    """max(x, 0) smoothed by m > 0, and its derivative."""
    q = math.sqrt(x * x + 4.0 * m * m)
    if x > 0.0:
        return 0.5 * (x + q), 0.5 + 0.5 * x / q
    low = 2.0 * m * m / (q - x)
    return low, low / q


@kernel
def clamp_smoothly(x, lower, upper, m):
    """x between bounds, which may be infinite, smoothed by m, and its derivative."""
    slope = 1.0
    if lower > -math.inf:
        x, slope = rise(x - lower, m)
        x += lower
    if upper < math.inf:
        x, rate = rise(upper - x, m)
        x = upper - x
        slope *= rate
    return x, slope


@kernel
def project_smoothly(x0, x1, x2, m):
    """Projection to the Lorentz cone, smoothed by m.

    Returns:
        Its normal component and the size of its tangent, along e; e; the derivative: a and b of (n, n) and (n, e), of
        (e, e) and (e, n) the same, and across e.
    """
    size = math.sqrt(x1 * x1 + x2 * x2)
    e1, e2 = 1.0, 0.0
    if size > 0.0:
        e1, e2 = x1 / size, x2 / size
    low, low_rate = rise(x0 - size, m)
    high, high_rate = rise(x0 + size, m)
    mean = 0.5 * (low_rate + high_rate)
    tangent = 0.5 * (high - low)
    across = tangent / size if size > 1e-12 * m else mean
    return 0.5 * (low + high), tangent, e1, e2, mean, 0.5 * (high_rate - low_rate), across


@kernel
def corrected(y0, y1, y2, m):
    """y_n with De Saxce's term, smoothed, and that term."""
    slip = math.sqrt(y1 * y1 + y2 * y2 + m * m)
    return y0 + slip, slip


@kernel
def map_rows(c, island, first, x, y, m):
    """-F to STEP, of rows x and y of the history. Returns |F|."""
    h = c.history
    total = 0.0
    k = first
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        if c.kind[b] == BOUNDED:
            scale = h[SCALE_ROW, k]
            to, _ = clamp_smoothly(h[x, k] - RATE * h[y, k], c.lower[b] / scale, c.upper[b] / scale, m)
            h[STEP, k] = to - h[x, k]
            total += h[STEP, k] * h[STEP, k]
            k += 1
        else:
            y0, _ = corrected(h[y, k], h[y, k + 1], h[y, k + 2], m)
            z0, z1, z2 = h[x, k] - RATE * y0, h[x, k + 1] - RATE * h[y, k + 1], h[x, k + 2] - RATE * h[y, k + 2]
            to, tangent, e1, e2, _, _, _ = project_smoothly(z0, z1, z2, m)
            h[STEP, k] = to - h[x, k]
            h[STEP, k + 1] = tangent * e1 - h[x, k + 1]
            h[STEP, k + 2] = tangent * e2 - h[x, k + 2]
            for r in range(3):
                total += h[STEP, k + r] * h[STEP, k + r]
            k += 3
    return math.sqrt(total)


@kernel
def differentiate_map(c, island, first, n, m):
    """The derivative of F at X and Y to factor[:n, :n]."""
    h, a, f = c.history, c.matrix, c.factor
    k = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        x = first + k
        if c.kind[b] == BOUNDED:
            scale = h[SCALE_ROW, x]
            _, slope = clamp_smoothly(h[X, x] - RATE * h[Y, x], c.lower[b] / scale, c.upper[b] / scale, m)
            for j in range(n):
                f[k, j] = RATE * slope * a[k, j]
            f[k, k] += 1.0 - slope
            k += 1
        else:
            y1, y2 = h[Y, x + 1], h[Y, x + 2]
            y0, slip = corrected(h[Y, x], y1, y2, m)
            z0, z1, z2 = h[X, x] - RATE * y0, h[X, x + 1] - RATE * y1, h[X, x + 2] - RATE * y2
            _, _, e1, e2, mean, skew, across = project_smoothly(z0, z1, z2, m)
            p01, p02 = skew * e1, skew * e2
            p11, p12, p22 = (
                mean * e1 * e1 + across * e2 * e2,
                (mean - across) * e1 * e2,
                mean * e2 * e2 + across * e1 * e1,
            )
            y1, y2 = y1 / slip, y2 / slip
            for j in range(n):
                w1, w2 = RATE * a[k + 1, j], RATE * a[k + 2, j]
                w0 = RATE * a[k, j] + y1 * w1 + y2 * w2
                f[k, j] = mean * w0 + p01 * w1 + p02 * w2
                f[k + 1, j] = p01 * w0 + p11 * w1 + p12 * w2
                f[k + 2, j] = p02 * w0 + p12 * w1 + p22 * w2
            f[k, k] += 1.0 - mean
            f[k, k + 1] -= p01
            f[k, k + 2] -= p02
            f[k + 1, k] -= p01
            f[k + 1, k + 1] += 1.0 - p11
            f[k + 1, k + 2] -= p12
            f[k + 2, k] -= p02
            f[k + 2, k + 1] -= p12
            f[k + 2, k + 2] += 1.0 - p22
            k += 3


@kernel
def multiply_rows(c, n, first, source, target):
    """Row `target` of the history = matrix times row `source`."""
    h = c.history
    for j in range(n):
        h[target, first + j] = 0.0
    for i in range(n):
        x = h[source, first + i]
        for j in range(n):
            h[target, first + j] += c.matrix[i, j] * x  # which is symmetric


@kernel
def search_line(c, island, first, n, m, size):
    """Go along STEP until |F|, `size` at first, falls enough; X and Y are what is reached.

    Returns:
        |F| and the share of the step.
    """
    h = c.history
    multiply_rows(c, n, first, STEP, RATE_Y)
    for k in range(first, first + n):
        h[TRIAL_ROW, k] = h[STEP, k]  # map_rows takes its row
    share = 1.0
    while True:
        for k in range(first, first + n):
            h[TRIAL_X, k] = h[X, k] + share * h[TRIAL_ROW, k]
            h[TRIAL_Y, k] = h[Y, k] + share * h[RATE_Y, k]
        reached = map_rows(c, island, first, TRIAL_X, TRIAL_Y, m)
        if reached <= (1.0 - SLOPE * share) * size or not share > LEAST_SHARE:
            break
        share *= 0.5
    for k in range(first, first + n):
        h[X, k], h[Y, k] = h[TRIAL_X, k], h[TRIAL_Y, k]
    return reached, share


@kernel
def smoothing_newton(c, island, cap, far):
    """At most `cap` iterations on an island that was swept in row velocities and `has_cones`, until it is solved
    (`measure_island`).

    Reads impulses and u, which must belong together, and `matrix` and VELOCITY_ROW as the sweeps left them. Leaves the
    best impulses met, those it began with among them, with their u and what `measure_island` sets.

    Args:
        far: 1: from greater smoothing, which forgets the impulses that it begins with; 0: from a smaller one.

    Returns:
        The number of iterations.
    """
    h = c.history
    first = c.island_row[island] & INDEX
    n = (c.island_row[island + 1] & INDEX) - first
    scale_cones(c, island, first, n)
    gather(c, island, BEST_ROW)
    best = merit(c, island)
    impulses, speeds = 0.0, 0.0
    for k in range(first, first + n):
        h[X, k] = h[BEST_ROW, k] / h[SCALE_ROW, k] if h[SCALE_ROW, k] > 0.0 else 0.0
        impulses += h[X, k] * h[X, k]
        speeds += h[FREE_ROW, k] * h[FREE_ROW, k]
    multiply_rows(c, n, first, X, Y)
    for k in range(first, first + n):
        h[Y, k] += h[FREE_ROW, k]
    root = math.sqrt(1.0 * n)
    m = (FAR if far != 0 else NEAR) * math.sqrt(impulses if impulses > 0.0 else speeds) / root
    done = 0
    while done < cap and best > 1.0 and m > 0.0:
        size = map_rows(c, island, first, X, Y, m)
        differentiate_map(c, island, first, n, m)
        done += 1
        if not (math.isfinite(size) and eliminate(c, n, first, STEP)):
            break
        size, share = search_line(c, island, first, n, m, size)
        if not math.isfinite(size):
            break
        for k in range(first, first + n):
            h[TRIAL_ROW, k] = h[X, k] * h[SCALE_ROW, k]
        scatter(c, island, TRIAL_ROW)
        reached = measure_island(c, island)
        if reached < best:
            best = reached
            gather(c, island, BEST_ROW)
        if size < CENTRED * root * m:
            m *= SHRINK
        elif share < STUCK:
            m *= GROWTH
    scatter(c, island, BEST_ROW)
    apply_impulses(c, island)
    measure_island(c, island)
    return done
