"""Response of a tree to any generalized impulse: M^-1 J^T for a row J over all its coordinates.

Theory reference, section a7 with a = b = 0. Needs U, Dinv, H, l of `articulated_inertias`.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.kernels.impulse import velocity_scatter
from kido.kernels.inverse_dynamics import column_dot
from kido.math.so3 import cross


@kernel
def generalized_row(t, d, first, last, J, Y, at):
    """Add the response to the row in J, from index `at` on, to Y at the same place; d.z is used up."""
    offset = at - t.first_dof[first]
    for i in range(first, last):
        for k in range(6):
            d.z[i, k] = 0.0
    for i in range(last - 1, first - 1, -1):
        z0, z1, z2, z3, z4, z5 = d.z[i, 0], d.z[i, 1], d.z[i, 2], d.z[i, 3], d.z[i, 4], d.z[i, 5]
        for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
            e = (J[offset + k] - column_dot(d, k, z0, z1, z2, z3, z4, z5)) * d.Dinv[k]
            d.e[k] = e
            z0 += d.U[k, 0] * e
            z1 += d.U[k, 1] * e
            z2 += d.U[k, 2] * e
            z3 += d.U[k, 3] * e
            z4 += d.U[k, 4] * e
            z5 += d.U[k, 5] * e
        parent = t.parent[i]
        if parent >= first:
            x, y, z = cross(d.l[i, 0], d.l[i, 1], d.l[i, 2], z3, z4, z5)
            d.z[parent, 0] += z0 + x
            d.z[parent, 1] += z1 + y
            d.z[parent, 2] += z2 + z
            d.z[parent, 3] += z3
            d.z[parent, 4] += z4
            d.z[parent, 5] += z5
    velocity_scatter(t, d, first, last, Y, offset)
