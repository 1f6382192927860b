"""Operational space: compliance and inertia between points of a tree, by articulated bodies.

With the articulated quantities of the tree (theory reference, sections a3 and a5), a sweep from the base to the
points gives the compliance of each link, the diagonal of Omega = psi* H* D^-1 H psi,

    Y(k) = psi*(p, k) Y(p) psi(p, k) + H*(k) D^-1(k) H(k),

and forces X on a point, handed through the articulated tree to the closest link a above two points, the rest:

    Omega(i, j) = psi*(a, i) Y(a) psi(a, j),    Lambda^-1 = B* Omega B.

The work is O(n + m d + m^2) for m points on paths of d links: forces go up only as far as paths of two points meet,
and a pair of points costs one product of 6x6 blocks. A prescribed coordinate has D^-1 = 0 and is passed as if rigid.
Coordinates of a joint are taken one after the other, as in `kido.kernels.forward_dynamics`.

Sources: Jain (2013), section III; Wensing, Featherstone, Orin (2012), "A reduced-order recursive algorithm for the
computation of the operational-space inertia matrix" (extended force propagators).
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.kernels.forward_dynamics import articulated_inertias
from kido.kernels.inertia import apply_inertia, read_symmetric
from kido.kernels.inverse_dynamics import column_dot, gather_force
from kido.kernels.kinematics import rotation_of
from kido.math.so3 import cross, rotate
from kido.tree.workspace import WIDE

INDEFINITE_TOLERANCE = 1e-12  # share of a diagonal number below which what is left of it is rounding


@kernel
def articulate(t, d, prescribed):
    """P, U, Dinv of all bodies at the data's positions; J and mc must be current.

    Args:
        prescribed: (dofs,) 1.0 where a coordinate does not give way, or (0,): none.

    Returns:
        The index of a coordinate whose inertia is not positive, or -1.
    """
    m, n = d.q.shape[0], t.parent.shape[0]
    if prescribed.shape[0] != m:
        return int(articulated_inertias(t, d, 0, n, 0.0))
    for k in range(m):
        d.e[k] = t.prescribed[k]
        t.prescribed[k] = 1 if prescribed[k] != 0.0 else 0
    status = int(articulated_inertias(t, d, 0, n, 0.0))
    for k in range(m):
        t.prescribed[k] = int(d.e[k])
    return status


@inlined
def read_compliance(w, i):
    """Y of link i as 21 numbers [A | B | D]: Y = [[A, B], [B^T, D]], A and D symmetric."""
    return read_symmetric(w.Y, i)


@inlined
def shift_compliance(Y, x, y, z):
    """phi* Y phi, with l = (x, y, z) from the origin of Y to the new one: B' = B + A l~, D' = D - l~ B' + B^T l~."""
    b0, b1, b2 = cross(Y[0], Y[1], Y[2], x, y, z)
    b3, b4, b5 = cross(Y[1], Y[3], Y[4], x, y, z)
    b6, b7, b8 = cross(Y[2], Y[4], Y[5], x, y, z)
    b0, b1, b2 = b0 + Y[6], b1 + Y[7], b2 + Y[8]
    b3, b4, b5 = b3 + Y[9], b4 + Y[10], b5 + Y[11]
    b6, b7, b8 = b6 + Y[12], b7 + Y[13], b8 + Y[14]
    return (
        Y[0], Y[1], Y[2], Y[3], Y[4], Y[5],
        b0, b1, b2, b3, b4, b5, b6, b7, b8,
        Y[15] - (y * b6 - z * b3) + (Y[9] * z - Y[12] * y),
        Y[16] - (y * b7 - z * b4) + (Y[12] * x - Y[6] * z),
        Y[17] - (y * b8 - z * b5) + (Y[6] * y - Y[9] * x),
        Y[18] - (z * b1 - x * b7) + (Y[13] * x - Y[7] * z),
        Y[19] - (z * b2 - x * b8) + (Y[7] * y - Y[10] * x),
        Y[20] - (x * b5 - y * b2) + (Y[8] * y - Y[11] * x),
    )  # fmt: skip


