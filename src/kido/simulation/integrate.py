"""Last stage of a step: new velocities and positions, impulses handed back, the report."""

from __future__ import annotations

from kido.constraints.contact import tangents
from kido.constraints.impact_time import UNSTEADY, add_impulses, add_ways
from kido.constraints.row_origins import (
    FROM_CONTACT,
    FROM_FRICTION,
    FROM_LIMIT,
    FROM_MIMIC,
    FROM_SERVO,
    FROM_SPIN,
    rest_of_step,
)
from kido.constraints.wrenches import deferred_forces
from kido.jit import LANES, callback, kernel, view
from kido.jit.team import share_out
from kido.joints.kinds import FREE_MIXED
from kido.kernels.free_lanes import FREE_LANES, NOT_FREE
from kido.kernels.integration import advance
from kido.math.so3 import cross, rotate_inverse, rotation_vector_to_matrix
from kido.simulation.balance import (
    SLOW,
    add_products,
    floating_base,
    give_momentum,
    hold,
    is_loose,
    note_held,
    speeds,
    wanted_momentum,
    wanted_momentum_beside,
)
from kido.simulation.correction import correction_energy, correction_share
from kido.simulation.free_bodies import gather_landing, land_together
from kido.simulation.kept_energy import changes_energy, keep_energy
from kido.simulation.predict import glide
from kido.simulation.world_struct import WORLD
from kido.solvers.problem import AT_CAP, BOUNDED
from kido.solvers.rows import num_segments, segment


@kernel
def return_impulses(c, pr, src):
    """Impulses of blocks to the contacts (world axes, on body b) and joints they come from."""
    for k in range(c.num_contacts):
        c.impulse[k, 0], c.impulse[k, 1], c.impulse[k, 2] = 0.0, 0.0, 0.0
        c.torque[k, 0], c.torque[k, 1], c.torque[k, 2] = 0.0, 0.0, 0.0
    for k in range(src.limit_impulse.shape[0]):
        src.limit_impulse[k] = 0.0
        src.friction_impulse[k] = 0.0
        src.actuator_impulse[k] = 0.0
    for b in range(pr.num_blocks):
        row, k = pr.row[b], src.index[b]
        if src.origin[b] == FROM_CONTACT:
            x, y, z = pr.impulse[row], pr.impulse[row + 1], pr.impulse[row + 2]
            for r in range(3):
                c.impulse[k, r] = x * c.normal[k, r] + y * src.tangent[b, r] + z * src.tangent[b, 3 + r]
        elif src.origin[b] == FROM_SPIN:
            n0, n1, n2 = c.normal[k, 0], c.normal[k, 1], c.normal[k, 2]
            a0, a1, a2, b0, b1, b2 = tangents(n0, n1, n2)
            x, y, z = pr.impulse[row], pr.impulse[row + 1], pr.impulse[row + 2]
            c.torque[k, 0] = x * n0 + y * a0 + z * b0
            c.torque[k, 1] = x * n1 + y * a1 + z * b1
            c.torque[k, 2] = x * n2 + y * a2 + z * b2
        elif src.origin[b] == FROM_LIMIT:
            src.limit_impulse[k] += pr.impulse[row] if src.side[b] >= 0.0 else -pr.impulse[row]
        elif src.origin[b] == FROM_FRICTION:
            src.friction_impulse[k] = pr.impulse[row]
        elif src.origin[b] == FROM_SERVO or src.origin[b] == FROM_MIMIC:
            src.actuator_impulse[k] = pr.impulse[row]


