"""Islands of few long segments in row velocities: v = W p + free, with W = J Y formed once.

A robot's rows are as long as it has coordinates, and a sweep in u reads J and Y of every block, several times where
it is accelerated and measured. With W an impulse changes all row velocities of the island by its columns of W, and
nothing else is read. W is symmetric: a column is a row, and what is done with it is vector code.

W costs as much as some sweeps. It is made where segments are long beside the number of rows (`has_room`), which
depends on the island alone, so that results do not depend on the size of arrays or on threads.

Velocities are in row VELOCITY_ROW of `history` (`kido.solvers.history`), in the island's own order, W in `matrix`.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.solvers.problem import BOUNDED, MAX_PARTS, ROW_DOFS
from kido.solvers.rows import INDEX, num_segments, segment

LONG = 12  # mean number of a row's coordinates above which W is worth its price: more than two free bodies have
ROWS_PER_DOF = 4  # rows, beside that number, up to which a sweep with W is the faster one


@kernel
def is_long(c, island):
    """Whether an island is to be swept in row velocities, by its numbers of rows and of entries of J."""
    rows = c.island_row[island + 1] - c.island_row[island]
    if rows > c.small_rows or rows > ROWS_PER_DOF * ROW_DOFS:
        return False
    entries = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        number = 1 if c.kind[b] == BOUNDED else 3
        entries += number * (c.len_a[b] + c.len_b[b])
        for x in range(c.more_first[b], c.more_first[b] + c.more_count[b]):
            entries += number * c.more_len[x]
    return entries > LONG * rows and rows * rows <= ROWS_PER_DOF * entries


@kernel
def part_of(c, dof, number):
    """Index of the part of an island that begins with a DOF, among `number`; -1 if it is not known yet."""
    for p in range(number):
        if c.row_part[p, 0] == dof:
            return p
    return -1


@kernel
def list_parts(c, island):
    """Fill `row_part` with the island's segments. Returns their number, and of DOFs; -1 if there is no room."""
    number = 0
    dofs = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        for s in range(num_segments(c, b)):
            dof, length, _ = segment(c, b, s)
            if length > 0 and part_of(c, dof, number) < 0:
                if number == MAX_PARTS or dofs + length > ROW_DOFS:
                    return -1, 0
                c.row_part[number, 0], c.row_part[number, 1], c.row_part[number, 2] = dof, length, dofs
                number += 1
                dofs += length
    return number, dofs


@kernel
def has_room(c, island):
    """Whether an island is swept in row velocities: it is long, and its segments fit."""
    return is_long(c, island) and list_parts(c, island)[0] >= 0


@kernel
def lay_responses(c, island, number, dofs, n):
    """Responses of all rows side by side: `row_response` = Y^T over the DOFs of the parts."""
    if number > 1:
        for d in range(dofs):
            for j in range(n):
                c.row_response[d, j] = 0.0
    k = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        rows = 1 if c.kind[b] == BOUNDED else 3
        for s in range(num_segments(c, b)):
            dof, length, at = segment(c, b, s)
            if length > 0:
                to = c.row_part[part_of(c, dof, number), 2] & INDEX
                for r in range(rows):
                    for d in range(length):
                        c.row_response[to + d, k + r] = c.Y[at + r * length + d]
        k += rows


@kernel
def moving_entries(c, at, length, rows):
    """List in `row_dof` the coordinates of a segment that move a block's rows. Returns their number."""
    count = 0
    for d in range(length):
        moves = c.J[at + d] != 0.0
        if rows == 3:
            moves = moves or c.J[at + length + d] != 0.0 or c.J[at + 2 * length + d] != 0.0
        if moves:
            c.row_dof[count] = d
            count += 1
    return count


@kernel
def add_rows3(c, k, n, at, length, to, count):
    """W of three rows from row k on += J of a segment times all responses, two coordinates at a time."""
    m = c.matrix
    q = 0
    while q < count:
        d = c.row_dof[q] & INDEX
        x0, x1, x2 = c.J[at + d], c.J[at + length + d], c.J[at + 2 * length + d]
        y0, y1, y2 = 0.0, 0.0, 0.0
        f = d
        if q + 1 < count:
            f = c.row_dof[q + 1] & INDEX
            y0, y1, y2 = c.J[at + f], c.J[at + length + f], c.J[at + 2 * length + f]
        d += to
        f += to
        for j in range(n):
            m[k, j] += x0 * c.row_response[d, j] + y0 * c.row_response[f, j]
            m[k + 1, j] += x1 * c.row_response[d, j] + y1 * c.row_response[f, j]
            m[k + 2, j] += x2 * c.row_response[d, j] + y2 * c.row_response[f, j]
        q += 2


@kernel
def add_row(c, k, n, at, to, count):
    """W of row k += J of a segment times all responses."""
    for q in range(count):
        d = c.row_dof[q] & INDEX
        x = c.J[at + d]
        d += to
        for j in range(n):
            c.matrix[k, j] += x * c.row_response[d, j]


@kernel
def form_rows(c, island):
    """W of an island that `has_room` to `matrix`, the softness on its diagonal."""
    number, dofs = list_parts(c, island)
    n = (c.island_row[island + 1] - c.island_row[island]) & INDEX
    lay_responses(c, island, number, dofs, n)
    k = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        rows = 1 if c.kind[b] == BOUNDED else 3
        for r in range(rows):
            for j in range(n):
                c.matrix[k + r, j] = 0.0
        for s in range(num_segments(c, b)):
            dof, length, at = segment(c, b, s)
            if length > 0:
                to = c.row_part[part_of(c, dof, number), 2] & INDEX
                count = moving_entries(c, at, length, rows)
                if rows == 3:
                    add_rows3(c, k, n, at, length, to, count)
                else:
                    add_row(c, k, n, at, to, count)
        for r in range(rows):
            c.matrix[k + r, k + r] += c.compliance[c.row[b] + r]
        k += rows
