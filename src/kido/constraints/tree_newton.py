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
from kido.jit import Struct, callback, inlined, kernel, reference, view
from kido.joints.kinds import FREE
from kido.kernels.free_lanes import NOT_FREE
from kido.kernels.regularized_tree import REGULARIZED, deactivate, hold_body, list_held, release_tree, solve_held_tree
from kido.math.so3 import cross
from kido.solvers.body_newton import MAX_CONE_FRICTION
from kido.solvers.certify import is_fine, measure_rows
from kido.solvers.history import BEST_ROW, gather, load_rows, scatter
from kido.solvers.laws import (
    FIRM_PENALTY,
    GOOD_MERIT,
    LAW_PENALTY,
    LAW_ROW,
    V,
    adapt,
    bounded_law,
    contact_law,
    follow_bounded,
    follow_contact,
    held_penalty,
    own_velocity,
)
from kido.solvers.problem import BOUNDED, PROBLEM
from kido.solvers.rows import INDEX, apply_impulses, free_velocity, velocity3
from kido.tree.schema import DATA, TREE

PATIENCE = 4  # vain iterations in turn before it stops
REST_STEPS = 4  # most iterations of what is solved, but leaves more than `newton_tolerance`
WARM = 1e5  # merit up to which a warm start mostly has the right cases, so that the first penalty is FIRM_PENALTY
FREE_V_ROW = 1  # of `history`: velocities of rows without impulses, beside those of the laws


class TREE_NEWTON(Struct):
    tree = reference(TREE)
    data = reference(DATA)
    collision = reference(COLLISION)
    row_origins = reference(ROW_ORIGINS)
    regularized = reference(REGULARIZED)


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
        dof = c.dof_a[b] if c.len_a[b] > 0 else c.dof_b[b]
        body = t.body_of_dof[dof]
        if origin == FROM_CONTACT:
            if c.mu[b] > MAX_CONE_FRICTION:
                return -1
        elif origin == FROM_LIMIT or origin == FROM_FRICTION or origin == FROM_SERVO or origin == FROM_SPEED_LIMIT:
            if t.kind[t.body_of_dof[src.index[b]]] == FREE:  # rows of positions in turned axes
                return -1
        else:
            return -1
        if tree_index < 0:
            tree_index = t.tree_of_body[body]
            if r.free[body] != NOT_FREE:
                return -1
        elif tree_index != t.tree_of_body[body]:
            return -1
    return tree_index


@kernel
def body_of_contact(t, c, src, col, b, tree_index):
    """The body of a tree that a contact block acts on; -1: it acts on two of them."""
    k = src.index[b]
    i, j = col.body_a[k], col.body_b[k]
    on_a, on_b = i >= 0, j >= 0
    if on_a:
        on_a = t.tree_of_body[i] == tree_index and t.moves[i] != 0
    if on_b:
        on_b = t.tree_of_body[j] == tree_index and t.moves[j] != 0
    if on_a and on_b:
        return -1
    return i if on_a else j


@kernel
def row_wrenches(d, src, col, b, body):
    """The three rows of a contact as wrenches [moment; force] about its body's origin, 18 numbers."""
    k = src.index[b]
    sign = -1.0 if col.body_a[k] == body else 1.0
    x, y, z = col.point[k, 0] - d.p[body, 0], col.point[k, 1] - d.p[body, 1], col.point[k, 2] - d.p[body, 2]
    t = src.tangent
    n0, n1, n2 = sign * col.normal[k, 0], sign * col.normal[k, 1], sign * col.normal[k, 2]
    a0, a1, a2 = sign * t[b, 0], sign * t[b, 1], sign * t[b, 2]
    b0, b1, b2 = sign * t[b, 3], sign * t[b, 4], sign * t[b, 5]
    m0, m1, m2 = cross(x, y, z, n0, n1, n2)
    o0, o1, o2 = cross(x, y, z, a0, a1, a2)
    q0, q1, q2 = cross(x, y, z, b0, b1, b2)
    return m0, m1, m2, n0, n1, n2, o0, o1, o2, a0, a1, a2, q0, q1, q2, b0, b1, b2


