"""A tree whose bodies and coordinates are held by linear laws: one articulated-body sweep, whatever their number.

Impulses [moment; force] on body i that fall with its change of velocity V_i, as those of contacts do in a step of
Newton's method, are z_i - G_i V_i, and those on coordinate k are r_k - g_k s_k. With J_i the Jacobian of body i,

    (M + sum_i J_i^T G_i J_i + diag g) s = r + sum_i J_i^T z_i

has the structure of the mass matrix of the same tree with the inertias I_i + G_i, so that the articulated-body
recursion solves it in O(n). G_i need not be symmetric, as where friction slides: then the elimination has a row
L = H^T Q beside its column Q H,

    Q <- Q - Q H (H^T Q) / D,    z <- z - Q H (r + H^T z) / D,    D = H^T Q H + J_a + g + implicit damping and springs

Bodies that are not held, nor carry one that is, take no part: the predict stage's elimination has what they weigh.
Needs transforms, and P, U and Dinv of `articulated_inertias`. Source: Featherstone 1983; Castro,
Permenter and Han 2022 for contact as a regularized law in Newton's method; the sweep with contact inertias is our own.
"""

from __future__ import annotations

from kido.jit import Struct, floats, inlined, integers, kernel
from kido.kernels.articulated import add_column, add_to_parent, parent_motion, yielding_inertia
from kido.kernels.inertia import add_shifted, inertia_of, read_inertia, write_rigid
from kido.kernels.inverse_dynamics import column_dot
from kido.kernels.kinematics import has_hinge


class REGULARIZED(Struct):
    held = integers("bodies", doc="1: the body, its joint or one below it is held, so that it takes part")
    chain = integers("bodies", doc="bodies of each tree that take part, from its first body's entry on, ascending")
    number = integers("trees", doc="how many bodies of each tree take part")
    P = floats("bodies", 21, doc="inertia of a body with all that hangs on it and takes no part")
    gain = floats("bodies", 36, doc="G of each body, row after row: impulse taken per change of velocity; in a sweep Q")
    pull = floats("bodies", 6, unit="N m s, N s", doc="z of each body")
    z = floats("bodies", 6, unit="N m s, N s", doc="articulated impulse")
    V = floats("bodies", 6, unit="rad/s, m/s", doc="change of velocity, about the body's origin")
    L = floats("dofs", 6, doc="H^T Q of each coordinate, after those above it are eliminated")
    Dinv = floats("dofs", doc="inverse of the coordinate's own inertia; 0: prescribed")
    e = floats("dofs", doc="the coordinate's own share of s")
    s = floats("dofs", doc="change of velocity of each coordinate")
    joint_gain = floats("dofs", doc="g of each coordinate")
    joint_pull = floats("dofs", doc="r of each coordinate")
    Y = floats("bodies", 21, doc="compliance of a body that takes part (kido.kernels.chain_impulses)")
    own = floats("dofs", doc="compliance of a coordinate of such a body")


@kernel
def deactivate(t, y, first, last):
    """No body of a tree takes part."""
    for i in range(first, last):
        y.held[i] = 0


@inlined
def start_held(y, i):
    """Q of a body without what holds it and those below it that take part."""
    P, Q = y.P, y.gain
    for a in range(3):
        Q[i, 6 * a + 3] = Q[i, 18 + a] = P[i, 6 + 3 * a]
        Q[i, 6 * a + 4] = Q[i, 24 + a] = P[i, 7 + 3 * a]
        Q[i, 6 * a + 5] = Q[i, 30 + a] = P[i, 8 + 3 * a]
    for o, e in ((0, 0), (21, 15)):
        Q[i, o] = P[i, e]
        Q[i, o + 1] = Q[i, o + 6] = P[i, e + 1]
        Q[i, o + 2] = Q[i, o + 12] = P[i, e + 2]
        Q[i, o + 7] = P[i, e + 3]
        Q[i, o + 8] = Q[i, o + 13] = P[i, e + 4]
        Q[i, o + 14] = P[i, e + 5]