@inlined
def add_mirrored(Y, h0, h1, h2, h3, h4, h5, a0, a1, a2, a3, a4, a5):
    """Y + h a^T + a h^T."""
    return (
        Y[0] + 2.0 * h0 * a0, Y[1] + (h0 * a1 + h1 * a0), Y[2] + (h0 * a2 + h2 * a0),
        Y[3] + 2.0 * h1 * a1, Y[4] + (h1 * a2 + h2 * a1), Y[5] + 2.0 * h2 * a2,
        Y[6] + (h0 * a3 + h3 * a0), Y[7] + (h0 * a4 + h4 * a0), Y[8] + (h0 * a5 + h5 * a0),
        Y[9] + (h1 * a3 + h3 * a1), Y[10] + (h1 * a4 + h4 * a1), Y[11] + (h1 * a5 + h5 * a1),
        Y[12] + (h2 * a3 + h3 * a2), Y[13] + (h2 * a4 + h4 * a2), Y[14] + (h2 * a5 + h5 * a2),
        Y[15] + 2.0 * h3 * a3, Y[16] + (h3 * a4 + h4 * a3), Y[17] + (h3 * a5 + h5 * a3),
        Y[18] + 2.0 * h4 * a4, Y[19] + (h4 * a5 + h5 * a4), Y[20] + 2.0 * h5 * a5,
    )  # fmt: skip


@inlined
def release(d, k, Y):
    """Y beyond coordinate k: (1 - h g*) Y (1 - g h*) + h D^-1 h*, with g = U D^-1."""
    h0, h1, h2, h3, h4, h5 = d.H[k, 0], d.H[k, 1], d.H[k, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5]
    s = d.Dinv[k]
    g0, g1, g2 = s * d.U[k, 0], s * d.U[k, 1], s * d.U[k, 2]
    g3, g4, g5 = s * d.U[k, 3], s * d.U[k, 4], s * d.U[k, 5]
    w0, w1, w2, w3, w4, w5 = apply_inertia(Y, g0, g1, g2, g3, g4, g5)
    s = 0.5 * (s + ((g0 * w0 + g1 * w1 + g2 * w2) + (g3 * w3 + g4 * w4 + g5 * w5)))
    return add_mirrored(
        Y, h0, h1, h2, h3, h4, h5,
        s * h0 - w0, s * h1 - w1, s * h2 - w2, s * h3 - w3, s * h4 - w4, s * h5 - w5,
    )  # fmt: skip


@inlined
def compliance_before(t, d, w, i):
    """Y about link i's origin of what its joint is mounted on."""
    Y = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    parent = t.parent[i]
    if parent >= 0:
        Y = shift_compliance(read_compliance(w, parent), d.l[i, 0], d.l[i, 1], d.l[i, 2])
    return Y


@inlined
def write_compliance(w, i, Y):
    """Keep Y of link i."""
    X = w.Y
    X[i, 0], X[i, 1], X[i, 2], X[i, 3], X[i, 4], X[i, 5], X[i, 6] = Y[0], Y[1], Y[2], Y[3], Y[4], Y[5], Y[6]
    X[i, 7], X[i, 8], X[i, 9], X[i, 10], X[i, 11], X[i, 12], X[i, 13] = Y[7], Y[8], Y[9], Y[10], Y[11], Y[12], Y[13]
    X[i, 14], X[i, 15], X[i, 16], X[i, 17], X[i, 18] = Y[14], Y[15], Y[16], Y[17], Y[18]
    X[i, 19], X[i, 20] = Y[19], Y[20]


@kernel
def compliances(t, d, w):
    """Y of the links on the nodes' paths, base to tips; after `articulate`."""
    for n in range(w.path.shape[0]):
        i = w.path[n]
        Y = compliance_before(t, d, w, i)
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            Y = release(d, k, Y)
        write_compliance(w, i, Y)


