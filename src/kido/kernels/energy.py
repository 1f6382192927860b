"""Energies, momentum and centre of mass of a range of bodies."""

from __future__ import annotations

from kido.jit import kernel
from kido.kernels.inertia import spatial_momentum
from kido.kernels.springs import joint_spring_energy


@kernel
def kinetic_energy(t, d, first, last, u):
    """sum V . M V / 2 + sum J_a u^2 / 2 [J], of velocities u and V of theirs; J and mc must be current."""
    total = 0.0
    for i in range(first, last):
        w0, w1, w2, v0, v1, v2 = d.V[i, 0], d.V[i, 1], d.V[i, 2], d.V[i, 3], d.V[i, 4], d.V[i, 5]
        h0, h1, h2, h3, h4, h5 = spatial_momentum(t, d, i, w0, w1, w2, v0, v1, v2)
        total += 0.5 * (w0 * h0 + w1 * h1 + w2 * h2 + v0 * h3 + v1 * h4 + v2 * h5)
    for k in range(t.first_dof[first], t.first_dof[last]):
        total += 0.5 * t.armature[k] * u[k] * u[k]
    return total


@kernel
def potential_energy(t, d, first, last):
    """-sum m g . c over bodies with gravity, plus the joint springs' [J]."""
    total = 0.0
    for i in range(first, last):
        m = t.mass[i] * t.gravity_factor[i]
        s = t.gravity_factor[i]
        total -= t.gravity[0] * (m * d.p[i, 0] + s * d.mc[i, 0])
        total -= t.gravity[1] * (m * d.p[i, 1] + s * d.mc[i, 1])
        total -= t.gravity[2] * (m * d.p[i, 2] + s * d.mc[i, 2])
    for i in range(first, last):
        total += joint_spring_energy(t, d, i)
    return total
