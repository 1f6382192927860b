"""The inverse of the mass matrix, its factors, and velocity changes by impulses, by articulated bodies.

    M = F D F^T,   M^-1 = F^-T D^-1 F^-1,   F = I + H phi K

with D the articulated inertias that the coordinates see (theory reference, section a4). F is upper triangular
with ones on its diagonal: F[r, k] = H_r . phi(r, k) G_k is 0 unless r is above k. Columns of M^-1 are the
responses of the tree to unit forces; a block of columns walks the tree together, and as M^-1 is symmetric only
up to the last body that the block's coordinates move.
"""

from __future__ import annotations

import math

from kido.jit import inlined, kernel
from kido.kernels.forward_dynamics import SINGULAR, SMALL
from kido.kernels.impulse import velocity_scatter
from kido.kernels.inertia import add_shifted, apply_inertia, deflate, read_inertia, start_inertia
from kido.kernels.inverse_dynamics import column_dot
from kido.math.so3 import cross
from kido.tree.selection import COLUMNS


@kernel
def eliminate(t, d, h, keep_prescribed):
    """P, U, Dinv of all bodies with D = H P H + h Kd + h^2 Ks; J and mc must be current.

    Prescribed coordinates are eliminated like the others unless `keep_prescribed`, which makes them rigid.

    Returns:
        -1, or the index of a coordinate whose inertia is not positive.
    """
    n = t.parent.shape[0]
    status = -1
    for i in range(n):
        start_inertia(t, d, i)
    for i in range(n - 1, -1, -1):
        P = read_inertia(d, i)
        small = SMALL * (P[0] + P[3] + P[5] + P[15] + P[18] + P[20])
        for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
            h0, h1, h2, h3, h4, h5 = d.H[k, 0], d.H[k, 1], d.H[k, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5]
            u0, u1, u2, u3, u4, u5 = apply_inertia(P, h0, h1, h2, h3, h4, h5)
            d.U[k, 0], d.U[k, 1], d.U[k, 2] = u0, u1, u2
            d.U[k, 3], d.U[k, 4], d.U[k, 5] = u3, u4, u5
            if keep_prescribed != 0 and t.prescribed[k] != 0:
                d.Dinv[k] = 0.0
                continue
            D = (h0 * u0 + h1 * u1 + h2 * u2) + (h3 * u3 + h4 * u4 + h5 * u5)
            D += h * (t.damping[k] + h * t.stiffness[k])
            if not small < D:
                # As in forward_dynamics.eliminate_joint: what rounding leaves of a singular joint is not inertia.
                bound = (P[0] + P[3] + P[5]) * (h0 * h0 + h1 * h1 + h2 * h2)
                bound += (P[15] + P[18] + P[20]) * (h3 * h3 + h4 * h4 + h5 * h5)
                if not SINGULAR * bound < D:
                    status = k
                    D = 1.0
            inverse = 1.0 / D
            d.Dinv[k] = inverse
            P = deflate(P, u0, u1, u2, u3, u4, u5, inverse)
        parent = t.parent[i]
        if parent >= 0:
            add_shifted(d, parent, P, d.l[i, 0], d.l[i, 1], d.l[i, 2])
    return status


@inlined
def pull_block(t, d, b, i, first):
    """Shares E of link i's coordinates from the block's wrenches Z, handing the rest to the parent."""
    Z, T, E = b.Z, b.T, b.E
    for r in range(6):
        for c in range(COLUMNS):
            T[r, c] = Z[i, r, c]
    for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
        h0, h1, h2, h3, h4, h5 = d.H[k, 0], d.H[k, 1], d.H[k, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5]
        u0, u1, u2, u3, u4, u5 = d.U[k, 0], d.U[k, 1], d.U[k, 2], d.U[k, 3], d.U[k, 4], d.U[k, 5]
        inverse = d.Dinv[k]
        for c in range(COLUMNS):
            force = 1.0 if k == first + c else 0.0
            e = h0 * T[0, c] + h1 * T[1, c] + h2 * T[2, c] + (h3 * T[3, c] + h4 * T[4, c] + h5 * T[5, c])
            e = (force - e) * inverse
            E[k, c] = e
            T[0, c] += u0 * e
            T[1, c] += u1 * e
            T[2, c] += u2 * e
            T[3, c] += u3 * e
            T[4, c] += u4 * e
            T[5, c] += u5 * e
    parent = t.parent[i]
    if parent >= 0:
        x, y, z = d.l[i, 0], d.l[i, 1], d.l[i, 2]
        for c in range(COLUMNS):
            Z[parent, 0, c] += T[0, c] + (y * T[5, c] - z * T[4, c])
            Z[parent, 1, c] += T[1, c] + (z * T[3, c] - x * T[5, c])
            Z[parent, 2, c] += T[2, c] + (x * T[4, c] - y * T[3, c])
            Z[parent, 3, c] += T[3, c]
            Z[parent, 4, c] += T[4, c]
            Z[parent, 5, c] += T[5, c]


