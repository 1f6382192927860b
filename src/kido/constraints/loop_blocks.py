"""Constraints as blocks of the contact problem: rows that hold with a limited force, springs, motors, users' rows.

A spring with a damper is a row with softness. Its force is that of the middle of the step for the spring and of its
end for the damper, as joints have them:

    p = -h (k (phi + (h/4) (v_new - v)) + d v_new)
"""

from __future__ import annotations

import math

from kido.constraints.joint import limit_is_near
from kido.constraints.loop_rows import add_body_jacobian, add_body_row, add_coupler_jacobian, add_coupler_row, is_moved
from kido.constraints.loop_schema import COUPLE, DRIVEN, ELIMINATED, ONE_SIDED, SPRING
from kido.constraints.loop_trees import response_apart
from kido.constraints.row_origins import FROM_CONSTRAINT, FROM_USER, distance_biases
from kido.jit import kernel
from kido.kernels.impulse import generalized_row
from kido.solvers.problem import BOUNDED
from kido.solvers.rows import first_velocity, num_segments, segment

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
        pr.bias[row] = (h * lp.stiffness[r] * lp.phi[r] - share * first_velocity(pr, block, start_u)) / hold
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
    return not limit_is_near(lp.phi[r], -first_velocity(pr, block, pr.u_free), src.time_step)


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
                if lp.apart[tree_index] != 0:
                    response_apart(t, lp, tree_index, pr.J, pr.Y, at)
                elif not is_embedded(lp, tree_index):
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
