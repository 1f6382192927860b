"""Stage of worlds whose trees may sleep: who is quiet, who must wake, which islands may go to sleep.

A part (skeleton) at rest is made one that does not move: `TREE.tree_mobile`, `TREE.moves` and the detector's
`body_moving` are zero while it sleeps, so that no other stage does anything for it and pairs of sleepers are not
looked at. Python carries out what this stage finds (`kido.simulation.sleeping`), and keeps the sleepers' contacts.

Speed of a coordinate: l |u|, with l = sqrt(M_kk / m), m the mass that it moves, so that the square is twice its
kinetic energy per mass; l is 1 for a translation and a radius of gyration for a rotation. A tree is quiet while no
coordinate of it is faster than the threshold. Trees that push each other, or are tied to each other, form an island
and sleep and wake together; what moves by prescription unites nothing.
"""

from __future__ import annotations

import math

from kido.collision.container import COLLISION, CONTACTS, OLD_PAIRS
from kido.constraints.actuator import number_prescribed
from kido.constraints.loop_schema import LOOPS
from kido.constraints.row_origins import FROM_CONTACT, ROW_ORIGINS
from kido.jit import Struct, callback, floats, integers, kernel, view
from kido.simulation.schema import (
    COLLISION_AT,
    DATA_AT,
    LOOPS_AT,
    NUM_CONTACTS,
    PENETRATION,
    PROBLEM_AT,
    ROW_ORIGINS_AT,
    SLEEP_AT,
    TREE_AT,
    WORLD,
)
from kido.simulation.step import AT_SOLUTION, BEFORE
from kido.solvers.problem import BLOCKS, PROBLEM
from kido.solvers.rows import num_segments, segment
from kido.tree.schema import DATA, TREE

# Entries of `setting`.
SPEED, TIME, STORED, DEEPEST = 0, 1, 2, 3

# What `kept` holds of each coordinate of a sleeper.
LIMIT, FRICTION, ACTUATOR, CONSTRAINT_FORCE, ACTUATOR_FORCE = range(5)


class SLEEP(Struct):
    setting = floats(4, doc="speed [m/s], time [s]; contacts of sleepers: number, greatest depth [m]")
    may = integers("trees", doc="1: the tree has coordinates and is allowed to sleep")
    asleep = integers("trees")
    island = integers("trees", doc="of a sleeper: the first tree of those that fell asleep with it")
    quiet = floats("trees", unit="s", doc="for how long it has been quiet")
    chosen = integers("trees", doc="out: 1: to wake, or to sleep")
    root = integers("trees", doc="work: union-find; out: the first tree of its island")
    length = floats("dofs", unit="m or 1", doc="speed per velocity of a coordinate")
    start_q = floats("dofs", doc="positions before the step")
    start_u = floats("dofs", doc="velocities before the step, in the joints' own axes")
    q = floats("dofs", doc="positions in which it fell asleep; of immobile trees, when the last one did")
    tau = floats("dofs", doc="joint forces with which it fell asleep")
    command = floats("dofs", doc="other commands with which it fell asleep")
    external = floats("bodies", 24, doc="external forces with which it fell asleep")
    kept = floats("dofs", 5, doc="impulses and forces of the last step before: LIMIT ... ACTUATOR_FORCE")
    gravity = floats(3, unit="m/s^2", doc="gravity when the last one fell asleep")


@kernel
def is_driven_whole(t, tree_index):
    """Whether all coordinates of a tree are prescribed."""
    begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
    return end > begin and number_prescribed(t, begin, end) == end - begin


@kernel
def is_moving(t, d, tree_index):
    """Whether a tree has a velocity at all."""
    moving = False
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        if d.u[k] != 0.0:
            moving = True
    return moving


@kernel
def is_moved_by_force(t, d, tree_index):
    """Whether a tree is awake, prescribed in a coordinate, and moving."""
    begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
    return t.tree_mobile[tree_index] != 0 and number_prescribed(t, begin, end) > 0 and is_moving(t, d, tree_index)