@kernel
def hold_contact(c, y, k, b, body, w, penalty):
    """Add the linearized law of a contact to what holds its body."""
    h = c.history
    i = c.row[b] & INDEX
    gn, e1, e2, g11, g12, g22 = contact_law(c, k, b, penalty)
    if gn == 0.0:
        return
    d0 = own_velocity(c, k, i) - h[FREE_V_ROW, k]
    d1 = own_velocity(c, k + 1, i + 1) - h[FREE_V_ROW, k + 1]
    d2 = own_velocity(c, k + 2, i + 2) - h[FREE_V_ROW, k + 2]
    r0 = h[LAW_ROW, k] + gn * d0
    r1 = h[LAW_ROW, k + 1] + e1 * gn * d0 + g11 * d1 + g12 * d2
    r2 = h[LAW_ROW, k + 2] + e2 * gn * d0 + g12 * d1 + g22 * d2
    for j in range(6):
        y.pull[body, j] += w[j] * r0 + w[6 + j] * r1 + w[12 + j] * r2
    for j in range(6):
        b0 = gn * w[j]
        b1 = e1 * b0 + g11 * w[6 + j] + g12 * w[12 + j]
        b2 = e2 * b0 + g12 * w[6 + j] + g22 * w[12 + j]
        y.gain[body, j] += w[0] * b0 + w[6] * b1 + w[12] * b2
        y.gain[body, 6 + j] += w[1] * b0 + w[7] * b1 + w[13] * b2
        y.gain[body, 12 + j] += w[2] * b0 + w[8] * b1 + w[14] * b2
        y.gain[body, 18 + j] += w[3] * b0 + w[9] * b1 + w[15] * b2
        y.gain[body, 24 + j] += w[4] * b0 + w[10] * b1 + w[16] * b2
        y.gain[body, 30 + j] += w[5] * b0 + w[11] * b1 + w[17] * b2


@kernel
def sign_of_row(c, src, b):
    """Direction of a joint's row along its coordinate, +1 or -1."""
    return c.J[c.at_a[b] + src.index[b] - c.dof_a[b]]


@kernel
def hold_joint(c, src, y, k, b, penalty):
    """Add the linearized law of a joint's row to what holds its coordinate."""
    g = bounded_law(c, k, b, penalty)
    sign = sign_of_row(c, src, b)
    own = own_velocity(c, k, c.row[b] & INDEX)
    r = c.history[LAW_ROW, k] + g * (own - c.history[FREE_V_ROW, k])
    y.joint_pull[src.index[b]] += sign * r
    y.joint_gain[src.index[b]] += sign * sign * g


@kernel
def load_free_velocities(c, island):
    """Velocities of the rows without impulses."""
    h = c.history
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        i = c.row[b] & INDEX
        if c.kind[b] == BOUNDED:
            h[FREE_V_ROW, k] = free_velocity(c, b, 0)
            k += 1
        else:
            on_a = c.len_a[b] > 0
            at, n = (c.at_a[b], c.len_a[b]) if on_a else (c.at_b[b], c.len_b[b])
            x, y, z = velocity3(c.J, at & INDEX, n & INDEX, c.u_free, (c.dof_a[b] if on_a else c.dof_b[b]) & INDEX)
            h[FREE_V_ROW, k], h[FREE_V_ROW, k + 1], h[FREE_V_ROW, k + 2] = (
                c.bias[i] + x,
                c.bias[i + 1] + y,
                c.bias[i + 2] + z,
            )
            k += 3


@kernel
def hold_tree(t, d, c, src, col, y, island, tree_index, number, penalty):
    """The laws of all blocks, linearized at the present impulses and velocities."""
    release_tree(t, y, t.tree_body[tree_index], number)
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        if c.kind[b] == BOUNDED:
            hold_joint(c, src, y, k, b, penalty)
            k += 1
        else:
            body = body_of_contact(t, c, src, col, b, tree_index)
            hold_contact(c, y, k, b, body, row_wrenches(d, src, col, b, body), penalty)
            k += 3


@inlined
def row_velocity(w, y, body, r):
    """Velocity of a row for the change of its body's velocity."""
    a = 6 * r
    x = w[a] * y.V[body, 0] + w[a + 1] * y.V[body, 1] + w[a + 2] * y.V[body, 2]
    return x + (w[a + 3] * y.V[body, 3] + w[a + 4] * y.V[body, 4] + w[a + 5] * y.V[body, 5])


