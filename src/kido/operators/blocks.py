"""Sweeps over bodies some of whose vectors have more than six numbers: those of `sweeps`, `recursions`, `articulated`.

A flexible body's modes are a place of the list of their own, between the body and its nodes. Its vector is [V; etadot],
its hinge the modes, and with Pi_t the motion of node t per rate of a mode

    phi*(body, modes) = [1; 0],    phi*(modes, t) = [phi*(l), Pi_t]
    M(modes) = [M_rr, M_rf; M_fr, M_ff],    M(body) = 0

so that the list is a tree as any other is, and all of theory holds of it: D(modes) = P_ff and P+(modes) are the
elimination of modes before the hinge of the body. phi(p, k) and psi(p, k) are kept as matrices. Functions have the
names and arguments that they have in the modules above. Source: Jain and Rodriguez (1992), Recursive flexible multibody
system dynamics using spatial operators; modes as a place of the list are our own.
"""

from __future__ import annotations

import math

from kido.jit import Struct, direct_entry, floats, inlined, integers, kernel, view
from kido.kernels.forward_dynamics import SINGULAR_TOLERANCE
from kido.operators.articulated import invert_by_factor
from kido.operators.sweeps import OK, PHI, PSI

PLAIN, MODES, NODE = 0, 1, 2  # what a place of the list is


class BLOCKS(Struct):
    kind = integers("bodies", doc="0: a body; 1: modes of the body that it hangs on; 2: a node")
    parent = integers("bodies", doc="place of its parent in the list, of nodes that of the modes; -1: a root")
    flexible = integers("flexibles", 2, doc="a place that has the inertia of a flexible body, that body's index")
    first_row = integers("bodies1", doc="first row of each body in vectors of all; the last is the total")
    first_dof = integers("bodies1", doc="first free coordinate of the body's hinge; the last entry is the total")
    source = integers("dofs", doc="place of each free coordinate in the skeleton's state")
    mode = integers("dofs", doc="column of H of a free coordinate that is a mode; -1: it is none")
    first_given = integers("bodies1", doc="first prescribed coordinate of the hinge; the last is the total")
    given_source = integers("given", doc="place of each prescribed coordinate in the skeleton's state")
    given_mode = integers("given", doc="column of H_given of a prescribed mode; -1: it is none")
    H = floats("dofs", "width", doc="H*(k): a row for each free coordinate")
    armature = floats("dofs", unit="kg or kg m^2", doc="rotor inertia of each free coordinate")
    H_given = floats("given", "width", doc="the same of the prescribed coordinates")
    V = floats("rows", doc="spatial velocities, and rates of modes")
    a = floats("rows", doc="velocity-product accelerations a(k)")
    b = floats("rows", doc="gyroscopic wrenches b(k), and those of the modes' rates")
    weight = floats("rows", doc="wrenches of gravity, and its forces on modes")
    V_boundary = floats("rows", doc="phi*(p, k) V(p) of roots whose parent is outside the list")
    A_boundary = floats("rows", doc="phi*(p, k) alpha(p) of these, with all coordinates at rest")
    M = floats("bodies", "width", "width", doc="inertia, with that of frozen bodies")
    edge = floats("edges", "width", "width", doc="phi(p, k) of all bodies, p the parent in the list; then psi(p, k)")
    P = floats("bodies", "width", "width", doc="articulated inertia")
    G = floats("dofs", "width", doc="G(k) = P H* D^-1, a row for each free coordinate")
    D = floats("bodies", "width", "width", doc="D(k) = H P H* + J_a in the leading rows and columns")
    D_inverse = floats("bodies", "width", "width", doc="its inverse, likewise")
    tau = floats("bodies", "width", "width", doc="tau(k) = I - G H")
    work = floats(2, "width", "width", doc="work space")


@inlined
def rows_of(o, k):
    """How many numbers body k has."""
    return o.first_row[k + 1] - o.first_row[k]


@inlined
def edge(o, which, k):
    """Place of phi(p, k) or psi(p, k) = phi(p, k) tau(k) in `o.edge`."""
    return which * o.parent.shape[0] + k


@inlined
def dofs_or_rows(o, joints, k):
    """First number and count of numbers of body k in a vector of coordinates or of bodies."""
    if joints != 0:
        return o.first_dof[k], o.first_dof[k + 1] - o.first_dof[k]
    return o.first_row[k], rows_of(o, k)


@inlined
def empty(y):
    """y = 0."""
    for r in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[r, j] = 0.0


