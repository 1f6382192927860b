"""Calls from Python into the recursions: a tree's address, its data's address, and what goes in or out.

`update_*` entries fill the results of the state held in the data; the others take the state as arguments
and return REFUSED if an argument has another size than the tree or is not finite.
"""

from __future__ import annotations

from kido.jit import direct_entry, entry, kernel, view
from kido.kernels.energy import potential_energy
from kido.kernels.forward_dynamics import accelerations_of_state
from kido.kernels.inertia import body_inertia
from kido.kernels.integration import advance
from kido.kernels.inverse_dynamics import (
    accelerations,
    body_acceleration,
    body_force,
    gather_joint_forces,
)
from kido.kernels.kinematics import body_velocity, poses, transforms, velocities
from kido.kernels.placement import write_poses
from kido.tree.schema import DATA, TREE

OK, REFUSED = 0, 1


@kernel
def copy_finite(source, target):
    """Copy numbers; returns REFUSED, and leaves the target, if sizes differ or one is NaN or infinite."""
    if source.shape[0] != target.shape[0]:
        return REFUSED
    for k in range(target.shape[0]):
        if source[k] * 0.0 != 0.0:
            return REFUSED
    for k in range(target.shape[0]):
        target[k] = source[k]
    return OK


@kernel
def inertias(t, d):
    for i in range(t.parent.shape[0]):
        body_inertia(t, d, i)


@direct_entry("i8(f8[::1],f8[::1])")
def set_numbers(source, target):
    """Copy a vector if it is finite."""
    return copy_finite(source, target)


@entry("i8(i8,i8)")
def update_transforms(tree, data):
    """R, p, l, H, and the inertias J, mc in world axes."""
    t = view(TREE, tree)
    d = view(DATA, data)
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    inertias(t, d)
    return OK


@entry("i8(i8,i8)")
def update_velocities(tree, data):
    """V and a."""
    t = view(TREE, tree)
    velocities(t, view(DATA, data), 0, t.parent.shape[0])
    return OK


@entry("i8(i8,i8)")
def update_accelerations(tree, data):
    """A from udot."""
    t = view(TREE, tree)
    accelerations(t, view(DATA, data), 0, t.parent.shape[0])
    return OK


@entry("i8(i8,i8,f8)")
def advance_positions(tree, data, h):
    """Move the positions along the velocities for a time h."""
    t = view(TREE, tree)
    advance(t, view(DATA, data), 0, t.parent.shape[0], h)
    return OK


@entry("f8(i8,i8)")
def read_potential_energy(tree, data):
    t = view(TREE, tree)
    return potential_energy(t, view(DATA, data), 0, t.parent.shape[0])


@direct_entry("i8(i8,i8,f8[::1],f8[:,:,::1])")
def forward_kinematics(tree, data, q, X):
    """World transforms (bodies, 4, 4) at q; the bottom rows are written by the caller once."""
    t = view(TREE, tree)
    d = view(DATA, data)
    if copy_finite(q, d.q) != OK:
        return REFUSED
    n = t.parent.shape[0]
    poses(t, d, 0, n)
    write_poses(t, d, X)
    return OK


@direct_entry("i8(i8,i8,f8[::1],f8[::1],f8[::1],f8[::1])")
def inverse_dynamics(tree, data, q, u, udot, tau):
    """tau(q, u, udot)."""
    t = view(TREE, tree)
    d = view(DATA, data)
    if copy_finite(q, d.q) + copy_finite(u, d.u) + copy_finite(udot, d.udot) != OK:
        return REFUSED
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
        body_velocity(t, d, i)
        body_acceleration(t, d, i)
        body_force(t, d, i)
    gather_joint_forces(t, d, 0, n)
    for k in range(tau.shape[0]):
        tau[k] = d.tau[k]
    return OK


@direct_entry("i8(i8,i8,f8[::1],f8[::1],f8[::1],f8[::1])")
def forward_dynamics(tree, data, q, u, tau, udot):
    """udot(q, u, tau).

    Returns:
        0, REFUSED, or 2 + the index of a coordinate whose inertia is not positive.
    """
    t = view(TREE, tree)
    d = view(DATA, data)
    if copy_finite(q, d.q) + copy_finite(u, d.u) + copy_finite(tau, d.tau) != OK:
        return REFUSED
    status = int(accelerations_of_state(t, d))
    for k in range(udot.shape[0]):
        udot[k] = d.udot[k]
    return OK if status < 0 else 2 + status
