"""Composite and articulated inertias and composite momenta of all bodies, welded ones included.

A link is several bodies of the skeleton when some are welded; what a body passes on to the one that it hangs on is then
all of its own, as if handed through a hinge that is prescribed. Theory reference, sections a3 and a5:

    R(k) = M(k) + sum_c phi R(c) phi*,      P(k) = M(k) + sum_c phi P+(c) phi*,     h(k) = M(k) V(k) + sum_c phi h(c)
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.kernels.inertia import deflate, rigid_momentum
from kido.kernels.members import member_arm, member_rotation
from kido.math.so3 import cross, rotate, rotate_symmetric


@inlined
def member_inertia(d, s, b):
    """J (6), m c (3) and m of body b about its origin, world axes."""
    K = s.inertia
    R = member_rotation(d, s, b)
    J = rotate_symmetric(R, (K[b, 4], K[b, 5], K[b, 6], K[b, 7], K[b, 8], K[b, 9]))
    x, y, z = rotate(R, K[b, 1], K[b, 2], K[b, 3])
    return J, (x, y, z), K[b, 0]


@kernel
def place_members(d, s):
    """Positions of the bodies' origins."""
    for b in range(s.link.shape[0]):
        i = s.link[b]
        x, y, z = member_arm(d, s, b)
        s.position[b, 0], s.position[b, 1], s.position[b, 2] = d.p[i, 0] + x, d.p[i, 1] + y, d.p[i, 2] + z


@inlined
def read_matrix(out, b):
    """A symmetric 6x6 matrix as 21 numbers."""
    return (
        out[b, 0, 0], out[b, 0, 1], out[b, 0, 2], out[b, 1, 1], out[b, 1, 2], out[b, 2, 2],
        out[b, 0, 3], out[b, 0, 4], out[b, 0, 5], out[b, 1, 3], out[b, 1, 4], out[b, 1, 5],
        out[b, 2, 3], out[b, 2, 4], out[b, 2, 5],
        out[b, 3, 3], out[b, 3, 4], out[b, 3, 5], out[b, 4, 4], out[b, 4, 5], out[b, 5, 5],
    )  # fmt: skip


@inlined
def write_own(out, b, J, c, m):
    """The upper triangle of a rigid body's inertia."""
    for r in range(6):
        for k in range(6):
            out[b, r, k] = 0.0
    out[b, 0, 0], out[b, 0, 1], out[b, 0, 2], out[b, 1, 1], out[b, 1, 2], out[b, 2, 2] = J
    out[b, 0, 4], out[b, 0, 5], out[b, 1, 5] = -c[2], c[1], -c[0]
    out[b, 1, 3], out[b, 2, 3], out[b, 2, 4] = c[2], -c[1], c[0]
    out[b, 3, 3], out[b, 4, 4], out[b, 5, 5] = m, m, m


@inlined
def add_shifted_matrix(out, p, P, x, y, z):
    """Upper triangle of out[p] += phi P phi*, with l = (x, y, z) from the origin of p to that of P."""
    # K = C + l~ M;  J' = J + l~ C^T - K l~, as in kido.kernels.inertia.
    k0 = P[6] + y * P[17] - z * P[16]
    k1 = P[7] + y * P[19] - z * P[18]
    k2 = P[8] + y * P[20] - z * P[19]
    k3 = P[9] + z * P[15] - x * P[17]
    k4 = P[10] + z * P[16] - x * P[19]
    k5 = P[11] + z * P[17] - x * P[20]
    k6 = P[12] + x * P[16] - y * P[15]
    k7 = P[13] + x * P[18] - y * P[16]
    k8 = P[14] + x * P[19] - y * P[17]
    out[p, 0, 0] += P[0] + y * P[8] - z * P[7] - (k1 * z - k2 * y)
    out[p, 0, 1] += P[1] + y * P[11] - z * P[10] - (k2 * x - k0 * z)
    out[p, 0, 2] += P[2] + y * P[14] - z * P[13] - (k0 * y - k1 * x)
    out[p, 1, 1] += P[3] + z * P[9] - x * P[11] - (k5 * x - k3 * z)
    out[p, 1, 2] += P[4] + z * P[12] - x * P[14] - (k3 * y - k4 * x)
    out[p, 2, 2] += P[5] + x * P[13] - y * P[12] - (k6 * y - k7 * x)
    out[p, 0, 3] += k0
    out[p, 0, 4] += k1
    out[p, 0, 5] += k2
    out[p, 1, 3] += k3
    out[p, 1, 4] += k4
    out[p, 1, 5] += k5
    out[p, 2, 3] += k6
    out[p, 2, 4] += k7
    out[p, 2, 5] += k8
    out[p, 3, 3] += P[15]
    out[p, 3, 4] += P[16]
    out[p, 3, 5] += P[17]
    out[p, 4, 4] += P[18]
    out[p, 4, 5] += P[19]
    out[p, 5, 5] += P[20]


@kernel
def member_inertias(t, d, s, articulated, out):
    """Articulated (after `articulate`) or composite inertias (bodies, 6, 6), about the bodies' origins, world axes."""
    n = s.link.shape[0]
    place_members(d, s)
    for b in range(n):
        J, c, m = member_inertia(d, s, b)
        write_own(out, b, J, c, m)
    for b in range(n - 1, -1, -1):
        above = s.parent[b]
        if above >= 0:
            P = read_matrix(out, b)
            i = s.link[b]
            if articulated != 0 and i != s.link[above]:
                for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
                    P = deflate(P, d.U[k, 0], d.U[k, 1], d.U[k, 2], d.U[k, 3], d.U[k, 4], d.U[k, 5], d.Dinv[k])
            p = s.position
            add_shifted_matrix(out, above, P, p[b, 0] - p[above, 0], p[b, 1] - p[above, 1], p[b, 2] - p[above, 2])
    for b in range(n):
        for r in range(1, 6):
            for c in range(r):
                out[b, r, c] = out[b, c, r]


@kernel
def member_momenta(d, s, out):
    """[angular; linear] momentum (bodies, 6) of each body with all below it, about its origin, world axes; needs V."""
    n = s.link.shape[0]
    place_members(d, s)
    for b in range(n):
        i = s.link[b]
        x, y, z = member_arm(d, s, b)
        w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
        a, e, f = cross(w0, w1, w2, x, y, z)
        J, c, m = member_inertia(d, s, b)
        out[b, 0], out[b, 1], out[b, 2], out[b, 3], out[b, 4], out[b, 5] = rigid_momentum(
            J, c, m, w0, w1, w2, d.V[i, 3] + a, d.V[i, 4] + e, d.V[i, 5] + f
        )
    p = s.position
    for b in range(n - 1, -1, -1):
        above = s.parent[b]
        if above >= 0:
            x, y, z = cross(
                p[b, 0] - p[above, 0], p[b, 1] - p[above, 1], p[b, 2] - p[above, 2], out[b, 3], out[b, 4], out[b, 5]
            )
            out[above, 0] += out[b, 0] + x
            out[above, 1] += out[b, 1] + y
            out[above, 2] += out[b, 2] + z
            out[above, 3] += out[b, 3]
            out[above, 4] += out[b, 4]
            out[above, 5] += out[b, 5]
