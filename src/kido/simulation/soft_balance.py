"""Momentum of skeletons with soft skins through a step: what the rule leaves out is made up for.

A free skeleton's momentum H(q, u) depends on where its points are and how its links are turned, while a step keeps u
constant from the start to mid-step M and from there to the end. Forces change it by h Hdot at M, contacts by what their
impulses bring at M; so at the end it should be

    H_end = H(q_start, u_start) + h Hdot - H(q_M, u_free) + H(q_M, u_new)

and is not: the drift of H over the two halves of the step is that of u_start and u_new, and Hdot has the velocity
products of the predicted velocity. In smooth motion that is an error of third order in h. Where velocities jump it is
of second order in each step, h (dC/du) (u_new - u_free) / 2, and does not go away while contacts come and go. So the
root of a skeleton that floats gets the twist of the locked body that makes up for the difference: linear momentum, and
angular momentum about the centre of mass, are kept to rounding, forces and contact impulses apart.

Skeletons with other roots take momentum from the world, those that loops close have other rules, and those whose
points are all frozen move as rigid ones do: they are left as they are.
"""

from __future__ import annotations

from kido.jit import callback, kernel, view
from kido.joints.frames import rotation_of
from kido.joints.kinds import FREE_MIXED
from kido.kernels.articulated import link_velocities
from kido.kernels.inertia import body_inertia, inertia_of, rigid_momentum
from kido.kernels.kinematics import transforms
from kido.kernels.soft import displace_inertia
from kido.math.so3 import cross, multiply_symmetric, rotate
from kido.simulation.world_struct import WORLD

ACTIVE = 6  # entry of SOFT.balance, behind the momentum


@kernel
def ledger_of(t, so, tree_index):
    """The soft body that keeps the momentum of a tree, the first one; -1 if it has none."""
    for s in range(so.link.shape[0]):
        if so.tree_index[s] == tree_index:
            return s
    return -1


@kernel
def floats_freely(t, first, last):
    """Whether bodies first..last-1 are one tree on a free joint that nothing prescribes."""
    if t.kind[first] != FREE_MIXED or not t.mass[first] > 0.0:
        return False
    for i in range(first + 1, last):
        if t.parent[i] < 0:
            return False
    held = 0
    for k in range(t.first_dof[first], t.first_dof[first + 1]):
        held += t.prescribed[k]
    return held == 0


@kernel
def can_move(so, tree_index):
    """Whether a point of a tree is free."""
    for s in range(so.link.shape[0]):
        if so.tree_index[s] == tree_index:
            for k in range(so.first[s], so.first[s + 1]):
                if so.frozen[k] == 0:
                    return True
    return False


@kernel
def weigh(t, d, so, tree_index, first, last):
    """Inertias J and mc of a tree's links, with the points where they are."""
    for i in range(first, last):
        body_inertia(t, d, i)
    for s in range(so.link.shape[0]):
        if so.tree_index[s] == tree_index:
            displace_inertia(t, d, so, s)


@kernel
def centre_of(t, d, first, last):
    """Mass and centre of mass of links first..last-1, from their mc."""
    m = x = y = z = 0.0
    for i in range(first, last):
        m += t.mass[i]
        x += t.mass[i] * d.p[i, 0] + d.mc[i, 0]
        y += t.mass[i] * d.p[i, 1] + d.mc[i, 1]
        z += t.mass[i] * d.p[i, 2] + d.mc[i, 2]
    return m, x / m, y / m, z / m


@kernel
def plus(h, g):
    """Sum of two vectors of six numbers."""
    return h[0] + g[0], h[1] + g[1], h[2] + g[2], h[3] + g[3], h[4] + g[4], h[5] + g[5]


@kernel
def about(d, i, g, x, y, z):
    """A vector g = [n; f] at the origin of link i, its moment taken about (x, y, z)."""
    a, b, c = cross(d.p[i, 0] - x, d.p[i, 1] - y, d.p[i, 2] - z, g[3], g[4], g[5])
    return g[0] + a, g[1] + b, g[2] + c, g[3], g[4], g[5]


@kernel
def points_share(d, so, s, values):
    """[n; f] about the link's origin of the points' masses times vectors `values`, given in link axes."""
    g = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(so.first[s], so.first[s + 1]):
        m = so.mass[k]
        x, y, z = m * values[k, 0], m * values[k, 1], m * values[k, 2]
        a, b, c = cross(so.rest[k, 0] + so.q[k, 0], so.rest[k, 1] + so.q[k, 1], so.rest[k, 2] + so.q[k, 2], x, y, z)
        g = plus(g, (a, b, c, x, y, z))
    R = rotation_of(d, so.link[s])
    n0, n1, n2 = rotate(R, g[0], g[1], g[2])
    f0, f1, f2 = rotate(R, g[3], g[4], g[5])
    return n0, n1, n2, f0, f1, f2


