"""Recursions of 6x6 blocks over a list of bodies, for Lyapunov products. Theory: a5, a6.

With A(k) = 1 for phi and tau(k) for psi, and a(p, k) = phi(p, k) A(k):

    gather:    R(k) = X(k) + sum over children of a(k, c) R(c) a*(k, c)
    scatter:   Y(k) = X(k) + a*(p, k) Y(p) a(p, k)

Source: Jain, Vaidehi, Rodriguez (1993); Jain (2013), section II-A.
"""

from __future__ import annotations

from kido.jit import direct_entry, inlined, kernel, view
from kido.operators.arrays import BODIES, NODES
from kido.operators.sweeps import OK, PHI, PSI, project


@inlined
def shift_rows(o, k, Z):
    """Z <- phi(p, k) Z, rows of a block."""
    x, y, z = o.l[k, 0], o.l[k, 1], o.l[k, 2]
    for j in range(Z.shape[1]):
        Z[0, j] += y * Z[5, j] - z * Z[4, j]
        Z[1, j] += z * Z[3, j] - x * Z[5, j]
        Z[2, j] += x * Z[4, j] - y * Z[3, j]


@kernel
def raise_rows(o, which, k, Z):
    """Z <- a(p, k) Z; Z has 12 rows."""
    if which == PSI:
        project(o.H, o.G, o.first_dof[k], o.first_dof[k + 1], Z)
    shift_rows(o, k, Z)


@kernel
def raise_block(o, which, k):
    """work[1] = a(p, k) work[0]."""
    W = o.work
    for j in range(6):
        for r in range(6):
            if which == PHI:
                s = W[0, r, j]
            else:
                s = 0.0
                for c in range(6):
                    s += o.tau[k, r, c] * W[0, c, j]
            W[1, r, j] = s
        W[1, 0, j] += o.l[k, 1] * W[1, 5, j] - o.l[k, 2] * W[1, 4, j]
        W[1, 1, j] += o.l[k, 2] * W[1, 3, j] - o.l[k, 0] * W[1, 5, j]
        W[1, 2, j] += o.l[k, 0] * W[1, 4, j] - o.l[k, 1] * W[1, 3, j]


@kernel
def lower_block(o, which, k):
    """work[1] = a*(p, k) work[0]; work[0] is changed."""
    W = o.work
    for j in range(6):
        W[0, 3, j] += o.l[k, 2] * W[0, 1, j] - o.l[k, 1] * W[0, 2, j]
        W[0, 4, j] += o.l[k, 0] * W[0, 2, j] - o.l[k, 2] * W[0, 0, j]
        W[0, 5, j] += o.l[k, 1] * W[0, 0, j] - o.l[k, 0] * W[0, 1, j]
        for r in range(6):
            if which == PHI:
                s = W[0, r, j]
            else:
                s = 0.0
                for c in range(6):
                    s += o.tau[k, c, r] * W[0, c, j]
            W[1, r, j] = s


@inlined
def turn_over(o):
    """work[0] = work[1]*."""
    for r in range(6):
        for c in range(6):
            o.work[0, r, c] = o.work[1, c, r]


@direct_entry("i8(i8,i8,f8[:,:,::1],f8[:,:,::1])")
def gather_blocks(bodies, which, X, R):
    """Diagonal blocks R of phi X phi* or psi X psi*."""
    o = view(BODIES, bodies)
    n = o.parent.shape[0]
    for k in range(n):
        for r in range(6):
            for c in range(6):
                R[k, r, c] = X[k, r, c]
    for k in range(n - 1, -1, -1):
        p = o.parent[k]
        if p < 0:
            continue
        for r in range(6):
            for c in range(6):
                o.work[0, r, c] = R[k, r, c]
        raise_block(o, which, k)
        turn_over(o)
        raise_block(o, which, k)
        for r in range(6):
            for c in range(6):
                R[p, r, c] += o.work[1, c, r]
    return OK


@direct_entry("i8(i8,i8,f8[:,:,::1],f8[:,:,::1])")
def scatter_blocks(bodies, which, X, Y):
    """Diagonal blocks Y of phi* X phi or psi* X psi."""
    o = view(BODIES, bodies)
    for k in range(o.parent.shape[0]):
        for r in range(6):
            for c in range(6):
                Y[k, r, c] = X[k, r, c]
        p = o.parent[k]
        if p < 0:
            continue
        for r in range(6):
            for c in range(6):
                o.work[0, r, c] = Y[p, r, c]
        lower_block(o, which, k)
        turn_over(o)
        lower_block(o, which, k)
        for r in range(6):
            for c in range(6):
                Y[k, r, c] += o.work[1, c, r]
    return OK


# Blocks off the diagonal -----------------------------------------------------------------------------------


