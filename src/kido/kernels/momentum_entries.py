"""Calls from Python for mass, momentum and energy of chosen bodies; `given` as in `kido.kernels.states`."""

from __future__ import annotations

from kido.jit import direct_entry, view
from kido.kernels import momentum as m
from kido.kernels.composites import gather_composite_rates, gather_composites
from kido.kernels.entries import OK, REFUSED
from kido.kernels.states import take_accelerations, take_poses, take_positions, take_velocities
from kido.tree.schema import DATA, TREE
from kido.tree.selection import CHOICE

MASSLESS = 2


@direct_entry("i8(i8,i8,i8,i8,i8,f8[::1],f8[::1],f8[::1],f8[::1])")
def com(tree, data, choice, given, level, q, u, udot, out):
    """Position, velocity (level > 0), acceleration (level > 1) of the centre of mass in out[0:9], mass in out[9]."""
    t, d, c = view(TREE, tree), view(DATA, data), view(CHOICE, choice)
    if level == 0:
        status = take_poses(t, d, given, q)
    elif level == 1:
        status = take_velocities(t, d, given, q, u)
    else:
        status = take_accelerations(t, d, given, q, u, udot)
    if status != OK:
        return REFUSED
    mass, p0, p1, p2, v0, v1, v2, a0, a1, a2 = m.com_state(t, d, c, level)
    if not mass > 0.0:
        return MASSLESS
    out[0], out[1], out[2] = p0 / mass, p1 / mass, p2 / mass
    out[3], out[4], out[5] = v0 / mass, v1 / mass, v2 / mass
    out[6], out[7], out[8] = a0 / mass, a1 / mass, a2 / mass
    out[9] = mass
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[:,::1])")
def com_jacobian(tree, data, choice, given, q, J):
    """J (3, dofs) of the centre of mass."""
    t, d, c = view(TREE, tree), view(DATA, data), view(CHOICE, choice)
    if take_positions(t, d, given, q) != OK:
        return REFUSED
    return OK if m.com_jacobian(t, d, c, J) > 0.0 else MASSLESS


@direct_entry("i8(i8,i8,i8,i8,i8,f8[::1],f8[::1],f8[::1],f8[::1])")
def momentum(tree, data, choice, given, about_com, point, q, u, h):
    """[angular; linear] momentum (6,) about the centre of mass, or about a point of the world."""
    t, d, c = view(TREE, tree), view(DATA, data), view(CHOICE, choice)
    if take_velocities(t, d, given, q, u) != OK:
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
def centroidal_matrix(tree, data, choice, given, q, A):
    """A (6, dofs) of the momentum about the centre of mass."""
    t, d, c = view(TREE, tree), view(DATA, data), view(CHOICE, choice)
    if take_positions(t, d, given, q) != OK:
        return REFUSED
    mass, x, y, z, _, _, _, _, _, _ = m.com_state(t, d, c, 0)
    if not mass > 0.0:
        return MASSLESS
    gather_composites(t, d, c)
    m.momentum_matrix(t, d, x / mass, y / mass, z / mass, A)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[::1],f8[:,::1])")
def centroidal_matrix_rate(tree, data, choice, given, q, u, A):
    """Rate of `centroidal_matrix`."""
    t, d, c = view(TREE, tree), view(DATA, data), view(CHOICE, choice)
    if take_velocities(t, d, given, q, u) != OK:
        return REFUSED
    mass, x, y, z, vx, vy, vz, _, _, _ = m.com_state(t, d, c, 1)
    if not mass > 0.0:
        return MASSLESS
    gather_composite_rates(t, d, c)
    s = 1.0 / mass
    m.momentum_matrix_rate(t, d, x * s, y * s, z * s, vx * s, vy * s, vz * s, A)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[:,::1])")
def centroidal_inertia(tree, data, choice, given, q, out):
    """out (6, 6): all chosen bodies as one about their centre of mass."""
    t, d, c = view(TREE, tree), view(DATA, data), view(CHOICE, choice)
    if take_positions(t, d, given, q) != OK:
        return REFUSED
    mass, x, y, z, _, _, _, _, _, _ = m.com_state(t, d, c, 0)
    if not mass > 0.0:
        return MASSLESS
    gather_composites(t, d, c)
    m.centroidal_inertia(t, d, x / mass, y / mass, z / mass, out)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[::1],f8[::1])")
def kinetic_energy(tree, data, choice, given, q, u, out):
    """Kinetic energy in out[0]."""
    t, d, c = view(TREE, tree), view(DATA, data), view(CHOICE, choice)
    if take_velocities(t, d, given, q, u) != OK:
        return REFUSED
    out[0] = m.kinetic_energy_of(t, d, c)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[::1])")
def potential_energy(tree, data, choice, given, q, out):
    """Potential energy of weight and springs in out[0]."""
    t, d, c = view(TREE, tree), view(DATA, data), view(CHOICE, choice)
    if take_poses(t, d, given, q) != OK:
        return REFUSED
    out[0] = m.potential_energy_of(t, d, c)
    return OK
