"""First stage of a step: positions at mid-step, and the velocity that forces alone would bring.

    q_M = q + (h/2) u
    a_1 = FD(q_M, u),  a_2 = FD(q_M, u + (h/2) a_1)
    u_free = u + h a_2

FD takes joint damping at the end of the step and joint springs at its middle, implicitly. Evaluated at mid-step
with a predicted mid-step velocity, gyroscopic and Coriolis terms are second-order accurate in h; articulated
inertias are made once. With the last stage, q <- q_M + (h/2) u_new, this is Moreau's midpoint scheme.
Source: Moreau (1988); Jean (1999); the predictor for velocity products is our own.
"""

from __future__ import annotations

from kido.jit import LANES, callback, kernel, view
from kido.jit.team import share_out
from kido.joints.actuators import ACCELERATION, VELOCITY
from kido.joints.kinds import FREE_MIXED
from kido.kernels.forward_dynamics import acceleration_scatter, articulated_inertias, bias_gather
from kido.kernels.free_body import free_body_acceleration, free_body_inertia, is_free_body
from kido.kernels.free_lanes import FREE_LANES, NOT_FREE
from kido.kernels.inertia import body_inertia
from kido.kernels.integration import advance, linear_to_parent_axes, to_parent_axes
from kido.kernels.kinematics import transforms, velocities
from kido.kernels.springs import add_passive_forces
from kido.math.choices import any_positive
from kido.simulation.free_bodies import fall_together, gather_fall, only_falls
from kido.simulation.free_momentum import keep_energy, keep_momentum, place_at_middle
from kido.simulation.world_struct import WORLD


@kernel
def drift(t, d, w, first, last, time):
    """Fixed axes for free joints, then positions a time after the step's start, its middle."""
    to_parent_axes(t, d, first, last, d.u)
    for k in range(t.first_dof[first], t.first_dof[last]):
        w.start_u[k] = d.u[k]
    advance(t, d, first, last, time)


@kernel
def linear_force(d, k):
    """Whether a force whose square is a number acts on the linear coordinates of the free joint whose first is k."""
    return any_positive(d.tau[k + 3] * d.tau[k + 3] + d.tau[k + 4] * d.tau[k + 4] + d.tau[k + 5] * d.tau[k + 5])


@kernel
def joint_loads(t, d, w, first, last):
    """Forces on the coordinates: command, damping and spring, free joints in fixed axes."""
    begin, end = t.first_dof[first], t.first_dof[last]
    for k in range(begin, end):
        w.command[k] = d.tau[k]
    for i in range(first, last):
        if t.kind[i] == FREE_MIXED and linear_force(d, t.first_dof[i]):  # it takes a rotation
            linear_to_parent_axes(t, d, d.tau, i)
    add_passive_forces(t, d, first, last)


@kernel
def velocity_target(t, d, k):
    """Velocity that a prescribed coordinate of type VELOCITY or LOCKED has at the end of a step."""
    return d.command[k] if t.actuator[k] == VELOCITY else 0.0


@kernel
def prescribe(t, d, w, begin, end, h):
    """Accelerations of prescribed coordinates over the step; velocities asked for are reached at its end."""
    for k in range(begin, end):
        w.target[k] = d.command[k]
        if t.prescribed[k] != 0:
            if t.actuator[k] == ACCELERATION:
                d.udot[k] = d.command[k]
            else:
                d.udot[k] = (velocity_target(t, d, k) - w.start_u[k]) / h


@kernel
def reach_targets(t, d, pr, begin, end):
    """Velocities asked for, without the rounding of the way there."""
    for k in range(begin, end):
        if t.prescribed[k] != 0 and t.actuator[k] != ACCELERATION:
            pr.u_free[k] = velocity_target(t, d, k)


@kernel
def evaluate_joints(t, d, first, last):
    """`evaluate` for a tree that may have joints; in lanes too."""
    velocities(t, d, first, last)
    bias_gather(t, d, first, last)
    acceleration_scatter(t, d, first, last)


@kernel
def evaluate(t, d, first, last):
    """Forward dynamics of one tree at its velocities; articulated inertias are there already."""
    if is_free_body(t, first, last):
        velocities(t, d, first, last)
        free_body_acceleration(t, d, first)
    else:
        evaluate_joints(t, d, first, last)


