"""Stages of a step that worlds with constraints between bodies have (kido.constraints.loop_solve, loop_blocks).

With P = 1 - M^-1 G^T S^+ G at mid-step, the midpoint rule becomes

    u_M = P (u + (h/2) FD(q_M, u) + (1/2) M^-1 J^T p)    velocities of which the velocity products are taken; p: of
                                                         springs, motors and dry friction in the last step
    u_free = u + h FD(q_M, u_M) - M^-1 G^T S^+ (G u_free + G u)
    u_new = u_free + (constrained responses) p
    q_new = q_M + (h/2) u_new, moved onto phi = 0;  u_new moved onto G(q_new) u_new = 0

The mean of the old and the new velocity is what G annuls at mid-step: then the rule is symmetric, and the two moves
at the end are of third and of second order in h. G u = 0 for the new velocity alone would make the rule one of first
order. Euler's rules ask for that.

A state that was changed since the last step is first closed (`close_new`): its positions are moved onto phi = 0, its
velocities by an inelastic impulse.
"""

from __future__ import annotations

import math

from kido.constraints.assemble import ASSEMBLED, PROBLEM_FULL
from kido.constraints.loop_blocks import predict_rows
from kido.constraints.loop_factor import factor, fill_rows, measure_all, negate_right, project, push, rates, solve
from kido.constraints.loop_responses import add_load, complete_problem, reactions
from kido.constraints.loop_schema import COUPLE, ELIMINATED, LOOPS
from kido.constraints.loop_solve import (
    close_after_step,
    close_anew,
    close_new,
    is_awake,
    is_new,
    is_weak,
    note_open,
    seen_as_turn,
)
from kido.constraints.loop_trees import EVALUATE
from kido.constraints.row_origins import FROM_CONSTRAINT, FROM_USER
from kido.constraints.soft_contact import link_velocity
from kido.constraints.wrenches import deferred_forces
from kido.jit import callback, entry, kernel, view
from kido.joints.frames import rotation_of
from kido.math.so3 import cross, rotate_inverse
from kido.simulation.aggregates.choose import choose_aggregates, tree_of_group
from kido.simulation.aggregates.closing import close_aggregates
from kido.simulation.aggregates.motion import free_aggregates, predict_aggregates
from kido.simulation.predict import evaluate, predict_tree, worse
from kido.simulation.world_struct import WORLD
from kido.tree.schema import DATA, TREE


@kernel
def note_velocities(w, lp, u):
    """Remember velocities that points of soft skins are to follow."""
    if w.soft.address != 0:
        for k in range(lp.before_u.shape[0]):
            lp.before_u[k] = u[k]


@kernel
def follow_velocities(t, d, w, lp, u):
    """Let points of soft skins follow what changed in their links' velocities: dqd = -(a dv' + dw' x b)."""
    if w.soft.address == 0:
        return
    so = w.soft
    for s in range(so.link.shape[0]):
        i = so.link[s]
        if t.tree_mobile[so.tree_index[s]] == 0 or lp.tree_group[so.tree_index[s]] < 0:
            continue
        new, old = link_velocity(t, d, i, u), link_velocity(t, d, i, lp.before_u)
        R = rotation_of(d, i)
        w0, w1, w2 = rotate_inverse(R, new[0] - old[0], new[1] - old[1], new[2] - old[2])
        v0, v1, v2 = rotate_inverse(R, new[3] - old[3], new[4] - old[4], new[5] - old[5])
        for k in range(so.first[s], so.first[s + 1]):
            if so.frozen[k] == 0:
                x, y, z = cross(w0, w1, w2, so.reduced[k, 1], so.reduced[k, 2], so.reduced[k, 3])
                so.qd[k, 0] -= so.reduced[k, 0] * v0 + x
                so.qd[k, 1] -= so.reduced[k, 0] * v1 + y
                so.qd[k, 2] -= so.reduced[k, 0] * v2 + z


