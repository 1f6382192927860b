"""First and last stage of a world's step by Euler's rules, with the contact problem of the midpoint rule between them.

Semi-implicit: contacts are found at q0, and the new velocity moves the positions.

    u_free = u0 + h FD(q0, u0),   q1 = q0 moved by h u1 + h u_position

Explicit: the old velocity moves the positions, and contacts are found where that leads: the next step moves by
the velocity that the contact problem gives there.

    u_free = u0 + h FD(q0, u0),   q1 = q0 moved by h u0, then by h u_position

The semi-implicit rule takes joint damping and springs implicitly: FD solves (M + h Kd + h^2 Ks / 4) udot = ...
"""

from __future__ import annotations

from kido.jit import callback, kernel, view
from kido.kernels.forward_dynamics import acceleration_scatter, articulated_inertias, bias_gather
from kido.kernels.inertia import body_inertia
from kido.kernels.integration import advance, to_parent_axes
from kido.kernels.kinematics import transforms, velocities
from kido.simulation.correction import correction_share
from kido.simulation.integrate import close_and_hand_back, report, take_impulses
from kido.simulation.predict import joint_loads, prescribe, reach_targets
from kido.simulation.world_struct import WORLD


@kernel
def place(t, d, first, last, h):
    """Transforms and articulated inertias of one tree. Returns a coordinate without inertia, or -1."""
    transforms(t, d, first, last)
    for i in range(first, last):
        body_inertia(t, d, i)
    return int(articulated_inertias(t, d, first, last, h))


@kernel
def euler_tree(t, d, w, pr, first, last, h, implicit):
    """u_free of one tree that moves. Returns the index of a coordinate without inertia, or -1."""
    begin, end = t.first_dof[first], t.first_dof[last]
    to_parent_axes(t, d, first, last, d.u)
    for k in range(begin, end):
        w.start_u[k] = d.u[k]
    status = place(t, d, first, last, implicit)
    joint_loads(t, d, w, first, last)
    prescribe(t, d, w, begin, end, h)
    velocities(t, d, first, last)
    bias_gather(t, d, first, last)
    acceleration_scatter(t, d, first, last)
    for k in range(begin, end):
        pr.u_free[k] = w.start_u[k] + h * d.udot[k]
        d.tau[k] = w.command[k]
    reach_targets(t, d, pr, begin, end)
    return status


@kernel
def predict_trees(address, semi_implicit):
    """`euler_tree` for all trees. Returns 0, or 1 + the index of a coordinate whose inertia is not positive."""
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    pr = w.problem
    h = w.time_step
    result = 0
    w.close_changed(w)
    for tree_index in range(t.tree_mobile.shape[0]):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        if t.tree_mobile[tree_index] == 0:
            transforms(t, d, first, last)
            for k in range(t.first_dof[first], t.first_dof[last]):
                pr.u_free[k] = 0.0
            continue
        status = euler_tree(t, d, w, pr, first, last, h, h if semi_implicit else 0.0)
        if not semi_implicit:
            advance(t, d, first, last, h)
            status = max(status, place(t, d, first, last, 0.0))
            velocities(t, d, first, last)
        if status >= 0 and result == 0:
            result = 1 + status
    w.constrain_free(w, 0)
    return result


@kernel
def integrate_trees(address, share_of_new):
    """Positions moved by a share of the new velocity and by the position correction; the report."""
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    c = w.collision
    pr = w.problem
    h = w.time_step
    energy = take_impulses(w)
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] != 0:
            first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
            begin, end = t.first_dof[first], t.first_dof[last]
            share = correction_share(pr, begin, end, h, c.sweep_push)
            for k in range(begin, end):
                d.u[k] = share_of_new * pr.u[k] + share * pr.u_position[k]
            advance(t, d, first, last, h)
    close_and_hand_back(w)
    report(c, pr, w, energy)
    w.steps += 1
    return 0


@callback
def semi_implicit_predict(address, unused_1, unused_2, unused_3):
    """First stage of the semi-implicit rule."""
    return predict_trees(address, True)


@callback
def semi_implicit_integrate(address, unused_1, unused_2, unused_3):
    """Last stage of the semi-implicit rule."""
    return integrate_trees(address, 1.0)


@callback
def explicit_predict(address, unused_1, unused_2, unused_3):
    """First stage of the explicit rule."""
    return predict_trees(address, False)


@callback
def explicit_integrate(address, unused_1, unused_2, unused_3):
    """Last stage of the explicit rule."""
    return integrate_trees(address, 0.0)