@inlined
def node_arm(d, w, n):
    """Node n from its link's origin, world axes."""
    return rotate(rotation_of(d, w.link[n]), w.point[n, 0], w.point[n, 1], w.point[n, 2])


@inlined
def lift_forces(t, d, w, s, i):
    """Hand the forces in slot s from link i through its joint to the parent: X <- phi (1 - g h*) ... X."""
    X = w.X
    for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
        h0, h1, h2, h3, h4, h5 = d.H[k, 0], d.H[k, 1], d.H[k, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5]
        e = -d.Dinv[k]
        g0, g1, g2 = e * d.U[k, 0], e * d.U[k, 1], e * d.U[k, 2]
        g3, g4, g5 = e * d.U[k, 3], e * d.U[k, 4], e * d.U[k, 5]
        for c in range(WIDE):
            x0, x1, x2, x3, x4, x5 = X[s, 0, c], X[s, 1, c], X[s, 2, c], X[s, 3, c], X[s, 4, c], X[s, 5, c]
            f = (h0 * x0 + h1 * x1 + h2 * x2) + (h3 * x3 + h4 * x4 + h5 * x5)
            X[s, 0, c] = x0 + g0 * f
            X[s, 1, c] = x1 + g1 * f
            X[s, 2, c] = x2 + g2 * f
            X[s, 3, c] = x3 + g3 * f
            X[s, 4, c] = x4 + g4 * f
            X[s, 5, c] = x5 + g5 * f
    x, y, z = d.l[i, 0], d.l[i, 1], d.l[i, 2]
    for c in range(WIDE):
        f0, f1, f2 = X[s, 3, c], X[s, 4, c], X[s, 5, c]
        X[s, 0, c] += y * f2 - z * f1
        X[s, 1, c] += z * f0 - x * f2
        X[s, 2, c] += x * f1 - y * f0


@kernel
def node_forces(t, d, w):
    """X and Z of all slots; after `compliances`."""
    X, Z = w.X, w.Z
    for n in range(w.link.shape[0]):
        first = w.slot[n]
        x, y, z = node_arm(d, w, n)
        for r in range(6):
            for c in range(WIDE):
                X[first, r, c] = 0.0
            X[first, r, r] = 1.0
        # A unit force at the point has a moment about the link's origin: r x f.
        X[first, 1, 3], X[first, 2, 3] = z, -y
        X[first, 0, 4], X[first, 2, 4] = -z, x
        X[first, 0, 5], X[first, 1, 5] = y, -x
        i = w.link[n]
        for s in range(first, w.slot[n + 1]):
            if s > first:
                for r in range(6):
                    for c in range(WIDE):
                        X[s, r, c] = X[s - 1, r, c]
                while i != w.slot_link[s]:
                    lift_forces(t, d, w, s, i)
                    i = t.parent[i]
            Y = read_compliance(w, i)
            for c in range(WIDE):
                v0, v1, v2, v3, v4, v5 = apply_inertia(
                    Y, X[s, 0, c], X[s, 1, c], X[s, 2, c], X[s, 3, c], X[s, 4, c], X[s, 5, c]
                )
                Z[s, 0, c], Z[s, 1, c], Z[s, 2, c] = v0, v1, v2
                Z[s, 3, c], Z[s, 4, c], Z[s, 5, c] = v3, v4, v5


@kernel
def node_compliance(t, d, w, first, count, out):
    """out = Lambda^-1 of the rows first..first+count-1 of each node; after `articulate`."""
    compliances(t, d, w)
    node_forces(t, d, w)
    X, Z, B = w.X, w.Z, w.block
    m = w.link.shape[0]
    for i in range(m):
        for j in range(i + 1):
            at, other = w.meeting[i, j], w.meeting[j, i]
            if at < 0:
                for a in range(count):
                    for b in range(count):
                        out[i * count + a, j * count + b] = 0.0
                        out[j * count + b, i * count + a] = 0.0
                continue
            for a in range(first, first + count):
                x0, x1, x2 = X[at, 0, a], X[at, 1, a], X[at, 2, a]
                x3, x4, x5 = X[at, 3, a], X[at, 4, a], X[at, 5, a]
                for b in range(WIDE):
                    B[a, b] = (x0 * Z[other, 0, b] + x1 * Z[other, 1, b] + x2 * Z[other, 2, b]) + (
                        x3 * Z[other, 3, b] + x4 * Z[other, 4, b] + x5 * Z[other, 5, b]
                    )
            for a in range(count):
                for b in range(count):
                    # A block on the diagonal is symmetric but for rounding: its lower half is taken.
                    if j < i or b <= a:
                        s = B[first + a, first + b]
                        out[i * count + a, j * count + b] = s
                        out[j * count + b, i * count + a] = s


