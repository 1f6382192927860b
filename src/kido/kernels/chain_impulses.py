"""Impulses on bodies and coordinates of a tree, by one sweep whatever their number: no rows, no responses.

The bodies that impulses act on, and those above them, are the chain of `kido.kernels.regularized_tree`. With wrenches
F(i) on bodies, about their origins, and impulses p_k on coordinates,

    s = M^-1 (p + sum_i J_i^T F(i)),    V(i) = J_i s,    f = sum_i J_i^T F(i),

and Y(i) = J_i M^-1 J_i^T is the compliance of a body: what a wrench on it does to its own velocity
(`kido.kernels.operational_space`).

Needs transforms and U, Dinv, H, l of `articulated_inertias`. Theory reference, sections a3, a5 and a7.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.kernels.articulated import add_column, add_to_parent, at_parent, give_way, parent_motion, take_share
from kido.kernels.inertia import apply_inertia
from kido.kernels.inverse_dynamics import column_dot
from kido.kernels.operational_space import compliance_before, release, write_compliance


@kernel
def chain_compliances(t, d, y, first, number):
    """Y of the bodies of a tree's chain, and the compliance of their coordinates, diag M^-1."""
    for n in range(first, first + number):
        i = y.chain[n]
        Y = compliance_before(t, d, y, i)
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            s = d.Dinv[k]
            g0, g1, g2 = s * d.U[k, 0], s * d.U[k, 1], s * d.U[k, 2]
            g3, g4, g5 = s * d.U[k, 3], s * d.U[k, 4], s * d.U[k, 5]
            w0, w1, w2, w3, w4, w5 = apply_inertia(Y, g0, g1, g2, g3, g4, g5)
            y.own[k] = s + ((g0 * w0 + g1 * w1 + g2 * w2) + (g3 * w3 + g4 * w4 + g5 * w5))
            Y = release(d, k, Y)
        write_compliance(y, i, Y)


@kernel
def chain_velocities(t, d, y, first, number, u):
    """V of the bodies of a tree's chain for the velocities u of coordinates."""
    V = y.V
    for n in range(first, first + number):
        i = y.chain[n]
        b0, b1, b2, b3, b4, b5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if t.parent[i] >= first:
            b0, b1, b2, b3, b4, b5 = parent_motion(d, V, i, t.parent[i])
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            b0, b1, b2, b3, b4, b5 = add_column(d, k, u[k], b0, b1, b2, b3, b4, b5)
        V[i, 0], V[i, 1], V[i, 2], V[i, 3], V[i, 4], V[i, 5] = b0, b1, b2, b3, b4, b5


@kernel
def clear_impulses(t, y, first, number):
    """No impulses on the bodies of a tree's chain, and on their coordinates."""
    for n in range(first, first + number):
        i = y.chain[n]
        for j in range(6):
            y.pull[i, j] = 0.0
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            y.joint_pull[k] = 0.0


@kernel
def apply_chain(t, d, y, first, last, number):
    """s of all coordinates and V of all bodies of a tree, by the impulses `pull` and `joint_pull` on its chain."""
    z, V = y.z, y.V
    for n in range(first, first + number):
        i = y.chain[n]
        for j in range(6):
            z[i, j] = -y.pull[i, j]
    for n in range(first + number - 1, first - 1, -1):
        i = y.chain[n]
        z0, z1, z2, z3, z4, z5 = z[i, 0], z[i, 1], z[i, 2], z[i, 3], z[i, 4], z[i, 5]
        for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
            y.e[k], z0, z1, z2, z3, z4, z5 = take_share(d, k, y.joint_pull[k], z0, z1, z2, z3, z4, z5)
        p = t.parent[i]
        if p >= first:
            add_to_parent(d, z, i, p, z0, z1, z2, z3, z4, z5)
    for i in range(first, last):
        b0, b1, b2, b3, b4, b5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if t.parent[i] >= first:
            b0, b1, b2, b3, b4, b5 = parent_motion(d, V, i, t.parent[i])
        held = y.held[i] != 0
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            s = give_way(d, k, y.e[k] if held else 0.0, b0, b1, b2, b3, b4, b5)
            y.s[k] = s
            b0, b1, b2, b3, b4, b5 = add_column(d, k, s, b0, b1, b2, b3, b4, b5)
        V[i, 0], V[i, 1], V[i, 2], V[i, 3], V[i, 4], V[i, 5] = b0, b1, b2, b3, b4, b5


@kernel
def add_chain_forces(t, d, y, first, number, force):
    """Add the generalized impulses of `pull` and `joint_pull` to those of coordinates; `pull` is used up."""
    F = y.pull
    for n in range(first + number - 1, first - 1, -1):
        i = y.chain[n]
        z0, z1, z2, z3, z4, z5 = F[i, 0], F[i, 1], F[i, 2], F[i, 3], F[i, 4], F[i, 5]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            force[k] += y.joint_pull[k] + column_dot(d, k, z0, z1, z2, z3, z4, z5)
        p = t.parent[i]
        if p >= first:
            add_to_parent(d, F, i, p, z0, z1, z2, z3, z4, z5)


@kernel
def path_velocity(t, d, body, first, w, u):
    """Velocity w . J u of a wrench w on a body of a tree for velocities u of coordinates, along its path alone."""
    n0, n1, n2, f0, f1, f2 = w
    v = 0.0
    i = body
    while i >= first:
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            v += u[k] * column_dot(d, k, n0, n1, n2, f0, f1, f2)
        n0, n1, n2, f0, f1, f2 = at_parent(d, i, n0, n1, n2, f0, f1, f2)
        i = t.parent[i]
    return v
