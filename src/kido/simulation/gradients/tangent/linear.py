"""Linear systems as sparse as the tree has branches, and products with such matrices, in columns by lanes.

Entries are of coordinates on one path to the root. Eliminated from tips to base they leave no others, A = F U with F
unit upper triangular and U lower triangular, without exchange of rows: pivots are positive where the symmetric part of
A is, and for most contacts that slide; where one is not, there are no formulas. With D the inverse of U's diagonal,
factors are kept where loops over a column read them: F[k, i] at [i, k] and D[k] U[k, j] at [j, k]. So those of mass
matrices, L^T D^-1 L (`kido.kernels.inverse_mass`), are L and its mirror image. Of a free joint of
the system rotations are eliminated before translations, on which they are mounted: contacts that slide lose less so.
"""

from __future__ import annotations

from kido.jit import inlined, kernel

MASS, SYSTEM = 0, 1  # of factors: the mass matrix with dampers and springs, and the linear system of a step


@inlined
def add_one(F, m, way, k, c, first, last, A, j, x, sign):
    """x plus sign times the sum of F[m, i, k] A[i, j] over relatives i of k in places first..last-1 of its list."""
    for e in range(first, last):
        i = c.kin[way, k, e]
        x += sign * F[m, i, k] * A[i, j]
    return x


@inlined
def add_three(F, m, way, k, c, first, last, A, j, x, sign):
    """The same of three neighbouring blocks of columns."""
    p, q, r = x
    for e in range(first, last):
        i = c.kin[way, k, e]
        s = sign * F[m, i, k]
        p += s * A[i, j]
        q += s * A[i, j + 1]
        r += s * A[i, j + 2]
    return p, q, r


@inlined
def add_five(F, m, way, k, c, first, last, A, j, x, sign):
    """The same of five."""
    p, q, r, u, v = x
    for e in range(first, last):
        i = c.kin[way, k, e]
        s = sign * F[m, i, k]
        p += s * A[i, j]
        q += s * A[i, j + 1]
        r += s * A[i, j + 2]
        u += s * A[i, j + 3]
        v += s * A[i, j + 4]
    return p, q, r, u, v


@inlined
def five(A, k, j):
    """Five neighbouring blocks of row k."""
    return A[k, j], A[k, j + 1], A[k, j + 2], A[k, j + 3], A[k, j + 4]


@inlined
def put_five(A, k, j, x):
    """Write what `five` reads."""
    A[k, j], A[k, j + 1], A[k, j + 2], A[k, j + 3], A[k, j + 4] = x


@kernel
def add_times(F, m, c, A, C, at):
    """C[at + k] += sum_i F[m, i, k] A[i], over relatives i of k: (A^T F[m])^T."""
    size, wide = c.u.shape[0], A.shape[1]
    for k in range(size):
        o, count = at + k, c.num_kin[k]
        j = 0
        while j < wide:
            if j + 5 <= wide:
                put_five(C, o, j, add_five(F, m, MASS, k, c, 0, count, A, j, five(C, o, j), 1.0))
                j += 5
            elif j + 3 <= wide:
                x = add_three(F, m, MASS, k, c, 0, count, A, j, (C[o, j], C[o, j + 1], C[o, j + 2]), 1.0)
                C[o, j], C[o, j + 1], C[o, j + 2] = x
                j += 3
            else:
                C[o, j] = add_one(F, m, MASS, k, c, 0, count, A, j, C[o, j], 1.0)
                j += 1


@kernel
def factor_matrix(c, b, n):
    """Factors of the matrix K of TABLES, by lanes in b and by numbers in n, which is lost.

    Returns:
        Whether all pivots are positive.
    """
    L, m = c.L, SYSTEM
    for p in range(c.u.shape[0] - 1, -1, -1):
        k = c.order[m, p]
        if not n.K[k, k] > 0.0:
            return False
        inverse = 1.0 / n.K[k, k]
        c.D[m, k] = inverse
        for e in range(c.num_above[m, k]):
            i = c.kin[m, k, e]
            f = n.K[i, k] * inverse
            L[m, k, i] = f
            if f != 0.0:
                for j in range(c.blocks_above[k]):
                    b.K[i, j] -= f * b.K[k, j]
            n.K[i, k] = 0.0
        for e in range(c.num_above[m, k]):
            j = c.kin[m, k, e]
            L[m, j, k] = n.K[k, j] * inverse
    return True


