"""Right-hand sides of the system with cut hinges, its solution, and accelerations of coordinates from those of bodies.

The matrix and the equations are those of `kido.dynamics.cut_hinges`.
"""

from __future__ import annotations

from kido.constraints.loop_rates import rate_changes
from kido.constraints.loop_schema import COUPLE
from kido.dynamics.block_factor import solve_blocks
from kido.dynamics.cut_hinges import add_dual, row_on_bodies, shift
from kido.dynamics.rows import clear_wrenches
from kido.jit import kernel
from kido.kernels.forward_dynamics import prescribed_bias
from kido.kernels.inertia import spatial_momentum
from kido.kernels.inverse_dynamics import applied_wrench
from kido.math.so3 import cross


@kernel
def parent_acceleration(t, d, A, i, still):
    """phi*(p, i) A(p): what body i would have if its hinge did not move."""
    parent = t.parent[i]
    if parent < 0:
        return 0.0, 0.0, 0.0, still[0], still[1], still[2]
    x, y, z = cross(A[parent, 0], A[parent, 1], A[parent, 2], d.l[i, 0], d.l[i, 1], d.l[i, 2])
    return A[parent, 0], A[parent, 1], A[parent, 2], A[parent, 3] + x, A[parent, 4] + y, A[parent, 5] + z


@kernel
def driven_bias(t, d, i, moving):
    """a(i) + H udot of prescribed coordinates; zero for responses to impulses."""
    if moving == 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    return prescribed_bias(t, d, i)


@kernel
def along_dual(o, k, a0, a1, a2, a3, a4, a5):
    """H'_k . a."""
    g = o.dual
    return g[k, 0] * a0 + g[k, 1] * a1 + g[k, 2] * a2 + g[k, 3] * a3 + g[k, 4] * a4 + g[k, 5] * a5


@kernel
def fill_bodies(t, d, o, b, tau, moving):
    """Right-hand sides of bodies and hinges; without velocities, loads and gravity where moving is 0."""
    clear_wrenches(o.W)
    still = (-t.gravity[0] * moving, -t.gravity[1] * moving, -t.gravity[2] * moving)
    for k in range(tau.shape[0]):
        if t.prescribed[k] == 0:
            force = tau[k]
            if t.armature[k] != 0.0:
                i = t.body_of_dof[k]
                a0, a1, a2, a3, a4, a5 = driven_bias(t, d, i, moving)
                if t.parent[i] < 0:
                    a3, a4, a5 = a3 + still[0], a4 + still[1], a5 + still[2]
                force += t.armature[k] * along_dual(o, k, a0, a1, a2, a3, a4, a5)
            add_dual(t, d, o, k, force, o.W)
    for i in range(t.parent.shape[0]):
        at = b.first[o.body_node[i]]
        for e in range(6):
            b.x[at + e] = o.W[i, e]
        if moving != 0:
            w = applied_wrench(t, d, i)
            b.x[at] -= w[0]
            b.x[at + 1] -= w[1]
            b.x[at + 2] -= w[2]
            b.x[at + 3] -= w[3]
            b.x[at + 4] -= w[4]
            b.x[at + 5] -= w[5]
        node = o.hinge_node[i]
        if node >= 0:
            a0, a1, a2, a3, a4, a5 = driven_bias(t, d, i, moving)
            if t.parent[i] < 0:
                a3, a4, a5 = a3 + still[0], a4 + still[1], a5 + still[2]
            at = b.first[node]
            for r in range(b.size[node]):
                value = o.N[i, r, 0] * a0 + o.N[i, r, 1] * a1 + o.N[i, r, 2] * a2
                value += o.N[i, r, 3] * a3 + o.N[i, r, 4] * a4 + o.N[i, r, 5] * a5
                b.x[at + r] = value
                if o.leans[i] != 0:
                    add_leaning(t, d, o, b, i, r, o.lean[i] * value)


