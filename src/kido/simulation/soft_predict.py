"""First stage of a step of worlds with soft bodies: as `kido.simulation.predict`, with the points of soft skins."""

from __future__ import annotations

from kido.jit import callback, kernel, view
from kido.kernels.forward_dynamics import acceleration_scatter, eliminate_joint, joint_bias, start_bias
from kido.kernels.free_lanes import NOT_FREE
from kido.kernels.inertia import body_inertia, start_inertia
from kido.kernels.integration import advance, to_parent_axes
from kido.kernels.kinematics import transforms, velocities
from kido.kernels.soft import (
    accelerate_points,
    displace_inertia,
    drift_points,
    reduce_points,
    soften_bias,
    soften_inertia,
    spring_forces,
)
from kido.simulation.free_momentum import keep_momentum, place_at_middle
from kido.simulation.predict import joint_loads, prescribe, reach_targets
from kido.simulation.soft_balance import book, book_forces, open_account
from kido.simulation.world_struct import WORLD
from kido.tree.soft import FACE_SHAPE, VERTEX_SHAPE


@kernel
def soft_inertias(t, d, so, tree_index, first, last, h):
    """Articulated inertias of a tree, with its soft bodies. Returns as `articulated_inertias` does."""
    status = -1.0
    for i in range(first, last):
        start_inertia(t, d, i)
    for s in range(so.link.shape[0]):
        if so.tree_index[s] == tree_index:
            soften_inertia(d, so, s)
    for i in range(last - 1, first - 1, -1):
        status = eliminate_joint(t, d, first, i, h, 0.25 * h, 1, status)
    return status


@kernel
def soft_accelerations(t, d, so, tree_index, first, last, h):
    """Accelerations of a tree's coordinates and points at the velocities d.u and so.qd."""
    velocities(t, d, first, last)
    for i in range(first, last):
        start_bias(t, d, i)
    for s in range(so.link.shape[0]):
        if so.tree_index[s] == tree_index:
            soften_bias(d, so, s, h)
    for i in range(last - 1, first - 1, -1):
        joint_bias(t, d, first, i, 1.0, d.tau)
    acceleration_scatter(t, d, first, last)
    for s in range(so.link.shape[0]):
        if so.tree_index[s] == tree_index:
            accelerate_points(d, so, s)


@kernel
def predict_soft_tree(t, d, so, w, tree_index, first, last, h):
    """Velocities of one mobile tree and its points predicted for mid-step.

    Returns:
        A coordinate without inertia, or -1.
    """
    begin, end = t.first_dof[first], t.first_dof[last]
    for i in range(first, last):
        body_inertia(t, d, i)
    for s in range(so.link.shape[0]):
        if so.tree_index[s] == tree_index:
            drift_points(so, s, h)
            displace_inertia(t, d, so, s)
            reduce_points(so, s, h)
            spring_forces(t, d, so, s, h)
    joint_loads(t, d, w, first, last)
    prescribe(t, d, w, begin, end, h)
    status = int(soft_inertias(t, d, so, tree_index, first, last, h))
    soft_accelerations(t, d, so, tree_index, first, last, h)
    for k in range(begin, end):
        d.u[k] += 0.5 * h * d.udot[k]
    for s in range(so.link.shape[0]):
        if so.tree_index[s] == tree_index:
            for i in range(so.first[s], so.first[s + 1]):
                for c in range(3):
                    so.qd[i, c] += 0.5 * h * so.rate[i, c]
    return status


@kernel
def free_soft_tree(t, d, so, w, pr, tree_index, first, last, h):
    """u_free of one mobile tree, and qd of its points without impulses, from the predicted velocities."""
    begin, end = t.first_dof[first], t.first_dof[last]
    soft_accelerations(t, d, so, tree_index, first, last, h)
    book_forces(t, d, so, tree_index, first, last, h)
    for k in range(begin, end):
        u = w.start_u[k]
        pr.u_free[k] = u + h * d.udot[k]
        d.u[k] = u
        d.tau[k] = w.command[k]
    for s in range(so.link.shape[0]):
        if so.tree_index[s] == tree_index:
            for i in range(so.first[s], so.first[s + 1]):
                for c in range(3):
                    so.qd[i, c] = so.start[i, c] + h * so.rate[i, c]
            for c in range(6):
                so.transfer[s, c] = 0.0
    reach_targets(t, d, pr, begin, end)
    book(t, d, so, tree_index, first, last, pr.u_free, -1.0)


@kernel
def place_shapes(c, so):
    """Hand the points' places to the detector: of shapes that are points, and of corners of triangles."""
    for s in range(so.shape_kind.shape[0]):
        item = so.shape_item[s]
        if so.shape_kind[s] == VERTEX_SHAPE:
            for k in range(3):
                c.local_position[s, k] = so.rest[item, k] + so.q[item, k]
        elif so.shape_kind[s] == FACE_SHAPE:
            triangle = c.shape_hull[s]
            for corner in range(3):
                i = so.face[item, corner]
                for k in range(3):
                    c.skin_triangle[triangle, 3 * corner + k] = so.rest[i, k] + so.q[i, k]


@callback
def soft_predict_stage(address, unused_1, unused_2, unused_3):
    """Run the stage on all trees; immobile ones only need their transforms.

    Returns:
        0, or 1 + the index of a coordinate whose inertia is not positive.
    """
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    pr = w.problem
    so = w.soft
    r = w.row_origins.responses
    h = w.time_step
    result = 0
    coupled = w.loops.address != 0
    w.close_changed(w)
    for tree_index in range(t.tree_mobile.shape[0]):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        mobile = t.tree_mobile[tree_index] != 0
        if mobile:
            to_parent_axes(t, d, first, last, d.u)
            for k in range(t.first_dof[first], t.first_dof[last]):
                w.start_u[k] = d.u[k]
            open_account(t, d, so, tree_index, first, last)
            advance(t, d, first, last, 0.5 * h)
            if not coupled and last > first and r.free[first] != NOT_FREE:
                place_at_middle(d, w.start_u, r.number, first, t.first_dof[first], 0.5 * h)
        transforms(t, d, first, last)
        if mobile:
            status = predict_soft_tree(t, d, so, w, tree_index, first, last, h)
            if not coupled:
                free_soft_tree(t, d, so, w, pr, tree_index, first, last, h)
                if last > first and r.free[first] != NOT_FREE:
                    keep_momentum(d, pr.u_free, w.start_u, r.number, first, t.first_dof[first], 0.5 * h, h)
            if status >= 0 and result == 0:
                result = 1 + status
        else:
            for k in range(t.first_dof[first], t.first_dof[last]):
                pr.u_free[k] = 0.0
    if coupled:
        w.constrain_predicted(w)
        for tree_index in range(t.tree_mobile.shape[0]):
            if t.tree_mobile[tree_index] != 0:
                free_soft_tree(t, d, so, w, pr, tree_index, t.tree_body[tree_index], t.tree_body[tree_index + 1], h)
        w.constrain_free(w, 1)
    place_shapes(w.collision, so)
    return result
