"""Stages of worlds with flexible bodies: trees that have some move by the sweeps of `kido.flexible`.

They stand apart from the others: their first stage is `predict_flexible`, responses to impulses are made by
`answer_flexible`, and positions follow velocities without the balance that rigid trees get.
"""

from __future__ import annotations

from kido.constraints.assemble import assemble
from kido.flexible.sweeps import (
    accelerate,
    articulated_inertias,
    inverse_dynamics,
    positions,
    respond,
    velocities,
)
from kido.jit import callback, kernel, packed, view
from kido.math.so3 import cross
from kido.simulation.actuation import resistance
from kido.simulation.balance import begin_products, end_products, speeds
from kido.simulation.integrate import move_tree
from kido.simulation.predict import free_coupled, hasten, joint_loads, predict_trees, prescribe, whole_step, worse
from kido.simulation.row_motion import GIVEN, follow_pairs, forget_motion, unforced_accelerations
from kido.simulation.world_struct import WORLD


@kernel
def predict_flexible(t, d, f, w, first, last, h):
    """Velocities of one mobile tree predicted for mid-step, as `kido.simulation.predict` has it; it is at mid-step.

    Returns:
        A coordinate without inertia, or -1.
    """
    begin, end = t.first_dof[first], t.first_dof[last]
    positions(t, d, f, first, last)
    joint_loads(t, d, w, first, last)
    prescribe(t, d, w, begin, end, h)
    status = articulated_inertias(t, d, f, first, last, h)
    velocities(t, d, f, first, last)
    accelerate(t, d, f, first, last)
    hasten(d, begin, end, 0.5 * h)
    return int(status)


@kernel
def free_flexible(t, d, f, w, pr, first, last, h):
    """u_free of such a tree, from the predicted velocities."""
    velocities(t, d, f, first, last)
    accelerate(t, d, f, first, last)
    whole_step(t, d, w, pr, t.first_dof[first], t.first_dof[last], h)


@callback
@packed
def flexible_predict_stage(address, unused_1, unused_2, unused_3):
    """Run the stage on all trees.

    Returns:
        0, or 1 + the index of a coordinate whose inertia is not positive.
    """
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    f = w.flex
    r = w.row_origins.responses
    h = w.time_step
    trees = t.tree_mobile.shape[0]
    coupled = w.loops.address != 0
    w.close_changed(w)
    result = predict_trees(address, 0, trees, 0)
    for tree_index in range(trees):
        if r.apart[tree_index] == 0:
            continue
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        if t.tree_mobile[tree_index] == 0:
            positions(t, d, f, first, last)
        else:
            result = worse(result, 1 + predict_flexible(t, d, f, w, first, last, h))
    if coupled:  # constraints between bodies change velocities, and with them the velocity products
        w.constrain_predicted(w)  # nothing fails: no aggregates stand beside flexible bodies
        free_coupled(t, d, w, w.problem, h)
    for tree_index in range(trees):
        if r.apart[tree_index] != 0 and t.tree_mobile[tree_index] != 0:
            free_flexible(t, d, f, w, w.problem, t.tree_body[tree_index], t.tree_body[tree_index + 1], h)
    if coupled:
        w.constrain_free(w, 1)
    return result


# Impulses ----------------------------------------------------------------------------------------------------


@kernel
def put_column(H, k, x, y, z, rows, at, length):
    """Column of six rows for the motion in row k of H, at the point (x, y, z) from its origin."""
    a, b, c = cross(H[k, 0], H[k, 1], H[k, 2], x, y, z)
    rows[at], rows[at + length], rows[at + 2 * length] = H[k, 0], H[k, 1], H[k, 2]
    rows[at + 3 * length], rows[at + 4 * length], rows[at + 5 * length] = H[k, 3] + a, H[k, 4] + b, H[k, 5] + c


@kernel
def body_rows(t, d, f, rows, body, offset, length, at):
    """J_i of a body to `rows` from `at` on, over the coordinates of its tree, which begin at `offset`."""
    for k in range(at, at + 6 * length):
        rows[k] = 0.0
    x = y = z = 0.0
    i = body
    while i >= 0:
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            put_column(d.H, k, x, y, z, rows, at + k - offset, length)
        if f.node_of_body[i] >= 0:
            c, column = f.flex_of_body[t.parent[i]], f.first_column[f.node_of_body[i]]
            for m in range(f.number[c]):
                put_column(f.Pi, column + m, x, y, z, rows, at + f.first_mode[c] + m - offset, length)
        x, y, z = x + d.l[i, 0], y + d.l[i, 1], z + d.l[i, 2]
        i = t.parent[i]