@kernel
def solve_columns(c, m, X, wide):
    """X <- A^-1 X by factors m, for the first blocks of columns of a table by lanes."""
    L, size = c.L, c.u.shape[0]
    j = 0
    while j < wide:
        if j + 5 <= wide:
            for p in range(size - 1, -1, -1):
                k = c.order[m, p]
                x = add_five(L, m, m, k, c, c.num_above[m, k] + 1, c.num_kin[k], X, j, five(X, k, j), -1.0)
                put_five(X, k, j, x)
            for p in range(size):
                k = c.order[m, p]
                s = c.D[m, k]
                x = s * X[k, j], s * X[k, j + 1], s * X[k, j + 2], s * X[k, j + 3], s * X[k, j + 4]
                put_five(X, k, j, add_five(L, m, m, k, c, 0, c.num_above[m, k], X, j, x, -1.0))
            j += 5
        elif j + 3 <= wide:
            for p in range(size - 1, -1, -1):
                k = c.order[m, p]
                x = X[k, j], X[k, j + 1], X[k, j + 2]
                x = add_three(L, m, m, k, c, c.num_above[m, k] + 1, c.num_kin[k], X, j, x, -1.0)
                X[k, j], X[k, j + 1], X[k, j + 2] = x
            for p in range(size):
                k = c.order[m, p]
                s = c.D[m, k]
                x = s * X[k, j], s * X[k, j + 1], s * X[k, j + 2]
                X[k, j], X[k, j + 1], X[k, j + 2] = add_three(L, m, m, k, c, 0, c.num_above[m, k], X, j, x, -1.0)
            j += 3
        else:
            for p in range(size - 1, -1, -1):
                k = c.order[m, p]
                X[k, j] = add_one(L, m, m, k, c, c.num_above[m, k] + 1, c.num_kin[k], X, j, X[k, j], -1.0)
            for p in range(size):
                k = c.order[m, p]
                X[k, j] = add_one(L, m, m, k, c, 0, c.num_above[m, k], X, j, c.D[m, k] * X[k, j], -1.0)
            j += 1


@kernel
def solve_vector(c, m, x):
    """x <- A^-1 x, x a row of `work` of TANGENT."""
    L, v, size = c.L, c.work, c.u.shape[0]
    for p in range(size - 1, -1, -1):
        k = c.order[m, p]
        s = v[x, k]
        for e in range(c.num_above[m, k]):
            i = c.kin[m, k, e]
            v[x, i] -= L[m, k, i] * s
    for k in range(size):
        v[x, k] *= c.D[m, k]
    for p in range(size):
        k = c.order[m, p]
        s = v[x, k]
        for e in range(c.num_above[m, k] + 1, c.num_kin[k]):
            i = c.kin[m, k, e]
            v[x, i] -= L[m, k, i] * s


@kernel
def solve_transposed(c, m, x):
    """x <- A^-T x."""
    L, v, size = c.L, c.work, c.u.shape[0]
    for p in range(size - 1, -1, -1):
        k = c.order[m, p]
        s = v[x, k]
        for e in range(c.num_above[m, k]):
            i = c.kin[m, k, e]
            v[x, i] -= L[m, i, k] * s
    for k in range(size):
        v[x, k] *= c.D[m, k]
    for p in range(size):
        k = c.order[m, p]
        s = v[x, k]
        for e in range(c.num_above[m, k] + 1, c.num_kin[k]):
            i = c.kin[m, k, e]
            v[x, i] -= L[m, i, k] * s
