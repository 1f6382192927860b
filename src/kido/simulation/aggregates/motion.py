"""Skeletons with loops as trees of aggregate bodies, in the midpoint step of a world.

Loops over few coordinates are aggregates (kido.dynamics.embedding): dependent velocities follow from independent ones,
and the recursions of a tree run on what is one. The step of `kido.simulation.loops` then is, with the rows' numbers K
at mid-step,

    K_d udot_d + K_i udot_i = -(2/h) K u        so that the mean of the old and the new velocity is what K annuls
    u_M = u + (h/2) udot(q_M, u),  u_free = u + h udot(q_M, u_M)          one articulation, two sweeps
    responses of contacts, limits and motors by sweeps of the same tree: the contact problem has no rows of loops
    q_new: by what takes least energy, the rest by Newton's method;  u_new = u + M^-1 K^T x with G(q_new) u_new = 0

The last condition leaves the momentum along what the loops allow as it is. With e_d = u_d - X(q_new) u_i, how far
dependent velocities are off at the end, the impulse that changes them by -e_d at mid-step leaves an e_d smaller by a
factor of order h; after two or three rounds nothing is left but rounding.

This module has the first half, `kido.simulation.aggregates.closing` the second. What does not fit is eliminated instead
(kido.constraints.loop_solve).
"""

from __future__ import annotations

from kido.constraints.loop_rows import add_body_jacobian, is_moved
from kido.constraints.loop_schema import COUPLE, ELIMINATED, ONE_SIDED
from kido.dynamics.embedding.aggregate_body import aggregate_rest
from kido.dynamics.embedding.rows import aggregate_columns
from kido.dynamics.embedding.solve import articulate_tree, gather_bias_of_tree, scatter_accelerations
from kido.jit import kernel
from kido.kernels.forward_dynamics import start_bias
from kido.kernels.inertia import body_inertia, start_inertia
from kido.kernels.kinematics import velocities
from kido.simulation.aggregates.choose import is_near_singular, reach
from kido.simulation.predict import joint_loads


@kernel
def implicit(t, k, h):
    """What damper and spring of coordinate k add to its inertia."""
    return h * (t.damping[k] + 0.25 * h * t.stiffness[k])


@kernel
def hold_rows(d, lp, e, tree_index, u, h):
    """Columns, X and, in its last column, K_d^-1 of -(2/h) K u of a tree's aggregates. Returns whether all is well."""
    for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            aggregate_columns(d, e, c)
            e.largest[c] = reach(lp, e, c, u, -2.0 / h)
            if is_near_singular(e, c):
                return False
    return True


@kernel
def start_loads(t, e, z, tree_index, h):
    """`loaded`: the joint forces, less what implicit dampers and springs take for dependent coordinates' own part."""
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        z.loaded[k] = z.tau[k]
    for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            for s in range(e.first_place[c], e.first_place[c + 1]):
                role = e.role[s]
                if role < 0:
                    k = e.dof[s]
                    X = e.X_at[c] + (-1 - role) * (e.columns[c] + 1)
                    z.loaded[k] -= implicit(t, k, h) * e.X[X + e.columns[c]]


@kernel
def add_predicted(t, d, lp, z, tree_index, h):
    """Add to `loaded` what springs, motors and dry friction of constraints did in the last step."""
    for r in range(lp.num_rows):
        p = lp.impulse[r] / h
        if p == 0.0 or lp.mode[r] == ELIMINATED or lp.mode[r] == ONE_SIDED or lp.enabled[lp.of[r]] == 0:
            continue
        c = lp.of[r]
        if lp.kind[r] == COUPLE:
            for n in range(lp.first_term[c], lp.first_term[c + 1]):
                k = lp.term_dof[n]
                if t.tree_of_body[t.body_of_dof[k]] == tree_index:
                    z.loaded[k] += p * lp.sign[r] * lp.term_factor[n]
        else:
            a, b = lp.body_a[c], lp.body_b[c]
            if is_moved(t, a) and t.tree_of_body[a] == tree_index:
                add_body_jacobian(t, d, lp, r, a, -p, z.loaded, t.tree_dof[tree_index])
            if is_moved(t, b) and t.tree_of_body[b] == tree_index:
                add_body_jacobian(t, d, lp, r, b, p, z.loaded, t.tree_dof[tree_index])


