"""Sparse factorization in body space without symmetry: K = M + sum over blocks of J^T G J, G of `kido.solvers.laws`.

Order, structure and places are those of `kido.solvers.body_matrix`. Beside each block between two segments lies the
transposed block on the other side of the diagonal, `plan[LOWER]` entries on. K = L U, L with ones on its diagonal and
kept transposed, U with inverse pivots. There are no exchanges of rows: what G adds to M makes a pivot small by accident
only, and a factor that is of no use shows in the residual of what it solves.
"""

from __future__ import annotations

import math

from kido.jit import inlined, kernel
from kido.solvers.body_matrix import (
    COLUMN_START,
    DIAGONAL,
    DOF,
    LOWER,
    NUM_SEGMENTS,
    ROOM,
    SEGMENT_LENGTH,
    TARGETS,
    divide_block,
    start_matrix,
    subtract_product,
    table,
)
from kido.solvers.rows import INDEX


@kernel
def has_lower_room(c):
    """Whether a planned island's blocks have room on both sides of the diagonal, and the products of two segments."""
    plan = c.plan
    longest = 0
    for p in range(plan[NUM_SEGMENTS]):
        longest = max(longest, plan[table(c, SEGMENT_LENGTH, p)])
    return 2 * plan[LOWER] + 6 * longest <= c.values.shape[0]


@kernel
def start_both(c):
    """K = M, on both sides of the diagonal."""
    start_matrix(c)
    plan, values = c.plan, c.values
    lower = plan[LOWER]
    for p in range(plan[NUM_SEGMENTS]):
        n = plan[table(c, SEGMENT_LENGTH, p)] & INDEX
        for x in range(plan[table(c, COLUMN_START, p)], plan[table(c, COLUMN_START, p + 1)]):
            at = (plan[x + plan[ROOM]] + lower) & INDEX
            for k in range(n * plan[table(c, SEGMENT_LENGTH, plan[x])]):
                values[at + k] = 0.0


@kernel
def add_rows6(values, at, X, x, Y, y):
    """values[at] (6 x 6) += X^T Y, of three rows of six each."""
    for k in range(6):
        x0, x1, x2 = X[x + k], X[x + 6 + k], X[x + 12 + k]
        a = at + 6 * k
        # All is read before anything is written, so that it can be done side by side.
        z0 = values[a] + (x0 * Y[y] + x1 * Y[y + 6] + x2 * Y[y + 12])
        z1 = values[a + 1] + (x0 * Y[y + 1] + x1 * Y[y + 7] + x2 * Y[y + 13])
        z2 = values[a + 2] + (x0 * Y[y + 2] + x1 * Y[y + 8] + x2 * Y[y + 14])
        z3 = values[a + 3] + (x0 * Y[y + 3] + x1 * Y[y + 9] + x2 * Y[y + 15])
        z4 = values[a + 4] + (x0 * Y[y + 4] + x1 * Y[y + 10] + x2 * Y[y + 16])
        z5 = values[a + 5] + (x0 * Y[y + 5] + x1 * Y[y + 11] + x2 * Y[y + 17])
        values[a] = z0
        values[a + 1] = z1
        values[a + 2] = z2
        values[a + 3] = z3
        values[a + 4] = z4
        values[a + 5] = z5


@kernel
def add_rows(values, at, X, x, n, Y, y, m, rows):
    """values[at] (n x m) += X^T Y, of one row or three each."""
    at, x, n, y, m = at & INDEX, x & INDEX, n & INDEX, y & INDEX, m & INDEX
    if rows == 3 and n == 6 and m == 6:
        add_rows6(values, at, X, x, Y, y)
        return
    for r in range(rows):
        for k in range(n):
            z = X[x + r * n + k]
            if z != 0.0:
                for s in range(m):
                    values[at + m * k + s] += z * Y[y + r * m + s]


@inlined
def transform_rows(c, to, at, n, gn, e1, e2, g11, g12, g22):
    """values[to] = G J, of three rows."""
    J, values = c.J, c.values
    for k in range(n):
        x0, x1, x2 = gn * J[at + k], J[at + n + k], J[at + 2 * n + k]
        values[to + k] = x0
        values[to + n + k] = e1 * x0 + g11 * x1 + g12 * x2
        values[to + 2 * n + k] = e2 * x0 + g12 * x1 + g22 * x2


@kernel
def add_law(c, b, place, gn, e1, e2, g11, g12, g22, rows):
    """K += J^T G J of block b on its two segments; `place` is where `plan` has its places."""
    plan, values, J = c.plan, c.values, c.J
    na, nb, a, e = c.len_a[b] & INDEX, c.len_b[b] & INDEX, c.at_a[b] & INDEX, c.at_b[b] & INDEX
    lower = plan[LOWER]
    to_a = 2 * lower
    to_b = to_a + rows * na
    if rows == 3:
        transform_rows(c, to_a & INDEX, a, na, gn, e1, e2, g11, g12, g22)
        transform_rows(c, to_b & INDEX, e, nb, gn, e1, e2, g11, g12, g22)
    else:
        for k in range(na):
            values[to_a + k] = gn * J[a + k]
        for k in range(nb):
            values[to_b + k] = gn * J[e + k]
    if na > 0:
        add_rows(values, plan[place], J, a, na, values, to_a, na, rows)
    if nb > 0:
        add_rows(values, plan[place + 1], J, e, nb, values, to_b, nb, rows)
    if na > 0 and nb > 0:
        between = plan[place + 2]
        if plan[place + 3] != 0:
            add_rows(values, between, J, e, nb, values, to_a, na, rows)
            add_rows(values, between + lower, values, to_b, nb, J, a, na, rows)
        else:
            add_rows(values, between, J, a, na, values, to_b, nb, rows)
            add_rows(values, between + lower, values, to_a, na, J, e, nb, rows)


