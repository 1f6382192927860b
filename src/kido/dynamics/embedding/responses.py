"""Responses of a tree with aggregates to unit wrenches on bodies and to unit forces on coordinates, in lanes.

What `kido.kernels.responses` makes of an ordinary tree: J_i and R_i of each body that was asked for, a column for each
coordinate. A wrench z on member m of an aggregate, moved to the aggregate's point, meets the places on the way from m
to the aggregate's parent:

    eps_a = -sum_s X_sa S_s . z,    y = L^-1 eps,    z <- z + g^T y

and on the way back L^T w = y - g A_parent are the velocities of the independent coordinates. So loops stay closed
whatever the impulses are. Needs transforms, `aggregate_geometry` and `articulate_tree`.
"""

from __future__ import annotations

from kido.dynamics.embedding.jumps import clear_jumps, jump_tree
from kido.jit import LANES, inlined, kernel
from kido.kernels.articulated import add_column, add_reaction, at_parent
from kido.kernels.inverse_dynamics import column_dot
from kido.kernels.responses import (
    WRENCH_COLUMNS,
    body_jacobian_rows,
    joint_velocity,
    keep_response,
    leave_body,
    parent_velocity,
    put_velocity,
)
from kido.kernels.touched_bodies import (
    LANE_COLUMNS,
    TOGETHER,
    clear_shares,
    keep_columns,
    lanes_of_body,
    own_compliances,
    unit_wrenches,
)
from kido.math.so3 import cross


@inlined
def column_dof(e, c, a):
    """Coordinate of the tree that is column a of aggregate c."""
    place = e.first_place[c]
    return e.dof[place + e.solved[place + e.rank[c] + a]]


@inlined
def meet_member(e, shares, c, m, offset, column, z0, z1, z2, z3, z4, z5):
    """Take -S . z of a member's places into `shares` of the aggregate's columns."""
    for s in range(e.member_place[m], e.member_place[m + 1]):
        value = -(
            (e.S[s, 0] * z0 + e.S[s, 1] * z1 + e.S[s, 2] * z2) + (e.S[s, 3] * z3 + e.S[s, 4] * z4 + e.S[s, 5] * z5)
        )
        role = e.role[s]
        if role >= 0:
            if role < e.free[c]:
                k = e.dof[s] - offset
                shares[k, column] = shares[k, column] + value
        else:
            X = e.X_at[c] + (-1 - role) * (e.columns[c] + 1)
            for a in range(e.free[c]):
                k = column_dof(e, c, a) - offset
                shares[k, column] = shares[k, column] + e.X[X + a] * value


@inlined
def leave_aggregate(e, shares, c, offset, column, z0, z1, z2, z3, z4, z5):
    """`shares` of the aggregate's columns by L^-1, and z that its parent gets."""
    place, free, D = e.first_place[c], e.free[c], e.X_at[c]
    for a in range(free):
        k = column_dof(e, c, a) - offset
        value = shares[k, column]
        for b in range(a):
            value = value - e.D[D + a * free + b] * shares[column_dof(e, c, b) - offset, column]
        value = value * e.D[D + a * free + a]
        shares[k, column] = value
        g = place + a
        z0 = z0 + e.g[g, 0] * value
        z1 = z1 + e.g[g, 1] * value
        z2 = z2 + e.g[g, 2] * value
        z3 = z3 + e.g[g, 3] * value
        z4 = z4 + e.g[g, 4] * value
        z5 = z5 + e.g[g, 5] * value
    return z0, z1, z2, z3, z4, z5


