"""Forward dynamics of a rigid body on a free joint, nothing below it: what worlds have by the thousand.

It is that of `kido.kernels.forward_dynamics` with what is zero left out. The joint's last three columns are orthonormal
translations, which see the mass m alone and leave the inertia about the centre of mass,

    J_c = J - m [c]x^T [c]x,   U_k = [mc x h_k; m h_k],   1 / D_k = 1 / m     (linear coordinates)

and its first three columns, which only turn the body, are eliminated from J_c as usual. The joint is `FREE_MIXED` at
the body's origin: there are no velocity products.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.kinds import FREE_MIXED
from kido.kernels.forward_dynamics import SINGULAR_TOLERANCE, SMALL_INERTIA
from kido.kernels.inertia import body_inertia, start_inertia
from kido.kernels.inverse_dynamics import applied_wrench
from kido.math.so3 import cross, multiply_symmetric


@kernel
def is_free_body(t, first, last):
    """Whether a tree is one body on a free joint at its origin that nothing prescribes, damps or pulls: no rotors."""
    if last - first != 1 or t.kind[first] != FREE_MIXED or t.has_child_offset[first] != 0 or not t.mass[first] > 0.0:
        return False
    k = t.first_dof[first]
    held = 0.0
    for j in range(k, k + 6):
        held += t.prescribed[j] + abs(t.damping[j]) + abs(t.stiffness[j]) + t.armature[j]
    return held == 0.0


@inlined
def dot(a0, a1, a2, b0, b1, b2):
    return a0 * b0 + a1 * b1 + a2 * b2


@kernel
def free_body_inertia(t, d, i):
    """P, U and Dinv of a free body.

    Returns:
        The index of a coordinate without positive D, or -1.
    """
    k = t.first_dof[i]
    m = t.mass[i]
    c0, c1, c2 = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
    j0, j1, j2, j3, j4, j5 = d.J[i, 0], d.J[i, 1], d.J[i, 2], d.J[i, 3], d.J[i, 4], d.J[i, 5]
    start_inertia(t, d, i)
    inverse = 1.0 / m
    for j in range(k + 3, k + 6):
        h0, h1, h2 = d.H[j, 3], d.H[j, 4], d.H[j, 5]
        x, y, z = cross(c0, c1, c2, h0, h1, h2)
        d.U[j, 0], d.U[j, 1], d.U[j, 2] = x, y, z
        d.U[j, 3], d.U[j, 4], d.U[j, 5] = m * h0, m * h1, m * h2
        d.Dinv[j] = inverse
    small = SMALL_INERTIA * (j0 + j3 + j5 + 3.0 * m)
    most = j0 + j3 + j5
    j0 -= inverse * (c1 * c1 + c2 * c2)
    j3 -= inverse * (c0 * c0 + c2 * c2)
    j5 -= inverse * (c0 * c0 + c1 * c1)
    j1 += inverse * c0 * c1
    j2 += inverse * c0 * c2
    j4 += inverse * c1 * c2
    status = -1
    for j in range(k + 2, k - 1, -1):
        h0, h1, h2 = d.H[j, 0], d.H[j, 1], d.H[j, 2]
        u0, u1, u2 = multiply_symmetric((j0, j1, j2, j3, j4, j5), h0, h1, h2)
        D = dot(h0, h1, h2, u0, u1, u2)
        if not small < D:
            if not most * SINGULAR_TOLERANCE < D:
                status = j
                D = 1.0
        s = 1.0 / D
        d.U[j, 0], d.U[j, 1], d.U[j, 2] = u0, u1, u2
        d.U[j, 3], d.U[j, 4], d.U[j, 5] = 0.0, 0.0, 0.0
        d.Dinv[j] = s
        x, y, z = s * u0, s * u1, s * u2
        j0 -= x * u0
        j1 -= x * u1
        j2 -= x * u2
        j3 -= y * u1
        j4 -= y * u2
        j5 -= z * u2
    return status


@kernel
def free_body_acceleration(t, d, i):
    """udot of a free body from tau, V and the external forces; needs `free_body_inertia`."""
    k = t.first_dof[i]
    m = t.mass[i]
    c0, c1, c2 = d.mc[i, 0], d.mc[i, 1], d.mc[i, 2]
    z0, z1, z2, z3, z4, z5 = applied_wrench(t, d, i)
    # Force of the joint and its moment about the body's origin, less what the body takes without accelerating.
    f0, f1, f2 = -z3, -z4, -z5
    n0, n1, n2 = -z0, -z1, -z2
    for j in range(k + 3, k + 6):
        f0 += d.H[j, 3] * d.tau[j]
        f1 += d.H[j, 4] * d.tau[j]
        f2 += d.H[j, 5] * d.tau[j]
    for j in range(k, k + 3):
        n0 += d.H[j, 0] * d.tau[j]
        n1 += d.H[j, 1] * d.tau[j]
        n2 += d.H[j, 2] * d.tau[j]
    inverse = 1.0 / m
    x, y, z = cross(c0, c1, c2, f0, f1, f2)
    y0, y1, y2 = n0 - inverse * x, n1 - inverse * y, n2 - inverse * z  # about the centre of mass
    for j in range(k + 2, k - 1, -1):
        e = dot(d.H[j, 0], d.H[j, 1], d.H[j, 2], y0, y1, y2) * d.Dinv[j]
        d.e[j] = e
        y0 -= d.U[j, 0] * e
        y1 -= d.U[j, 1] * e
        y2 -= d.U[j, 2] * e
    b0, b1, b2 = 0.0, 0.0, 0.0
    for j in range(k, k + 3):
        s = d.e[j] - dot(d.U[j, 0], d.U[j, 1], d.U[j, 2], b0, b1, b2) * d.Dinv[j]
        d.udot[j] = s
        b0 += d.H[j, 0] * s
        b1 += d.H[j, 1] * s
        b2 += d.H[j, 2] * s
    x, y, z = cross(b0, b1, b2, c0, c1, c2)
    x = inverse * (f0 - x) + t.gravity[0]
    y = inverse * (f1 - y) + t.gravity[1]
    z = inverse * (f2 - z) + t.gravity[2]
    for j in range(k + 3, k + 6):
        d.udot[j] = dot(d.H[j, 3], d.H[j, 4], d.H[j, 5], x, y, z)


@kernel
def complete_free_body(t, d, i):
    """J, mc, H, U and Dinv of a free body from its rotation, which is all that `kido.kernels.free_lanes` leaves."""
    body_inertia(t, d, i)
    k = t.first_dof[i]
    for j in range(3):
        for r in range(6):
            d.H[k + j, r] = d.R[i, 3 * r + j] if r < 3 else 0.0
            d.H[k + 3 + j, r] = 1.0 if r == 3 + j else 0.0
    free_body_inertia(t, d, i)
