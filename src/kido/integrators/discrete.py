"""Discrete mechanics of a tree: momenta of bodies over a time step, and the response to impulses.

Over a step of h seconds a body's discrete Lagrangian is h times the kinetic energy of the constant velocities

    v = (c1 - c0) / h  (centre of mass),    w = xi / h,  exp(xi) = R1 R0^T,

so that its linear momentum and its angular momentum about the centre of mass are constant through the step:

    P = m v,    L = dexp(xi)^-T J w = y + (xi cross y)/2 + b xi cross (xi cross y),   y = J w,

with J the inertia about the centre of mass at the start, world axes, and b as in `bernoulli_coefficient`.
"""

from __future__ import annotations

import math

from kido.integrators.rates import bernoulli_coefficient
from kido.jit import inlined, kernel
from kido.kernels.articulated import add_reaction, add_to_parent
from kido.kernels.external import external_wrench
from kido.kernels.impulse import velocity_scatter
from kido.kernels.inertia import inertia_of, spatial_momentum
from kido.kernels.inverse_dynamics import column_dot
from kido.math.so3 import cross, multiply_symmetric


@kernel
def turn_between(d, e, i):
    """Rotation vector xi of R1 R0^T for body i, world axes: its turn from the poses in d to those in e."""
    A, B = e.R, d.R
    # Antisymmetric part and trace of R1 R0^T.
    x = A[i, 6] * B[i, 3] + A[i, 7] * B[i, 4] + A[i, 8] * B[i, 5]
    x -= A[i, 3] * B[i, 6] + A[i, 4] * B[i, 7] + A[i, 5] * B[i, 8]
    y = A[i, 0] * B[i, 6] + A[i, 1] * B[i, 7] + A[i, 2] * B[i, 8]
    y -= A[i, 6] * B[i, 0] + A[i, 7] * B[i, 1] + A[i, 8] * B[i, 2]
    z = A[i, 3] * B[i, 0] + A[i, 4] * B[i, 1] + A[i, 5] * B[i, 2]
    z -= A[i, 0] * B[i, 3] + A[i, 1] * B[i, 4] + A[i, 2] * B[i, 5]
    trace = 0.0
    for k in range(9):
        trace += A[i, k] * B[i, k]
    s2 = 0.25 * (x * x + y * y + z * z)  # sin^2 of the angle
    c = 0.5 * (trace - 1.0)
    if s2 < 1e-4 and c > 0.0:
        share = 1.0 + s2 * (1.0 / 6.0 + s2 * (3.0 / 40.0 + s2 * (5.0 / 112.0 + s2 * (35.0 / 1152.0))))
    else:
        s = math.sqrt(s2 + 1e-300)
        share = math.atan2(s, c) / s
    return 0.5 * share * x, 0.5 * share * y, 0.5 * share * z


@inlined
def about_origin(mc, m, l0, l1, l2, p0, p1, p2):
    """[L + c cross P; P]: momentum about the body's origin from that about its centre of mass."""
    s = 1.0 / m if m > 0.0 else 0.0
    x, y, z = cross(s * mc[0], s * mc[1], s * mc[2], p0, p1, p2)
    return l0 + x, l1 + y, l2 + z, p0, p1, p2


@kernel
def step_momentum(t, d, e, i, h):
    """L and P of body i between the poses in d and in e; needs J and mc of d, mc of e."""
    m = t.mass[i]
    x, y, z = turn_between(d, e, i)
    c0, c1, c2 = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
    y0, y1, y2 = multiply_symmetric(inertia_of(d, i), x, y, z)
    if m > 0.0:  # about the centre of mass
        a0, a1, a2 = cross(x, y, z, c0, c1, c2)
        a0, a1, a2 = cross(c0, c1, c2, a0, a1, a2)
        y0 -= a0 / m
        y1 -= a1 / m
        y2 -= a2 / m
    b = bernoulli_coefficient(x * x + y * y + z * z)
    f0, f1, f2 = cross(x, y, z, y0, y1, y2)
    g0, g1, g2 = cross(x, y, z, f0, f1, f2)
    s = 1.0 / h
    return (
        s * (y0 + 0.5 * f0 + b * g0),
        s * (y1 + 0.5 * f1 + b * g1),
        s * (y2 + 0.5 * f2 + b * g2),
        s * (m * (e.p[i, 0] - d.p[i, 0]) + (e.mc[i, 0] - c0)),
        s * (m * (e.p[i, 1] - d.p[i, 1]) + (e.mc[i, 1] - c1)),
        s * (m * (e.p[i, 2] - d.p[i, 2]) + (e.mc[i, 2] - c2)),
    )


@kernel
def weight_and_external(t, d, i):
    """Wrench of gravity and external forces on body i about its origin, world axes."""
    s = t.gravity_factor[i]
    g0, g1, g2 = s * t.gravity[0], s * t.gravity[1], s * t.gravity[2]
    n0, n1, n2 = cross(d.mc[i, 0], d.mc[i, 1], d.mc[i, 2], g0, g1, g2)
    m = t.mass[i]
    x0, x1, x2, x3, x4, x5 = external_wrench(d, i)
    return n0 + x0, n1 + x1, n2 + x2, m * g0 + x3, m * g1 + x4, m * g2 + x5


@kernel
def held_momentum(t, d, i):
    """M V of body i."""
    return spatial_momentum(t, d, i, d.V[i, 0], d.V[i, 1], d.V[i, 2], d.V[i, 3], d.V[i, 4], d.V[i, 5])


@kernel
def respond(t, d, first, last, impulse, y):
    """y = M^-1 (impulse - sum J^T z): velocity changes by impulses on coordinates and -z on bodies.

    Needs `articulated_inertias`, whose implicit terms count as part of M. Overwrites z and e; prescribed
    coordinates do not respond.

    Returns:
        r . M^-1 r of the impulse r on the free coordinates.
    """
    size = 0.0
    for i in range(last - 1, first - 1, -1):
        z0, z1, z2, z3, z4, z5 = d.z[i, 0], d.z[i, 1], d.z[i, 2], d.z[i, 3], d.z[i, 4], d.z[i, 5]
        for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
            r = impulse[k] - column_dot(d, k, z0, z1, z2, z3, z4, z5)
            e = r * d.Dinv[k]
            size += r * e
            d.e[k] = e
            z0, z1, z2, z3, z4, z5 = add_reaction(d, k, e, z0, z1, z2, z3, z4, z5)
        if t.parent[i] >= first:
            add_to_parent(d, d.z, i, t.parent[i], z0, z1, z2, z3, z4, z5)
    for k in range(t.first_dof[first], t.first_dof[last]):
        y[k] = 0.0
    velocity_scatter(t, d, first, last, y, 0)
    return size
