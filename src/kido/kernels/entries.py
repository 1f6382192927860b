"""Calls from Python into the recursions: a tree's address, its data's address, and what goes in or out.

`update_*` entries fill the results of the state held in the data; the others take the state as arguments
and return REFUSED if an argument has another size than the tree or is not finite.
"""

from __future__ import annotations

from kido.jit import direct_entry, entry, inlined, kernel, view
from kido.kernels.energy import kinetic_energy, mass_moment, momentum, potential_energy
from kido.kernels.forward_dynamics import (
    acceleration_scatter,
    articulated_inertias,
    bias_gather,
    inertias_and_bias,
    prescribed_forces,
    start_bias,
)
from kido.kernels.inertia import body_inertia, start_inertia
from kido.kernels.integration import advance
from kido.kernels.inverse_dynamics import (
    accelerations,
    body_acceleration,
    body_force,
    gather_joint_forces,
    joint_forces,
)
from kido.kernels.kinematics import body_velocity, poses, transforms, velocities
from kido.kernels.mass_matrix import mass_matrix, mass_matrix_from_composites, start_composite
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


@entry("i8(i8,i8)")
def update_mass_matrix(tree, data):
    """mass_matrix."""
    t = view(TREE, tree)
    d = view(DATA, data)
    mass_matrix(t, d, 0, t.parent.shape[0], d.mass_matrix)
    return OK


@entry("i8(i8,i8)")
def update_joint_forces(tree, data):
    """tau that gives the held udot, without joint springs, damping and friction."""
    t = view(TREE, tree)
    d = view(DATA, data)
    n = t.parent.shape[0]
    accelerations(t, d, 0, n)
    joint_forces(t, d, 0, n)
    return OK


@entry("i8(i8,i8)")
def update_joint_accelerations(tree, data):
    """udot of the free coordinates from tau (prescribed ones: tau from udot).

    Returns:
        -1, or the index of a coordinate whose inertia is not positive.
    """
    t = view(TREE, tree)
    d = view(DATA, data)
    n = t.parent.shape[0]
    status = int(articulated_inertias(t, d, 0, n, 0.0))
    bias_gather(t, d, 0, n)
    acceleration_scatter(t, d, 0, n)
    prescribed_forces(t, d, 0, n)
    return status


@entry("i8(i8,i8,f8)")
def advance_positions(tree, data, h):
    """Move the positions along the velocities for a time h."""
    t = view(TREE, tree)
    advance(t, view(DATA, data), 0, t.parent.shape[0], h)
    return OK


@entry("f8(i8,i8)")
def read_kinetic_energy(tree, data):
    t = view(TREE, tree)
    return kinetic_energy(t, view(DATA, data), 0, t.parent.shape[0])


@entry("f8(i8,i8)")
def read_potential_energy(tree, data):
    t = view(TREE, tree)
    return potential_energy(t, view(DATA, data), 0, t.parent.shape[0])


@entry("UniTuple(f8,6)(i8,i8)")
def read_momentum(tree, data):
    t = view(TREE, tree)
    return momentum(t, view(DATA, data), 0, t.parent.shape[0])


@entry("UniTuple(f8,4)(i8,i8)")
def read_mass_moment(tree, data):
    t = view(TREE, tree)
    return mass_moment(t, view(DATA, data), 0, t.parent.shape[0])


@inlined
def member_row(t, m, x, y, z, p):
    """A row of a body's world transform from that of its link: (x, y, z) and the position p."""
    Y = t.member_pose
    return (
        x * Y[m, 0] + y * Y[m, 4] + z * Y[m, 8],
        x * Y[m, 1] + y * Y[m, 5] + z * Y[m, 9],
        x * Y[m, 2] + y * Y[m, 6] + z * Y[m, 10],
        x * Y[m, 3] + y * Y[m, 7] + z * Y[m, 11] + p,
    )


@inlined
def write_member_transform(t, d, m, X):
    """World transform of a body of the skeleton, from that of its link."""
    i = t.member_link[m]
    R = d.R
    a0, a1, a2, a3 = R[i, 0], R[i, 1], R[i, 2], d.p[i, 0]
    b0, b1, b2, b3 = R[i, 3], R[i, 4], R[i, 5], d.p[i, 1]
    c0, c1, c2, c3 = R[i, 6], R[i, 7], R[i, 8], d.p[i, 2]
    if t.member_apart[m] != 0:
        a0, a1, a2, a3 = member_row(t, m, a0, a1, a2, a3)
        b0, b1, b2, b3 = member_row(t, m, b0, b1, b2, b3)
        c0, c1, c2, c3 = member_row(t, m, c0, c1, c2, c3)
    X[m, 0, 0], X[m, 0, 1], X[m, 0, 2], X[m, 0, 3] = a0, a1, a2, a3
    X[m, 1, 0], X[m, 1, 1], X[m, 1, 2], X[m, 1, 3] = b0, b1, b2, b3
    X[m, 2, 0], X[m, 2, 1], X[m, 2, 2], X[m, 2, 3] = c0, c1, c2, c3
    X[m, 3, 0], X[m, 3, 1], X[m, 3, 2], X[m, 3, 3] = 0.0, 0.0, 0.0, 1.0


@direct_entry("i8(i8,i8,f8[::1],f8[:,:,::1])")
def forward_kinematics(tree, data, q, X):
    """World transforms (bodies, 4, 4) at q; the bottom rows are written by the caller once."""
    t = view(TREE, tree)
    d = view(DATA, data)
    if copy_finite(q, d.q) != OK:
        return REFUSED
    n = t.parent.shape[0]
    poses(t, d, 0, n)
    for m in range(X.shape[0]):
        write_member_transform(t, d, m, X)
    return OK


@direct_entry("i8(i8,i8,f8[::1],f8[:,::1])")
def mass_matrix_at(tree, data, q, M):
    """Mass matrix at q."""
    t = view(TREE, tree)
    d = view(DATA, data)
    if copy_finite(q, d.q) != OK:
        return REFUSED
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
        start_composite(t, d, i)
    mass_matrix_from_composites(t, d, 0, n, M)
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
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
        body_velocity(t, d, i)
        start_inertia(t, d, i)
        start_bias(t, d, i)
    status = int(inertias_and_bias(t, d, 0, n, 0.0))
    acceleration_scatter(t, d, 0, n)
    for k in range(udot.shape[0]):
        udot[k] = d.udot[k]
    return OK if status < 0 else 2 + status
