"""Calls from Python for forces, impulses and hybrid dynamics."""

from __future__ import annotations

from kido.jit import direct_entry, view
from kido.kernels import bias, inverse_mass, members
from kido.kernels.entries import OK, REFUSED, copy_finite
from kido.kernels.forward_dynamics import accelerations_of_state, prescribed_forces
from kido.kernels.lazy import ensure_all_poses
from kido.kernels.springs import add_spring_forces
from kido.kernels.states import ensure_accelerations
from kido.tree.schema import DATA, TREE
from kido.tree.selection import MEMBERS


@direct_entry("i8(i8,i8,f8[::1])")
def external_forces(tree, data, out):
    """J^T f (dofs,) of the held external forces."""
    t, d = view(TREE, tree), view(DATA, data)
    ensure_all_poses(t, d)
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


@direct_entry("i8(i8,i8,f8[::1],f8[:,::1],f8[::1])")
def velocity_changes(tree, data, impulses, wrenches, out):
    """M^-1 (impulses + J^T p), p (links, 6) about the links' origins; prescribed coordinates are rigid.

    Returns:
        0, REFUSED, or 2 + the index of a coordinate whose inertia is not positive.
    """
    t, d = view(TREE, tree), view(DATA, data)
    if copy_finite(impulses, d.e) != OK:
        return REFUSED
    ensure_all_poses(t, d)
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


@direct_entry("i8(i8,i8,i8,f8[:,::1],f8[:,::1])")
def reaction_wrenches(tree, data, chosen, external, out):
    """Wrenches (bodies, 6) through the joints, about the bodies' origins, world axes."""
    t, d, s = view(TREE, tree), view(DATA, data), view(MEMBERS, chosen)
    ensure_accelerations(t, d, t)
    members.reaction_wrenches(t, d, s, external, out)
    return OK
