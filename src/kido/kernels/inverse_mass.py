"""The inverse of the mass matrix, its factors, and velocity changes by impulses, by articulated bodies.

    M = F D F^T,   M^-1 = F^-T D^-1 F^-1,   F = I + H phi K

with D the articulated inertias that the coordinates see (theory reference, section a4). F is upper triangular
with ones on its diagonal: F[r, k] = H_r . phi(r, k) G_k is 0 unless r is above k, and so is F^-1. Its rows are made
for all columns at once, so that a processor works on several in one instruction.

Derivatives solve with the factors M = L^T D L, which are as sparse as the tree has branches. L is unit lower
triangular, and L[k, j] = G_k . S_j for j above k, else 0: G_k = P H_k / D_k is left by the articulated-body sweep, so
there is nothing to factorise (theory reference, section a4: L = [1 + H phi K]^T). It is kept with its mirror image,
L[j, k] = L[k, j], so that both sweeps walk along rows. A prescribed coordinate has G = 0 and D^-1 = 0: its row of
every solution is 0, as if it were not there.

What is solved for are columns side by side, so that rows are walked in blocks of neighbours: with `lanes_view` eight
columns of one problem are one block, as in batches eight problems are one number.
"""

from __future__ import annotations

import math

from kido.jit import inlined, kernel
from kido.kernels.articulated import at_parent, gather_shares
from kido.kernels.forward_dynamics import eliminate_joint
from kido.kernels.impulse import velocity_scatter
from kido.kernels.inertia import start_inertia
from kido.kernels.inverse_dynamics import column_dot
from kido.math.so3 import cross


@kernel
def eliminate(t, d, h, keep_prescribed):
    """P, U, Dinv of all bodies with D = H P H + J_a + h Kd + h^2 Ks; J and mc must be current.

    Prescribed coordinates are eliminated like the others unless `keep_prescribed`, which makes them rigid.

    Returns:
        -1, or the index of a coordinate whose inertia is not positive.
    """
    n = t.parent.shape[0]
    status = -1.0
    for i in range(n):
        start_inertia(t, d, i)
    for i in range(n - 1, -1, -1):
        status = eliminate_joint(t, d, 0, i, h, h, keep_prescribed, status)
    return status


@inlined
def padded(length, wide):
    """A length of whole blocks of `wide` neighbours: `WIDE` of one problem fill vector registers, in lanes one does."""
    return (length + wide - 1) // wide * wide


@inlined
def pull_columns(t, d, b, i, wide):
    """Rows E of link i's coordinates, and the wrenches Z of its columns seen from its parent's origin."""
    first, last = t.first_dof[i], t.first_dof[i + 1]
    Z0, Z1, Z2, Z3, Z4, Z5, E = b.Z0, b.Z1, b.Z2, b.Z3, b.Z4, b.Z5, b.E
    for c in range(first, last):
        Z0[c], Z1[c], Z2[c], Z3[c], Z4[c], Z5[c] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(last - 1, first - 1, -1):
        h0, h1, h2, h3, h4, h5 = d.H[k, 0], d.H[k, 1], d.H[k, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5]
        u0, u1, u2, u3, u4, u5 = d.U[k, 0], d.U[k, 1], d.U[k, 2], d.U[k, 3], d.U[k, 4], d.U[k, 5]
        inverse = d.Dinv[k]
        for c in range(k, k + padded(b.end[i] - k, wide)):
            e = (h0 * Z0[c] + h1 * Z1[c] + h2 * Z2[c]) + (h3 * Z3[c] + h4 * Z4[c] + h5 * Z5[c])
            e *= -inverse * b.below[i, c]
            E[k, c] = e
            Z0[c] += u0 * e
            Z1[c] += u1 * e
            Z2[c] += u2 * e
            Z3[c] += u3 * e
            Z4[c] += u4 * e
            Z5[c] += u5 * e
        E[k, k] = inverse
        Z0[k], Z1[k], Z2[k] = u0 * inverse, u1 * inverse, u2 * inverse
        Z3[k], Z4[k], Z5[k] = u3 * inverse, u4 * inverse, u5 * inverse
    if t.parent[i] >= 0:
        x, y, z = d.l[i, 0], d.l[i, 1], d.l[i, 2]
        for c in range(first, first + padded(b.end[i] - first, wide)):
            s = b.below[i, c]
            f0, f1, f2 = s * Z3[c], s * Z4[c], s * Z5[c]
            Z0[c] += y * f2 - z * f1
            Z1[c] += z * f0 - x * f2
            Z2[c] += x * f1 - y * f0