@kernel
def release_tree(t, y, first, number):
    """Nothing holds the bodies in the list, and their coordinates. Gains are added to what the bodies weigh, in Q."""
    for n in range(first, first + number):
        i = y.chain[n]
        start_held(y, i)
        for j in range(6):
            y.pull[i, j] = 0.0
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            y.joint_gain[k] = 0.0
            y.joint_pull[k] = 0.0


@kernel
def hold_body(t, y, i, first):
    """Note that a body, or its joint, is held: it and those above it take part in the sweep."""
    while i >= first and y.held[i] == 0:
        y.held[i] = 1
        i = t.parent[i]


@kernel
def list_held(t, y, first, last):
    """List the bodies of a tree that take part. Returns their number."""
    number = 0
    for i in range(first, last):
        if y.held[i] != 0:
            y.chain[first + number] = i
            number += 1
    y.number[t.tree_of_body[first]] = number
    return number


@kernel
def weigh_held(t, d, y, first, last):
    """Inertias of the bodies that take part, with all that hangs on them and does not.

    Needs P, U and Dinv of `articulated_inertias`.
    """
    for i in range(first, last):
        if y.held[i] != 0:
            write_rigid(y.P, i, inertia_of(d, i), d.mc[i, 0], d.mc[i, 1], d.mc[i, 2], t.mass[i])
        elif t.parent[i] >= first and y.held[t.parent[i]] != 0:
            P = yielding_inertia(t, d, i, read_inertia(d, i))
            add_shifted(y, t.parent[i], P, d.l[i, 0], d.l[i, 1], d.l[i, 2])


@inlined
def held_row(Q, i, r, h0, h1, h2, h3, h4, h5):
    """Row r of Q times a motion."""
    a = 6 * r
    x = Q[i, a] * h0 + Q[i, a + 1] * h1 + Q[i, a + 2] * h2
    return x + (Q[i, a + 3] * h3 + Q[i, a + 4] * h4 + Q[i, a + 5] * h5)


@inlined
def held_column(Q, i, a, h0, h1, h2, h3, h4, h5):
    """A motion times column a of Q."""
    x = h0 * Q[i, a] + h1 * Q[i, a + 6] + h2 * Q[i, a + 12]
    return x + (h3 * Q[i, a + 18] + h4 * Q[i, a + 24] + h5 * Q[i, a + 30])


@inlined
def eliminate_held(t, d, y, i, k, hinge, h):
    """Take coordinate k out of Q and z of its body; a hinge's column has no linear part."""
    Q, z, L = y.gain, y.z, y.L
    h0, h1, h2, h3, h4, h5 = d.H[k, 0], d.H[k, 1], d.H[k, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5]
    if hinge:
        u0 = Q[i, 0] * h0 + Q[i, 1] * h1 + Q[i, 2] * h2
        u1 = Q[i, 6] * h0 + Q[i, 7] * h1 + Q[i, 8] * h2
        u2 = Q[i, 12] * h0 + Q[i, 13] * h1 + Q[i, 14] * h2
        u3 = Q[i, 18] * h0 + Q[i, 19] * h1 + Q[i, 20] * h2
        u4 = Q[i, 24] * h0 + Q[i, 25] * h1 + Q[i, 26] * h2
        u5 = Q[i, 30] * h0 + Q[i, 31] * h1 + Q[i, 32] * h2
        for a in range(6):
            L[k, a] = h0 * Q[i, a] + h1 * Q[i, a + 6] + h2 * Q[i, a + 12]
    else:
        u0 = held_row(Q, i, 0, h0, h1, h2, h3, h4, h5)
        u1 = held_row(Q, i, 1, h0, h1, h2, h3, h4, h5)
        u2 = held_row(Q, i, 2, h0, h1, h2, h3, h4, h5)
        u3 = held_row(Q, i, 3, h0, h1, h2, h3, h4, h5)
        u4 = held_row(Q, i, 4, h0, h1, h2, h3, h4, h5)
        u5 = held_row(Q, i, 5, h0, h1, h2, h3, h4, h5)
        for a in range(6):
            L[k, a] = held_column(Q, i, a, h0, h1, h2, h3, h4, h5)
    D = (h0 * u0 + h1 * u1 + h2 * u2) + (h3 * u3 + h4 * u4 + h5 * u5)
    D += y.joint_gain[k] + h * (t.damping[k] + 0.25 * h * t.stiffness[k])
    D += t.armature[k]
    inverse = 1.0 / D
    e = y.joint_pull[k] + column_dot(d, k, z[i, 0], z[i, 1], z[i, 2], z[i, 3], z[i, 4], z[i, 5])
    e *= inverse
    y.Dinv[k] = inverse
    y.e[k] = e
    z[i, 0] -= u0 * e
    z[i, 1] -= u1 * e
    z[i, 2] -= u2 * e
    z[i, 3] -= u3 * e
    z[i, 4] -= u4 * e
    z[i, 5] -= u5 * e
    u0 *= inverse
    u1 *= inverse
    u2 *= inverse
    u3 *= inverse
    u4 *= inverse
    u5 *= inverse
    for a in range(6):
        x = L[k, a]
        Q[i, a] -= u0 * x
        Q[i, a + 6] -= u1 * x
        Q[i, a + 12] -= u2 * x
        Q[i, a + 18] -= u3 * x
        Q[i, a + 24] -= u4 * x
        Q[i, a + 30] -= u5 * x


