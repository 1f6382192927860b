"""Derivatives of what contacts that go on ask of the end of a step (`kido.simulation.row_motion`).

Of a contact at x (from the tree's point O) of a body with the velocity [w; v_O] and the acceleration [a; a_O] by
velocity products alone, both about O, that moved by dx since the last step and whose normal was m then,

    v = v_O + w x x,  a_x = a_O + a x x + w x v,  g = +-(h a_x + w x (dx - h v)) / 2,  bias = n . g +- (n - m) . v / 2

along the normal, and along the surface the mean of g of all contacts of the two bodies, or v where all slide on.
"""

from __future__ import annotations

from kido.jit import inlined, kernel, view
from kido.jit.duals.structs import NUMBERS
from kido.joints.kinds import FREE_MIXED
from kido.kernels.common_point import body_at_point, columns_at_point
from kido.kernels.derivatives import column
from kido.simulation.gradients.tangent.dynamics import crossed, free_columns, motion_of, plus
from kido.simulation.gradients.tangent.geometry import DUAL, cross3
from kido.simulation.row_motion import (
    DEEP,
    GIVEN,
    body_motion,
    end_of_pair,
    held_before,
    to_end,
    tree_motion,
)

MEAN, SLIP = 1, 2  # what is asked along surfaces


@inlined
def sum3(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def dot3(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def start_motion(t, d, w, c):
    """Motion of all bodies at the start's velocities, forces apart, about the tree's point, with its derivatives."""
    y = c.derivatives
    for k in range(d.q.shape[0]):
        d.u[k] = w.start_u[k]
        d.udot[k] = 0.0
        w.moved_of[k] = GIVEN
    for tree_index in range(t.tree_mobile.shape[0]):
        tree_motion(t, d, w, tree_index)
    for i in range(t.parent.shape[0]):
        body_at_point(t, d, y, i, 0.0, 0.0, 0.0)
        if t.kind[i] == FREE_MIXED:
            free_columns(t, d, y, i, 0.0, 0.0, 0.0)
        else:
            columns_at_point(t, d, y, i, t.gravity[0], t.gravity[1], t.gravity[2])


@kernel
def follow_rows(t, c, w, contacts):
    """Which contacts go on, in `follows` and `number`, as the step found; needs `start_motion`."""
    pr, src, d, h = w.problem, w.row_origins, c.data, w.time_step
    warm = view(NUMBERS, c.warm).number
    for k in range(contacts.num_contacts):
        for j in range(3):
            contacts.impulse[k, j] = warm[DUAL * (3 * k + j)]
    begin = 0
    while begin < pr.num_blocks:
        end = end_of_pair(contacts, pr, src, begin)
        if end == begin:
            begin += 1
            continue
        goes_on = False
        for b in range(begin, end):
            goes_on = goes_on or held_before(contacts, pr, b, src.index[b]) >= 0
        number, sliding = 0, 0
        first = src.index[begin]
        motion_a = body_motion(t, d, w, contacts.body_a[first], h)
        motion_b = body_motion(t, d, w, contacts.body_b[first], h)
        for b in range(begin, end):
            k = src.index[b]
            c.follows[b], c.first[b], c.length[b] = 0, begin, end - begin
            old = held_before(contacts, pr, b, k)
            pressed = old >= 0
            if goes_on and not pressed:
                old = contacts.same_feature[k]
            size = min(contacts.shape_reach[contacts.shape_a[k]], contacts.shape_reach[contacts.shape_b[k]])
            if contacts.gap[k] < -DEEP * size:
                continue
            row = pr.row[b]
            kept, one, two, p = pr.bias[row], pr.bias[row + 1], pr.bias[row + 2], pr.impulse[row]
            pr.bias[row + 1], pr.bias[row + 2] = 0.0, 0.0  # of the surfaces' own motion
            x, m = contacts.impulse, contacts.normal
            pr.impulse[row] = x[k, 0] * m[k, 0] + x[k, 1] * m[k, 1] + x[k, 2] * m[k, 2]
            _, found, slides = to_end(d, contacts, w, pr, b, k, old, pressed, motion_a, motion_b, size, h)
            pr.bias[row], pr.bias[row + 1], pr.bias[row + 2], pr.impulse[row] = kept, one, two, p
            if found:
                c.follows[b], c.old[b] = 1, old
                number += 1
                sliding += 1 if slides else 0
        for b in range(begin, end):
            c.going[b] = number
            c.along[b] = 0 if number == 0 else (SLIP if sliding == number else MEAN)
        begin = end


@kernel
def forget_start(d, w):
    """No motion is given any more."""
    for k in range(d.q.shape[0]):
        w.moved_of[k] = 0


@inlined
def edge(c, b, a):
    """Direction of row a of block b, with the sign of its body's side."""
    return c.twist[b, a, 3], c.twist[b, a, 4], c.twist[b, a, 5]


@inlined
def times_motion(F, b, r, s):
    """Row r of a change (., 6) times a motion."""
    o = 6 * r
    x = F[b, o] * s[0] + F[b, o + 1] * s[1] + F[b, o + 2] * s[2]
    return x + (F[b, o + 3] * s[3] + F[b, o + 4] * s[4] + F[b, o + 5] * s[5])


@inlined
def edge_change(c, b, a, s):
    """How that direction changes by a motion s of the body."""
    F = c.turn
    r = 36 * a
    x = F[b, r + 18] * s[0] + F[b, r + 19] * s[1] + F[b, r + 20] * s[2]
    y = F[b, r + 24] * s[0] + F[b, r + 25] * s[1] + F[b, r + 26] * s[2]
    z = F[b, r + 30] * s[0] + F[b, r + 31] * s[1] + F[b, r + 32] * s[2]
    return (
        x + (F[b, r + 21] * s[3] + F[b, r + 22] * s[4] + F[b, r + 23] * s[5]),
        y + (F[b, r + 27] * s[3] + F[b, r + 28] * s[4] + F[b, r + 29] * s[5]),
        z + (F[b, r + 33] * s[3] + F[b, r + 34] * s[4] + F[b, r + 35] * s[5]),
    )  # fmt: skip


@inlined
def turn_of(V):
    return V[0], V[1], V[2]


@inlined
def way_of(V):
    return V[3], V[4], V[5]


@inlined
def at_point(V, x):
    """Velocity of the material at x."""
    return sum3(way_of(V), cross3(turn_of(V), x))


@inlined
def scaled(s, a):
    return s * a[0], s * a[1], s * a[2]


@inlined
def from_point(c, contacts, body, k):
    """Contact k from the tree's point, with the tree's point where the body's origin says it is."""
    d, r = c.data, c.derivatives.r
    return (
        contacts.point[k, 0] - d.p[body, 0] + r[body, 0],
        contacts.point[k, 1] - d.p[body, 1] + r[body, 1],
        contacts.point[k, 2] - d.p[body, 2] + r[body, 2],
    )


@kernel
def half_change(c, contacts, b, k, body, h):
    """+-2 g of block b: its side's velocity in the second half of the step, twice; and dx - h v."""
    V, A = motion_of(c.derivatives.V, body), motion_of(c.derivatives.A, body)
    x = from_point(c, contacts, body, k)
    v = at_point(V, x)
    a = sum3(at_point(A, x), cross3(turn_of(V), v))
    o, old = contacts.old_point, c.old[b]
    p = contacts.point
    over = p[k, 0] - o[old, 0] - h * v[0], p[k, 1] - o[old, 1] - h * v[1], p[k, 2] - o[old, 2] - h * v[2]
    return sum3(scaled(h, a), cross3(turn_of(V), over)), over, v


@kernel
def pair_changes(t, c, contacts, w, n, begin, end, body, S, V, A, dV, dA, moves, column):
    """Changes of the rows of blocks begin..end-1 by those of the body's motion, and of its pose where it `moves`."""
    src, h = w.row_origins, w.time_step
    m = contacts.old_normal
    gx, gy, gz = 0.0, 0.0, 0.0
    ax, ay, az = 0.0, 0.0, 0.0
    zero = 0.0, 0.0, 0.0
    for b in range(begin, end):
        if c.follows[b] == 0:
            continue
        k = src.index[b]
        g, over, v = half_change(c, contacts, b, k, body, h)
        ax, ay, az = ax + g[0], ay + g[1], az + g[2]
        x = from_point(c, contacts, body, k)
        dx = (times_motion(c.move, b, 0, S), times_motion(c.move, b, 1, S), times_motion(c.move, b, 2, S))
        de = edge_change(c, b, 0, S)
        if not moves:
            dx = de = zero
        dv = sum3(at_point(dV, x), cross3(turn_of(V), dx))
        da = sum3(at_point(dA, x), cross3(turn_of(A), dx))
        da = sum3(da, sum3(cross3(turn_of(dV), v), cross3(turn_of(V), dv)))
        dover = dx[0] - h * dv[0], dx[1] - h * dv[1], dx[2] - h * dv[2]
        dg = sum3(scaled(h, da), sum3(cross3(turn_of(dV), over), cross3(turn_of(V), dover)))
        gx, gy, gz = gx + dg[0], gy + dg[1], gz + dg[2]
        if c.row[b] >= 0:
            e, old = edge(c, b, 0), c.old[b]
            s = c.side[b]
            turned = e[0] - s * m[old, 0], e[1] - s * m[old, 1], e[2] - s * m[old, 2]
            change = dot3(e, dg) + dot3(de, g) + dot3(de, v) + dot3(turned, dv)
            n.c[c.row[b], column] += 0.5 * change
    share = 0.5 / max(c.going[begin], 1)
    for b in range(begin, end):
        if c.row[b] < 0:
            continue
        for a in range(1, 3):
            e, de = edge(c, b, a), edge_change(c, b, a, S)
            if not moves:
                de = zero
            if c.along[b] == MEAN:
                change = share * (dot3(e, (gx, gy, gz)) + dot3(de, (ax, ay, az)))
            else:
                k = src.index[b]
                x = from_point(c, contacts, body, k)
                dx = (times_motion(c.move, b, 0, S), times_motion(c.move, b, 1, S), times_motion(c.move, b, 2, S))
                if not moves:
                    dx = zero
                change = dot3(de, at_point(V, x)) + dot3(e, sum3(at_point(dV, x), cross3(turn_of(V), dx)))
            n.c[c.row[b] + a, column] += change


@kernel
def add_following(t, c, w, contacts, n):
    """What all this adds to the rates of rows, by positions and by velocities."""
    pr, src, y = w.problem, w.row_origins, c.derivatives
    narrow = n.N.shape[1]
    begin = 0
    while begin < pr.num_blocks:
        end = end_of_pair(contacts, pr, src, begin)
        if end == begin:
            begin += 1
            continue
        body = src.body[begin]
        V, A = motion_of(y.V, body), motion_of(y.A, body)
        i = body
        while i >= 0 and c.along[begin] != 0:
            for k in range(t.first_dof[i], t.first_dof[i + 1]):
                S, dV = column(y.S, k), column(y.dV, k)
                a = crossed(S, V)
                b = crossed(S, A)
                e = crossed(dV, V)
                pair_changes(
                    t, c, contacts, w, n, begin, end, body, S, V, A,
                    plus(a, 1.0, dV), plus(plus(b, 1.0, e), 1.0, column(y.dA, k)), True, k,
                )  # fmt: skip
                pair_changes(
                    t, c, contacts, w, n, begin, end, body, S, V, A,
                    S, plus(a, 1.0, column(y.dA_du, k)), False, narrow + k,
                )  # fmt: skip
            i = t.parent[i]
        begin = end


@kernel
def bias_of_motion(c, contacts, w, b, body):
    """What motion has added to the biases of block b's three rows."""
    src, h = w.row_origins, w.time_step
    k = src.index[b]
    if c.along[b] == 0:
        return 0.0, 0.0, 0.0
    n0 = 0.0
    if c.follows[b] != 0:
        g, _, v = half_change(c, contacts, b, k, body, h)
        e, s, m, old = edge(c, b, 0), c.side[b], contacts.old_normal, c.old[b]
        turned = e[0] - s * m[old, 0], e[1] - s * m[old, 1], e[2] - s * m[old, 2]
        n0 = 0.5 * (dot3(e, g) + dot3(turned, v))
    if c.along[b] == SLIP:
        v = at_point(motion_of(c.derivatives.V, body), from_point(c, contacts, body, k))
        return n0, dot3(edge(c, b, 1), v), dot3(edge(c, b, 2), v)
    x, y, z = 0.0, 0.0, 0.0
    for o in range(c.first[b], c.first[b] + c.length[b]):
        if c.follows[o] != 0:
            g, _, _ = half_change(c, contacts, o, src.index[o], body, h)
            x, y, z = x + g[0], y + g[1], z + g[2]
    share = 0.5 / c.going[b]
    return n0, share * dot3(edge(c, b, 1), (x, y, z)), share * dot3(edge(c, b, 2), (x, y, z))