@inlined
def add_upward(o, which, k, y, p, x, s):
    """y += A x, A = phi(p, k) or psi(p, k); rows from p and s."""
    i = edge(o, which, k)
    for r in range(rows_of(o, o.parent[k])):
        for c in range(rows_of(o, k)):
            e = o.edge[i, r, c]
            if e != 0.0:
                for j in range(x.shape[1]):
                    y[p + r, j] += e * x[s + c, j]


@inlined
def add_downward(o, which, k, y, s, x, p):
    """y += A* x; rows from s and p."""
    i = edge(o, which, k)
    for r in range(rows_of(o, o.parent[k])):
        for c in range(rows_of(o, k)):
            e = o.edge[i, r, c]
            if e != 0.0:
                for j in range(x.shape[1]):
                    y[s + c, j] += e * x[p + r, j]


# Vectors ---------------------------------------------------------------------------------------------------


@direct_entry("i8(i8,i8,f8[:,::1],f8[:,::1])")
def gather(bodies, which, x, work):
    """x <- phi x or psi x."""
    o = view(BLOCKS, bodies)
    for k in range(o.parent.shape[0] - 1, -1, -1):
        if o.parent[k] >= 0:
            add_upward(o, which, k, x, o.first_row[o.parent[k]], x, o.first_row[k])
    return OK


@direct_entry("i8(i8,i8,f8[:,::1],f8[:,::1])")
def scatter(bodies, which, x, work):
    """x <- phi* x or psi* x."""
    o = view(BLOCKS, bodies)
    for k in range(o.parent.shape[0]):
        if o.parent[k] >= 0:
            add_downward(o, which, k, x, o.first_row[k], x, o.first_row[o.parent[k]])
    return OK


@direct_entry("i8(i8,f8[:,::1],f8[:,::1])")
def shift_up(bodies, x, y):
    """y = E_phi x."""
    o = view(BLOCKS, bodies)
    empty(y)
    for k in range(o.parent.shape[0]):
        if o.parent[k] >= 0:
            add_upward(o, PHI, k, y, o.first_row[o.parent[k]], x, o.first_row[k])
    return OK


@direct_entry("i8(i8,f8[:,::1],f8[:,::1])")
def shift_down(bodies, x, y):
    """y = E_phi* x."""
    o = view(BLOCKS, bodies)
    empty(y)
    for k in range(o.parent.shape[0]):
        if o.parent[k] >= 0:
            add_downward(o, PHI, k, y, o.first_row[k], x, o.first_row[o.parent[k]])
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[:,:,::1],f8[:,::1],f8[:,::1])")
def blockwise(bodies, row_joints, column_joints, transposed, blocks, x, y):
    """y(k) = X(k) x(k) or X*(k) x(k), X(k) the leading part of blocks[k]."""
    o = view(BLOCKS, bodies)
    empty(y)
    for k in range(o.parent.shape[0]):
        row, rows = dofs_or_rows(o, row_joints, k)
        column, columns = dofs_or_rows(o, column_joints, k)
        for r in range(rows):
            for c in range(columns):
                s = blocks[k, r, c] if transposed == 0 else blocks[k, c, r]
                if s != 0.0:
                    for j in range(x.shape[1]):
                        y[row + r, j] += s * x[column + c, j]
    return OK


@inlined
def add_forces(o, H, first, x, y):
    """y += H x."""
    for k in range(o.parent.shape[0]):
        for c in range(first[k], first[k + 1]):
            for r in range(rows_of(o, k)):
                if H[c, r] != 0.0:
                    for j in range(x.shape[1]):
                        y[c, j] += H[c, r] * x[o.first_row[k] + r, j]


@inlined
def add_motions(o, H, first, x, y):
    """y += H* x."""
    for k in range(o.parent.shape[0]):
        for c in range(first[k], first[k + 1]):
            for r in range(rows_of(o, k)):
                if H[c, r] != 0.0:
                    for j in range(x.shape[1]):
                        y[o.first_row[k] + r, j] += H[c, r] * x[c, j]


@direct_entry("i8(i8,i8,f8[:,::1],f8[:,::1])")
def hinge_forces(bodies, given, x, y):
    """y = H x, or that of the prescribed coordinates."""
    o = view(BLOCKS, bodies)
    empty(y)
    if given != 0:
        add_forces(o, o.H_given, o.first_given, x, y)
    else:
        add_forces(o, o.H, o.first_dof, x, y)
    return OK