@direct_entry("i8(i8,i8,i8,i8,f8[:,::1])")
def walk_up(bodies, which, start, end, Z):
    """Z <- phi(end, start) Z or psi(end, start) Z; 0 if `end` is not above. Z has 12 rows."""
    o = view(BODIES, bodies)
    k = start
    while k > end:
        raise_rows(o, which, k, Z)
        k = o.parent[k]
    return 1 if k == end else 0


@direct_entry("i8(i8,i8,i8)")
def common_ancestor(bodies, i, j):
    """Place of the nearest body that both are at or below, or -1."""
    return nearest(view(BODIES, bodies), i, j)


@inlined
def nearest(o, i, j):
    a, b = i, j
    while a != b:
        if a > b:
            a = o.parent[a]
        else:
            b = o.parent[b]
    return a


@inlined
def extent(o, joints, k):
    """First row and number of rows of body k in a vector of coordinates or of spatial vectors."""
    if joints != 0:
        return o.first_dof[k], o.first_dof[k + 1] - o.first_dof[k]
    return 6 * k, 6


@direct_entry("i8(i8,i8,i8,i8,f8[:,:,::1],f8[:,:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1])")
def gathered_matrix(bodies, which, row_joints, column_joints, left, R, right, Z, out):
    """out = left (phi X phi*) right from its diagonal blocks R, X any; out must be zeros, Z has 12 rows, 12 columns.

    Column blocks R(j) right(j) and row blocks left(j) R(j) walk up together, side by side in Z.
    """
    o = view(BODIES, bodies)
    for j in range(o.parent.shape[0]):
        row_j, rows_j = extent(o, row_joints, j)
        column_j, columns_j = extent(o, column_joints, j)
        for r in range(6):
            for c in range(6):
                s, t = 0.0, 0.0
                if c < columns_j:
                    for k in range(6):
                        s += R[j, r, k] * right[j, k, c]
                if c < rows_j:
                    for k in range(6):
                        t += R[j, k, r] * left[j, c, k]
                Z[r, c] = s
                Z[r, 6 + c] = t
        i = j
        while i >= 0:
            row, rows = extent(o, row_joints, i)
            column, columns = extent(o, column_joints, i)
            for r in range(rows):
                for c in range(columns_j):
                    s = 0.0
                    for k in range(6):
                        s += left[i, r, k] * Z[k, c]
                    out[row + r, column_j + c] = s
            if i != j:
                for r in range(rows_j):
                    for c in range(columns):
                        s = 0.0
                        for k in range(6):
                            s += Z[k, 6 + r] * right[i, k, c]
                        out[row_j + r, column + c] = s
            raise_rows(o, which, i, Z)
            i = o.parent[i]
    return OK


@kernel
def lower_column(o, which, k, W, p, columns):
    """W(k) = a*(p, k) W(p), blocks of a column in rows of W: W[k, 6 r + c]."""
    for c in range(columns):
        w0, w1, w2 = W[p, c], W[p, 6 + c], W[p, 12 + c]
        w3 = W[p, 18 + c] + o.l[k, 2] * w1 - o.l[k, 1] * w2
        w4 = W[p, 24 + c] + o.l[k, 0] * w2 - o.l[k, 2] * w0
        w5 = W[p, 30 + c] + o.l[k, 1] * w0 - o.l[k, 0] * w1
        if which == PSI:
            v0, v1, v2, v3, v4, v5 = w0, w1, w2, w3, w4, w5
            for d in range(o.first_dof[k], o.first_dof[k + 1]):
                s = o.G[d, 0] * v0 + o.G[d, 1] * v1 + o.G[d, 2] * v2
                s += o.G[d, 3] * v3 + o.G[d, 4] * v4 + o.G[d, 5] * v5
                w0 -= o.H[d, 0] * s
                w1 -= o.H[d, 1] * s
                w2 -= o.H[d, 2] * s
                w3 -= o.H[d, 3] * s
                w4 -= o.H[d, 4] * s
                w5 -= o.H[d, 5] * s
        W[k, c], W[k, 6 + c], W[k, 12 + c] = w0, w1, w2
        W[k, 18 + c], W[k, 24 + c], W[k, 30 + c] = w3, w4, w5


@direct_entry("i8(i8,i8,i8,i8,f8[:,:,::1],f8[:,:,::1],f8[:,:,::1],f8[:,::1],f8[:,::1],f8[:,::1])")
def scattered_matrix(bodies, which, row_joints, column_joints, left, Y, right, Z, W, out):
    """out = left (phi* X phi) right from its diagonal blocks Y; Z has 12 rows and 6 columns, W (bodies, 37)."""
    o = view(BODIES, bodies)
    n = o.parent.shape[0]
    for j in range(n):
        column, columns = extent(o, column_joints, j)
        for k in range(n):
            W[k, 36] = 0.0
        for r in range(6):
            for c in range(6):
                Z[r, c] = right[j, r, c] if c < columns else 0.0
        i = j
        while i >= 0:
            for r in range(6):
                for c in range(columns):
                    s = 0.0
                    for k in range(6):
                        s += Y[i, r, k] * Z[k, c]
                    W[i, 6 * r + c] = s
            W[i, 36] = 1.0
            raise_rows(o, which, i, Z)
            i = o.parent[i]
        for k in range(n):
            p = o.parent[k]
            if W[k, 36] == 0.0:
                if p < 0 or W[p, 36] == 0.0:
                    continue  # another tree
                lower_column(o, which, k, W, p, columns)
                W[k, 36] = 1.0
            row, rows = extent(o, row_joints, k)
            for r in range(rows):
                for c in range(columns):
                    s = 0.0
                    for q in range(6):
                        s += left[k, r, q] * W[k, 6 * q + c]
                    out[row + r, column + c] = s
    return OK


