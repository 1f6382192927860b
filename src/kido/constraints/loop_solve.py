"""Eliminated rows: their factor, and projections of velocities and positions onto what they allow.

With G (rows, coordinates of a group), Y^T = M^-1 G^T and S = G M^-1 G^T:

    velocities:  u <- u - M^-1 G^T S^+ (G u - U)          the motion nearest in kinetic energy
    positions:   q <- q (+) -M^-1 G^T S^+ phi             repeated until phi = 0

S is scaled to a diagonal of ones and factored by Cholesky with the largest pivot first. Rows whose pivot is below
DROP depend on those before and get no impulse: motion and closure are the same whichever of dependent rows is left out,
as long as they do not contradict each other. What is left of their equations tells whether they do.
Source: theory of constrained multibody systems, e.g. Featherstone (2008), ch. 8; Higham (2002), sec. 10.3.
"""

from __future__ import annotations

import math

from kido.constraints.loop_rows import (
    add_body_jacobian,
    add_body_row,
    add_coupler_jacobian,
    add_coupler_row,
    is_moved,
    measure,
)
from kido.constraints.loop_schema import CLOSURE, CONSTRAINTS, COUPLE, GROUPS
from kido.jit import kernel
from kido.kernels.forward_dynamics import articulated_inertias
from kido.kernels.inertia import body_inertia
from kido.kernels.integration import advance, to_body_axes, to_parent_axes
from kido.kernels.kinematics import transforms

DROP = 1e-10  # pivot of the scaled matrix below which a row depends on others
CLOSED = 1e-12  # [m or rad] rows this near to zero are met
OPEN = 1e-8  # [m or rad] rows farther from zero are not
MOST = 0.2  # [m or rad] most that one iteration moves a coordinate
CORRECTIONS = 8  # iterations with the factor of mid-step
ITERATIONS = 60  # of Newton's method after the state was changed from outside
ROUGH = 1e-10  # the same above which a group is closed anew
STILL = 1e-15  # velocity error of a row, relative to the velocities that enter it, that is rounding


@kernel
def measure_all(d, lp):
    """Values and directions of the rows of all constraints."""
    for c in range(lp.count[CONSTRAINTS]):
        measure(d, lp, c)


@kernel
def clear_rows(lp, g, J):
    """Zero the rows of a group."""
    size = (lp.group_slot[g + 1] - lp.group_slot[g]) * lp.group_dofs[g]
    for k in range(lp.group_pool[g], lp.group_pool[g] + size):
        J[k] = 0.0


@kernel
def fill_rows(t, d, lp, g):
    """G and Y of a group; `measure_all` was done at the present transforms and inertias."""
    clear_rows(lp, g, lp.G)
    clear_rows(lp, g, lp.Y)
    at = lp.group_pool[g]
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        r = lp.slot[s]
        c = lp.of[r]
        if lp.enabled[c] != 0:
            if lp.kind[r] == COUPLE:
                for e in range(lp.group_member[g], lp.group_member[g + 1]):
                    part = lp.member[e]
                    add_coupler_row(t, d, lp, r, part, lp.G, lp.Y, at + lp.part_local[part])
            else:
                a, b = lp.body_a[c], lp.body_b[c]
                if is_moved(t, a):
                    add_body_row(t, d, lp, r, a, -1.0, lp.G, lp.Y, at + lp.part_local[t.part[a]])
                if is_moved(t, b):
                    add_body_row(t, d, lp, r, b, 1.0, lp.G, lp.Y, at + lp.part_local[t.part[b]])
        at += lp.group_dofs[g]