@inlined
def push_block(t, d, b, i):
    """Columns E of link i's coordinates from their shares and the parent's accelerations Z; Z of the link."""
    Z, T, E = b.Z, b.T, b.E
    parent = t.parent[i]
    if parent >= 0:
        x, y, z = d.l[i, 0], d.l[i, 1], d.l[i, 2]
        for c in range(COLUMNS):
            w0, w1, w2 = Z[parent, 0, c], Z[parent, 1, c], Z[parent, 2, c]
            T[0, c] = w0
            T[1, c] = w1
            T[2, c] = w2
            T[3, c] = Z[parent, 3, c] + (w1 * z - w2 * y)
            T[4, c] = Z[parent, 4, c] + (w2 * x - w0 * z)
            T[5, c] = Z[parent, 5, c] + (w0 * y - w1 * x)
    else:
        for r in range(6):
            for c in range(COLUMNS):
                T[r, c] = 0.0
    for k in range(t.first_dof[i], t.first_dof[i + 1]):
        h0, h1, h2, h3, h4, h5 = d.H[k, 0], d.H[k, 1], d.H[k, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5]
        u0, u1, u2, u3, u4, u5 = d.U[k, 0], d.U[k, 1], d.U[k, 2], d.U[k, 3], d.U[k, 4], d.U[k, 5]
        inverse = d.Dinv[k]
        for c in range(COLUMNS):
            g = u0 * T[0, c] + u1 * T[1, c] + u2 * T[2, c] + (u3 * T[3, c] + u4 * T[4, c] + u5 * T[5, c])
            s = E[k, c] - g * inverse
            E[k, c] = s
            T[0, c] += h0 * s
            T[1, c] += h1 * s
            T[2, c] += h2 * s
            T[3, c] += h3 * s
            T[4, c] += h4 * s
            T[5, c] += h5 * s
    for r in range(6):
        for c in range(COLUMNS):
            Z[i, r, c] = T[r, c]


@kernel
def inverse_mass_matrix(t, d, b, out):
    """out = M^-1 (dofs, dofs), after `eliminate`."""
    m = out.shape[0]
    for first in range(0, m, COLUMNS):
        last = min(first + COLUMNS, m)
        end = t.body_of_dof[last - 1] + 1
        for i in range(end):
            for r in range(6):
                for c in range(COLUMNS):
                    b.Z[i, r, c] = 0.0
        for i in range(end - 1, -1, -1):
            pull_block(t, d, b, i, first)
        for i in range(end):
            push_block(t, d, b, i)
        for k in range(last):
            for c in range(last - first):
                s = b.E[k, c]
                out[k, first + c] = s
                out[first + c, k] = s


@kernel
def mass_factors(t, d, F, D):
    """F (dofs, dofs) upper triangular with unit diagonal and D (dofs,), M = F diag(D) F^T, after `eliminate`."""
    m = D.shape[0]
    for r in range(m):
        for k in range(m):
            F[r, k] = 0.0
    for leaf in range(t.parent.shape[0]):
        for k in range(t.first_dof[leaf], t.first_dof[leaf + 1]):
            s = d.Dinv[k]
            D[k] = 1.0 / s
            F[k, k] = 1.0
            z0, z1, z2, z3, z4, z5 = (
                s * d.U[k, 0],
                s * d.U[k, 1],
                s * d.U[k, 2],
                s * d.U[k, 3],
                s * d.U[k, 4],
                s * d.U[k, 5],
            )
            i = leaf
            end = k
            while True:
                for r in range(t.first_dof[i], end):
                    F[r, k] = column_dot(d, r, z0, z1, z2, z3, z4, z5)
                above = t.parent[i]
                if above < 0:
                    break
                x, y, z = cross(d.l[i, 0], d.l[i, 1], d.l[i, 2], z3, z4, z5)
                z0 += x
                z1 += y
                z2 += z
                end = t.first_dof[above + 1]
                i = above


@kernel
def cholesky(M, L):
    """Lower triangular L with M = L L^T; destroys the upper triangle of M.

    Returns:
        -1, or the first row whose pivot is not positive.
    """
    m = M.shape[0]
    for j in range(m):
        pivot = M[j, j]
        if not pivot > 0.0:
            return j
        pivot = math.sqrt(pivot)
        inverse = 1.0 / pivot
        for k in range(j + 1, m):
            M[j, k] *= inverse
        for i in range(j + 1, m):
            s = M[j, i]
            for k in range(i, m):
                M[i, k] -= s * M[j, k]
        L[j, j] = pivot
        for i in range(j + 1, m):
            L[i, j] = M[j, i]
            L[j, i] = 0.0
    return -1


@kernel
def velocity_changes(t, d, impulses, out):
    """out = M^-1 (impulses + J^T p) of joint impulses and the bodies' impulses p, which f holds; after `eliminate`."""
    n = t.parent.shape[0]
    for i in range(n):
        for r in range(6):
            d.z[i, r] = -d.f[i, r]
    for i in range(n - 1, -1, -1):
        z0, z1, z2, z3, z4, z5 = d.z[i, 0], d.z[i, 1], d.z[i, 2], d.z[i, 3], d.z[i, 4], d.z[i, 5]
        for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
            e = (impulses[k] - column_dot(d, k, z0, z1, z2, z3, z4, z5)) * d.Dinv[k]
            d.e[k] = e
            z0 += d.U[k, 0] * e
            z1 += d.U[k, 1] * e
            z2 += d.U[k, 2] * e
            z3 += d.U[k, 3] * e
            z4 += d.U[k, 4] * e
            z5 += d.U[k, 5] * e
        parent = t.parent[i]
        if parent >= 0:
            x, y, z = cross(d.l[i, 0], d.l[i, 1], d.l[i, 2], z3, z4, z5)
            d.z[parent, 0] += z0 + x
            d.z[parent, 1] += z1 + y
            d.z[parent, 2] += z2 + z
            d.z[parent, 3] += z3
            d.z[parent, 4] += z4
            d.z[parent, 5] += z5
    for k in range(out.shape[0]):
        out[k] = 0.0
    velocity_scatter(t, d, 0, n, out, 0)
