"""Rows of closed chains with flexible bodies: which of them are independent, and which coordinates follow from others.

Independent rows are those that a pivoted orthogonalization of G keeps. Dependent coordinates come from eliminating G by
the largest pivots, where modes count for less than joints: a loop is closed by joints if these can.
Source of the choice of rows: Businger and Golub (1965).
"""

from __future__ import annotations

import math

from kido.flexible.schema import FLEX
from kido.jit import Struct, floats, integer, integers, kernel, reference

RANK = 1e-10  # of the largest, below which what is left of a row follows from others
MODES_SHARE = 0.05  # of their entries in rows by which modes count where dependent coordinates are chosen


class CHAIN(Struct):
    flex = reference(FLEX)
    rank = integer(doc="independent rows")
    keeps = integer(doc="1: dependent coordinates are those of `dependent`")
    is_chosen = integer(doc="1: `dependent` has been chosen")
    choices = integer(doc="how often others were chosen")
    G = floats("slots", "dofs", doc="rows")
    Q = floats("slots", "dofs", doc="work: rows made orthogonal")
    N = floats("slots", "dofs", doc="M^-1 G^T, row by row, of independent rows")
    gamma = floats("slots", doc="right-hand sides")
    order = integers("slots", doc="independent rows")
    taken = integers("slots", doc="work: 1: the row is taken")
    S = floats("slots", "slots", doc="G N^T and its factor, or other matrices over independent rows")
    x = floats(1, "size", doc="right-hand side and solution")
    right = floats("size", doc="work: right-hand side")
    K = floats("size", "size", doc="matrices over coordinates and rows, and their factors")
    pivot = integers("size", doc="exchanged rows of a factor")
    M = floats("dofs", "dofs", doc="mass matrix")
    R = floats("slots", "dofs1", doc="rows solved for dependent coordinates; last column: right-hand side")
    dependent = integers("slots", doc="dependent coordinate of each row of R")
    is_dependent = integers("dofs", doc="1: the coordinate is one of them")
    weight = floats("dofs", doc="by which entries count in the choice")
    u = floats("dofs", doc="work: velocities or accelerations set aside")
    tau = floats("dofs", doc="work: forces set aside")


# Dense matrices ----------------------------------------------------------------------------------------------


@kernel
def factor_rows(A, n, pivot):
    """Replace A[:n, :n] by its factors, rows exchanged by the largest pivot. False if it has no inverse."""
    for j in range(n):
        best = j
        for i in range(j + 1, n):
            if math.fabs(A[i, j]) > math.fabs(A[best, j]):
                best = i
        pivot[j] = best
        if not math.fabs(A[best, j]) > 0.0:
            return False
        if best != j:
            for k in range(n):
                A[j, k], A[best, k] = A[best, k], A[j, k]
        for i in range(j + 1, n):
            share = A[i, j] / A[j, j]
            A[i, j] = share
            if share != 0.0:
                for k in range(j + 1, n):
                    A[i, k] -= share * A[j, k]
    return True


@kernel
def solve_rows(A, n, pivot, x):
    """x[0, :n] <- A^-1 x by `factor_rows`."""
    for j in range(n):
        x[0, j], x[0, pivot[j]] = x[0, pivot[j]], x[0, j]
    for j in range(n):
        for i in range(j + 1, n):
            x[0, i] -= A[i, j] * x[0, j]
    for j in range(n - 1, -1, -1):
        x[0, j] /= A[j, j]
        for i in range(j):
            x[0, i] -= A[i, j] * x[0, j]


# Rows --------------------------------------------------------------------------------------------------------


@kernel
def size_of(A, s):
    """Euclidean norm of a row."""
    total = 0.0
    for k in range(A.shape[1]):
        total += A[s, k] * A[s, k]
    return math.sqrt(total)


@kernel
def scale_row(A, s, share):
    """Row s times a number."""
    for k in range(A.shape[1]):
        A[s, k] *= share