@inlined
def pull_up(t, d, e, w, i, offset, column, z0, z1, z2, z3, z4, z5):
    """Shares e of the coordinates from link i up to the base, from z on it about its origin and what e has of forces.

    Where the aggregate's columns are met by the way, they have the sums over all members' places.
    """
    while i >= 0:
        c = e.owner[i]
        if c < 0:
            z0, z1, z2, z3, z4, z5 = leave_body(t, d, w, i, offset, column, z0, z1, z2, z3, z4, z5)
            i = t.parent[i]
        else:
            x, y, z = cross(d.p[i, 0] - e.point[c, 0], d.p[i, 1] - e.point[c, 1], d.p[i, 2] - e.point[c, 2], z3, z4, z5)
            z0, z1, z2 = z0 + x, z1 + y, z2 + z
            m = e.number[i]
            while m >= 0:
                meet_member(e, w.e, c, m, offset, column, z0, z1, z2, z3, z4, z5)
                m = e.above[m]
            z0, z1, z2, z3, z4, z5 = leave_aggregate(e, w.e, c, offset, column, z0, z1, z2, z3, z4, z5)
            i = e.parent[c]


@inlined
def spread_columns(d, e, w, c, first, offset, column):
    """Velocities s of an aggregate's coordinates, from its parent's and the columns' y in e."""
    place, free, D, p = e.first_place[c], e.free[c], e.X_at[c], e.parent[c]
    for a in range(free - 1, -1, -1):
        k = column_dof(e, c, a) - offset
        value = w.e[k, column]
        if p >= 0:
            g, j = place + a, p - first
            value = value - (
                (e.g[g, 0] * w.B[j, 0, column] + e.g[g, 1] * w.B[j, 1, column] + e.g[g, 2] * w.B[j, 2, column])
                + (e.g[g, 3] * w.B[j, 3, column] + e.g[g, 4] * w.B[j, 4, column] + e.g[g, 5] * w.B[j, 5, column])
            )
        for b in range(a + 1, free):
            value = value - e.D[D + b * free + a] * w.s[column_dof(e, c, b) - offset, column]
        w.s[k, column] = value * e.D[D + a * free + a]
    for s in range(place, e.first_place[c + 1]):
        role = e.role[s]
        if role < 0:
            X = e.X_at[c] + (-1 - role) * (e.columns[c] + 1)
            value = 0.0 * w.wrench[0, 0]
            for a in range(free):
                value = value + e.X[X + a] * w.s[column_dof(e, c, a) - offset, column]
            w.s[e.dof[s] - offset, column] = value


@inlined
def velocity_above(d, t, w, i, first, c):
    """Velocity of link i's origin if only its parent moves."""
    zero = 0.0 * w.wrench[0, 0]
    b = zero, zero, zero, zero, zero, zero
    if t.parent[i] >= first:
        b = parent_velocity(d, w, i, t.parent[i] - first, c)
    return b


@inlined
def push_down(t, d, e, w, tree_index, c, wanted, every):
    """Velocities s of coordinates of a tree from the shares e, base to tips, column c.

    Args:
        wanted: not 0 for each body that is wanted, and for those above it.
        every: 1: all are, whatever it says.
    """
    first, offset = t.tree_body[tree_index], t.tree_dof[tree_index]
    for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
        i = e.item[q]
        if i >= 0:
            if every != 0 or wanted[i] != 0:
                b = velocity_above(d, t, w, i, first, c)
                for k in range(t.first_dof[i], t.first_dof[i + 1]):
                    b = joint_velocity(d, w, k, k - offset, c, b)
                put_velocity(w, i - first, c, b)
        else:
            own = -1 - i
            spread_columns(d, e, w, own, first, offset, c)
            for m in range(e.first_member[own], e.first_member[own + 1]):
                j = e.member[m]
                if every != 0 or wanted[j] != 0:
                    b = velocity_above(d, t, w, j, first, c)
                    for k in range(t.first_dof[j], t.first_dof[j + 1]):
                        s = w.s[k - offset, c]
                        b = add_column(d, k, s, b[0], b[1], b[2], b[3], b[4], b[5])
                    put_velocity(w, j - first, c, b)


@kernel
def clear_columns(w, length):
    """Zero shares and velocities of a tree's coordinates."""
    for c in range(WRENCH_COLUMNS):
        zero = 0.0 * w.wrench[0, c]
        for k in range(length):
            w.e[k, c] = zero
            w.s[k, c] = zero


