"""Solving with the mass matrix by its factors M = L^T D L, which are as sparse as the tree has branches.

L is unit lower triangular, and L[k, j] = G_k . S_j for j above k, else 0: G_k = P H_k / D_k is left by the
articulated-body sweep, so there is nothing to factorise (theory reference, section a4: L = [1 + H phi K]^T). It is
kept with its mirror image, L[j, k] = L[k, j], so that both sweeps walk along rows. A prescribed coordinate has G = 0
and D^-1 = 0: its row of every solution is 0, as if it were not there.

What is solved for are columns side by side, so that rows are walked in blocks of neighbours: with `lanes_view` eight
columns of one problem are one block, as in batches eight problems are one number.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.math.so3 import cross

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