@direct_entry("i8(i8,i8,i8,f8[:,:,::1],f8[:,::1],f8[:,:,::1],f8[:,::1])")
def node_matrix(bodies, which, nodes, Y, Z, E, out):
    """out = B* (phi* X phi) B for nodes, from the diagonal blocks Y: O(nodes depth + nodes^2).

    Args:
        Z: 12 rows and 6 columns of work space.
        E: (nodes, bodies, 36) work space: of each node phi(k, node) for the bodies k above it.
        out: zeros.
    """
    o, s = view(BODIES, bodies), view(NODES, nodes)
    count = s.body.shape[0]
    for i in range(count):
        x, y, z = s.arm[i, 0], s.arm[i, 1], s.arm[i, 2]
        for r in range(6):
            for c in range(6):
                Z[r, c] = 1.0 if r == c else 0.0
        Z[0, 4], Z[0, 5] = -z, y
        Z[1, 3], Z[1, 5] = z, -x
        Z[2, 3], Z[2, 4] = -y, x
        k = s.body[i]
        while k >= 0:
            for r in range(6):
                for c in range(6):
                    E[i, k, 6 * r + c] = Z[r, c]
            raise_rows(o, which, k, Z)
            k = o.parent[k]
    for j in range(count):
        for i in range(count):
            a = nearest(o, s.body[i], s.body[j])
            if a < 0:
                continue
            for c in range(6):
                for r in range(6):
                    t = 0.0
                    for q in range(6):
                        t += Y[a, r, q] * E[j, a, 6 * q + c]
                    Z[r, c] = t
            for r in range(6):
                for c in range(6):
                    t = 0.0
                    for q in range(6):
                        t += E[i, a, 6 * q + r] * Z[q, c]
                    out[6 * i + r, 6 * j + c] = t
    return OK


@direct_entry("i8(i8,i8,f8[:,:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1])")
def between_branches(bodies, which, Y, x, z, work, y):
    """y = (blocks of phi* X phi between bodies neither of which is above the other) x.

    Body k sees of its parent's other children a(p, c) z(c), through Y(p): y(k) = a*(p, k) (y(p) + Y(p) t),
    t = z(p) - x(p) - a(p, k) z(k).

    Args:
        Y: diagonal blocks of phi* X phi.
        x, z: a block of vectors, and phi x.
        work: 12 rows.
    """
    o = view(BODIES, bodies)
    m = x.shape[1]
    for k in range(o.parent.shape[0]):
        p = o.parent[k]
        for r in range(6):
            for j in range(m):
                y[6 * k + r, j] = 0.0
                work[r, j] = z[6 * k + r, j]
        if p < 0:
            continue
        raise_rows(o, which, k, work)
        for j in range(m):
            w0, w1, w2 = y[6 * p, j], y[6 * p + 1, j], y[6 * p + 2, j]
            w3, w4, w5 = y[6 * p + 3, j], y[6 * p + 4, j], y[6 * p + 5, j]
            for c in range(6):
                t = z[6 * p + c, j] - x[6 * p + c, j] - work[c, j]
                w0 += Y[p, 0, c] * t
                w1 += Y[p, 1, c] * t
                w2 += Y[p, 2, c] * t
                w3 += Y[p, 3, c] * t
                w4 += Y[p, 4, c] * t
                w5 += Y[p, 5, c] * t
            w3 += o.l[k, 2] * w1 - o.l[k, 1] * w2
            w4 += o.l[k, 0] * w2 - o.l[k, 2] * w0
            w5 += o.l[k, 1] * w0 - o.l[k, 0] * w1
            y[6 * k, j], y[6 * k + 1, j], y[6 * k + 2, j] = w0, w1, w2
            y[6 * k + 3, j], y[6 * k + 4, j], y[6 * k + 5, j] = w3, w4, w5
            if which == PSI:
                for d in range(o.first_dof[k], o.first_dof[k + 1]):
                    s = o.G[d, 0] * w0 + o.G[d, 1] * w1 + o.G[d, 2] * w2
                    s += o.G[d, 3] * w3 + o.G[d, 4] * w4 + o.G[d, 5] * w5
                    for r in range(6):
                        y[6 * k + r, j] -= o.H[d, r] * s
    return OK
