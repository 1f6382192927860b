"""Composite bodies of chosen bodies, their momentum, and their rates of change.

Everything below a body as one rigid body, about the body's origin, in world axes. A row of P holds
[J (6) | mc (3) | m | B (9)], of z the rate s of mc. With moving origins (l' the rate of l) the Coriolis
matrix of a rigid body is B = [[B11, 0], [-s~, 0]]:

    B11 = (w~ J - J w~ - (J w)~) / 2,    s = w x mc,    B V = b,    Mdot = B + B^T

and it is handed to the parent, with M, as

    B11(p) += B11 - mc~ l'~ - l~ (s~ + m l'~),    s(p) += s + m l'.

Source: Echeandia and Wensing (2021), "Numerical methods to compute the Coriolis matrix and Christoffel
symbols for rigid-body systems"; the form in world axes about moving origins is our own.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.kernels.inertia import rigid_momentum
from kido.kernels.kinematics import rotation_of
from kido.kernels.mass_matrix import add_composite
from kido.math.so3 import cross, multiply_symmetric, rotate, rotate_symmetric


@inlined
def start_chosen(t, d, c, i):
    """The composite of link i = its chosen bodies."""
    K, P = c.inertia, d.P
    R = rotation_of(d, i)
    J = rotate_symmetric(R, (K[i, 4], K[i, 5], K[i, 6], K[i, 7], K[i, 8], K[i, 9]))
    x, y, z = rotate(R, K[i, 1], K[i, 2], K[i, 3])
    P[i, 0], P[i, 1], P[i, 2], P[i, 3], P[i, 4], P[i, 5] = J[0], J[1], J[2], J[3], J[4], J[5]
    P[i, 6], P[i, 7], P[i, 8], P[i, 9] = x, y, z, K[i, 0]


@inlined
def composite_momentum(d, i, w0, w1, w2, v0, v1, v2):
    """[J w + mc x v; m v + w x mc] of the composite of link i, about its origin."""
    P = d.P
    return rigid_momentum(
        (P[i, 0], P[i, 1], P[i, 2], P[i, 3], P[i, 4], P[i, 5]), (P[i, 6], P[i, 7], P[i, 8]), P[i, 9],
        w0, w1, w2, v0, v1, v2,
    )  # fmt: skip


@kernel
def gather_composites(t, d, c):
    """Composites of all links, tips to base."""
    n = t.parent.shape[0]
    for i in range(n):
        start_chosen(t, d, c, i)
    for i in range(n - 1, -1, -1):
        parent = t.parent[i]
        if parent >= 0:
            add_composite(d, i, parent)


@inlined
def start_composite_rate(d, i):
    """B11 and s of a link alone, from its own J and mc in P and its velocity."""
    P = d.P
    w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
    J = (P[i, 0], P[i, 1], P[i, 2], P[i, 3], P[i, 4], P[i, 5])
    h0, h1, h2 = multiply_symmetric(J, w0, w1, w2)
    # w~ J, row by row; J w~ = -(w~ J)^T.
    a00, a01, a02 = w1 * J[2] - w2 * J[1], w1 * J[4] - w2 * J[3], w1 * J[5] - w2 * J[4]
    a10, a11, a12 = w2 * J[0] - w0 * J[2], w2 * J[1] - w0 * J[4], w2 * J[2] - w0 * J[5]
    a20, a21, a22 = w0 * J[1] - w1 * J[0], w0 * J[3] - w1 * J[1], w0 * J[4] - w1 * J[2]
    P[i, 10] = a00
    P[i, 11] = 0.5 * (a01 + a10 + h2)
    P[i, 12] = 0.5 * (a02 + a20 - h1)
    P[i, 13] = 0.5 * (a10 + a01 - h2)
    P[i, 14] = a11
    P[i, 15] = 0.5 * (a12 + a21 + h0)
    P[i, 16] = 0.5 * (a20 + a02 + h1)
    P[i, 17] = 0.5 * (a21 + a12 - h0)
    P[i, 18] = a22
    d.z[i, 0], d.z[i, 1], d.z[i, 2] = cross(w0, w1, w2, P[i, 6], P[i, 7], P[i, 8])


@inlined
def rate_of_l(d, i, parent):
    """l' = velocity of link i's origin less its parent's."""
    return d.V[i, 3] - d.V[parent, 3], d.V[i, 4] - d.V[parent, 4], d.V[i, 5] - d.V[parent, 5]


@inlined
def add_composite_rate(d, i, parent):
    """Add B11 and s of link i's composite to its parent's; P(i) must be complete."""
    P = d.P
    lx, ly, lz = d.l[i, 0], d.l[i, 1], d.l[i, 2]
    x, y, z = rate_of_l(d, i, parent)
    c0, c1, c2, m = P[i, 6], P[i, 7], P[i, 8], P[i, 9]
    s0, s1, s2 = d.z[i, 0] + m * x, d.z[i, 1] + m * y, d.z[i, 2] + m * z
    d.z[parent, 0] += s0
    d.z[parent, 1] += s1
    d.z[parent, 2] += s2
    # a~ b~ = b a^T - (a . b) I
    dot = (c0 * x + c1 * y + c2 * z) + (lx * s0 + ly * s1 + lz * s2)
    P[parent, 10] += P[i, 10] - (x * c0 + s0 * lx) + dot
    P[parent, 11] += P[i, 11] - (x * c1 + s0 * ly)
    P[parent, 12] += P[i, 12] - (x * c2 + s0 * lz)
    P[parent, 13] += P[i, 13] - (y * c0 + s1 * lx)
    P[parent, 14] += P[i, 14] - (y * c1 + s1 * ly) + dot
    P[parent, 15] += P[i, 15] - (y * c2 + s1 * lz)
    P[parent, 16] += P[i, 16] - (z * c0 + s2 * lx)
    P[parent, 17] += P[i, 17] - (z * c1 + s2 * ly)
    P[parent, 18] += P[i, 18] - (z * c2 + s2 * lz) + dot


@kernel
def gather_composite_rates(t, d, c):
    """Composites of all links and their rates, tips to base."""
    n = t.parent.shape[0]
    for i in range(n):
        start_chosen(t, d, c, i)
        start_composite_rate(d, i)
    for i in range(n - 1, -1, -1):
        parent = t.parent[i]
        if parent >= 0:
            add_composite(d, i, parent)
            add_composite_rate(d, i, parent)


@inlined
def coriolis_wrench(d, i, w0, w1, w2):
    """B [w; v] = [B11 w; w x s] of the composite of link i."""
    P = d.P
    x, y, z = cross(w0, w1, w2, d.z[i, 0], d.z[i, 1], d.z[i, 2])
    return (
        P[i, 10] * w0 + P[i, 11] * w1 + P[i, 12] * w2,
        P[i, 13] * w0 + P[i, 14] * w1 + P[i, 15] * w2,
        P[i, 16] * w0 + P[i, 17] * w1 + P[i, 18] * w2,
        x, y, z,
    )  # fmt: skip


@inlined
def transposed_coriolis_wrench(d, i, w0, w1, w2, v0, v1, v2):
    """B^T [w; v] = [B11^T w + s x v; 0] of the composite of link i: its upper three."""
    P = d.P
    x, y, z = cross(d.z[i, 0], d.z[i, 1], d.z[i, 2], v0, v1, v2)
    return (
        P[i, 10] * w0 + P[i, 13] * w1 + P[i, 16] * w2 + x,
        P[i, 11] * w0 + P[i, 14] * w1 + P[i, 17] * w2 + y,
        P[i, 12] * w0 + P[i, 15] * w1 + P[i, 18] * w2 + z,
    )