@callback
def loop_start_stage(address, unused_1, unused_2, unused_3):
    """Close groups whose state is new. Returns 0."""
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    lp = w.loops
    always = False
    for g in range(lp.num_groups):
        always = always or lp.left_open[g] != 0
    if w.aggregates.address == 0:
        close_new(t, d, lp, always)
        return 0
    z = w.aggregates
    for g in range(lp.num_groups):
        if z.fits[g] != 0 and (always or is_new(t, d, lp, g)):
            z.anew[g] = 1
    close_new(t, d, lp, always)
    e, y = z.embedding, z.dynamics
    r = w.row_origins.responses
    choose_aggregates(t, d, lp, y, e, z.end_embedding, z, r, w.time_step)
    return 0


@kernel
def predict_group(t, d, w, lp, g):
    """Predict velocities of a group by its aggregates; one near to a singular position is eliminated after all.

    Returns:
        1 + a coordinate whose inertia is not positive, or 0.
    """
    z, tree_index, h = w.aggregates, tree_of_group(lp, g), w.time_step
    status = predict_aggregates(t, d, w, lp, z.embedding, z, tree_index, h)
    if status < 0:
        lp.embedded[g], z.anew[g] = 0, 1
        w.row_origins.responses.apart[tree_index] = 0
        status = 1 + predict_tree(t, d, w, t.tree_body[tree_index], t.tree_body[tree_index + 1], 0.5 * h, h)
    return status


@callback
def loop_predict_stage(address, unused_1, unused_2, unused_3):
    """Rows and factors at mid-step; predicted velocities d.u projected, or made by aggregates.

    Returns:
        1 + a coordinate of an aggregate's tree whose inertia is not positive, or 0.
    """
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    lp = w.loops
    measure_all(d, lp)
    result = 0
    for g in range(lp.num_groups):
        if lp.embedded[g] != 0:
            result = worse(result, predict_group(t, d, w, lp, g))
    note_velocities(w, lp, d.u)
    predict_rows(t, d, lp)
    for g in range(lp.num_groups):
        if is_awake(t, lp, g) and lp.embedded[g] == 0:
            fill_rows(t, d, lp, g)
            factor(lp, g)
            project(t, lp, g, d.u)
    for k in range(d.u.shape[0]):
        lp.predicted[k] = d.u[k]
    follow_velocities(t, d, w, lp, d.u)
    return result


@callback
def loop_free_stage(address, symmetric, unused_2, unused_3):
    """u_free with the impulses of eliminated rows. Returns 0.

    Args:
        symmetric: not 0 for the midpoint rule, after `loop_predict_stage`.
    """
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    pr = w.problem
    lp = w.loops
    lp.midpoint = symmetric
    if symmetric == 0:
        measure_all(d, lp)
    note_velocities(w, lp, pr.u_free)
    for g in range(lp.num_groups):
        if not is_awake(t, lp, g):
            continue
        if lp.embedded[g] != 0:
            z = w.aggregates
            e = z.embedding
            free_aggregates(t, d, w, pr, e, z, tree_of_group(lp, g), w.time_step)
            continue
        if symmetric == 0:
            fill_rows(t, d, lp, g)
            factor(lp, g)
        for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
            lp.total[s] = 0.0
        if symmetric != 0:
            rates(t, lp, g, lp.G, w.start_u)
            share = seen_as_turn(t, d, lp, g) if is_weak(lp, g) else 1.0
            for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
                lp.total[s] = share * lp.right[s]
        rates(t, lp, g, lp.G, pr.u_free)
        for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
            lp.right[s] += lp.total[s]
        negate_right(lp, g)
        solve(lp, g)
        push(t, lp, g, lp.Y, pr.u_free)
        for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
            lp.total[s] = lp.left[s]
    follow_velocities(t, d, w, lp, pr.u_free)
    return 0


@callback
def loop_rows_stage(address, unused_1, unused_2, unused_3):
    """Blocks of constraints, and constrained responses. Returns ASSEMBLED or PROBLEM_FULL."""
    w = view(WORLD, address)
    done = complete_problem(w.tree, w.data, w.loops, w.user_rows, w.problem, w.row_origins, w.start_u)
    return ASSEMBLED if done else PROBLEM_FULL