@kernel
def factor_dense(values, at, n):
    """L U of the n x n block at `at`, pivots inverted. False if one is next to nothing."""
    for k in range(n):
        pivot = values[at + k * n + k]
        if not math.fabs(pivot) > 0.0:
            return False
        inverse = 1.0 / pivot
        values[at + k * n + k] = inverse
        for r in range(k + 1, n):
            y = values[at + r * n + k] * inverse
            values[at + r * n + k] = y
            for s in range(k + 1, n):
                values[at + r * n + s] -= y * values[at + k * n + s]
    return math.isfinite(values[at + n * n - 1])


@kernel
def divide_upper(values, diagonal, n, at, m):
    """Block (n x m) <- L^-1 block, of the diagonal block's L U."""
    for k in range(n):
        for r in range(k):
            y = values[diagonal + k * n + r]
            for s in range(m):
                values[at + k * m + s] -= y * values[at + r * m + s]


@kernel
def factor_both(c):
    """Replace K by its factors. False if there are none."""
    plan, values = c.plan, c.values
    number, room, lower = plan[NUM_SEGMENTS], plan[ROOM], plan[LOWER]
    target = plan[TARGETS]
    for p in range(number):
        n = plan[table(c, SEGMENT_LENGTH, p)] & INDEX
        diagonal = plan[table(c, DIAGONAL, p)] & INDEX
        if not factor_dense(values, diagonal, n):
            return False
        first, last = plan[table(c, COLUMN_START, p)], plan[table(c, COLUMN_START, p + 1)]
        for x in range(first, last):
            m = plan[table(c, SEGMENT_LENGTH, plan[x])] & INDEX
            at = plan[x + room]
            divide_upper(values, diagonal, n, at & INDEX, m)
            divide_block(values, diagonal, n, (at + lower) & INDEX, m)
        for x in range(first, last):
            m = plan[table(c, SEGMENT_LENGTH, plan[x])] & INDEX
            at = plan[x + room]
            for y in range(x, last):
                w = plan[table(c, SEGMENT_LENGTH, plan[y])] & INDEX
                to = plan[y + room]
                subtract_product(values, plan[target] & INDEX, (at + lower) & INDEX, to & INDEX, n, m, w)
                if y > x:
                    subtract_product(values, (plan[target] + lower) & INDEX, at & INDEX, (to + lower) & INDEX, n, m, w)
                target += 1
    return True


@kernel
def solve_both(c, x):
    """Solve K y = x in place, for a field over DOFs, on the island's segments."""
    plan, values = c.plan, c.values
    number, room, lower = plan[NUM_SEGMENTS], plan[ROOM], plan[LOWER]
    for p in range(number):
        n = plan[table(c, SEGMENT_LENGTH, p)] & INDEX
        d = plan[table(c, DOF, p)] & INDEX
        at = plan[table(c, DIAGONAL, p)] & INDEX
        for k in range(1, n):
            y = x[d + k]
            for s in range(k):
                y -= values[at + k * n + s] * x[d + s]
            x[d + k] = y
        for e in range(plan[table(c, COLUMN_START, p)], plan[table(c, COLUMN_START, p + 1)]):
            q = plan[e]
            m = plan[table(c, SEGMENT_LENGTH, q)] & INDEX
            other = plan[table(c, DOF, q)] & INDEX
            at = (plan[e + room] + lower) & INDEX
            for k in range(n):
                y = x[d + k]
                for s in range(m):
                    x[other + s] -= y * values[at + k * m + s]
    for p in range(number - 1, -1, -1):
        n = plan[table(c, SEGMENT_LENGTH, p)] & INDEX
        d = plan[table(c, DOF, p)] & INDEX
        for e in range(plan[table(c, COLUMN_START, p)], plan[table(c, COLUMN_START, p + 1)]):
            q = plan[e]
            m = plan[table(c, SEGMENT_LENGTH, q)] & INDEX
            other = plan[table(c, DOF, q)] & INDEX
            at = plan[e + room] & INDEX
            for k in range(n):
                y = 0.0
                for s in range(m):
                    y += values[at + k * m + s] * x[other + s]
                x[d + k] -= y
        at = plan[table(c, DIAGONAL, p)] & INDEX
        for k in range(n - 1, -1, -1):
            y = x[d + k]
            for s in range(k + 1, n):
                y -= values[at + k * n + s] * x[d + s]
            x[d + k] = y * values[at + k * n + k]
