"""Constraints between bodies closed: positions onto phi = 0 and velocities onto G u = 0, after steps and edits.

    positions:   q <- q (+) -M^-1 G^T S^+ phi             repeated until phi = 0
    velocities:  u <- u - M^-1 G^T S^+ G u

by the factor of `loop_factor`.
"""

from __future__ import annotations

import math

from kido.constraints.closure import (
    CLOSURE_TOLERANCE,
    DIGITS_TOLERANCE,
    OPEN_TOLERANCE,
    newton_closure,
    share_of_move,
)
from kido.constraints.loop_factor import factor, fill_jacobian, fill_rows, negate_right, push, rates, solve
from kido.constraints.loop_rows import measure
from kido.constraints.loop_trees import ENERGY, place_tree, prepare_tree
from kido.jit import kernel
from kido.kernels.energy import kinetic_energy
from kido.kernels.integration import advance, to_body_axes, to_parent_axes

MAX_CORRECTIONS = 8  # iterations with the factor of mid-step
MAX_CLOSURE_STEPS = 60  # of Newton's method after the state was changed from outside
ROUGH_RATE_TOLERANCE = 1e-10  # share of velocities by which rows may be missed before a group is closed anew
STILL_RATE_TOLERANCE = 1e-15  # velocity error of a row, relative to the velocities that enter it, that is rounding
WEAK_PIVOT = 1e-3  # pivot below which rows may turn by any angle in a step: nothing of mid-step is used at its end
TURNED, LOST = 0.01, 0.04  # kinetic energy along what rows hold, relative to the rest: seen by them as a turn; unseen


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
def openness_of_independent(lp, g):
    """Largest |phi| of a group's rows that do not follow from others: those can be closed."""
    largest = 0.0
    for i in range(lp.rank[g]):
        value = math.fabs(lp.phi[lp.slot[lp.group_slot[g] + lp.pivot[lp.group_slot[g] + i]]])
        if not value <= largest:
            largest = value
    return largest


@kernel
def note_open(lp, g):
    """Note whether a group is open: its rows that do not follow from others, or all by more than files' digits."""
    closed = openness_of_independent(lp, g) <= OPEN_TOLERANCE and openness(lp, g) <= DIGITS_TOLERANCE
    lp.left_open[g] = 0 if closed else 1


@kernel
def measure_group(t, d, lp, g):
    """Transforms of a group's trees, and all rows; returns the largest |phi| of the group's."""
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        tree_index = lp.member[e]
        place_tree(t, d, lp, tree_index)
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
        tree_index = lp.member[e]
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            d.u[k] = 0.0
    largest = push(t, lp, g, lp.Y, d.u)
    share = share_of_move(largest)
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        tree_index = lp.member[e]
        advance(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1], share)


@kernel
def keep_positions(t, lp, g, source, target):
    """Copy the coordinates of a group from one vector to another."""
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        tree_index = lp.member[e]
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            target[k] = source[k]


@kernel
def prepare_group(t, d, lp, g):
    """Inertias, rows and factor of a group at its present transforms."""
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        prepare_tree(t, d, lp, lp.member[e])
    fill_rows(t, d, lp, g)
    factor(lp, g)


@kernel
def correct_positions(t, d, lp, g, anew):
    """Positions of a group nearer to phi = 0, as long as moves help; G's factor is at hand, or made `anew` each time.

    Returns:
        The largest |phi| left of rows that do not follow from others; that of all is `closure`.
    """
    lp.closure = measure_group(t, d, lp, g)
    if anew:
        prepare_group(t, d, lp, g)
    error = openness_of_independent(lp, g)
    for _ in range(MAX_CORRECTIONS):
        if not error > CLOSURE_TOLERANCE:
            break
        keep_positions(t, lp, g, d.q, lp.kept_q)
        move_to_close(t, d, lp, g)
        lp.closure = measure_group(t, d, lp, g)
        moved = openness_of_independent(lp, g)
        if not moved < error:
            keep_positions(t, lp, g, lp.kept_q, d.q)
            lp.closure = measure_group(t, d, lp, g)
            break
        error = moved
        if anew:
            prepare_group(t, d, lp, g)
    return error


@kernel
def measure_anew(t, d, lp, g, _y, _z):
    """Rows of a group and their factor at its positions, as `newton_closure` asks."""
    measure_group(t, d, lp, g)
    prepare_group(t, d, lp, g)
    return openness_of_independent(lp, g)


@kernel
def move_group(t, d, lp, g, _y, _z):
    """`move_to_close`, as `newton_closure` asks."""
    move_to_close(t, d, lp, g)
    return True


close_rows = newton_closure(measure_anew, move_group)


@kernel
def note_start(lp, g):
    """Remember how strong the rows of a group are where the next step begins, or near to it."""
    lp.start[g], lp.start_rank[g] = lp.least[g], lp.rank[g]


@kernel
def is_weak(lp, g):
    """Whether a group's rows are weak or of lower rank at mid-step or where the step began."""
    return lp.least[g] < WEAK_PIVOT or lp.start[g] < WEAK_PIVOT or lp.start_rank[g] != lp.rank[g]