@kernel
def answer_row(t, d, f, tree_index, rows, at):
    """Response of a tree to the impulses f.impulse, to `rows` from `at` on."""
    begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
    respond(t, d, f, t.tree_body[tree_index], t.tree_body[tree_index + 1], f.impulse, f.response)
    for k in range(begin, end):
        rows[at + k - begin] = f.response[k]


@callback
def answer_flexible(address, unused_1, unused_2, unused_3):
    """Responses of bodies and coordinates of flexible trees, for RESPONSES.others. Returns 0."""
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    f = w.flex
    r = w.row_origins.responses
    for n in range(r.num_asked):
        tree_index = t.tree_of_body[t.body_of_dof[r.asked[n]]]
        if r.apart[tree_index] != 0:
            for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
                f.impulse[k] = 1.0 if k == r.asked[n] else 0.0
            answer_row(t, d, f, tree_index, r.rows, r.dof_slot[r.asked[n]])
    for n in range(r.num_made):
        body = r.made[n]
        tree_index = t.tree_of_body[body]
        if r.apart[tree_index] == 0:
            continue
        begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
        length, at = end - begin, r.slot[body]
        body_rows(t, d, f, r.rows, body, begin, length, at)
        for c in range(6):
            for k in range(begin, end):
                f.impulse[k] = r.rows[at + c * length + k - begin]
            answer_row(t, d, f, tree_index, r.rows, at + (6 + c) * length)
    return 0


@kernel
def put_velocities(t, d, f, u, first, last):
    """V and a of a tree at velocities u of its coordinates."""
    for k in range(t.first_dof[first], t.first_dof[last]):
        d.u[k] = u[k]
    velocities(t, d, f, first, last)


@callback
def flexible_assemble_stage(world, unused_1, unused_2, unused_3):
    """The contact problem of the midpoint rule. Returns ASSEMBLED or PROBLEM_FULL."""
    w = view(WORLD, world)
    t = w.tree
    d = w.data
    f = w.flex
    r = w.row_origins.responses
    status = assemble(t, d, w.collision, w.problem, w.row_origins)
    if status != 0:
        return status
    trees = t.tree_mobile.shape[0]
    for tree_index in range(trees):
        if r.apart[tree_index] != 0 and t.tree_mobile[tree_index] != 0:
            first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
            put_velocities(t, d, f, w.start_u, first, last)
            unforced_accelerations(t, d, d.A, first, last)
            w.moved_of[t.tree_dof[tree_index]] = GIVEN
    follow_pairs(w, 0, w.problem.num_blocks)
    forget_motion(w)
    for tree_index in range(trees):
        if r.apart[tree_index] != 0 and t.tree_mobile[tree_index] != 0:
            first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
            put_velocities(t, d, f, w.middle_u, first, last)
            put_velocities_back(t, d, w, first, last)
    return status


@callback
@packed
def move_flexible(address, tree_index, unused_2, unused_3):
    """New velocities with the velocity products of the second half of the step, and positions of a tree. Returns 0.

    As `kido.simulation.balance.add_products` does for rigid trees; not where rows hold coordinates.
    """
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    pr = w.problem
    h = w.time_step
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    _, change = speeds(w, pr, t.first_dof[first], t.first_dof[last])
    if change > 0.0 and w.holds[tree_index] == 0:
        begin_products(t, d, w, pr, first, last, h)
        velocities(t, d, w.flex, first, last)
        accelerate(t, d, w.flex, first, last)
        end_products(t, d, w, pr, first, last, h)
    move_tree(t, d, pr, first, last, h, w.collision.sweep_push)
    return 0


@callback
def flexible_actuate_stage(address, unused_1, unused_2, unused_3):
    """Forces of prescribed coordinates of flexible trees, as `kido.simulation.actuation` has them. Returns 0."""
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    f = w.flex
    pr = w.problem
    h = w.time_step
    r = w.row_origins.responses
    for tree_index in range(t.tree_mobile.shape[0]):
        if r.apart[tree_index] == 0 or t.tree_mobile[tree_index] == 0:
            continue
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
        for k in range(begin, end):
            d.udot[k] = (pr.u[k] - w.start_u[k]) / h
        inverse_dynamics(t, d, f, first, last)
        for k in range(begin, end):
            if t.prescribed[k] != 0:
                w.drive_force[k] = d.tau[k] + resistance(t, d, k, pr.u[k], pr.u[k] - w.start_u[k], h)
            d.tau[k] = w.command[k]
    return 0


@kernel
def put_velocities_back(t, d, w, first, last):
    """Velocities of coordinates of the step's start, which are there between stages."""
    for k in range(t.first_dof[first], t.first_dof[last]):
        d.u[k] = w.start_u[k]
