"""Mass, centre of mass, momentum and kinetic energy of chosen bodies, and their matrices.

A choice gives what inertia each link carries (`kido.tree.workspace.SUBSET`). Theory reference, section a7:
h = A_G(q) u about the centre of mass, A_G = phi(C, .) R H* with R the composites.
Source: Orin, Goswami, Lee (2013), "Centroidal dynamics of a humanoid robot"; the rate of A_G from the rates of
composites is our own.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.kernels.composites import (
    composite_momentum,
    coriolis_wrench,
    start_chosen,
    transposed_coriolis_wrench,
)
from kido.kernels.jacobian import full_column_rate
from kido.kernels.kinematics import rotation_of
from kido.kernels.springs import joint_spring_energy
from kido.math.so3 import cross, rotate


@inlined
def mass_moment_of(d, c, i):
    """m and m c of the chosen bodies on link i, world axes, about the link's origin."""
    K = c.inertia
    x, y, z = rotate(rotation_of(d, i), K[i, 1], K[i, 2], K[i, 3])
    return K[i, 0], x, y, z


@kernel
def com_state(t, d, c, level):
    """Mass, and sums of m p, of m v (level > 0) and of m a (level > 1) over the chosen bodies, world axes."""
    mass, p0, p1, p2 = 0.0, 0.0, 0.0, 0.0
    v0, v1, v2, a0, a1, a2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(t.parent.shape[0]):
        m, x, y, z = mass_moment_of(d, c, i)
        mass += m
        p0 += m * d.p[i, 0] + x
        p1 += m * d.p[i, 1] + y
        p2 += m * d.p[i, 2] + z
        if level > 0:
            V = d.V
            s0, s1, s2 = cross(V[i, 0], V[i, 1], V[i, 2], x, y, z)
            v0 += m * V[i, 3] + s0
            v1 += m * V[i, 4] + s1
            v2 += m * V[i, 5] + s2
            if level > 1:
                A = d.A
                e0, e1, e2 = cross(A[i, 0], A[i, 1], A[i, 2], x, y, z)
                s0, s1, s2 = cross(V[i, 0], V[i, 1], V[i, 2], s0, s1, s2)
                a0 += m * (A[i, 3] + t.gravity[0]) + e0 + s0
                a1 += m * (A[i, 4] + t.gravity[1]) + e1 + s1
                a2 += m * (A[i, 5] + t.gravity[2]) + e2 + s2
    return mass, p0, p1, p2, v0, v1, v2, a0, a1, a2


@kernel
def momentum_about(t, d, c, x, y, z):
    """[angular; linear] momentum of the chosen bodies about the world point (x, y, z), world axes."""
    n0, n1, n2, f0, f1, f2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    V = d.V
    for i in range(t.parent.shape[0]):
        start_chosen(t, d, c, i)
        h0, h1, h2, h3, h4, h5 = composite_momentum(d, i, V[i, 0], V[i, 1], V[i, 2], V[i, 3], V[i, 4], V[i, 5])
        a, b, e = cross(d.p[i, 0] - x, d.p[i, 1] - y, d.p[i, 2] - z, h3, h4, h5)
        n0 += h0 + a
        n1 += h1 + b
        n2 += h2 + e
        f0 += h3
        f1 += h4
        f2 += h5
    return n0, n1, n2, f0, f1, f2


@kernel
def kinetic_energy_of(t, d, c):
    """sum V . M V / 2 of the chosen bodies, with the rotors of their joints [J]."""
    total = 0.0
    V = d.V
    for i in range(t.parent.shape[0]):
        start_chosen(t, d, c, i)
        h0, h1, h2, h3, h4, h5 = composite_momentum(d, i, V[i, 0], V[i, 1], V[i, 2], V[i, 3], V[i, 4], V[i, 5])
        total += V[i, 0] * h0 + V[i, 1] * h1 + V[i, 2] * h2 + V[i, 3] * h3 + V[i, 4] * h4 + V[i, 5] * h5
    for i in range(c.springs.shape[0]):
        if c.springs[i] != 0:
            for k in range(t.first_dof[i], t.first_dof[i + 1]):
                total += t.armature[k] * d.u[k] * d.u[k]
    return 0.5 * total


@kernel
def potential_energy_of(t, d, c):
    """-sum m g . c of the chosen bodies with gravity, plus the springs of their joints [J]."""
    total = 0.0
    for i in range(t.parent.shape[0]):
        m, x, y, z = mass_moment_of(d, c, i)
        g0, g1, g2 = t.gravity[0], t.gravity[1], t.gravity[2]
        weight = g0 * (m * d.p[i, 0] + x) + g1 * (m * d.p[i, 1] + y) + g2 * (m * d.p[i, 2] + z)
        total -= t.gravity_factor[i] * weight
    for i in range(c.springs.shape[0]):
        if c.springs[i] != 0:
            total += joint_spring_energy(t, d, i)
    return total