@callback
def loop_load_stage(address, unused_1, unused_2, unused_3):
    """The load of all blocks when the problem is solved. Returns 0."""
    w = view(WORLD, address)
    lp, pr = w.loops, w.problem
    for k in range(lp.load.shape[0]):
        lp.load[k] = 0.0
    deferred_forces(w.tree, w.data, pr, w.row_origins, 1.0, lp.load, lp.load)
    for b in range(pr.num_blocks):
        add_load(pr, b, lp.load, lp.load.shape[0])
    return 0


@kernel
def add_group_forces(t, w, lp, g, h):
    """Add the generalized forces of group g, G^T p / h; what prescribed coordinates get relieves their actuators."""
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        tree_index = lp.member[e]
        begin = t.tree_dof[tree_index]
        for k in range(begin, t.tree_dof[tree_index + 1]):
            value = 0.0
            at = lp.group_pool[g] + lp.tree_local[tree_index] + k - begin
            for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
                value += lp.G[at] * lp.total[s]
                at += lp.group_dofs[g]
            w.constraint_force[k] += value / h
            if t.prescribed[k] != 0:
                w.actuator_force[k] -= value / h


@kernel
def is_row_awake(t, lp, r):
    """Whether anything that a row acts on moves."""
    c = lp.of[r]
    for e in range(lp.first_term[c], lp.first_term[c + 1]):
        if t.tree_mobile[t.tree_of_body[t.body_of_dof[lp.term_dof[e]]]] != 0:
            return True
    a, b = lp.body_a[c], lp.body_b[c]
    return (a >= 0 and t.tree_mobile[t.tree_of_body[a]] != 0) or (b >= 0 and t.tree_mobile[t.tree_of_body[b]] != 0)


@kernel
def take_impulses(lp, us, pr, src):
    """Impulses of blocks back to the rows they come from."""
    for r in range(us.impulse.shape[0]):
        us.impulse[r] = 0.0
    for b in range(pr.num_blocks):
        if src.origin[b] == FROM_CONSTRAINT:
            lp.impulse[src.index[b]] = pr.impulse[pr.row[b]]
        elif src.origin[b] == FROM_USER:
            us.impulse[src.index[b]] = pr.impulse[pr.row[b]]


@kernel
def sum_wrenches(lp, h):
    """Wrench impulse of each constraint on its second body; breaks those whose force or moment is too large."""
    for c in range(lp.num_constraints):
        for k in range(6):
            lp.wrench[c, k] = 0.0
        if lp.enabled[c] == 0:
            continue
        for r in range(lp.first_row[c], lp.first_row[c + 1]):
            p = lp.impulse[r]
            if lp.kind[r] == COUPLE:
                lp.wrench[c, 0] += lp.sign[r] * p
            else:
                for k in range(3):
                    lp.wrench[c, k] += p * lp.moment[r, k]
                    lp.wrench[c, 3 + k] += p * lp.force[r, k]
        moment = math.sqrt(lp.wrench[c, 0] ** 2 + lp.wrench[c, 1] ** 2 + lp.wrench[c, 2] ** 2) / h
        force = math.sqrt(lp.wrench[c, 3] ** 2 + lp.wrench[c, 4] ** 2 + lp.wrench[c, 5] ** 2) / h
        if moment > lp.breaking_moment[c] or force > lp.breaking_force[c]:
            lp.enabled[c] = 0


@kernel
def is_loaded(t, lp, g):
    """Whether contacts or other blocks act on a group."""
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        tree_index = lp.member[e]
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            if lp.load[k] != 0.0:
                return True
    return False


@kernel
def add_accelerations(t, d, lp, g, share):
    """Add a share of the accelerations of a group's trees at velocities d.u, at mid-step, to lp.kept_u."""
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        tree_index = lp.member[e]
        if lp.apart[tree_index] != 0:
            lp.others(lp.others_of, EVALUATE, tree_index)
        else:
            evaluate(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1])
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            lp.kept_u[k] += share * d.udot[k]


