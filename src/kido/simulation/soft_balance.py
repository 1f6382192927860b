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

Skeletons with other roots take momentum from the world, and those that loops close have other rules: they are left as
they are. Those without soft skins are balanced in `kido.simulation.balance`.
"""

from __future__ import annotations

from kido.jit import callback, kernel, view
from kido.joints.frames import rotation_of
from kido.kernels.inertia import body_inertia, inertia_of, rigid_momentum
from kido.kernels.kinematics import transforms
from kido.kernels.soft import displace_inertia
from kido.math.so3 import cross, multiply_symmetric, rotate
from kido.simulation.balance import about, add_to_base, centre_of, floating_base, links_momentum, plus
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
def weigh(t, d, so, tree_index, first, last):
    """Inertias J and mc of a tree's links, with the points where they are."""
    for i in range(first, last):
        body_inertia(t, d, i)
    for s in range(so.link.shape[0]):
        if so.tree_index[s] == tree_index:
            displace_inertia(t, d, so, s)


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
    _, x, y, z = centre_of(t, d, first, last)
    h = links_momentum(t, d, first, first, last, u, x, y, z)
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
    if floating_base(t, first, last) == first:
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
    b = so.balance
    lack = b[ledger, 0], b[ledger, 1], b[ledger, 2], b[ledger, 3], b[ledger, 4], b[ledger, 5]
    add_to_base(t, d, first, last, lack, pr.u)
    return 0
