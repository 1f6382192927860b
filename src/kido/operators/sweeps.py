"""Gather and scatter sweeps over a list of bodies, for blocks of vectors. Theory: sections a2, a3.

A block of vectors is an array (rows, vectors): its columns are the vectors, and all loops run along the rows, where
memory is contiguous. A(k) below is the identity for phi and tau(k) = I - G(k) H(k) for psi:

    gather, tips to base:    x(p) += phi(p, k) A(k) x(k)
    scatter, base to tips:   x(k) += A*(k) phi*(p, k) x(p)
"""

from __future__ import annotations

from kido.jit import direct_entry, inlined, kernel, view
from kido.math.so3 import cross
from kido.operators.arrays import BODIES, NODES

OK = 0
PHI, PSI = 0, 1


@inlined
def add_wrench_of_one(o, k, y, p, w, s):
    """y(p) += phi(p, k) w(s), rows from p and s, of one vector."""
    x0, x1, x2 = cross(o.l[k, 0], o.l[k, 1], o.l[k, 2], w[s + 3, 0], w[s + 4, 0], w[s + 5, 0])
    y[p, 0] += w[s, 0] + x0
    y[p + 1, 0] += w[s + 1, 0] + x1
    y[p + 2, 0] += w[s + 2, 0] + x2
    y[p + 3, 0] += w[s + 3, 0]
    y[p + 4, 0] += w[s + 4, 0]
    y[p + 5, 0] += w[s + 5, 0]


@kernel
def add_wrench(o, k, y, p, w, s):
    """y(p) += phi(p, k) w(s), rows from p and s."""
    m = y.shape[1]
    if m == 1:
        add_wrench_of_one(o, k, y, p, w, s)
        return
    lx, ly, lz = o.l[k, 0], o.l[k, 1], o.l[k, 2]
    for j in range(m):
        y[p, j] += w[s, j] + ly * w[s + 5, j] - lz * w[s + 4, j]
    for j in range(m):
        y[p + 1, j] += w[s + 1, j] + lz * w[s + 3, j] - lx * w[s + 5, j]
    for j in range(m):
        y[p + 2, j] += w[s + 2, j] + lx * w[s + 4, j] - ly * w[s + 3, j]
    for r in range(3, 6):
        for j in range(m):
            y[p + r, j] += w[s + r, j]


@inlined
def add_motion_of_one(o, k, y, s, x, p):
    """y(s) += phi*(p, k) x(p), rows from s and p, of one vector."""
    c0, c1, c2 = cross(x[p, 0], x[p + 1, 0], x[p + 2, 0], o.l[k, 0], o.l[k, 1], o.l[k, 2])
    y[s, 0] += x[p, 0]
    y[s + 1, 0] += x[p + 1, 0]
    y[s + 2, 0] += x[p + 2, 0]
    y[s + 3, 0] += x[p + 3, 0] + c0
    y[s + 4, 0] += x[p + 4, 0] + c1
    y[s + 5, 0] += x[p + 5, 0] + c2


@kernel
def add_motion(o, k, y, s, x, p):
    """y(s) += phi*(p, k) x(p), rows from s and p."""
    m = y.shape[1]
    if m == 1:
        add_motion_of_one(o, k, y, s, x, p)
        return
    lx, ly, lz = o.l[k, 0], o.l[k, 1], o.l[k, 2]
    for r in range(3):
        for j in range(m):
            y[s + r, j] += x[p + r, j]
    for j in range(m):
        y[s + 3, j] += x[p + 3, j] + lz * x[p + 1, j] - ly * x[p + 2, j]
    for j in range(m):
        y[s + 4, j] += x[p + 4, j] + lx * x[p + 2, j] - lz * x[p, j]
    for j in range(m):
        y[s + 5, j] += x[p + 5, j] + ly * x[p, j] - lx * x[p + 1, j]


