"""Contacts of a robot as wrenches on its bodies, and rows of its joints as coordinates: without rows J and responses Y.

Where a contact acts on one body of a skeleton, its three rows are wrenches w_r = [moment; force] about that body's
origin. With the compliance Y(i) of the body and its velocity V(i) (`kido.kernels.chain_impulses`),

    W_rs = w_r . Y(i) w_s,    v_r = w_r . V(i),

so that own compliances, free velocities and what impulses do are one sweep of the tree each, whatever the number of
contacts. Newton's method along the tree (`kido.constraints.tree_newton`) asks for no more. Where a tree is *deferred*,
J and Y are not made by the assembly, but by `kido.constraints.deferred_rows` for islands whose solution asks for them.

A tree is deferred if all its blocks may be Newton's along the tree: no contact of two bodies that both respond, none
that bounces, no rolling friction; no prescribed coordinates, gears, and rows of free joints (`RESPONSES.deferrable`).
One whose loops are aggregates stands apart: it is deferred where few of its bodies are touched, and what is a sweep of
a tree is done by its owner (`RESPONSES.columns`, `apply`).
"""

from __future__ import annotations

from kido.constraints.row_origins import FROM_SERVO
from kido.constraints.surfaces import row_of
from kido.jit import inlined, kernel
from kido.kernels.chain_impulses import add_chain_forces, chain_compliances, chain_velocities, clear_impulses
from kido.kernels.inertia import apply_inertia
from kido.kernels.operational_space import read_compliance
from kido.kernels.regularized_tree import deactivate, hold_body, list_held
from kido.kernels.responses import ALWAYS, ONLY_APART
from kido.kernels.touched_bodies import make_columns, place_columns, touch_body, touch_dof, untouch_tree
from kido.math.so3 import cross
from kido.solvers.body_newton import MAX_CONE_FRICTION
from kido.solvers.problem import BOUNDED
from kido.solvers.rows import INDEX, inverse_compliance


@kernel
def begin_deferral(t, pr, src, possible):
    """Defer the trees that may be, `possible` being whether any is; blocks that were are forgotten."""
    r, y, x = src.responses, src.regularized, src.touched
    for b in range(src.num_described):
        pr.deferred[b] = 0
    src.num_described = 0
    if not possible and src.deferring == 0:
        return
    src.deferring = 1 if possible else 0
    for k in range(t.tree_mobile.shape[0]):
        r.deferred[k] = 0
        if possible and r.deferrable[k] == (ALWAYS if r.apart[k] == 0 else ONLY_APART) and t.tree_mobile[k] != 0:
            r.deferred[k] = 1
            y.number[k] = 0
            untouch_tree(x, k)
            deactivate(t, y, t.tree_body[k], t.tree_body[k + 1])


@kernel
def note_contact(t, d, c, s, src, k, on_a, on_b):
    """Note where contact k acts; the trees of one that is more than wrenches on a single tree are deferred no more."""
    a, b = c.body_a[k], c.body_b[k]
    deferred = src.responses.deferred
    row = row_of(c, s, k)
    mu = c.friction[k] if row < 0 else max(s.friction[row], s.secondary_friction[row])
    alone = on_a != on_b and c.restitution[k] <= 0.0 and mu <= MAX_CONE_FRICTION
    if alone:
        body = a if on_a else b
        tree_index = t.tree_of_body[body]
        if deferred[tree_index] != 0:
            hold_body(t, src.regularized, body, t.tree_body[tree_index])
            x, y, z = c.point[k, 0] - d.p[body, 0], c.point[k, 1] - d.p[body, 1], c.point[k, 2] - d.p[body, 2]
            touch_body(src.touched, tree_index, body, x, y, z)
        return
    if on_a:
        deferred[t.tree_of_body[a]] = 0
    if on_b:
        deferred[t.tree_of_body[b]] = 0


@kernel
def note_coordinate(t, src, tree_index, k):
    """Note that coordinate k of a deferred tree has rows."""
    hold_body(t, src.regularized, t.body_of_dof[k], t.tree_body[tree_index])
    touch_dof(src.touched, tree_index, k)


@kernel
def begin_description(t, d, src):
    """Compliances of the bodies and coordinates of deferred trees that blocks act on."""
    r, y = src.responses, src.regularized
    if src.deferring == 0:
        return
    for k in range(t.tree_mobile.shape[0]):
        if r.deferred[k] != 0:
            first = t.tree_body[k]
            number = list_held(t, y, first, t.tree_body[k + 1])
            if place_columns(src.touched, k) > 0:
                if r.apart[k] != 0:
                    r.columns(r.others_of, k)
                else:
                    make_columns(t, d, y, src.touched, r.sweep, r.numbers, k)
            elif r.apart[k] != 0:
                r.deferred[k] = 0
            else:
                chain_compliances(t, d, y, first, number)