@kernel
def com_jacobian(t, d, c, J):
    """J (3, dofs) with (velocity of the centre of mass) = J u; returns the mass.

    Column k is (m_k v_k + w_k x mc_k) / m, with m_k and mc_k of all chosen bodies that the coordinate moves.
    """
    P = d.P
    n = t.parent.shape[0]
    mass = 0.0
    for i in range(n):
        m, x, y, z = mass_moment_of(d, c, i)
        P[i, 6], P[i, 7], P[i, 8], P[i, 9] = x, y, z, m
        mass += m
    scale = 1.0 / mass
    for i in range(n - 1, -1, -1):
        x, y, z, m = P[i, 6], P[i, 7], P[i, 8], P[i, 9]
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            a, b, e = cross(d.H[k, 0], d.H[k, 1], d.H[k, 2], x, y, z)
            J[0, k] = scale * (m * d.H[k, 3] + a)
            J[1, k] = scale * (m * d.H[k, 4] + b)
            J[2, k] = scale * (m * d.H[k, 5] + e)
        parent = t.parent[i]
        if parent >= 0:
            P[parent, 6] += x + m * d.l[i, 0]
            P[parent, 7] += y + m * d.l[i, 1]
            P[parent, 8] += z + m * d.l[i, 2]
            P[parent, 9] += m
    return mass


@inlined
def write_column(A, k, n0, n1, n2, f0, f1, f2):
    """Column k of a matrix of six rows."""
    A[0, k], A[1, k], A[2, k] = n0, n1, n2
    A[3, k], A[4, k], A[5, k] = f0, f1, f2


@kernel
def momentum_matrix(t, d, x, y, z, A):
    """A (6, dofs) with (momentum of the chosen bodies about the world point) = A u, from composites."""
    for i in range(t.parent.shape[0]):
        px, py, pz = d.p[i, 0] - x, d.p[i, 1] - y, d.p[i, 2] - z
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            H = d.H
            h0, h1, h2, h3, h4, h5 = composite_momentum(d, i, H[k, 0], H[k, 1], H[k, 2], H[k, 3], H[k, 4], H[k, 5])
            a, b, e = cross(px, py, pz, h3, h4, h5)
            write_column(A, k, h0 + a, h1 + b, h2 + e, h3, h4, h5)


@kernel
def momentum_matrix_rate(t, d, x, y, z, vx, vy, vz, A):
    """Rate of `momentum_matrix` about a point that moves with (vx, vy, vz), from composites and their rates.

    Column k is d/dt (M H_k) = M Hdot_k + (B + B^T) H_k about the link's origin, moved to the point.
    """
    for i in range(t.parent.shape[0]):
        px, py, pz = d.p[i, 0] - x, d.p[i, 1] - y, d.p[i, 2] - z
        dx, dy, dz = d.V[i, 3] - vx, d.V[i, 4] - vy, d.V[i, 5] - vz
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            w0, w1, w2, v0, v1, v2 = d.H[k, 0], d.H[k, 1], d.H[k, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5]
            e0, e1, e2, e3, e4, e5 = full_column_rate(t, d, i, k)
            n0, n1, n2, f0, f1, f2 = composite_momentum(d, i, e0, e1, e2, e3, e4, e5)
            b0, b1, b2, b3, b4, b5 = coriolis_wrench(d, i, w0, w1, w2)
            c0, c1, c2 = transposed_coriolis_wrench(d, i, w0, w1, w2, v0, v1, v2)
            f0 += b3
            f1 += b4
            f2 += b5
            _, _, _, h3, h4, h5 = composite_momentum(d, i, w0, w1, w2, v0, v1, v2)
            a, b, c = cross(px, py, pz, f0, f1, f2)
            m0, m1, m2 = cross(dx, dy, dz, h3, h4, h5)
            write_column(
                A, k, n0 + b0 + c0 + a + m0, n1 + b1 + c1 + b + m1, n2 + b2 + c2 + c + m2, f0, f1, f2,
            )  # fmt: skip


@kernel
def centroidal_inertia(t, d, x, y, z, out):
    """out (6, 6): the chosen bodies as one rigid body about the world point (x, y, z), from composites."""
    J0, J1, J2, J3, J4, J5, m, c0, c1, c2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    P = d.P
    for i in range(t.parent.shape[0]):
        if t.parent[i] < 0:
            l0, l1, l2 = d.p[i, 0] - x, d.p[i, 1] - y, d.p[i, 2] - z
            e0, e1, e2 = P[i, 6] + P[i, 9] * l0, P[i, 7] + P[i, 9] * l1, P[i, 8] + P[i, 9] * l2
            # J' = J - l~ mc~ - e~ l~, as in mass_matrix.add_composite
            xx, yy, zz = l0 * (P[i, 6] + e0), l1 * (P[i, 7] + e1), l2 * (P[i, 8] + e2)
            J0 += P[i, 0] + (yy + zz)
            J1 += P[i, 1] - (P[i, 6] * l1 + l0 * e1)
            J2 += P[i, 2] - (P[i, 6] * l2 + l0 * e2)
            J3 += P[i, 3] + (xx + zz)
            J4 += P[i, 4] - (P[i, 7] * l2 + l1 * e2)
            J5 += P[i, 5] + (xx + yy)
            c0 += e0
            c1 += e1
            c2 += e2
            m += P[i, 9]
    write_column(out, 0, J0, J1, J2, 0.0, c2, -c1)
    write_column(out, 1, J1, J3, J4, -c2, 0.0, c0)
    write_column(out, 2, J2, J4, J5, c1, -c0, 0.0)
    write_column(out, 3, 0.0, -c2, c1, m, 0.0, 0.0)
    write_column(out, 4, c2, 0.0, -c0, 0.0, m, 0.0)
    write_column(out, 5, -c1, c0, 0.0, 0.0, 0.0, m)
