"""Smooth motion of robots of eight worlds in lanes, between gathering their states and scattering what was found."""

from __future__ import annotations

from kido.batch.lockstep_struct import LOCKSTEP
from kido.jit import LANES, callback, kernel, view, where_positive
from kido.kernels.forward_dynamics import articulated_inertias
from kido.kernels.integration import advance
from kido.simulation.balance import (
    SLOW,
    begin_products,
    end_products,
    floating_base,
    give_momentum,
    is_loose,
    speeds,
    wanted_momentum,
)
from kido.simulation.correction import correction_share
from kido.simulation.kept_energy import changes_energy
from kido.simulation.predict import evaluate_joints, free_joints, predict_joints
from kido.simulation.row_motion import GIVEN, unforced_accelerations
from kido.simulation.world_struct import WORLD

RIGID = (
    1e30  # D of a coordinate that nothing accelerates but what is asked of it: inertias and forces are lost beside it
)


@kernel
def any_world(x):
    """A lane with a world; -1 if there is none."""
    for j in range(LANES):
        if x.world[j] != 0:
            return j
    return -1


@callback
def gather_states(address, tree_index, unused_1, unused_2):
    """States, commands and external forces of a robot to lanes; lanes without a world take those of another."""
    x = view(LOCKSTEP, address)
    t = x.tree
    m = x.wide_motion
    other = any_world(x)
    for j in range(LANES):
        w = view(WORLD, x.world[j] if x.world[j] != 0 else x.world[other])
        d = w.data
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            m.q[LANES * k + j], m.u[LANES * k + j] = d.q[k], d.u[k]
            m.tau[LANES * k + j], m.command[LANES * k + j] = d.tau[k], d.command[k]
        for i in range(t.tree_body[tree_index], t.tree_body[tree_index + 1]):
            if d.has_external[i] != 0:
                for a in range(24):
                    m.external[i, LANES * a + j] = d.external[i, a]
    return 0


@callback
def predict_together(address, tree_index, unused_1, unused_2):
    """`predict_joints` and `free_joints` of a robot in lanes; `status` of each lane is what it returns."""
    x = view(LOCKSTEP, address)
    t = x.tree
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    d = x.data
    own = x.own
    own.status[0] = predict_joints(t, d, x.motion, first, last, x.time_step)
    unforced_accelerations(t, d, own.start_A, first, last)
    for i in range(first, last):
        for a in range(6):
            own.start_V[i, a] = d.V[i, a]
    free_joints(t, d, x.motion, x.problem, first, last, x.time_step)
    return 0


@kernel
def scatter_body(m, d, i, j):
    """What a stage of every step reads of body i, from lane j; V is that of the step's start."""
    for a in range(9):
        d.R[i, a] = m.R[i, LANES * a + j]
    for a in range(3):
        d.p[i, a] = m.p[i, LANES * a + j]
        d.l[i, a] = m.l[i, LANES * a + j]
    for a in range(6):
        d.V[i, a], d.A[i, a] = m.start_V[i, LANES * a + j], m.start_A[i, LANES * a + j]


@kernel
def scatter_dof(m, w, k, j):
    """What a stage of every step reads of coordinate k, from lane j."""
    d = w.data
    pr = w.problem
    d.q[k], d.u[k] = m.q[LANES * k + j], m.u[LANES * k + j]
    w.start_u[k], w.command[k], w.target[k] = m.start_u[LANES * k + j], m.tau[LANES * k + j], m.target[LANES * k + j]
    pr.u_free[k], w.middle_u[k] = m.u_free[LANES * k + j], m.middle_u[LANES * k + j]
    d.Dinv[k] = m.Dinv[LANES * k + j]
    for a in range(6):
        d.H[k, a] = m.H[k, LANES * a + j]
        d.U[k, a] = m.U[k, LANES * a + j]


@callback
def scatter_motion(address, tree_index, unused_1, unused_2):
    """What `predict_together` found to the worlds, as far as every step needs it. Returns 0."""
    x = view(LOCKSTEP, address)
    t = x.tree
    m = x.wide_motion
    for j in range(LANES):
        if m.status[j] >= 0.0 and x.failed[j] == 0:
            x.failed[j] = 1 + int(m.status[j])
    for i in range(t.tree_body[tree_index], t.tree_body[tree_index + 1]):
        for j in range(LANES):
            if x.world[j] != 0:
                scatter_body(m, view(WORLD, x.world[j]).data, i, j)
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        for j in range(LANES):
            if x.world[j] != 0:
                scatter_dof(m, view(WORLD, x.world[j]), k, j)
    for j in range(LANES):
        if x.world[j] != 0:
            w = view(WORLD, x.world[j])
            w.moved_of[t.tree_dof[tree_index]] = GIVEN
    return 0


@callback
def scatter_rest(address, tree_index, lane, unused_2):
    """What `predict_together` found beside that, for a world that is solved by itself. Returns 0."""
    x = view(LOCKSTEP, address)
    t = x.tree
    m = x.wide_motion
    d = view(WORLD, x.world[lane]).data
    for i in range(t.tree_body[tree_index], t.tree_body[tree_index + 1]):
        for a in range(3):
            d.mc[i, a] = m.mc[i, LANES * a + lane]
        for a in range(6):
            d.V[i, a], d.J[i, a] = m.V[i, LANES * a + lane], m.J[i, LANES * a + lane]
        for a in range(21):
            d.P[i, a] = m.P[i, LANES * a + lane]
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        d.udot[k] = m.udot[LANES * k + lane]
    return 0


