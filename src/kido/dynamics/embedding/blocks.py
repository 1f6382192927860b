"""Rows of six numbers and of inertias in tables, and a small Cholesky factor: what aggregates are computed with."""

from __future__ import annotations

import math

from kido.jit import inlined, kernel


@inlined
def add_inertia(table, i, P):
    """Row i of a table of inertias += P."""
    table[i, 0] += P[0]
    table[i, 1] += P[1]
    table[i, 2] += P[2]
    table[i, 3] += P[3]
    table[i, 4] += P[4]
    table[i, 5] += P[5]
    table[i, 6] += P[6]
    table[i, 7] += P[7]
    table[i, 8] += P[8]
    table[i, 9] += P[9]
    table[i, 10] += P[10]
    table[i, 11] += P[11]
    table[i, 12] += P[12]
    table[i, 13] += P[13]
    table[i, 14] += P[14]
    table[i, 15] += P[15]
    table[i, 16] += P[16]
    table[i, 17] += P[17]
    table[i, 18] += P[18]
    table[i, 19] += P[19]
    table[i, 20] += P[20]


@inlined
def add_six(table, i, f0, f1, f2, f3, f4, f5):
    """Row i of a table of six += six numbers."""
    table[i, 0] += f0
    table[i, 1] += f1
    table[i, 2] += f2
    table[i, 3] += f3
    table[i, 4] += f4
    table[i, 5] += f5


@inlined
def dot6(X, i, a0, a1, a2, a3, a4, a5):
    """Row i of a table of six times six numbers."""
    return (X[i, 0] * a0 + X[i, 1] * a1 + X[i, 2] * a2) + (X[i, 3] * a3 + X[i, 4] * a4 + X[i, 5] * a5)


@inlined
def motion_of(A, i):
    """Row i of a table of six as numbers."""
    return A[i, 0], A[i, 1], A[i, 2], A[i, 3], A[i, 4], A[i, 5]


@kernel
def factor_cholesky(A, at, n):
    """L of A = L L^T in its lower half, with 1 / L_aa on the diagonal; whether A is positive definite."""
    for a in range(n):
        row = at + a * n
        before = A[row + a]
        for b in range(a):
            value = A[row + b]
            other = at + b * n
            for k in range(b):
                value -= A[row + k] * A[other + k]
            value *= A[other + b]
            A[row + b] = value
            A[row + a] -= value * value
        if not A[row + a] > 1e-14 * before:
            return False
        A[row + a] = 1.0 / math.sqrt(A[row + a])
    return True