@kernel
def add_block_force(pr, b, h, force):
    """Add the generalized force of a block's impulse, J^T p / h."""
    if pr.kind[b] != BOUNDED and pr.len_a[b] % 6 == 0 and pr.len_a[b] + pr.len_b[b] == 6 and pr.more_count[b] == 0:
        at, dof = (pr.at_a[b], pr.dof_a[b]) if pr.len_a[b] == 6 else (pr.at_b[b], pr.dof_b[b])
        i = pr.row[b]
        x, y, z = pr.impulse[i] / h, pr.impulse[i + 1] / h, pr.impulse[i + 2] / h
        for k in range(6):
            force[dof + k] += pr.J[at + k] * x + pr.J[at + 6 + k] * y + pr.J[at + 12 + k] * z
        return
    rows = 1 if pr.kind[b] == BOUNDED else 3
    for r in range(rows):
        p = pr.impulse[pr.row[b] + r] / h
        for s in range(num_segments(pr, b)):
            dof, length, at = segment(pr, b, s)
            for k in range(length):
                force[dof + k] += pr.J[at + r * length + k] * p


@kernel
def constraint_forces(t, d, pr, src, w, h):
    """Generalized forces of all impulses, those of servos among the actuators' and not the constraints'.

    The actuator of a prescribed coordinate gives what is missing to the force that its motion took.
    """
    for k in range(w.constraint_force.shape[0]):
        w.constraint_force[k] = 0.0
        w.actuator_force[k] = 0.0 if t.prescribed[k] != 0 else w.command[k]
    deferred_forces(t, d, pr, src, h, w.constraint_force, w.actuator_force)
    for b in range(pr.num_blocks):
        if pr.deferred[b] != 0:
            continue
        if src.origin[b] == FROM_SERVO:
            add_block_force(pr, b, h, w.actuator_force)
        else:
            add_block_force(pr, b, h, w.constraint_force)
    for k in range(w.constraint_force.shape[0]):
        if t.prescribed[k] != 0:
            w.actuator_force[k] = w.drive_force[k] - w.constraint_force[k]


@kernel
def move_tree(t, d, pr, first, last, h, swept):
    """q <- q_M + (h/2) u_new + h u_position, which swept contacts made up to `swept` [m] long."""
    begin, end = t.first_dof[first], t.first_dof[last]
    share = correction_share(pr, begin, end, h, swept)
    for k in range(begin, end):
        d.u[k] = 0.5 * pr.u[k] + share * pr.u_position[k]
    advance(t, d, first, last, h)


@kernel
def move_balanced(t, d, w, pr, tree_index, most, h, swept):
    """`move_tree`, with the energy of what the position correction moves, and momentum as
    `kido.simulation.balance` has it; transforms are those of mid-step, and `most` is the fastest of `speeds`."""
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    base = floating_base(t, first, last) if most > 0.0 and w.grounded[tree_index] == 0 else -1
    if base >= 0 and not is_loose(t, base):
        base = -1
    if changes_energy(t, w, pr, tree_index, most, h):
        share = correction_share(pr, t.first_dof[first], t.first_dof[last], h, swept)
        keep_energy(t, d, w, pr, first, base, last, h, share)
    if base < 0:
        move_tree(t, d, pr, first, last, h, swept)
        return
    x_new, g = wanted_momentum(t, d, w, first, base, last, h)
    move_tree(t, d, pr, first, last, h, swept)
    give_momentum(t, d, pr, first, base, last, x_new, g)


@kernel
def move_after_impact(t, d, w, pr, tree_index, h, swept):
    """`move_and_balance` in a step whose middle was moved: by forces alone from there on (`kido.simulation.middle`)."""
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    begin, end = t.first_dof[first], t.first_dof[last]
    most, _ = speeds(w, pr, begin, end)
    base = floating_base(t, first, last) if most > 0.0 and w.grounded[tree_index] == 0 else -1
    if base >= 0 and not is_loose(t, base):
        base = -1
    x_new, g = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if base >= 0:
        x_new, g = wanted_momentum_beside(t, d, w, first, base, last, h)
    for k in range(begin, end):
        d.u[k] = w.middle_u[k] + (pr.u[k] - pr.u_free[k])
    holds = w.holds[tree_index] > 0
    if holds:
        hold(t, w, tree_index, 1)
    glide(t, d, w, pr, first, last, rest_of_step(w.row_origins), h, holds)
    if holds:
        hold(t, w, tree_index, 0)
    share = correction_share(pr, begin, end, h, swept)
    for k in range(begin, end):
        if t.prescribed[k] == 0:
            pr.u[k] = d.u[k]
        d.u[k] = share * pr.u_position[k]
    advance(t, d, first, last, h)
    if base >= 0:
        give_momentum(t, d, pr, first, base, last, x_new, g)


