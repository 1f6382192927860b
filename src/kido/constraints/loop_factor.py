"""Eliminated rows: their Jacobians, responses and factor, and projections of velocities onto what they allow.

With G (rows, coordinates of a group), Y^T = M^-1 G^T and S = G M^-1 G^T:

    u <- u - M^-1 G^T S^+ (G u - U)          the motion nearest in kinetic energy

S is scaled and factored by Cholesky with the largest pivot first. The scale of a row is what its bodies yield to a
force at its point, or to a moment, whatever the direction: a unit impulse f at a point of a body's link gives the point
a velocity f . W f along it, where W (3, 3) is the block of J M^-1 J^T that belongs to the point; likewise for moments.
The trace of W is the same for all axes, and is not small where single directions are stiff. The scale of a row is 1 /
sqrt(trace), summed over its two bodies. A row along which they hardly yield, such as the distance of the ends of a
chain that is nearly straight, has a small pivot then, and not a one made of rounding. Rows whose pivot is below
PIVOT_TOLERANCE depend on those before, or on the joints, and get no impulse: motion and closure are the same whichever
of dependent rows is left out, as long as they do not contradict each other. What is left of their equations tells
whether they do.
Source: theory of constrained multibody systems, e.g. Featherstone (2008), ch. 8; Higham (2002), sec. 10.3.
"""

from __future__ import annotations

import math

from kido.constraints.loop_rows import (
    add_body_jacobian,
    add_body_row,
    add_coupler_jacobian,
    add_coupler_row,
    add_row_between,
    is_moved,
    measure,
)
from kido.constraints.loop_schema import COUPLE, LENGTH, SCREW_TRAVEL, SHIFT
from kido.constraints.loop_trees import SHIFTS, TURNS, is_apart
from kido.jit import kernel
from kido.kernels.articulated import add_reaction, at_parent
from kido.kernels.inverse_dynamics import column_dot


@kernel
def yielding(t, d, body, n0, n1, n2, f0, f1, f2):
    """w . J M^-1 J^T w for a wrench w = [n; f] about the origin of a body, world axes; needs articulated inertias."""
    first = t.tree_body[t.tree_of_body[body]]
    total = 0.0
    i = body
    while i >= first:
        for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
            own = column_dot(d, k, n0, n1, n2, f0, f1, f2)
            e = own * d.Dinv[k]
            total += own * e
            n0, n1, n2, f0, f1, f2 = add_reaction(d, k, -e, n0, n1, n2, f0, f1, f2)
        n0, n1, n2, f0, f1, f2 = at_parent(d, i, n0, n1, n2, f0, f1, f2)
        i = t.parent[i]
    return total


@kernel
def point_yields(t, d, body, x, y, z):
    """Trace of W for forces at a point (x, y, z) of a body; 0 for a body that does not move."""
    if not is_moved(t, body):
        return 0.0
    x, y, z = x - d.p[body, 0], y - d.p[body, 1], z - d.p[body, 2]
    total = yielding(t, d, body, 0.0, z, -y, 1.0, 0.0, 0.0)
    total += yielding(t, d, body, -z, 0.0, x, 0.0, 1.0, 0.0)
    return total + yielding(t, d, body, y, -x, 0.0, 0.0, 0.0, 1.0)


