"""Dependent coordinates from independent ones: K_d u_d + K_i u_i = right-hand side, solved row by row.

An aggregate's rows are sparse, each having the coordinates of one loop. `choose_partition` selects pivots, and writes
down the elimination: for each pivot the other places of its row, and the rows that it is taken off. `reduce_rows`
follows that list, so that a chain of loops costs as much as its loops one by one. The factors L and U of K_d stay in
`K`: solutions for other right-hand sides and of transposed systems follow.
Source: Gaussian elimination with threshold pivoting (Duff, Erisman, Reid 1986, ch. 5, 7), symbolic and numeric apart.
"""

from __future__ import annotations

import math

from kido.constraints.loop_schema import COUPLE, LENGTH, SCREW_TRAVEL, SHIFT
from kido.dynamics.embedding.rows import write_row
from kido.jit import inlined, kernel
from kido.math.so3 import cross

SMALL_ROW = 1e-3  # share of an aggregate's largest number that counts as a row's largest at least
PIVOT_SHARE = 0.3  # share of the largest candidate from which a pivot with fewer numbers in its row is preferred


@kernel
def places_of(e, c):
    """How many coordinates aggregate c has."""
    return e.first_place[c + 1] - e.first_place[c]


@kernel
def mark_rows(e, c):
    """`mark` of the places that rows have, and nothing else."""
    n, at = places_of(e, c), e.matrix_at[c]
    for row in range(e.first_row[c], e.first_row[c + 1]):
        for k in range(n + 1):
            e.mark[at + k] = 0
        for k in range(e.first_touch[row], e.first_touch[row + 1]):
            e.mark[at + e.touch[k]] = 1
        at += n + 1


@kernel
def write_all_rows(lp, e, c):
    """All rows of an aggregate, in their order, and nothing else, to K; `row_scale` their largest numbers.

    A row of numbers that are tiny beside those of others is one that nothing can move.
    """
    n, at = places_of(e, c), e.matrix_at[c]
    whole = 0.0
    mark_rows(e, c)
    for row in range(e.first_row[c], e.first_row[c + 1]):
        for k in range(n + 1):
            e.K[at + k] = 0.0
        write_row(lp, e, c, row, at)
        largest = 0.0
        for k in range(e.first_touch[row], e.first_touch[row + 1]):
            largest = max(largest, math.fabs(e.K[at + e.touch[k]]))
        e.row_scale[row] = largest
        whole = max(whole, largest)
        at += n + 1
    for row in range(e.first_row[c], e.first_row[c + 1]):
        e.row_scale[row] = max(e.row_scale[row], SMALL_ROW * whole)


@kernel
def choose_pivots(e, c):
    """Pivots of the rows in K, which it uses up: `kept` and the first of `solved`, and the rank.

    Each row is scaled by `row_scale`. Among candidates near to the largest, weighted by how willingly a
    coordinate is made dependent, the one whose row has fewest numbers is taken. Coordinates of weight 0, which are
    prescribed, are never dependent: rows that have no others are left out.
    """
    n, rows = places_of(e, c), e.first_row[c + 1] - e.first_row[c]
    base, first, place = e.matrix_at[c], e.first_row[c], e.first_place[c]
    for i in range(rows):
        e.kept[first + i] = i
        s = e.row_scale[first + i]
        for k in range(n):
            e.K[base + i * (n + 1) + k] *= 1.0 / s if s > 0.0 else 0.0
    for k in range(n):
        e.solved[place + k] = k
    rank = 0
    least = 1.0
    for step in range(min(rows, n)):
        largest, whole = 0.0, 0.0
        for i in range(step, rows):
            at = base + e.kept[first + i] * (n + 1)
            for j in range(step, n):
                k = e.solved[place + j]
                v = math.fabs(e.K[at + k])
                if e.weight[place + k] > 0.0:
                    whole = max(whole, v)
                    largest = max(largest, v * e.weight[place + k])
        if not whole > e.drop:
            break
        best_i, best_j, fewest, best = -1, -1, n + 2, 0.0
        for i in range(step, rows):
            at = base + e.kept[first + i] * (n + 1)
            count = 0
            for j in range(step, n):
                if e.K[at + e.solved[place + j]] != 0.0:
                    count += 1
            for j in range(step, n):
                k = e.solved[place + j]
                v = math.fabs(e.K[at + k]) * e.weight[place + k]
                # A pivot that is rounding is none, however willing its coordinate.
                if v > 0.0 and v >= PIVOT_SHARE * largest and math.fabs(e.K[at + k]) > e.drop:
                    if count < fewest or (count == fewest and v > best):
                        best_i, best_j, fewest, best = i, j, count, v
        if best_i < 0:
            break
        i, j = e.kept[first + step], e.kept[first + best_i]
        e.kept[first + step], e.kept[first + best_i] = j, i
        i, k = e.solved[place + step], e.solved[place + best_j]
        e.solved[place + step], e.solved[place + best_j] = k, i
        at = base + j * (n + 1)
        pivot = e.K[at + k]
        least = min(least, math.fabs(pivot))
        for i in range(step + 1, rows):
            other = base + e.kept[first + i] * (n + 1)
            factor = e.K[other + k] / pivot
            if factor != 0.0:
                for q in range(step, n):
                    p = e.solved[place + q]
                    e.K[other + p] -= factor * e.K[at + p]
                e.K[other + k] = 0.0
        rank = step + 1
    e.rank[c] = rank
    e.least[c] = least


