"""Responses of the blocks of a contact problem under eliminated rows.

A block that touches a group of eliminated rows sees it through its constrained response

    Y <- Y - Y_G S^+ (Y_G J^T),    Y_G = M^-1 G^T

so that impulses of contacts, limits and motors never open what the group holds together, and solvers see an ordinary
problem. Directions in which the rows hold a block leave it no compliance, and it gets a trace of softness there. The
group's own impulses follow when the problem is solved (`reactions`).
"""

from __future__ import annotations

from kido.constraints.loop_blocks import add_rows, add_segment, add_user_rows, segment_of, takes_part, tree_length
from kido.constraints.loop_factor import solve
from kido.jit import kernel
from kido.solvers.problem import BOUNDED
from kido.solvers.rows import coupling, inverse_compliance, num_segments, segment

STIFF = 1e-6  # softness, relative to the compliance without them, of blocks that eliminated rows hold in a direction
HELD_TOLERANCE = 1e-9  # share of its compliance below which a direction counts as held


@kernel
def yielding(pr, block, r, s):
    """Velocity of row r of a block, r <= s, by an impulse of its row s; also of one whose rows are not made."""
    return pr.W[block, r * (5 - r) // 2 + s] if pr.deferred[block] != 0 else coupling(pr, block, r, s)


@kernel
def has_lost_rank(pr, block, before):
    """Whether a contact cannot move in some direction, which need not be that of a row.

    Its compliance then has an eigenvalue that is rounding, and impulses that balance others along that direction grow
    beyond all bounds: between two bodies on a hinge that touch, all contacts have one velocity.
    """
    w00, w11, w22 = yielding(pr, block, 0, 0), yielding(pr, block, 1, 1), yielding(pr, block, 2, 2)
    w01, w02, w12 = yielding(pr, block, 0, 1), yielding(pr, block, 0, 2), yielding(pr, block, 1, 2)
    first = w00 * w11 - w01 * w01 + w00 * w22 - w02 * w02 + w11 * w22 - w12 * w12
    whole = w00 * (w11 * w22 - w12 * w12) - w01 * (w01 * w22 - w12 * w02) + w02 * (w01 * w12 - w11 * w02)
    # Ratios of neighbouring invariants are the eigenvalues, from the least to the largest, to within a factor of three.
    return not (first > HELD_TOLERANCE * before * (w00 + w11 + w22) and whole > HELD_TOLERANCE * before * first)


@kernel
def is_held(pr, block, r, before):
    """Whether a row of a block cannot move, which had the compliance `before` without the eliminated rows."""
    return yielding(pr, block, r, r) < HELD_TOLERANCE * before


@kernel
def group_of_segment(t, lp, dof, length):
    """Group of the part of a segment; -1: none, as for points of soft skins, which stand behind the coordinates."""
    if length == 0 or dof >= t.body_of_dof.shape[0]:
        return -1
    return lp.tree_group[t.tree_of_body[t.body_of_dof[dof]]]


@kernel
def is_first_of_group(t, lp, pr, block, k, g):
    """Whether no segment of a block before number k is of group g."""
    for j in range(k):
        dof, length, _ = segment(pr, block, j)
        if group_of_segment(t, lp, dof, length) == g:
            return False
    return True


@kernel
def room_to_widen(t, lp, pr, block):
    """Pool entries and extra segments that a block lacks, at most, for the groups it touches."""
    entries, extras = 0, 0
    rows = 1 if pr.kind[block] == BOUNDED else 3
    for k in range(num_segments(pr, block)):
        dof, length, _ = segment(pr, block, k)
        g = group_of_segment(t, lp, dof, length)
        if g >= 0 and is_first_of_group(t, lp, pr, block, k, g):
            entries += rows * lp.group_dofs[g]
            extras += lp.group_member[g + 1] - lp.group_member[g]
    if extras > 0:
        extras += pr.more_count[block]
    return entries, extras


@kernel
def constrain(t, lp, pr, block, g):
    """Take what group g's rows prevent off the responses of a block, which has segments over all its trees."""
    rows = 1 if pr.kind[block] == BOUNDED else 3
    for r in range(rows):
        for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
            lp.right[s] = 0.0
        for e in range(lp.group_member[g], lp.group_member[g + 1]):
            tree_index = lp.member[e]
            length = tree_length(t, tree_index)
            at = segment_of(t, pr, block, tree_index) + r * length
            begin = lp.group_pool[g] + lp.tree_local[tree_index]
            for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
                value = 0.0
                for k in range(length):
                    value += lp.Y[begin + k] * pr.J[at + k]
                lp.right[s] -= value
                begin += lp.group_dofs[g]
        solve(lp, g)
        for e in range(lp.group_member[g], lp.group_member[g + 1]):
            tree_index = lp.member[e]
            length = tree_length(t, tree_index)
            at = segment_of(t, pr, block, tree_index) + r * length
            begin = lp.group_pool[g] + lp.tree_local[tree_index]
            for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
                for k in range(length):
                    pr.Y[at + k] += lp.left[s] * lp.Y[begin + k]
                begin += lp.group_dofs[g]


@kernel
def widen(t, lp, pr, block, pool, own):
    """Constrained responses of one block. Returns pool entries used.

    Args:
        own: 1: the block is of a constraint, so that aggregates have not given its responses yet.
    """
    rows = 1 if pr.kind[block] == BOUNDED else 3
    before, used = -1.0, 0
    for k in range(num_segments(pr, block)):  # those that come to it meanwhile are of groups that were done
        dof, length, at = segment(pr, block, k)
        g = group_of_segment(t, lp, dof, length)
        if g >= 0 and lp.embedded[g] != 0:
            if own != 0:
                lp.answer(lp.answer_of, at, t.tree_of_body[t.body_of_dof[dof]])
            before = max(before, lp.compliance[g])
        elif g >= 0 and is_first_of_group(t, lp, pr, block, k, g):
            if before < 0.0:
                for r in range(rows):
                    before = max(before, coupling(pr, block, r, r))
            for e in range(lp.group_member[g], lp.group_member[g + 1]):
                tree_index = lp.member[e]
                if tree_length(t, tree_index) > 0 and segment_of(t, pr, block, tree_index) < 0:
                    add_segment(t, lp, pr, block, tree_index, pool + used)
                    used += rows * tree_length(t, tree_index)
            constrain(t, lp, pr, block, g)
    if before >= 0.0:
        held = rows == 3 and has_lost_rank(pr, block, before)
        for r in range(rows):
            if held or is_held(pr, block, r, before):
                pr.compliance[pr.row[block] + r] += STIFF * before
                if pr.deferred[block] != 0:
                    pr.W[block, r * (7 - r) // 2] += STIFF * before
        if pr.deferred[block] != 0:
            pr.step[block] = inverse_compliance(pr, block)
    return used


@kernel
def complete_problem(t, d, lp, us, pr, src, start_u):
    """Add the blocks of constraints to an assembled problem, and constrain all responses.

    Returns False, with what is needed in src, if the problem is too small.
    """
    blocks, rows = pr.num_blocks, pr.num_rows
    pool, extras = src.pool_needed, src.extras_needed
    at, lp.num_extras = pool, extras
    for b in range(blocks):
        entries, segments = room_to_widen(t, lp, pr, b)
        pool += entries
        extras += segments
    number, entries = us.num_rows, 0
    for tree_index in range(t.tree_mobile.shape[0]):
        entries += tree_length(t, tree_index)
    for r in range(lp.num_rows):
        if takes_part(lp, r):
            number += 1
    pool += 2 * number * entries
    extras += 2 * number * t.tree_mobile.shape[0]
    src.blocks_needed += number
    src.rows_needed += number
    src.pool_needed, src.extras_needed = pool, extras
    if (
        blocks + number > pr.kind.shape[0]
        or rows + number > pr.bias.shape[0]
        or pool > pr.J.shape[0]
        or extras > pr.more_dof.shape[0]
    ):
        return False
    block, row, at = add_rows(t, d, lp, pr, src, start_u, blocks, rows, at)
    block, row, at = add_user_rows(t, d, lp, us, pr, src, block, row, at)
    for b in range(block):
        at += widen(t, lp, pr, b, at, 0 if b < blocks else 1)
    pr.num_blocks = block
    pr.num_rows = row
    return True


@kernel
def add_load(pr, block, load, dofs):
    """Add the generalized impulse of a block whose rows are made on the first `dofs` velocities, J^T p."""
    if pr.deferred[block] != 0:
        return
    for r in range(1 if pr.kind[block] == BOUNDED else 3):
        p = pr.impulse[pr.row[block] + r]
        for s in range(num_segments(pr, block)):
            dof, length, at = segment(pr, block, s)
            for k in range(length if dof < dofs else 0):
                load[dof + k] += pr.J[at + r * length + k] * p


@kernel
def reactions(t, lp, pr, g):
    """Add the impulses with which group g's rows answer those of the contact problem, `load`, to lp.total."""
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        value = 0.0
        at = lp.group_pool[g] + (s - lp.group_slot[g]) * lp.group_dofs[g]
        for e in range(lp.group_member[g], lp.group_member[g + 1]):
            tree_index = lp.member[e]
            begin = t.tree_dof[tree_index]
            local = at + lp.tree_local[tree_index] - begin
            for k in range(begin, t.tree_dof[tree_index + 1]):
                value += lp.Y[local + k] * lp.load[k]
        lp.right[s] = -value
    solve(lp, g)
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        lp.total[s] += lp.left[s]
