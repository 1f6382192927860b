"""Newton's method on the exact cone along a tree: contacts and joint rows of one robot, one sweep an iteration.

Where all blocks of an island act on one skeleton, each on one of its bodies (contacts with the ground or with what
does not respond) or on one coordinate, a linearization of their laws is a tree held by linear laws
(`kido.kernels.regularized_tree`). An iteration costs a sweep of the tree and some work for each block: neither rows of
J and of responses nor a matrix are read. With x = p - D v, D a block's mean inertia, the law of a contact is

* open where x_n <= 0:  p = 0;
* sticking where |x_t| <= mu x_n:  p' = p - sigma v';
* sliding else, along e = x_t / |x_t|:  p_n' = p_n - sigma v_n',  p_t' = mu p_n' e - (mu p_n / |v_t|) (1 - e e^T) v_t'

with sigma = TREE_PENALTY D and primes for the iteration's result. Limits, dry friction and servos: at a bound, else as
sticking. Steps are full ones. A warm start mostly has the right cases, and one or two iterations are enough: the error
of an iteration is the change of p over TREE_PENALTY. Greater penalties amplify what redundant contacts leave undecided,
so that only where impulses creep, along a direction that moves next to nothing, the penalty is raised. What is not
solved when nothing is gained any more is left as it is: sweeps find other cases from there (`kido.solvers.default`).

Source: Alart and Curnier 1991 for the cases; Rockafellar 1976 for the proximal term.
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
from kido.jit import Struct, all_positive, callback, kernel, reference, view, where_positive
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
from kido.kernels.touched_laws import apply_touched, release_touched, solve_touched
from kido.math.choices import any_positive, larger, smaller
from kido.solvers.body_newton import MAX_CONE_FRICTION, MAX_PENALTY
from kido.solvers.certify import measure_rows
from kido.solvers.cone import TINY
from kido.solvers.gauss_seidel import relax_bounded, relax_contact
from kido.solvers.history import BEST_ROW, gather, put_back
from kido.solvers.problem import BOUNDED, PROBLEM
from kido.solvers.rows import INDEX, free_velocity, is_deferred, load_impulse, project_block, set_impulse
from kido.tree.schema import DATA, TREE

TREE_PENALTY = 1e3  # sigma over the block's mean inertia, at first
CREEPING = 0.8  # at a merit of this share of the one before, up to its inverse, impulses creep: the penalty is raised
STEEPEST = 1.0 - 1e-9  # share of the cone's edge from which on a sliding contact turns like a sticking one
TREE_PATIENCE, SLOW_GAIN = 4, 0.9  # iterations that leave more than this share of the least merit, before it stops
GOOD_MERIT = 0.5  # merit at which the impulses are made admissible and measured

# Rows of `history`: row velocities; then the law of each block.
V_ROW, LAW_ROW, GAIN_ROW, AXIS_ROW = 0, 2, 3, 4


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
            if r.free[t.tree_body[found]] != NOT_FREE:
                return -1
        elif tree_index != found:
            return -1
    return tree_index


@kernel
def hold_contact(c, src, y, k, b, penalty):
    """Add the linearized law of a contact to what holds its body; LAW_ROW, GAIN_ROW and AXIS_ROW keep it."""
    h, w = c.history, src.wrench
    i, body = c.row[b] & INDEX, src.body[b]
    step, mu = c.step[b], c.mu[b]
    sigma = penalty * step
    p0, p1, p2 = c.impulse[i], c.impulse[i + 1], c.impulse[i + 2]
    v0, v1, v2 = h[V_ROW, k], h[V_ROW, k + 1], h[V_ROW, k + 2]
    soft0, soft1, soft2 = c.compliance[i], c.compliance[i + 1], c.compliance[i + 2]
    x0, x1, x2 = p0 - step * v0, p1 - step * v1, p2 - step * v2
    # p' = q - G (J u' - J u), and u' - u is by p' - p; G: gn on the normal, e gn from it to the tangents, g11, g12, g22
    # among these
    open_law = 0.0 * step
    q0 = q1 = q2 = gn = g11 = g12 = g22 = e1 = e2 = open_law
    pressed = any_positive(x0)
    if pressed:
        gn = where_positive(x0, sigma / (1.0 + sigma * soft0), open_law)
        q0 = where_positive(x0, p0 - gn * v0, open_law)
        t2 = x1 * x1 + x2 * x2
        most = mu * mu * x0 * x0
        slips = where_positive(x0, where_positive(mu, t2 - most, open_law), open_law)
        if not all_positive(slips):
            sticks = where_positive(slips, open_law, where_positive(x0, mu, open_law))
            g11 = where_positive(sticks, sigma / (1.0 + sigma * soft1), open_law)
            g22 = where_positive(sticks, sigma / (1.0 + sigma * soft2), open_law)
            q1 = where_positive(sticks, p1 - g11 * v1, open_law)
            q2 = where_positive(sticks, p2 - g22 * v2, open_law)
        if any_positive(slips):
            size = math.sqrt(t2) + TINY
            a1, a2 = x1 / size, x2 / size
            edge = smaller(mu * larger(p0, open_law) / size, STEEPEST)
            g = smaller(edge / (1.0 - edge) * step, sigma)
            soft = 0.5 * (soft1 + soft2)
            g /= 1.0 + g * soft
            across = g * (a1 * (v2 - soft * p2) - a2 * (v1 - soft * p1))
            q1 = where_positive(slips, mu * q0 * a1 + a2 * across, q1)
            q2 = where_positive(slips, mu * q0 * a2 - a1 * across, q2)
            g11 = where_positive(slips, g * a2 * a2, g11)
            g12 = where_positive(slips, -g * a1 * a2, g12)
            g22 = where_positive(slips, g * a1 * a1, g22)
            e1 = where_positive(slips, mu * a1, e1)
            e2 = where_positive(slips, mu * a2, e2)
    h[LAW_ROW, k], h[LAW_ROW, k + 1], h[LAW_ROW, k + 2] = q0, q1, q2
    h[GAIN_ROW, k], h[GAIN_ROW, k + 1], h[GAIN_ROW, k + 2] = g11, g12, g22
    h[AXIS_ROW, k], h[AXIS_ROW, k + 1], h[AXIS_ROW, k + 2] = gn, e1, e2
    pull_contact(src, y, b, q0 - p0, q1 - p1, q2 - p2)
    if not pressed:
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
    h = c.history
    i = c.row[b] & INDEX
    p, v, step = c.impulse[i], h[V_ROW, k], c.step[b]
    x = p - step * v
    below, above = c.lower[b] - x, x - c.upper[b]
    g = 0.0 * step
    if not (all_positive(below) or all_positive(above)):
        g = where_positive(below, g, where_positive(above, g, penalty * step / (1.0 + penalty * step * c.compliance[i])))
    q = where_positive(below, c.lower[b], where_positive(above, c.upper[b], p - g * v))
    h[LAW_ROW, k], h[GAIN_ROW, k] = q, g
    y.joint_pull[src.index[b]] += src.sign[b] * (q - p)
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
    h, w, V = c.history, src.wrench, y.V
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        i = c.row[b] & INDEX
        if c.kind[b] == BOUNDED:
            d = src.sign[b] * y.s[src.index[b]]
            p = h[LAW_ROW, k] - h[GAIN_ROW, k] * d
            h[V_ROW, k] += d + c.compliance[i] * (p - c.impulse[i])
            c.impulse[i] = p
            k += 1
        else:
            body = src.body[b]
            d0, d1, d2 = (
                row_velocity(w, b, 0, V, body),
                row_velocity(w, b, 1, V, body),
                row_velocity(w, b, 2, V, body),
            )
            n = h[AXIS_ROW, k] * d0
            p0 = h[LAW_ROW, k] - n
            p1 = h[LAW_ROW, k + 1] - h[AXIS_ROW, k + 1] * n - h[GAIN_ROW, k] * d1 - h[GAIN_ROW, k + 1] * d2
            p2 = h[LAW_ROW, k + 2] - h[AXIS_ROW, k + 2] * n - h[GAIN_ROW, k + 1] * d1 - h[GAIN_ROW, k + 2] * d2
            h[V_ROW, k] += d0 + c.compliance[i] * (p0 - c.impulse[i])
            h[V_ROW, k + 1] += d1 + c.compliance[i + 1] * (p1 - c.impulse[i + 1])
            h[V_ROW, k + 2] += d2 + c.compliance[i + 2] * (p2 - c.impulse[i + 2])
            c.impulse[i], c.impulse[i + 1], c.impulse[i + 2] = p0, p1, p2
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
            h[V_ROW, k] = v + (c.bias[i] + c.compliance[i] * c.impulse[i])
            k += 1
        else:
            for r in range(3):
                v = free[i + r] + row_velocity(src.wrench, b, r, y.V, src.body[b])
                h[V_ROW, k + r] = v + (c.bias[i + r] + c.compliance[i + r] * c.impulse[i + r])
            k += 3
    return measure_rows(c, island, V_ROW)


@kernel
def apply_to_tree(t, d, c, src, y, island, first, last, number):
    """What an island's impulses do to its tree, by a sweep. Returns what `measure_rows` does."""
    clear_impulses(t, y, first, number)
    pull_blocks(c, src, y, island)
    apply_chain(t, d, y, first, last, number)
    return measure_velocities(c, src, y, island)