@kernel
def close_after_step(t, d, pr, lp, g):
    """Positions at the end of a step onto phi = 0, then its velocities pr.u onto G u = 0; d.u is used up.

    The factor is that of mid-step: an iteration reduces the error by about the turn of the directions in half a step.
    With weak pivots, where a turn may be by any angle, nothing is done: a projection along directions that are not
    those of the rows would lengthen velocities. Rows that follow from others may be off by as much as these: numbers
    of model files have few digits.

    Returns:
        The velocity error left, and whether `close_anew` is to do better.
    """
    if is_weak(lp, g):
        return 0.0, True
    note_start(lp, g)
    error = correct_positions(t, d, lp, g, False)
    fill_jacobian(t, d, lp, g)
    before = math.inf
    for _ in range(MAX_CORRECTIONS):
        largest, size = rates(t, lp, g, lp.G_end, pr.u)
        if not largest <= 2.0 * before:  # near singular positions directions are others than they were at mid-step
            for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
                lp.total[s] -= lp.left[s]
                lp.left[s] = -lp.left[s]
            push(t, lp, g, lp.Y, pr.u)
            break
        if not largest > STILL_RATE_TOLERANCE * size or not largest < 0.5 * before:
            break
        before = largest
        negate_right(lp, g)
        solve(lp, g)
        push(t, lp, g, lp.Y, pr.u)
        for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
            lp.total[s] += lp.left[s]
    misfit, size = rates(t, lp, g, lp.G_end, pr.u)
    return misfit, error > CLOSURE_TOLERANCE or misfit > ROUGH_RATE_TOLERANCE * size


@kernel
def close_anew(t, d, pr, lp, g):
    """What `close_after_step` left, with a factor of the end of the step: near singular positions that of mid-step
    is no good. Overwrites G and Y; returns the velocity error left."""
    correct_positions(t, d, lp, g, True)
    error = openness(lp, g)
    misfit, _ = rates(t, lp, g, lp.G, pr.u)
    for _ in range(2):
        negate_right(lp, g)
        solve(lp, g)
        push(t, lp, g, lp.Y, pr.u)
        misfit, _ = rates(t, lp, g, lp.G, pr.u)
    note_start(lp, g)
    return misfit, error


@kernel
def close_group(t, d, lp, g):
    """A state given from outside onto phi = 0 and G u = 0: Newton's method, then an inelastic impulse.

    Where the positions cannot be closed they stay as they are. Velocities are in the joints' own axes, before and
    after. Returns the largest |phi| left.
    """
    keep_positions(t, lp, g, d.q, lp.kept_q)
    keep_positions(t, lp, g, d.u, lp.kept_u)
    error = close_rows(t, d, lp, g, 0, 0, CLOSURE_TOLERANCE, MAX_CLOSURE_STEPS)
    if not (error <= OPEN_TOLERANCE and openness(lp, g) <= DIGITS_TOLERANCE):
        keep_positions(t, lp, g, lp.kept_q, d.q)
        measure_group(t, d, lp, g)
        prepare_group(t, d, lp, g)
    error = openness(lp, g)
    note_open(lp, g)
    note_start(lp, g)
    keep_positions(t, lp, g, lp.kept_u, d.u)
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        tree_index = lp.member[e]
        to_parent_axes(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1], d.u)
    largest, size = rates(t, lp, g, lp.G, d.u)
    moves = largest > 1e-13 * size
    if moves:
        negate_right(lp, g)
        solve(lp, g)
        push(t, lp, g, lp.Y, d.u)
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        tree_index = lp.member[e]
        to_body_axes(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1], d.u)
    if not moves:
        keep_positions(t, lp, g, lp.kept_u, d.u)
    return error


@kernel
def seen_as_turn(t, d, lp, g):
    """Share of the old velocities, right = G u, that the midpoint rule may take for the rows' turn in half a step.

    The rule lets new velocities leave what rows hold by as much as the old ones come in: their mean is along it. That
    is the curve of the motion as long as it turns by little in a step. Near positions where rows lose rank it may turn
    by any angle, and what comes in is a blow that rows take up without giving it back: the share is 0 then.

    d.V are the velocities predicted for mid-step.
    """
    solve(lp, g)
    along, rest = 0.0, 0.0
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        along += lp.right[s] * lp.left[s]
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        tree_index = lp.member[e]
        if lp.apart[tree_index] != 0:
            lp.others(lp.others_of, ENERGY, tree_index)
            rest += 2.0 * lp.answered
        else:
            rest += 2.0 * kinetic_energy(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1], lp.predicted)
    if along <= TURNED * rest:
        return 1.0
    return max(LOST * rest - along, 0.0) / ((LOST - TURNED) * rest) if rest > 0.0 else 0.0


@kernel
def is_awake(t, lp, g):
    """Whether any part of a group moves; its trees fall asleep together."""
    mobile = 0
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        mobile += t.tree_mobile[lp.member[e]]
    return mobile != 0


@kernel
def is_new(t, d, lp, g):
    """Whether the state of a group is not the one that the last step left."""
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        tree_index = lp.member[e]
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            if d.q[k] != lp.end_q[k] or d.u[k] != lp.end_u[k]:
                return True
    return False


@kernel
def close_new(t, d, lp, always):
    """`close_group` for groups whose state was changed since the last step. Returns the largest |phi| left of these."""
    largest = 0.0
    for g in range(lp.num_groups):
        if is_awake(t, lp, g) and (always or is_new(t, d, lp, g)):
            error = close_group(t, d, lp, g)
            if not error <= largest:
                largest = error
    return largest