@kernel
def load_tree(t, d, w, first, last, h):
    """Inertias of the bodies of a tree, forces on its coordinates and accelerations of those that are prescribed."""
    for i in range(first, last):
        body_inertia(t, d, i)
    joint_loads(t, d, w, first, last)
    prescribe(t, d, w, t.first_dof[first], t.first_dof[last], h)


@kernel
def hasten(d, begin, end, time):
    """Velocities of coordinates begin..end-1 at mid-step, a time after the step's start, by their accelerations."""
    for k in range(begin, end):
        d.u[k] += time * d.udot[k]


@kernel
def predict_tree(t, d, w, first, last, middle, h):
    """Velocities of one mobile tree predicted for mid-step. Returns a coordinate without inertia, or -1."""
    load_tree(t, d, w, first, last, h)
    if is_free_body(t, first, last):
        status = free_body_inertia(t, d, first)
    else:
        status = int(articulated_inertias(t, d, first, last, h))
    evaluate(t, d, first, last)
    hasten(d, t.first_dof[first], t.first_dof[last], middle)
    return status


@kernel
def free_tree(t, d, w, pr, first, last, h):
    """u_free of one mobile tree at mid-step, from the predicted velocities."""
    evaluate(t, d, first, last)
    whole_step(t, d, w, pr, t.first_dof[first], t.first_dof[last], h)


@kernel
def predict_joints(t, d, w, first, last, h):
    """`drift` and accelerations of a tree that may have joints, at its velocities of the start; in lanes too.

    Returns:
        A coordinate without inertia, or -1, as a float: in lanes, each has its own.
    """
    drift(t, d, w, first, last, 0.5 * h)
    transforms(t, d, first, last)
    load_tree(t, d, w, first, last, h)
    status = articulated_inertias(t, d, first, last, h)
    evaluate_joints(t, d, first, last)
    return status


@kernel
def free_joints(t, d, w, pr, first, last, h):
    """u_free of such a tree, after that."""
    begin, end = t.first_dof[first], t.first_dof[last]
    hasten(d, begin, end, 0.5 * h)
    evaluate_joints(t, d, first, last)
    whole_step(t, d, w, pr, begin, end, h)


@kernel
def whole_step(t, d, w, pr, begin, end, h):
    """u_free of coordinates begin..end-1, by their accelerations at mid-step; u and tau are again as before."""
    for k in range(begin, end):
        u = w.start_u[k]
        pr.u_free[k] = u + h * d.udot[k]
        w.middle_u[k] = d.u[k]
        d.u[k] = u
        d.tau[k] = w.command[k]
    reach_targets(t, d, pr, begin, end)


@kernel
def glide(t, d, w, pr, first, last, time, h, holds):
    """Positions and velocities of a tree moved for a time by forces alone, as in a step without impulses.

    Args:
        h: time step, over which velocities are prescribed.
        holds: whether coordinates that rows hold, `WORLD.held`, get the velocities that these found.
    """
    begin, end = t.first_dof[first], t.first_dof[last]
    advance(t, d, first, last, 0.5 * time)
    transforms(t, d, first, last)
    load_tree(t, d, w, first, last, h)
    for k in range(begin, end):
        w.products[k] = d.u[k]
        if holds and w.held[k] != 0:
            d.udot[k] = (pr.u[k] - d.u[k]) / time
    articulated_inertias(t, d, first, last, time)
    evaluate_joints(t, d, first, last)
    hasten(d, begin, end, 0.5 * time)
    evaluate_joints(t, d, first, last)
    for k in range(begin, end):
        d.u[k] = w.products[k] + time * d.udot[k]
        d.tau[k] = w.command[k]
    advance(t, d, first, last, 0.5 * time)


@kernel
def predict_impact(t, d, w, pr, first, last, middle, h):
    """`predict_tree` and `free_tree` in a step whose middle was moved (`kido.simulation.middle`), from its start.

    Up to there the tree moves by forces alone; u_free is what they would give it in the rest of the step.
    """
    begin, end = t.first_dof[first], t.first_dof[last]
    drift(t, d, w, first, last, 0.0)
    glide(t, d, w, pr, first, last, middle, h, False)
    transforms(t, d, first, last)
    load_tree(t, d, w, first, last, h)
    status = int(articulated_inertias(t, d, first, last, h))
    evaluate_joints(t, d, first, last)
    for k in range(begin, end):
        w.middle_u[k] = d.u[k]
        pr.u_free[k] = d.u[k] + (h - middle) * d.udot[k]
        d.u[k] = w.start_u[k]
        d.tau[k] = w.command[k]
    reach_targets(t, d, pr, begin, end)
    return status