@inlined
def add_rows(b, r, end, wide, k0, k1, k2, k3, s0, s1, s2, s3):
    """Add four rows of E, times s, to `row` from column r to `end`."""
    E, row = b.E, b.row
    for c in range(r, r + padded(end - r, wide)):
        row[c] += (s0 * E[k0, c] + s1 * E[k1, c]) + (s2 * E[k2, c] + s3 * E[k3, c])


@kernel
def inverse_mass_matrix(t, d, b, wide, out):
    """out = M^-1 (dofs, dofs) = sum_k D_k e_k e_k^T, e_k the rows of D^-1 F^-1; after `eliminate`.

    A column's wrench Z starts at its coordinate and moves up to the root, so one for each column is enough.
    """
    m = out.shape[0]
    row = b.row
    for i in range(t.parent.shape[0] - 1, -1, -1):
        pull_columns(t, d, b, i, wide)
    for k in range(m):
        d.e[k] = 1.0 / d.Dinv[k]
    for r in range(m):
        for c in range(r, r + padded(m - r, wide)):
            row[c] = 0.0
        # Four coordinates at a time: E is 0 past what they move, so that the longest row of the four will do.
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        k0, k1, k2 = r, r, r
        count = 0
        i = t.body_of_dof[r]
        last = i
        end = r + 1
        while i >= 0:
            for k in range(t.first_dof[i], end):
                s3, s2, s1, s0 = s2, s1, s0, d.e[k] * b.E[k, r]
                k3, k2, k1, k0 = k2, k1, k0, k
                count += 1
                if count == 4:
                    add_rows(b, r, b.end[i], wide, k0, k1, k2, k3, s0, s1, s2, s3)
                    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
                    k0, k1, k2 = r, r, r
                    count = 0
            last = i
            i = t.parent[i]
            end = t.first_dof[i + 1]
        if count > 0:
            add_rows(b, r, b.end[last], wide, k0, k1, k2, r, s0, s1, s2, 0.0)
        for c in range(r, m):
            out[r, c] = row[c]
    for r in range(1, m):
        for c in range(r):
            out[r, c] = out[c, r]


@kernel
def mass_factors(t, d, F):
    """F (dofs + 1, dofs): upper triangular with unit diagonal, and D as the last row; M = F diag(D) F^T.

    After `eliminate`.
    """
    m = F.shape[1]
    for r in range(m):
        for k in range(m):
            F[r, k] = 0.0
    for leaf in range(t.parent.shape[0]):
        for k in range(t.first_dof[leaf], t.first_dof[leaf + 1]):
            s = d.Dinv[k]
            F[m, k] = 1.0 / s
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
                z0, z1, z2, z3, z4, z5 = at_parent(d, i, z0, z1, z2, z3, z4, z5)
                end = t.first_dof[above + 1]
                i = above


@kernel
def cholesky(L):
    """Replace a symmetric matrix M by the lower triangular L with M = L L^T.

    Works on the upper triangle, row by row, and moves each finished row into its column.

    Returns:
        -1, or the first row whose pivot is not positive.
    """
    m = L.shape[0]
    for j in range(m):
        pivot = L[j, j]
        if not pivot > 0.0:
            return j
        pivot = math.sqrt(pivot)
        inverse = 1.0 / pivot
        L[j, j] = pivot
        for k in range(j + 1, m):
            L[j, k] *= inverse
        for i in range(j + 1, m):
            s = L[j, i]
            for k in range(i, m):
                L[i, k] -= s * L[j, k]
        for i in range(j + 1, m):
            L[i, j] = L[j, i]
            L[j, i] = 0.0
    return -1


@kernel
def velocity_changes(t, d, impulses, out):
    """out = M^-1 (impulses + J^T p) of joint impulses and the bodies' impulses p, which f holds; after `eliminate`."""
    n = t.parent.shape[0]
    for i in range(n):
        for r in range(6):
            d.z[i, r] = -d.f[i, r]
    gather_shares(t, d, 0, n, impulses, 0)
    for k in range(out.shape[0]):
        out[k] = 0.0
    velocity_scatter(t, d, 0, n, out, 0)


