"""The linear-quadratic problem of one iteration, by Riccati's recursion, compiled.

min sum_k l_x dx + l_u du + dx^T l_xx dx / 2 + du^T l_ux dx + du^T l_uu du / 2 with dx_{k+1} = A dx + B du + gap and
controls within bounds. Matrices are multiplied by rows, along memory.
"""

from __future__ import annotations

import math

from kido.jit import entry, kernel

_ACTIVE_SETS = 20  # tried for the controls of a node; then what is beyond a bound is cut off


@kernel
def add_product(C, A, B):
    """C += A B."""
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            f = A[i, k]
            for j in range(B.shape[1]):
                C[i, j] += f * B[k, j]


@kernel
def add_transposed_product(C, A, B):
    """C += A^T B, two rows of B at a time."""
    n = A.shape[0]
    even = n - n % 2
    for k in range(0, even, 2):
        for i in range(A.shape[1]):
            f, g = A[k, i], A[k + 1, i]
            for j in range(B.shape[1]):
                C[i, j] += f * B[k, j] + g * B[k + 1, j]
    for k in range(even, n):
        for i in range(A.shape[1]):
            f = A[k, i]
            for j in range(B.shape[1]):
                C[i, j] += f * B[k, j]


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
    "f8[:,::1],f8,f8[:,:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1],f8[:,:,::1],f8[:,:,::1],f8[:,::1],f8[:,:,::1])"
)
def backward(
    A, B, lx, lu, lxx, lux, luu, gap, low, high, damping, K, k, Vx, fixed, squares, wides, talls, smalls
):  # fmt: skip
    """Gains K, steps k (nodes, m, 1) and V_x of all nodes, from the last to the first.

    With R = Q_uu + damping 1 and rows of bound controls left out, K = -R^-1 Q_ux and V = Q_xx + (Q_ux - damping K)^T K.
    Work space: squares (3, n, n), wides (2, m, n), talls (n, m), smalls (3, m, m).

    Returns:
        -1, or the node where R is not positive definite.
    """
    N, n, m = B.shape
    V, W, Q = squares[0], squares[1], squares[2]
    T, G = wides[0], wides[1]
    S, R, L = talls, smalls[0], smalls[1]
    v, g = W[0], smalls[2, 0]
    for i in range(n):
        Vx[N, i] = lx[N, i]
        for j in range(n):
            V[i, j] = lxx[N, i, j]
    for node in range(N - 1, -1, -1):
        a, b, gain, step = A[node], B[node], K[node], k[node]
        for i in range(m):
            g[i] = lu[node, i]
        for j in range(n):
            Vx[node, j] = lx[node, j]
        for i in range(n):
            s = Vx[node + 1, i]
            for j in range(n):
                s += V[i, j] * gap[node, j]
            v[i] = s
        for i in range(n):
            f = v[i]
            for j in range(n):
                Vx[node, j] += f * a[i, j]
            for j in range(m):
                g[j] += f * b[i, j]
        for i in range(n):
            for j in range(n):
                W[i, j] = 0.0
                Q[i, j] = lxx[node, i, j]
            for j in range(m):
                S[i, j] = 0.0
        for i in range(m):
            for j in range(m):
                R[i, j] = luu[node, i, j]
            for j in range(n):
                T[i, j] = lux[node, i, j]
            R[i, i] += damping
        add_product(W, V, a)
        add_product(S, V, b)
        add_transposed_product(Q, a, W)
        add_transposed_product(T, b, W)
        add_transposed_product(R, b, S)
        if not bounded_minimum(R, g, low[node], high[node], fixed[node], L, step):
            return node
        for i in range(m):
            free = 1.0 if fixed[node, i] == 0.0 else 0.0
            for j in range(n):
                gain[i, j] = -free * T[i, j]
        solve_rows(L, gain)
        for i in range(m):
            f = step[i, 0]
            for j in range(n):
                G[i, j] = T[i, j] - damping * gain[i, j]
                Vx[node, j] += f * G[i, j]
        # Bound controls do not follow the state: their steps act through Q_xu alone.
        add_transposed_product(Q, G, gain)
        for i in range(n):
            for j in range(i):
                s = 0.5 * (Q[i, j] + Q[j, i])
                V[i, j] = s
                V[j, i] = s
            V[i, i] = Q[i, i]
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
