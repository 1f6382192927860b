"""Responses of bodies to impulses, made once for each body and shared by all rows that act on it.

A constraint row on body i is a wrench w = [moment; force] about the body's origin, so that its Jacobian row and its
response are combinations of six rows each:

    J = w^T J_i,   Y = w^T R_i,   R_i^T = M^-1 J_i^T

with J_i (6, dofs) the body's Jacobian, world axes, and R_i what unit wrenches bring about. A touched foot has 4
contacts of 3 rows; they cost one sweep of the tree, in which the six wrenches are lanes, and a few multiplications
for each entry. A row on one coordinate has a column of M^-1 for its response, made in lanes with those of others.

Needs transforms and U, Dinv, H, l of `articulated_inertias`. Theory reference, section a7 with a = b = 0.
"""

from __future__ import annotations

import numpy as np

from kido.jit import (
    JIT_DISABLED,
    LANES,
    Struct,
    floats,
    inlined,
    integer,
    integers,
    kernel,
    lanes_view,
    reference,
    stage,
    view,
)
from kido.kernels.articulated import add_column, at_child, at_parent, give_way, take_share
from kido.kernels.free_body import complete_free_body
from kido.kernels.free_lanes import BODY_NUMBERS, FREE_LANES, NOT_FREE, free_bodies
from kido.kernels.free_lanes import ROWS as LANE_ROWS
from kido.kernels.impulse import joint_impulse_row
from kido.math.so3 import cross