@inlined
def project(A, B, first, last, w):
    """w <- (I - sum_k B_k A_k^T) w over the rows k of a hinge; w has 6 rows, and one more for each k."""
    m = w.shape[1]
    if m == 1:
        for k in range(first, last):
            s = (A[k, 0] * w[0, 0] + A[k, 1] * w[1, 0] + A[k, 2] * w[2, 0]) + (
                A[k, 3] * w[3, 0] + A[k, 4] * w[4, 0] + A[k, 5] * w[5, 0]
            )
            w[6 + k - first, 0] = s
        for k in range(first, last):
            s = w[6 + k - first, 0]
            for r in range(6):
                w[r, 0] -= B[k, r] * s
        return
    for k in range(first, last):
        row = 6 + k - first
        a0, a1, a2, a3, a4, a5 = A[k, 0], A[k, 1], A[k, 2], A[k, 3], A[k, 4], A[k, 5]
        for j in range(m):
            w[row, j] = (a0 * w[0, j] + a1 * w[1, j] + a2 * w[2, j]) + (a3 * w[3, j] + a4 * w[4, j] + a5 * w[5, j])
    for k in range(first, last):
        row = 6 + k - first
        for r in range(6):
            b = B[k, r]
            for j in range(m):
                w[r, j] -= b * w[row, j]


@direct_entry("i8(i8,i8,f8[:,::1],f8[:,::1])")
def gather(bodies, which, x, work):
    """x <- phi x or psi x; `work` has 12 rows."""
    o = view(BODIES, bodies)
    m = x.shape[1]
    for k in range(o.parent.shape[0] - 1, -1, -1):
        p = o.parent[k]
        if p < 0:
            continue
        first, last = o.first_dof[k], o.first_dof[k + 1]
        if which == PHI or first == last:
            add_wrench(o, k, x, 6 * p, x, 6 * k)
        else:
            for r in range(6):
                for j in range(m):
                    work[r, j] = x[6 * k + r, j]
            project(o.H, o.G, first, last, work)
            add_wrench(o, k, x, 6 * p, work, 0)
    return OK


@direct_entry("i8(i8,i8,f8[:,::1],f8[:,::1])")
def scatter(bodies, which, x, work):
    """x <- phi* x or psi* x; `work` has 12 rows."""
    o = view(BODIES, bodies)
    m = x.shape[1]
    for k in range(o.parent.shape[0]):
        p = o.parent[k]
        if p < 0:
            continue
        first, last = o.first_dof[k], o.first_dof[k + 1]
        if which == PHI or first == last:
            add_motion(o, k, x, 6 * k, x, 6 * p)
        else:
            for r in range(6):
                for j in range(m):
                    work[r, j] = 0.0
            add_motion(o, k, work, 0, x, 6 * p)
            project(o.G, o.H, first, last, work)
            for r in range(6):
                for j in range(m):
                    x[6 * k + r, j] += work[r, j]
    return OK


@direct_entry("i8(i8,f8[:,::1],f8[:,::1])")
def shift_up(bodies, x, y):
    """y = E_phi x."""
    o = view(BODIES, bodies)
    for r in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[r, j] = 0.0
    for k in range(o.parent.shape[0] - 1, -1, -1):
        if o.parent[k] >= 0:
            add_wrench(o, k, y, 6 * o.parent[k], x, 6 * k)
    return OK


@direct_entry("i8(i8,f8[:,::1],f8[:,::1])")
def shift_down(bodies, x, y):
    """y = E_phi* x."""
    o = view(BODIES, bodies)
    for r in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[r, j] = 0.0
    for k in range(o.parent.shape[0]):
        if o.parent[k] >= 0:
            add_motion(o, k, y, 6 * k, x, 6 * o.parent[k])
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[:,:,::1],f8[:,::1],f8[:,::1])")
def blockwise(bodies, row_joints, column_joints, transposed, blocks, x, y):
    """y(k) = X(k) x(k) or X*(k) x(k), X(k) the leading part of blocks[k].

    Args:
        row_joints, column_joints: 1 if rows (columns) of the product are coordinates, 0 if spatial vectors.
        transposed: 1 for X*.
    """
    o = view(BODIES, bodies)
    m = x.shape[1]
    for k in range(o.parent.shape[0]):
        first, size = o.first_dof[k], o.first_dof[k + 1] - o.first_dof[k]
        row, rows = (first, size) if row_joints != 0 else (6 * k, 6)
        column, columns = (first, size) if column_joints != 0 else (6 * k, 6)
        for r in range(rows):
            if m == 1:
                s = 0.0
                for c in range(columns):
                    s += (blocks[k, r, c] if transposed == 0 else blocks[k, c, r]) * x[column + c, 0]
                y[row + r, 0] = s
                continue
            for j in range(m):
                y[row + r, j] = 0.0
            for c in range(columns):
                s = blocks[k, r, c] if transposed == 0 else blocks[k, c, r]
                if s != 0.0:
                    for j in range(m):
                        y[row + r, j] += s * x[column + c, j]
    return OK


