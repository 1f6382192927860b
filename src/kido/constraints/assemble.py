"""The contact problem of a step, from the contacts and the joints of a forest."""

from __future__ import annotations

from kido.constraints.contact import add_contact, add_spin, ask_responses, pool_size, segment_length
from kido.constraints.impact_time import NEVER
from kido.constraints.joint import (
    add_actuator,
    add_friction,
    add_limit,
    can_slide,
    is_dragged,
    is_turned,
    limit_is_near,
    most_actuator_rows,
    position_rate,
    wanted_velocity,
)
from kido.constraints.surfaces import NO_ROWS, find_rows, has_spin, row_of
from kido.constraints.wrenches import begin_deferral, begin_description, end_description, note_contact, note_coordinate
from kido.jit import kernel
from kido.kernels.free_lanes import NOT_FREE
from kido.kernels.responses import ask_coordinate, forget_responses, make_responses

ASSEMBLED, PROBLEM_FULL, SURFACES_WANTED = 0, 1, 2


@kernel
def may_have_row(t, d, pr, src, k):
    """Whether coordinate k has rows, but for what its being prescribed or dragged changes."""
    if t.coulomb[k] > 0.0 or most_actuator_rows(t, k) > 0 or t.lower[k] == t.upper[k]:
        return True
    h = src.time_step
    q, u = d.q[k], position_rate(t, d, k, pr.u_free)
    wanted = u if is_turned(t, k) else wanted_velocity(t, d, pr, src, k)
    return limit_is_near(q - t.lower[k], max(-u, -wanted), h) or limit_is_near(t.upper[k] - q, max(u, wanted), h)


@kernel
def any_spins(c, s):
    """Whether a contact of this step has rolling or torsional friction."""
    if s.mode == NO_ROWS or s.any_spin == 0:
        return False
    found = False
    for k in range(c.num_contacts):
        found = found or has_spin(s, c.surface[k])
    return found


@kernel
def needed(t, d, c, pr, src, s, responses):
    """Count an upper bound of what the problem needs into src; ask for responses; see which trees are deferred."""
    forget_responses(responses)
    contacts = c.num_contacts
    blocks, rows, pool = contacts, 3 * contacts, 0
    spins = any_spins(c, s)
    possible = pr.tree_newton.address != 0 and pr.chosen.address == 0 and pr.given == 0 and not spins
    possible = possible and contacts + src.num_joint_dofs > 0
    begin_deferral(t, pr, src, possible)
    for k in range(contacts):
        a, b = c.body_a[k], c.body_b[k]
        pool += pool_size(t, a, b)
        if possible:
            note_contact(t, d, c, s, src, k, segment_length(t, a) > 0, segment_length(t, b) > 0)
        ask_responses(t, responses, a, b, spins)
    if spins:
        blocks, rows, pool = 2 * blocks, 2 * rows, 2 * pool
    src.num_row_dofs = 0
    for n in range(src.num_joint_dofs):
        k = src.joint_dof[n]
        tree_index = t.tree_of_body[t.body_of_dof[k]]
        if t.tree_mobile[tree_index] != 0:
            number = most_actuator_rows(t, k)
            if t.lower[k] > -1e300 or t.upper[k] < 1e300:
                number += 1 if t.lower[k] == t.upper[k] else 2
            if t.coulomb[k] > 0.0:
                number += 1
            blocks += number
            rows += number
            pool += number * (t.tree_dof[tree_index + 1] - t.tree_dof[tree_index])
            if may_have_row(t, d, pr, src, k):
                src.row_dof[src.num_row_dofs] = k
                src.num_row_dofs += 1
                ask_coordinate(t, responses, k)
                if responses.deferred[tree_index] != 0:
                    note_coordinate(t, src, tree_index, k)
    src.blocks_needed, src.rows_needed, src.pool_needed = blocks, rows, pool
    src.responses_needed = responses.needed
    src.extras_needed = 0


@kernel
def add_position_limits(t, d, pr, src, k, block, row, pool):
    """Limits of coordinate k that may be met. Returns numbers of blocks, rows and pool entries in use."""
    h = src.time_step
    low, high, q, u = t.lower[k], t.upper[k], d.q[k], position_rate(t, d, k, pr.u_free)
    wanted = u if is_turned(t, k) else wanted_velocity(t, d, pr, src, k)
    if low == high:
        pool += add_limit(t, d, pr, src, k, q - low, 0.0, block, row, pool)
        block += 1
        row += 1
    else:
        if limit_is_near(q - low, max(-u, -wanted), h):
            pool += add_limit(t, d, pr, src, k, q - low, 1.0, block, row, pool)
            block += 1
            row += 1
        if limit_is_near(high - q, max(u, wanted), h):
            pool += add_limit(t, d, pr, src, k, high - q, -1.0, block, row, pool)
            block += 1
            row += 1
    return block, row, pool


