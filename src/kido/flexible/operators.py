"""The bodies of spatial operators where some are flexible: their arrays at one state. See `kido.operators.blocks`."""

from __future__ import annotations

from kido.flexible import sweeps
from kido.flexible.entries import read
from kido.flexible.motion import modal_bias, node_motion
from kido.flexible.schema import FLEX
from kido.jit import clear, direct_entry, inlined, kernel, view
from kido.kernels.entries import OK, REFUSED
from kido.kernels.inertia import body_inertia
from kido.operators.arrays import BODIES, add_inertia, finish_bodies, start_bodies
from kido.operators.blocks import BLOCKS, MODES, NODE
from kido.tree import DATA, TREE
from kido.tree.workspace import MEMBERS


@inlined
def add_deformation(t, d, o, k, i):
    """What the modes of flexible link i add to its inertia, and its weight, as part of the body at place k."""
    J = (d.J[i, 0], d.J[i, 1], d.J[i, 2], d.J[i, 3], d.J[i, 4], d.J[i, 5])
    x, y, z = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
    body_inertia(t, d, i)  # undeformed
    J = (
        J[0] - d.J[i, 0], J[1] - d.J[i, 1], J[2] - d.J[i, 2],
        J[3] - d.J[i, 3], J[4] - d.J[i, 4], J[5] - d.J[i, 5],
    )  # fmt: skip
    mc = (x - d.mc[i, 0], y - d.mc[i, 1], z - d.mc[i, 2])
    add_inertia(t, o, k, i, 0.0, mc, J, d.p[i, 0] - o.p[k, 0], d.p[i, 1] - o.p[k, 1], d.p[i, 2] - o.p[k, 2])


@kernel
def copy_rigid(o, w):
    """The six numbers that each body has as a rigid one, and phi."""
    clear(w.H)
    clear(w.H_given)
    clear(w.M)
    clear(w.edge)
    for r in range(w.V.shape[0]):  # of modes
        w.V[r] = w.a[r] = w.b[r] = w.weight[r] = w.V_boundary[r] = w.A_boundary[r] = 0.0
    for k in range(w.parent.shape[0]):
        row = w.first_row[k]
        for r in range(6):
            w.V[row + r], w.a[row + r], w.b[row + r] = o.V[k, r], o.a[k, r], o.b[k, r]
            w.weight[row + r] = o.weight[k, r]
            w.V_boundary[row + r], w.A_boundary[row + r] = o.V_boundary[k, r], o.A_boundary[k, r]
            w.edge[k, r, r] = 1.0
            for c in range(6):
                w.M[k, r, c] = o.M[k, r, c]
        w.edge[k, 0, 4], w.edge[k, 0, 5] = -o.l[k, 2], o.l[k, 1]
        w.edge[k, 1, 3], w.edge[k, 1, 5] = o.l[k, 2], -o.l[k, 0]
        w.edge[k, 2, 3], w.edge[k, 2, 4] = -o.l[k, 1], o.l[k, 0]
    for i in range(w.source.shape[0]):
        w.armature[i] = o.armature[i]
        for r in range(6):
            w.H[i, r] = o.H[i, r]
        if w.mode[i] >= 0:
            w.H[i, w.mode[i]] = 1.0
    for i in range(w.given_source.shape[0]):
        for r in range(6):
            w.H_given[i, r] = o.H_given[i, r]
        if w.given_mode[i] >= 0:
            w.H_given[i, w.given_mode[i]] = 1.0


@kernel
def add_modes(t, d, f, w, k, i):
    """What the modes of flexible link i have at their place k."""
    c, row = f.flex_of_body[i], w.first_row[k]
    m0, pair, number = f.first_mode[c], f.first_pair[c], f.number[c]
    x0, x1, x2, x3, x4, x5 = modal_bias(t, d, f, i)
    w.b[row] += x0
    w.b[row + 1] += x1
    w.b[row + 2] += x2
    w.b[row + 3] += x3
    w.b[row + 4] += x4
    w.b[row + 5] += x5
    for m in range(number):
        r = 6 + m
        w.V[row + r] = d.u[m0 + m]
        for c in range(6):
            w.M[k, r, c] = w.M[k, c, r] = f.X[m0 + m, c]
        for n in range(number):
            w.M[k, r, 6 + n] = f.modes.mass[pair + m * number + n]
        pull = 0.0
        for c in range(3):
            pull += f.X[m0 + m, 3 + c] * t.gravity[c]
        factor = t.gravity_factor[i]
        w.weight[row + r] = factor * pull
        w.b[row + r] = f.zf[m0 + m] - (1.0 - factor) * pull  # accelerations are less gravity there


@kernel
def add_node(t, d, f, s, w, k, i):
    """How link i, a node at place k, is moved by modes: at their place, or beyond the boundary."""
    c, j = f.flex_of_body[t.parent[i]], f.node_of_body[i]
    if w.parent[k] >= 0:
        for m in range(f.number[c]):
            for r in range(6):
                w.edge[k, 6 + m, r] = f.Pi[f.first_column[j] + m, r]
        return
    row = w.first_row[k]
    x = node_motion(f, c, j, d.u)
    for r in range(6):
        w.V_boundary[row + r] += x[r]


@direct_entry("i8(i8,i8,i8,i8,i8,i8,f8[::1],f8[::1])")
def snapshot(tree, data, flex, members, bodies, blocks, q, u):
    """Fill the list of bodies from the state (q, u); the data, and `bodies`, are work space."""
    t, d, f = view(TREE, tree), view(DATA, data), view(FLEX, flex)
    s, o, w = view(MEMBERS, members), view(BODIES, bodies), view(BLOCKS, blocks)
    if read(q, d.q) + read(u, d.u) != OK:
        return REFUSED
    n = t.parent.shape[0]
    clear(d.udot)
    sweeps.positions(t, d, f, 0, n)
    sweeps.velocities(t, d, f, 0, n)
    sweeps.accelerations(t, d, f, 0, n)
    start_bodies(t, d, s, o)
    for i in range(w.flexible.shape[0]):
        add_deformation(t, d, o, w.flexible[i, 0], s.link[w.flexible[i, 1]])
    finish_bodies(t, d, o)
    copy_rigid(o, w)
    for k in range(w.kind.shape[0]):
        link = s.link[o.member[k]]
        if w.kind[k] == MODES:
            add_modes(t, d, f, w, k, t.parent[link])
        elif w.kind[k] == NODE:
            add_node(t, d, f, s, w, k, link)
    return OK
