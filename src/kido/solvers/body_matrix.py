"""Sparse Cholesky factorization in body space: K = M + sum over blocks of J^T G J, in blocks by segment.

An island's unknowns are the velocities of its segments (a free body has 6, a skeleton all of its coordinates). M
has a block for each segment on the diagonal, a constraint block adds to those of the segments that it touches and
between them. Segments are eliminated in order of least degree, so that 100 boxes in a bin, 600 unknowns and 1,200
rows, need some 500 blocks of 6x6. The structure is found once for an island (`plan_island`); numbers are filled in
and factorized as often as wanted: K = U^T U, U in blocks of rows, with inverse pivots on the diagonal.

`plan` holds all indices, `values` all numbers. Where they are too small, or a segment's mass matrix is unknown,
nothing is planned.

Source: George and Liu, Computer Solution of Large Sparse Positive Definite Systems (1981).
"""

from __future__ import annotations

import math

from kido.jit import kernel
from kido.solvers.problem import BOUNDED
from kido.solvers.rows import INDEX, num_segments, segment

# Entries of `plan`: numbers, then tables with an entry for each segment (and one more), then lists.
NUM_SEGMENTS, TARGETS, PLACES, ROOM = 0, 1, 2, 3
LOWER = 4  # number of values; the blocks of a matrix that is not symmetric have as many again (`body_lu`)
FIRST_TABLE = 8
# Tables: first DOF, its number, first of the column's blocks, diagonal block's place in `values`; by position.
DOF, SEGMENT_LENGTH, COLUMN_START, DIAGONAL = 0, 1, 2, 3
# By number in the island's own order: list of neighbours, their number, position (-1: not yet eliminated).
HEAD, DEGREE, PIVOT_POSITION = 4, 5, 6
PIVOT_SEGMENT = 7  # number by position
TABLES = 8
PER_BLOCK = 4  # entries for a constraint block: places of its two diagonal blocks and of the one between, orientation


@kernel
def table(c, which, k):
    """Index in `plan` of entry k of a table."""
    return FIRST_TABLE + which * (c.plan[NUM_SEGMENTS] + 1) + k


@kernel
def number_segments(c, island):
    """Number the island's segments into `label` of their first DOF. Returns how many, -1 if one has no known mass."""
    begin, end = c.island_start[island], c.island_start[island + 1]
    for e in range(begin, end):
        b = c.island_block[e]
        for k in range(num_segments(c, b)):
            dof, length, _ = segment(c, b, k)
            if length > 0:
                c.label[dof] = -1
    number = 0
    for e in range(begin, end):
        b = c.island_block[e]
        for k in range(num_segments(c, b)):
            dof, length, _ = segment(c, b, k)
            if length > 0 and c.label[dof] < 0:
                if c.inertia_at[dof] == 0:
                    return -1
                c.label[dof] = number
                number += 1
    return number


@kernel
def join(c, i, j, free, limit):
    """Note that i has neighbour j, unless known. Returns the next free place, -1 if there is none."""
    plan = c.plan
    x = plan[table(c, HEAD, i)]
    while x != 0:
        if plan[x] == j:
            return free
        x = plan[x + 1]
    if free + 2 > limit:
        return -1
    plan[free] = j
    plan[free + 1] = plan[table(c, HEAD, i)]
    plan[table(c, HEAD, i)] = free
    plan[table(c, DEGREE, i)] += 1
    return free + 2


@kernel
def join_blocks(c, island, free, limit):
    """Neighbours of all segments: those that a constraint block touches too. Returns the next free place, or -1."""
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        number = num_segments(c, b)
        for k in range(number):
            dof, length, _ = segment(c, b, k)
            for m in range(k + 1, number):
                other, other_length, _ = segment(c, b, m)
                if length > 0 and other_length > 0 and free > 0:
                    free = join(c, c.label[dof], c.label[other], free, limit)
                    if free > 0:
                        free = join(c, c.label[other], c.label[dof], free, limit)
    return free


@kernel
def eliminate_all(c, number, top, bound, free, limit):
    """Order of least degree, with the fill that it brings. Returns the end of the lists of blocks, or -1."""
    plan = c.plan
    for p in range(number):
        best = -1
        least = number + 1
        for i in range(number):
            if plan[table(c, PIVOT_POSITION, i)] < 0 and plan[table(c, DEGREE, i)] < least:
                best = i
                least = plan[table(c, DEGREE, i)]
        plan[table(c, PIVOT_POSITION, best)] = p
        plan[table(c, PIVOT_SEGMENT, p)] = best
        start = top
        plan[table(c, COLUMN_START, p)] = start
        x = plan[table(c, HEAD, best)]
        while x != 0:
            j = plan[x]
            if plan[table(c, PIVOT_POSITION, j)] < 0:
                if top >= bound:
                    return -1
                plan[top] = j
                top += 1
                plan[table(c, DEGREE, j)] -= 1
            x = plan[x + 1]
        for x in range(start, top):
            for y in range(start, top):
                if x != y:
                    free = join(c, plan[x], plan[y], free, limit)
                    if free < 0:
                        return -1
    plan[table(c, COLUMN_START, number)] = top
    return top