@kernel
def set_wrenches(d, c, src, k, block, body, sign):
    """The three rows of contact k as wrenches on a body."""
    w, t = src.wrench, src.tangent
    x, y, z = c.point[k, 0] - d.p[body, 0], c.point[k, 1] - d.p[body, 1], c.point[k, 2] - d.p[body, 2]
    n0, n1, n2 = sign * c.normal[k, 0], sign * c.normal[k, 1], sign * c.normal[k, 2]
    w[block, 0], w[block, 1], w[block, 2] = cross(x, y, z, n0, n1, n2)
    w[block, 3], w[block, 4], w[block, 5] = n0, n1, n2
    n0, n1, n2 = sign * t[block, 0], sign * t[block, 1], sign * t[block, 2]
    w[block, 6], w[block, 7], w[block, 8] = cross(x, y, z, n0, n1, n2)
    w[block, 9], w[block, 10], w[block, 11] = n0, n1, n2
    n0, n1, n2 = sign * t[block, 3], sign * t[block, 4], sign * t[block, 5]
    w[block, 12], w[block, 13], w[block, 14] = cross(x, y, z, n0, n1, n2)
    w[block, 15], w[block, 16], w[block, 17] = n0, n1, n2


@inlined
def wrench_of(w, b, r):
    """Row r of a contact block."""
    a = 6 * r
    return w[b, a], w[b, a + 1], w[b, a + 2], w[b, a + 3], w[b, a + 4], w[b, a + 5]


@inlined
def dot6(a, b):
    """a . b."""
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


@inlined
def row_velocity(w, b, r, V, body):
    """Velocity of row r of a contact block for the velocity V of its body."""
    a = 6 * r
    x = w[b, a] * V[body, 0] + w[b, a + 1] * V[body, 1] + w[b, a + 2] * V[body, 2]
    return x + (w[b, a + 3] * V[body, 3] + w[b, a + 4] * V[body, 4] + w[b, a + 5] * V[body, 5])


@kernel
def describe_contact(pr, src, block):
    """Own compliance W of a contact block of a deferred tree, without softness. Returns W_nn."""
    body = src.body[block]
    Y = read_compliance(src.regularized, body)
    n, a, b = wrench_of(src.wrench, block, 0), wrench_of(src.wrench, block, 1), wrench_of(src.wrench, block, 2)
    W = pr.W
    V = apply_inertia(Y, n[0], n[1], n[2], n[3], n[4], n[5])
    W[block, 0], W[block, 1], W[block, 2] = dot6(n, V), dot6(a, V), dot6(b, V)
    V = apply_inertia(Y, a[0], a[1], a[2], a[3], a[4], a[5])
    W[block, 3], W[block, 4] = dot6(a, V), dot6(b, V)
    V = apply_inertia(Y, b[0], b[1], b[2], b[3], b[4], b[5])
    W[block, 5] = dot6(b, V)
    pr.deferred[block] = 1
    return W[block, 0]


@kernel
def end_description(t, d, pr, src):
    """Softness in the own compliances of deferred blocks, and their free velocities; biases may be added to later."""
    r, y = src.responses, src.regularized
    if src.deferring == 0:
        return
    found = 0
    for k in range(t.tree_mobile.shape[0]):
        if r.deferred[k] != 0:
            found += y.number[k]
            chain_velocities(t, d, y, t.tree_body[k], y.number[k], pr.u_free)
    if found == 0:
        return
    src.num_described = pr.num_blocks
    for b in range(pr.num_blocks):
        if pr.deferred[b] == 0:
            continue
        i = pr.row[b] & INDEX
        pr.W[b, 0] += pr.compliance[i]
        if pr.kind[b] == BOUNDED:
            pr.free[i] = src.sign[b] * pr.u_free[src.index[b]]
        else:
            pr.W[b, 3] += pr.compliance[i + 1]
            pr.W[b, 5] += pr.compliance[i + 2]
            for j in range(3):
                pr.free[i + j] = row_velocity(src.wrench, b, j, y.V, src.body[b])
        pr.step[b] = inverse_compliance(pr, b)


@inlined
def pull_contact(src, y, b, p0, p1, p2):
    """Add the impulses of a contact block to those on its body."""
    w, body = src.wrench, src.body[b]
    for j in range(6):
        y.pull[body, j] += w[b, j] * p0 + w[b, 6 + j] * p1 + w[b, 12 + j] * p2


@kernel
def deferred_forces(t, d, pr, src, h, force, actuator):
    """Add the generalized forces J^T p / h of blocks whose rows were not made; those of servos to `actuator`."""
    r, y = src.responses, src.regularized
    blocks = min(src.num_described, pr.num_blocks)
    if blocks == 0:
        return
    for k in range(t.tree_mobile.shape[0]):
        if r.deferred[k] != 0:
            clear_impulses(t, y, t.tree_body[k], y.number[k])
    for b in range(blocks):
        if pr.deferred[b] == 0:
            continue
        i = pr.row[b] & INDEX
        if pr.kind[b] != BOUNDED:
            pull_contact(src, y, b, pr.impulse[i] / h, pr.impulse[i + 1] / h, pr.impulse[i + 2] / h)
        elif src.origin[b] == FROM_SERVO:
            actuator[src.index[b]] += src.sign[b] * pr.impulse[i] / h
        else:
            y.joint_pull[src.index[b]] += src.sign[b] * pr.impulse[i] / h
    for k in range(t.tree_mobile.shape[0]):
        if r.deferred[k] != 0:
            add_chain_forces(t, d, y, t.tree_body[k], y.number[k], force)