TOGETHER = 3  # columns, or blocks of columns, that are worked on together: their number is a multiple of it


@kernel
def factor(t, d, w, first, last):
    """L of bodies first..last-1 from U, Dinv and S."""
    L, S = w.L, w.S
    for i in range(first, last):
        x, y, z = w.r[i, 0], w.r[i, 1], w.r[i, 2]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            s = d.Dinv[k]
            g3, g4, g5 = s * d.U[k, 3], s * d.U[k, 4], s * d.U[k, 5]
            a, b, c = cross(x, y, z, g3, g4, g5)
            g0, g1, g2 = s * d.U[k, 0] + a, s * d.U[k, 1] + b, s * d.U[k, 2] + c
            for run in range(w.above[k], w.above[k + 1]):
                for j in range(w.above_run[run, 0], w.above_run[run, 1]):
                    h = g0 * S[0, j] + g1 * S[1, j] + g2 * S[2, j]
                    L[k, j] = h + (g3 * S[3, j] + g4 * S[4, j] + g5 * S[5, j])
            for run in range(w.above[k], w.above[k + 1]):
                for j in range(w.above_run[run, 0], w.above_run[run, 1]):
                    L[j, k] = L[k, j]


@inlined
def six(X, k, c):
    """Three neighbours in row k of both of X."""
    return X[0, k, c], X[0, k, c + 1], X[0, k, c + 2], X[1, k, c], X[1, k, c + 1], X[1, k, c + 2]


@inlined
def put_six(X, k, c, x):
    """Write what `six` reads."""
    X[0, k, c], X[0, k, c + 1], X[0, k, c + 2] = x[0], x[1], x[2]
    X[1, k, c], X[1, k, c + 1], X[1, k, c + 2] = x[3], x[4], x[5]


@inlined
def less_rows(L, X, k, c, x, runs, first, last):
    """x minus the sum of L[k, j] X[:, j] over the coordinates j of runs first..last-1."""
    for run in range(first, last):
        for j in range(runs[run, 0], runs[run, 1]):
            h, y = L[k, j], six(X, j, c)
            x = (
                x[0] - h * y[0], x[1] - h * y[1], x[2] - h * y[2],
                x[3] - h * y[3], x[4] - h * y[4], x[5] - h * y[5],
            )  # fmt: skip
    return x


@kernel
def solve_negative(d, w, blocks, size):
    """X <- -M^-1 X for both of X, `size` coordinates; three neighbours of both at a time stay in registers."""
    L, X = w.L, blocks.X
    for c in range(0, X.shape[2], TOGETHER):
        for k in range(size - 1, -1, -1):  # L^-T, tips to base
            x = less_rows(L, X, k, c, six(X, k, c), w.below_run, w.below[k], w.below[k + 1])
            put_six(X, k, c, x)
        for k in range(size):  # L^-1 D^-1, base to tips
            s, x = -d.Dinv[k], six(X, k, c)
            x = s * x[0], s * x[1], s * x[2], s * x[3], s * x[4], s * x[5]
            put_six(X, k, c, less_rows(L, X, k, c, x, w.above_run, w.above[k], w.above[k + 1]))


@kernel
def invert(d, w, rows, blocks, wide, size):
    """X[0] <- M^-1, for `size` coordinates; symmetric.

    Row k of L^-1 D^-1 L^-T left of the diagonal needs rows above alone, also right of their diagonals, where
    symmetry gives them.

    Args:
        rows, blocks: one X by numbers, and by blocks of `wide` neighbours.
    """
    L, X, B = w.L, rows.X, blocks.X
    for k in range(size):
        for c in range((k + wide - 1) // wide):
            x = 0.0 * B[0, k, c]
            for run in range(w.above[k], w.above[k + 1]):
                for j in range(w.above_run[run, 0], w.above_run[run, 1]):
                    x -= L[k, j] * B[0, j, c]
            B[0, k, c] = x
        for c in range(k):
            X[0, c, k] = X[0, k, c]
        x = d.Dinv[k]
        for run in range(w.above[k], w.above[k + 1]):
            for j in range(w.above_run[run, 0], w.above_run[run, 1]):
                x -= L[k, j] * X[0, j, k]
        X[0, k, k] = x
