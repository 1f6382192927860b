"""Newton's method along the tree of a robot, in eight worlds at once: blocks of all of them side by side.

A block of the lanes is a contact of a body, the first, second, ... that a world has there, or one kind of row of a
coordinate. In a world without it all its numbers are zero: it takes nothing and gives nothing, exactly. All bodies of
the tree take part. So what a lane finds does not depend on the others. It takes the steps that its world would take by
itself (`kido.constraints.tree_newton`); a lane that is done keeps its impulses. What is not solved then is left to its
world, from the warm start.
"""

from __future__ import annotations

import math

from kido.batch.lockstep_struct import LOCKSTEP, MAX_FEW_BODIES, MAX_FEW_DOFS
from kido.constraints.row_origins import FROM_CONTACT, FROM_FRICTION, FROM_LIMIT, FROM_SERVO
from kido.constraints.tree_newton import (
    CREEPING,
    GOOD_MERIT,
    SLOW_GAIN,
    TREE_PATIENCE,
    TREE_PENALTY,
    V_ROW,
    apply_to_tree,
    follow_tree,
    hold_blocks,
    make_admissible,
    measure_velocities,
    pull_blocks,
    tree_of_block,
)
from kido.jit import LANES, all_positive, callback, kernel, view, where_positive
from kido.kernels.chain_impulses import apply_chain, clear_impulses
from kido.kernels.regularized_tree import list_held, release_tree, solve_held_tree, weigh_held
from kido.kernels.touched_laws import apply_touched, release_touched, solve_touched
from kido.math.choices import any_positive, smaller
from kido.simulation.world_struct import WORLD
from kido.solvers.body_newton import MAX_PENALTY
from kido.solvers.certify import measure_rows
from kido.solvers.default import TREE_STEPS
from kido.solvers.history import BEST_ROW, TRIAL_ROW, gather
from kido.solvers.problem import BOUNDED, CONTACT, CONVERGED
from kido.solvers.rows import fastest_approach

KINDS = 6  # of rows of a coordinate: lower limit, upper limit, friction, actuator, lower and upper velocity limit
LEFT_BEHIND = math.inf  # merit of a lane that goes on by itself
MAX_BODY_CONTACTS = 16  # of a body in lanes; a world with more is solved by itself


@kernel
def kind_of_row(src, b):
    """Which row of its coordinate block b is."""
    origin = src.origin[b]
    if origin == FROM_LIMIT:
        return 0 if src.side[b] >= 0.0 else 1
    if origin == FROM_FRICTION:
        return 2
    if origin == FROM_SERVO:
        return 3
    return 4 if src.sign[b] > 0.0 else 5


@kernel
def island_of_tree(t, c, tree_index):
    """The island of a world's problem that Newton's method in lanes takes for a tree; -1: there is none."""
    for island in range(c.num_islands):
        start, end = c.island_start[island], c.island_start[island + 1]
        b = c.island_block[start]
        if c.deferred[b] != 0 and end - start > 1 and tree_of_block(t, c, b) == tree_index:
            return island if c.island_row[island + 1] - c.island_row[island] <= c.small_rows else -1
    return -1


@kernel
def has_few(touched, tree_index):
    """Whether equations of what is touched of a tree are dense ones, in lanes too."""
    if touched.number[tree_index] == 0:
        return False
    slot = touched.slot[tree_index]
    return touched.num_bodies[slot] <= MAX_FEW_BODIES and touched.num_dofs[slot] <= MAX_FEW_DOFS


@kernel
def list_places(x, t, touched, tree_index):
    """Where bodies and coordinates of a tree go in lanes: by themselves, or in the order in which they are touched."""
    body_place, dof_place = x.body_place, x.dof_place
    if x.dense == 0:
        for i in range(t.tree_body[tree_index], t.tree_body[tree_index + 1]):
            body_place[i] = i
        for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
            dof_place[k] = k
        return
    slot = touched.slot[tree_index]
    for n in range(touched.num_bodies[slot]):
        body_place[touched.body[slot, n]] = n
    for n in range(touched.num_dofs[slot]):
        dof_place[touched.dof[slot, n]] = n


@kernel
def count_contacts(x, c, src, island, bodies):
    """Contacts of each body of an island into `count`. Returns the most of a body."""
    for i in range(bodies):
        x.count[i] = 0
    most = 0
    for e in range(c.island_start[island], c.island_start[island + 1]):
        b = c.island_block[e]
        if c.kind[b] == CONTACT:
            i = x.body_place[src.body[b]]
            x.count[i] += 1
            most = max(most, x.count[i])
    return most


