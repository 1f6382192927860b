"""Rigid-body inertia in world axes, and the shift and update of 6x6 inertias.

An inertia is [J | C | M] in 21 numbers: P = [[J, C], [C^T, M]], J and M symmetric, about a body's origin.
"""

from __future__ import annotations

from kido.jit import inlined
from kido.joints.frames import rotation_of
from kido.math.so3 import cross, multiply_symmetric, rotate, rotate_symmetric


@inlined
def body_inertia(t, d, i):
    """J and mc of body i in world axes."""
    R = rotation_of(d, i)
    J = rotate_symmetric(
        R,
        (t.inertia[i, 0], t.inertia[i, 1], t.inertia[i, 2], t.inertia[i, 3], t.inertia[i, 4], t.inertia[i, 5]),
    )
    x, y, z = rotate(R, t.com[i, 0], t.com[i, 1], t.com[i, 2])
    m = t.mass[i]
    d.J[i, 0], d.J[i, 1], d.J[i, 2], d.J[i, 3], d.J[i, 4], d.J[i, 5] = J[0], J[1], J[2], J[3], J[4], J[5]
    d.mc[i, 0], d.mc[i, 1], d.mc[i, 2] = m * x, m * y, m * z


@inlined
def inertia_of(d, i):
    """J of body i as six numbers."""
    return d.J[i, 0], d.J[i, 1], d.J[i, 2], d.J[i, 3], d.J[i, 4], d.J[i, 5]


@inlined
def spatial_momentum(t, d, i, w0, w1, w2, v0, v1, v2):
    """M V of body i for a spatial vector [w; v] about its origin."""
    c = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
    return rigid_momentum(inertia_of(d, i), c, t.mass[i], w0, w1, w2, v0, v1, v2)


@inlined
def rigid_momentum(J, mc, m, w0, w1, w2, v0, v1, v2):
    """[J w + mc x v; m v + w x mc] of a rigid body for a spatial vector [w; v] about its origin."""
    h0, h1, h2 = multiply_symmetric(J, w0, w1, w2)
    c0, c1, c2 = mc
    x, y, z = cross(c0, c1, c2, v0, v1, v2)
    a, b, c = cross(w0, w1, w2, c0, c1, c2)
    return h0 + x, h1 + y, h2 + z, m * v0 + a, m * v1 + b, m * v2 + c


@inlined
def gyroscopic_wrench(t, d, i):
    """b(i) = [w x (J w); w x (w x mc)]."""
    w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
    h0, h1, h2 = multiply_symmetric(inertia_of(d, i), w0, w1, w2)
    n0, n1, n2 = cross(w0, w1, w2, h0, h1, h2)
    c0, c1, c2 = cross(w0, w1, w2, d.mc[i, 0], d.mc[i, 1], d.mc[i, 2])
    f0, f1, f2 = cross(w0, w1, w2, c0, c1, c2)
    return n0, n1, n2, f0, f1, f2


@inlined
def start_inertia(t, d, i):
    """P(i) = the body's own inertia."""
    write_rigid(d.P, i, inertia_of(d, i), d.mc[i, 0], d.mc[i, 1], d.mc[i, 2], t.mass[i])


@inlined
def write_rigid(P, i, J, c0, c1, c2, m):
    """Row i of P = the inertia of a rigid body with J about its origin and m times its centre of mass c."""
    P[i, 0], P[i, 1], P[i, 2], P[i, 3], P[i, 4], P[i, 5] = J
    P[i, 6], P[i, 7], P[i, 8] = 0.0, -c2, c1
    P[i, 9], P[i, 10], P[i, 11] = c2, 0.0, -c0
    P[i, 12], P[i, 13], P[i, 14] = -c1, c0, 0.0
    P[i, 15], P[i, 16], P[i, 17], P[i, 18], P[i, 19], P[i, 20] = m, 0.0, 0.0, m, 0.0, m


@inlined
def read_inertia(d, i):
    """P of body i as 21 numbers."""
    return read_symmetric(d.P, i)


@inlined
def read_symmetric(P, i):
    """Row i of symmetric 6x6 matrices."""
    return (
        P[i, 0], P[i, 1], P[i, 2], P[i, 3], P[i, 4], P[i, 5],
        P[i, 6], P[i, 7], P[i, 8], P[i, 9], P[i, 10], P[i, 11], P[i, 12], P[i, 13], P[i, 14],
        P[i, 15], P[i, 16], P[i, 17], P[i, 18], P[i, 19], P[i, 20],
    )  # fmt: skip


