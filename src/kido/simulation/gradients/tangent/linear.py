"""Linear systems with many right-hand sides: factors of a general matrix, and products, eight columns at a time."""

from __future__ import annotations

import math

from kido.jit import inlined, kernel


@kernel
def factor_matrix(c, b, n):
    """L and U of K with rows exchanged; K, by lanes in `b.K` and by numbers in `t.K`, becomes U.

    Args:
        c: TANGENT.
        b, n: TABLES by lanes and by numbers.

    Returns:
        Whether it is regular.
    """
    size = c.L.shape[0]
    wide = b.K.shape[1]
    lanes = n.K.shape[1] // wide
    L = c.L
    for k in range(size):
        best, most = k, math.fabs(n.K[k, k])
        for i in range(k + 1, size):
            x = math.fabs(n.K[i, k])
            if x > most:
                best, most = i, x
        if not most > 0.0:
            return False
        c.pivot[k] = best
        first = k // lanes
        if best != k:
            for j in range(first, wide):
                x, y = b.K[k, j], b.K[best, j]
                b.K[k, j], b.K[best, j] = y, x
            for j in range(k):
                s, r = L[k, j], L[best, j]
                L[k, j], L[best, j] = r, s
        inverse = 1.0 / n.K[k, k]
        L[k, k] = inverse
        for i in range(k + 1, size):
            f = n.K[i, k] * inverse
            L[i, k] = f
            if f != 0.0:
                for j in range(first, wide):
                    b.K[i, j] -= f * b.K[k, j]
    return True


@inlined
def less_four(F, X, k, j, first, last, x):
    """Four neighbouring blocks of columns of row k less F[k, i] times those of rows first..last-1."""
    a, b, c, d = x
    for i in range(first, last):
        s = F[k, i]
        a -= s * X[i, j]
        b -= s * X[i, j + 1]
        c -= s * X[i, j + 2]
        d -= s * X[i, j + 3]
    return a, b, c, d


@inlined
def less_one(F, X, k, j, first, last, x):
    """The same of one block."""
    for i in range(first, last):
        x -= F[k, i] * X[i, j]
    return x


@kernel
def solve_columns(c, n, X, first, last):
    """X <- K^-1 X for blocks of columns first..last-1 of a table by lanes."""
    size = c.L.shape[0]
    L, U = c.L, n.K
    for k in range(size):
        p = c.pivot[k]
        if p != k:
            for j in range(first, last):
                x, y = X[k, j], X[p, j]
                X[k, j], X[p, j] = y, x
    j = first
    while j < last:
        if j + 4 <= last:
            for k in range(1, size):
                x = X[k, j], X[k, j + 1], X[k, j + 2], X[k, j + 3]
                x = less_four(L, X, k, j, 0, k, x)
                X[k, j], X[k, j + 1], X[k, j + 2], X[k, j + 3] = x
            for k in range(size - 1, -1, -1):
                x = X[k, j], X[k, j + 1], X[k, j + 2], X[k, j + 3]
                x = less_four(U, X, k, j, k + 1, size, x)
                s = L[k, k]
                X[k, j], X[k, j + 1], X[k, j + 2], X[k, j + 3] = s * x[0], s * x[1], s * x[2], s * x[3]
            j += 4
        else:
            for k in range(1, size):
                X[k, j] = less_one(L, X, k, j, 0, k, X[k, j])
            for k in range(size - 1, -1, -1):
                X[k, j] = L[k, k] * less_one(U, X, k, j, k + 1, size, X[k, j])
            j += 1


@kernel
def solve_transposed(c, n, x):
    """x <- K^-T x, x a row of `work` of TANGENT."""
    size = c.L.shape[0]
    L, U, v = c.L, n.K, c.work
    for k in range(size):
        s = v[x, k] * L[k, k]
        v[x, k] = s
        for i in range(k + 1, size):
            v[x, i] -= U[k, i] * s
    for k in range(size - 1, -1, -1):
        s = v[x, k]
        for i in range(k):
            v[x, i] -= L[k, i] * s
    for k in range(size - 1, -1, -1):
        p = c.pivot[k]
        if p != k:
            s, r = v[x, k], v[x, p]
            v[x, k], v[x, p] = r, s