@kernel
def add_leaning(t, d, o, b, i, r, value):
    """Right-hand sides of what `lean_on_hinge` adds, for one row of a hinge."""
    n = o.N
    for e in range(6):
        b.x[b.first[o.body_node[i]] + e] += value * n[i, r, e]
    if t.parent[i] >= 0:
        at = b.first[o.body_node[t.parent[i]]]
        w = shift(d, i, n[i, r, 0], n[i, r, 1], n[i, r, 2], n[i, r, 3], n[i, r, 4], n[i, r, 5])
        b.x[at] -= value * w[0]
        b.x[at + 1] -= value * w[1]
        b.x[at + 2] -= value * w[2]
        b.x[at + 3] -= value * w[3]
        b.x[at + 4] -= value * w[4]
        b.x[at + 5] -= value * w[5]


@kernel
def coordinate_rate(t, d, o, A, k, still, moving):
    """udot_k of a free coordinate from the accelerations of its two bodies."""
    i = t.body_of_dof[k]
    c0, c1, c2, c3, c4, c5 = parent_acceleration(t, d, A, i, still)
    a0, a1, a2, a3, a4, a5 = driven_bias(t, d, i, moving)
    total = o.dual[k, 0] * (A[i, 0] - c0 - a0) + o.dual[k, 1] * (A[i, 1] - c1 - a1)
    total += o.dual[k, 2] * (A[i, 2] - c2 - a2) + o.dual[k, 3] * (A[i, 3] - c3 - a3)
    return total + o.dual[k, 4] * (A[i, 4] - c4 - a4) + o.dual[k, 5] * (A[i, 5] - c5 - a5)


@kernel
def fill_slots(t, d, lp, y, o, b):
    """Right-hand sides of rows: Udot less what they have where A of all bodies is zero. Overwrites A."""
    still = (-t.gravity[0], -t.gravity[1], -t.gravity[2])
    for i in range(t.parent.shape[0]):
        for e in range(6):
            d.A[i, e] = 0.0
    for c in range(lp.num_constraints):
        rate_changes(d, d.A, 0.0, lp, c, still, y.by_row)
    for s in range(y.num_rows):
        r = lp.slot[s]
        c = lp.of[r]
        value = y.rate_change[s] - y.by_row[r]
        if lp.kind[r] == COUPLE:
            for e in range(lp.first_term[c], lp.first_term[c + 1]):
                k = lp.term_dof[e]
                rate = d.udot[k]
                if t.prescribed[k] == 0:
                    rate = coordinate_rate(t, d, o, d.A, k, still, 1)
                value -= lp.sign[r] * lp.term_factor[e] * rate
        b.x[b.first[o.slot_node[s]] + o.slot_row[s]] = value


@kernel
def read_bodies(t, o, b, A):
    """Accelerations of bodies from the solution."""
    for i in range(t.parent.shape[0]):
        at = b.first[o.body_node[i]]
        for e in range(6):
            A[i, e] = b.x[at + e]


@kernel
def rate_of_total(t, d, o, b, k):
    """H'_k . (alpha(i) - phi* alpha(p)) of the accelerations in `total`."""
    total, i = b.total, t.body_of_dof[k]
    at, parent = b.first[o.body_node[i]], t.parent[i]
    rate = along_dual(o, k, total[at], total[at + 1], total[at + 2], total[at + 3], total[at + 4], total[at + 5])
    if parent >= 0:
        p = b.first[o.body_node[parent]]
        x, y, z = cross(total[p], total[p + 1], total[p + 2], d.l[i, 0], d.l[i, 1], d.l[i, 2])
        rate -= along_dual(
            o, k, total[p], total[p + 1], total[p + 2], total[p + 3] + x, total[p + 4] + y, total[p + 5] + z
        )
    return rate