@kernel
def order_independent(t, e, c):
    """Independent places by their coordinates, free ones first; `role`, `free`, `columns`."""
    n, place, rank = places_of(e, c), e.first_place[c], e.rank[c]
    for s in range(rank):
        e.role[place + e.solved[place + s]] = -1 - s
    for j in range(rank, n):
        e.role[place + e.solved[place + j]] = 0
    column = 0
    for wanted in range(2):
        for k in range(n):
            is_prescribed = 1 if t.prescribed[e.dof[place + k]] != 0 else 0
            if e.role[place + k] >= 0 and is_prescribed == wanted:
                e.solved[place + rank + column] = k
                column += 1
        if wanted == 0:
            e.free[c] = column
    for a in range(column):
        e.role[place + e.solved[place + rank + a]] = a
    e.columns[c] = column


@kernel
def note_elimination(e, c):
    """Entries and targets of each pivot, from the places that the kept rows have (`mark`)."""
    n, place, rank = places_of(e, c), e.first_place[c], e.rank[c]
    base, first = e.matrix_at[c], e.first_row[c]
    pivots = first + c
    entries = targets = base
    for s in range(rank):
        at = base + e.kept[first + s] * (n + 1)
        own = e.solved[place + s]
        e.first_entry[pivots + s], e.first_target[pivots + s] = entries, targets
        for k in range(n):
            if e.mark[at + k] != 0 and k != own:
                e.entry[entries] = k
                entries += 1
        for q in range(s + 1, rank):
            other = base + e.kept[first + q] * (n + 1)
            if e.mark[other + own] != 0:
                e.target[targets] = q
                targets += 1
                e.mark[other + own] = 0
                for f in range(e.first_entry[pivots + s], entries):
                    e.mark[other + e.entry[f]] = 1
    e.first_entry[pivots + rank], e.first_target[pivots + rank] = entries, targets


@kernel
def choose_partition(t, lp, e, c):
    """Independent and dependent coordinates of an aggregate anew, at the present columns and directions."""
    write_all_rows(lp, e, c)
    choose_pivots(e, c)
    note_partition(t, lp, e, c)


@kernel
def note_partition(t, lp, e, c):
    """All that follows from `kept`, `solved` and `rank`; uses up `mark` of the rows."""
    order_independent(t, e, c)
    note_elimination(e, c)
    n, at, first = places_of(e, c), e.matrix_at[c], e.first_row[c]
    for k in range((e.first_row[c + 1] - first) * (n + 1)):
        e.K[at + k] = 0.0
    for s in range(e.first_row[c + 1] - first):
        e.pivot[first + e.kept[first + s]] = s if s < e.rank[c] else -1
    row = first
    for m in range(e.first_tie[c], e.first_tie[c + 1]):
        e.tie_kept[m], e.tie_shifts[m] = 0, 1
        for _ in range(e.tie_rows[m]):
            if e.pivot[row] >= 0:
                e.tie_kept[m] += 1
                if lp.kind[e.row[row]] != SHIFT:
                    e.tie_shifts[m] = 0
            row += 1