@kernel
def body_turns(t, d, body):
    """Trace of W for moments on a body; 0 for a body that does not move."""
    if not is_moved(t, body):
        return 0.0
    total = yielding(t, d, body, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    total += yielding(t, d, body, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    return total + yielding(t, d, body, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


@kernel
def shifts(t, d, lp, r, body, x, y, z):
    """`point_yields` of the point (x, y, z) of row r."""
    if is_moved(t, body) and is_apart(t, lp, body):
        lp.others(lp.others_of, SHIFTS, r, body)
        return lp.answered
    return point_yields(t, d, body, x, y, z)


@kernel
def turns(t, d, lp, r, body):
    """`body_turns` of a body that row r is on."""
    if is_moved(t, body) and is_apart(t, lp, body):
        lp.others(lp.others_of, TURNS, r, body)
        return lp.answered
    return body_turns(t, d, body)


@kernel
def coordinates_yield(t, d, lp, c):
    """Sum of what the coordinates of a coupler yield, each by itself."""
    total = 0.0
    for e in range(lp.first_term[c], lp.first_term[c + 1]):
        factor = lp.term_factor[e]
        total += factor * factor * d.Dinv[lp.term_dof[e]]
    return total


@kernel
def scale_rows(t, d, lp, g):
    """Scales of a group's rows at the present transforms and articulated inertias."""
    last, shift, turn = -1, 0.0, 0.0
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        r = lp.slot[s]
        c = lp.of[r]
        kind = lp.kind[r]
        if c != last:  # the rows of a constraint stand one after another
            last, shift, turn = c, -1.0, -1.0
        if lp.enabled[c] == 0:
            value = 0.0
        elif kind == COUPLE:
            value = coordinates_yield(t, d, lp, c)
        else:
            a, b = lp.body_a[c], lp.body_b[c]
            translates = kind == SHIFT or kind == LENGTH or kind == SCREW_TRAVEL
            if translates and shift < 0.0:
                x, y, z = lp.point[r, 0], lp.point[r, 1], lp.point[r, 2]
                shift = shifts(t, d, lp, r, a, x, y, z) + shifts(t, d, lp, r, b, x, y, z)
            if (not translates or kind == SCREW_TRAVEL) and turn < 0.0:
                turn = turns(t, d, lp, r, a) + turns(t, d, lp, r, b)
            value = shift if translates else turn
            if kind == SCREW_TRAVEL:
                value += lp.gain[r] * lp.gain[r] * turn
        lp.scale[s] = 1.0 / math.sqrt(value) if value > 0.0 else 0.0


PIVOT_TOLERANCE = 1e-10  # pivot of the scaled matrix below which a row depends on others


@kernel
def measure_all(d, lp):
    """Values and directions of the rows of all constraints."""
    for c in range(lp.num_constraints):
        measure(d, lp, c)


@kernel
def clear_rows(lp, g, J):
    """Zero the rows of a group."""
    size = (lp.group_slot[g + 1] - lp.group_slot[g]) * lp.group_dofs[g]
    for k in range(lp.group_pool[g], lp.group_pool[g] + size):
        J[k] = 0.0


@kernel
def add_row(t, d, lp, g, r, J, at, responds):
    """Row r of group g to J from `at` on, and if it responds to lp.Y."""
    if lp.kind[r] == COUPLE:
        for e in range(lp.group_member[g], lp.group_member[g + 1]):
            tree_index = lp.member[e]
            if responds:
                add_coupler_row(t, d, lp, r, tree_index, J, lp.Y, at + lp.tree_local[tree_index])
            else:
                add_coupler_jacobian(t, lp, r, tree_index, J, at + lp.tree_local[tree_index])
        return
    a, b = lp.body_a[lp.of[r]], lp.body_b[lp.of[r]]
    if responds and is_moved(t, a) and is_moved(t, b) and t.tree_of_body[a] == t.tree_of_body[b]:
        add_row_between(t, d, lp, r, a, b, J, lp.Y, at + lp.tree_local[t.tree_of_body[a]])
        return
    for side in range(2):
        body, sign = (a, -1.0) if side == 0 else (b, 1.0)
        if is_moved(t, body):
            begin = at + lp.tree_local[t.tree_of_body[body]]
            if responds:
                add_body_row(t, d, lp, r, body, sign, J, lp.Y, begin)
            else:
                add_body_jacobian(t, d, lp, r, body, sign, J, begin)


@kernel
def add_enabled_rows(t, d, lp, g, J, responds):
    """All rows of a group that act to J, which is zero, and if they respond to lp.Y."""
    at = lp.group_pool[g]
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        r = lp.slot[s]
        if lp.enabled[lp.of[r]] != 0:
            add_row(t, d, lp, g, r, J, at, responds)
        at += lp.group_dofs[g]


@kernel
def fill_rows(t, d, lp, g):
    """G, Y and scales of a group; `measure_all` was done at the present transforms and inertias."""
    scale_rows(t, d, lp, g)
    clear_rows(lp, g, lp.G)
    clear_rows(lp, g, lp.Y)
    add_enabled_rows(t, d, lp, g, lp.G, True)


@kernel
def fill_jacobian(t, d, lp, g):
    """G_end of a group; `measure_all` was done at the present transforms."""
    clear_rows(lp, g, lp.G_end)
    add_enabled_rows(t, d, lp, g, lp.G_end, False)


@kernel
def swap(S, base, n, i, j):
    """Exchange rows and columns i and j of a matrix of order n."""
    for k in range(n):
        x, y = S[base + i * n + k], S[base + j * n + k]
        S[base + i * n + k], S[base + j * n + k] = y, x
    for k in range(n):
        x, y = S[base + k * n + i], S[base + k * n + j]
        S[base + k * n + i], S[base + k * n + j] = y, x


@kernel
def note_support(lp, g):
    """List the coordinates that each row of a group has in G: few, where a tree has many bodies."""
    first, last = lp.group_slot[g], lp.group_slot[g + 1]
    size, at = lp.group_dofs[g], lp.group_pool[g]
    for s in range(first, last):
        end = at
        for k in range(size):
            if lp.G[at + k] != 0.0:
                lp.support[end] = k
                end += 1
        lp.support_first[s], lp.support_last[s] = at, end
        at += size


@kernel
def factor(lp, g):
    """Fill S, pivot, rank, `least` and `redundant` of a group from G, Y and `scale`.

    The factor is kept below the diagonal and, mirrored, above it. Zeros in a column are passed over: trees that are
    no neighbours have nothing to do with each other.
    """
    first, last = lp.group_slot[g], lp.group_slot[g + 1]
    n, size = last - first, lp.group_dofs[g]
    pool, base = lp.group_pool[g], lp.group_square[g]
    S = lp.S
    note_support(lp, g)
    for i in range(n):
        begin, end = lp.support_first[first + i], lp.support_last[first + i]
        for j in range(i + 1):
            value = 0.0
            row = pool + j * size
            for e in range(begin, end):
                value += lp.G[pool + i * size + lp.support[e]] * lp.Y[row + lp.support[e]]
            S[base + i * n + j] = value
            S[base + j * n + i] = value
    for i in range(n):
        lp.pivot[first + i] = i
        lp.redundant[lp.slot[first + i]] = 1
    for i in range(n):
        for j in range(n):
            S[base + i * n + j] *= lp.scale[first + i] * lp.scale[first + j]
    rank, lp.least[g] = 0, 1.0
    for j in range(n):
        best = j
        for i in range(j + 1, n):
            if S[base + i * n + i] > S[base + best * n + best]:
                best = i
        if not S[base + best * n + best] > PIVOT_TOLERANCE:
            break
        if best != j:
            swap(S, base, n, j, best)
            i, k = lp.pivot[first + j], lp.pivot[first + best]
            lp.pivot[first + j], lp.pivot[first + best] = k, i
        lp.least[g] = min(lp.least[g], S[base + j * n + j])
        root = math.sqrt(S[base + j * n + j])
        S[base + j * n + j] = root
        column = base + j * n
        found = 0
        for i in range(j + 1, n):
            if S[column + i] != 0.0:
                S[column + i] /= root
                S[base + i * n + j] = S[column + i]
                lp.near[first + found] = i
                found += 1
        for e in range(found):
            row = base + lp.near[first + e] * n
            share = S[column + lp.near[first + e]]
            if 2 * found < n:
                for f in range(found):
                    i = lp.near[first + f]
                    S[row + i] -= share * S[column + i]
            else:
                for k in range(j + 1, n):
                    S[row + k] -= share * S[column + k]
        rank = j + 1
        lp.redundant[lp.slot[first + lp.pivot[first + j]]] = 0
    lp.rank[g] = rank


@kernel
def solve(lp, g):
    """left = S^+ right for a group; dependent rows get zero."""
    first, last = lp.group_slot[g], lp.group_slot[g + 1]
    n, base, rank = last - first, lp.group_square[g], lp.rank[g]
    for s in range(first, last):
        lp.left[s] = 0.0
    for i in range(rank):
        s = first + lp.pivot[first + i]
        value = lp.scale[s] * lp.right[s]
        for k in range(i):
            value -= lp.S[base + i * n + k] * lp.work[first + k]
        lp.work[first + i] = value / lp.S[base + i * n + i]
    for j in range(rank):
        i = rank - 1 - j
        value = lp.work[first + i]
        for k in range(i + 1, rank):
            value -= lp.S[base + i * n + k] * lp.work[first + k]
        lp.work[first + i] = value / lp.S[base + i * n + i]
    for i in range(rank):
        s = first + lp.pivot[first + i]
        lp.left[s] = lp.scale[s] * lp.work[first + i]


@kernel
def rates(t, lp, g, J, u):
    """right = J u for the rows of a group. Returns the largest, and the largest sum of |J| |u|."""
    largest, size = 0.0, 0.0
    at = lp.group_pool[g]
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        value, sum_of = 0.0, 0.0
        for e in range(lp.group_member[g], lp.group_member[g + 1]):
            tree_index = lp.member[e]
            begin = t.tree_dof[tree_index]
            local = at + lp.tree_local[tree_index]
            for k in range(begin, t.tree_dof[tree_index + 1]):
                x = J[local + k - begin] * u[k]
                value += x
                sum_of += math.fabs(x)
        lp.right[s] = value
        largest = max(largest, math.fabs(value))
        size = max(size, sum_of)
        at += lp.group_dofs[g]
    return largest, size


@kernel
def push(t, lp, g, Y, u):
    """u += Y^T left for a group; returns the largest change."""
    largest = 0.0
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        tree_index = lp.member[e]
        begin = t.tree_dof[tree_index]
        for k in range(begin, t.tree_dof[tree_index + 1]):
            value = 0.0
            at = lp.group_pool[g] + lp.tree_local[tree_index] + k - begin
            for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
                value += Y[at] * lp.left[s]
                at += lp.group_dofs[g]
            u[k] += value
            largest = max(largest, math.fabs(value))
    return largest


@kernel
def negate_right(lp, g):
    """right = -right."""
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        lp.right[s] = -lp.right[s]


@kernel
def project(t, lp, g, u):
    """u <- u - M^-1 G^T S^+ G u for a group."""
    rates(t, lp, g, lp.G, u)
    negate_right(lp, g)
    solve(lp, g)
    push(t, lp, g, lp.Y, u)