@callback
def lay_out_blocks(address, tree_index, unused_1, unused_2):
    """Choose the blocks of a robot in lanes, so that each of every world has one. Returns how many worlds take part."""
    x = view(LOCKSTEP, address)
    t = x.tree
    c = x.problem
    src = x.origins
    few = x.few
    bodies, dofs = (MAX_FEW_BODIES, MAX_FEW_DOFS) if x.dense != 0 else (t.parent.shape[0], t.body_of_dof.shape[0])
    for i in range(bodies):
        x.first_block[i] = 0  # the most contacts of a lane, at first
    for k in range(KINDS * dofs):
        x.place[k] = -1
    found = few.num_bodies[0] = few.num_dofs[0] = 0
    for j in range(LANES):
        x.island[j] = -1
        if x.world[j] == 0:
            continue
        w = view(WORLD, x.world[j])
        problem = w.problem
        origins = w.row_origins
        touched = origins.touched
        island = island_of_tree(t, problem, tree_index)
        if island < 0 or has_few(touched, tree_index) != (x.dense != 0):
            continue
        list_places(x, t, touched, tree_index)
        if count_contacts(x, problem, origins, island, bodies) > MAX_BODY_CONTACTS:
            continue
        x.island[j] = island
        found += 1
        for i in range(bodies):
            x.first_block[i] = max(x.first_block[i], x.count[i])
        for e in range(problem.island_start[island], problem.island_start[island + 1]):
            b = problem.island_block[e]
            if problem.kind[b] == BOUNDED:
                x.place[KINDS * x.dof_place[origins.index[b]] + kind_of_row(origins, b)] = 0
        if x.dense != 0:
            slot = touched.slot[tree_index]
            few.num_bodies[0] = max(few.num_bodies[0], touched.num_bodies[slot])
            few.num_dofs[0] = max(few.num_dofs[0], touched.num_dofs[slot])
    block = row = 0
    for i in range(bodies):
        number = x.first_block[i]
        x.first_block[i] = block
        for _ in range(number):
            c.kind[block], c.row[block] = CONTACT, row
            src.origin[block], src.body[block] = FROM_CONTACT, i
            block += 1
            row += 3
    for k in range(KINDS * dofs):
        if x.place[k] == 0:
            x.place[k] = block
            c.kind[block], c.row[block] = BOUNDED, row
            src.origin[block], src.index[block] = FROM_LIMIT, k // KINDS
            block += 1
            row += 1
    for b in range(block):
        c.island_block[b] = b
        for j in range(LANES):
            x.source[b, j] = -1
    c.island_start[0], c.island_start[1] = 0, block
    c.island_row[0], c.island_row[1] = 0, row
    c.num_blocks = block
    x.num_blocks = block
    for n in range(few.num_bodies[0]):
        few.body[0, n], few.contacts[n], few.place[n] = n, 6, 6 * n
    for n in range(few.num_dofs[0]):
        few.dof[0, n] = n
    return found


@kernel
def columns_of(few):
    """Columns of what is touched, of all lanes."""
    return 6 * few.num_bodies[0] + few.num_dofs[0]


@callback
def clear_blocks(address, unused_1, unused_2, unused_3):
    """No lane has a block. Returns 0."""
    x = view(LOCKSTEP, address)
    c = x.problem
    src = x.origins
    for b in range(x.num_blocks):
        c.mu[b], c.step[b], c.lower[b], c.upper[b] = 0.0, 0.0, 0.0, 0.0
        src.sign[b] = 0.0
        i = c.row[b]
        for r in range(i, i + (1 if c.kind[b] == BOUNDED else 3)):
            c.impulse[r], c.free[r], c.bias[r], c.compliance[r] = 0.0, 0.0, 0.0, 0.0
        if c.kind[b] != BOUNDED:
            for a in range(18):
                src.wrench[b, a] = 0.0
    c.island_approach[0] = 0.0
    few = x.few
    columns = columns_of(few)
    for r in range(columns):
        for s in range(columns):
            few.Omega[0, r, s] = 0.0
    return 0


@kernel
def fill_matrix(x, touched, tree_index, j):
    """Omega of a world into lane j."""
    slot = touched.slot[tree_index]
    Omega, wide = touched.Omega, x.wide_few.Omega
    columns, dofs = touched.number[tree_index], touched.num_dofs[slot]
    at = x.column
    for n in range(touched.num_bodies[slot]):
        body = touched.body[slot, n]
        length = 3 if touched.contacts[body] == 1 else 6
        for r in range(length):
            at[touched.place[body] + r] = 6 * n + 6 - length + r
    bodies = x.few.num_bodies
    for n in range(dofs):
        at[columns - dofs + n] = 6 * bodies[0] + n
    for r in range(columns):
        for s in range(columns):
            wide[0, at[r], LANES * at[s] + j] = Omega[slot, r, s]


