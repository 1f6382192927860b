"""Joint forces that need no acceleration: velocity products, weight, external forces, springs and dampers."""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.kernels.composites import composite_momentum, start_chosen
from kido.kernels.external import external_wrench
from kido.kernels.inverse_dynamics import column_dot, gather_force
from kido.kernels.momentum import mass_moment_of
from kido.math.so3 import cross, multiply_symmetric


@inlined
def bias_acceleration(t, d, i, g0, g1, g2):
    """Acceleration of body i at udot = 0, in B; roots start at -g."""
    parent = t.parent[i]
    B = d.B
    if parent >= 0:
        a0, a1, a2 = B[parent, 0], B[parent, 1], B[parent, 2]
        x, y, z = cross(a0, a1, a2, d.l[i, 0], d.l[i, 1], d.l[i, 2])
        a3, a4, a5 = B[parent, 3] + x, B[parent, 4] + y, B[parent, 5] + z
    else:
        a0, a1, a2, a3, a4, a5 = 0.0, 0.0, 0.0, -g0, -g1, -g2
    B[i, 0], B[i, 1], B[i, 2] = a0 + d.a[i, 0], a1 + d.a[i, 1], a2 + d.a[i, 2]
    B[i, 3], B[i, 4], B[i, 5] = a3 + d.a[i, 3], a4 + d.a[i, 4], a5 + d.a[i, 5]


@inlined
def bias_force(t, d, c, i, g0, g1, g2):
    """f of the chosen bodies on link i alone, from its bias acceleration: M A + b; gravity acts on it or not."""
    B, P = d.B, d.P
    start_chosen(t, d, c, i)
    w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
    s = 1.0 - t.gravity_factor[i]
    h0, h1, h2, h3, h4, h5 = composite_momentum(
        d, i, B[i, 0], B[i, 1], B[i, 2], B[i, 3] + s * g0, B[i, 4] + s * g1, B[i, 5] + s * g2
    )
    # b = [w x (J w); w x (w x mc)]
    J = (P[i, 0], P[i, 1], P[i, 2], P[i, 3], P[i, 4], P[i, 5])
    j0, j1, j2 = multiply_symmetric(J, w0, w1, w2)
    n0, n1, n2 = cross(w0, w1, w2, j0, j1, j2)
    x, y, z = cross(w0, w1, w2, P[i, 6], P[i, 7], P[i, 8])
    f0, f1, f2 = cross(w0, w1, w2, x, y, z)
    d.f[i, 0], d.f[i, 1], d.f[i, 2] = h0 + n0, h1 + n1, h2 + n2
    d.f[i, 3], d.f[i, 4], d.f[i, 5] = h3 + f0, h4 + f1, h5 + f2


@kernel
def gather_to(t, d, out):
    """out = the joint forces of the wrenches f, which become those through the joints."""
    for i in range(t.parent.shape[0] - 1, -1, -1):
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            out[k] = column_dot(d, k, d.f[i, 0], d.f[i, 1], d.f[i, 2], d.f[i, 3], d.f[i, 4], d.f[i, 5])
        gather_force(t, d, i)


@kernel
def bias_forces(t, d, c, with_gravity, out):
    """C(q, u) u of the chosen bodies, and the forces that hold their weight if `with_gravity`; needs V and a."""
    s = 1.0 if with_gravity != 0 else 0.0
    g0, g1, g2 = s * t.gravity[0], s * t.gravity[1], s * t.gravity[2]
    for i in range(t.parent.shape[0]):
        bias_acceleration(t, d, i, g0, g1, g2)
        bias_force(t, d, c, i, g0, g1, g2)
    gather_to(t, d, out)


@kernel
def gravity_forces(t, d, c, out):
    """Joint forces that hold the weight of the chosen bodies: -sum J^T m g."""
    for i in range(t.parent.shape[0]):
        m, x, y, z = mass_moment_of(d, c, i)
        s = -t.gravity_factor[i]
        g0, g1, g2 = s * t.gravity[0], s * t.gravity[1], s * t.gravity[2]
        n0, n1, n2 = cross(x, y, z, g0, g1, g2)
        d.f[i, 0], d.f[i, 1], d.f[i, 2] = n0, n1, n2
        d.f[i, 3], d.f[i, 4], d.f[i, 5] = m * g0, m * g1, m * g2
    gather_to(t, d, out)


@kernel
def external_forces(t, d, out):
    """J^T f of the external forces on all bodies."""
    for i in range(t.parent.shape[0]):
        x0, x1, x2, x3, x4, x5 = external_wrench(d, i)
        d.f[i, 0], d.f[i, 1], d.f[i, 2], d.f[i, 3], d.f[i, 4], d.f[i, 5] = x0, x1, x2, x3, x4, x5
    gather_to(t, d, out)