@kernel
def move_and_balance(t, d, w, pr, tree_index, h, swept):
    """`move_balanced`, with velocity products as `kido.simulation.balance` has them."""
    if w.row_origins.middle[0] != 0.5 * h:
        move_after_impact(t, d, w, pr, tree_index, h, swept)
        return
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    most, change = speeds(w, pr, t.first_dof[first], t.first_dof[last])
    if change > 0.0 and h * most > SLOW and w.row_origins.steady[t.first_dof[first]] == UNSTEADY:
        add_products(t, d, w, pr, tree_index, h)
    move_balanced(t, d, w, pr, tree_index, most, h, swept)


@kernel
def linear_by(R, values, k):
    """The linear numbers of the free joint whose first coordinate is k, turned back by R."""
    x, y, z = rotate_inverse(R, values[k + 3], values[k + 4], values[k + 5])
    values[k + 3], values[k + 4], values[k + 5] = x, y, z


@kernel
def hand_back(t, d, w, pr, first, last, h):
    """u, udot and constraint forces in the joints' own axes, at the new positions."""
    for k in range(t.first_dof[first], t.first_dof[last]):
        d.u[k] = pr.u[k]
        d.udot[k] = (pr.u[k] - w.start_u[k]) / h
    for i in range(first, last):
        if t.kind[i] == FREE_MIXED:
            k = t.first_dof[i]
            R = rotation_vector_to_matrix(d.q[k], d.q[k + 1], d.q[k + 2])
            linear_by(R, d.u, k)
            linear_by(R, d.udot, k)
            linear_by(R, w.constraint_force, k)
            # The twist's numbers also change because its axes turn: -w x v.
            x, y, z = cross(d.u[k], d.u[k + 1], d.u[k + 2], d.u[k + 3], d.u[k + 4], d.u[k + 5])
            d.udot[k + 3] -= x
            d.udot[k + 4] -= y
            d.udot[k + 5] -= z


@kernel
def largest_penetration(c):
    """Depth of the deepest contact [m], 0 if none penetrates."""
    depth = 0.0
    for k in range(c.num_contacts):
        if -c.gap[k] > depth and c.swept[k] == 0:
            depth = -c.gap[k]
    return depth


@kernel
def larger(worst, value):
    """The larger of two numbers; `worst` if the other is NaN."""
    return value if value > worst else worst


@kernel
def clear_report(r):
    """A report of nothing."""
    r.penetration = r.residual = r.iterations = r.status = r.num_contacts = 0.0
    r.dissipation = r.fallbacks = r.bounces = r.correction_energy = 0.0


@kernel
def report(c, pr, w, energy):
    """Numbers of this step, and the worst so far; `energy` is that of the position correction."""
    last, worst = w.last, w.worst
    last.penetration = largest_penetration(c)
    last.residual = pr.total_residual
    last.iterations = pr.total_iterations
    last.status = pr.total_status
    last.num_contacts = c.num_contacts
    last.dissipation = pr.total_power
    last.fallbacks = pr.total_fallbacks
    last.bounces = pr.total_bounces
    last.correction_energy = energy
    if last.status >= AT_CAP:
        w.unconverged += 1
    worst.penetration = larger(worst.penetration, last.penetration)
    worst.residual = larger(worst.residual, last.residual)
    worst.iterations = larger(worst.iterations, last.iterations)
    worst.status = larger(worst.status, last.status)
    worst.num_contacts = larger(worst.num_contacts, last.num_contacts)
    worst.dissipation = larger(worst.dissipation, last.dissipation)
    worst.fallbacks = larger(worst.fallbacks, last.fallbacks)
    worst.bounces = larger(worst.bounces, last.bounces)
    worst.correction_energy += energy