@kernel
def body_responses(t, d, e, r, w, numbers, body):
    """J_i and R_i of one body to the rows reserved for it."""
    tree_index = t.tree_of_body[body]
    first, offset = t.tree_body[tree_index], t.tree_dof[tree_index]
    length = t.tree_dof[tree_index + 1] - offset
    body_jacobian_rows(t, d, r, body, first, offset, length, r.slot[body])
    clear_columns(w, length)
    for c in range(WRENCH_COLUMNS):
        pull_up(
            t, d, e, w, body, offset, c,
            w.wrench[0, c], w.wrench[1, c], w.wrench[2, c], w.wrench[3, c], w.wrench[4, c], w.wrench[5, c],
        )  # fmt: skip
        push_down(t, d, e, w, tree_index, c, t.moves, 1)
    keep_response(r, numbers, body, length, 0)


@kernel
def pull_coordinate(t, d, e, numbers, k, offset, j):
    """Shares e of a unit force on coordinate k, into number j of each row."""
    i = t.body_of_dof[k]
    c = e.owner[i]
    if c < 0:
        numbers.e[k - offset, j] = 1.0
        pull_up(t, d, e, numbers, i, offset, j, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        return
    for s in range(e.first_place[c], e.first_place[c + 1]):
        if e.dof[s] == k:
            role = e.role[s]
            if role >= 0:
                numbers.e[k - offset, j] = 1.0
            else:
                X = e.X_at[c] + (-1 - role) * (e.columns[c] + 1)
                for a in range(e.free[c]):
                    numbers.e[column_dof(e, c, a) - offset, j] = e.X[X + a]
    pull_up(t, d, e, numbers, i, offset, j, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def responses_of_tree(t, d, e, r, w, numbers, tree_index):
    """Fill the rows of all bodies and coordinates of a tree that were asked for."""
    for n in range(r.num_made):
        if t.tree_of_body[r.made[n]] == tree_index:
            body_responses(t, d, e, r, w, numbers, r.made[n])
    offset = t.tree_dof[tree_index]
    length = t.tree_dof[tree_index + 1] - offset
    n, number = 0, r.num_asked
    while n < number:
        clear_columns(w, length)
        together, begin = 0, n
        while n < number and together < WRENCH_COLUMNS * LANES:
            if t.tree_of_body[t.body_of_dof[r.asked[n]]] == tree_index:
                pull_coordinate(t, d, e, numbers, r.asked[n], offset, together)
                together += 1
            n += 1
        if together == 0:
            break
        for c in range(WRENCH_COLUMNS):
            push_down(t, d, e, w, tree_index, c, t.moves, 1)
        j = 0
        for x in range(begin, n):
            if t.tree_of_body[t.body_of_dof[r.asked[x]]] == tree_index:
                at = r.dof_slot[r.asked[x]]
                for k in range(length):
                    r.rows[at + k] = numbers.s[k, j]
                j += 1


@inlined
def add_shares(e, w, c, offset, column, z0, z1, z2, z3, z4, z5):
    """`leave_aggregate` of what is in s, which goes to e of others too."""
    z0, z1, z2, z3, z4, z5 = leave_aggregate(e, w.s, c, offset, column, z0, z1, z2, z3, z4, z5)
    for a in range(e.free[c]):
        k = column_dof(e, c, a) - offset
        w.e[k, column] = w.e[k, column] + w.s[k, column]
    return z0, z1, z2, z3, z4, z5


@inlined
def gather_up(t, d, e, w, i, stop, offset, column, z0, z1, z2, z3, z4, z5):
    """Add the shares e of z on link i, of its coordinates before `stop` and all above, in a column of the sweep.

    Unlike `pull_up`, where others have been gathered in the column, as in `kido.kernels.touched_bodies`; s is used up.
    """
    zero = 0.0 * z0
    while i >= 0:
        c = e.owner[i]
        if c < 0:
            for k in range(min(stop, t.first_dof[i + 1]) - 1, t.first_dof[i] - 1, -1):
                own = -column_dot(d, k, z0, z1, z2, z3, z4, z5) * d.Dinv[k]
                w.e[k - offset, column] = w.e[k - offset, column] + own
                z0, z1, z2, z3, z4, z5 = add_reaction(d, k, own, z0, z1, z2, z3, z4, z5)
            z0, z1, z2, z3, z4, z5 = at_parent(d, i, z0, z1, z2, z3, z4, z5)
            i = t.parent[i]
        else:
            x, y, z = cross(d.p[i, 0] - e.point[c, 0], d.p[i, 1] - e.point[c, 1], d.p[i, 2] - e.point[c, 2], z3, z4, z5)
            z0, z1, z2 = z0 + x, z1 + y, z2 + z
            for a in range(e.free[c]):
                w.s[column_dof(e, c, a) - offset, column] = zero
            m = e.number[i]
            while m >= 0:
                meet_member(e, w.s, c, m, offset, column, z0, z1, z2, z3, z4, z5)
                m = e.above[m]
            z0, z1, z2, z3, z4, z5 = add_shares(e, w, c, offset, column, z0, z1, z2, z3, z4, z5)
            i = e.parent[c]


@kernel
def gather_coordinate(t, d, e, numbers, k, offset, n):
    """The column of coordinate k, number n among those that are made together."""
    i = t.body_of_dof[k]
    c = e.owner[i]
    if c < 0:
        numbers.e[k - offset, n] = d.Dinv[k]
        z0, z1, z2, z3, z4, z5 = add_reaction(d, k, d.Dinv[k], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        gather_up(t, d, e, numbers, i, k, offset, n, z0, z1, z2, z3, z4, z5)
        return
    for a in range(e.free[c]):
        numbers.s[column_dof(e, c, a) - offset, n] = share_of_coordinate(e, c, k, a)
    z0, z1, z2, z3, z4, z5 = add_shares(e, numbers, c, offset, n, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    i = e.parent[c]
    if i >= 0:
        gather_up(t, d, e, numbers, i, t.first_dof[i + 1], offset, n, z0, z1, z2, z3, z4, z5)


@kernel
def share_of_coordinate(e, c, k, a):
    """Entry of X of coordinate k of an aggregate in column a, that of an independent one being 1 or 0."""
    for s in range(e.first_place[c], e.first_place[c + 1]):
        if e.dof[s] == k:
            role = e.role[s]
            if role < 0:
                return e.X[e.X_at[c] + (-1 - role) * (e.columns[c] + 1) + a]
            return 1.0 if role == a else 0.0
    return 0.0


@kernel
def columns_of_tree(t, d, e, y, x, w, numbers, tree_index):
    """`kido.kernels.touched_bodies.make_columns` of a tree with aggregates."""
    offset, slot = t.tree_dof[tree_index], x.slot[tree_index]
    columns, dofs = x.number[tree_index], x.num_dofs[slot]
    for start in range(0, columns, TOGETHER):
        clear_shares(w, t.tree_dof[tree_index + 1] - offset)
        for n in range(x.num_bodies[slot]):
            body = x.body[slot, n]
            at = x.place[body] - start
            if -6 < at < TOGETHER:
                begin, end = lanes_of_body(x, body, at)
                for c in range(begin, end):
                    unit_wrenches(x, numbers, body, at, c)
                    gather_up(
                        t, d, e, w, body, t.first_dof[body + 1], offset, c,
                        w.B[0, 0, c], w.B[0, 1, c], w.B[0, 2, c], w.B[0, 3, c], w.B[0, 4, c], w.B[0, 5, c],
                    )  # fmt: skip
        for n in range(dofs):
            at = columns - dofs + n - start
            if 0 <= at < TOGETHER:
                gather_coordinate(t, d, e, numbers, x.dof[slot, n], offset, at)
        for c in range(min(LANE_COLUMNS, -(-(columns - start) // LANES))):
            push_down(t, d, e, w, tree_index, c, y.held, 0)
        keep_columns(t, x, numbers, tree_index, start)
    own_compliances(x, y, tree_index)


@kernel
def answer_impulse(t, d, e, tree_index, impulse, change):
    """Velocities `change` of a tree's coordinates that a generalized impulse brings about; loops stay closed."""
    clear_jumps(e, tree_index)
    jump_tree(t, d, e, tree_index, 0.0, impulse, change)
