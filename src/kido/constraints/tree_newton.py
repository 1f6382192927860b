"""Newton's method on the exact cone along a tree: contacts and joint rows of one robot, one sweep an iteration.

Where all blocks of an island act on one skeleton, each on one of its bodies (contacts with the ground or with what
does not respond) or on one coordinate, a linearization of their laws (`kido.solvers.laws`) is a tree held by linear
laws (`kido.kernels.regularized_tree`). An iteration costs a sweep of the tree and some work for each block: neither
rows of J and of responses nor a matrix are read. Steps are full ones. A warm start mostly has the right cases, and one
or two iterations are enough. Only where impulses creep, along a direction that moves next to nothing, the penalty is
raised. What is not solved when nothing is gained any more is left as it is: sweeps find other cases from there
(`kido.solvers.default`).
"""

from __future__ import annotations

import math

from kido.collision.container import COLLISION
from kido.constraints.row_origins import (
    FROM_CONTACT,
    FROM_FRICTION,
    FROM_LIMIT,
    FROM_SERVO,
    FROM_SPEED_LIMIT,
    ROW_ORIGINS,
)
from kido.constraints.wrenches import pull_contact, row_velocity
from kido.jit import LANES, Struct, callback, kernel, reference, view
from kido.joints.kinds import FREE
from kido.kernels.chain_impulses import apply_chain, clear_impulses
from kido.kernels.free_lanes import NOT_FREE
from kido.kernels.regularized_tree import (
    REGULARIZED,
    deactivate,
    hold_body,
    list_held,
    release_tree,
    solve_held_tree,
    weigh_held,
)
from kido.kernels.responses import NEVER
from kido.kernels.touched_laws import apply_touched, release_touched, solve_touched
from kido.math.choices import any_positive
from kido.solvers.body_newton import MAX_CONE_FRICTION
from kido.solvers.certify import is_fine, measure_rows
from kido.solvers.gauss_seidel import relax_bounded, relax_contact
from kido.solvers.history import BEST_ROW, gather, put_back
from kido.solvers.laws import (
    FIRM_PENALTY,
    GOOD_MERIT,
    LAW_PENALTY,
    LAW_ROW,
    V,
    adapt,
    bounded_law,
    careful_penalty,
    contact_law,
    follow_bounded,
    follow_contact,
    keep_iterate,
    take_back,
    tree_penalty,
)
from kido.solvers.problem import BOUNDED, PROBLEM
from kido.solvers.rows import INDEX, free_velocity, is_deferred, load_impulse, project_block, set_impulse
from kido.tree.schema import DATA, TREE

PATIENCE = 12  # vain iterations in turn before it stops
REST_STEPS = 4  # most iterations of what is solved, but leaves more than `newton_tolerance`
WARM = 1e5  # merit up to which a warm start mostly has the right cases, so that the first penalty is FIRM_PENALTY


class TREE_NEWTON(Struct):
    tree = reference(TREE)
    data = reference(DATA)
    collision = reference(COLLISION)
    row_origins = reference(ROW_ORIGINS)
    regularized = reference(REGULARIZED)


@kernel
def tree_of_block(t, c, b):
    """The tree of a block that acts on one tree alone."""
    return t.tree_of_body[t.body_of_dof[c.dof_a[b] if c.len_a[b] > 0 else c.dof_b[b]]]


@kernel
def tree_of_island(t, c, src, r, island):
    """The tree that all blocks of an island act on, each in one place; -1: there is none, or a single block.

    One block alone is solved by a sweep, to rounding.
    """
    tree_index = -1
    if c.island_start[island + 1] - c.island_start[island] < 2:
        return tree_index
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        origin = src.origin[b]
        one_sided = (c.len_a[b] == 0) != (c.len_b[b] == 0)
        if not one_sided or c.more_count[b] != 0 or c.floor[b] != 0.0:
            return -1
        if origin == FROM_CONTACT:
            if c.mu[b] > MAX_CONE_FRICTION or src.body[b] < 0:
                return -1
        elif origin == FROM_LIMIT or origin == FROM_FRICTION or origin == FROM_SERVO or origin == FROM_SPEED_LIMIT:
            if t.kind[t.body_of_dof[src.index[b]]] == FREE:  # rows of positions in turned axes
                return -1
        else:
            return -1
        found = tree_of_block(t, c, b)
        if tree_index < 0:
            tree_index = found
            if r.free[t.tree_body[found]] != NOT_FREE or r.deferrable[found] < NEVER:
                return -1
        elif tree_index != found:
            return -1
    return tree_index


