"""Inverse dynamics: recursive Newton-Euler. Theory reference, section a7.

f = phi (M alpha + b - f_ext), T = H f + J_a udot, with alpha(root parent) = [0; -g] and J_a the rotor inertias.
Source: Luh, Walker, Paul (1980); Featherstone (2008), section 5.3, here in world axes.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.kernels.external import external_wrench
from kido.kernels.inertia import gyroscopic_wrench, spatial_momentum
from kido.kernels.kinematics import has_hinge
from kido.math.choices import any_positive
from kido.math.so3 import cross


@inlined
def body_acceleration(t, d, i):
    """A of body i from its parent's, its joint's udot and its velocity product; roots start at -g."""
    parent = t.parent[i]
    if parent >= 0:
        a0, a1, a2 = d.A[parent, 0], d.A[parent, 1], d.A[parent, 2]
        x, y, z = cross(a0, a1, a2, d.l[i, 0], d.l[i, 1], d.l[i, 2])
        a3, a4, a5 = d.A[parent, 3] + x, d.A[parent, 4] + y, d.A[parent, 5] + z
    else:
        a0, a1, a2, a3, a4, a5 = 0.0, 0.0, 0.0, -t.gravity[0], -t.gravity[1], -t.gravity[2]
    a0 += d.a[i, 0]
    a1 += d.a[i, 1]
    a2 += d.a[i, 2]
    a3 += d.a[i, 3]
    a4 += d.a[i, 4]
    a5 += d.a[i, 5]
    if has_hinge(t, i):  # its column has no linear part
        k = t.first_dof[i]
        s = d.udot[k]
        a0 += d.H[k, 0] * s
        a1 += d.H[k, 1] * s
        a2 += d.H[k, 2] * s
    else:
        for k in range(t.first_dof[i], t.first_dof[i + 1]):
            s = d.udot[k]
            a0 += d.H[k, 0] * s
            a1 += d.H[k, 1] * s
            a2 += d.H[k, 2] * s
            a3 += d.H[k, 3] * s
            a4 += d.H[k, 4] * s
            a5 += d.H[k, 5] * s
    d.A[i, 0], d.A[i, 1], d.A[i, 2] = a0, a1, a2
    d.A[i, 3], d.A[i, 4], d.A[i, 5] = a3, a4, a5


@kernel
def free_gravity(t, d, i):
    """Weight that the recursion adds to a body on which gravity does not act, to be taken off again."""
    s = 1.0 - t.gravity_factor[i]
    g0, g1, g2 = s * t.gravity[0], s * t.gravity[1], s * t.gravity[2]
    m = t.mass[i]
    n0, n1, n2 = cross(d.mc[i, 0], d.mc[i, 1], d.mc[i, 2], g0, g1, g2)
    return n0, n1, n2, m * g0, m * g1, m * g2


@inlined
def applied_wrench(t, d, i):
    """b - f_ext of body i, and the correction for a body without gravity."""
    b0, b1, b2, b3, b4, b5 = gyroscopic_wrench(t, d, i)
    if d.has_external[i] != 0:
        x0, x1, x2, x3, x4, x5 = external_wrench(d, i)
        b0 -= x0
        b1 -= x1
        b2 -= x2
        b3 -= x3
        b4 -= x4
        b5 -= x5
    if any_positive(1.0 - t.gravity_factor[i]):
        x0, x1, x2, x3, x4, x5 = free_gravity(t, d, i)
        b0 += x0
        b1 += x1
        b2 += x2
        b3 += x3
        b4 += x4
        b5 += x5
    return b0, b1, b2, b3, b4, b5


@inlined
def body_force(t, d, i):
    """f of body i without its children: M A + b - f_ext."""
    b0, b1, b2, b3, b4, b5 = applied_wrench(t, d, i)
    h0, h1, h2, h3, h4, h5 = spatial_momentum(t, d, i, d.A[i, 0], d.A[i, 1], d.A[i, 2], d.A[i, 3], d.A[i, 4], d.A[i, 5])
    d.f[i, 0], d.f[i, 1], d.f[i, 2] = h0 + b0, h1 + b1, h2 + b2
    d.f[i, 3], d.f[i, 4], d.f[i, 5] = h3 + b3, h4 + b4, h5 + b5


@inlined
def gather_force(t, d, i):
    """f(parent) += phi(parent, i) f(i)."""
    parent = t.parent[i]
    if parent >= 0:
        x, y, z = cross(d.l[i, 0], d.l[i, 1], d.l[i, 2], d.f[i, 3], d.f[i, 4], d.f[i, 5])
        d.f[parent, 0] += d.f[i, 0] + x
        d.f[parent, 1] += d.f[i, 1] + y
        d.f[parent, 2] += d.f[i, 2] + z
        d.f[parent, 3] += d.f[i, 3]
        d.f[parent, 4] += d.f[i, 4]
        d.f[parent, 5] += d.f[i, 5]


@inlined
def column_dot(d, k, b0, b1, b2, b3, b4, b5):
    """H_k . b."""
    H = d.H
    return (H[k, 0] * b0 + H[k, 1] * b1 + H[k, 2] * b2) + (H[k, 3] * b3 + H[k, 4] * b4 + H[k, 5] * b5)


@kernel
def joint_forces(t, d, first, last):
    """tau of bodies first..last-1 from A, V and udot."""
    for i in range(first, last):
        body_force(t, d, i)
    gather_joint_forces(t, d, first, last)


@kernel
def gather_joint_forces(t, d, first, last):
    """tau of bodies first..last-1 from their own f and udot: the gather of f, tips to base."""
    for i in range(last - 1, first - 1, -1):
        if has_hinge(t, i):
            k = t.first_dof[i]
            s = d.H[k, 0] * d.f[i, 0] + d.H[k, 1] * d.f[i, 1] + d.H[k, 2] * d.f[i, 2]
            d.tau[k] = s + t.armature[k] * d.udot[k]
        else:
            for k in range(t.first_dof[i], t.first_dof[i + 1]):
                s = column_dot(d, k, d.f[i, 0], d.f[i, 1], d.f[i, 2], d.f[i, 3], d.f[i, 4], d.f[i, 5])
                d.tau[k] = s + t.armature[k] * d.udot[k]
        gather_force(t, d, i)


@kernel
def accelerations(t, d, first, last):
    """A of bodies first..last-1 from udot."""
    for i in range(first, last):
        body_acceleration(t, d, i)
