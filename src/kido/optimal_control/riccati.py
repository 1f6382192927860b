"""The linear-quadratic problem of one iteration, by Riccati's recursion, compiled.

min sum_k l_x dx + l_u du + dx^T l_xx dx / 2 + du^T l_ux dx + du^T l_uu du / 2 with dx_{k+1} = A dx + B du + gap and
controls within bounds. Matrices are multiplied by blocks of columns that lie side by side in registers: loops over so
few numbers are not made so by optimisers.
"""

from __future__ import annotations

import math

from kido.jit import LANES, Struct, entry, floats, fma, kernel, lanes_view, view

_ACTIVE_SETS = 20  # tried for the controls of a node; then what is beyond a bound is cut off


class MATRICES(Struct):
    X = floats(
        4, "rows", "columns", doc="[A B], V [A B], the quadratic of states and controls, gains; columns in blocks"
    )


def matrices(n: int, m: int) -> tuple[Struct, Struct]:
    """`MATRICES` for n states and m controls: by numbers, and the same memory by blocks of neighbouring columns."""
    blocks = MATRICES(samples=LANES if LANES > 1 else 0, rows=n + m, columns=-(-(n + m) // LANES))
    rows = MATRICES(X=blocks.X.reshape(4, n + m, LANES * blocks.X.shape[2])) if LANES > 1 else blocks
    return rows, blocks


@kernel
def multiply(M, A, blocks, C, B, rows, inner, wide):
    """X[C] += M[A] X[B] in the first `wide` blocks of columns; two rows side by side."""
    for i in range(0, rows - 1, 2):
        for j in range(wide):
            c, d = blocks.X[C, i, j], blocks.X[C, i + 1, j]
            for k in range(inner):
                x = blocks.X[B, k, j]
                c, d = fma(M[A, i, k], x, c), fma(M[A, i + 1, k], x, d)
            blocks.X[C, i, j] = c
            blocks.X[C, i + 1, j] = d
    if rows % 2 == 1:
        for j in range(wide):
            c = blocks.X[C, rows - 1, j]
            for k in range(inner):
                c = fma(M[A, rows - 1, k], blocks.X[B, k, j], c)
            blocks.X[C, rows - 1, j] = c


@kernel
def multiply_transposed(M, A, blocks, C, B, rows, inner, wide):
    """`multiply` with the transpose of M[A]."""
    for i in range(0, rows - 1, 2):
        for j in range(wide):
            c, d = blocks.X[C, i, j], blocks.X[C, i + 1, j]
            for k in range(inner):
                x = blocks.X[B, k, j]
                c, d = fma(M[A, k, i], x, c), fma(M[A, k, i + 1], x, d)
            blocks.X[C, i, j] = c
            blocks.X[C, i + 1, j] = d
    if rows % 2 == 1:
        for j in range(wide):
            c = blocks.X[C, rows - 1, j]
            for k in range(inner):
                c = fma(M[A, k, rows - 1], blocks.X[B, k, j], c)
            blocks.X[C, rows - 1, j] = c


@kernel
def factorize_free(Q, fixed, L):
    """Lower L of the rows and columns of Q that are not fixed, with ones for those that are; False if it has none."""
    m = Q.shape[0]
    for i in range(m):
        for j in range(i + 1):
            s = Q[i, j]
            if fixed[i] != 0.0 or fixed[j] != 0.0:
                s = 1.0 if i == j else 0.0
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                if not 0.0 < s < math.inf:
                    return False
                L[i, i] = math.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    return True


@kernel
def solve_rows(L, R):
    """R := L^-T L^-1 R."""
    m, n = R.shape
    for i in range(m):
        for k in range(i):
            f = L[i, k]
            for j in range(n):
                R[i, j] -= f * R[k, j]
        f = 1.0 / L[i, i]
        for j in range(n):
            R[i, j] *= f
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            f = L[k, i]
            for j in range(n):
                R[i, j] -= f * R[k, j]
        f = 1.0 / L[i, i]
        for j in range(n):
            R[i, j] *= f


@kernel
def bounded_minimum(Q, g, low, high, fixed, L, d):
    """d of least d^T Q d / 2 + g^T d within bounds, by a primal-dual active set; `fixed` and L as it ends.

    Returns:
        False if Q is not positive definite.
    """
    m = g.shape[0]
    for i in range(m):
        fixed[i] = 0.0
        d[i, 0] = 0.0
    for _ in range(_ACTIVE_SETS):
        if not factorize_free(Q, fixed, L):
            return False
        for i in range(m):
            if fixed[i] < 0.0:
                d[i, 0] = low[i]
            elif fixed[i] > 0.0:
                d[i, 0] = high[i]
        for i in range(m):
            if fixed[i] == 0.0:
                s = -g[i]
                for j in range(m):
                    if fixed[j] != 0.0:
                        s -= Q[i, j] * d[j, 0]
                d[i, 0] = s
        solve_rows_of_free(L, fixed, d)
        changed = False
        for i in range(m):
            now = 0.0
            if fixed[i] == 0.0:
                now = -1.0 if d[i, 0] < low[i] else 1.0 if d[i, 0] > high[i] else 0.0
            else:
                s = g[i]
                for j in range(m):
                    s += Q[i, j] * d[j, 0]
                if fixed[i] * s < 0.0:
                    now = fixed[i]
            if now != fixed[i]:
                changed = True
            fixed[i] = now
        if not changed:
            return True
    for i in range(m):
        d[i, 0] = min(max(d[i, 0], low[i]), high[i])
    return factorize_free(Q, fixed, L)


@kernel
def solve_rows_of_free(L, fixed, d):
    """`solve_rows` of one column, its fixed numbers left."""
    m = d.shape[0]
    for i in range(m):
        if fixed[i] == 0.0:
            s = d[i, 0]
            for k in range(i):
                if fixed[k] == 0.0:
                    s -= L[i, k] * d[k, 0]
            d[i, 0] = s / L[i, i]
    for i in range(m - 1, -1, -1):
        if fixed[i] == 0.0:
            s = d[i, 0]
            for k in range(i + 1, m):
                if fixed[k] == 0.0:
                    s -= L[k, i] * d[k, 0]
            d[i, 0] = s / L[i, i]


@entry(
    "i8(f8[:,:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1],"
    "f8[:,::1],f8,f8[:,:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1],i8,i8,f8[:,:,::1],f8[:,:,::1],f8[:,:,::1])"
)
def backward(
    A, B, lx, lu, lxx, lux, luu, gap, low, high, damping, K, k, Vx, fixed, by_numbers, by_blocks, V, G, smalls
):  # fmt: skip
    """Gains K, steps k (nodes, m, 1) and V_x of all nodes, from the last to the first; V (1, n, n) of the first.

    With H = [[Q_xx, .], [Q_ux, Q_uu]] = [A B]^T V [A B] + l, R = Q_uu + damping 1 and rows of bound controls left out,
    K = -R^-1 Q_ux and V = Q_xx + (Q_ux - damping K)^T K. Work space: `matrices`, G (1, m, n), smalls (3, m, m).

    Returns:
        -1, or the node where R is not positive definite.
    """
    N, n, m = B.shape
    blocks = lanes_view(MATRICES, by_blocks)
    X = view(MATRICES, by_numbers).X
    wide, narrow = blocks.X.shape[2], (n + LANES - 1) // LANES
    R, L, g, v = smalls[0], smalls[1], smalls[2, 0], G[0, 0]
    for i in range(n):
        Vx[N, i] = lx[N, i]
        for j in range(n):
            V[0, i, j] = lxx[N, i, j]
    for node in range(N - 1, -1, -1):
        a, b, gain, step = A[node], B[node], K[node], k[node]
        for i in range(m):
            g[i] = lu[node, i]
        for j in range(n):
            Vx[node, j] = lx[node, j]
        for i in range(n):
            s = Vx[node + 1, i]
            for j in range(n):
                s += V[0, i, j] * gap[node, j]
            v[i] = s
        for i in range(n):
            f = v[i]
            for j in range(n):
                Vx[node, j] += f * a[i, j]
            for j in range(m):
                g[j] += f * b[i, j]
        for i in range(n):
            for j in range(n):
                X[0, i, j] = a[i, j]
                X[1, i, j] = 0.0
                X[2, i, j] = lxx[node, i, j]
            for j in range(m):
                X[0, i, n + j] = b[i, j]
                X[1, i, n + j] = 0.0
        for i in range(m):
            for j in range(n):
                X[2, n + i, j] = lux[node, i, j]
            for j in range(m):
                X[2, n + i, n + j] = luu[node, i, j]
        multiply(V, 0, blocks, 1, 0, n, n, wide)
        multiply_transposed(X, 0, blocks, 2, 1, n + m, n, wide)
        for i in range(m):
            for j in range(m):
                R[i, j] = X[2, n + i, n + j]
            R[i, i] += damping
        if not bounded_minimum(R, g, low[node], high[node], fixed[node], L, step):
            return node
        for i in range(m):
            free = 1.0 if fixed[node, i] == 0.0 else 0.0
            for j in range(n):
                gain[i, j] = -free * X[2, n + i, j]
        solve_rows(L, gain)
        for i in range(m):
            f = step[i, 0]
            for j in range(n):
                G[0, i, j] = X[2, n + i, j] - damping * gain[i, j]
                Vx[node, j] += f * G[0, i, j]
                X[3, i, j] = gain[i, j]
        # Bound controls do not follow the state: their steps act through Q_xu alone.
        multiply_transposed(G, 0, blocks, 2, 3, n, m, narrow)
        for i in range(n):
            for j in range(i):
                s = 0.5 * (X[2, i, j] + X[2, j, i])
                V[0, i, j] = s
                V[0, j, i] = s
            V[0, i, i] = X[2, i, i]
    return -1


@entry("i8(f8[:,:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1])")
def forward(A, B, gap, low, high, K, k, dx, du):
    """The step: dx from dx[0] on, du = k + K dx within bounds."""
    N, n, m = B.shape
    for node in range(N):
        for i in range(m):
            s = k[node, i, 0]
            for j in range(n):
                s += K[node, i, j] * dx[node, j]
            du[node, i] = min(max(s, low[node, i]), high[node, i])
        for i in range(n):
            s = gap[node, i]
            for j in range(n):
                s += A[node, i, j] * dx[node, j]
            for j in range(m):
                s += B[node, i, j] * du[node, j]
            dx[node + 1, i] = s
    return 0


@entry("i8(f8[:,:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1])")
def adjoint(A, B, lx, lu, costates, slopes):
    """Costates (nodes + 1, n), derivatives of the cost to go, and derivatives of the cost by controls."""
    N, n, m = B.shape
    for i in range(n):
        costates[N, i] = lx[N, i]
    for node in range(N - 1, -1, -1):
        for i in range(n):
            costates[node, i] = lx[node, i]
        for i in range(m):
            slopes[node, i] = lu[node, i]
        for i in range(n):
            f = costates[node + 1, i]
            for j in range(n):
                costates[node, j] += f * A[node, i, j]
            for j in range(m):
                slopes[node, j] += f * B[node, i, j]
    return 0