@kernel
def hold_contact(c, src, y, k, b, penalty):
    """Add the linearized law of a contact to what holds its body."""
    h, w = c.history, src.wrench
    i, body = c.row[b] & INDEX, src.body[b]
    gn, e1, e2, g11, g12, g22 = contact_law(c, k, b, penalty)
    pull_contact(
        src, y, b,
        h[LAW_ROW, k] - c.impulse[i], h[LAW_ROW, k + 1] - c.impulse[i + 1], h[LAW_ROW, k + 2] - c.impulse[i + 2],
    )  # fmt: skip
    if not any_positive(gn):
        return
    for j in range(6):
        b0 = gn * w[b, j]
        b1 = e1 * b0 + g11 * w[b, 6 + j] + g12 * w[b, 12 + j]
        b2 = e2 * b0 + g12 * w[b, 6 + j] + g22 * w[b, 12 + j]
        y.gain[body, j] += w[b, 0] * b0 + w[b, 6] * b1 + w[b, 12] * b2
        y.gain[body, 6 + j] += w[b, 1] * b0 + w[b, 7] * b1 + w[b, 13] * b2
        y.gain[body, 12 + j] += w[b, 2] * b0 + w[b, 8] * b1 + w[b, 14] * b2
        y.gain[body, 18 + j] += w[b, 3] * b0 + w[b, 9] * b1 + w[b, 15] * b2
        y.gain[body, 24 + j] += w[b, 4] * b0 + w[b, 10] * b1 + w[b, 16] * b2
        y.gain[body, 30 + j] += w[b, 5] * b0 + w[b, 11] * b1 + w[b, 17] * b2


@kernel
def hold_joint(c, src, y, k, b, penalty):
    """Add the linearized law of a joint's row to what holds its coordinate."""
    g = bounded_law(c, k, b, penalty)
    y.joint_pull[src.index[b]] += src.sign[b] * (c.history[LAW_ROW, k] - c.impulse[c.row[b] & INDEX])
    y.joint_gain[src.index[b]] += g


@kernel
def load_free_velocities(c, island):
    """Velocities of the rows of an island without impulses and bias."""
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        for r in range(1 if c.kind[b] == BOUNDED else 3):
            i = c.row[b] + r
            c.free[i] = free_velocity(c, b, r) - c.bias[i]


@kernel
def hold_blocks(c, src, y, island, penalty):
    """The laws of all blocks, linearized at the present impulses and velocities."""
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        if c.kind[b] == BOUNDED:
            hold_joint(c, src, y, k, b, penalty)
            k += 1
        else:
            hold_contact(c, src, y, k, b, penalty)
            k += 3


@kernel
def follow_tree(c, src, y, island):
    """Impulses by their linearized laws, and velocities of the rows, from how those of the tree change."""
    w = src.wrench
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        if c.kind[b] == BOUNDED:
            follow_bounded(c, k, b, src.sign[b] * y.s[src.index[b]])
            k += 1
        else:
            body = src.body[b]
            d0, d1 = row_velocity(w, b, 0, y.V, body), row_velocity(w, b, 1, y.V, body)
            d2 = row_velocity(w, b, 2, y.V, body)
            follow_contact(c, k, b, d0, d1, d2)
            k += 3


@kernel
def choose_bodies(t, c, src, y, island, tree_index):
    """List the bodies that the blocks of an island act on, and those above them."""
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    deactivate(t, y, first, last)
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        hold_body(t, y, t.body_of_dof[src.index[b]] if c.kind[b] == BOUNDED else src.body[b], first)
    list_held(t, y, first, last)


@kernel
def pull_blocks(c, src, y, island):
    """Add the impulses of an island to those on bodies and coordinates."""
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        i = c.row[b] & INDEX
        if c.kind[b] == BOUNDED:
            y.joint_pull[src.index[b]] += src.sign[b] * c.impulse[i]
        else:
            pull_contact(src, y, b, c.impulse[i], c.impulse[i + 1], c.impulse[i + 2])


@kernel
def measure_velocities(c, src, y, island):
    """Velocities of the rows from those of bodies and coordinates. Returns what `measure_rows` does."""
    h, free = c.history, c.free
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        i = c.row[b] & INDEX
        if c.kind[b] == BOUNDED:
            v = free[i] + src.sign[b] * y.s[src.index[b]]
            h[V, k] = v + (c.bias[i] + c.compliance[i] * c.impulse[i])
            k += 1
        else:
            for r in range(3):
                v = free[i + r] + row_velocity(src.wrench, b, r, y.V, src.body[b])
                h[V, k + r] = v + (c.bias[i + r] + c.compliance[i + r] * c.impulse[i + r])
            k += 3
    return measure_rows(c, island, V)


@kernel
def apply_to_tree(t, d, c, src, y, island, tree_index):
    """What an island's impulses do to its tree, by a sweep. Returns what `measure_rows` does."""
    first, last, number = t.tree_body[tree_index], t.tree_body[tree_index + 1], y.number[tree_index]
    clear_impulses(t, y, first, number)
    pull_blocks(c, src, y, island)
    apply_chain(t, d, y, first, last, number)
    return measure_velocities(c, src, y, island)


@kernel
def apply_to_whole(t, d, c, src, y, island, tree_index):
    """`apply_to_tree`, by the owner of the tree's aggregates where it has some."""
    r = src.responses
    if r.apart[tree_index] == 0:
        return apply_to_tree(t, d, c, src, y, island, tree_index)
    clear_impulses(t, y, t.tree_body[tree_index], y.number[tree_index])
    pull_blocks(c, src, y, island)
    r.apply(r.others_of, tree_index)
    return measure_velocities(c, src, y, island)