@kernel
def sort_columns(c, number):
    """Positions in place of numbers in the lists of blocks, in ascending order."""
    plan = c.plan
    for p in range(number):
        start, end = plan[table(c, COLUMN_START, p)], plan[table(c, COLUMN_START, p + 1)]
        for x in range(start, end):
            q = plan[table(c, PIVOT_POSITION, plan[x])]
            y = x
            while y > start and plan[y - 1] > q:
                plan[y] = plan[y - 1]
                y -= 1
            plan[y] = q


@kernel
def find_block(c, p, q):
    """Place in `values` of the block of rows p and columns q >= p, positions; it has their lengths as sizes."""
    plan = c.plan
    if p == q:
        return plan[table(c, DIAGONAL, p)]
    x = plan[table(c, COLUMN_START, p)]
    while plan[x] != q:
        x += 1
    return plan[x + plan[ROOM]]


@kernel
def place_values(c, number):
    """Where blocks lie in `values`. Returns how many entries they need."""
    plan = c.plan
    top = 0
    for p in range(number):
        n = plan[table(c, SEGMENT_LENGTH, p)]
        plan[table(c, DIAGONAL, p)] = top
        top += n * n
        for x in range(plan[table(c, COLUMN_START, p)], plan[table(c, COLUMN_START, p + 1)]):
            plan[x + plan[ROOM]] = top
            top += n * plan[table(c, SEGMENT_LENGTH, plan[x])]
    return top


@kernel
def place_targets(c, number, top, end):
    """Where each pair of a column's blocks is subtracted. Returns the end of the list, or -1."""
    plan = c.plan
    for p in range(number):
        first, last = plan[table(c, COLUMN_START, p)], plan[table(c, COLUMN_START, p + 1)]
        for x in range(first, last):
            if top + last - x > end:
                return -1
            q = plan[x]
            plan[top] = plan[table(c, DIAGONAL, q)]
            top += 1
            z = plan[table(c, COLUMN_START, q)]
            for y in range(x + 1, last):
                while plan[z] != plan[y]:
                    z += 1
                plan[top] = plan[z + plan[ROOM]]
                top += 1
    return top


@kernel
def place_block(c, b, at):
    """Places of the diagonal blocks of the two sides of block b, of the one between, and whether b's comes first."""
    plan = c.plan
    for k in range(PER_BLOCK):
        plan[at + k] = -1
    p, q = -1, -1
    if c.len_a[b] > 0:
        p = plan[table(c, PIVOT_POSITION, c.label[c.dof_a[b]])]
        plan[at] = find_block(c, p, p)
    if c.len_b[b] > 0:
        q = plan[table(c, PIVOT_POSITION, c.label[c.dof_b[b]])]
        plan[at + 1] = find_block(c, q, q)
    if p >= 0 and q >= 0:
        plan[at + 2] = find_block(c, min(p, q), max(p, q))
        plan[at + 3] = 1 if q < p else 0


@kernel
def plan_island(c, island):
    """Find order and structure of an island's K. False if it has no room, or a segment's mass is not known."""
    plan = c.plan
    number = number_segments(c, island)
    begin, end = c.island_start[island], c.island_start[island + 1]
    lists = FIRST_TABLE + TABLES * (number + 1)
    room = (plan.shape[0] - lists - PER_BLOCK * (end - begin)) // 8
    if number <= 0 or room < 1:
        return False
    plan[NUM_SEGMENTS] = number
    plan[ROOM] = room  # blocks, then their places, then neighbours, then targets over what is left
    for i in range(number):
        plan[table(c, HEAD, i)] = 0
        plan[table(c, DEGREE, i)] = 0
        plan[table(c, PIVOT_POSITION, i)] = -1
    free = join_blocks(c, island, lists + 2 * room, lists + 5 * room)
    if free < 0 or eliminate_all(c, number, lists, lists + room, free, lists + 5 * room) < 0:
        return False
    for e in range(begin, end):
        b = c.island_block[e]
        for k in range(num_segments(c, b)):
            dof, length, _ = segment(c, b, k)
            if length > 0:
                p = plan[table(c, PIVOT_POSITION, c.label[dof])]
                plan[table(c, DOF, p)] = dof
                plan[table(c, SEGMENT_LENGTH, p)] = length
    sort_columns(c, number)
    plan[LOWER] = place_values(c, number)
    if plan[LOWER] > c.values.shape[0]:
        return False
    plan[TARGETS] = lists + 2 * room
    top = place_targets(c, number, plan[TARGETS], plan.shape[0] - PER_BLOCK * (end - begin))
    if top < 0:
        return False
    plan[PLACES] = top
    for e in range(begin, end):
        place_block(c, c.island_block[e], top + PER_BLOCK * (e - begin))
    for p in range(number):
        c.fill_inertia(c, plan[table(c, DOF, p)])
    return True