@kernel
def follow_tree(t, d, c, src, col, y, island, tree_index):
    """Impulses by their linearized laws, and velocities of the rows, from those of the tree."""
    h = c.history
    k = c.island_row[island] & INDEX
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        if c.kind[b] == BOUNDED:
            follow_bounded(c, k, b, h[FREE_V_ROW, k] + sign_of_row(c, src, b) * y.s[src.index[b]])
            k += 1
        else:
            body = body_of_contact(t, c, src, col, b, tree_index)
            w = row_wrenches(d, src, col, b, body)
            x0 = h[FREE_V_ROW, k] + row_velocity(w, y, body, 0)
            x1 = h[FREE_V_ROW, k + 1] + row_velocity(w, y, body, 1)
            x2 = h[FREE_V_ROW, k + 2] + row_velocity(w, y, body, 2)
            follow_contact(c, k, b, x0, x1, x2)
            k += 3


@kernel
def acts_in_one_place(t, c, src, col, island, tree_index):
    """Whether no contact of an island has both its bodies in the tree."""
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        if c.kind[b] != BOUNDED and body_of_contact(t, c, src, col, b, tree_index) < 0:
            return False
    return True


@kernel
def choose_bodies(t, d, c, src, col, y, island, tree_index):
    """List the bodies that take part, for all iterations. Returns their number."""
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    deactivate(t, y, first, last)
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e] & INDEX
        if c.kind[b] == BOUNDED:
            hold_body(t, y, t.body_of_dof[src.index[b]], first)
        else:
            hold_body(t, y, body_of_contact(t, c, src, col, b, tree_index), first)
    return list_held(t, d, y, first, last)


@callback
def tree_newton_island(address, island, cap, unused):
    """Newton's method on one island until it is solved (`measure_island`) or `cap` iterations are done.

    Reads impulses and u, which must belong together; leaves the impulses of the last iteration, made admissible,
    with their u and what `measure_island` sets. Stops early where PATIENCE iterations in turn gained little.

    Returns:
        The number of iterations; -1 where the island is none of one robot alone, which is not measured then.
    """
    c = view(PROBLEM, address)
    newton = view(TREE_NEWTON, c.tree_newton_of)
    t, d, col, src, y = newton.tree, newton.data, newton.collision, newton.row_origins, newton.regularized
    tree_index = tree_of_island(t, c, src, src.responses, island)
    if tree_index < 0 or not acts_in_one_place(t, c, src, col, island, tree_index):
        return -1
    load_rows(c, island, V)
    merit = measure_rows(c, island, V)
    if (merit <= 1.0 and is_fine(c, island)) or not math.isfinite(merit):
        return 0
    load_free_velocities(c, island)
    first = t.tree_body[tree_index]
    number = choose_bodies(t, d, c, src, col, y, island, tree_index)
    gather(c, island, BEST_ROW)
    best = merit
    done, vain = 0, 0
    more = 1 if merit > 1.0 else REST_STEPS
    penalty = LAW_PENALTY
    while done < cap and vain < PATIENCE and math.isfinite(merit) and (merit > 1.0 or more > 0):
        while done < cap and vain < PATIENCE and math.isfinite(merit) and (merit > GOOD_MERIT or more > 0):
            if merit <= 1.0:
                if is_fine(c, island):
                    more = 0
                    break
                more -= 1
            firm = merit <= 1.0 or (done == 0 and merit <= WARM)
            held = FIRM_PENALTY if firm else held_penalty(vain, penalty)
            hold_tree(t, d, c, src, col, y, island, tree_index, number, held)
            solve_held_tree(t, d, y, first, number, src.time_step)
            follow_tree(t, d, c, src, col, y, island, tree_index)
            last = merit
            merit = measure_rows(c, island, V)
            done += 1
            best, vain, penalty = adapt(merit, last, best, vain, penalty)
        if math.isfinite(merit):
            gather(c, island, BEST_ROW)
        scatter(c, island, BEST_ROW)  # admissible
        apply_impulses(c, island)
        load_rows(c, island, V)
        merit = measure_rows(c, island, V)
    return done