@direct_entry("i8(i8,i8,f8[:,::1],f8[:,::1])")
def hinge_forces(bodies, given, x, y):
    """y = H x, or that of the prescribed coordinates."""
    o = view(BODIES, bodies)
    m = x.shape[1]
    for k in range(o.parent.shape[0]):
        i = 6 * k
        first, last = (o.first_given[k], o.first_given[k + 1]) if given != 0 else (o.first_dof[k], o.first_dof[k + 1])
        for c in range(first, last):
            h0, h1, h2, h3, h4, h5 = hinge_row(o, given, c)
            for j in range(m):
                y[c, j] = (h0 * x[i, j] + h1 * x[i + 1, j] + h2 * x[i + 2, j]) + (
                    h3 * x[i + 3, j] + h4 * x[i + 4, j] + h5 * x[i + 5, j]
                )
    return OK


@direct_entry("i8(i8,i8,f8[:,::1],f8[:,::1])")
def hinge_motions(bodies, given, x, y):
    """y = H* x, or that of the prescribed coordinates."""
    o = view(BODIES, bodies)
    m = x.shape[1]
    for k in range(o.parent.shape[0]):
        first, last = (o.first_given[k], o.first_given[k + 1]) if given != 0 else (o.first_dof[k], o.first_dof[k + 1])
        if last - first != 1:
            for r in range(6):
                for j in range(m):
                    y[6 * k + r, j] = 0.0
        for c in range(first, last):
            h = hinge_row(o, given, c)
            for r in range(6):
                s = h[r]
                if last - first == 1:
                    for j in range(m):
                        y[6 * k + r, j] = s * x[c, j]
                else:
                    for j in range(m):
                        y[6 * k + r, j] += s * x[c, j]
    return OK


@inlined
def hinge_row(o, given, c):
    """H*(k) of one coordinate."""
    if given != 0:
        h = o.H_given
        return h[c, 0], h[c, 1], h[c, 2], h[c, 3], h[c, 4], h[c, 5]
    return o.H[c, 0], o.H[c, 1], o.H[c, 2], o.H[c, 3], o.H[c, 4], o.H[c, 5]


@direct_entry("i8(i8,f8[:,::1],f8[:,::1])")
def wrenches_of_nodes(nodes, x, y):
    """y = B x: wrenches at nodes as wrenches on their bodies; y must be zeros."""
    s = view(NODES, nodes)
    m = x.shape[1]
    for i in range(s.body.shape[0]):
        q, p = 6 * i, s.row[i]
        rx, ry, rz = s.arm[i, 0], s.arm[i, 1], s.arm[i, 2]
        for j in range(m):
            x0, x1, x2 = cross(rx, ry, rz, x[q + 3, j], x[q + 4, j], x[q + 5, j])
            y[p, j] += x[q, j] + x0
            y[p + 1, j] += x[q + 1, j] + x1
            y[p + 2, j] += x[q + 2, j] + x2
            y[p + 3, j] += x[q + 3, j]
            y[p + 4, j] += x[q + 4, j]
            y[p + 5, j] += x[q + 5, j]
    return OK


@direct_entry("i8(i8,f8[:,::1],f8[:,::1])")
def motions_of_nodes(nodes, x, y):
    """y = B* x: motions of bodies as motions of the nodes on them."""
    s = view(NODES, nodes)
    m = x.shape[1]
    for i in range(s.body.shape[0]):
        q, p = 6 * i, s.row[i]
        rx, ry, rz = s.arm[i, 0], s.arm[i, 1], s.arm[i, 2]
        for j in range(m):
            x0, x1, x2 = cross(x[p, j], x[p + 1, j], x[p + 2, j], rx, ry, rz)
            y[q, j], y[q + 1, j], y[q + 2, j] = x[p, j], x[p + 1, j], x[p + 2, j]
            y[q + 3, j], y[q + 4, j], y[q + 5, j] = x[p + 3, j] + x0, x[p + 4, j] + x1, x[p + 5, j] + x2
    return OK