@kernel
def start_matrix(c):
    """K = M."""
    plan, values = c.plan, c.values
    number = plan[NUM_SEGMENTS]
    for p in range(number):
        n = plan[table(c, SEGMENT_LENGTH, p)] & INDEX
        at = plan[table(c, DIAGONAL, p)] & INDEX
        source = (c.inertia_at[plan[table(c, DOF, p)]] - 1) & INDEX
        for k in range(n * n):
            values[at + k] = c.inertia[source + k]
        for x in range(plan[table(c, COLUMN_START, p)], plan[table(c, COLUMN_START, p + 1)]):
            at = plan[x + plan[ROOM]] & INDEX
            for k in range(n * plan[table(c, SEGMENT_LENGTH, plan[x])]):
                values[at + k] = 0.0


@kernel
def add_product3(c, at, a, n, b, m, g00, g01, g02, g11, g12, g22):
    """values[at] (n x m) += J_a^T G J_b, of three rows each."""
    J, values = c.J, c.values
    same = a == b  # of a symmetric block the upper triangle is enough
    if n == 6 and m == 6:
        for k in range(6):
            x0, x1, x2 = J[a + k], J[a + 6 + k], J[a + 12 + k]
            y0 = g00 * x0 + g01 * x1 + g02 * x2
            y1 = g01 * x0 + g11 * x1 + g12 * x2
            y2 = g02 * x0 + g12 * x1 + g22 * x2
            for s in range(6):
                values[at + 6 * k + s] += y0 * J[b + s] + y1 * J[b + 6 + s] + y2 * J[b + 12 + s]
        return
    for k in range(n):
        x0, x1, x2 = J[a + k], J[a + n + k], J[a + 2 * n + k]
        y0 = g00 * x0 + g01 * x1 + g02 * x2
        y1 = g01 * x0 + g11 * x1 + g12 * x2
        y2 = g02 * x0 + g12 * x1 + g22 * x2
        if y0 != 0.0 or y1 != 0.0 or y2 != 0.0:
            for s in range(k if same else 0, m):
                values[at + m * k + s] += y0 * J[b + s] + y1 * J[b + m + s] + y2 * J[b + 2 * m + s]


@kernel
def add_product1(c, at, a, n, b, m, g):
    """values[at] (n x m) += J_a^T g J_b, of one row each."""
    J, values = c.J, c.values
    for k in range(n):
        y = g * J[a + k]
        if y != 0.0:
            for s in range(m):
                values[at + m * k + s] += y * J[b + s]


@kernel
def add_product(c, b, at, i, n, j, m, g00, g01, g02, g11, g12, g22):
    """values[at] += J_i^T G J_j of block b, rows from i (n long) and j (m long) on."""
    if c.kind[b] == BOUNDED:
        add_product1(c, at & INDEX, i & INDEX, n & INDEX, j & INDEX, m & INDEX, g00)
    else:
        add_product3(c, at & INDEX, i & INDEX, n & INDEX, j & INDEX, m & INDEX, g00, g01, g02, g11, g12, g22)


@kernel
def add_block(c, b, place, g00, g01, g02, g11, g12, g22):
    """K += J^T G J of block b; `place` is where `plan` has its places."""
    plan = c.plan
    na, nb, a, e = c.len_a[b], c.len_b[b], c.at_a[b], c.at_b[b]
    if na > 0:
        add_product(c, b, plan[place], a, na, a, na, g00, g01, g02, g11, g12, g22)
    if nb > 0:
        add_product(c, b, plan[place + 1], e, nb, e, nb, g00, g01, g02, g11, g12, g22)
    if na > 0 and nb > 0:
        if plan[place + 3] != 0:
            add_product(c, b, plan[place + 2], e, nb, a, na, g00, g01, g02, g11, g12, g22)
        else:
            add_product(c, b, plan[place + 2], a, na, e, nb, g00, g01, g02, g11, g12, g22)
    if c.more_count[b] != 0:
        for k in range(2, num_segments(c, b)):
            dof, n, at = segment(c, b, k)
            if n > 0:
                p = plan[table(c, PIVOT_POSITION, c.label[dof])]
                for m in range(k + 1):
                    other, length, start = segment(c, b, m)
                    if length > 0:
                        q = plan[table(c, PIVOT_POSITION, c.label[other])]
                        if p <= q:
                            place_k = find_block(c, p, q)
                            add_product(c, b, place_k, at, n, start, length, g00, g01, g02, g11, g12, g22)
                        else:
                            place_k = find_block(c, q, p)
                            add_product(c, b, place_k, start, length, at, n, g00, g01, g02, g11, g12, g22)


