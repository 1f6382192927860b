"""Over-relaxed ADMM on the exact Coulomb cone, with a dense factorization of an island's compliance.

For ill-conditioned islands (large mass ratios, tall stacks, redundant contacts), where Gauss-Seidel
stagnates. In impulses scaled by one factor per block (so that every block of the compliance has mean
diagonal 1), with z = v + s the corrected velocity, s = (mu |v_t|, 0) taken from z:

    p <- -(A + rho I)^-1 (b + s - rho y - z)        q = relaxation * p + (1 - relaxation) * y
    y <- proj_K(q - z / rho)                        z <- z - rho (q - y)

y is always admissible; it is the answer. The penalty rho is adapted when primal and dual defects differ.

Source: Carpentier, Le Lidec and Montaut, RSS 2024; scaling and over-relaxation measured for this project.
"""

from __future__ import annotations

import math

from kido.jit import callback, kernel, view
from kido.solvers.certify import measure_island
from kido.solvers.cholesky import factorize, substitute
from kido.solvers.cone import clamp, project_cone, project_spin
from kido.solvers.history import BEST_ROW, FREE_ROW, SCALE_ROW, gather, scatter
from kido.solvers.newton import newton_steps
from kido.solvers.problem import BOUNDED, CONTACT, PROBLEM
from kido.solvers.rows import INDEX, apply_impulses, free_velocity, num_segments, product, segment

# Rows of `history`, which the acceleration does not need at the same time.
Y, Z, X, WORK_ROW = 0, 1, 2, 6
CHECK_ITERATIONS = 8  # iterations between residuals
ADAPT = 16  # iterations between changes of the penalty
ADMM_PATIENCE = 0.5  # share of the cap after which, without a real gain, more iterations are a waste
REAL_GAIN = 0.8  # a real gain brings the defect below this share of the best so far
NEWTON_STEPS = 30  # at most, where the iterations end far from the solution
IMBALANCE = 5.0  # ratio of defects beyond which the penalty changes


@kernel
def add_pair(c, i, rows, at, j, columns, at_j, n, row, column):
    """matrix[row.., column..] += J of one block times Y of another, on a segment they share."""
    for r in range(rows):
        for s in range(columns):
            c.matrix[row + r, column + s] += product(c.J, at + r * n, c.Y, at_j + s * n, n)


@kernel
def assemble(c, island):
    """Fill matrix[:n, :n] with the scaled compliance and SCALE_ROW with the scales. Returns n."""
    h = c.history
    first = c.island_row[island] & INDEX
    n = (c.island_row[island + 1] & INDEX) - first
    for i in range(n):
        for j in range(n):
            c.matrix[i, j] = 0.0
    row = 0
    begin = c.island_start[island]
    end = c.island_start[island + 1]
    for e in range(begin, end):
        b = c.island_block[e]
        rows = 1 if c.kind[b] == BOUNDED else 3
        column = row
        for g in range(e, end):
            d = c.island_block[g]
            columns = 1 if c.kind[d] == BOUNDED else 3
            for side in range(num_segments(c, b)):
                dof, length, at = segment(c, b, side)
                for other in range(num_segments(c, d)):
                    dof_d, length_d, at_d = segment(c, d, other)
                    if length > 0 and length_d > 0 and dof_d == dof:
                        add_pair(c, b, rows, at, d, columns, at_d, length, row, column)
            column += columns
        scale = math.sqrt(c.step[b])
        for r in range(rows):
            c.matrix[row + r, row + r] += c.compliance[c.row[b] + r]
            h[SCALE_ROW, first + row + r] = scale
        row += rows
    for i in range(n):
        for j in range(i, n):
            w = c.matrix[i, j] * h[SCALE_ROW, first + i] * h[SCALE_ROW, first + j]
            c.matrix[i, j] = w
            c.matrix[j, i] = w
    return n


@kernel
def multiply(c, n, source, target, first):
    """history[target] = matrix * history[source]."""
    h = c.history
    for i in range(n):
        h[target, first + i] = 0.0
    for j in range(n):
        x = h[source, first + j]
        for i in range(n):
            h[target, first + i] += c.matrix[j, i] * x


@kernel
def largest_eigenvalue(c, n, first):
    """Of the scaled compliance, by power iteration, within some percent."""
    h = c.history
    for i in range(n):
        h[X, first + i] = 1.0 + 0.1 * (i % 7)
    value = 0.0
    for _ in range(8):
        multiply(c, n, X, WORK_ROW, first)
        size = 0.0
        for i in range(n):
            size += h[WORK_ROW, first + i] * h[WORK_ROW, first + i]
        if size <= 0.0:
            return 0.0
        value = math.sqrt(size)
        for i in range(n):
            h[X, first + i] = h[WORK_ROW, first + i] / value
    return value


@kernel
def factor_with(c, n, rho):
    """Factorize matrix + rho I. False if it is not definite."""
    for i in range(n):
        for j in range(i, n):
            c.factor[i, j] = c.matrix[i, j]
        c.factor[i, i] += rho
    return factorize(c.factor, n)