@callback
def integrate_share(address, begin, end, worker):
    """New velocities and positions of trees begin..end-1. Returns 0."""
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    pr = w.problem
    h = w.time_step
    rest = rest_of_step(w.row_origins)
    r = w.row_origins.responses
    lanes, numbers = r.lanes[worker, 0], r.lanes[worker, 1]
    group = view(FREE_LANES, numbers)
    swept = w.collision.sweep_push
    waiting = 0
    for tree_index in range(begin, end):
        first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
        if t.tree_mobile[tree_index] == 0 or last == first:
            continue
        if r.free[first] == NOT_FREE:
            if w.soft.address != 0:
                move_tree(t, d, pr, first, last, h, swept)
                w.balance_tree(w, tree_index)
            elif r.apart[tree_index] != 0:  # flexible
                w.move_flexible(w, tree_index)
            else:
                move_and_balance(t, d, w, pr, tree_index, h, swept)
            hand_back(t, d, w, pr, first, last, h)
        else:
            gather_landing(t, d, w, pr, r, group.x, first, waiting, h, swept)
            group.body[waiting] = first
            waiting += 1
            if waiting == LANES:
                land_together(t, d, w, lanes, numbers, waiting, rest, h)
                waiting = 0
    if waiting > 0:
        land_together(t, d, w, lanes, numbers, waiting, rest, h)
    return 0


@kernel
def take_impulses(w):
    """Give contacts, rows and coordinates what the problem's solution says. Returns `correction_energy`."""
    src, h = w.row_origins, w.time_step
    if src.num_impacts > 0:
        add_impulses(w.problem, src)
    return_impulses(w.collision, w.problem, src)
    constraint_forces(w.tree, w.data, w.problem, src, w, h)
    return correction_energy(w.tree, w.data, w.problem, src, h, w.collision.sweep_push)


@kernel
def close_and_hand_back(w):
    """Positions and velocities onto the constraints, and `hand_back` of all trees that move."""
    t = w.tree
    w.close_positions(w)
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] != 0:
            first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
            hand_back(t, w.data, w, w.problem, first, last, w.time_step)
    w.note_closed(w)


@callback
def integrate_bound_stage(address, unused_1, unused_2, unused_3):
    """New velocities and positions of all trees of a world with constraints between bodies. Returns 0."""
    w = view(WORLD, address)
    t, d, c, pr, h = w.tree, w.data, w.collision, w.problem, w.time_step
    for tree_index in range(t.tree_mobile.shape[0]):
        if t.tree_mobile[tree_index] == 0:
            continue
        if w.soft.address != 0 or w.loops.tree_group[tree_index] >= 0:  # groups have their own second half
            move_tree(t, d, pr, t.tree_body[tree_index], t.tree_body[tree_index + 1], h, c.sweep_push)
        elif w.row_origins.responses.apart[tree_index] != 0:  # flexible: aggregates are of groups
            w.move_flexible(w, tree_index)
        else:
            move_and_balance(t, d, w, pr, tree_index, h, c.sweep_push)
    close_and_hand_back(w)
    return 0


@callback
def integrate_stage(address, unused_1, unused_2, unused_3):
    """Run the stage. Returns 0."""
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    c = w.collision
    pr = w.problem
    energy = take_impulses(w)
    note_held(t, pr, w)
    if w.integrate_bound.address != 0:
        w.integrate_bound(w)
    else:
        trees = t.tree_mobile.shape[0]
        if w.team.address == 0:
            w.integrate_share(w, 0, trees, 0)
        else:
            share_out(w.team.address, w.integrate_share.address, address, trees, w.share)
        if w.row_origins.num_impacts > 0:
            add_ways(t, d, c, pr, w.row_origins)
    report(c, pr, w, energy)
    w.row_origins.middle[0] = 0.5 * w.time_step
    w.steps += 1
    return 0