@kernel
def choose_rows(t, y, o):
    """`order` and `rank`: rows of G, on free coordinates, that do not follow from others; `redundant`."""
    m, whole = y.num_rows, 0.0
    for s in range(m):
        o.taken[s] = 0
        for k in range(o.Q.shape[1]):
            o.Q[s, k] = 0.0 if t.prescribed[k] != 0 else o.G[s, k]
        whole = max(whole, size_of(o.G, s))
    for s in range(m):  # one that is but rounding beside others is a row that nothing can move
        size = size_of(o.Q, s)
        scale_row(o.Q, s, 1.0 / size if size > RANK * whole else 0.0)
    rank, largest = 0, 0.0
    for _ in range(m):
        best, most = -1, 0.0
        for s in range(m):
            if o.taken[s] == 0:
                size = size_of(o.Q, s)
                if size > most:
                    best, most = s, size
        largest = max(largest, most)
        if best < 0 or not most > RANK * largest:
            break
        o.taken[best] = 1
        rank += 1
        scale_row(o.Q, best, 1.0 / most)
        for s in range(m):
            if o.taken[s] == 0:
                share = 0.0
                for k in range(o.Q.shape[1]):
                    share += o.Q[best, k] * o.Q[s, k]
                for k in range(o.Q.shape[1]):
                    o.Q[s, k] -= share * o.Q[best, k]
    o.rank = 0
    for s in range(m):
        y.redundant[s] = 1 - o.taken[s]
        if o.taken[s] != 0:
            o.order[o.rank] = s
            o.rank += 1
    y.rank = rank


@kernel
def row_times(o, s, u):
    """G_s u."""
    total = 0.0
    for k in range(u.shape[0]):
        total += o.G[s, k] * u[k]
    return total


# Dependent coordinates --------------------------------------------------------------------------------------


@kernel
def marks_of(o, n):
    """A number that tells sets of dependent coordinates apart, and how many they are."""
    found, number = 0, 0
    for k in range(n):
        found += o.is_dependent[k] * (k + 1) * (k + 1)
        number += o.is_dependent[k]
    return found, number


@kernel
def solve_dependent(t, o):
    """Eliminate R, whose last column is a right-hand side: u_i of dependent coordinate i is R_in less R_ij u_j.

    With `keeps` the dependent coordinates stay, in some order; else they are chosen. Returns the least pivot over the
    largest.
    """
    n, rank = o.R.shape[1] - 1, o.rank
    before, marked = marks_of(o, n)
    kept = o.keeps != 0 and o.is_chosen != 0 and marked == rank
    for i in range(rank):
        for k in range(n):
            o.R[i, k] = o.G[o.order[i], k]
    for k in range(n):
        o.u[k] = 1.0 if t.prescribed[k] == 0 and (not kept or o.is_dependent[k] != 0) else 0.0
        if not kept:
            o.is_dependent[k] = 0
    least = math.inf
    for i in range(rank):
        best, place, most = -1, i, 0.0
        for r in range(i, rank):
            for k in range(n):
                score = math.fabs(o.R[r, k]) * o.u[k] * o.weight[k]
                if score > most:
                    best, place, most = k, r, score
        if best < 0:
            return 0.0
        least = min(least, most)
        o.u[best] = 0.0
        for k in range(n + 1):
            o.R[i, k], o.R[place, k] = o.R[place, k], o.R[i, k]
        o.dependent[i], o.is_dependent[best] = best, 1
        share = 1.0 / o.R[i, best]
        for k in range(n + 1):
            o.R[i, k] *= share
        for r in range(rank):
            share = o.R[r, best]
            if r != i and share != 0.0:
                for k in range(n + 1):
                    o.R[r, k] -= share * o.R[i, k]
    after, _ = marks_of(o, n)
    if o.is_chosen == 0 or after != before:
        o.choices += 1
    o.is_chosen = 1
    return least


@kernel
def follow(o, u, n):
    """Velocities, or accelerations, of dependent coordinates from those of the others."""
    for i in range(o.rank):
        total = o.R[i, n]
        for k in range(n):
            if o.is_dependent[k] == 0:
                total -= o.R[i, k] * u[k]
        u[o.dependent[i]] = total