@kernel
def apply_to_few(c, src, y, x, rows, step, island, slot, columns):
    """What an island's impulses do to what is touched of its tree. Returns what `measure_rows` does."""
    release_touched(y, x, slot)
    pull_blocks(c, src, y, island)
    apply_touched(y, x, rows, step, slot, columns)
    return measure_velocities(c, src, y, island)


@kernel
def make_admissible(c, island):
    """The impulses of an island within their bounds."""
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        p0, p1, p2 = load_impulse(c, b)
        p0, p1, p2 = project_block(c, b, p0, p1, p2)
        set_impulse(c, b, p0, p1, p2)


@kernel
def solve_alone(c, island):
    """Impulses of the one block of an island, to rounding, from its free velocity and own compliance."""
    b = c.island_block[c.island_start[island]] & INDEX
    k = c.island_row[island] & INDEX
    h = c.history
    if c.kind[b] == BOUNDED:
        relax_bounded(c, b, h[V, k])
    else:
        relax_contact(c, b, h[V, k], h[V, k + 1], h[V, k + 2])


@kernel
def is_solved(c, island, merit):
    """Whether an island that was measured needs no iteration."""
    return merit <= 1.0 and is_fine(c, island)


@callback
def tree_newton_island(address, island, cap, careful):
    """Newton's method on one island until it is solved (`measure_island`) or `cap` iterations are done.

    Reads impulses; leaves those of the last iteration, made admissible, with their u and what `measure_island` sets.
    Stops early where PATIENCE iterations in turn gained little. If `careful` is not 0, by `careful_penalty`.

    Returns:
        The number of iterations; -1 where the island is none of one robot alone, which is not measured then.
    """
    c = view(PROBLEM, address)
    newton = view(TREE_NEWTON, c.tree_newton_of)
    t, d, src, y = newton.tree, newton.data, newton.row_origins, newton.regularized
    x, slot, columns = src.touched, -1, 0
    if is_deferred(c, island):
        tree_index = tree_of_block(t, c, c.island_block[c.island_start[island]])
        slot, columns = x.slot[tree_index], x.number[tree_index]
    else:
        tree_index = tree_of_island(t, c, src, src.responses, island)
        if tree_index < 0:
            return -1
        choose_bodies(t, c, src, y, island, tree_index)
        load_free_velocities(c, island)
    first, last, number = t.tree_body[tree_index], t.tree_body[tree_index + 1], y.number[tree_index]
    merit = math.inf
    if columns > 0:
        merit = apply_to_few(c, src, y, x, x.rows, LANES, island, slot, columns)
    if columns == 0 or not math.isfinite(merit) or is_solved(c, island, merit):
        merit = apply_to_whole(t, d, c, src, y, island, tree_index)
    done = 0
    if math.isfinite(merit) and not is_solved(c, island, merit):
        if c.island_start[island + 1] - c.island_start[island] == 1:
            solve_alone(c, island)
            merit = apply_to_whole(t, d, c, src, y, island, tree_index)
            done = 1
        else:
            if columns == 0:
                weigh_held(t, d, y, first, last)
            best, vain, penalty = merit, 0.0, LAW_PENALTY
            cold = merit > 1.0
            more = 1 if cold else REST_STEPS
            while done < cap and vain < PATIENCE and math.isfinite(merit) and (merit > 1.0 or more > 0):
                gather(c, island, BEST_ROW)
                while done < cap and vain < PATIENCE and math.isfinite(merit) and (merit > GOOD_MERIT or more > 0):
                    if merit <= 1.0:
                        if is_fine(c, island):
                            more = 0
                            break
                        more -= 1
                    firm = merit <= 1.0 or (done == 0 and merit <= WARM)
                    held = FIRM_PENALTY if firm else tree_penalty(merit, vain, penalty)
                    if careful != 0 and merit > 1.0:
                        held = careful_penalty(merit)
                    if columns > 0:
                        release_touched(y, x, slot)
                        hold_blocks(c, src, y, island, held)
                        if not solve_touched(y, x, slot, columns, src.responses.apart[tree_index]):
                            columns = 0
                            weigh_held(t, d, y, first, last)
                    if columns == 0:
                        release_tree(t, y, first, number)
                        hold_blocks(c, src, y, island, held)
                        solve_held_tree(t, d, y, first, number, src.time_step)
                    keep_iterate(c, island)
                    follow_tree(c, src, y, island)
                    before = merit
                    merit = measure_rows(c, island, V)
                    done += 1
                    if merit > before:
                        solved = cold and before <= 1.0
                        take_back(c, island, 1.0 if solved else 0.5)
                        merit = measure_rows(c, island, V)
                        if solved:
                            more = 0
                            break
                    best, vain, penalty = adapt(merit, before, best, vain, penalty)
                if not math.isfinite(merit):
                    put_back(c, island, BEST_ROW)
                make_admissible(c, island)
                merit = apply_to_whole(t, d, c, src, y, island, tree_index)
    if c.step[c.island_block[c.island_start[island]]] > 0.0:  # else nothing of the tree answers to its one block
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            c.u[k] = c.u_free[k] + y.s[k]
    return done
