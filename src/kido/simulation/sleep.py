"""Stages of worlds whose trees may sleep: who is quiet, who must wake, which islands may go to sleep.

A part (skeleton) at rest is made one that does not move: `TREE.tree_mobile`, `TREE.moves` and the detector's
`body_moving` are zero while it sleeps, so that no other stage does anything for it and pairs of sleepers are not
looked at. Python carries out what these stages find (`kido.simulation.sleeping`), and keeps the sleepers' contacts.

Speed of a coordinate: l |u|, with l = sqrt(M_kk / m), m the mass that it moves, so that the square is twice its
kinetic energy per mass; l is 1 for a translation and a radius of gyration for a rotation. A tree is quiet while no
coordinate of it is faster than the threshold. Trees that push each other, or are tied to each other, form an island
and sleep and wake together; what moves by prescription unites nothing.
"""

from __future__ import annotations

import math

from kido.constraints.joint import number_prescribed
from kido.constraints.row_origins import FROM_CONTACT
from kido.jit import Struct, callback, floats, integer, integers, kernel, number, view
from kido.simulation.integrate import clear_report
from kido.simulation.world_struct import WORLD
from kido.solvers.islands import find, unite
from kido.solvers.rows import num_segments, segment


class SLEEP(Struct):
    speed = number("m/s", doc="up to which a tree is quiet")
    time = number("s", doc="for which it must be quiet")
    stored = integer(doc="number of contacts of sleepers")
    deepest = number("m", doc="their greatest depth")
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
    limit_impulse = floats("dofs", doc="of the last step before, as the others below")
    friction_impulse = floats("dofs")
    actuator_impulse = floats("dofs")
    constraint_force = floats("dofs")
    actuator_force = floats("dofs")
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
    for b in range(pr.num_blocks):
        if src.origin[b] == FROM_CONTACT and pr.impulse[pr.row[b]] > 0.0:
            k = src.index[b]
            for side in range(2):
                tree_index = t.tree_of_body[c.body_a[k] if side == 0 else c.body_b[k]]
                if s.asleep[tree_index] != 0 and s.chosen[tree_index] == 0:
                    s.chosen[tree_index] = 1
                    number += 1
    for k in range(c.num_contacts):
        number += mark_beside(t, d, s, t.tree_of_body[c.body_a[k]], t.tree_of_body[c.body_b[k]])
    for p in range(c.num_old_pairs):  # it may have left in this step
        if c.old_pair_count[p] > 0:
            a, b = c.shape_body[c.old_pair_a[p]], c.shape_body[c.old_pair_b[p]]
            number += mark_beside(t, d, s, t.tree_of_body[a], t.tree_of_body[b])
    return number


@kernel
def unite_trees(t, pr, src, s):
    """Union-find over the trees: those that a block ties, or a contact with an impulse."""
    for tree_index in range(s.root.shape[0]):
        s.root[tree_index] = tree_index
    for b in range(pr.num_blocks):
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
                unite(s.root, first, tree_index)
            first = tree_index


@kernel
def unite_groups(lp, s):
    """Unite the trees that constraints hold together."""
    for g in range(lp.num_groups):
        first = lp.member[lp.group_member[g]]
        for e in range(lp.group_member[g], lp.group_member[g + 1]):
            unite(s.root, first, lp.member[e])


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
        limit = 0.0 if is_driven_whole(t, tree_index) else s.speed
        if s.may[tree_index] != 0 and speed_of(t, d, s, tree_index) <= limit:
            s.quiet[tree_index] += h
        else:
            s.quiet[tree_index] = 0.0
    for k in range(c.num_contacts):
        a, b = t.tree_of_body[c.body_a[k]], t.tree_of_body[c.body_b[k]]
        if is_moved_by_force(t, d, a):
            s.quiet[b] = 0.0
        if is_moved_by_force(t, d, b):
            s.quiet[a] = 0.0


@kernel
def choose_sleepers(t, s):
    """Mark the parts of islands that are quiet for long enough. Returns their number."""
    for tree_index in range(s.root.shape[0]):
        s.root[tree_index] = find(s.root, tree_index)
        s.chosen[tree_index] = 1
    for tree_index in range(s.root.shape[0]):
        if t.tree_mobile[tree_index] == 0 or s.quiet[tree_index] < s.time or s.may[tree_index] == 0:
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
                src.limit_impulse[k] = s.limit_impulse[k]
                src.friction_impulse[k] = s.friction_impulse[k]
                src.actuator_impulse[k] = s.actuator_impulse[k]
                w.constraint_force[k] = s.constraint_force[k]
                w.actuator_force[k] = s.actuator_force[k]
    w.last.num_contacts = c.num_contacts + s.stored
    w.worst.num_contacts = max(w.worst.num_contacts, w.last.num_contacts)
    w.last.penetration = max(w.last.penetration, s.deepest)


@kernel
def report_rest(w, s):
    """The report of a step in which all was asleep: contacts as they are, and nothing done."""
    clear_report(w.last)
    w.last.num_contacts = s.stored
    w.last.penetration = s.deepest


@callback
def sleep_begin(world, sleep, unused_2, unused_3):
    """Keep the state before the step. Returns 1 if all is asleep."""
    w, s = view(WORLD, world), view(SLEEP, sleep)
    rest = remember_start(w.tree, w.data, s)
    if rest != 0:
        report_rest(w, s)
    return rest


@callback
def sleep_check(world, sleep, unused_2, unused_3):
    """Look for sleepers that the solution disturbs. Returns the number of trees to wake, in SLEEP.chosen."""
    w, s = view(WORLD, world), view(SLEEP, sleep)
    return find_disturbed(w.tree, w.data, w.collision, w.problem, w.row_origins, s)


@callback
def sleep_end(world, sleep, unused_2, unused_3):
    """Look for islands that may sleep. Returns the number of trees to put to sleep, in SLEEP.chosen."""
    w, s = view(WORLD, world), view(SLEEP, sleep)
    t, d = w.tree, w.data
    unite_trees(t, w.problem, w.row_origins, s)
    if w.loops.address != 0:
        unite_groups(w.loops, s)
    count_quiet(t, d, w.collision, s, w.time_step)
    number = choose_sleepers(t, s)
    show_sleepers(t, d, w, w.collision, w.row_origins, s)
    return number
