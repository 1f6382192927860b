"""Changes of velocity of a tree with aggregates, by impulses on coordinates and by dependent ones that jump.

With M the joint-space inertia of an aggregate's places, own inertias on its diagonal, F = P S of its coordinates
(P with all that hangs beyond), p the impulses and xb what dependent places change by besides X times independent ones,

    eps = X^T (p - M xb),    y = L^-1 eps,    z_parent += F^T xb + g^T y

M_ab is S_a . F_b where b is a's own place or one beyond it, so that neither inertias nor poses of members are read, and
motions only of members that carry links outside of the aggregate. Needs `articulate_tree`.
"""

from __future__ import annotations

from kido.dynamics.embedding.aggregate_body import add_six, dot6, motion_of, move_independent, move_members
from kido.dynamics.embedding.solve import scatter_accelerations
from kido.jit import inlined, kernel
from kido.kernels.forward_dynamics import joint_bias, joint_motion
from kido.math.so3 import cross


@inlined
def own_inertia(t, k, h):
    """Armature of coordinate k, with what its damper and spring add over the time h."""
    return t.armature[k] + h * (t.damping[k] + 0.25 * h * t.stiffness[k])


@inlined
def add_times(a, table, i, x):
    """Six numbers += x times row i of a table."""
    return (
        a[0] + table[i, 0] * x, a[1] + table[i, 1] * x, a[2] + table[i, 2] * x,
        a[3] + table[i, 3] * x, a[4] + table[i, 4] * x, a[5] + table[i, 5] * x,
    )  # fmt: skip


@inlined
def wrench_on_member(d, e, c, m):
    """z of a member about the aggregate's point: of links outside of the aggregate that hang on it, and its own."""
    i = e.member[m]
    f0, f1, f2, f3, f4, f5 = motion_of(d.z, i)
    x, y, z = cross(d.p[i, 0] - e.point[c, 0], d.p[i, 1] - e.point[c, 1], d.p[i, 2] - e.point[c, 2], f3, f4, f5)
    return f0 + x, f1 + y, f2 + z, f3, f4, f5


@kernel
def start_jump(d, e, c, pulled):
    """A of the members by xb alone, and the impulses `f` that this takes at their own joints."""
    zero = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for m in range(e.first_member[c], e.first_member[c + 1]):
        a = motion_of(e.A, e.above[m]) if e.above[m] >= 0 else zero
        f = wrench_on_member(d, e, c, m) if pulled != 0 or e.outer[m] != 0 else zero
        for s in range(e.member_place[m], e.member_place[m + 1]):
            a, f = add_times(a, e.S, s, e.xb[s]), add_times(f, e.F, s, e.xb[s])
        e.A[m, 0], e.A[m, 1], e.A[m, 2], e.A[m, 3], e.A[m, 4], e.A[m, 5] = a
        e.f[m, 0], e.f[m, 1], e.f[m, 2], e.f[m, 3], e.f[m, 4], e.f[m, 5] = f


@kernel
def gather_jump(t, d, e, c, h, impulse, pulled):
    """y of an aggregate; its parent gets z. `pulled`: 1: members have z of their own in d.z."""
    start_jump(d, e, c, pulled)
    place, columns, free, p = e.first_place[c], e.columns[c], e.free[c], e.parent[c]
    for a in range(free):
        e.y[place + a] = 0.0
    for m in range(e.first_member[c + 1] - 1, e.first_member[c] - 1, -1):
        above = e.above[m]
        f0, f1, f2, f3, f4, f5 = motion_of(e.f, m)
        for s in range(e.member_place[m], e.member_place[m + 1]):
            k, role = e.dof[s], e.role[s]
            value = impulse[k] - dot6(e.S, s, f0, f1, f2, f3, f4, f5) - own_inertia(t, k, h) * e.xb[s]
            if above >= 0:
                a0, a1, a2, a3, a4, a5 = motion_of(e.A, above)
                value -= dot6(e.F, s, a0, a1, a2, a3, a4, a5)
            if role < 0:
                X = e.X_at[c] + (-1 - role) * (columns + 1)
                for a in range(free):
                    e.y[place + a] += e.X[X + a] * value
            elif role < free:
                e.y[place + role] += value
        if above >= 0:
            add_six(e.f, above, f0, f1, f2, f3, f4, f5)
        elif p >= 0:
            add_six(d.z, p, f0, f1, f2, f3, f4, f5)
    D = e.X_at[c]
    for a in range(free):
        value = e.y[place + a]
        for b in range(a):
            value -= e.D[D + a * free + b] * e.y[place + b]
        value *= e.D[D + a * free + a]
        e.y[place + a] = value
        if p >= 0:
            g0, g1, g2, g3, g4, g5 = motion_of(e.g, place + a)
            add_six(d.z, p, g0 * value, g1 * value, g2 * value, g3 * value, g4 * value, g5 * value)


@kernel
def gather_jumps(t, d, e, tree_index, h, impulse, pulled):
    """`gather_jump` of all of a tree, tips to base."""
    for q in range(e.tree_item[tree_index + 1] - 1, e.tree_item[tree_index] - 1, -1):
        i = e.item[q]
        if i >= 0:
            joint_bias(t, d, 0, i, 0.0, impulse)
        else:
            gather_jump(t, d, e, -1 - i, h, impulse, pulled)


@kernel
def clear_jumps(e, tree_index):
    """No dependent coordinates of a tree jump."""
    for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
        c = -1 - e.item[q]
        if c >= 0:
            for s in range(e.first_place[c], e.first_place[c + 1]):
                e.xb[s] = 0.0


@kernel
def apply_to_links(t, d, e, y, tree_index, impulse):
    """s of all coordinates and V of all links of a tree by impulses on its coordinates and `pull` on its chain.

    As `kido.kernels.chain_impulses.apply_chain` does it for a tree without aggregates.
    """
    for i in range(t.tree_body[tree_index], t.tree_body[tree_index + 1]):
        for j in range(6):
            d.z[i, j] = -y.pull[i, j] if y.held[i] != 0 else 0.0
    clear_jumps(e, tree_index)
    gather_jumps(t, d, e, tree_index, 0.0, impulse, 1)
    scatter_accelerations(t, d, e, e.tree_item[tree_index], e.tree_item[tree_index + 1], 0.0, y.V, y.s)


@kernel
def jump_tree(t, d, e, tree_index, h, impulse, change):
    """Changes of velocity of a tree's coordinates by impulses on them and xb of its aggregates.

    B of the data is overwritten.

    Args:
        h: time over which joint springs and dampers are implicit [s], as in `articulate_tree`.
    """
    for i in range(t.tree_body[tree_index], t.tree_body[tree_index + 1]):
        for j in range(6):
            d.z[i, j] = 0.0
    gather_jumps(t, d, e, tree_index, h, impulse, 0)
    for q in range(e.tree_item[tree_index], e.tree_item[tree_index + 1]):
        i = e.item[q]
        if i >= 0:
            joint_motion(t, d, i, 0.0, d.B, change)
        else:
            move_independent(t, e, -1 - i, 0.0, d.B, change)
            if e.bears[-1 - i] != 0:
                move_members(t, d, e, -1 - i, 0.0, d.B, change)