@kernel
def remainder(t, d, lp, y, o, b):
    """x = right - K total, from bodies, hinges and rows as they are, not from blocks."""
    total, W = b.total, o.W
    clear_wrenches(W)
    for s in range(y.num_rows):
        row_on_bodies(t, d, lp, o, s, -total[b.first[o.slot_node[s]] + o.slot_row[s]], W)
    for i in range(t.parent.shape[0]):
        at, parent, node = b.first[o.body_node[i]], t.parent[i], o.hinge_node[i]
        for e in range(6):
            b.x[at + e] = b.right[at + e]
        h = spatial_momentum(
            t, d, i, total[at], total[at + 1], total[at + 2], total[at + 3], total[at + 4], total[at + 5]
        )
        W[i, 0] -= h[0]
        W[i, 1] -= h[1]
        W[i, 2] -= h[2]
        W[i, 3] -= h[3]
        W[i, 4] -= h[4]
        W[i, 5] -= h[5]
        if node < 0:
            continue
        above = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        if parent >= 0:
            p = b.first[o.body_node[parent]]
            x, y0, z = cross(total[p], total[p + 1], total[p + 2], d.l[i, 0], d.l[i, 1], d.l[i, 2])
            above = (total[p], total[p + 1], total[p + 2], total[p + 3] + x, total[p + 4] + y0, total[p + 5] + z)
        first = b.first[node]
        for r in range(b.size[node]):
            n0, n1, n2, n3, n4, n5 = o.N[i, r, 0], o.N[i, r, 1], o.N[i, r, 2], o.N[i, r, 3], o.N[i, r, 4], o.N[i, r, 5]
            rate = n0 * (total[at] - above[0]) + n1 * (total[at + 1] - above[1]) + n2 * (total[at + 2] - above[2])
            rate += n3 * (total[at + 3] - above[3]) + n4 * (total[at + 4] - above[4])
            rate += n5 * (total[at + 5] - above[5])
            left = b.right[first + r] - rate
            b.x[first + r] = left
            push = -total[first + r]
            if o.leans[i] != 0:
                # The right-hand side that is kept has the weight times that of the hinge in it.
                push -= o.lean[i] * rate
            W[i, 0] += push * n0
            W[i, 1] += push * n1
            W[i, 2] += push * n2
            W[i, 3] += push * n3
            W[i, 4] += push * n4
            W[i, 5] += push * n5
            if parent >= 0:
                w = shift(d, i, n0, n1, n2, n3, n4, n5)
                W[parent, 0] -= push * w[0]
                W[parent, 1] -= push * w[1]
                W[parent, 2] -= push * w[2]
                W[parent, 3] -= push * w[3]
                W[parent, 4] -= push * w[4]
                W[parent, 5] -= push * w[5]
    for k in range(t.armature.shape[0]):
        if t.prescribed[k] == 0 and t.armature[k] != 0.0:
            add_dual(t, d, o, k, -t.armature[k] * rate_of_total(t, d, o, b, k), W)
    for i in range(t.parent.shape[0]):
        at = b.first[o.body_node[i]]
        for e in range(6):
            b.x[at + e] += W[i, e]
    for s in range(y.num_rows):
        row_remainder(t, d, lp, o, b, s)


@kernel
def row_remainder(t, d, lp, o, b, s):
    """x of row s: right - W alpha."""
    begin, end = o.tie_first[s], o.tie_first[s + 1]
    for e in range(begin, end):
        for k in range(6):
            o.W[o.tie_body[e], k] = 0.0
    row_on_bodies(t, d, lp, o, s, 1.0, o.W)
    row = b.first[o.slot_node[s]] + o.slot_row[s]
    value = b.right[row]
    for e in range(begin, end):
        at = b.first[o.body_node[o.tie_body[e]]]
        for k in range(6):
            value -= o.W[o.tie_body[e], k] * b.total[at + k]
    b.x[row] = value


@kernel
def solve_twice(t, d, lp, y, o, b):
    """x = K^-1 x, solved once more for what rounding left."""
    for k in range(b.x.shape[0]):
        b.right[k] = b.x[k]
    solve_blocks(b)
    for k in range(b.x.shape[0]):
        b.total[k] = b.x[k]
    remainder(t, d, lp, y, o, b)
    solve_blocks(b)
    for k in range(b.x.shape[0]):
        b.x[k] += b.total[k]