@kernel
def remember_start(t, d, s):
    """Keep the state before the step. Returns 1 if all is asleep, and there is nothing to do."""
    awake = asleep = 0
    for tree_index in range(s.asleep.shape[0]):
        asleep += s.asleep[tree_index]
        if t.tree_mobile[tree_index] != 0:
            begin, end = t.tree_dof[tree_index], t.tree_dof[tree_index + 1]
            if end > begin:
                awake += 1
            for k in range(begin, end):
                s.start_q[k], s.start_u[k] = d.q[k], d.u[k]
    return 1 if awake == 0 and asleep > 0 else 0


@kernel
def mark_beside(t, d, s, a, b):
    """Mark a sleeper beside a tree that is moved by prescription. Returns 1 if that is new."""
    if s.asleep[a] + s.asleep[b] != 1:
        return 0
    tree_index, other = (a, b) if s.asleep[a] != 0 else (b, a)
    if s.chosen[tree_index] != 0 or not is_moved_by_force(t, d, other):
        return 0
    s.chosen[tree_index] = 1
    return 1


@kernel
def find_disturbed(t, d, c, pr, src, s):
    """Mark sleepers that something pushes, and those beside what is moved by prescription. Returns their number.

    The solution took them as immobile; if it gives a contact of theirs an impulse, it is to be found anew.
    """
    number = 0
    for tree_index in range(s.asleep.shape[0]):
        s.chosen[tree_index] = 0
    for b in range(pr.count[BLOCKS]):
        if src.origin[b] == FROM_CONTACT and pr.impulse[pr.row[b]] > 0.0:
            k = src.index[b]
            for side in range(2):
                tree_index = t.tree_of_body[c.body_a[k] if side == 0 else c.body_b[k]]
                if s.asleep[tree_index] != 0 and s.chosen[tree_index] == 0:
                    s.chosen[tree_index] = 1
                    number += 1
    for k in range(c.count[CONTACTS]):
        number += mark_beside(t, d, s, t.tree_of_body[c.body_a[k]], t.tree_of_body[c.body_b[k]])
    for p in range(c.count[OLD_PAIRS]):  # it may have left in this step
        if c.old_pair_count[p] > 0:
            a, b = c.shape_body[c.old_pair_a[p]], c.shape_body[c.old_pair_b[p]]
            number += mark_beside(t, d, s, t.tree_of_body[a], t.tree_of_body[b])
    return number


@kernel
def find_root(root, i):
    """Root of i, halving the path."""
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


@kernel
def unite_trees(t, pr, src, s):
    """Union-find over the trees: those that a block ties, or a contact with an impulse."""
    for tree_index in range(s.root.shape[0]):
        s.root[tree_index] = tree_index
    for b in range(pr.count[BLOCKS]):
        if src.origin[b] == FROM_CONTACT and pr.impulse[pr.row[b]] == 0.0:
            continue
        first = -1
        for k in range(num_segments(pr, b)):
            dof, length, _ = segment(pr, b, k)
            if length == 0:
                continue
            tree_index = t.tree_of_body[t.body_of_dof[dof]]
            if is_driven_whole(t, tree_index):
                continue
            if first >= 0:
                x, y = find_root(s.root, first), find_root(s.root, tree_index)
                s.root[max(x, y)] = min(x, y)
            first = tree_index


@kernel
def unite_groups(lp, s):
    """Unite the trees that constraints hold together."""
    for g in range(lp.num_groups):
        first = lp.member[lp.group_member[g]]
        for e in range(lp.group_member[g], lp.group_member[g + 1]):
            x, y = find_root(s.root, first), find_root(s.root, lp.member[e])
            s.root[max(x, y)] = min(x, y)


@kernel
def speed_of(t, d, s, tree_index):
    """Speed of a tree's fastest coordinate [m/s]; infinite if it is NaN."""
    fastest = 0.0
    for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
        v = s.length[k] * math.fabs(d.u[k])
        if not v <= fastest:
            fastest = v if v == v else math.inf
    return fastest


