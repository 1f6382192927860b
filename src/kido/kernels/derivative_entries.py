"""Calls from Python into the derivative sweeps: addresses of tree, data and workspace, the state, and the result.

The first group takes the state as arguments and returns REFUSED as `kido.kernels.entries` does; the others take what
the data hold.
"""

from __future__ import annotations

from kido.jit import direct_entry, inlined, kernel, view
from kido.kernels.branch_factor import factor, invert, solve_negative
from kido.kernels.common_point import motion_at_point
from kido.kernels.derivatives import composite_sweep, joint_force_derivatives, mass_matrix_from_momenta
from kido.kernels.entries import OK, REFUSED, copy_finite
from kido.kernels.forward_dynamics import (
    acceleration_scatter,
    inertias_and_bias,
    start_bias,
)
from kido.kernels.inertia import body_inertia, start_inertia
from kido.kernels.inverse_dynamics import body_acceleration
from kido.kernels.kinematics import body_velocity, transforms
from kido.tree.derivatives import DERIVATIVES
from kido.tree.schema import DATA, TREE


@inlined
def clear(D):
    """D = 0."""
    for m in range(D.shape[0]):
        for r in range(D.shape[1]):
            for c in range(D.shape[2]):
                D[m, r, c] = 0.0


@kernel
def any_load(t, d):
    """1 if external forces act on a body, or gravity does not."""
    for i in range(t.parent.shape[0]):
        if d.has_external[i] != 0 or t.gravity_factor[i] != 1.0:
            return 1
    return 0


@kernel
def derive_joint_forces(t, d, w, D):
    """dtau/dq, dtau/du, M into D from H, l, V, A, J, mc."""
    n = t.parent.shape[0]
    clear(D)
    motion_at_point(t, d, w, 0, n, 0.0, 0.0, 0.0)
    loads = any_load(t, d)
    composite_sweep(t, d, w, 0, n, loads)
    joint_force_derivatives(t, d, w, 0, n, loads, D, 0, 1)
    mass_matrix_from_momenta(w, 0, t.first_dof[n], D, 2)


@kernel
def derive_joint_accelerations(t, d, w, D):
    """dudot/dq, dudot/du, dudot/dtau into D from H, l, V, A, J, mc, U and Dinv.

    With the accelerations held, forces change by the derivatives of inverse dynamics; M^-1 of that has to be undone.
    """
    n = t.parent.shape[0]
    size = t.first_dof[n]
    clear(w.X)
    motion_at_point(t, d, w, 0, n, 0.0, 0.0, 0.0)
    loads = any_load(t, d)
    composite_sweep(t, d, w, 0, n, loads)
    joint_force_derivatives(t, d, w, 0, n, loads, w.X, 0, 1)
    factor(t, d, w, 0, n)
    X = w.X
    solve_negative(d, w, size)
    for m in range(2):
        for r in range(size):
            for c in range(size):
                D[m, r, c] = X[m, r, c]
    invert(d, w, size)
    for r in range(size):
        for c in range(size):
            D[2, r, c] = X[0, r, c]


@direct_entry("i8(i8,i8,i8,f8[::1],f8[::1],f8[::1],f8[:,:,::1])")
def inverse_dynamics_derivatives(tree, data, work, q, u, udot, D):
    """dtau/dq, dtau/du, M at (q, u, udot)."""
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
    derive_joint_forces(t, d, view(DERIVATIVES, work), D)
    return OK


@direct_entry("i8(i8,i8,i8,f8[::1],f8[::1],f8[::1],f8[:,:,::1])")
def forward_dynamics_derivatives(tree, data, work, q, u, tau, D):
    """dudot/dq, dudot/du, M^-1 at (q, u, tau).

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
    status = inertias_and_bias(t, d, 0, n, 0.0)
    acceleration_scatter(t, d, 0, n)
    derive_joint_accelerations(t, d, view(DERIVATIVES, work), D)
    return OK if status < 0 else 2 + status