@kernel
def worse(result, status):
    """The lower coordinate of two failures; 0: none."""
    return status if result == 0 or (0 < status < result) else result


@kernel
def predict_trees(address, begin, end, worker):
    """Run the stage on trees begin..end-1, in the lanes of a worker; immobile ones only need their transforms.

    Returns:
        0, or 1 + the index of a coordinate whose inertia is not positive, the first one.
    """
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    pr = w.problem
    h = w.time_step
    coupled = w.loops.address != 0  # aggregates move by the stages of constraints
    middle = w.row_origins.middle[0]
    moved = middle != 0.5 * h
    r = w.row_origins.responses
    lanes, numbers = r.lanes[worker, 0], r.lanes[worker, 1]
    group = view(FREE_LANES, numbers)
    waiting = 0
    result = 0
    for tree_index in range(begin, end):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        mobile = t.tree_mobile[tree_index] != 0
        if mobile and not coupled and last > first and only_falls(t, d, r, first):
            gather_fall(t, d, r, group.x, first, waiting)
            group.body[waiting] = first
            waiting += 1
            if waiting == LANES:
                result = worse(result, fall_together(t, d, w, pr, lanes, numbers, waiting, middle, h))
                waiting = 0
            continue
        if moved and mobile and last > first and r.free[first] == NOT_FREE:
            result = worse(result, 1 + predict_impact(t, d, w, pr, first, last, middle, h))
            continue
        if mobile:
            drift(t, d, w, first, last, middle)
            if not coupled and last > first and r.free[first] != NOT_FREE:
                place_at_middle(d, w.start_u, r.number, first, t.first_dof[first], middle)
        transforms(t, d, first, last)
        if mobile and r.apart[tree_index] == 0:
            status = predict_tree(t, d, w, first, last, middle, h)
            if not coupled:
                free_tree(t, d, w, pr, first, last, h)
                if last > first and r.free[first] != NOT_FREE:
                    keep_momentum(d, pr.u_free, w.start_u, r.number, first, t.first_dof[first], middle, h)
            result = worse(result, 1 + status)
        elif not mobile:
            for k in range(t.first_dof[first], t.first_dof[last]):
                pr.u_free[k] = 0.0
    if waiting > 0:
        result = worse(result, fall_together(t, d, w, pr, lanes, numbers, waiting, middle, h))
    return result


@callback
def predict_share(address, begin, end, worker):
    """`predict_trees` by one of several threads; what fails is left in `failed`. Returns 0."""
    w = view(WORLD, address)
    status = predict_trees(address, begin, end, worker)
    if status != 0 and (w.failed[worker] == 0 or status < w.failed[worker]):
        w.failed[worker] = status
    return 0


@kernel
def predict_in_threads(address, trees):
    """`predict_trees` for all trees, shared out."""
    w = view(WORLD, address)
    for k in range(w.failed.shape[0]):
        w.failed[k] = 0
    share_out(w.team.address, w.predict_share.address, address, trees, w.share)
    result = 0
    for k in range(w.failed.shape[0]):
        if w.failed[k] != 0 and (result == 0 or w.failed[k] < result):
            result = w.failed[k]
    return result


@kernel
def free_coupled(t, d, w, pr, h):
    """u_free of the trees of a world with constraints, from the velocities that these have changed."""
    r = w.row_origins.responses
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] != 0 and r.apart[tree_index] == 0:
            first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
            free_tree(t, d, w, pr, first, last, h)
            if last > first and r.free[first] != NOT_FREE:
                keep_energy(d, pr.u_free, w.start_u, r.number, first, t.first_dof[first], h)


@callback
def predict_stage(address, unused_1, unused_2, unused_3):
    """Run the stage on all trees.

    Returns:
        0, or 1 + the index of a coordinate whose inertia is not positive.
    """
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    pr = w.problem
    h = w.time_step
    trees = t.tree_mobile.shape[0]
    coupled = w.loops.address != 0
    w.close_changed(w)
    if w.team.address == 0:
        result = predict_trees(address, 0, trees, 0)
    else:
        result = predict_in_threads(address, trees)
    if coupled:  # constraints between bodies change velocities, and with them the velocity products
        result = worse(result, w.constrain_predicted(w))
        free_coupled(t, d, w, pr, h)
        w.constrain_free(w, 1)
    return result