@callback
def gather_ends(address, tree_index, unused_1, unused_2):
    """Velocities of a robot after impulses, of worlds that are `settled`, to lanes; others have none. Returns 0."""
    x = view(LOCKSTEP, address)
    t = x.tree
    p = x.wide_problem
    x.num_rigid = 0
    for j in range(LANES):
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            p.u[LANES * k + j], p.rigid[LANES * k + j] = 0.0, 0.0
        if x.settled[j] != 0:
            w = view(WORLD, x.world[j])
            c = w.problem
            for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
                p.u[LANES * k + j] = c.u[k]
                if w.holds[tree_index] != 0 and w.held[k] != 0:
                    p.rigid[LANES * k + j] = 1.0
                    x.num_rigid += 1
    return 0


@kernel
def make_rigid(t, d, own, begin, end, h):
    """Give `rigid` coordinates the accelerations `udot`, by as great a D and forces: lanes differ in which they are."""
    for k in range(begin, end):
        own.damping[k] = t.damping[k]
        t.damping[k] = where_positive(own.rigid[k], RIGID / h, t.damping[k])
        d.tau[k] = where_positive(own.rigid[k], RIGID * d.udot[k], d.tau[k])


@kernel
def end_rigid(t, own, begin, end):
    """Undo what `make_rigid` did to the tree."""
    for k in range(begin, end):
        t.damping[k] = own.damping[k]


@callback
def products_together(address, tree_index, unused_1, unused_2):
    """`add_products` of a robot in lanes. Returns 0."""
    x = view(LOCKSTEP, address)
    t = x.tree
    d = x.data
    own = x.own
    h = x.time_step
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
    begin_products(t, d, x.motion, x.problem, first, last, h)
    if x.num_rigid > 0:
        make_rigid(t, d, own, begin, end, h)
        articulated_inertias(t, d, first, last, h)
    evaluate_joints(t, d, first, last)
    end_products(t, d, x.motion, x.problem, first, last, h)
    if x.num_rigid > 0:
        end_rigid(t, own, begin, end)
    return 0


@callback
def keep_ends(address, tree_index, unused_1, unused_2):
    """What it found to the worlds that are `settled`, where `move_and_balance` would have it. Returns 0."""
    x = view(LOCKSTEP, address)
    t = x.tree
    p = x.wide_problem
    begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
    for j in range(LANES):
        if x.settled[j] != 0:
            w = view(WORLD, x.world[j])
            c = w.problem
            most, change = speeds(w, c, begin, end)
            if change > 0.0 and w.time_step * most > SLOW:
                for k in range(begin, end):
                    if p.rigid[LANES * k + j] == 0.0:
                        c.u[k] = p.u[LANES * k + j]
    return 0


@callback
def gather_floating(address, tree_index, unused_1, unused_2):
    """What `balance_together` needs of a robot that floats, of worlds that are `settled`. Returns how many."""
    x = view(LOCKSTEP, address)
    p = x.wide_problem
    m = x.wide_motion
    found = 0
    for j in range(LANES):
        x.floating[j] = 0
        if x.settled[j] == 0:
            continue
        w = view(WORLD, x.world[j])
        t = w.tree
        c = w.problem
        begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
        most, _ = speeds(w, c, begin, end)
        if not most > 0.0 or w.grounded[tree_index] != 0:
            continue
        base = floating_base(t, t.tree_body[tree_index], t.tree_body[tree_index + 1])
        if base < 0 or not is_loose(t, base) or changes_energy(t, w, c, tree_index, most, w.time_step):
            continue
        x.floating[j] = 1
        found += 1
        share = correction_share(c, begin, end, w.time_step, w.collision.sweep_push)
        for k in range(begin, end):
            p.u[LANES * k + j], m.u_position[LANES * k + j] = c.u[k], share * c.u_position[k]
            m.constraint_force[LANES * k + j] = w.constraint_force[k]
            m.actuator_force[LANES * k + j] = w.actuator_force[k]
    return found


@callback
def balance_together(address, tree_index, unused_1, unused_2):
    """The end of `move_and_balance` of a robot that floats, in lanes. Returns 0."""
    x = view(LOCKSTEP, address)
    t = x.tree
    d = x.data
    pr = x.problem
    h = x.time_step
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    base = floating_base(t, first, last)
    x_new, g = wanted_momentum(t, d, x.motion, first, base, last, h)
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        d.u[k] = 0.5 * pr.u[k] + pr.u_position[k]
    advance(t, d, first, last, h)
    give_momentum(t, d, pr, first, base, last, x_new, g)
    return 0


@callback
def keep_floating(address, tree_index, unused_1, unused_2):
    """Positions and velocities that it found to the worlds. Returns 0."""
    x = view(LOCKSTEP, address)
    t = x.tree
    p = x.wide_problem
    m = x.wide_motion
    for j in range(LANES):
        if x.floating[j] != 0:
            w = view(WORLD, x.world[j])
            d = w.data
            c = w.problem
            x.moved[j, tree_index] = 1
            for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
                d.q[k], c.u[k] = m.q[LANES * k + j], p.u[LANES * k + j]
    return 0