@inlined
def hand_held_down(d, y, i, p):
    """Q(p) += phi Q(i) phi*, z(p) += phi z(i), with l from the parent's origin to the body's."""
    Q, z = y.gain, y.z
    l0, l1, l2 = d.l[i, 0], d.l[i, 1], d.l[i, 2]
    # phi = [[1, l~], [0, 1]]: rows first, moments += l x forces; then columns, by the same rule.
    for a in range(6):
        f0, f1, f2 = Q[i, a + 18], Q[i, a + 24], Q[i, a + 30]
        Q[i, a] += l1 * f2 - l2 * f1
        Q[i, a + 6] += l2 * f0 - l0 * f2
        Q[i, a + 12] += l0 * f1 - l1 * f0
    for r in range(6):
        a = 6 * r
        f0, f1, f2 = Q[i, a + 3], Q[i, a + 4], Q[i, a + 5]
        Q[p, a] += Q[i, a] + (l1 * f2 - l2 * f1)
        Q[p, a + 1] += Q[i, a + 1] + (l2 * f0 - l0 * f2)
        Q[p, a + 2] += Q[i, a + 2] + (l0 * f1 - l1 * f0)
        Q[p, a + 3] += f0
        Q[p, a + 4] += f1
        Q[p, a + 5] += f2
    add_to_parent(d, z, i, p, z[i, 0], z[i, 1], z[i, 2], z[i, 3], z[i, 4], z[i, 5])


@inlined
def held_motion(t, d, y, i, first):
    """V of body i and s of its coordinates, from its parent's V."""
    V, L = y.V, y.L
    b0, b1, b2, b3, b4, b5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    p = t.parent[i]
    if p >= first:
        b0, b1, b2, b3, b4, b5 = parent_motion(d, V, i, p)
    for k in range(t.first_dof[i], t.first_dof[i + 1]):
        s = 0.0
        if t.prescribed[k] == 0:
            w = L[k, 0] * b0 + L[k, 1] * b1 + L[k, 2] * b2
            s = y.e[k] - (w + (L[k, 3] * b3 + L[k, 4] * b4 + L[k, 5] * b5)) * y.Dinv[k]
            b0, b1, b2, b3, b4, b5 = add_column(d, k, s, b0, b1, b2, b3, b4, b5)
        y.s[k] = s
    V[i, 0], V[i, 1], V[i, 2], V[i, 3], V[i, 4], V[i, 5] = b0, b1, b2, b3, b4, b5


@kernel
def solve_held_tree(t, d, y, first, number, h):
    """Velocities s of the coordinates and V of the bodies in the list of a tree whose first body is `first`.

    What holds it is used up.
    """
    for n in range(first, first + number):
        i = y.chain[n]
        for j in range(6):
            y.z[i, j] = y.pull[i, j]
    for n in range(first + number - 1, first - 1, -1):
        i = y.chain[n]
        for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
            if t.prescribed[k] == 0:
                eliminate_held(t, d, y, i, k, has_hinge(t, i), h)
        if t.parent[i] >= first:
            hand_held_down(d, y, i, t.parent[i])
    for n in range(first, first + number):
        held_motion(t, d, y, y.chain[n], first)