@callback
def fill_blocks(address, tree_index, unused_1, unused_2):
    """The blocks of all worlds that take part into their lanes. Returns 0."""
    x = view(LOCKSTEP, address)
    t = x.tree
    p = x.wide_problem
    rows = x.problem.row
    for j in range(LANES):
        island = x.island[j]
        if island < 0:
            continue
        w = view(WORLD, x.world[j])
        c = w.problem
        src = w.row_origins
        list_places(x, t, src.touched, tree_index)
        for e in range(c.island_start[island], c.island_start[island + 1]):
            b = c.island_block[e]
            if c.kind[b] == CONTACT:
                x.count[x.body_place[src.body[b]]] = 0
        p.island_approach[j] = fastest_approach(c, island)
        for e in range(c.island_start[island], c.island_start[island + 1]):
            b = c.island_block[e]
            row, number = c.row[b], 1
            if c.kind[b] == BOUNDED:
                k = x.place[KINDS * x.dof_place[src.index[b]] + kind_of_row(src, b)]
                p.sign[LANES * k + j] = src.sign[b]
                p.lower[LANES * k + j], p.upper[LANES * k + j] = c.lower[b], c.upper[b]
            else:
                body = x.body_place[src.body[b]]
                k = x.first_block[body] + x.count[body]
                x.count[body] += 1
                number = 3
                p.mu[LANES * k + j] = c.mu[b]
                for a in range(18):
                    p.wrench[k, LANES * a + j] = src.wrench[b, a]
            x.source[k, j] = b
            p.step[LANES * k + j] = c.step[b]
            at = rows[k]
            for r in range(number):
                p.impulse[LANES * (at + r) + j] = c.impulse[row + r]
                p.free[LANES * (at + r) + j], p.bias[LANES * (at + r) + j] = c.free[row + r], c.bias[row + r]
                p.compliance[LANES * (at + r) + j] = c.compliance[row + r]
        if x.dense != 0:
            fill_matrix(x, src.touched, tree_index, j)
    return 0


@kernel
def keep_rows(c, live):
    """Where `live` is not positive, the impulses and row velocities that BEST_ROW and TRIAL_ROW hold."""
    h = c.history
    k = 0
    for b in range(c.num_blocks):
        i = c.row[b]
        for r in range(1 if c.kind[b] == BOUNDED else 3):
            c.impulse[i + r] = where_positive(live, c.impulse[i + r], h[BEST_ROW, k])
            h[V_ROW, k] = where_positive(live, h[V_ROW, k], h[TRIAL_ROW, k])
            k += 1


@kernel
def note_rows(c):
    """Impulses and row velocities into BEST_ROW and TRIAL_ROW."""
    gather(c, 0, BEST_ROW)
    h = c.history
    for k in range(c.island_row[1]):
        h[TRIAL_ROW, k] = h[V_ROW, k]


@kernel
def both(a, b):
    """Positive where a and b are."""
    return where_positive(a, where_positive(b, 1.0, -1.0), -1.0)


@kernel
def measure_few(c, src, y, few, columns):
    """`apply_to_few` in lanes."""
    release_touched(y, few, 0)
    pull_blocks(c, src, y, 0)
    apply_touched(y, few, 0, columns)
    return measure_velocities(c, src, y, 0)


@kernel
def newton(t, d, c, src, y, few, dense, tree_index, h):
    """Newton's method on the blocks in lanes. Returns the merit and the iterations of each lane."""
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    number = y.number[tree_index]
    columns = columns_of(few)
    make_admissible(c, 0)
    if dense:
        merit = measure_few(c, src, y, few, columns)
    else:
        merit = apply_to_tree(t, d, c, src, y, 0, first, last, number)
    done = 0.0 * merit
    vain, penalty, best = done, done + TREE_PENALTY, merit
    weighed = dense
    outer = where_positive(merit - 1.0, 1.0, -1.0) + done
    while any_positive(outer):
        if not weighed:
            weigh_held(t, d, y, first, last)
            weighed = True
        inner = both(outer, merit - GOOD_MERIT)
        while any_positive(inner):
            note_rows(c)
            if dense:
                release_touched(y, few, 0)
                hold_blocks(c, src, y, 0, penalty)
                solve_touched(y, few, 0, columns)
            else:
                release_tree(t, y, first, number)
                hold_blocks(c, src, y, 0, penalty)
                solve_held_tree(t, d, y, first, number, h)
            follow_tree(c, src, y, 0)
            keep_rows(c, inner)
            before = merit
            merit = where_positive(inner, measure_rows(c, 0, V_ROW), merit)
            done += where_positive(inner, 1.0, 0.0)
            vain = where_positive(inner, where_positive(merit - SLOW_GAIN * best, vain + 1.0, 0.0), vain)
            best = where_positive(inner, smaller(merit, best), best)
            creeps = both(both(merit - CREEPING * before, before - CREEPING * merit), both(MAX_PENALTY - penalty, inner))
            penalty = where_positive(creeps, 10.0 * penalty, penalty)
            vain = where_positive(creeps, 0.0, vain)
            if dense:  # greater penalties are for sweeps, which the world goes on with
                merit = where_positive(creeps, LEFT_BEHIND, merit)
                inner = both(inner, 0.0 - creeps)
                outer = both(outer, 0.0 - creeps)
            inner = both(inner, both(merit - GOOD_MERIT, both(TREE_STEPS - done, TREE_PATIENCE - vain)))
        note_rows(c)
        make_admissible(c, 0)
        keep_rows(c, outer)
        if dense:
            measured = measure_few(c, src, y, few, columns)
        else:
            measured = apply_to_tree(t, d, c, src, y, 0, first, last, number)
        merit = where_positive(outer, measured, merit)
        outer = both(outer, both(merit - 1.0, both(TREE_STEPS - done, TREE_PATIENCE - vain)))
    return merit, done


