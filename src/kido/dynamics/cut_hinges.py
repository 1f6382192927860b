"""The equations of a system all of whose hinges are cut: accelerations of bodies, forces of hinges and of rows.

    M(k) alpha(k) = w(k) + sum over rows of their wrenches on body k
    N(k)^T (alpha(k) - phi*(p,k) alpha(p)) = N(k)^T (a(k) + H(k) udot_given)      for each hinge
    W alpha = Udot - velocity products                                           for each row of a loop

N(k) (6, 6 - free coordinates) is the orthonormal complement of the motion columns of the free coordinates, so that a
prescribed coordinate is a row of its hinge. Coordinates come back by the dual columns: udot_i = H'_i . (alpha(k) -
phi* alpha(p) - a(k) - H udot_given), H'_i . H_j = 1 for i = j, else 0. A force T_i of an actuator is the wrench H'_i
T_i on the body, and its opposite on the parent; so is a coupler's, and a rotor's inertia takes -J_i udot_i, which puts
J_i H'_i H'_i^T on both bodies. Accelerations are those less gravity.
Theory reference, section b3. Source: Jain (2013), sec. IV; Baraff (1996).
"""

from __future__ import annotations

import math

from kido.constraints.loop_schema import COUPLE
from kido.dynamics.rows import scale_rows
from kido.jit import Struct, floats, integers, kernel
from kido.math.so3 import cross

# Share of what hangs on a body below which the articulated inertia left is rounding.
INERTIA_TOLERANCE = 1e-12
OWN_MOTION_TOLERANCE = 1e-13  # share of a motion column that is its own, below which the joint is singular


class CUT(Struct):
    place = integers(1, doc="address of BLOCKS")
    body_node = integers("bodies", doc="node of each body's acceleration")
    hinge_node = integers("bodies", doc="node of the forces of the hinge above it; -1: it has none")
    hinge_block = integers("bodies", doc="where the block of hinge (rows) and body starts")
    parent_block = integers("bodies", doc="where the block of parent (rows) and hinge starts; -1: none")
    slot_node = integers("slots", doc="node of each row that holds")
    slot_row = integers("slots", doc="its row there")
    tie_first = integers("slots1", doc="first body that each row acts on, and the end")
    tie_body = integers("ties", doc="bodies")
    tie_block = integers("ties", doc="where the block of the row's node and the body starts")
    tie_turned = integers("ties", doc="1: rows of the block are the body's")
    leans = integers("bodies", doc="1: a body without enough mass, that leans on its hinge")
    lean_block = integers("bodies", doc="where the block of its parent (rows) and it starts, if it leans or has rotors")
    rotors = integers("bodies", doc="1: free coordinates of its hinge have rotors")
    lean = floats("bodies", doc="weight with which it does; before, the largest inertia below it")
    N = floats("bodies", 6, 6, doc="directions that each hinge holds, row by row")
    dual = floats("dofs", 6, doc="dual columns of the free coordinates")
    W = floats("bodies", 6, doc="work: what a row has on each body")


@kernel
def hinge_directions(t, d, o, i):
    """N and dual columns of body i. Returns -1, or a coordinate whose column depends on the others."""
    Q = o.N  # first the free coordinates' columns, made orthonormal; then their complement, moved to the front
    first, last = t.first_dof[i], t.first_dof[i + 1]
    found = 0
    for k in range(first, last):
        if t.prescribed[k] != 0:
            continue
        size = 0.0
        for e in range(6):
            Q[i, found, e] = d.H[k, e]
            size += d.H[k, e] * d.H[k, e]
        own = make_orthogonal(Q, i, found)
        if not own > OWN_MOTION_TOLERANCE * math.sqrt(size):
            return k
        found += 1
    # R^T solved backwards: column n of H is the sum over e <= n of R[e, n] Q_e.
    place = found
    for k in range(last - 1, first - 1, -1):
        if t.prescribed[k] != 0:
            continue
        place -= 1
        for e in range(6):
            o.dual[k, e] = Q[i, place, e]
        later = place
        for j in range(k + 1, last):
            if t.prescribed[j] == 0:
                later += 1
                share = 0.0
                for e in range(6):
                    share += Q[i, place, e] * d.H[j, e]
                for e in range(6):
                    o.dual[k, e] -= share * o.dual[j, e]
        size = 0.0
        for e in range(6):
            size += Q[i, place, e] * d.H[k, e]
        for e in range(6):
            o.dual[k, e] /= size
    for n in range(found, 6):
        best, largest = 0, -1.0
        for e in range(6):
            left = 1.0
            for j in range(n):
                left -= Q[i, j, e] * Q[i, j, e]
            if left > largest:
                best, largest = e, left
        for e in range(6):
            Q[i, n, e] = 1.0 if e == best else 0.0
        make_orthogonal(Q, i, n)
    for n in range(found, 6):
        for e in range(6):
            Q[i, n - found, e] = Q[i, n, e]
    return -1


