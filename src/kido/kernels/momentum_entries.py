"""Calls from Python for mass, momentum and energy of chosen bodies; `given` as in `kido.kernels.states`."""

from __future__ import annotations

import math

from kido.jit import direct_entry, view
from kido.kernels import momentum as m
from kido.kernels.composites import gather_composite_rates, gather_composites
from kido.kernels.entries import OK, REFUSED
from kido.kernels.states import load_accelerations, load_poses, load_positions, load_twists, load_velocities
from kido.tree.schema import DATA, TREE
from kido.tree.selection import SUBSET

MASSLESS = 2


@direct_entry("i8(i8,i8,i8,i8,i8,f8[::1],f8[::1],f8[::1],f8[::1])")
def com(tree, data, subset, given, level, q, u, udot, out):
    """Position (level 0), velocity (1) or acceleration (2) of the centre of mass (3,)."""
    t, d, c = view(TREE, tree), view(DATA, data), view(SUBSET, subset)
    if level == 0:
        status = load_poses(t, d, given, q)
    elif level == 1:
        status = load_velocities(t, d, given, q, u)
    else:
        status = load_accelerations(t, d, given, q, u, udot)
    if status != OK:
        return REFUSED
    mass, p0, p1, p2, v0, v1, v2, a0, a1, a2 = m.com_state(t, d, c, level)
    if not mass > 0.0:
        return MASSLESS
    if level == 0:
        out[0], out[1], out[2] = p0 / mass, p1 / mass, p2 / mass
    elif level == 1:
        out[0], out[1], out[2] = v0 / mass, v1 / mass, v2 / mass
    else:
        out[0], out[1], out[2] = a0 / mass, a1 / mass, a2 / mass
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[:,::1])")
def com_jacobian(tree, data, subset, given, q, J):
    """J (3, dofs) of the centre of mass."""
    t, d, c = view(TREE, tree), view(DATA, data), view(SUBSET, subset)
    if load_positions(t, d, given, q) != OK:
        return REFUSED
    return OK if m.com_jacobian(t, d, c, J) > 0.0 else MASSLESS


@direct_entry("i8(i8,i8,i8,i8,i8,f8[::1],f8[::1],f8[::1],f8[::1])")
def momentum(tree, data, subset, given, about_com, point, q, u, h):
    """[angular; linear] momentum (6,) about the centre of mass, or about a point of the world."""
    t, d, c = view(TREE, tree), view(DATA, data), view(SUBSET, subset)
    if load_twists(t, d, given, q, u) != OK:
        return REFUSED
    x, y, z = point[0], point[1], point[2]
    if about_com != 0:
        mass, x, y, z, _, _, _, _, _, _ = m.com_state(t, d, c, 0)
        if not mass > 0.0:
            return MASSLESS
        x /= mass
        y /= mass
        z /= mass
    h[0], h[1], h[2], h[3], h[4], h[5] = m.momentum_about(t, d, c, x, y, z)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[:,::1])")
def centroidal_matrix(tree, data, subset, given, q, A):
    """A (6, dofs) of the momentum about the centre of mass."""
    t, d, c = view(TREE, tree), view(DATA, data), view(SUBSET, subset)
    if load_positions(t, d, given, q) != OK:
        return REFUSED
    mass, x, y, z, _, _, _, _, _, _ = m.com_state(t, d, c, 0)
    if not mass > 0.0:
        return MASSLESS
    gather_composites(t, d, c)
    m.momentum_matrix(t, d, x / mass, y / mass, z / mass, A)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[::1],f8[:,::1])")
def centroidal_matrix_rate(tree, data, subset, given, q, u, A):
    """Rate of `centroidal_matrix`."""
    t, d, c = view(TREE, tree), view(DATA, data), view(SUBSET, subset)
    if load_velocities(t, d, given, q, u) != OK:
        return REFUSED
    mass, x, y, z, vx, vy, vz, _, _, _ = m.com_state(t, d, c, 1)
    if not mass > 0.0:
        return MASSLESS
    gather_composite_rates(t, d, c)
    s = 1.0 / mass
    m.momentum_matrix_rate(t, d, x * s, y * s, z * s, vx * s, vy * s, vz * s, A)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[:,::1])")
def centroidal_inertia(tree, data, subset, given, q, out):
    """out (6, 6): all chosen bodies as one about their centre of mass."""
    t, d, c = view(TREE, tree), view(DATA, data), view(SUBSET, subset)
    if load_positions(t, d, given, q) != OK:
        return REFUSED
    mass, x, y, z, _, _, _, _, _, _ = m.com_state(t, d, c, 0)
    if not mass > 0.0:
        return MASSLESS
    gather_composites(t, d, c)
    m.centroidal_inertia(t, d, x / mass, y / mass, z / mass, out)
    return OK


@direct_entry("f8(i8,i8,i8,i8,f8[::1],f8[::1])")
def kinetic_energy(tree, data, subset, given, q, u):
    """Kinetic energy [J]; NaN for a refused state."""
    t, d, c = view(TREE, tree), view(DATA, data), view(SUBSET, subset)
    if load_twists(t, d, given, q, u) != OK:
        return math.nan
    return m.kinetic_energy_of(t, d, c)


@direct_entry("f8(i8,i8,i8,i8,f8[::1])")
def potential_energy(tree, data, subset, given, q):
    """Potential energy of weight and springs [J]; NaN for a refused state."""
    t, d, c = view(TREE, tree), view(DATA, data), view(SUBSET, subset)
    if load_poses(t, d, given, q) != OK:
        return math.nan
    return m.potential_energy_of(t, d, c)
