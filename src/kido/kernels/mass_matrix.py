"""Joint-space mass matrix by composite rigid bodies. Theory reference, section a5.

R(k) = M(k) + sum over children of phi R phi*; M(k,k) = H R H*, and the columns R H* are shifted to the
ancestors. Source: Walker and Orin (1982); Featherstone (2008), section 6.2.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.kernels.inertia import add_shifted, apply_inertia, read_inertia, start_inertia
from kido.kernels.inverse_dynamics import column_dot
from kido.math.so3 import cross


@kernel
def mass_matrix(t, d, first, last, M):
    """Fill M (dofs x dofs, symmetric) for bodies first..last-1; J, mc, H, l must be current."""
    offset = t.first_dof[first]
    size = t.first_dof[last] - offset
    for r in range(size):
        for c in range(size):
            M[r, c] = 0.0
    for i in range(first, last):
        start_inertia(t, d, i)
    for i in range(last - 1, first - 1, -1):
        P = read_inertia(d, i)
        begin, end = t.first_dof[i], t.first_dof[i + 1]
        for k in range(begin, end):
            z0, z1, z2, z3, z4, z5 = apply_inertia(
                P, d.H[k, 0], d.H[k, 1], d.H[k, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5]
            )
            for r in range(begin, k + 1):
                s = column_dot(d, r, z0, z1, z2, z3, z4, z5)
                M[r - offset, k - offset] = s
                M[k - offset, r - offset] = s
            body = i
            above = t.parent[i]
            while above >= first:
                x, y, z = cross(d.l[body, 0], d.l[body, 1], d.l[body, 2], z3, z4, z5)
                z0 += x
                z1 += y
                z2 += z
                for r in range(t.first_dof[above], t.first_dof[above + 1]):
                    s = column_dot(d, r, z0, z1, z2, z3, z4, z5)
                    M[r - offset, k - offset] = s
                    M[k - offset, r - offset] = s
                body = above
                above = t.parent[above]
        parent = t.parent[i]
        if parent >= first:
            add_shifted(d, parent, P, d.l[i, 0], d.l[i, 1], d.l[i, 2])
