"""Constraints in the contact problem: rows that are blocks of it, and responses of all blocks under eliminated rows.

A block that touches a group of eliminated rows sees it through its constrained response

    Y <- Y - Y_G S^+ (Y_G J^T),    Y_G = M^-1 G^T

so that impulses of contacts, limits and motors never open what the group holds together, and solvers see an ordinary
problem. The group's own impulses follow when the problem is solved (`reactions`).

A spring with a damper is a row with softness. Its force is that of the middle of the step for the spring and of its
end for the damper, as joints have them:

    p = -h (k (phi + (h/4) (v_new - v)) + d v_new)
"""

from __future__ import annotations

import math

from kido.constraints.joint import limit_is_near
from kido.constraints.loop_factor import solve
from kido.constraints.loop_rows import (
    add_body_jacobian,
    add_body_row,
    add_coupler_jacobian,
    add_coupler_row,
    is_moved,
)
from kido.constraints.loop_schema import (
    COUPLE,
    DRIVEN,
    ELIMINATED,
    ONE_SIDED,
    SPRING,
)
from kido.constraints.lost_rank import compliance_of_row, has_lost_rank, is_held
from kido.constraints.recovery import distance_biases
from kido.constraints.row_origins import (
    FROM_CONSTRAINT,
    FROM_USER,
)
from kido.jit import kernel
from kido.kernels.impulse import generalized_row
from kido.solvers.problem import BOUNDED
from kido.solvers.rows import num_segments, segment

STIFF = 1e-6  # softness, relative to the compliance without them, of blocks that eliminated rows hold in a direction
MAX_FORCE = 1e100  # bound in place of none for rows that are no business of the position correction


@kernel
def tree_length(t, tree_index):
    """Coordinates of a tree that moves; 0 for none (-1) and for immobile ones."""
    if tree_index < 0 or t.tree_mobile[tree_index] == 0:
        return 0
    return t.tree_dof[tree_index + 1] - t.tree_dof[tree_index]


@kernel
def is_embedded(lp, tree_index):
    """Whether the loops of a tree are aggregates in this step: responses have them, and are made elsewhere."""
    g = lp.tree_group[tree_index]
    return g >= 0 and lp.embedded[g] != 0


@kernel
def begin_block(pr, src, block, row, pool):
    """An empty block of one row, without segments."""
    pr.kind[block] = BOUNDED
    pr.row[block] = row
    pr.dof_a[block], pr.len_a[block], pr.at_a[block] = 0, 0, pool
    pr.dof_b[block], pr.len_b[block], pr.at_b[block] = 0, 0, pool
    pr.more_first[block], pr.more_count[block] = 0, 0
    pr.mu[block], pr.floor[block], pr.restitution[block] = 0.0, 0.0, 0.0
    pr.position_bias[block] = 0.0
    pr.bias[row], pr.compliance[row] = 0.0, 0.0
    src.side[block], src.correction[block] = 0.0, 0.0


@kernel
def add_segment(t, lp, pr, block, tree_index, pool):
    """Give a block a segment over one more tree that moves, with zero rows. Returns where its rows start."""
    length = tree_length(t, tree_index)
    size = length if pr.kind[block] == BOUNDED else 3 * length
    for k in range(pool, pool + size):
        pr.J[k] = 0.0
        pr.Y[k] = 0.0
    if pr.len_a[block] == 0:
        pr.dof_a[block], pr.len_a[block], pr.at_a[block] = t.tree_dof[tree_index], length, pool
    elif pr.len_b[block] == 0:
        pr.dof_b[block], pr.len_b[block], pr.at_b[block] = t.tree_dof[tree_index], length, pool
    else:
        first, number, used = pr.more_first[block], pr.more_count[block], lp.num_extras
        if first + number != used:  # those that it has move to the end
            for x in range(number):
                pr.more_dof[used + x] = pr.more_dof[first + x]
                pr.more_len[used + x] = pr.more_len[first + x]
                pr.more_at[used + x] = pr.more_at[first + x]
            pr.more_first[block] = used
            used += number
        pr.more_dof[used], pr.more_len[used], pr.more_at[used] = t.tree_dof[tree_index], length, pool
        pr.more_count[block] = number + 1
        lp.num_extras = used + 1
    return pool


