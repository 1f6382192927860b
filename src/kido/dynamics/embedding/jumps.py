"""Changes of velocity of a tree with aggregates, by impulses on coordinates and by dependent ones that jump.

With p the impulses on an aggregate's places, xb what dependent places change by besides X times independent ones, and M
and F as in `aggregate_body`,

    eps = X^T (p - M xb),    y = L^-1 eps,    z_parent += F^T xb + g^T y

so that neither inertias nor poses of members are read, and motions only of members that carry links outside of the
aggregate. Needs `articulate_tree`.
"""

from __future__ import annotations

from kido.dynamics.embedding.aggregate_body import add_six, dot6, motion_of, move_independent, move_members
from kido.jit import inlined, kernel
from kido.kernels.forward_dynamics import joint_bias, joint_motion
from kido.math.so3 import cross


@kernel
def take_wrenches(d, e, c):
    """Take d.z on members into y of their aggregate, and hand it to the parent."""
    first, last, p = e.first_member[c], e.first_member[c + 1], e.parent[c]
    for m in range(first, last):
        i = e.member[m]
        f0, f1, f2, f3, f4, f5 = motion_of(d.z, i)
        x, y, z = cross(d.p[i, 0] - e.point[c, 0], d.p[i, 1] - e.point[c, 1], d.p[i, 2] - e.point[c, 2], f3, f4, f5)
        e.f[m, 0], e.f[m, 1], e.f[m, 2] = f0 + x, f1 + y, f2 + z
        e.f[m, 3], e.f[m, 4], e.f[m, 5] = f3, f4, f5
    for m in range(last - 1, first - 1, -1):
        f0, f1, f2, f3, f4, f5 = motion_of(e.f, m)
        for s in range(e.member_place[m], e.member_place[m + 1]):
            add_force(e, c, s, -dot6(e.S, s, f0, f1, f2, f3, f4, f5))
        if e.above[m] >= 0:
            add_six(e.f, e.above[m], f0, f1, f2, f3, f4, f5)
        elif p >= 0:
            add_six(d.z, p, f0, f1, f2, f3, f4, f5)


@inlined
def add_force(e, c, s, value):
    """Take an impulse on place s into y of its aggregate."""
    place, free, role = e.first_place[c], e.free[c], e.role[s]
    if role < 0:
        X = e.X_at[c] + (-1 - role) * (e.columns[c] + 1)
        for a in range(free):
            e.y[place + a] += e.X[X + a] * value
    elif role < free:
        e.y[place + role] += value


@kernel
def gather_jump(d, e, c, impulse, wrenches):
    """y of an aggregate; its parent gets z.

    Args:
        wrenches: not 0 where d.z of members is to be read.
    """
    place, free, p, D = e.first_place[c], e.free[c], e.parent[c], e.X_at[c]
    for a in range(free):
        e.y[place + a] = 0.0
    if wrenches != 0:
        take_wrenches(d, e, c)
    for s in range(place, e.first_place[c + 1]):
        add_force(e, c, s, impulse[e.dof[s]])
    for r in range(e.rank[c]):
        s = place + e.solved[place + r]
        x = e.xb[s]
        for a in range(free):
            e.y[place + a] -= e.MX[D + (s - place) * free + a] * x
        if p >= 0:
            f0, f1, f2, f3, f4, f5 = motion_of(e.F, s)
            add_six(d.z, p, f0 * x, f1 * x, f2 * x, f3 * x, f4 * x, f5 * x)
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
def jump_tree(t, d, e, tree_index, impulse, change):
    """Changes of velocity of a tree's coordinates by impulses on them and xb of its aggregates; B is overwritten."""
    begin, end = e.tree_item[tree_index], e.tree_item[tree_index + 1]
    for i in range(t.tree_body[tree_index], t.tree_body[tree_index + 1]):
        for j in range(6):
            d.z[i, j] = 0.0
    for q in range(end - 1, begin - 1, -1):
        i = e.item[q]
        if i >= 0:
            joint_bias(t, d, 0, i, 0.0, impulse)
        else:
            gather_jump(d, e, -1 - i, impulse, e.bears[-1 - i])
    for q in range(begin, end):
        i = e.item[q]
        if i >= 0:
            joint_motion(t, d, i, 0.0, d.B, change)
        else:
            move_independent(t, e, -1 - i, 0.0, d.B, change)
            if e.bears[-1 - i] != 0:
                move_members(t, d, e, -1 - i, 0.0, d.B, change)
