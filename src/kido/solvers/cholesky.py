"""Dense Cholesky factorization and solves for the compliance of one island.

The factor fills both triangles of its array, A = U^T U with U above and U^T below the diagonal, so that
both triangular solves run along rows in memory. The diagonal holds the inverses of the pivots.
"""

from __future__ import annotations

import math

from kido.jit import kernel


@kernel
def subtract_rows(f, i, k, n):
    """Row i -= its components along rows k ... k+3, from column i on."""
    a0 = f[k, i]
    a1 = f[k + 1, i]
    a2 = f[k + 2, i]
    a3 = f[k + 3, i]
    for j in range(i, n):
        f[i, j] -= (a0 * f[k, j] + a1 * f[k + 1, j]) + (a2 * f[k + 2, j] + a3 * f[k + 3, j])


@kernel
def finish_row(f, i, begin, n):
    """Row i minus its components along rows begin ... i-1 (not yet subtracted), scaled by its pivot."""
    for k in range(begin, i):
        a = f[k, i]
        for j in range(i, n):
            f[i, j] -= a * f[k, j]
    pivot = f[i, i]
    if not pivot > 0.0:
        return False
    inverse = 1.0 / math.sqrt(pivot)
    for j in range(i + 1, n):
        f[i, j] *= inverse
    f[i, i] = inverse
    return True


@kernel
def factorize(f, n):
    """Replace the upper triangle of f[:n, :n] by the factor, four rows at a time. False if not definite."""
    k = 0
    while k < n:
        end = k + 4 if k + 4 < n else n
        for i in range(k, end):
            if not finish_row(f, i, k, n):
                return False
            # The diagonal of U is kept inverted; the trailing update needs columns beyond it only.
        if end == k + 4:
            for i in range(end, n):
                subtract_rows(f, i, k, n)
        k = end
    for i in range(n):
        for j in range(i + 1, n):
            f[j, i] = f[i, j]
    return True


@kernel
def substitute(f, n, x, row, first):
    """Solve (U^T U) y = x in place, for x in x[row, first:first+n]."""
    for k in range(n):
        y = x[row, first + k] * f[k, k]
        x[row, first + k] = y
        for j in range(k + 1, n):
            x[row, first + j] -= f[k, j] * y
    for k in range(n - 1, -1, -1):
        y = x[row, first + k] * f[k, k]
        x[row, first + k] = y
        for j in range(k):
            x[row, first + j] -= f[k, j] * y