@kernel
def apply_to_few(c, src, y, x, island, slot, columns):
    """What an island's impulses do to what is touched of its tree. Returns what `measure_rows` does."""
    release_touched(y, x, slot)
    pull_blocks(c, src, y, island)
    apply_touched(y, x, slot, columns)
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
        relax_bounded(c, b, h[V_ROW, k])
    else:
        relax_contact(c, b, h[V_ROW, k], h[V_ROW, k + 1], h[V_ROW, k + 2])


@callback
def tree_newton_island(address, island, cap, unused):
    """Newton's method on one island until it is solved (`measure_island`) or `cap` iterations are done.

    Reads impulses; leaves those of the last iteration, made admissible, with their u and what `measure_island` sets.
    Stops early where TREE_PATIENCE iterations in turn gained little.

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
        merit = apply_to_few(c, src, y, x, island, slot, columns)
    if columns == 0 or not 1.0 < merit < math.inf:
        merit = apply_to_tree(t, d, c, src, y, island, first, last, number)
    done = 0
    if merit > 1.0 and math.isfinite(merit):
        if c.island_start[island + 1] - c.island_start[island] == 1:
            solve_alone(c, island)
            merit = apply_to_tree(t, d, c, src, y, island, first, last, number)
            done = 1
        else:
            if columns == 0:
                weigh_held(t, d, y, first, last)
            best, vain, penalty = merit, 0, TREE_PENALTY
            while done < cap and vain < TREE_PATIENCE and merit > 1.0 and math.isfinite(merit):
                gather(c, island, BEST_ROW)
                while done < cap and vain < TREE_PATIENCE and merit > GOOD_MERIT and math.isfinite(merit):
                    if columns > 0:
                        release_touched(y, x, slot)
                        hold_blocks(c, src, y, island, penalty)
                        solve_touched(y, x, slot, columns)
                    else:
                        release_tree(t, y, first, number)
                        hold_blocks(c, src, y, island, penalty)
                        solve_held_tree(t, d, y, first, number, src.time_step)
                    follow_tree(c, src, y, island)
                    before = merit
                    merit = measure_rows(c, island, V_ROW)
                    done += 1
                    vain = vain + 1 if merit > SLOW_GAIN * best else 0
                    best = min(best, merit)
                    if merit > CREEPING * before and merit * CREEPING < before and penalty < MAX_PENALTY:
                        penalty *= 10.0
                        vain = 0
                        if columns > 0:  # in dense equations greater penalties cost more digits than in sweeps
                            columns = 0
                            weigh_held(t, d, y, first, last)
                if not math.isfinite(merit):
                    put_back(c, island, BEST_ROW)
                make_admissible(c, island)
                merit = apply_to_tree(t, d, c, src, y, island, first, last, number)
    if c.step[c.island_block[c.island_start[island]]] > 0.0:  # else nothing of the tree answers to its one block
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            c.u[k] = c.u_free[k] + y.s[k]
    return done
