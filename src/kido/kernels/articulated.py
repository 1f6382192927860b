"""The steps of every articulated-body sweep, for one coordinate or one body. Theory reference, sections a3 and a7.

    inward     e_k = (tau_k - H_k . z) / D_k,    z <- z + U_k e_k       each coordinate of body i, last to first
               z(parent) += phi(parent, i) z
    outward    b = phi*(parent, i) b(parent)
               s_k = e_k - U_k . b / D_k,        b <- b + H_k s_k       each coordinate of body i, first to last

z is a wrench [moment; force] still to be balanced, e a coordinate's own share of its acceleration or change of
velocity s, b a spatial acceleration or velocity. U, D and l are those of `kido.kernels.forward_dynamics`; a prescribed
coordinate has 1 / D = 0. Numbers are handed on one by one, so that they stay in registers, in lanes too.

Three sweeps have steps of their own, as their numbers have another structure: a free body has nothing to eliminate
(`free_body`), laws that hold a tree make inertias without symmetry (`regularized_tree`), and where all columns of a
matrix go the same way the innermost loop is over them (`inverse_mass`, `operational_space`).
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.kernels.inertia import deflate
from kido.kernels.inverse_dynamics import column_dot
from kido.math.so3 import cross


@inlined
def add_column(d, k, s, b0, b1, b2, b3, b4, b5):
    """b + H_k s."""
    return (
        b0 + d.H[k, 0] * s, b1 + d.H[k, 1] * s, b2 + d.H[k, 2] * s,
        b3 + d.H[k, 3] * s, b4 + d.H[k, 4] * s, b5 + d.H[k, 5] * s,
    )  # fmt: skip


@inlined
def add_reaction(d, k, e, z0, z1, z2, z3, z4, z5):
    """z + U_k e."""
    return (
        z0 + d.U[k, 0] * e, z1 + d.U[k, 1] * e, z2 + d.U[k, 2] * e,
        z3 + d.U[k, 3] * e, z4 + d.U[k, 4] * e, z5 + d.U[k, 5] * e,
    )  # fmt: skip


@inlined
def take_share(d, k, force, z0, z1, z2, z3, z4, z5):
    """e of coordinate k by a force along it and z, and z + U_k e."""
    e = (force - column_dot(d, k, z0, z1, z2, z3, z4, z5)) * d.Dinv[k]
    z0, z1, z2, z3, z4, z5 = add_reaction(d, k, e, z0, z1, z2, z3, z4, z5)
    return e, z0, z1, z2, z3, z4, z5


@inlined
def at_parent(d, i, z0, z1, z2, z3, z4, z5):
    """phi(parent, i) z: a wrench about the origin of body i's parent."""
    x, y, z = cross(d.l[i, 0], d.l[i, 1], d.l[i, 2], z3, z4, z5)
    return z0 + x, z1 + y, z2 + z, z3, z4, z5


@inlined
def add_to_parent(d, Z, i, parent, z0, z1, z2, z3, z4, z5):
    """Z(parent) += phi(parent, i) z."""
    z0, z1, z2, z3, z4, z5 = at_parent(d, i, z0, z1, z2, z3, z4, z5)
    Z[parent, 0] += z0
    Z[parent, 1] += z1
    Z[parent, 2] += z2
    Z[parent, 3] += z3
    Z[parent, 4] += z4
    Z[parent, 5] += z5


@inlined
def at_child(d, i, b0, b1, b2, b3, b4, b5):
    """phi*(parent, i) b: its parent's motion about the origin of body i."""
    x, y, z = cross(b0, b1, b2, d.l[i, 0], d.l[i, 1], d.l[i, 2])
    return b0, b1, b2, b3 + x, b4 + y, b5 + z


@inlined
def parent_motion(d, A, i, parent):
    """`at_child` of the motion A of body i's parent."""
    return at_child(d, i, A[parent, 0], A[parent, 1], A[parent, 2], A[parent, 3], A[parent, 4], A[parent, 5])


@inlined
def give_way(d, k, e, b0, b1, b2, b3, b4, b5):
    """s of coordinate k, e of it given, where its body would move by b with the coordinate at rest."""
    g = (d.U[k, 0] * b0 + d.U[k, 1] * b1 + d.U[k, 2] * b2) + (d.U[k, 3] * b3 + d.U[k, 4] * b4 + d.U[k, 5] * b5)
    return e - g * d.Dinv[k]


@inlined
def yielding_inertia(t, d, i, P):
    """P of body i without its joint's coordinates, after they are eliminated."""
    for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
        P = deflate(P, d.U[k, 0], d.U[k, 1], d.U[k, 2], d.U[k, 3], d.U[k, 4], d.U[k, 5], d.Dinv[k])
    return P


@inlined
def gather_shares(t, d, first, last, impulses, offset):
    """e of all coordinates by impulses on them and -z on bodies, tips to base; z is used up."""
    for i in range(last - 1, first - 1, -1):
        z0, z1, z2, z3, z4, z5 = d.z[i, 0], d.z[i, 1], d.z[i, 2], d.z[i, 3], d.z[i, 4], d.z[i, 5]
        for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
            d.e[k], z0, z1, z2, z3, z4, z5 = take_share(d, k, impulses[offset + k], z0, z1, z2, z3, z4, z5)
        if t.parent[i] >= first:
            add_to_parent(d, d.z, i, t.parent[i], z0, z1, z2, z3, z4, z5)


@kernel
def link_velocities(t, d, first, last, u):
    """B = velocities of bodies first..last-1 for any velocities u of their coordinates."""
    for i in range(first, last):
        b0, b1, b2, b3, b4, b5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if t.parent[i] >= 0:
            b0, b1, b2, b3, b4, b5 = parent_motion(d, d.B, i, t.parent[i])
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            b0, b1, b2, b3, b4, b5 = add_column(d, k, u[k], b0, b1, b2, b3, b4, b5)
        d.B[i, 0], d.B[i, 1], d.B[i, 2], d.B[i, 3], d.B[i, 4], d.B[i, 5] = b0, b1, b2, b3, b4, b5
