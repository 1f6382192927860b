"""Solving with the mass matrix by its factors M = L^T D L, which are as sparse as the tree has branches.

L is unit lower triangular, and L[k, j] = G_k . S_j for j above k, else 0: G_k = P H_k / D_k is left by the
articulated-body sweep, so there is nothing to factorise (theory reference, section a4: L = [1 + H phi K]^T).
A prescribed coordinate has G = 0 and D^-1 = 0: its row of every solution is 0, as if it were not there.

Rows are walked in blocks of WIDE columns, whose numbers stay in registers.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.math.so3 import cross

WIDE = 8


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


@inlined
def load_rows(w, k, c):
    """Work on eight neighbours in row k of X[0] and of X[1]."""
    for e in range(WIDE):
        w.rows[e] = w.X[0, k, c + e]
        w.rows[WIDE + e] = w.X[1, k, c + e]


@inlined
def subtract_rows(w, h, k, c):
    """Take h times row k off."""
    for e in range(WIDE):
        w.rows[e] -= h * w.X[0, k, c + e]
    for e in range(WIDE):
        w.rows[WIDE + e] -= h * w.X[1, k, c + e]


@inlined
def store_rows(w, k, c):
    for e in range(WIDE):
        w.X[0, k, c + e] = w.rows[e]
        w.X[1, k, c + e] = w.rows[WIDE + e]


@kernel
def solve_negative(d, w, size):
    """X <- -M^-1 X of both of X, for `size` coordinates."""
    L = w.L
    for c in range(0, w.X.shape[2], WIDE):
        for k in range(size - 1, -1, -1):  # L^-T, tips to base
            load_rows(w, k, c)
            for run in range(w.below[k], w.below[k + 1]):
                for j in range(w.below_run[run, 0], w.below_run[run, 1]):
                    subtract_rows(w, L[j, k], j, c)
            store_rows(w, k, c)
        for k in range(size):  # L^-1 D^-1, base to tips
            load_rows(w, k, c)
            s = -d.Dinv[k]
            for e in range(2 * WIDE):
                w.rows[e] *= s
            for run in range(w.above[k], w.above[k + 1]):
                for j in range(w.above_run[run, 0], w.above_run[run, 1]):
                    subtract_rows(w, L[k, j], j, c)
            store_rows(w, k, c)


@kernel
def invert(d, w, size):
    """X[0] <- M^-1, for `size` coordinates; symmetric.

    Row k of L^-1 D^-1 L^-T left of the diagonal needs rows above alone, also right of their diagonals, where
    symmetry gives them.
    """
    L, X = w.L, w.X
    for k in range(size):
        for c in range(0, k, WIDE):
            for e in range(WIDE):
                w.rows[e] = 0.0
            for run in range(w.above[k], w.above[k + 1]):
                for j in range(w.above_run[run, 0], w.above_run[run, 1]):
                    for e in range(WIDE):
                        w.rows[e] -= L[k, j] * X[0, j, c + e]
            for e in range(WIDE):
                X[0, k, c + e] = w.rows[e]
        for c in range(k):
            X[0, c, k] = X[0, k, c]
        x = d.Dinv[k]
        for run in range(w.above[k], w.above[k + 1]):
            for j in range(w.above_run[run, 0], w.above_run[run, 1]):
                x -= L[k, j] * X[0, j, k]
        X[0, k, k] = x