WRENCHES = 6
WRENCH_COLUMNS = -(-WRENCHES // LANES)  # lanes that hold six numbers
BODIES_TOGETHER = 2  # bodies that are worked on together
# Of trees that constraints bind, by rows or as aggregates, which stand apart then: IN_ROWS, or ONLY_APART.
NEVER, ALWAYS, ONLY_APART, IN_ROWS = 0, 1, -1, -2


class RESPONSE_SWEEP(Struct):
    wrench = floats(WRENCHES, "columns", doc="minus the unit wrenches, side by side")
    e = floats("dofs", "columns", doc="coordinate's own share of the velocity")
    s = floats("dofs", "columns", doc="velocity of the coordinate")
    B = floats("bodies", 6, "columns", doc="velocity of the body, [angular; linear] about its origin")


class RESPONSES(Struct):
    slot = integers("bodies", doc="where the rows of a body start in `rows`; -1: it has none in this step")
    made = integers("bodies", doc="bodies that have rows, in the order in which they were asked for")
    dof_slot = integers("dofs", doc="where the response of a coordinate starts in `rows`; -1: it has none")
    asked = integers("dofs", doc="coordinates that have one, in the order in which they were asked for")
    num_made = integer(doc="bodies in `made`")
    num_asked = integer(doc="coordinates in `asked`")
    needed = integer(doc="entries of `rows` that are needed")
    rows = floats("pool", doc="for each body six rows of J_i, then six of R_i, over its skeleton's coordinates")
    apart = integers("trees", doc="1: responses of the tree's bodies and coordinates are made by `others`")
    deferrable = integers(
        "trees", doc="NEVER, ALWAYS, ONLY_APART: solvers may do without responses of the tree; or IN_ROWS"
    )
    deferred = integers("trees", doc="1: in this step its responses are made where a solver asks for rows")
    others = stage(doc="does that: (others_of, 0), or (others_of, 1 + tree, thread) for one that was deferred")
    columns = stage(doc="columns of few touched bodies of such a tree (kido.kernels.touched_bodies): (others_of, tree)")
    apply = stage(doc="what impulses do to such a tree, as kido.kernels.chain_impulses.apply_chain: (others_of, tree)")
    deform = stage(doc="adds what modes do to the rows of a contact: (others_of, contact, block)")
    others_of = integer(doc="address of the struct that these work on")
    free = integers("bodies", doc="NOT_FREE, OFF_CENTRE or CENTRED (kido.kernels.free_lanes)")
    number = floats("bodies", BODY_NUMBERS, doc="constants of free bodies: INVERSE_MASS ... INVERSE")
    lanes = integers("threads", 2, doc="FREE_LANES of each thread as lanes, and as numbers")
    sweep = reference(RESPONSE_SWEEP, lanes=True, doc="work space of the sweep, in lanes")
    numbers = reference(RESPONSE_SWEEP, doc="the same, as numbers")
    sweeps = integers("threads", 2, doc="the two of each thread; the first's are these")


class Responses:
    """Arrays for the responses of a forest's bodies, and their owner.

    Args:
        tree: of the forest.
        pool: entries of `RESPONSES.rows`.
        threads: that have lanes of their own.
        free: whether free bodies have dynamics of their own.
    """

    def __init__(self, tree: Struct, pool: int = 0, threads: int = 1, free: bool = True):
        bodies = len(tree.parent)
        largest_bodies = int(np.max(np.diff(tree.tree_body), initial=1))
        largest_dofs = int(np.max(np.diff(tree.tree_dof), initial=1))
        sizes = {"dofs": max(largest_dofs, 1), "bodies": max(largest_bodies, 1)}
        self.sweeps = [_response_sweep(**sizes) for _ in range(threads)]
        dofs = len(tree.body_of_dof)
        self.container = RESPONSES(
            bodies=max(bodies, 1),
            dofs=max(dofs, 1),
            pool=max(pool, 1),
            threads=threads,
            trees=max(len(tree.tree_mobile), 1),
        )
        self.tree, self.free = tree, free
        self.properties_changed()
        self.lanes = [_free_lanes() for _ in range(threads)]
        self.container.lanes[:] = [[c.address for c in pair] for pair in self.lanes]
        self.container.slot[:] = -1
        self.container.dof_slot[:] = -1
        self.container.sweep, self.container.numbers = self.sweeps[0]
        self.container.sweeps[:] = [[c.address for c in pair] for pair in self.sweeps]

    def properties_changed(self) -> None:
        """Take the constants of free bodies from the tree."""
        if self.free and len(self.tree.parent):
            self.container.free[:], self.container.number[:] = free_bodies(self.tree)

    def with_room(self, pool: int = 0, threads: int = 0) -> Responses:
        """The same with more room."""
        c = self.container
        made = Responses(self.tree, max(pool, len(c.rows)), max(threads, len(c.lanes)), self.free)
        made.container.apart[:], made.container.deferrable[:] = c.apart, c.deferrable
        for name in ("others", "columns", "apply", "deform", "others_of"):
            setattr(made.container, name, getattr(c, name))
        return made

    @property
    def address(self) -> int:
        """Of the RESPONSES container."""
        return self.container.address


def _response_sweep(**sizes: int) -> tuple[Struct, Struct]:
    """RESPONSE_SWEEP as lanes, and the same memory as numbers."""
    columns = BODIES_TOGETHER * WRENCH_COLUMNS
    sweep = RESPONSE_SWEEP(samples=0 if JIT_DISABLED else LANES, columns=columns, **sizes)
    fields = {name: getattr(sweep, name) for name in RESPONSE_SWEEP.arrays}
    if not JIT_DISABLED:
        fields = {name: array.reshape(*array.shape[:-2], columns * LANES) for name, array in fields.items()}
    numbers = RESPONSE_SWEEP(**fields)
    for k in range(WRENCHES):
        numbers.wrench[k, k] = -1.0
    return sweep, numbers


def _free_lanes() -> tuple[Struct, Struct]:
    """FREE_LANES as lanes, and the same memory as numbers."""
    if JIT_DISABLED:
        alone = FREE_LANES(rows=LANE_ROWS, lanes=1)
        return alone, FREE_LANES(x=alone.x, body=alone.body)
    lanes = FREE_LANES(samples=LANES, rows=LANE_ROWS, lanes=LANES)
    return lanes, FREE_LANES(x=lanes.x.reshape(-1), body=lanes.body)


@kernel
def forget_responses(r):
    """No body and no coordinate has rows."""
    for k in range(r.num_made):
        r.slot[r.made[k]] = -1
    for k in range(r.num_asked):
        r.dof_slot[r.asked[k]] = -1
    r.num_made, r.needed, r.num_asked = 0, 0, 0


@kernel
def ask_coordinate(t, r, k):
    """Reserve the response of a coordinate, if it has none yet; `make_responses` fills it."""
    if r.dof_slot[k] < 0:
        tree_index = t.tree_of_body[t.body_of_dof[k]]
        r.dof_slot[k] = r.needed
        r.asked[r.num_asked] = k
        r.num_asked += 1
        r.needed += t.tree_dof[tree_index + 1] - t.tree_dof[tree_index]


@kernel
def ask_response(t, r, body):
    """Reserve the rows of a body that moves, if it has none yet; `make_responses` fills them."""
    if r.slot[body] < 0:
        tree_index = t.tree_of_body[body]
        r.slot[body] = r.needed
        r.made[r.num_made] = body
        r.num_made += 1
        r.needed += 2 * WRENCHES * (t.tree_dof[tree_index + 1] - t.tree_dof[tree_index])


@inlined
def leave_body(t, d, w, i, offset, column, z0, z1, z2, z3, z4, z5):
    """Shares e of a body's coordinates, from z on it and the forces that e has, and z that its parent gets."""
    for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
        force = w.e[k - offset, column]
        w.e[k - offset, column], z0, z1, z2, z3, z4, z5 = take_share(d, k, force, z0, z1, z2, z3, z4, z5)
    return at_parent(d, i, z0, z1, z2, z3, z4, z5)


@inlined
def pull(t, d, w, i, first, offset, column, z0, z1, z2, z3, z4, z5):
    """Shares e of the coordinates from body i up to the base, as `leave_body`."""
    while i >= first:
        z0, z1, z2, z3, z4, z5 = leave_body(t, d, w, i, offset, column, z0, z1, z2, z3, z4, z5)
        i = t.parent[i]


@inlined
def parent_velocity(d, w, i, p, c):
    """Velocity of body i's origin if only its parent, body p of the tree, moves."""
    return at_child(
        d, i, w.B[p, 0, c], w.B[p, 1, c], w.B[p, 2, c], w.B[p, 3, c], w.B[p, 4, c], w.B[p, 5, c]
    )  # fmt: skip


@inlined
def joint_velocity(d, w, k, row, c, b):
    """Velocity of coordinate k, and the body's with it."""
    s = give_way(d, k, w.e[row, c], b[0], b[1], b[2], b[3], b[4], b[5])
    w.s[row, c] = s
    return add_column(d, k, s, b[0], b[1], b[2], b[3], b[4], b[5])


@inlined
def put_velocity(w, j, c, b):
    """Keep the velocity of body j of the tree."""
    w.B[j, 0, c], w.B[j, 1, c], w.B[j, 2, c] = b[0], b[1], b[2]
    w.B[j, 3, c], w.B[j, 4, c], w.B[j, 5, c] = b[3], b[4], b[5]


@inlined
def push(t, d, w, first, last, offset, c):
    """Velocities of all coordinates of the tree from the shares e, base to tips, column c."""
    for i in range(first, last):
        parent = t.parent[i]
        zero = 0.0 * w.wrench[0, 0]
        b = zero, zero, zero, zero, zero, zero
        if parent >= first:
            b = parent_velocity(d, w, i, parent - first, c)
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            b = joint_velocity(d, w, k, k - offset, c, b)
        put_velocity(w, i - first, c, b)


@inlined
def push_body(t, d, w, i, first, offset, c):
    """Velocities of body i and its coordinates by their shares e, columns c and c + 1.

    What one column waits for is done for the other.
    """
    parent = t.parent[i]
    zero = 0.0 * w.wrench[0, 0]
    a = zero, zero, zero, zero, zero, zero
    b = zero, zero, zero, zero, zero, zero
    if parent >= first:
        a = parent_velocity(d, w, i, parent - first, c)
        b = parent_velocity(d, w, i, parent - first, c + 1)
    for k in range(t.first_dof[i], t.first_dof[i + 1]):
        a = joint_velocity(d, w, k, k - offset, c, a)
        b = joint_velocity(d, w, k, k - offset, c + 1, b)
    put_velocity(w, i - first, c, a)
    put_velocity(w, i - first, c + 1, b)


@kernel
def push_all(t, d, w, first, last, offset, columns):
    """`push` for some columns."""
    for c in range(0, columns - 1, 2):
        for i in range(first, last):
            push_body(t, d, w, i, first, offset, c)
    if columns % 2 != 0:
        push(t, d, w, first, last, offset, columns - 1)


@kernel
def body_jacobian_rows(t, d, r, body, first, offset, length, at):
    """J_i of a body to `rows` from `at` on."""
    rows = r.rows
    for k in range(at, at + WRENCHES * length):
        rows[k] = 0.0
    x = y = z = 0.0  # from the origin of body i to that of the body
    i = body
    while i >= first:
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            h0, h1, h2 = d.H[k, 0], d.H[k, 1], d.H[k, 2]
            a, b, c = cross(h0, h1, h2, x, y, z)
            j = at + k - offset
            rows[j], rows[j + length], rows[j + 2 * length] = h0, h1, h2
            rows[j + 3 * length] = d.H[k, 3] + a
            rows[j + 4 * length] = d.H[k, 4] + b
            rows[j + 5 * length] = d.H[k, 5] + c
        x += d.l[i, 0]
        y += d.l[i, 1]
        z += d.l[i, 2]
        i = t.parent[i]


@kernel
def pull_body(t, d, r, w, body, first, offset, length, column):
    """Jacobian rows of a body, and shares e of its responses in the columns from `column` on."""
    if r.free[body] != NOT_FREE:
        complete_free_body(t, d, body)
    body_jacobian_rows(t, d, r, body, first, offset, length, r.slot[body])
    for c in range(WRENCH_COLUMNS):
        zero = 0.0 * w.wrench[0, c]
        for k in range(length):
            w.e[k, column + c] = zero
        pull(
            t, d, w, body, first, offset, column + c,
            w.wrench[0, c], w.wrench[1, c], w.wrench[2, c], w.wrench[3, c], w.wrench[4, c], w.wrench[5, c],
        )  # fmt: skip


@kernel
def keep_response(r, numbers, body, length, column):
    """Copy the responses of a body from the columns from `column` on."""
    rows, at = r.rows, r.slot[body] + WRENCHES * length
    for k in range(length):
        for c in range(WRENCHES):
            rows[at + c * length + k] = numbers.s[k, column * LANES + c]


@kernel
def pull_coordinate(t, d, numbers, k, first, offset, j):
    """Shares e of the coordinates at and above coordinate k, from a unit force on it, into number j of each row."""
    numbers.e[k - offset, j] = 1.0
    pull(t, d, numbers, t.body_of_dof[k], first, offset, j, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def is_wanted(r, tree_index, only):
    """Whether responses of a tree are to be made now: `only` its, or (-1) all that are not deferred."""
    return r.apart[tree_index] == 0 and (tree_index == only or (only < 0 and r.deferred[tree_index] == 0))


@kernel
def make_coordinate_responses(t, d, r, w, numbers, only):
    """Fill the responses of coordinates that were asked for, as many neighbours of one tree as there are lanes."""
    n = 0
    while n < r.num_asked:
        tree_index = t.tree_of_body[t.body_of_dof[r.asked[n]]]
        if not is_wanted(r, tree_index, only):
            n += 1
            continue
        first, last, offset = t.tree_body[tree_index], t.tree_body[tree_index + 1], t.tree_dof[tree_index]
        length = t.tree_dof[tree_index + 1] - offset
        if r.free[first] != NOT_FREE:
            complete_free_body(t, d, first)
        for c in range(WRENCH_COLUMNS):
            zero = 0.0 * w.wrench[0, c]
            for k in range(length):
                w.e[k, c] = zero
        together = 0
        while together < WRENCH_COLUMNS * LANES and n + together < r.num_asked:
            k = r.asked[n + together]
            if t.tree_of_body[t.body_of_dof[k]] != tree_index:
                break
            pull_coordinate(t, d, numbers, k, first, offset, together)
            together += 1
        push_all(t, d, w, first, last, offset, WRENCH_COLUMNS)
        rows = r.rows
        for j in range(together):
            at = r.dof_slot[r.asked[n + j]]
            for k in range(length):
                rows[at + k] = numbers.s[k, j]
        n += together


@kernel
def make_body_responses(t, d, r, w, numbers, only):
    """Fill the rows of bodies that were asked for, two neighbours of one tree at a time."""
    n = 0
    while n < r.num_made:
        body = r.made[n]
        tree_index = t.tree_of_body[body]
        if not is_wanted(r, tree_index, only):
            n += 1
            continue
        first, last, offset = t.tree_body[tree_index], t.tree_body[tree_index + 1], t.tree_dof[tree_index]
        length = t.tree_dof[tree_index + 1] - offset
        together = 1
        pull_body(t, d, r, w, body, first, offset, length, 0)
        if n + 1 < r.num_made and t.tree_of_body[r.made[n + 1]] == tree_index:
            together = 2
            pull_body(t, d, r, w, r.made[n + 1], first, offset, length, WRENCH_COLUMNS)
        push_all(t, d, w, first, last, offset, together * WRENCH_COLUMNS)
        for j in range(together):
            keep_response(r, numbers, r.made[n + j], length, j * WRENCH_COLUMNS)
        n += together


@kernel
def make_responses(t, d, r):
    """Fill the rows of all bodies and coordinates that were asked for, but of trees that are deferred.

    Those of trees that stand apart are filled by `others`.
    """
    make_coordinate_responses(t, d, r, r.sweep, r.numbers, -1)
    make_body_responses(t, d, r, r.sweep, r.numbers, -1)
    if r.num_made + r.num_asked > 0:
        r.others(r.others_of)


@kernel
def make_deferred_responses(t, d, r, tree_index, thread):
    """Fill the rows of a tree that was deferred, in the work space of a thread."""
    w, numbers = lanes_view(RESPONSE_SWEEP, r.sweeps[thread, 0]), view(RESPONSE_SWEEP, r.sweeps[thread, 1])
    make_coordinate_responses(t, d, r, w, numbers, tree_index)
    make_body_responses(t, d, r, w, numbers, tree_index)


@inlined
def combine(rows, at, length, out, to, k, n0, n1, n2, f0, f1, f2):
    """Add entry k of the combination of six rows at `at`."""
    x = n0 * rows[at + k] + n1 * rows[at + length + k] + n2 * rows[at + 2 * length + k]
    y = f0 * rows[at + 3 * length + k] + f1 * rows[at + 4 * length + k] + f2 * rows[at + 5 * length + k]
    out[to + k] += x + y


@kernel
def response_row(r, body, length, n0, n1, n2, f0, f1, f2, J, Y, at):
    """Add one row on a body to J and its response to Y, `length` coordinates of its skeleton, from `at` on.

    Args:
        n0..f2: the row as a wrench [moment; force] about the body's origin, world axes.
    """
    rows, of_j = r.rows, r.slot[body]
    of_y = of_j + WRENCHES * length
    if length == 6:
        for k in range(6):
            combine(rows, of_j, 6, J, at, k, n0, n1, n2, f0, f1, f2)
            combine(rows, of_y, 6, Y, at, k, n0, n1, n2, f0, f1, f2)
    else:
        for k in range(length):
            combine(rows, of_j, length, J, at, k, n0, n1, n2, f0, f1, f2)
        for k in range(length):
            combine(rows, of_y, length, Y, at, k, n0, n1, n2, f0, f1, f2)


@kernel
def coordinate_row(t, d, r, k, sign, J, Y, at):
    """Add the row of a single coordinate to J and its response to Y, from `at` on; it need not have been asked for."""
    tree_index = t.tree_of_body[t.body_of_dof[k]]
    slot = r.dof_slot[k]
    if slot < 0:
        joint_impulse_row(t, d, t.tree_body[tree_index], t.tree_body[tree_index + 1], k, sign, J, Y, at)
        return
    offset = t.tree_dof[tree_index]
    rows = r.rows
    J[at + k - offset] += sign
    for n in range(t.tree_dof[tree_index + 1] - offset):
        Y[at + n] += sign * rows[slot + n]