@kernel
def make_orthogonal(Q, i, n):
    """Row n orthogonal to those before, of length one; returns its length before that."""
    length = 0.0
    for _ in range(2):  # twice is enough (Kahan)
        for j in range(n):
            share = 0.0
            for e in range(6):
                share += Q[i, j, e] * Q[i, n, e]
            for e in range(6):
                Q[i, n, e] -= share * Q[i, j, e]
    for e in range(6):
        length += Q[i, n, e] * Q[i, n, e]
    length = math.sqrt(length)
    if length > 0.0:
        for e in range(6):
            Q[i, n, e] /= length
    return length


@kernel
def shift(d, i, w0, w1, w2, f0, f1, f2):
    """phi(p, i) w: a wrench about body i's origin seen about the parent's."""
    x, y, z = cross(d.l[i, 0], d.l[i, 1], d.l[i, 2], f0, f1, f2)
    return w0 + x, w1 + y, w2 + z, f0, f1, f2


@kernel
def fill_body(t, d, o, b, i):
    """Inertia of a body, and its hinge's rows on it and on its parent."""
    at = b.diagonal[o.body_node[i]]
    D = b.value
    J, m = d.J, t.mass[i]
    x, y, z = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
    D[at], D[at + 1], D[at + 2] = J[i, 0], J[i, 1], J[i, 2]
    D[at + 6], D[at + 7], D[at + 8] = J[i, 1], J[i, 3], J[i, 4]
    D[at + 12], D[at + 13], D[at + 14] = J[i, 2], J[i, 4], J[i, 5]
    D[at + 4], D[at + 5], D[at + 9] = -z, y, z
    D[at + 11], D[at + 15], D[at + 16] = -x, -y, x
    D[at + 24], D[at + 30], D[at + 19] = -z, y, z
    D[at + 31], D[at + 20], D[at + 26] = -x, -y, x
    D[at + 21], D[at + 28], D[at + 35] = m, m, m
    if o.rotors[i] != 0:
        add_rotors(t, d, o, b, i)
    node = o.hinge_node[i]
    if node < 0:
        return
    if o.leans[i] != 0:
        lean_on_hinge(t, d, o, b, i)
    rows, own, above = b.size[node], o.hinge_block[i], o.parent_block[i]
    for r in range(rows):
        for e in range(6):
            D[own + r * 6 + e] = o.N[i, r, e]
        if above >= 0:
            w = shift(d, i, o.N[i, r, 0], o.N[i, r, 1], o.N[i, r, 2], o.N[i, r, 3], o.N[i, r, 4], o.N[i, r, 5])
            D[above + r] = -w[0]
            D[above + rows + r] = -w[1]
            D[above + 2 * rows + r] = -w[2]
            D[above + 3 * rows + r] = -w[3]
            D[above + 4 * rows + r] = -w[4]
            D[above + 5 * rows + r] = -w[5]


@kernel
def add_to_bodies(t, d, o, b, i, factor, h0, h1, h2, h3, h4, h5):
    """Add factor h h^T to the inertias of body i and its parent, by their relative motion along h."""
    D, parent = b.value, t.parent[i]
    own = b.diagonal[o.body_node[i]]
    o.W[i, 0], o.W[i, 1], o.W[i, 2], o.W[i, 3], o.W[i, 4], o.W[i, 5] = h0, h1, h2, h3, h4, h5
    if parent >= 0:
        w = shift(d, i, h0, h1, h2, h3, h4, h5)
        o.W[parent, 0], o.W[parent, 1], o.W[parent, 2] = w[0], w[1], w[2]
        o.W[parent, 3], o.W[parent, 4], o.W[parent, 5] = w[3], w[4], w[5]
    for e in range(6):
        for f in range(6):
            D[own + 6 * e + f] += factor * o.W[i, e] * o.W[i, f]
            if parent >= 0:
                D[b.diagonal[o.body_node[parent]] + 6 * e + f] += factor * o.W[parent, e] * o.W[parent, f]
                D[o.lean_block[i] + 6 * e + f] -= factor * o.W[parent, e] * o.W[i, f]


@kernel
def add_rotors(t, d, o, b, i):
    """Add the rotor inertias of the free coordinates of body i's hinge."""
    for k in range(t.first_dof[i], t.first_dof[i + 1]):
        if t.prescribed[k] == 0 and t.armature[k] != 0.0:
            g = o.dual
            add_to_bodies(t, d, o, b, i, t.armature[k], g[k, 0], g[k, 1], g[k, 2], g[k, 3], g[k, 4], g[k, 5])


@kernel
def mean_inertia(d, i):
    """Mean of the diagonal of an articulated inertia."""
    return (d.P[i, 0] + d.P[i, 3] + d.P[i, 5] + d.P[i, 15] + d.P[i, 18] + d.P[i, 20]) / 6.0


