"""Impulse response of a tree: the columns of M^-1 J^T. Theory reference, section a7 with a = b = 0.

Needs U, Dinv, H, l of `articulated_inertias`.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.kernels.articulated import add_column, at_parent, gather_shares, give_way, parent_motion, take_share
from kido.kernels.inverse_dynamics import column_dot


@kernel
def clear_shares(t, d, first, last):
    """No shares e, from which `velocity_scatter` makes velocities."""
    for k in range(t.first_dof[first], t.first_dof[last]):
        d.e[k] = 0.0


@kernel
def impulse_gather(t, d, first, body, sign, n0, n1, n2, f0, f1, f2, J, offset):
    """Add a unit impulse on a body to J and to the shares e of the coordinates that it meets; see `impulse_row`."""
    i = body
    z0, z1, z2, z3, z4, z5 = -sign * n0, -sign * n1, -sign * n2, -sign * f0, -sign * f1, -sign * f2
    n0, n1, n2, f0, f1, f2 = -z0, -z1, -z2, -z3, -z4, -z5
    while i >= first:
        for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
            J[offset + k] += column_dot(d, k, n0, n1, n2, f0, f1, f2)
            e, z0, z1, z2, z3, z4, z5 = take_share(d, k, 0.0, z0, z1, z2, z3, z4, z5)
            d.e[k] += e
        z0, z1, z2, z3, z4, z5 = at_parent(d, i, z0, z1, z2, z3, z4, z5)
        n0, n1, n2, f0, f1, f2 = at_parent(d, i, n0, n1, n2, f0, f1, f2)
        i = t.parent[i]


@kernel
def impulse_row(t, d, first, last, body, sign, n0, n1, n2, f0, f1, f2, J, Y, at):
    """Add one constraint row of a body to J and its response M^-1 J^T to Y.

    Args:
        first, last: the bodies of the tree that moves; coordinates are counted from first's.
        body: the body the row acts on.
        sign: +1 or -1, the side of the constraint.
        n0..f2: the row as a unit impulse [moment; force] about the body's origin, world axes.
        J, Y: arrays that hold the row and its response from index `at` on.
    """
    offset = at - t.first_dof[first]
    clear_shares(t, d, first, last)
    impulse_gather(t, d, first, body, sign, n0, n1, n2, f0, f1, f2, J, offset)
    velocity_scatter(t, d, first, last, Y, offset)


@kernel
def velocity_scatter(t, d, first, last, Y, offset):
    """Add the velocity change of every coordinate to Y, base to tips, from the shares e."""
    for i in range(first, last):
        parent = t.parent[i]
        if parent >= first:
            b0, b1, b2, b3, b4, b5 = parent_motion(d, d.B, i, parent)
        else:
            b0, b1, b2, b3, b4, b5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            s = give_way(d, k, d.e[k], b0, b1, b2, b3, b4, b5)
            Y[offset + k] += s
            b0, b1, b2, b3, b4, b5 = add_column(d, k, s, b0, b1, b2, b3, b4, b5)
        d.B[i, 0], d.B[i, 1], d.B[i, 2], d.B[i, 3], d.B[i, 4], d.B[i, 5] = b0, b1, b2, b3, b4, b5


@kernel
def joint_impulse_row(t, d, first, last, dof, sign, J, Y, at):
    """Add the row of a single coordinate (a limit, joint friction) to J, and its response to Y."""
    offset = at - t.first_dof[first]
    clear_shares(t, d, first, last)
    J[offset + dof] += sign
    i = t.body_of_dof[dof]
    z0, z1, z2, z3, z4, z5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    while i >= first:
        for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
            force = sign if k == dof else 0.0
            d.e[k], z0, z1, z2, z3, z4, z5 = take_share(d, k, force, z0, z1, z2, z3, z4, z5)
        z0, z1, z2, z3, z4, z5 = at_parent(d, i, z0, z1, z2, z3, z4, z5)
        i = t.parent[i]
    velocity_scatter(t, d, first, last, Y, offset)


@kernel
def generalized_row(t, d, first, last, J, Y, at):
    """Add the response to the row in J, from index `at` on, to Y at the same place; d.z is used up."""
    offset = at - t.first_dof[first]
    for i in range(first, last):
        for k in range(6):
            d.z[i, k] = 0.0
    gather_shares(t, d, first, last, J, offset)
    velocity_scatter(t, d, first, last, Y, offset)