@kernel
def fill_jacobian(t, d, lp, g):
    """G_end of a group; `measure_all` was done at the present transforms."""
    clear_rows(lp, g, lp.G_end)
    at = lp.group_pool[g]
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        r = lp.slot[s]
        c = lp.of[r]
        if lp.enabled[c] != 0:
            if lp.kind[r] == COUPLE:
                for e in range(lp.group_member[g], lp.group_member[g + 1]):
                    part = lp.member[e]
                    add_coupler_jacobian(t, lp, r, part, lp.G_end, at + lp.part_local[part])
            else:
                a, b = lp.body_a[c], lp.body_b[c]
                if is_moved(t, a):
                    add_body_jacobian(t, d, lp, r, a, -1.0, lp.G_end, at + lp.part_local[t.part[a]])
                if is_moved(t, b):
                    add_body_jacobian(t, d, lp, r, b, 1.0, lp.G_end, at + lp.part_local[t.part[b]])
        at += lp.group_dofs[g]


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
    """List the coordinates that each row of a group has in G: few, where a part has many bodies."""
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
    """Fill S, scale, pivot, rank and `redundant` of a group from G and Y.

    The factor is kept below the diagonal and, mirrored, above it. Zeros in a column are passed over: parts that are
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
    largest = 0.0
    for i in range(n):
        largest = max(largest, S[base + i * n + i])
    for i in range(n):
        own = S[base + i * n + i]
        lp.scale[first + i] = 1.0 / math.sqrt(own) if own > 1e-14 * largest else 0.0
        lp.pivot[first + i] = i
        lp.redundant[lp.slot[first + i]] = 1
    for i in range(n):
        for j in range(n):
            S[base + i * n + j] *= lp.scale[first + i] * lp.scale[first + j]
    rank = 0
    for j in range(n):
        best = j
        for i in range(j + 1, n):
            if S[base + i * n + i] > S[base + best * n + best]:
                best = i
        if not S[base + best * n + best] > DROP:
            break
        if best != j:
            swap(S, base, n, j, best)
            i, k = lp.pivot[first + j], lp.pivot[first + best]
            lp.pivot[first + j], lp.pivot[first + best] = k, i
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
            part = lp.member[e]
            begin = t.part_dof[part]
            local = at + lp.part_local[part]
            for k in range(begin, t.part_dof[part + 1]):
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
        part = lp.member[e]
        begin = t.part_dof[part]
        for k in range(begin, t.part_dof[part + 1]):
            value = 0.0
            at = lp.group_pool[g] + lp.part_local[part] + k - begin
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


@kernel
def openness(lp, g):
    """Largest |phi| of a group."""
    largest = 0.0
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        r = lp.slot[s]
        if lp.enabled[lp.of[r]] != 0:
            value = math.fabs(lp.phi[r])
            if not value <= largest:
                largest = value
    return largest


@kernel
def measure_group(t, d, lp, g):
    """Transforms of a group's parts, and all rows; returns the largest |phi| of the group's."""
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        part = lp.member[e]
        transforms(t, d, t.part_body[part], t.part_body[part + 1])
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        c = lp.of[lp.slot[s]]
        if lp.slot[s] == lp.first_row[c]:
            measure(d, lp, c)
    return openness(lp, g)


@kernel
def move_to_close(t, d, lp, g):
    """One correction of the positions of a group with what G's factor is; d.u is used up."""
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        r = lp.slot[s]
        lp.right[s] = -lp.phi[r] if lp.enabled[lp.of[r]] != 0 else 0.0
    solve(lp, g)
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        part = lp.member[e]
        for k in range(t.part_dof[part], t.part_dof[part + 1]):
            d.u[k] = 0.0
    largest = push(t, lp, g, lp.Y, d.u)
    share = 1.0 if largest <= MOST else MOST / largest
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        part = lp.member[e]
        advance(t, d, t.part_body[part], t.part_body[part + 1], share)


@kernel
def keep_positions(t, lp, g, source, target):
    """Copy the coordinates of a group from one vector to another."""
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        part = lp.member[e]
        for k in range(t.part_dof[part], t.part_dof[part + 1]):
            target[k] = source[k]


@kernel
def close_after_step(t, d, pr, lp, g):
    """Positions at the end of a step onto phi = 0, then its velocities pr.u onto G u = 0; d.u is used up.

    The factor is that of mid-step: an iteration reduces the error by about the turn of the directions in half a step.

    Returns:
        The velocity error left, and whether `close_anew` is to do better.
    """
    error = measure_group(t, d, lp, g)
    for _ in range(CORRECTIONS):
        if not error > CLOSED:
            break
        keep_positions(t, lp, g, d.q, lp.kept_q)
        move_to_close(t, d, lp, g)
        moved = measure_group(t, d, lp, g)
        if not moved < error:
            keep_positions(t, lp, g, lp.kept_q, d.q)
            error = measure_group(t, d, lp, g)
            break
        error = moved
    fill_jacobian(t, d, lp, g)
    before = math.inf
    for _ in range(CORRECTIONS):
        largest, size = rates(t, lp, g, lp.G_end, pr.u)
        if not largest <= 2.0 * before:  # near singular positions directions are others than they were at mid-step
            for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
                lp.total[s] -= lp.left[s]
                lp.left[s] = -lp.left[s]
            push(t, lp, g, lp.Y, pr.u)
            break
        if not largest > STILL * size or not largest < 0.5 * before:
            break
        before = largest
        negate_right(lp, g)
        solve(lp, g)
        push(t, lp, g, lp.Y, pr.u)
        for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
            lp.total[s] += lp.left[s]
    misfit, size = rates(t, lp, g, lp.G_end, pr.u)
    lp.closure[CLOSURE] = error
    return misfit, error > CLOSED or misfit > ROUGH * size