@kernel
def lean_on_hinge(t, d, o, b, i):
    """Add N N^T times a weight for a body whose mass does not suffice: what its hinge's equations multiply out to.

    `lean` holds the largest inertia of those below it, and gets the weight.

    The equations of body and parent get these of the hinge times -weight N and weight phi N, on both sides, so that the
    solution stays (an augmented Lagrangian). The weight is the body's share of the articulated inertia.
    """
    weight = mean_inertia(d, i)
    if not weight > INERTIA_TOLERANCE * o.lean[i]:  # what hangs on it gives way in all directions, and leaves rounding
        weight = o.lean[i]
    if weight == 0.0:  # welded to the world, and alone
        weight = 1.0
    o.lean[i] = weight
    n = o.N
    for r in range(b.size[o.hinge_node[i]]):
        add_to_bodies(t, d, o, b, i, weight, n[i, r, 0], n[i, r, 1], n[i, r, 2], n[i, r, 3], n[i, r, 4], n[i, r, 5])


@kernel
def add_dual(t, d, o, k, factor, wrench):
    """Add factor times the wrenches by which coordinate k is driven: on its body, and the opposite on the parent."""
    i = t.body_of_dof[k]
    h0, h1, h2 = factor * o.dual[k, 0], factor * o.dual[k, 1], factor * o.dual[k, 2]
    h3, h4, h5 = factor * o.dual[k, 3], factor * o.dual[k, 4], factor * o.dual[k, 5]
    wrench[i, 0] += h0
    wrench[i, 1] += h1
    wrench[i, 2] += h2
    wrench[i, 3] += h3
    wrench[i, 4] += h4
    wrench[i, 5] += h5
    parent = t.parent[i]
    if parent >= 0:
        w = shift(d, i, h0, h1, h2, h3, h4, h5)
        wrench[parent, 0] -= w[0]
        wrench[parent, 1] -= w[1]
        wrench[parent, 2] -= w[2]
        wrench[parent, 3] -= w[3]
        wrench[parent, 4] -= w[4]
        wrench[parent, 5] -= w[5]


@kernel
def row_on_bodies(t, d, lp, o, s, factor, wrench):
    """Add factor times what row s puts on bodies, couplers as the hinges' wrenches that they are."""
    r = lp.slot[s]
    c = lp.of[r]
    if lp.kind[r] == COUPLE:
        for e in range(lp.first_term[c], lp.first_term[c + 1]):
            k = lp.term_dof[e]
            if t.prescribed[k] == 0:
                add_dual(t, d, o, k, factor * lp.sign[r] * lp.term_factor[e], wrench)
        return
    f0, f1, f2 = factor * lp.force[r, 0], factor * lp.force[r, 1], factor * lp.force[r, 2]
    for side in range(2):
        body = lp.body_b[c] if side == 0 else lp.body_a[c]
        if body >= 0:
            x, y, z = lp.point[r, 0] - d.p[body, 0], lp.point[r, 1] - d.p[body, 1], lp.point[r, 2] - d.p[body, 2]
            m0, m1, m2 = cross(x, y, z, f0, f1, f2)
            sign = 1.0 - 2.0 * side
            wrench[body, 0] += sign * (m0 + factor * lp.moment[r, 0])
            wrench[body, 1] += sign * (m1 + factor * lp.moment[r, 1])
            wrench[body, 2] += sign * (m2 + factor * lp.moment[r, 2])
            wrench[body, 3] += sign * f0
            wrench[body, 4] += sign * f1
            wrench[body, 5] += sign * f2


@kernel
def fill_row(t, d, lp, o, b, s):
    """Blocks of a row that holds with the bodies it acts on."""
    D = b.value
    begin, end = o.tie_first[s], o.tie_first[s + 1]
    for e in range(begin, end):
        for k in range(6):
            o.W[o.tie_body[e], k] = 0.0
    row_on_bodies(t, d, lp, o, s, 1.0, o.W)
    row, rows = o.slot_row[s], b.size[o.slot_node[s]]
    for e in range(begin, end):
        at = o.tie_block[e]
        for k in range(6):
            if o.tie_turned[e] != 0:
                D[at + k * rows + row] = o.W[o.tie_body[e], k]
            else:
                D[at + row * 6 + k] = o.W[o.tie_body[e], k]


@kernel
def fill_matrix(t, d, lp, y, o, b):
    """The matrix in BLOCKS. Returns -1, or a coordinate at which its joint is singular."""
    for k in range(b.value.shape[0]):
        b.value[k] = 0.0
    for i in range(t.parent.shape[0]):
        o.lean[i] = 0.0
    for i in range(t.parent.shape[0] - 1, -1, -1):
        if t.parent[i] >= 0:
            o.lean[t.parent[i]] = max(o.lean[t.parent[i]], o.lean[i], mean_inertia(d, i))
    for i in range(t.parent.shape[0]):
        status = hinge_directions(t, d, o, i)
        if status >= 0:
            return status
        fill_body(t, d, o, b, i)
    scale_rows(t, d, lp, y)
    for s in range(y.num_rows):
        fill_row(t, d, lp, o, b, s)
        b.scale[b.first[o.slot_node[s]] + o.slot_row[s]] = lp.scale[s]
    return -1