@kernel
def segment_of(t, pr, block, tree_index):
    """Where the rows of a block over a tree start; -1 if it has none there."""
    for k in range(num_segments(pr, block)):
        dof, length, at = segment(pr, block, k)
        if length > 0 and dof == t.tree_dof[tree_index]:
            return at
    return -1


@kernel
def row_rate(pr, block, u):
    """Velocity of a block's first row for a generalized velocity."""
    v = 0.0
    for s in range(num_segments(pr, block)):
        dof, length, at = segment(pr, block, s)
        for k in range(length):
            v += pr.J[at + k] * u[dof + k]
    return v


@kernel
def set_row(lp, pr, src, r, block, row, start_u):
    """Bias, softness and bounds of a row that is a block."""
    h = src.time_step
    lower, upper = max(lp.lower[r] * h, -MAX_FORCE), min(lp.upper[r] * h, MAX_FORCE)
    if lp.mode[r] == ONE_SIDED:
        lower, upper = 0.0, math.inf
        pr.bias[row], pr.position_bias[block] = distance_biases(src, lp.phi[r])
        src.correction[block] = min(pr.bias[row], 0.0)
    elif lp.mode[r] == DRIVEN:
        pr.bias[row] = -lp.sign[r] * lp.target[r]
    elif lp.mode[r] == SPRING:
        share = 0.25 * h * h * lp.stiffness[r]
        hold = share + h * lp.damping[r]
        pr.compliance[row] = 1.0 / hold
        pr.bias[row] = (h * lp.stiffness[r] * lp.phi[r] - share * row_rate(pr, block, start_u)) / hold
    else:
        most = src.max_correction
        pr.bias[row] = min(max(src.erp * lp.phi[r], -most), most) / h
    pr.lower[block], pr.upper[block] = lower, upper
    pr.impulse[row] = min(max(lp.impulse[r], lower), upper)


@kernel
def takes_part(lp, r):
    """Whether a row is a block of the problem."""
    if lp.mode[r] == ELIMINATED or lp.enabled[lp.of[r]] == 0:
        return False
    if lp.mode[r] == DRIVEN:
        return lp.lower[r] != 0.0 or lp.upper[r] != 0.0
    return lp.mode[r] != SPRING or lp.stiffness[r] + lp.damping[r] > 0.0


@kernel
def add_bodies(t, d, lp, pr, r, block, pool):
    """Segments of row r on its bodies. Returns pool entries used."""
    c, used = lp.of[r], 0
    for side in range(2):
        body = lp.body_a[c] if side == 0 else lp.body_b[c]
        if is_moved(t, body):
            tree_index = t.tree_of_body[body]
            at = segment_of(t, pr, block, tree_index)
            if at < 0:
                at = add_segment(t, lp, pr, block, tree_index, pool + used)
                used += tree_length(t, tree_index)
            sign = -1.0 if side == 0 else 1.0
            if is_embedded(lp, tree_index):
                add_body_jacobian(t, d, lp, r, body, sign, pr.J, at)
            else:
                add_body_row(t, d, lp, r, body, sign, pr.J, pr.Y, at)
    return used


@kernel
def add_coordinates(t, d, lp, pr, r, block, pool):
    """Segments of row r on the coordinates of its coupler. Returns pool entries used."""
    c, used = lp.of[r], 0
    for e in range(lp.first_term[c], lp.first_term[c + 1]):
        tree_index = t.tree_of_body[t.body_of_dof[lp.term_dof[e]]]
        if tree_length(t, tree_index) > 0 and segment_of(t, pr, block, tree_index) < 0:
            at = add_segment(t, lp, pr, block, tree_index, pool + used)
            used += tree_length(t, tree_index)
            if is_embedded(lp, tree_index):
                add_coupler_jacobian(t, lp, r, tree_index, pr.J, at)
            else:
                add_coupler_row(t, d, lp, r, tree_index, pr.J, pr.Y, at)
    return used


@kernel
def add_half(t, d, lp, tree_index, p):
    """Add p / 2 times the response in lp.kept_u to the predicted velocities of a tree, and clear it."""
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        d.u[k] += 0.5 * p * lp.kept_u[k]
        lp.kept_u[k], lp.load[k] = 0.0, 0.0


