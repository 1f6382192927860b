"""Calls from Python for matrices of dynamics and forces; `given` as in `kido.kernels.states`."""

from __future__ import annotations

from kido.jit import direct_entry, view
from kido.kernels import bias, coriolis, inverse_mass, members
from kido.kernels.composites import gather_composite_rates, start_chosen
from kido.kernels.entries import OK, REFUSED, copy_finite
from kido.kernels.forward_dynamics import (
    accelerations_of_state,
    prescribed_forces,
)
from kido.kernels.mass_matrix import mass_matrix, mass_matrix_from_composites
from kido.kernels.springs import add_spring_forces
from kido.kernels.states import load_accelerations, load_inertias, load_positions, load_velocities
from kido.tree.schema import DATA, TREE
from kido.tree.selection import COLUMNS, MEMBERS, SUBSET

# What `joint_loads` sums up.
CORIOLIS, CORIOLIS_AND_GRAVITY, GRAVITY = range(3)


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[:,::1])")
def chosen_mass_matrix(tree, data, choice, given, q, M):
    """M (dofs, dofs) of the chosen bodies: the sum of their J^T M J."""
    t, d, c = view(TREE, tree), view(DATA, data), view(SUBSET, choice)
    if load_positions(t, d, given, q) != OK:
        return REFUSED
    n = t.parent.shape[0]
    for i in range(n):
        start_chosen(t, d, c, i)
    mass_matrix_from_composites(t, d, 0, n, M)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[::1],f8[:,::1])")
def coriolis_matrix(tree, data, choice, given, q, u, C):
    """C (dofs, dofs) of the chosen bodies."""
    t, d, c = view(TREE, tree), view(DATA, data), view(SUBSET, choice)
    if load_velocities(t, d, given, q, u) != OK:
        return REFUSED
    gather_composite_rates(t, d, c)
    coriolis.coriolis_matrix(t, d, C)
    return OK


@direct_entry("i8(i8,i8,i8,i8,i8,f8[::1],f8[::1],f8[::1])")
def joint_loads(tree, data, choice, given, what, q, u, out):
    """Joint forces (dofs,) that velocities and the weight of the chosen bodies ask for."""
    t, d, c = view(TREE, tree), view(DATA, data), view(SUBSET, choice)
    if what == GRAVITY:
        if load_positions(t, d, given, q) != OK:
            return REFUSED
        bias.gravity_forces(t, d, c, out)
        return OK
    if load_velocities(t, d, given, q, u) != OK:
        return REFUSED
    bias.bias_forces(t, d, c, what, out)
    return OK


@direct_entry("i8(i8,i8,f8[::1])")
def external_forces(tree, data, out):
    """J^T f (dofs,) of the held external forces."""
    t, d = view(TREE, tree), view(DATA, data)
    bias.external_forces(t, d, out)
    return OK


@direct_entry("i8(i8,i8,f8[::1],f8[::1])")
def spring_forces(tree, data, q, out):
    """Forces (dofs,) of the joint springs at q; the data's tau is overwritten."""
    t, d = view(TREE, tree), view(DATA, data)
    if copy_finite(q, d.q) != OK:
        return REFUSED
    for k in range(out.shape[0]):
        d.tau[k] = 0.0
    add_spring_forces(t, d, 0, t.parent.shape[0], d.tau)
    for k in range(out.shape[0]):
        out[k] = d.tau[k]
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8,f8[::1],f8[:,::1])")
def inverse_mass_matrix(tree, data, columns, given, h, q, out):
    """(M + h Kd + h^2 Ks)^-1; returns 2 + the index of a coordinate whose inertia is not positive."""
    t, d, b = view(TREE, tree), view(DATA, data), view(COLUMNS, columns)
    if load_inertias(t, d, given, q) != OK:
        return REFUSED
    status = inverse_mass.eliminate(t, d, h, 0)
    inverse_mass.inverse_mass_matrix(t, d, b, out)
    return OK if status < 0 else 2 + status


@direct_entry("i8(i8,i8,i8,f8[::1],f8[:,::1],f8[::1])")
def mass_factors(tree, data, given, q, F, D):
    """F and D with M = F D F^T; returns 2 + the index of a coordinate whose inertia is not positive."""
    t, d = view(TREE, tree), view(DATA, data)
    if load_inertias(t, d, given, q) != OK:
        return REFUSED
    status = inverse_mass.eliminate(t, d, 0.0, 0)
    inverse_mass.mass_factors(t, d, F, D)
    return OK if status < 0 else 2 + status