@kernel
def add_joints(t, d, pr, src, block, row, pool):
    """Limits, friction and actuators of all mobile trees. Returns numbers of blocks, rows and pool entries in use.

    Nothing of it moves a prescribed coordinate.
    """
    for n in range(src.num_row_dofs):
        k = src.row_dof[n]
        if is_turned(t, k) and can_slide(t, k):
            block, row, pool = add_position_limits(t, d, pr, src, k, block, row, pool)
        if t.prescribed[k] != 0:
            continue
        if not is_dragged(t, k):
            if not is_turned(t, k):
                block, row, pool = add_position_limits(t, d, pr, src, k, block, row, pool)
            if t.coulomb[k] > 0.0:
                pool += add_friction(t, d, pr, src, k, block, row, pool)
                block += 1
                row += 1
        block, row, pool = add_actuator(t, d, pr, src, k, block, row, pool)
    return block, row, pool


@kernel
def begin_assembly(t, d, c, pr, src):
    """What is needed before contacts become rows. Returns what `assemble` does."""
    responses = src.responses
    s = src.surfaces
    if s.mode != NO_ROWS and not find_rows(c, s):
        return SURFACES_WANTED
    needed(t, d, c, pr, src, s, responses)
    if (
        src.blocks_needed > pr.kind.shape[0]
        or src.rows_needed > pr.bias.shape[0]
        or src.pool_needed > pr.J.shape[0]
        or src.responses_needed > responses.rows.shape[0]
        or src.extras_needed > pr.more_dof.shape[0]
    ):
        return PROBLEM_FULL
    begin_description(t, d, src)
    make_responses(t, d, responses)
    src.num_impacts = 0
    src.first_meeting[0] = NEVER
    return ASSEMBLED


@kernel
def add_contacts(t, d, c, pr, src):
    """Rows of all contacts, one after another. Returns numbers of blocks, rows and pool entries in use."""
    responses = src.responses
    s = src.surfaces
    block, row, pool = 0, 0, 0
    for k in range(c.num_contacts):
        size = add_contact(t, d, c, pr, src, s, responses, k, block, row, pool)
        if size > 0:
            block += 1
            row += 3
            pool += size
            if has_spin(s, row_of(c, s, k)):
                pool += add_spin(t, d, c, pr, src, s, responses, block - 1, block, row, pool)
                block += 1
                row += 3
    return block, row, pool


@kernel
def place_contacts(t, c, pr, src):
    """Have each contact of free bodies know its block, so that they can be added in any order (`add_placed`).

    Returns:
        Numbers of blocks and pool entries; -1 blocks if some contact may be left out, or is not of free bodies.
    """
    responses = src.responses
    if src.surfaces.mode != NO_ROWS:
        return -1, 0
    block, pool = 0, 0
    for k in range(c.num_contacts):
        a, b = c.body_a[k], c.body_b[k]
        na, nb = segment_length(t, a), segment_length(t, b)
        if c.restitution[k] > 0.0 or c.swept[k] != 0:
            return -1, 0
        if (na > 0 and responses.free[a] == NOT_FREE) or (nb > 0 and responses.free[b] == NOT_FREE):
            return -1, 0
        if na + nb > 0:
            src.index[block], pr.at_a[block] = k, pool
            block += 1
            pool += 3 * (na + nb)
    return block, pool


@kernel
def add_placed(t, d, c, pr, src, begin, end):
    """Rows of the contacts of blocks begin..end-1."""
    for block in range(begin, end):
        add_contact(
            t, d, c, pr, src, src.surfaces, src.responses, src.index[block], block, 3 * block, pr.at_a[block]
        )  # fmt: skip


@kernel
def end_assembly(t, d, pr, src, block, row, pool):
    """Rows of joints after those of contacts, which have so many blocks, rows and pool entries."""
    src.surfaces.ready = 0
    block, row, pool = add_joints(t, d, pr, src, block, row, pool)
    pr.num_blocks = block
    pr.num_rows = row
    pr.num_dofs = d.q.shape[0]
    pr.num_extras = 0
    end_description(t, d, pr, src)


@kernel
def assemble(t, d, c, pr, src):
    """Fill the problem `pr` with all contacts of `c`, joint limits, joint friction and actuators; pr.u_free is given.

    Needs transforms and articulated inertias. Returns ASSEMBLED, PROBLEM_FULL with the needs in src, or
    SURFACES_WANTED where contacts have no properties yet.
    """
    status = begin_assembly(t, d, c, pr, src)
    if status == ASSEMBLED:
        block, row, pool = add_contacts(t, d, c, pr, src)
        end_assembly(t, d, pr, src, block, row, pool)
    return status
