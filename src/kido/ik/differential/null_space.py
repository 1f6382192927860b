"""Directions that rows leave free: an orthogonal basis, from which each level takes what it needs.

Y is orthogonal, and its columns from FIRST_FREE on change none of the rows so far. Rows of a level, seen in these
directions, are W = J Y; Householder reflections with pivoting bring W to triangular form and turn Y along, after which
the first columns are the level's and the others are free for the levels below. Nothing is damped: what is done in
the free columns does not change J u by more than rounding, whatever the level could achieve.

Source: Escande, Mansard, Wieber, "Hierarchical quadratic programming: fast online humanoid-robot motion generation"
(2014), section 3.2 (a basis of the null space instead of a projector); Golub, Van Loan, "Matrix Computations",
section 5.4.2 (pivoting).
"""

from __future__ import annotations

import math

from kido.jit import kernel

RANK_TOLERANCE = 1e-10  # share of a row that levels above leave, below which it is theirs
AGREED = 1e-5  # [rad/s, m/s] by which equations may contradict each other: what linearization makes of closed loops


@kernel
def all_free(x):
    """Y = 1: nothing is taken."""
    n = x.Y.shape[0]
    for c in range(n):
        for k in range(n):
            x.Y[c, k] = x.Z[c, k] = 0.0
        x.Y[c, c] = x.Z[c, c] = 1.0
    x.first_free = 0


@kernel
def project_row(x, J, row, at):
    """Row `at` of W: a row of J in the free directions; returns the square of its norm before that."""
    n = x.Y.shape[0]
    W, Y, first = x.W, x.Y, x.first_free
    total = 0.0
    if first == 0:  # Y = 1
        for c in range(n):
            f = J[row, c]
            W[at, c] = f
            total += f * f
    else:
        for k in range(first, n):
            W[at, k] = 0.0
        for c in range(n):
            f = J[row, c]
            if f != 0.0:
                total += f * f
                for k in range(first, n):
                    W[at, k] += f * Y[c, k]
    x.W_norm[at] = math.sqrt(total)
    return total


@kernel
def swap_rows(x, a, b):
    """Exchange two rows of W and what goes with them."""
    for k in range(x.W.shape[1]):
        x.W[a, k], x.W[b, k] = x.W[b, k], x.W[a, k]
    x.W_norm[a], x.W_norm[b] = x.W_norm[b], x.W_norm[a]
    x.W_value[a], x.W_value[b] = x.W_value[b], x.W_value[a]
    x.W_row[a], x.W_row[b] = x.W_row[b], x.W_row[a]


@kernel
def take_rows(x, m):
    """Take what m rows of W need out of the free directions; returns how many it was, the rank.

    Rows are left sorted, those that depend on others last, and triangular: row i is a sum of the first i + 1
    directions that were taken.
    """
    W, Y, v = x.W, x.Y, x.reflect
    n = Y.shape[0]
    rank = 0
    while rank < m and x.first_free < n:
        z = x.first_free
        best, pivot = RANK_TOLERANCE * RANK_TOLERANCE, -1
        for i in range(rank, m):
            total = 0.0
            for k in range(z, n):
                total += W[i, k] * W[i, k]
            size = x.W_norm[i]
            if total > best * size * size:
                best, pivot = total / (size * size), i
        if pivot < 0:
            break
        if pivot != rank:
            swap_rows(x, rank, pivot)
        total = 0.0
        for k in range(z, n):
            v[k] = W[rank, k]
            total += v[k] * v[k]
        norm = math.sqrt(total)
        alpha = -norm if v[z] > 0.0 else norm
        beta = 1.0 / (norm * (norm + math.fabs(v[z])))
        v[z] -= alpha
        for i in range(rank + 1, m):
            reflect(W, i, v, beta, z, n)
        turn(x.Z, x.turned, v, beta, z, n)
        W[rank, z] = alpha
        x.first_free = z + 1
        rank += 1
    if rank > 0:
        for k in range(n):
            for c in range(n):
                Y[c, k] = x.Z[k, c]
    return rank


@kernel
def turn(Z, w, v, beta, first, last):
    """Rows first..last-1 of Z through the mirror of v, by sums of whole rows."""
    n = Z.shape[1]
    for c in range(n):
        w[c] = 0.0
    for k in range(first, last):
        f = beta * v[k]
        for c in range(n):
            w[c] += f * Z[k, c]
    for k in range(first, last):
        f = v[k]
        if f != 0.0:
            for c in range(n):
                Z[k, c] -= f * w[c]


@kernel
def reflect(M, i, v, beta, first, last):
    """Row i of M through the mirror of v."""
    a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
    rest = (last - first) % 4
    for k in range(first, last - rest, 4):
        a0 += M[i, k] * v[k]
        a1 += M[i, k + 1] * v[k + 1]
        a2 += M[i, k + 2] * v[k + 2]
        a3 += M[i, k + 3] * v[k + 3]
    for k in range(last - rest, last):
        a0 += M[i, k] * v[k]
    f = beta * ((a0 + a1) + (a2 + a3))
    if f != 0.0:
        for k in range(first, last):
            M[i, k] -= f * v[k]


@kernel
def satisfy(x, m, first, rank):
    """Add to u the least change that makes rows equal their values; -1, or a row that contradicts the others.

    Args:
        first: free direction that was first before `take_rows` took `rank`.
    """
    W, Y = x.W, x.Y
    n = Y.shape[0]
    for i in range(rank):
        f = x.W_value[i]
        for k in range(i):
            f -= W[i, first + k] * x.reflect[k]
        x.reflect[i] = f / W[i, first + i]
    for c in range(n):
        for k in range(rank):
            x.u[c] += x.reflect[k] * Y[c, first + k]
    for i in range(rank, m):
        f = x.W_value[i]
        for k in range(rank):
            f -= W[i, first + k] * x.reflect[k]
        if not math.fabs(f) <= AGREED:
            return x.W_row[i]
    return -1
