"""Few bodies and coordinates of a tree that impulses act on: the matrix of what they do to each other.

A robot that stands touches the ground with two or four bodies. What impulses there do to the velocities there is the
matrix of operational space, Omega = C M^-1 C^T, with a row of C for each of few *columns*: six unit wrenches on a body
about its origin; three unit forces at the only point at which it is touched; a unit force on a coordinate. With it
neither impulses nor laws that hold these bodies need a sweep of the tree (`kido.kernels.touched_laws`).

The columns are made together in lanes: they gather what they meet on their paths to the base, and one sweep over the
chain makes the velocities of all of them. Needs transforms and U, Dinv, H, l of `articulated_inertias`.
"""

from __future__ import annotations

import numpy as np

from kido.jit import JIT_DISABLED, LANES, Struct, floats, inlined, integers, kernel, reference
from kido.kernels.articulated import add_reaction, at_parent
from kido.kernels.inverse_dynamics import column_dot
from kido.kernels.responses import BODIES_TOGETHER, WRENCH_COLUMNS, push_body
from kido.math.so3 import cross

MOST = 24  # columns of a tree, beyond which sweeps take less time
LANE_COLUMNS = BODIES_TOGETHER * WRENCH_COLUMNS  # of lanes, that are made together
TOGETHER = LANE_COLUMNS * LANES
WIDTH = -(-MOST // TOGETHER) * TOGETHER


class TOUCHED_ROWS(Struct):
    """Matrices of TOUCHED, their rows in lanes."""

    Omega = floats("slots", MOST, "wide")
    inverse = floats("slots", MOST, "columns")
    A = floats("slots", MOST, "columns")
    tie = floats("slots", MOST, "columns")
    unit = floats("slots", MOST, "columns")
    V = floats("slots", "columns")


class TOUCHED(Struct):
    slot = integers("trees", doc="of each tree: where its matrices are; -1: it has none")
    number = integers("trees", doc="columns of a tree; 0: too many, or none")
    body = integers("slots", MOST, doc="bodies of a tree that are touched")
    dof = integers("slots", MOST, doc="coordinates of a tree that laws hold")
    num_bodies = integers("slots", doc="their numbers, with those that have no place in the lists")
    num_dofs = integers("slots")
    contacts = integers("bodies", doc="points at which a body is touched")
    place = integers("bodies", doc="first column of a body that is touched")
    arm = floats("bodies", 3, unit="m", doc="first of these points from the body's origin, world axes")
    Omega = floats("slots", MOST, WIDTH, doc="velocity of each column by an impulse of another")
    inverse = floats("slots", MOST, MOST, doc="inertia of the columns that are held")
    inverted = integers("slots", doc="how many columns that is of; 0: none")
    A = floats("slots", MOST, MOST, doc="work: the same, with G")
    F = floats("slots", MOST, doc="work: impulses, and the right side")
    V = floats("slots", MOST, doc="work: velocities")
    kept = floats("slots", MOST, doc="work: impulses, then velocities, of the columns that are held")
    held = integers("slots", MOST, doc="columns that are held")
    num_tied = integers("slots", doc="how many of these have velocities that follow from those of the others")
    tied = integers("slots", MOST, doc="numbers of such columns in `held`")
    tie = floats("slots", MOST, MOST, doc="a row for each: shares of the velocities of the others, and -1 for its own")
    unit = floats("slots", MOST, MOST, doc="the unit matrix")
    rows = reference(TOUCHED_ROWS, lanes=True, doc="the matrices and V once more")


def new_touched(trees: int, bodies: int, slots: int) -> TOUCHED:
    """Room for what is touched of some trees."""
    rows = TOUCHED_ROWS(samples=0 if JIT_DISABLED else LANES, slots=slots, wide=WIDTH // LANES, columns=MOST // LANES)
    wide = {"Omega": (slots, MOST, WIDTH), "V": (slots, MOST)}
    numbers = {name: getattr(rows, name).reshape(wide.get(name, (slots, MOST, MOST))) for name in TOUCHED_ROWS.arrays}
    numbers["unit"][:] = np.eye(MOST)
    return TOUCHED(trees=trees, bodies=bodies, slots=slots, rows=rows, **numbers)


@kernel
def untouch_tree(x, tree_index):
    """Nothing of a tree is touched."""
    slot = x.slot[tree_index]
    x.number[tree_index] = 0
    if slot >= 0:
        for n in range(min(x.num_bodies[slot], MOST)):
            x.contacts[x.body[slot, n]] = 0
        x.num_bodies[slot] = x.num_dofs[slot] = 0


@kernel
def touch_body(x, tree_index, body, rx, ry, rz):
    """A body is touched, at r from its origin."""
    slot = x.slot[tree_index]
    if slot < 0:
        return
    if x.num_bodies[slot] > MOST:
        return
    if x.contacts[body] == 0:
        n = x.num_bodies[slot]
        x.num_bodies[slot] = n + 1
        if n == MOST:
            return
        x.body[slot, n] = body
        x.arm[body, 0], x.arm[body, 1], x.arm[body, 2] = rx, ry, rz
    x.contacts[body] += 1


@kernel
def touch_dof(x, tree_index, k):
    """A law may hold coordinate k; asked once for each."""
    slot = x.slot[tree_index]
    if slot >= 0:
        n = x.num_dofs[slot]
        if n < MOST:
            x.dof[slot, n] = k
        x.num_dofs[slot] = n + 1


@kernel
def place_columns(x, tree_index):
    """Columns of what is touched of a tree, or none if they are too many. Returns their number."""
    slot = x.slot[tree_index]
    if slot < 0 or x.num_bodies[slot] > MOST:
        return 0
    number = x.num_dofs[slot]
    for n in range(x.num_bodies[slot]):
        number += 3 if x.contacts[x.body[slot, n]] == 1 else 6
    if number > MOST:
        return 0
    at = 0
    for n in range(x.num_bodies[slot]):
        body = x.body[slot, n]
        x.place[body] = at
        at += 3 if x.contacts[body] == 1 else 6
    x.number[tree_index] = number
    return number


@inlined
def gather_path(t, d, w, i, stop, first, offset, c, z0, z1, z2, z3, z4, z5):
    """Add the shares e of z on body i, of its coordinates before `stop` and all above, in a column of the sweep."""
    while i >= first:
        for k in range(min(stop, t.first_dof[i + 1]) - 1, t.first_dof[i] - 1, -1):
            e = -column_dot(d, k, z0, z1, z2, z3, z4, z5) * d.Dinv[k]
            w.e[k - offset, c] = w.e[k - offset, c] + e
            z0, z1, z2, z3, z4, z5 = add_reaction(d, k, e, z0, z1, z2, z3, z4, z5)
        z0, z1, z2, z3, z4, z5 = at_parent(d, i, z0, z1, z2, z3, z4, z5)
        i = t.parent[i]


@kernel
def lanes_of_body(x, body, column):
    """The first of the lanes that hold columns of a body, and the one after the last; `column`: its first there."""
    length = 3 if x.contacts[body] == 1 else 6
    return max(column, 0) // LANES, min((column + length - 1) // LANES, LANE_COLUMNS - 1) + 1


@kernel
def unit_wrenches(x, numbers, body, column, c):
    """B[0]: minus the unit wrenches of the columns of a body that are in lane c of the sweep, zeros in others."""
    length = 3 if x.contacts[body] == 1 else 6
    for j in range(6):
        for n in range(c * LANES, (c + 1) * LANES):
            numbers.B[0, j, n] = 0.0
    for j in range(length):
        n = column + j
        if n // LANES != c:
            continue
        if length == 6:
            numbers.B[0, j, n] = -1.0
            continue
        f0, f1, f2 = (1.0 if j == 0 else 0.0), (1.0 if j == 1 else 0.0), (1.0 if j == 2 else 0.0)
        m0, m1, m2 = cross(x.arm[body, 0], x.arm[body, 1], x.arm[body, 2], f0, f1, f2)
        numbers.B[0, 0, n], numbers.B[0, 1, n], numbers.B[0, 2, n] = -m0, -m1, -m2
        numbers.B[0, 3, n], numbers.B[0, 4, n], numbers.B[0, 5, n] = -f0, -f1, -f2


@kernel
def gather_body(t, d, x, w, numbers, body, column, first, offset):
    """The columns of a body among those that are made together, `column` being its first there."""
    begin, end = lanes_of_body(x, body, column)
    for c in range(begin, end):
        unit_wrenches(x, numbers, body, column, c)
        B = w.B
        gather_path(
            t, d, w, body, t.first_dof[body + 1], first, offset, c,
            B[0, 0, c], B[0, 1, c], B[0, 2, c], B[0, 3, c], B[0, 4, c], B[0, 5, c],
        )  # fmt: skip


@kernel
def gather_dof(t, d, numbers, k, n, first, offset):
    """The column of coordinate k, number n among those that are made together."""
    e = d.Dinv[k]
    numbers.e[k - offset, n] = e
    i = t.body_of_dof[k]
    z0, z1, z2, z3, z4, z5 = add_reaction(d, k, e, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    gather_path(t, d, numbers, i, k, first, offset, n, z0, z1, z2, z3, z4, z5)


@kernel
def scatter_chain(t, d, y, w, first, number, offset):
    """Velocities of the chain by the shares e, of all columns that are made together."""
    for c in range(0, LANE_COLUMNS, 2):
        for n in range(first, first + number):
            push_body(t, d, w, y.chain[n], first, offset, c)


@kernel
def make_columns(t, d, y, x, w, numbers, tree_index):
    """Omega of a tree after `place_columns`, and by it the compliances of bodies and coordinates that are touched.

    Args:
        w, numbers: RESPONSE_SWEEP in lanes, and the same memory as numbers.
    """
    first, offset, slot = t.tree_body[tree_index], t.tree_dof[tree_index], x.slot[tree_index]
    columns = x.number[tree_index]
    bodies, dofs = x.num_bodies[slot], x.num_dofs[slot]
    begin = columns - dofs
    for start in range(0, columns, TOGETHER):
        clear_shares(w, t.tree_dof[tree_index + 1] - offset)
        for n in range(bodies):
            body = x.body[slot, n]
            at = x.place[body] - start
            if -6 < at < TOGETHER:
                gather_body(t, d, x, w, numbers, body, at, first, offset)
        for n in range(dofs):
            at = begin + n - start
            if 0 <= at < TOGETHER:
                gather_dof(t, d, numbers, x.dof[slot, n], at, first, offset)
        scatter_chain(t, d, y, w, first, y.number[tree_index], offset)
        keep_columns(t, x, numbers, tree_index, start)
    own_compliances(x, y, tree_index)


@kernel
def clear_shares(w, length):
    """Zero shares of a tree's coordinates, in all columns that are made together."""
    zero = 0.0 * w.wrench[0, 0]
    for k in range(length):
        for c in range(LANE_COLUMNS):
            w.e[k, c] = zero


@kernel
def keep_columns(t, x, numbers, tree_index, start):
    """Copy the columns that were made together, `start` being their first, to Omega."""
    first, offset, slot = t.tree_body[tree_index], t.tree_dof[tree_index], x.slot[tree_index]
    Omega, dofs = x.Omega, x.num_dofs[slot]
    begin = x.number[tree_index] - dofs
    for n in range(x.num_bodies[slot]):
        body = x.body[slot, n]
        at, i = x.place[body], body - first
        if x.contacts[body] == 1:
            r0, r1, r2 = x.arm[body, 0], x.arm[body, 1], x.arm[body, 2]
            B = numbers.B
            for c in range(TOGETHER):
                v0, v1, v2 = cross(B[i, 0, c], B[i, 1, c], B[i, 2, c], r0, r1, r2)
                Omega[slot, at, start + c] = B[i, 3, c] + v0
                Omega[slot, at + 1, start + c] = B[i, 4, c] + v1
                Omega[slot, at + 2, start + c] = B[i, 5, c] + v2
        else:
            for j in range(6):
                for c in range(TOGETHER):
                    Omega[slot, at + j, start + c] = numbers.B[i, j, c]
    for n in range(dofs):
        k = x.dof[slot, n] - offset
        for c in range(TOGETHER):
            Omega[slot, begin + n, start + c] = numbers.s[k, c]


@kernel
def own_compliances(x, y, tree_index):
    """Compliances of what is touched of a tree, by its new Omega."""
    slot = x.slot[tree_index]
    begin = x.number[tree_index] - x.num_dofs[slot]
    x.inverted[slot] = 0
    for n in range(x.num_bodies[slot]):
        body_compliance(x, y, slot, x.body[slot, n])
    for n in range(x.num_dofs[slot]):
        y.own[x.dof[slot, n]] = x.Omega[slot, begin + n, begin + n]


@kernel
def body_compliance(x, y, slot, body):
    """Compliance of a body to wrenches about its origin; where it is touched at one point, to forces there alone."""
    at, Y, Omega = x.place[body], y.Y, x.Omega
    for j in range(21):
        Y[body, j] = 0.0
    f = at
    if x.contacts[body] > 1:
        f = at + 3
        n = 0
        for r in range(3):
            for c in range(r, 3):
                Y[body, n] = Omega[slot, at + r, at + c]
                n += 1
        for r in range(3):
            for c in range(3):
                Y[body, 6 + 3 * r + c] = Omega[slot, at + r, f + c]
    n = 15
    for r in range(3):
        for c in range(r, 3):
            Y[body, n] = Omega[slot, f + r, f + c]
            n += 1
