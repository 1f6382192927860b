"""Forward dynamics by articulated bodies, with prescribed coordinates. Theory reference, sections a3, a7, f.

A multi-coordinate joint is eliminated coordinate by coordinate: P <- P - U U^T / D. A prescribed coordinate
is not eliminated; its given acceleration enters the velocity product before the others are.
D carries rotor inertia J_a, and the implicit joint damping and spring: D = H P H* + J_a + h Kd + (h^2 / 4) Ks.
Source: Featherstone (1983); Jain, Vaidehi, Rodriguez (1993); the sequential form is our own.
"""

from __future__ import annotations

from kido.jit import all_positive, inlined, kernel, where_positive
from kido.kernels.articulated import add_column, add_to_parent, give_way, parent_motion, take_share
from kido.kernels.inertia import (
    add_shifted,
    apply_inertia,
    apply_inertia_to_turn,
    body_inertia,
    deflate,
    read_inertia,
    start_inertia,
)
from kido.kernels.inverse_dynamics import applied_wrench, column_dot
from kido.kernels.kinematics import body_velocity, has_hinge, transforms

SMALL_INERTIA = 1e-9  # share of a body's articulated inertia below which D is looked at closely
SINGULAR_TOLERANCE = 4e-15  # share of what a coordinate could see at most, below which D is rounding: it moves no mass


@inlined
def prescribed_bias(t, d, i):
    """Joint's velocity product plus the given accelerations of its prescribed coordinates."""
    a0, a1, a2 = d.a[i, 0], d.a[i, 1], d.a[i, 2]
    a3, a4, a5 = d.a[i, 3], d.a[i, 4], d.a[i, 5]
    for k in range(t.first_dof[i], t.first_dof[i + 1]):
        if t.prescribed[k] != 0:
            a0, a1, a2, a3, a4, a5 = add_column(d, k, d.udot[k], a0, a1, a2, a3, a4, a5)
    return a0, a1, a2, a3, a4, a5


@inlined
def eliminate_joint(t, d, first, i, h, part, rigid, status):
    """U and Dinv of body i's coordinates from its P, handing P without them to the parent.

    Args:
        h, part: dampers and springs add h (Kd + part Ks) to D.
        rigid: 0: prescribed coordinates are eliminated like the others.
        status: that of the bodies before, as of `articulated_inertias`; returned anew.
    """
    P = read_inertia(d, i)
    small = SMALL_INERTIA * (P[0] + P[3] + P[5] + P[15] + P[18] + P[20])
    hinge = has_hinge(t, i)  # its column has no linear part
    for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
        h0, h1, h2, h3, h4, h5 = d.H[k, 0], d.H[k, 1], d.H[k, 2], d.H[k, 3], d.H[k, 4], d.H[k, 5]
        if hinge:
            u0, u1, u2, u3, u4, u5 = apply_inertia_to_turn(P, h0, h1, h2)
        else:
            u0, u1, u2, u3, u4, u5 = apply_inertia(P, h0, h1, h2, h3, h4, h5)
        d.U[k, 0], d.U[k, 1], d.U[k, 2] = u0, u1, u2
        d.U[k, 3], d.U[k, 4], d.U[k, 5] = u3, u4, u5
        if rigid != 0 and t.prescribed[k] != 0:
            d.Dinv[k] = 0.0
            continue
        D = h0 * u0 + h1 * u1 + h2 * u2
        if not hinge:
            D += h3 * u3 + h4 * u4 + h5 * u5
        D += h * (t.damping[k] + part * t.stiffness[k])
        D += t.armature[k]
        if not all_positive(D - small):
            # H P H is at most twice this bound; rounding leaves a singular joint with 1e-16 of it.
            bound = (P[0] + P[3] + P[5]) * (h0 * h0 + h1 * h1 + h2 * h2)
            bound += (P[15] + P[18] + P[20]) * (h3 * h3 + h4 * h4 + h5 * h5)
            enough = D - bound * SINGULAR_TOLERANCE
            status = where_positive(enough, status, k)
            D = where_positive(enough, D, 1.0)
        inverse = 1.0 / D
        d.Dinv[k] = inverse
        P = deflate(P, u0, u1, u2, u3, u4, u5, inverse)
    parent = t.parent[i]
    if parent >= first:
        add_shifted(d, parent, P, d.l[i, 0], d.l[i, 1], d.l[i, 2])
    return status


@kernel
def articulated_inertias(t, d, first, last, h):
    """P, U, Dinv of bodies first..last-1, tips to base; P(i) stays the inertia before i's own elimination.

    Returns:
        The index of a coordinate without positive D, or -1, as a float: in lanes, each has its own.
    """
    status = -1.0
    for i in range(first, last):
        start_inertia(t, d, i)
    for i in range(last - 1, first - 1, -1):
        status = eliminate_joint(t, d, first, i, h, 0.25 * h, 1, status)
    return status