@kernel
def momentum_of(t, d, so, tree_index, first, last, u):
    """[angular about the centre of mass; linear] momentum of a tree at velocities u and so.qd, world axes."""
    link_velocities(t, d, first, last, u)
    _, x, y, z = centre_of(t, d, first, last)
    h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    B = d.B
    for i in range(first, last):
        mc = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
        g = rigid_momentum(inertia_of(d, i), mc, t.mass[i], B[i, 0], B[i, 1], B[i, 2], B[i, 3], B[i, 4], B[i, 5])
        h = plus(h, about(d, i, g, x, y, z))
    for s in range(so.link.shape[0]):
        if so.tree_index[s] == tree_index:
            h = plus(h, about(d, so.link[s], points_share(d, so, s, so.qd), x, y, z))
    return h


@kernel
def momentum_rate(t, d, so, tree_index, first, last):
    """Rate of `momentum_of`, from the links' V and A and the points' qd and qdd in `rate`."""
    _, x, y, z = centre_of(t, d, first, last)
    h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(first, last):
        mc = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
        w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
        n0, n1, n2, f0, f1, f2 = rigid_momentum(
            inertia_of(d, i), mc, t.mass[i], d.A[i, 0], d.A[i, 1], d.A[i, 2],
            d.A[i, 3] + t.gravity[0], d.A[i, 4] + t.gravity[1], d.A[i, 5] + t.gravity[2],
        )  # fmt: skip
        a, b, c = multiply_symmetric(inertia_of(d, i), w0, w1, w2)
        a, b, c = cross(w0, w1, w2, a, b, c)
        n0, n1, n2 = n0 + a, n1 + b, n2 + c
        a, b, c = cross(w0, w1, w2, mc[0], mc[1], mc[2])
        a, b, c = cross(w0, w1, w2, a, b, c)
        h = plus(h, about(d, i, (n0, n1, n2, f0 + a, f1 + b, f2 + c), x, y, z))
    for s in range(so.link.shape[0]):
        if so.tree_index[s] == tree_index:
            g = plus(points_share(d, so, s, so.rate), turning_share(d, so, s))
            h = plus(h, about(d, so.link[s], g, x, y, z))
    return h


@kernel
def turning_share(d, so, s):
    """`points_share` of 2 w x qd, without an array for it."""
    i = so.link[s]
    R = rotation_of(d, i)
    g = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(so.first[s], so.first[s + 1]):
        m = 2.0 * so.mass[k]
        x, y, z = rotate(R, so.qd[k, 0], so.qd[k, 1], so.qd[k, 2])
        x, y, z = cross(m * d.V[i, 0], m * d.V[i, 1], m * d.V[i, 2], x, y, z)
        a, b, c = rotate(R, so.rest[k, 0] + so.q[k, 0], so.rest[k, 1] + so.q[k, 1], so.rest[k, 2] + so.q[k, 2])
        a, b, c = cross(a, b, c, x, y, z)
        g = plus(g, (a, b, c, x, y, z))
    return g


@kernel
def add_momentum(so, ledger, h, sign):
    """Add six numbers, times a sign, to a tree's account."""
    for k in range(6):
        so.balance[ledger, k] += sign * h[k]


@kernel
def open_account(t, d, so, tree_index, first, last):
    """Note the momentum at the start of a step, with u in fixed axes; leaves transforms of the start."""
    ledger = ledger_of(t, so, tree_index)
    if ledger < 0:
        return
    so.balance[ledger, ACTIVE] = 0.0
    if floats_freely(t, first, last) and can_move(so, tree_index):
        so.balance[ledger, ACTIVE] = 1.0
        transforms(t, d, first, last)
        weigh(t, d, so, tree_index, first, last)
        for k in range(6):
            so.balance[ledger, k] = 0.0
        add_momentum(so, ledger, momentum_of(t, d, so, tree_index, first, last, d.u), 1.0)


@kernel
def is_active(t, so, tree_index):
    """The tree's account, -1 if it keeps none in this step."""
    ledger = ledger_of(t, so, tree_index)
    if ledger >= 0 and so.balance[ledger, ACTIVE] == 0.0:
        return -1
    return ledger