@callback
def solve_together(address, tree_index, unused_1, unused_2):
    """`newton` for a robot in lanes; `merit` and `taken` of each lane are what it returns."""
    x = view(LOCKSTEP, address)
    t = x.tree
    y = x.regularized
    own = x.own
    dense = x.dense != 0
    if not dense:
        hold_all(t, y, tree_index)
    merit, taken = newton(t, x.data, x.problem, x.origins, y, x.few, dense, tree_index, x.time_step)
    own.merit[0], own.taken[0] = merit, taken
    return 0


@kernel
def hold_all(t, y, tree_index):
    """All bodies of a tree take part."""
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    for i in range(first, last):
        y.held[i] = 1
    list_held(t, y, first, last)


@callback
def keep_solutions(address, tree_index, unused_1, unused_2):
    """Impulses of lanes that are solved to their worlds, whose islands are `kept`. Returns 0."""
    x = view(LOCKSTEP, address)
    p = x.wide_problem
    rows = x.problem.row
    for j in range(LANES):
        island = x.island[j]
        if island < 0 or not p.merit[j] <= 1.0:
            continue
        w = view(WORLD, x.world[j])
        c = w.problem
        for k in range(x.num_blocks):
            b = x.source[k, j]
            if b >= 0:
                at, row = rows[k], c.row[b]
                for r in range(1 if c.kind[b] == BOUNDED else 3):
                    c.impulse[row + r] = p.impulse[LANES * (at + r) + j]
        c.island_approach[island], c.island_residual[island] = p.island_approach[j], p.island_residual[j]
        c.island_speed[island], c.island_power[island] = p.island_speed[j], p.island_power[j]
        c.island_status[island] = CONVERGED
        c.island_iterations[island] = int(p.taken[j])
        x.kept[j] = island
    return 0


@callback
def clear_pulls(address, tree_index, unused_1, unused_2):
    """No impulses on a robot in lanes. Returns 0."""
    x = view(LOCKSTEP, address)
    t = x.tree
    y = x.regularized
    hold_all(t, y, tree_index)
    clear_impulses(t, y, t.tree_body[tree_index], y.number[tree_index])
    return 0


@callback
def pull_together(address, tree_index, unused_1, unused_2):
    """Impulses of islands that are `kept` on bodies and coordinates of a robot in lanes. Returns 0."""
    x = view(LOCKSTEP, address)
    p = x.wide_problem
    for j in range(LANES):
        island = x.kept[j]
        if island < 0:
            continue
        w = view(WORLD, x.world[j])
        c = w.problem
        src = w.row_origins
        v = src.wrench
        for e in range(c.island_start[island], c.island_start[island + 1]):
            b = c.island_block[e]
            i = c.row[b]
            if c.kind[b] == BOUNDED:
                p.joint_pull[LANES * src.index[b] + j] += src.sign[b] * c.impulse[i]
            else:
                p0, p1, p2 = c.impulse[i], c.impulse[i + 1], c.impulse[i + 2]
                for a in range(6):
                    p.pull[src.body[b], LANES * a + j] += v[b, a] * p0 + v[b, 6 + a] * p1 + v[b, 12 + a] * p2
    return 0


@callback
def apply_together(address, tree_index, unused_1, unused_2):
    """What these impulses do to the robot. Returns 0."""
    x = view(LOCKSTEP, address)
    t = x.tree
    y = x.regularized
    apply_chain(t, x.data, y, t.tree_body[tree_index], t.tree_body[tree_index + 1], y.number[tree_index])
    return 0


@callback
def keep_velocities(address, tree_index, unused_1, unused_2):
    """Velocities of robots whose islands are `kept` to their worlds. Returns 0."""
    x = view(LOCKSTEP, address)
    t = x.tree
    p = x.wide_problem
    for j in range(LANES):
        if x.kept[j] >= 0:
            c = view(WORLD, x.world[j]).problem
            for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
                c.u[k] = c.u_free[k] + p.s[LANES * k + j]
    return 0