@kernel
def clear_kept_rows(e, c):
    """Zeros where kept rows have numbers at any time of the elimination."""
    n, place, rank = places_of(e, c), e.first_place[c], e.rank[c]
    base = e.matrix_at[c]
    pivots, width = e.first_row[c] + c, n + 1
    for s in range(rank):
        at = base + s * width
        own = e.solved[place + s]
        e.K[at + own] = 0.0
        for f in range(e.first_entry[pivots + s], e.first_entry[pivots + s + 1]):
            e.K[at + e.entry[f]] = 0.0
        for f in range(e.first_target[pivots + s], e.first_target[pivots + s + 1]):
            e.K[base + e.target[f] * width + own] = 0.0


@kernel
def write_kept_in_turn(lp, e, c):
    """The kept rows in the directions that they have, in the order of their pivots; zeros on the right-hand side."""
    n, first, base = places_of(e, c), e.first_row[c], e.matrix_at[c]
    clear_kept_rows(e, c)
    for s in range(e.rank[c]):
        write_row(lp, e, c, first + e.kept[first + s], base + s * (n + 1))
        e.K[base + s * (n + 1) + n] = 0.0


@kernel
def reduce_rows(lp, e, c):
    """`eliminate_rows` of the kept rows in the directions that they have, with zeros on the right-hand side."""
    write_kept_in_turn(lp, e, c)
    return eliminate_rows(e, c)


@kernel
def reduce_rows_against(lp, e, c, u, share):
    """`eliminate_rows` of the kept rows in the directions that they have, with share * K u on the right-hand side.

    Notes `lever`, the least pivot beside what coordinates move a row's point by in any direction: where that vanishes
    rows lose rank.
    """
    n, first, place, base = places_of(e, c), e.first_row[c], e.first_place[c], e.matrix_at[c]
    write_kept_in_turn(lp, e, c)
    for s in range(e.rank[c]):
        row, at = first + e.kept[first + s], base + s * (n + 1)
        value = 0.0
        for k in range(e.first_touch[row], e.first_touch[row + 1]):
            value += e.K[at + e.touch[k]] * u[e.dof[place + e.touch[k]]]
        e.K[at + n] = share * value
    least = eliminate_rows(e, c)
    e.lever[c] = 1.0
    for s in range(e.rank[c]):
        row, pivot = first + e.kept[first + s], e.K[base + s * (n + 1) + e.solved[place + s]]
        e.lever[c] = min(e.lever[c], 1.0 / (math.fabs(pivot) * reach_of_row(lp, e, c, row)))
    return least


@inlined
def is_length(kind):
    """Whether a row's numbers are lengths."""
    return kind == SHIFT or kind == LENGTH or kind == SCREW_TRAVEL


@kernel
def reach_of_row(lp, e, c, row):
    """How far a coordinate moves a row's point at most, or turns what the row turns, whatever the row's direction."""
    r, first = e.row[row], e.first_place[c]
    x, y, z = lp.point[r, 0] - e.point[c, 0], lp.point[r, 1] - e.point[c, 1], lp.point[r, 2] - e.point[c, 2]
    most = 0.0
    for k in range(e.first_touch[row], e.first_touch[row + 1]):
        if lp.kind[r] == COUPLE:
            most = max(most, math.fabs(e.touch_factor[k]))
        else:
            s = first + e.touch[k]
            v0, v1, v2 = e.S[s, 0], e.S[s, 1], e.S[s, 2]
            if is_length(lp.kind[r]):
                v0, v1, v2 = cross(v0, v1, v2, x, y, z)
                v0, v1, v2 = v0 + e.S[s, 3], v1 + e.S[s, 4], v2 + e.S[s, 5]
            most = max(most, v0 * v0 + v1 * v1 + v2 * v2)
    return most if lp.kind[r] == COUPLE else math.sqrt(most)