@kernel
def book_forces(t, d, so, tree_index, first, last, h):
    """Add h Hdot, at the predicted velocities that accelerations were made with."""
    ledger = is_active(t, so, tree_index)
    if ledger >= 0:
        add_momentum(so, ledger, momentum_rate(t, d, so, tree_index, first, last), h)


@kernel
def book(t, d, so, tree_index, first, last, u, sign):
    """Add a sign times the momentum at mid-step with velocities u and so.qd."""
    ledger = is_active(t, so, tree_index)
    if ledger >= 0:
        add_momentum(so, ledger, momentum_of(t, d, so, tree_index, first, last, u), sign)


@kernel
def solve_symmetric(a, x, y, z):
    """Solution of A s = (x, y, z) for A = (xx, xy, xz, yy, yz, zz), by cofactors; zero for a singular one."""
    c0, c1, c2 = a[3] * a[5] - a[4] * a[4], a[2] * a[4] - a[1] * a[5], a[1] * a[4] - a[2] * a[3]
    c3, c4, c5 = a[0] * a[5] - a[2] * a[2], a[1] * a[2] - a[0] * a[4], a[0] * a[3] - a[1] * a[1]
    det = a[0] * c0 + a[1] * c1 + a[2] * c2
    size = a[0] + a[3] + a[5]
    if not det > 1e-12 * size * size * size:
        return 0.0, 0.0, 0.0
    return (
        (c0 * x + c1 * y + c2 * z) / det, (c1 * x + c3 * y + c4 * z) / det, (c2 * x + c4 * y + c5 * z) / det
    )  # fmt: skip


@kernel
def locked_inertia(t, d, first, last, x, y, z):
    """Inertia of links first..last-1, as if locked, about (x, y, z)."""
    xx = xy = xz = yy = yz = zz = 0.0
    for i in range(first, last):
        m = t.mass[i]
        a, b, c = d.p[i, 0] - x, d.p[i, 1] - y, d.p[i, 2] - z
        e, f, g = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
        # sum of m ((p + c)(p + c) 1 - (p + c)(p + c)^T) less that about the origin of the link
        pp, qq, rr = a * (m * a + 2.0 * e), b * (m * b + 2.0 * f), c * (m * c + 2.0 * g)
        xx += d.J[i, 0] + qq + rr
        yy += d.J[i, 3] + pp + rr
        zz += d.J[i, 5] + pp + qq
        xy += d.J[i, 1] - (m * a * b + a * f + b * e)
        xz += d.J[i, 2] - (m * a * c + a * g + c * e)
        yz += d.J[i, 4] - (m * b * c + b * g + c * f)
    return xx, xy, xz, yy, yz, zz


@callback
def balance_tree(address, tree_index, unused_1, unused_2):
    """Give the root of a tree, at its new place, what its momentum lacks. Changes pr.u. Returns 0."""
    w = view(WORLD, address)
    t = w.tree
    d = w.data
    pr = w.problem
    so = w.soft
    ledger = is_active(t, so, tree_index)
    if ledger < 0:
        return 0
    first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
    transforms(t, d, first, last)
    weigh(t, d, so, tree_index, first, last)
    add_momentum(so, ledger, momentum_of(t, d, so, tree_index, first, last, pr.u), -1.0)
    m, x, y, z = centre_of(t, d, first, last)
    lack = so.balance
    w0, w1, w2 = solve_symmetric(
        locked_inertia(t, d, first, last, x, y, z), lack[ledger, 0], lack[ledger, 1], lack[ledger, 2]
    )
    v0, v1, v2 = cross(w0, w1, w2, d.p[first, 0] - x, d.p[first, 1] - y, d.p[first, 2] - z)
    v0, v1, v2 = v0 + lack[ledger, 3] / m, v1 + lack[ledger, 4] / m, v2 + lack[ledger, 5] / m
    k = t.first_dof[first]
    for j in range(k, k + 3):  # unit columns; a turn about the joint may also move the link's origin
        s = d.H[j, 0] * w0 + d.H[j, 1] * w1 + d.H[j, 2] * w2
        pr.u[j] += s
        v0 -= s * d.H[j, 3]
        v1 -= s * d.H[j, 4]
        v2 -= s * d.H[j, 5]
    for j in range(k + 3, k + 6):
        pr.u[j] += d.H[j, 3] * v0 + d.H[j, 4] * v1 + d.H[j, 5] * v2
    return 0