@inlined
def start_bias(t, d, i):
    """z(i) = the body's own b - f_ext."""
    b0, b1, b2, b3, b4, b5 = applied_wrench(t, d, i)
    d.z[i, 0], d.z[i, 1], d.z[i, 2], d.z[i, 3], d.z[i, 4], d.z[i, 5] = b0, b1, b2, b3, b4, b5


@inlined
def joint_bias(t, d, first, i, share, tau):
    """e of body i's coordinates from its z, handing the rest of z to the parent; `share` as in `joint_motion`."""
    a0, a1, a2, a3, a4, a5 = prescribed_bias(t, d, i)
    z0, z1, z2, z3, z4, z5 = apply_inertia(
        read_inertia(d, i), share * a0, share * a1, share * a2, share * a3, share * a4, share * a5
    )
    z0 += d.z[i, 0]
    z1 += d.z[i, 1]
    z2 += d.z[i, 2]
    z3 += d.z[i, 3]
    z4 += d.z[i, 4]
    z5 += d.z[i, 5]
    for k in range(t.first_dof[i + 1] - 1, t.first_dof[i] - 1, -1):
        d.e[k], z0, z1, z2, z3, z4, z5 = take_share(d, k, tau[k], z0, z1, z2, z3, z4, z5)
    parent = t.parent[i]
    if parent >= first:
        add_to_parent(d, d.z, i, parent, z0, z1, z2, z3, z4, z5)


@kernel
def bias_gather(t, d, first, last):
    """z and e of bodies first..last-1 from tau, V, a and the external forces; needs articulated_inertias."""
    for i in range(first, last):
        start_bias(t, d, i)
    for i in range(last - 1, first - 1, -1):
        joint_bias(t, d, first, i, 1.0, d.tau)


@kernel
def inertias_and_bias(t, d, first, last, h):
    """`articulated_inertias` and `bias_gather` in one sweep, from bodies' own inertias in P and biases in z."""
    status = -1.0
    for i in range(last - 1, first - 1, -1):
        status = eliminate_joint(t, d, first, i, h, 0.25 * h, 1, status)
        joint_bias(t, d, first, i, 1.0, d.tau)
    return status


@inlined
def joint_motion(t, d, i, share, A, out):
    """`out` of body i's free coordinates, and its row of A.

    Args:
        share: 1: with gravity, velocity products and given accelerations, which makes accelerations; 0: without,
            which makes changes of velocity.
    """
    parent = t.parent[i]
    if parent >= 0:
        b0, b1, b2, b3, b4, b5 = parent_motion(d, A, i, parent)
    else:
        b0, b1, b2 = 0.0, 0.0, 0.0
        b3, b4, b5 = -share * t.gravity[0], -share * t.gravity[1], -share * t.gravity[2]
    for k in range(t.first_dof[i], t.first_dof[i + 1]):
        if t.prescribed[k] == 0:
            s = give_way(d, k, d.e[k], b0, b1, b2, b3, b4, b5)
            out[k] = s
            b0, b1, b2, b3, b4, b5 = add_column(d, k, s, b0, b1, b2, b3, b4, b5)
    a0, a1, a2, a3, a4, a5 = prescribed_bias(t, d, i)
    A[i, 0], A[i, 1], A[i, 2] = b0 + share * a0, b1 + share * a1, b2 + share * a2
    A[i, 3], A[i, 4], A[i, 5] = b3 + share * a3, b4 + share * a4, b5 + share * a5


@kernel
def acceleration_scatter(t, d, first, last):
    """udot of the free coordinates and A of bodies first..last-1, base to tips."""
    for i in range(first, last):
        joint_motion(t, d, i, 1.0, d.A, d.udot)


@inlined
def accelerations_of_state(t, d):
    """udot of the free coordinates at q, u and tau of the data, and all that it takes, from poses on.

    Returns:
        As `articulated_inertias` does.
    """
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
        body_velocity(t, d, i)
        start_inertia(t, d, i)
        start_bias(t, d, i)
    status = inertias_and_bias(t, d, 0, n, 0.0)
    acceleration_scatter(t, d, 0, n)
    return status


@kernel
def prescribed_forces(t, d, first, last):
    """tau of the prescribed coordinates: T = H (P (A - a) + z) + J_a udot, with z after the gather of the children."""
    for i in range(first, last):
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            if t.prescribed[k] != 0:
                f0, f1, f2, f3, f4, f5 = apply_inertia(
                    read_inertia(d, i), d.A[i, 0], d.A[i, 1], d.A[i, 2], d.A[i, 3], d.A[i, 4], d.A[i, 5]
                )
                s = column_dot(
                    d, k, f0 + d.z[i, 0], f1 + d.z[i, 1], f2 + d.z[i, 2],
                    f3 + d.z[i, 3], f4 + d.z[i, 4], f5 + d.z[i, 5],
                )  # fmt: skip
                d.tau[k] = s + t.armature[k] * d.udot[k]