@direct_entry("i8(i8,i8,f8[:,::1],f8[:,::1])")
def hinge_motions(bodies, given, x, y):
    """y = H* x, or that of the prescribed coordinates."""
    o = view(BLOCKS, bodies)
    empty(y)
    if given != 0:
        add_motions(o, o.H_given, o.first_given, x, y)
    else:
        add_motions(o, o.H, o.first_dof, x, y)
    return OK


# Blocks ----------------------------------------------------------------------------------------------------


@kernel
def multiply(A, a, B, b, starred, rows, inner, columns, out, to):
    """out[to] = A[a] B[b] or A[a] B[b]*, leading parts."""
    for r in range(rows):
        for c in range(columns):
            s = 0.0
            for k in range(inner):
                s += A[a, r, k] * (B[b, k, c] if starred == 0 else B[b, c, k])
            out[to, r, c] = s


@kernel
def copy_blocks(X, R):
    for k in range(X.shape[0]):
        for r in range(X.shape[1]):
            for c in range(X.shape[2]):
                R[k, r, c] = X[k, r, c]


@kernel
def raise_block(o, which, k, X):
    """work[1] = A X(k) A*, A = phi(p, k) or psi(p, k)."""
    i, p, n = edge(o, which, k), rows_of(o, o.parent[k]), rows_of(o, k)
    multiply(o.edge, i, X, k, 0, p, n, n, o.work, 0)
    multiply(o.work, 0, o.edge, i, 1, p, n, p, o.work, 1)


@direct_entry("i8(i8,i8,f8[:,:,::1],f8[:,:,::1])")
def gather_blocks(bodies, which, X, R):
    """Diagonal blocks R of phi X phi* or psi X psi*."""
    o = view(BLOCKS, bodies)
    copy_blocks(X, R)
    for k in range(o.parent.shape[0] - 1, -1, -1):
        p = o.parent[k]
        if p >= 0:
            raise_block(o, which, k, R)
            for r in range(rows_of(o, p)):
                for c in range(rows_of(o, p)):
                    R[p, r, c] += o.work[1, r, c]
    return OK


@direct_entry("i8(i8,i8,f8[:,:,::1],f8[:,:,::1])")
def scatter_blocks(bodies, which, X, Y):
    """Diagonal blocks Y of phi* X phi or psi* X psi."""
    o = view(BLOCKS, bodies)
    copy_blocks(X, Y)
    for k in range(o.parent.shape[0]):
        p = o.parent[k]
        if p < 0:
            continue
        e, n, m = edge(o, which, k), rows_of(o, p), rows_of(o, k)
        multiply(Y, p, o.edge, e, 0, n, n, m, o.work, 0)
        for r in range(m):
            for c in range(m):
                s = 0.0
                for i in range(n):
                    s += o.edge[e, i, r] * o.work[0, i, c]
                Y[k, r, c] += s
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[:,::1])")
def walk_up(bodies, which, start, end, Z):
    """Z <- phi(end, start) Z or psi(end, start) Z; 0 if `end` is not above. Z has twice as many rows as any block."""
    o = view(BLOCKS, bodies)
    width = o.M.shape[1]
    k = start
    while k > end:
        raise_rows(o, which, k, width, Z)
        k = o.parent[k]
    return 1 if k == end else 0


@inlined
def raise_rows(o, which, k, width, Z):
    """Z <- A Z; zero if body k is a root."""
    for r in range(width, 2 * width):
        for j in range(Z.shape[1]):
            Z[r, j] = 0.0
    if o.parent[k] >= 0:
        add_upward(o, which, k, Z, width, Z, 0)
    for r in range(width):
        for j in range(Z.shape[1]):
            Z[r, j] = Z[width + r, j]


@direct_entry("i8(i8,i8,i8)")
def common_ancestor(bodies, i, j):
    """Place of the nearest body that both are at or below, or -1."""
    o = view(BLOCKS, bodies)
    while i != j:
        if i > j:
            i = o.parent[i]
        else:
            j = o.parent[j]
    return i


@direct_entry("i8(i8,i8,f8[:,:,::1],f8[:,::1],f8[:,::1],f8[:,::1],f8[:,::1])")
def between_branches(bodies, which, Y, x, z, work, y):
    """y = (blocks of phi* X phi between bodies neither of which is above the other) x; see `recursions`."""
    o = view(BLOCKS, bodies)
    width, m = o.M.shape[1], x.shape[1]
    empty(y)
    for k in range(o.parent.shape[0]):
        p = o.parent[k]
        if p < 0:
            continue
        row, above, n = o.first_row[k], o.first_row[p], rows_of(o, p)
        empty(work)
        add_upward(o, which, k, work, 0, z, row)
        for r in range(n):
            for j in range(m):
                work[r, j] = z[above + r, j] - x[above + r, j] - work[r, j]
                work[width + r, j] = y[above + r, j]
        for r in range(n):
            for c in range(n):
                for j in range(m):
                    work[width + r, j] += Y[p, r, c] * work[c, j]
        add_downward(o, which, k, y, row, work, width)
    return OK


