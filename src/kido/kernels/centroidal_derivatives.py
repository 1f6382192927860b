"""Derivatives of the momentum about the centre of mass, and of its rate.

With h = [n; l] the momentum of all bodies about a point O at rest and G the centre of mass, the momentum about G is
[n - (G - O) x l; l], and its rate the sum of all bodies' I A + V x* I V, shifted alike.
Source: the quantities are those of Pinocchio's computeCentroidalDynamicsDerivatives; the derivation is our own.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.kernels.derivatives import column, composite_momentum
from kido.kernels.spatial import cross_force
from kido.math.so3 import cross


@kernel
def centre_of_mass(t, d, w, first, last):
    """Mass and mass times centre of mass of bodies first..last-1, world axes from the world origin."""
    m, x, y, z = 0.0, 0.0, 0.0, 0.0
    for i in range(first, last):
        if t.parent[i] < 0:
            C = w.composite
            m, x, y, z = (
                m + C[i, 9], x + C[i, 6] + C[i, 9] * d.p[i, 0], y + C[i, 7] + C[i, 9] * d.p[i, 1],
                z + C[i, 8] + C[i, 9] * d.p[i, 2],
            )  # fmt: skip
    return m, x, y, z


@kernel
def total(t, w, first, last, c):
    """Sum over all trees of three numbers from `composite` on."""
    x, y, z = 0.0, 0.0, 0.0
    for i in range(first, last):
        if t.parent[i] < 0:
            x, y, z = x + w.composite[i, c], y + w.composite[i, c + 1], z + w.composite[i, c + 2]
    return x, y, z


@inlined
def put_shifted(D, m, k, c, n0, n1, n2, f0, f1, f2):
    """Column k of D[m]: [n; f] about a point at c from where it is."""
    x, y, z = cross(c[0], c[1], c[2], f0, f1, f2)
    D[m, 0, k], D[m, 1, k], D[m, 2, k] = n0 - x, n1 - y, n2 - z
    D[m, 3, k], D[m, 4, k], D[m, 5, k] = f0, f1, f2


@kernel
def centroidal_derivatives(t, d, w, first, last, D):
    """dh/dq, dhdot/dq, dhdot/du and dhdot/dudot (dh/du) of bodies first..last-1 about their centre of mass into D.

    Needs `composite_sweep` without loads and without gravity.

    Returns:
        0, or 1 if the bodies have no mass.
    """
    m, g0, g1, g2 = centre_of_mass(t, d, w, first, last)
    if not m > 0.0:
        return 1
    inverse = 1.0 / m
    g0, g1, g2 = g0 * inverse, g1 * inverse, g2 * inverse
    l0, l1, l2 = total(t, w, first, last, 19)
    f0, f1, f2 = total(t, w, first, last, 28)
    C = w.composite
    for i in range(first, last):
        c = g0 - (d.p[i, 0] - w.r[i, 0]), g1 - (d.p[i, 1] - w.r[i, 1]), g2 - (d.p[i, 2] - w.r[i, 2])
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            s0, s1, s2, s3, s4, s5 = column(w.S, k)
            y0, y1, y2, y3, y4, y5 = column(w.Y, k)
            put_shifted(D, 3, k, c, y0, y1, y2, y3, y4, y5)
            y3, y4, y5 = inverse * y3, inverse * y4, inverse * y5  # how the centre of mass moves
            x0, x1, x2, x3, x4, x5 = column(w.dF_du, k)
            put_shifted(D, 2, k, c, x0, x1, x2, x3, x4, x5)
            x0, x1, x2, x3, x4, x5 = column(w.dF_dq, k)
            e0, e1, e2 = cross(y3, y4, y5, f0, f1, f2)
            put_shifted(D, 1, k, c, x0 - e0, x1 - e1, x2 - e2, x3, x4, x5)
            x0, x1, x2, x3, x4, x5 = column(w.dV, k)
            x0, x1, x2, x3, x4, x5 = composite_momentum(w, i, x0, x1, x2, x3, x4, x5)
            e0, e1, e2, e3, e4, e5 = cross_force(
                s0, s1, s2, s3, s4, s5, C[i, 22], C[i, 23], C[i, 24], C[i, 19], C[i, 20], C[i, 21]
            )
            x0, x1, x2, x3, x4, x5 = x0 + e0, x1 + e1, x2 + e2, x3 + e3, x4 + e4, x5 + e5
            e0, e1, e2 = cross(y3, y4, y5, l0, l1, l2)
            put_shifted(D, 0, k, c, x0 - e0, x1 - e1, x2 - e2, x3, x4, x5)
    return 0