@inlined
def apply_inertia(P, h0, h1, h2, h3, h4, h5):
    """P h of a spatial vector."""
    # Two sums of three each: sums of six are twice as long a chain, and this one is walked link by link.
    return (
        (P[0] * h0 + P[1] * h1 + P[2] * h2) + (P[6] * h3 + P[7] * h4 + P[8] * h5),
        (P[1] * h0 + P[3] * h1 + P[4] * h2) + (P[9] * h3 + P[10] * h4 + P[11] * h5),
        (P[2] * h0 + P[4] * h1 + P[5] * h2) + (P[12] * h3 + P[13] * h4 + P[14] * h5),
        (P[6] * h0 + P[9] * h1 + P[12] * h2) + (P[15] * h3 + P[16] * h4 + P[17] * h5),
        (P[7] * h0 + P[10] * h1 + P[13] * h2) + (P[16] * h3 + P[18] * h4 + P[19] * h5),
        (P[8] * h0 + P[11] * h1 + P[14] * h2) + (P[17] * h3 + P[19] * h4 + P[20] * h5),
    )


@inlined
def apply_inertia_to_turn(P, h0, h1, h2):
    """P [h; 0]."""
    return (
        P[0] * h0 + P[1] * h1 + P[2] * h2,
        P[1] * h0 + P[3] * h1 + P[4] * h2,
        P[2] * h0 + P[4] * h1 + P[5] * h2,
        P[6] * h0 + P[9] * h1 + P[12] * h2,
        P[7] * h0 + P[10] * h1 + P[13] * h2,
        P[8] * h0 + P[11] * h1 + P[14] * h2,
    )


@inlined
def deflate(P, u0, u1, u2, u3, u4, u5, s):
    """P - s u u^T."""
    g0, g1, g2, g3, g4, g5 = s * u0, s * u1, s * u2, s * u3, s * u4, s * u5
    return (
        P[0] - g0 * u0, P[1] - g0 * u1, P[2] - g0 * u2, P[3] - g1 * u1, P[4] - g1 * u2, P[5] - g2 * u2,
        P[6] - g0 * u3, P[7] - g0 * u4, P[8] - g0 * u5,
        P[9] - g1 * u3, P[10] - g1 * u4, P[11] - g1 * u5,
        P[12] - g2 * u3, P[13] - g2 * u4, P[14] - g2 * u5,
        P[15] - g3 * u3, P[16] - g3 * u4, P[17] - g3 * u5, P[18] - g4 * u4, P[19] - g4 * u5, P[20] - g5 * u5,
    )  # fmt: skip


@inlined
def add_shifted(d, parent, P, x, y, z):
    """P(parent) += phi P phi*, with l = (x, y, z) from the parent's origin to the body's."""
    # K = C + l~ M;  J' = J + l~ C^T - K l~
    K0 = P[6] + y * P[17] - z * P[16]
    K1 = P[7] + y * P[19] - z * P[18]
    K2 = P[8] + y * P[20] - z * P[19]
    K3 = P[9] + z * P[15] - x * P[17]
    K4 = P[10] + z * P[16] - x * P[19]
    K5 = P[11] + z * P[17] - x * P[20]
    K6 = P[12] + x * P[16] - y * P[15]
    K7 = P[13] + x * P[18] - y * P[16]
    K8 = P[14] + x * P[19] - y * P[17]
    Q = d.P
    Q[parent, 0] += P[0] + y * P[8] - z * P[7] - (K1 * z - K2 * y)
    Q[parent, 1] += P[1] + y * P[11] - z * P[10] - (K2 * x - K0 * z)
    Q[parent, 2] += P[2] + y * P[14] - z * P[13] - (K0 * y - K1 * x)
    Q[parent, 3] += P[3] + z * P[9] - x * P[11] - (K5 * x - K3 * z)
    Q[parent, 4] += P[4] + z * P[12] - x * P[14] - (K3 * y - K4 * x)
    Q[parent, 5] += P[5] + x * P[13] - y * P[12] - (K6 * y - K7 * x)
    Q[parent, 6] += K0
    Q[parent, 7] += K1
    Q[parent, 8] += K2
    Q[parent, 9] += K3
    Q[parent, 10] += K4
    Q[parent, 11] += K5
    Q[parent, 12] += K6
    Q[parent, 13] += K7
    Q[parent, 14] += K8
    Q[parent, 15] += P[15]
    Q[parent, 16] += P[16]
    Q[parent, 17] += P[17]
    Q[parent, 18] += P[18]
    Q[parent, 19] += P[19]
    Q[parent, 20] += P[20]