@kernel
def invert_positive(w, A, out):
    """out = A^-1 of a symmetric positive definite matrix of the nodes' rows, by elimination of row after row.

    Returns:
        -1, or a row of which nothing but rounding is left: the matrix is singular.
    """
    m, row = A.shape[0], w.row
    for r in range(m):
        for c in range(m):
            out[r, c] = A[r, c]
    # Every pivot keeps the matrix symmetric, so that lower triangles will do, in whole vector registers; -A^-1 is left.
    for k in range(m):
        pivot = out[k, k]
        if not pivot > INDEFINITE_TOLERANCE * A[k, k]:
            return k
        s = 1.0 / pivot
        for c in range(k):
            row[c] = out[k, c]
        for r in range(k, m):
            row[r] = out[r, k]
        for r in range(m):
            f = s * row[r]
            for c in range(min(m, (r // WIDE + 1) * WIDE)):
                out[r, c] -= f * row[c]
        for c in range(k):
            out[k, c] = s * row[c]
        for r in range(k, m):
            out[r, k] = s * row[r]
        out[k, k] = -s
    for r in range(m):
        for c in range(r + 1):
            s = -out[r, c]
            out[r, c] = s
            out[c, r] = s
    return -1


@kernel
def node_accelerations(t, d, w, out):
    """[wdot; acceleration] (nodes, 6) of the nodes, world axes, gravity as it is; A and V must be current."""
    for n in range(w.link.shape[0]):
        i = w.link[n]
        x, y, z = node_arm(d, w, n)
        w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
        a, b, c = cross(w0, w1, w2, x, y, z)
        a, b, c = cross(w0, w1, w2, a, b, c)
        e0, e1, e2 = d.A[i, 0], d.A[i, 1], d.A[i, 2]
        p, q, r = cross(e0, e1, e2, x, y, z)
        out[n, 0], out[n, 1], out[n, 2] = e0, e1, e2
        out[n, 3] = d.A[i, 3] + t.gravity[0] + a + p
        out[n, 4] = d.A[i, 4] + t.gravity[1] + b + q
        out[n, 5] = d.A[i, 5] + t.gravity[2] + c + r


@kernel
def gather_wrenches(t, d, w, wrenches, out):
    """out = J^T f: joint forces (dofs,) of wrenches (nodes, 6) on the nodes, world axes, tips to base."""
    n = t.parent.shape[0]
    for i in range(n):
        for r in range(6):
            d.f[i, r] = 0.0
    for j in range(w.link.shape[0]):
        i = w.link[j]
        x, y, z = node_arm(d, w, j)
        f0, f1, f2 = wrenches[j, 3], wrenches[j, 4], wrenches[j, 5]
        a, b, c = cross(x, y, z, f0, f1, f2)
        d.f[i, 0] += wrenches[j, 0] + a
        d.f[i, 1] += wrenches[j, 1] + b
        d.f[i, 2] += wrenches[j, 2] + c
        d.f[i, 3] += f0
        d.f[i, 4] += f1
        d.f[i, 5] += f2
    for i in range(n - 1, -1, -1):
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            out[k] = column_dot(d, k, d.f[i, 0], d.f[i, 1], d.f[i, 2], d.f[i, 3], d.f[i, 4], d.f[i, 5])
        gather_force(t, d, i)