@kernel
def count_quiet(t, d, c, s, h):
    """How long each tree has been quiet; not so beside what is moved by prescription."""
    for tree_index in range(s.quiet.shape[0]):
        if t.tree_mobile[tree_index] == 0:
            continue
        limit = 0.0 if is_driven_whole(t, tree_index) else s.setting[SPEED]
        if s.may[tree_index] != 0 and speed_of(t, d, s, tree_index) <= limit:
            s.quiet[tree_index] += h
        else:
            s.quiet[tree_index] = 0.0
    for k in range(c.count[CONTACTS]):
        a, b = t.tree_of_body[c.body_a[k]], t.tree_of_body[c.body_b[k]]
        if is_moved_by_force(t, d, a):
            s.quiet[b] = 0.0
        if is_moved_by_force(t, d, b):
            s.quiet[a] = 0.0


@kernel
def choose_sleepers(t, s):
    """Mark the parts of islands that are quiet for long enough. Returns their number."""
    for tree_index in range(s.root.shape[0]):
        s.root[tree_index] = find_root(s.root, tree_index)
        s.chosen[tree_index] = 1
    for tree_index in range(s.root.shape[0]):
        if t.tree_mobile[tree_index] == 0 or s.quiet[tree_index] < s.setting[TIME] or s.may[tree_index] == 0:
            s.chosen[s.root[tree_index]] = 0
    number = 0
    for tree_index in range(s.root.shape[0]):
        s.chosen[tree_index] = s.chosen[s.root[tree_index]]  # roots come first
        number += s.chosen[tree_index]
    return number


@kernel
def show_sleepers(t, d, w, c, src, s):
    """Forces and impulses of sleepers stay those of the last step before they slept."""
    for tree_index in range(s.asleep.shape[0]):
        if s.asleep[tree_index] != 0:
            for k in range(t.tree_dof[tree_index], t.tree_dof[tree_index + 1]):
                src.limit_impulse[k] = s.kept[k, LIMIT]
                src.friction_impulse[k] = s.kept[k, FRICTION]
                src.actuator_impulse[k] = s.kept[k, ACTUATOR]
                w.constraint_force[k] = s.kept[k, CONSTRAINT_FORCE]
                w.actuator_force[k] = s.kept[k, ACTUATOR_FORCE]
    w.last[NUM_CONTACTS] = c.count[CONTACTS] + s.setting[STORED]
    w.worst[NUM_CONTACTS] = max(w.worst[NUM_CONTACTS], w.last[NUM_CONTACTS])
    w.last[PENETRATION] = max(w.last[PENETRATION], s.setting[DEEPEST])


@kernel
def report_rest(w, s):
    """The report of a step in which all was asleep: contacts as they are, and nothing done."""
    for k in range(w.last.shape[0]):
        w.last[k] = 0.0
    w.last[NUM_CONTACTS] = s.setting[STORED]
    w.last[PENETRATION] = s.setting[DEEPEST]


@callback
def sleeping_stage(address, when, unused_1, unused_2):
    """Run the stage BEFORE a step, AT_SOLUTION or AFTER it.

    Returns:
        BEFORE: 1 if all is asleep. AT_SOLUTION, AFTER: the number of trees to wake, or to sleep, in SLEEP.chosen.
    """
    w = view(WORLD, address)
    t = view(TREE, w.table[TREE_AT])
    d = view(DATA, w.table[DATA_AT])
    s = view(SLEEP, w.table[SLEEP_AT])
    if when == BEFORE:
        rest = remember_start(t, d, s)
        if rest != 0:
            report_rest(w, s)
        return rest
    c = view(COLLISION, w.table[COLLISION_AT])
    pr = view(PROBLEM, w.table[PROBLEM_AT])
    src = view(ROW_ORIGINS, w.table[ROW_ORIGINS_AT])
    if when == AT_SOLUTION:
        return find_disturbed(t, d, c, pr, src, s)
    unite_trees(t, pr, src, s)
    if w.table[LOOPS_AT] != 0:
        unite_groups(view(LOOPS, w.table[LOOPS_AT]), s)
    count_quiet(t, d, c, s, w.time_step[0])
    number = choose_sleepers(t, s)
    show_sleepers(t, d, w, c, src, s)
    return number
