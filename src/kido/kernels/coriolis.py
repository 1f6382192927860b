"""Coriolis matrix: C(q, u) u are the velocity forces, and dM/dt - 2 C is skew-symmetric.

C = sum over bodies of J^T (M Jdot + B J), evaluated from composites and their rates (`composites`):

    C[r, k] = H_r . (M Hdot_k + B H_k),       body of k at or below that of r, wrench moved up to r's origin
    C[k, r] = H_k' . B^T H_r + Hdot_k' . M H_r,   H_k' the column of k at r's body, body of r below that of k

With joints of one coordinate C is the matrix of Christoffel symbols.
Source: Echeandia and Wensing (2021); here in world axes about moving origins.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.kernels.composites import composite_momentum, coriolis_wrench, rate_of_l, transposed_coriolis_wrench
from kido.kernels.inverse_dynamics import column_dot
from kido.kernels.jacobian import full_column_rate
from kido.math.so3 import cross


@kernel
def store_column_rates(t, d):
    """Hdot_k, the motion of the parents included, in U."""
    for i in range(t.parent.shape[0]):
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            e0, e1, e2, e3, e4, e5 = full_column_rate(t, d, i, k)
            d.U[k, 0], d.U[k, 1], d.U[k, 2], d.U[k, 3], d.U[k, 4], d.U[k, 5] = e0, e1, e2, e3, e4, e5


@inlined
def fill_coriolis(t, d, i, k, C):
    """Entries of C in the row and the column of coordinate k of link i, with the coordinates above it."""
    H, U = d.H, d.U
    w0, w1, w2, v0, v1, v2 = H[k, 0], H[k, 1], H[k, 2], H[k, 3], H[k, 4], H[k, 5]
    # f = M Hdot_k + B H_k;  g = M H_k;  b = B^T H_k, which is a pure moment here and stays one with added l' x g.
    f0, f1, f2, f3, f4, f5 = composite_momentum(d, i, U[k, 0], U[k, 1], U[k, 2], U[k, 3], U[k, 4], U[k, 5])
    c0, c1, c2, c3, c4, c5 = coriolis_wrench(d, i, w0, w1, w2)
    f0 += c0
    f1 += c1
    f2 += c2
    f3 += c3
    f4 += c4
    f5 += c5
    g0, g1, g2, g3, g4, g5 = composite_momentum(d, i, w0, w1, w2, v0, v1, v2)
    b0, b1, b2 = transposed_coriolis_wrench(d, i, w0, w1, w2, v0, v1, v2)
    end = k + 1
    while True:
        for r in range(t.first_dof[i], end):
            C[r, k] = column_dot(d, r, f0, f1, f2, f3, f4, f5)
            if r != k:
                s = (U[r, 0] * g0 + U[r, 1] * g1 + U[r, 2] * g2) + (U[r, 3] * g3 + U[r, 4] * g4 + U[r, 5] * g5)
                C[k, r] = s + (H[r, 0] * b0 + H[r, 1] * b1 + H[r, 2] * b2)
        above = t.parent[i]
        if above < 0:
            break
        lx, ly, lz = d.l[i, 0], d.l[i, 1], d.l[i, 2]
        x, y, z = cross(lx, ly, lz, f3, f4, f5)
        f0 += x
        f1 += y
        f2 += z
        x, y, z = cross(lx, ly, lz, g3, g4, g5)
        g0 += x
        g1 += y
        g2 += z
        dx, dy, dz = rate_of_l(d, i, above)
        x, y, z = cross(dx, dy, dz, g3, g4, g5)
        b0 += x
        b1 += y
        b2 += z
        end = t.first_dof[above + 1]
        i = above


@kernel
def coriolis_matrix(t, d, C):
    """Fill C (dofs, dofs) from composites and their rates."""
    for r in range(C.shape[0]):
        for k in range(C.shape[1]):
            C[r, k] = 0.0
    store_column_rates(t, d)
    for i in range(t.parent.shape[0]):
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            fill_coriolis(t, d, i, k, C)