@kernel
def factor_diagonal(values, at, n):
    """Upper Cholesky factor of the n x n block at `at`, pivots inverted. False if not definite."""
    for k in range(n):
        pivot = values[at + k * n + k]
        if not pivot > 0.0:
            return False
        inverse = 1.0 / math.sqrt(pivot)
        values[at + k * n + k] = inverse
        for s in range(k + 1, n):
            values[at + k * n + s] *= inverse
        for r in range(k + 1, n):
            y = values[at + k * n + r]
            for s in range(r, n):
                values[at + r * n + s] -= y * values[at + k * n + s]
    return True


@kernel
def divide_block(values, diagonal, n, at, m):
    """Block (n x m) <- U^-T block, with U the factor of the diagonal block."""
    for k in range(n):
        for r in range(k):
            y = values[diagonal + r * n + k]
            for s in range(m):
                values[at + k * m + s] -= y * values[at + r * m + s]
        inverse = values[diagonal + k * n + k]
        for s in range(m):
            values[at + k * m + s] *= inverse


@kernel
def subtract_product(values, target, x, y, n, m, w):
    """Block (m x w) at `target` -= X^T Y, X (n x m) and Y (n x w)."""
    if n == 6 and m == 6 and w == 6:
        for r in range(6):
            x0, x1, x2 = values[x + r], values[x + 6 + r], values[x + 12 + r]
            x3, x4, x5 = values[x + 18 + r], values[x + 24 + r], values[x + 30 + r]
            for s in range(6):
                p = x0 * values[y + s] + x1 * values[y + 6 + s] + x2 * values[y + 12 + s]
                q = x3 * values[y + 18 + s] + x4 * values[y + 24 + s] + x5 * values[y + 30 + s]
                values[target + 6 * r + s] -= p + q
        return
    for k in range(n):
        for r in range(m):
            z = values[x + k * m + r]
            for s in range(w):
                values[target + r * w + s] -= z * values[y + k * w + s]


@kernel
def factor_matrix(c):
    """Replace K by its factor U. False if it is not definite."""
    plan, values = c.plan, c.values
    number, room = plan[NUM_SEGMENTS], plan[ROOM]
    target = plan[TARGETS]
    for p in range(number):
        n = plan[table(c, SEGMENT_LENGTH, p)] & INDEX
        diagonal = plan[table(c, DIAGONAL, p)] & INDEX
        if not factor_diagonal(values, diagonal, n):
            return False
        first, last = plan[table(c, COLUMN_START, p)], plan[table(c, COLUMN_START, p + 1)]
        for x in range(first, last):
            divide_block(values, diagonal, n, plan[x + room] & INDEX, plan[table(c, SEGMENT_LENGTH, plan[x])] & INDEX)
        for x in range(first, last):
            m = plan[table(c, SEGMENT_LENGTH, plan[x])] & INDEX
            at = plan[x + room] & INDEX
            for y in range(x, last):
                w = plan[table(c, SEGMENT_LENGTH, plan[y])] & INDEX
                subtract_product(values, plan[target] & INDEX, at, plan[y + room] & INDEX, n, m, w)
                target += 1
    return True


@kernel
def solve_matrix(c, x):
    """Solve K y = x in place, for a field over DOFs, on the island's segments."""
    plan, values = c.plan, c.values
    number, room = plan[NUM_SEGMENTS], plan[ROOM]
    for p in range(number):
        n = plan[table(c, SEGMENT_LENGTH, p)] & INDEX
        d = plan[table(c, DOF, p)] & INDEX
        at = plan[table(c, DIAGONAL, p)] & INDEX
        for k in range(n):
            y = x[d + k] * values[at + k * n + k]
            x[d + k] = y
            for s in range(k + 1, n):
                x[d + s] -= y * values[at + k * n + s]
        for e in range(plan[table(c, COLUMN_START, p)], plan[table(c, COLUMN_START, p + 1)]):
            q = plan[e]
            m = plan[table(c, SEGMENT_LENGTH, q)] & INDEX
            other = plan[table(c, DOF, q)] & INDEX
            at = plan[e + room] & INDEX
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


@kernel
def apply_mass(c, x, y):
    """y = M x, for fields over DOFs, on the island's segments."""
    plan = c.plan
    for p in range(plan[NUM_SEGMENTS]):
        n = plan[table(c, SEGMENT_LENGTH, p)] & INDEX
        d = plan[table(c, DOF, p)] & INDEX
        at = (c.inertia_at[d] - 1) & INDEX
        for k in range(n):
            s = 0.0
            for r in range(n):
                s += c.inertia[at + k * n + r] * x[d + r]
            y[d + k] = s
