"""Blocks of what acts on a robot, of eight worlds side by side.

A block of the lanes is a contact of a body, the first, second, ... that a world has there, or one kind of row of a
coordinate. In a world without it all its numbers are zero: it takes nothing and gives nothing, exactly.
"""

from __future__ import annotations

from kido.batch.lockstep_few import empty_matrix, fill_matrix, has_few
from kido.batch.lockstep_struct import LOCKSTEP, MAX_FEW_BODIES, MAX_FEW_DOFS
from kido.constraints.row_origins import FROM_CONTACT, FROM_FRICTION, FROM_LIMIT, FROM_SERVO
from kido.constraints.tree_newton import tree_of_block
from kido.jit import LANES, callback, kernel, view
from kido.simulation.world_struct import WORLD
from kido.solvers.default import HOPELESS
from kido.solvers.problem import BOUNDED, CONTACT, CONVERGED
from kido.solvers.rows import fastest_approach

KINDS = 6  # of rows of a coordinate: lower limit, upper limit, friction, actuator, lower and upper velocity limit
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
        if x.world[j] == 0 or x.kept[j] >= 0:
            continue
        w = view(WORLD, x.world[j])
        problem = w.problem
        origins = w.row_origins
        touched = origins.touched
        island = island_of_tree(t, problem, tree_index)
        if island < 0 or (x.dense != 0 and not has_few(touched, tree_index)):
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
    empty_matrix(x.few)
    return 0


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


@callback
def keep_solutions(address, tree_index, unused_1, unused_2):
    """Impulses of lanes to their worlds, whose islands are `kept`; some are `left` unsolved. Returns 0."""
    x = view(LOCKSTEP, address)
    p = x.wide_problem
    rows = x.problem.row
    for j in range(LANES):
        island = x.island[j]
        if island < 0 or not p.merit[j] < HOPELESS:
            continue
        x.left[j] = 0 if p.merit[j] <= 1.0 else int(p.taken[j])
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