@kernel
def close_anew(t, d, pr, lp, g):
    """What `close_after_step` left, with a factor of the end of the step: near singular positions that of mid-step
    is no good. Overwrites G and Y; returns the velocity error left."""
    error = measure_group(t, d, lp, g)
    for _ in range(CORRECTIONS):
        prepare_group(t, d, lp, g, 0.0)
        if not error > CLOSED:
            break
        keep_positions(t, lp, g, d.q, lp.kept_q)
        move_to_close(t, d, lp, g)
        moved = measure_group(t, d, lp, g)
        if not moved < error:
            keep_positions(t, lp, g, lp.kept_q, d.q)
            error = measure_group(t, d, lp, g)
            prepare_group(t, d, lp, g, 0.0)
            break
        error = moved
    misfit, _ = rates(t, lp, g, lp.G, pr.u)
    for _ in range(2):
        negate_right(lp, g)
        solve(lp, g)
        push(t, lp, g, lp.Y, pr.u)
        misfit, _ = rates(t, lp, g, lp.G, pr.u)
    return misfit, error


@kernel
def prepare_group(t, d, lp, g, h):
    """Inertias, rows and factor of a group at its present transforms."""
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        part = lp.member[e]
        first, last = t.part_body[part], t.part_body[part + 1]
        for i in range(first, last):
            body_inertia(t, d, i)
        articulated_inertias(t, d, first, last, h)
    fill_rows(t, d, lp, g)
    factor(lp, g)


@kernel
def close_group(t, d, lp, g):
    """A state given from outside onto phi = 0 and G u = 0: Newton's method, then an inelastic impulse.

    Where the positions cannot be closed they stay as they are. Velocities are in the joints' own axes, before and
    after. Returns the largest |phi| left.
    """
    keep_positions(t, lp, g, d.q, lp.kept_q)
    keep_positions(t, lp, g, d.u, lp.kept_u)
    error = measure_group(t, d, lp, g)
    for _ in range(ITERATIONS):
        if not error > CLOSED:
            break
        prepare_group(t, d, lp, g, 0.0)
        move_to_close(t, d, lp, g)
        moved = measure_group(t, d, lp, g)
        if error < OPEN and not moved < error:
            error = moved
            break
        error = moved
    if not error <= OPEN:
        keep_positions(t, lp, g, lp.kept_q, d.q)
        error = measure_group(t, d, lp, g)
    prepare_group(t, d, lp, g, 0.0)
    keep_positions(t, lp, g, lp.kept_u, d.u)
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        part = lp.member[e]
        to_parent_axes(t, d, t.part_body[part], t.part_body[part + 1], d.u)
    largest, size = rates(t, lp, g, lp.G, d.u)
    moves = largest > 1e-13 * size
    if moves:
        negate_right(lp, g)
        solve(lp, g)
        push(t, lp, g, lp.Y, d.u)
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        part = lp.member[e]
        to_body_axes(t, d, t.part_body[part], t.part_body[part + 1], d.u)
    if not moves:
        keep_positions(t, lp, g, lp.kept_u, d.u)
    return error


@kernel
def is_awake(t, lp, g):
    """Whether any part of a group moves; its parts fall asleep together."""
    mobile = 0
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        mobile += t.part_mobile[lp.member[e]]
    return mobile != 0


@kernel
def is_new(t, d, lp, g):
    """Whether the state of a group is not the one that the last step left."""
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        part = lp.member[e]
        for k in range(t.part_dof[part], t.part_dof[part + 1]):
            if d.q[k] != lp.end_q[k] or d.u[k] != lp.end_u[k]:
                return True
    return False


@kernel
def close_new(t, d, lp, always):
    """`close_group` for groups whose state was changed since the last step. Returns the largest |phi| left of these."""
    largest = 0.0
    for g in range(lp.count[GROUPS]):
        if is_awake(t, lp, g) and (always or is_new(t, d, lp, g)):
            error = close_group(t, d, lp, g)
            if not error <= largest:
                largest = error
    return largest
