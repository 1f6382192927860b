"""Joint-space mass matrix by composite rigid bodies. Theory reference, section a5.

R(k) = M(k) + sum over children of phi R phi*; M(k,k) = H R H*, and the columns R H* are shifted to the
ancestors. A composite is a rigid body, so the first ten numbers of its row of P hold it: [J | mc | m].
Rotor inertias are on the diagonal besides.
Source: Walker and Orin (1982); Featherstone (2008), section 6.2.
"""

from __future__ import annotations

from kido.jit import clear, inlined, kernel
from kido.kernels.inertia import rigid_momentum
from kido.kernels.inverse_dynamics import column_dot
from kido.math.so3 import cross


@inlined
def start_composite(t, d, i):
    """The composite of body i = the body alone."""
    P = d.P
    for k in range(6):
        P[i, k] = d.J[i, k]
    P[i, 6], P[i, 7], P[i, 8], P[i, 9] = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2], t.mass[i]


@inlined
def add_composite(d, i, parent):
    """Add the composite of body i to its parent's: J' = J - l~ c~ - e~ l~ with c = mc and e = c + m l."""
    P = d.P
    x, y, z = d.l[i, 0], d.l[i, 1], d.l[i, 2]
    c0, c1, c2, m = P[i, 6], P[i, 7], P[i, 8], P[i, 9]
    e0, e1, e2 = c0 + m * x, c1 + m * y, c2 + m * z
    xx, yy, zz = x * (c0 + e0), y * (c1 + e1), z * (c2 + e2)
    P[parent, 0] += P[i, 0] + (yy + zz)
    P[parent, 1] += P[i, 1] - (c0 * y + x * e1)
    P[parent, 2] += P[i, 2] - (c0 * z + x * e2)
    P[parent, 3] += P[i, 3] + (xx + zz)
    P[parent, 4] += P[i, 4] - (c1 * z + y * e2)
    P[parent, 5] += P[i, 5] + (xx + yy)
    P[parent, 6] += e0
    P[parent, 7] += e1
    P[parent, 8] += e2
    P[parent, 9] += m


@inlined
def fill_column(t, d, first, i, k, M):
    """Entries of M in the row and column of coordinate k of body i, with the coordinates above it."""
    offset = t.first_dof[first]
    P = d.P
    z0, z1, z2, z3, z4, z5 = rigid_momentum(
        (P[i, 0], P[i, 1], P[i, 2], P[i, 3], P[i, 4], P[i, 5]), (P[i, 6], P[i, 7], P[i, 8]), P[i, 9],
        d.H[k, 0], d.H[k, 1], d.H[k, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5],
    )  # fmt: skip
    end = k + 1
    while True:
        for r in range(t.first_dof[i], end):
            s = column_dot(d, r, z0, z1, z2, z3, z4, z5)
            M[r - offset, k - offset] = s
            M[k - offset, r - offset] = s
        above = t.parent[i]
        if above < first:
            break
        x, y, z = cross(d.l[i, 0], d.l[i, 1], d.l[i, 2], z3, z4, z5)
        z0 += x
        z1 += y
        z2 += z
        end = t.first_dof[above + 1]
        i = above


@inlined
def add_armature(t, first, last, M):
    """Add the rotor inertias of the joints of bodies first..last-1."""
    offset = t.first_dof[first]
    for k in range(offset, t.first_dof[last]):
        M[k - offset, k - offset] += t.armature[k]


@kernel
def mass_matrix_from_composites(t, d, first, last, M):
    """Fill M (dofs x dofs, symmetric), less rotors, for bodies first..last-1 from H, l and their own inertias in P."""
    clear(M)
    for i in range(last - 1, first - 1, -1):
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            fill_column(t, d, first, i, k, M)
        parent = t.parent[i]
        if parent >= first:
            add_composite(d, i, parent)


@kernel
def mass_matrix(t, d, first, last, M):
    """Fill M (dofs x dofs, symmetric) for bodies first..last-1; J, mc, H, l must be current."""
    for i in range(first, last):
        start_composite(t, d, i)
    mass_matrix_from_composites(t, d, first, last, M)
    add_armature(t, first, last, M)