@kernel
def biases_of_tree(t, d, tree_index):
    """Velocities, velocity products and biases of a tree at its velocities d.u."""
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    velocities(t, d, first, last)
    for i in range(first, last):
        start_bias(t, d, i)


@kernel
def accelerate(t, d, e, z, tree_index):
    """udot of a tree under the forces `loaded`, after `biases_of_tree`."""
    begin, end = e.tree_item[tree_index], e.tree_item[tree_index + 1]
    for q in range(begin, end):
        c = -1 - e.item[q]
        if c >= 0:
            aggregate_rest(d, e, c)
    gather_bias_of_tree(t, d, e, begin, end, 1.0, z.loaded)
    scatter_accelerations(t, d, e, begin, end, 1.0, d.A, d.udot)


@kernel
def note_biases(t, d, z, tree_index, share):
    """Add a share of velocity products and biases, before the gather, to those of the step; share 1 begins them."""
    for i in range(t.tree_body[tree_index], t.tree_body[tree_index + 1]):
        for j in range(6):
            if share == 1.0:
                z.product[i, j], z.bias[i, j] = d.a[i, j], d.z[i, j]
            else:
                z.product[i, j] += share * d.a[i, j]
                z.bias[i, j] += share * d.z[i, j]


@kernel
def predict_aggregates(t, d, w, lp, e, z, tree_index, h):
    """Velocities of a tree predicted for mid-step, into d.u; needs transforms and `measure_all`.

    Returns:
        1 + a coordinate whose inertia is not positive, 0 if there is none; -1: near to a singular position, and
        nothing was done.
    """
    if not hold_rows(d, lp, e, tree_index, d.u, h):
        return -1
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
    for i in range(first, last):
        body_inertia(t, d, i)
        start_inertia(t, d, i)
    joint_loads(t, d, w, first, last)
    for k in range(begin, end):
        w.target[k] = d.command[k]
        z.tau[k] = d.tau[k]
    status = articulate_tree(t, d, e, e.tree_item[tree_index], e.tree_item[tree_index + 1], h)
    start_loads(t, e, z, tree_index, h)
    add_predicted(t, d, lp, z, tree_index, h)
    biases_of_tree(t, d, tree_index)
    accelerate(t, d, e, z, tree_index)
    for k in range(begin, end):
        d.u[k] += 0.5 * h * d.udot[k]
    if status < -1:  # of an aggregate: its first coordinate stands for it
        status = e.dof[e.first_place[-2 - status]]
    return 1 + status


@kernel
def free_aggregates(t, d, w, pr, e, z, tree_index, h):
    """u_free of a tree at mid-step, from the predicted velocities."""
    start_loads(t, e, z, tree_index, h)
    biases_of_tree(t, d, tree_index)
    note_biases(t, d, z, tree_index, 1.0)
    accelerate(t, d, e, z, tree_index)
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        pr.u_free[k] = w.start_u[k] + h * d.udot[k]
        w.middle_u[k] = d.u[k]
        d.u[k] = w.start_u[k]
        d.tau[k] = w.command[k]


@kernel
def second_half(t, d, w, pr, lp, e, z, tree_index, h):
    """`kido.simulation.loops.second_half` for a tree with aggregates.

    Accelerations are linear in velocity products and biases: with those of the step, f of `free_aggregates` and half
    the difference of the two make one sweep.
    """
    begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
    for k in range(begin, end):
        d.u[k] = pr.u[k]
    biases_of_tree(t, d, tree_index)
    note_biases(t, d, z, tree_index, 0.5)
    for k in range(begin, end):
        d.u[k] = 2.0 * lp.predicted[k] - w.start_u[k]
    biases_of_tree(t, d, tree_index)
    note_biases(t, d, z, tree_index, -0.5)
    for i in range(t.tree_body[tree_index], t.tree_body[tree_index + 1]):
        for j in range(6):
            d.a[i, j], d.z[i, j] = z.product[i, j], z.bias[i, j]
    start_loads(t, e, z, tree_index, h)
    accelerate(t, d, e, z, tree_index)
    for k in range(begin, end):
        pr.u[k] += h * d.udot[k] - (pr.u_free[k] - w.start_u[k])