@direct_entry("i8(i8,i8,i8,f8[::1],f8[:,::1])")
def cholesky(tree, data, given, q, L):
    """L with M = L L^T; returns 2 + the index of a coordinate whose inertia is not positive."""
    t, d = view(TREE, tree), view(DATA, data)
    if load_inertias(t, d, given, q) != OK:
        return REFUSED
    mass_matrix(t, d, 0, t.parent.shape[0], L)
    status = inverse_mass.cholesky(L)
    return OK if status < 0 else 2 + status


@direct_entry("i8(i8,i8,i8,f8[::1],f8[::1],f8[:,::1],f8[::1])")
def velocity_changes(tree, data, given, q, impulses, wrenches, out):
    """M^-1 (impulses + J^T p), p (links, 6) about the links' origins; prescribed coordinates are rigid.

    Returns:
        0, REFUSED, or 2 + the index of a coordinate whose inertia is not positive.
    """
    t, d = view(TREE, tree), view(DATA, data)
    if copy_finite(impulses, d.e) + load_inertias(t, d, given, q) != OK:
        return REFUSED
    for i in range(t.parent.shape[0]):
        for r in range(6):
            d.f[i, r] = wrenches[i, r]
    status = inverse_mass.eliminate(t, d, 0.0, 1)
    inverse_mass.velocity_changes(t, d, impulses, out)
    return OK if status < 0 else 2 + status


@direct_entry("i8(i8,i8,f8[::1],f8[::1],f8[::1],f8[::1],f8[::1],f8[::1])")
def hybrid_dynamics(tree, data, q, u, values, prescribed, udot, tau):
    """Forces of prescribed coordinates from their accelerations, accelerations of the others from their forces.

    Args:
        values: accelerations where `prescribed` is 1.0, forces elsewhere.

    Returns:
        0, REFUSED, or 2 + the index of a coordinate whose inertia is not positive.
    """
    t, d = view(TREE, tree), view(DATA, data)
    if copy_finite(q, d.q) + copy_finite(u, d.u) + copy_finite(values, d.tau) != OK:
        return REFUSED
    m = tau.shape[0]
    if prescribed.shape[0] != m or udot.shape[0] != m:
        return REFUSED
    for k in range(m):
        d.udot[k] = values[k]
        udot[k] = t.prescribed[k]
        t.prescribed[k] = 1 if prescribed[k] != 0.0 else 0
    status = int(accelerations_of_state(t, d))
    prescribed_forces(t, d, 0, t.parent.shape[0])
    for k in range(m):
        t.prescribed[k] = int(udot[k])
        udot[k], tau[k] = d.udot[k], d.tau[k]
    return OK if status < 0 else 2 + status


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[::1],f8[::1],f8[:,::1])")
def torque_regressor(tree, data, chosen, given, q, u, udot, Y):
    """Y (dofs, 10 bodies) of inverse dynamics."""
    t, d, s = view(TREE, tree), view(DATA, data), view(MEMBERS, chosen)
    if load_accelerations(t, d, given, q, u, udot) != OK:
        return REFUSED
    members.torque_regressor(t, d, s, Y)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[::1],f8[::1],f8[::1])")
def energy_regressor(tree, data, chosen, given, q, u, kinetic, potential):
    """Regressors (10 bodies,) of the kinetic energy and of the potential energy of gravity."""
    t, d, s = view(TREE, tree), view(DATA, data), view(MEMBERS, chosen)
    if load_velocities(t, d, given, q, u) != OK:
        return REFUSED
    members.energy_regressor(t, d, s, kinetic, potential)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8[::1],f8[::1],f8[::1],f8[:,::1],f8[:,::1])")
def reaction_wrenches(tree, data, chosen, given, q, u, udot, external, out):
    """Wrenches (bodies, 6) through the joints, about the bodies' origins, world axes."""
    t, d, s = view(TREE, tree), view(DATA, data), view(MEMBERS, chosen)
    if load_accelerations(t, d, given, q, u, udot) != OK:
        return REFUSED
    members.reaction_wrenches(t, d, s, external, out)
    return OK