# Articulated inertias --------------------------------------------------------------------------------------


@direct_entry("i8(i8)")
def articulate(bodies):
    """P, D, D_inverse, G, tau, psi; returns the first coordinate that sees no inertia, or -1."""
    o = view(BLOCKS, bodies)
    copy_blocks(o.M, o.P)
    for k in range(o.parent.shape[0] - 1, -1, -1):
        first, size, rows = o.first_dof[k], o.first_dof[k + 1] - o.first_dof[k], rows_of(o, k)
        for i in range(first, first + size):  # U = P H* in G for now
            for r in range(rows):
                s = 0.0
                for c in range(rows):
                    s += o.P[k, r, c] * o.H[i, c]
                o.G[i, r] = s
        failed = factor_hinge(o, k, first, size, rows)
        if failed >= 0:
            return first + failed
        L = o.work
        for i in range(size):  # rows of G become those of L^-1 U*: P+ = P - (L^-1 U*)* (L^-1 U*), which stays positive
            for r in range(rows):
                s = o.G[first + i, r]
                for c in range(i):
                    s -= L[1, i, c] * o.G[first + c, r]
                o.G[first + i, r] = s / L[1, i, i]
        for r in range(rows):
            for c in range(rows):
                s = o.P[k, r, c]
                for i in range(first, first + size):
                    s -= o.G[i, r] * o.G[i, c]
                o.tau[k, r, c] = s  # P+ for now
        for i in range(size - 1, -1, -1):
            for r in range(rows):
                s = o.G[first + i, r]
                for c in range(i + 1, size):
                    s -= L[1, c, i] * o.G[first + c, r]
                o.G[first + i, r] = s / L[1, i, i]
        p = o.parent[k]
        if p >= 0:
            raise_block(o, PHI, k, o.tau)
            for r in range(rows_of(o, p)):
                for c in range(rows_of(o, p)):
                    o.P[p, r, c] += 0.5 * (o.work[1, r, c] + o.work[1, c, r])
        for r in range(rows):
            for c in range(rows):
                s = 1.0 if r == c else 0.0
                for i in range(first, first + size):
                    s -= o.G[i, r] * o.H[i, c]
                o.tau[k, r, c] = s
        if p >= 0:
            multiply(o.edge, k, o.tau, k, 0, rows_of(o, p), rows, rows, o.edge, edge(o, PSI, k))
    return -1


@kernel
def factor_hinge(o, k, first, size, rows):
    """D(k), its factor L, D = L L*, in work[1], and D_inverse(k); U = P H* is in G.

    Returns:
        The place in the hinge of a coordinate that sees no inertia, or -1.
    """
    L, D, E = o.work, o.D, o.D_inverse
    for i in range(size):
        for j in range(size):
            s = 0.0
            for c in range(rows):
                s += 0.5 * (o.H[first + i, c] * o.G[first + j, c] + o.H[first + j, c] * o.G[first + i, c])
            D[k, i, j] = s
        D[k, i, i] += o.armature[first + i]
    for i in range(size):
        for j in range(i + 1):
            s = D[k, i, j]
            for c in range(j):
                s -= L[1, i, c] * L[1, j, c]
            if i > j:
                L[1, i, j] = s / L[1, j, j]
                continue
            if not s > SINGULAR_TOLERANCE * size_of(o, k, first + i, rows):
                return i
            L[1, i, i] = math.sqrt(s)
    invert_by_factor(L, 1, size, E, k)
    return -1


@inlined
def size_of(o, k, i, rows):
    """What D of coordinate i would be if all inertia were in its way."""
    H, P = o.H, o.P
    turn = H[i, 0] * H[i, 0] + H[i, 1] * H[i, 1] + H[i, 2] * H[i, 2]
    slide = H[i, 3] * H[i, 3] + H[i, 4] * H[i, 4] + H[i, 5] * H[i, 5]
    s = turn * (P[k, 0, 0] + P[k, 1, 1] + P[k, 2, 2]) + slide * (P[k, 3, 3] + P[k, 4, 4] + P[k, 5, 5])
    for r in range(6, rows):
        s += H[i, r] * H[i, r] * P[k, r, r]
    return s