@kernel
def load(c, island, first, n):
    """Scaled: Y = impulses, FREE_ROW = velocity without impulses, Z = corrected velocity."""
    h = c.history
    gather(c, island, Y)
    for k in range(first, first + n):
        h[Y, k] = h[Y, k] / h[SCALE_ROW, k] if h[SCALE_ROW, k] > 0.0 else 0.0
    multiply(c, n, Y, Z, first)
    k = first
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        rows = 1 if c.kind[b] == BOUNDED else 3
        for r in range(rows):
            h[FREE_ROW, k + r] = free_velocity(c, b, r) * h[SCALE_ROW, k + r]
            h[Z, k + r] += h[FREE_ROW, k + r]
        if c.kind[b] == CONTACT:
            h[Z, k] += c.mu[b] * math.sqrt(h[Z, k + 1] * h[Z, k + 1] + h[Z, k + 2] * h[Z, k + 2])
        k += rows


@kernel
def iterate(c, island, first, n, rho):
    """One ADMM iteration. Returns the sums of squares of p - y, of the change of y, of y and of z."""
    h = c.history
    relaxation = c.admm_relaxation
    k = first
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        rows = 1 if c.kind[b] == BOUNDED else 3
        for r in range(rows):
            h[X, k + r] = rho * h[Y, k + r] + h[Z, k + r] - h[FREE_ROW, k + r]
        if c.kind[b] == CONTACT:
            h[X, k] -= c.mu[b] * math.sqrt(h[Z, k + 1] * h[Z, k + 1] + h[Z, k + 2] * h[Z, k + 2])
        k += rows
    substitute(c.factor, n, h, X, first)
    inverse = 1.0 / rho
    primal = 0.0
    dual = 0.0
    size_y = 0.0
    size_z = 0.0
    normal = 0.0  # impulse of the last contact, whose spin block may follow
    k = first
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        rows = 1 if c.kind[b] == BOUNDED else 3
        for r in range(rows):
            primal += (h[X, k + r] - h[Y, k + r]) * (h[X, k + r] - h[Y, k + r])
            relaxed = relaxation * h[X, k + r] + (1.0 - relaxation) * h[Y, k + r]
            h[X, k + r] = relaxed - h[Z, k + r] * inverse
        scale = h[SCALE_ROW, k]
        if rows == 3:
            if c.kind[b] == CONTACT:
                floor = c.floor[b] / scale if scale > 0.0 else 0.0
                y0, y1, y2 = project_cone(h[X, k], h[X, k + 1], h[X, k + 2], c.mu[b], floor)
                normal = y0 * scale
            else:
                bound = normal / scale if scale > 0.0 else 0.0
                y0, y1, y2 = project_spin(h[X, k], h[X, k + 1], h[X, k + 2], c.torsion[b] * bound, c.mu[b] * bound)
            dual += (y1 - h[Y, k + 1]) * (y1 - h[Y, k + 1]) + (y2 - h[Y, k + 2]) * (y2 - h[Y, k + 2])
            size_y += y1 * y1 + y2 * y2
            h[Y, k + 1] = y1
            h[Y, k + 2] = y2
        elif scale > 0.0:
            y0 = clamp(h[X, k], c.lower[b] / scale, c.upper[b] / scale)
        else:
            y0 = 0.0
        dual += (y0 - h[Y, k]) * (y0 - h[Y, k])
        size_y += y0 * y0
        h[Y, k] = y0
        for r in range(rows):
            z = rho * (h[Y, k + r] - h[X, k + r])
            h[Z, k + r] = z
            size_z += z * z
        k += rows
    return primal, dual, size_y, size_z


@callback
def admm_island(address, island, cap, unused):
    """Iterate on one island until it is solved (`measure_island`) or `cap` iterations are done.

    Reads impulses and u, which must belong together; leaves the best impulses met, the start included,
    with their u and what `measure_island` sets. The island must fit into `matrix`.

    Returns:
        The number of iterations.
    """
    c = view(PROBLEM, address)
    first = c.island_row[island]
    best = measure_island(c, island)
    gather(c, island, BEST_ROW)
    n = assemble(c, island)
    load(c, island, first, n)
    rho = c.admm_penalty * largest_eigenvalue(c, n, first)
    fresh = True
    good = rho > 0.0 and math.isfinite(rho)
    done = 0
    gained = 0  # iteration of the last real gain of its own: it may start worse than what it was given
    own = math.inf
    while good and done < cap and best > 1.0 and done < gained + ADMM_PATIENCE * cap:
        if fresh:
            good = factor_with(c, n, rho)
            fresh = False
        primal, dual, size_y, size_z = iterate(c, island, first, n, rho)
        done += 1
        if done % CHECK_ITERATIONS == 0:
            for k in range(first, first + n):
                c.history[X, k] = c.history[Y, k] * c.history[SCALE_ROW, k]
            scatter(c, island, X)
            merit = measure_island(c, island)
            good = good and math.isfinite(merit)
            if merit < REAL_GAIN * own:
                gained = done
                own = merit
            if good and merit < best:
                best = merit
                gather(c, island, BEST_ROW)
        if done % ADAPT == 0:
            # Relative defects: |p - y| / |y| against rho |dy| / |z|.
            a = math.sqrt(primal / (size_y + 1e-300))
            d = rho * math.sqrt(dual / (size_z + 1e-300))
            if a > IMBALANCE * d:
                rho *= 3.0
                fresh = True
            elif d > IMBALANCE * a:
                rho /= 3.0
                fresh = True
    scatter(c, island, BEST_ROW)
    if good and done > 0 and best > c.acceptance:
        done += newton_steps(c, island, first, n, measure_island(c, island), NEWTON_STEPS)
        scatter(c, island, BEST_ROW)
    apply_impulses(c, island)  # free of the rounding of all these changes
    measure_island(c, island)
    return done