@kernel
def eliminate_rows(e, c):
    """L and U of K_d, the reduced K_i and right-hand side, the last column.

    Of row s the pivot is kept as its inverse, beside the unit row of U.

    Returns:
        The least pivot, of rows scaled to 1: how far a partition, or any, is from singular.
    """
    n, place, rank = places_of(e, c), e.first_place[c], e.rank[c]
    base, first = e.matrix_at[c], e.first_row[c]
    pivots, width = first + c, n + 1
    least = math.inf
    for s in range(rank):
        at = base + s * width
        own = e.solved[place + s]
        pivot = e.K[at + own]
        least = min(least, math.fabs(pivot) / e.row_scale[first + e.kept[first + s]])
        inverse = 1.0 / pivot if pivot != 0.0 else 0.0
        e.K[at + own] = inverse
        begin, end = e.first_entry[pivots + s], e.first_entry[pivots + s + 1]
        for f in range(begin, end):
            e.K[at + e.entry[f]] *= inverse
        right = e.K[at + n] * inverse
        e.K[at + n] = right
        for q in range(e.first_target[pivots + s], e.first_target[pivots + s + 1]):
            other = base + e.target[q] * width
            factor = e.K[other + own]
            e.K[other + n] -= factor * right
            for f in range(begin, end):
                k = e.entry[f]
                e.K[other + k] -= factor * e.K[at + k]
    return least


@kernel
def solve_right(e, c):
    """xb of the dependent places: K_d^-1 of what stands in the last column of K, which is used up."""
    n, place, rank = places_of(e, c), e.first_place[c], e.rank[c]
    base = e.matrix_at[c]
    pivots, width = e.first_row[c] + c, n + 1
    for s in range(rank):
        at = base + s * width
        own = e.solved[place + s]
        value = e.K[at + n] * e.K[at + own]
        e.K[at + n] = value
        for q in range(e.first_target[pivots + s], e.first_target[pivots + s + 1]):
            other = base + e.target[q] * width
            e.K[other + n] -= e.K[other + own] * value
    for s in range(rank - 1, -1, -1):
        at = base + s * width
        value = e.K[at + n]
        for f in range(e.first_entry[pivots + s], e.first_entry[pivots + s + 1]):
            k = e.entry[f]
            if e.role[place + k] < 0:
                value -= e.K[at + k] * e.xb[place + k]
        e.xb[place + e.solved[place + s]] = value


@kernel
def solve_transposed(e, c):
    """K_d^T lam = `w` of the dependent places: lam in `w` by pivot."""
    n, place, rank = places_of(e, c), e.first_place[c], e.rank[c]
    base = e.matrix_at[c]
    pivots, width = e.first_row[c] + c, n + 1
    for s in range(rank):
        value = e.w[place + e.solved[place + s]]
        for f in range(e.first_entry[pivots + s], e.first_entry[pivots + s + 1]):
            k = e.entry[f]
            if e.role[place + k] < 0:
                e.w[place + k] -= e.K[base + s * width + k] * value
    for s in range(rank - 1, -1, -1):
        own = e.solved[place + s]
        value = e.w[place + own]
        for q in range(e.first_target[pivots + s], e.first_target[pivots + s + 1]):
            other = e.target[q]
            value -= e.K[base + other * width + own] * e.w[place + e.solved[place + other]]
        e.w[place + own] = value * e.K[base + s * width + own]


@kernel
def dependent_rows(e, c):
    """X and K_d^-1 of the right-hand side, in rows of columns + 1; returns the largest number of X."""
    n, place, rank, columns = places_of(e, c), e.first_place[c], e.rank[c], e.columns[c]
    base, X = e.matrix_at[c], e.X_at[c]
    pivots, width = e.first_row[c] + c, n + 1
    largest = 0.0
    for s in range(rank - 1, -1, -1):
        row, at = X + s * (columns + 1), base + s * width
        for a in range(columns):
            e.X[row + a] = 0.0
        e.X[row + columns] = e.K[at + n]
        for f in range(e.first_entry[pivots + s], e.first_entry[pivots + s + 1]):
            k = e.entry[f]
            value = e.K[at + k]
            role = e.role[place + k]
            if role >= 0:
                e.X[row + role] -= value
            else:
                other = X + (-1 - role) * (columns + 1)
                for a in range(columns + 1):
                    e.X[row + a] -= value * e.X[other + a]
        for a in range(columns):
            largest = max(largest, math.fabs(e.X[row + a]))
    return largest