@kernel
def second_half(t, d, w, pr, lp, g, h):
    """Give a group the velocity products of the velocities that it goes on with after impulses at mid-step.

    Those of the step were taken at the velocity u_M predicted for its middle, as if it ended with 2 u_M - u. With f(u)
    the accelerations at mid-step, u_new <- u_new + P (h/2) (f(u_new) - f(2 u_M - u)): nothing where the prediction was
    right, and after impacts energy and momentum are balanced to second order in h, not to first.
    """
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        tree_index = lp.member[e]
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            lp.kept_u[k] = 0.0
            d.u[k] = pr.u[k]
    add_accelerations(t, d, lp, g, 0.5 * h)
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        tree_index = lp.member[e]
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            d.u[k] = 2.0 * lp.predicted[k] - w.start_u[k]
    add_accelerations(t, d, lp, g, -0.5 * h)
    project(t, lp, g, lp.kept_u)
    for e in range(lp.group_member[g], lp.group_member[g + 1]):
        tree_index = lp.member[e]
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            pr.u[k] += lp.kept_u[k]
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        lp.total[s] += lp.left[s]


@kernel
def close_embedded(t, d, w, pr, lp, g):
    """End of the step of a group whose loops are aggregates. Returns what is left of |G u| and of |phi|."""
    z = w.aggregates
    y, e = z.dynamics, z.embedding
    end_d, end_e = z.end_data, z.end_embedding
    loaded = is_loaded(t, lp, g)
    error, left = close_aggregates(t, d, w, pr, lp, y, e, end_d, end_e, z, g, loaded)
    note_impulses(lp, g)
    return left, error


@kernel
def note_impulses(lp, g):
    """Impulses of a group's rows, from its slots."""
    for s in range(lp.group_slot[g], lp.group_slot[g + 1]):
        lp.impulse[lp.slot[s]] = lp.total[s]


@callback
def note_closed_stage(address, unused_1, unused_2, unused_3):
    """Note the state that a step ended with, velocities in the joints' own axes. Returns 0."""
    w = view(WORLD, address)
    d, lp = w.data, w.loops
    for k in range(d.q.shape[0]):
        lp.end_q[k], lp.end_u[k] = d.q[k], d.u[k]
    return 0


@callback
def loop_close_stage(address, unused_1, unused_2, unused_3):
    """Close positions and velocities at the end of a step, before they are handed back; forces. Returns 0."""
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    lp = w.loops
    pr = w.problem
    h = w.time_step
    note_velocities(w, lp, pr.u)
    for r in range(lp.num_rows):
        if lp.mode[r] != ELIMINATED and is_row_awake(t, lp, r):
            lp.impulse[r] = 0.0
    take_impulses(lp, w.user_rows, pr, w.row_origins)
    largest, lp.misfit = 0.0, 0.0
    for g in range(lp.num_groups):
        if not is_awake(t, lp, g):
            continue
        if lp.embedded[g] != 0:
            misfit, error = close_embedded(t, d, w, pr, lp, g)
            largest = max(largest, error)
            lp.misfit = max(lp.misfit, misfit)
            continue
        reactions(t, lp, pr, g)
        if lp.midpoint != 0 and w.soft.address == 0 and is_loaded(t, lp, g):
            second_half(t, d, w, pr, lp, g, h)
        misfit, rough = close_after_step(t, d, pr, lp, g)
        add_group_forces(t, w, lp, g, h)
        if rough:
            misfit, error = close_anew(t, d, pr, lp, g)
        else:
            error = lp.closure
        largest = max(largest, error)
        note_open(lp, g)
        lp.misfit = max(lp.misfit, misfit)
        note_impulses(lp, g)
    follow_velocities(t, d, w, lp, pr.u)
    lp.closure = largest
    sum_wrenches(lp, h)
    lp.worst_closure, lp.worst_misfit = max(lp.worst_closure, lp.closure), max(lp.worst_misfit, lp.misfit)
    return 0


@entry("f8(i8,i8,i8)")
def close_now(tree, data, loops):
    """Close all groups, whether their state is new or not. Returns the largest |phi| left."""
    return close_new(view(TREE, tree), view(DATA, data), view(LOOPS, loops), True)