@kernel
def predict_rows(t, d, lp):
    """Add to the velocities predicted for mid-step what springs, motors and dry friction do: as in the last step.

    Their forces change by O(h) from step to step, so that the predicted velocities are right to O(h^2), and with them
    the velocity products. Contacts and limits may begin and end at once, and take no part.
    """
    for k in range(lp.load.shape[0]):
        lp.load[k], lp.kept_u[k] = 0.0, 0.0
    for r in range(lp.num_rows):
        p = lp.impulse[r]
        if p == 0.0 or lp.mode[r] == ELIMINATED or lp.mode[r] == ONE_SIDED or lp.enabled[lp.of[r]] == 0:
            continue
        c = lp.of[r]
        if lp.kind[r] == COUPLE:
            for tree_index in range(t.tree_mobile.shape[0]):
                if tree_length(t, tree_index) > 0 and not is_embedded(lp, tree_index):
                    add_coupler_row(t, d, lp, r, tree_index, lp.load, lp.kept_u, t.tree_dof[tree_index])
                    add_half(t, d, lp, tree_index, p)
        else:
            for side in range(2):
                body = lp.body_a[c] if side == 0 else lp.body_b[c]
                if (
                    is_moved(t, body)
                    and tree_length(t, t.tree_of_body[body]) > 0
                    and not is_embedded(lp, t.tree_of_body[body])
                ):
                    tree_index = t.tree_of_body[body]
                    sign = -1.0 if side == 0 else 1.0
                    add_body_row(t, d, lp, r, body, sign, lp.load, lp.kept_u, t.tree_dof[tree_index])
                    add_half(t, d, lp, tree_index, p)


@kernel
def is_far(lp, pr, src, r, block):
    """Whether a one-sided row is a limit that cannot be met in the step."""
    if lp.mode[r] != ONE_SIDED:
        return False
    return not limit_is_near(lp.phi[r], -row_rate(pr, block, pr.u_free), src.time_step)


@kernel
def add_rows(t, d, lp, pr, src, start_u, block, row, pool):
    """Blocks of all rows that are not eliminated. Returns numbers of blocks, rows and pool entries in use."""
    for r in range(lp.num_rows):
        if takes_part(lp, r):
            begin_block(pr, src, block, row, pool)
            if lp.kind[r] == COUPLE:
                used = add_coordinates(t, d, lp, pr, r, block, pool)
            else:
                used = add_bodies(t, d, lp, pr, r, block, pool)
            if used > 0 and not is_far(lp, pr, src, r, block):
                src.origin[block] = FROM_CONSTRAINT
                src.index[block] = r
                set_row(lp, pr, src, r, block, row, start_u)
                block += 1
                row += 1
                pool += used
    return block, row, pool


@kernel
def moves_coordinates(t, us, r, tree_index):
    """Whether a user's row is over coordinates of a tree that moves."""
    if tree_length(t, tree_index) > 0:
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            if us.J[r, k] != 0.0:
                return True
    return False


@kernel
def add_user_rows(t, d, lp, us, pr, src, block, row, pool):
    """Blocks of the rows that users' constraints gave. Returns numbers of blocks, rows and pool entries in use."""
    for r in range(us.num_rows):
        begin_block(pr, src, block, row, pool)
        used = 0
        for tree_index in range(t.tree_mobile.shape[0]):
            if moves_coordinates(t, us, r, tree_index):
                at, begin = add_segment(t, lp, pr, block, tree_index, pool + used), t.tree_dof[tree_index]
                used += tree_length(t, tree_index)
                for k in range(begin, t.tree_dof[tree_index + 1]):
                    pr.J[at + k - begin] = us.J[r, k]
                if not is_embedded(lp, tree_index):
                    generalized_row(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1], pr.J, pr.Y, at)
        if used > 0:
            src.origin[block] = FROM_USER
            src.index[block] = r
            pr.lower[block], pr.upper[block] = us.lower[r], us.upper[r]
            pr.bias[row], pr.compliance[row] = us.bias[r], us.compliance[r]
            pr.position_bias[block] = us.position_bias[r]
            pr.impulse[row] = us.impulse[r]
            block += 1
            row += 1
            pool += used
    return block, row, pool


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
                    before = max(before, compliance_of_row(pr, block, r))
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
    """Add the generalized impulse of a block on the first `dofs` velocities, J^T p."""
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
