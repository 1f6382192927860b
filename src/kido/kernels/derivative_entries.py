"""Calls from Python into the derivative sweeps: addresses of tree, data and workspace, the state, and the result.

They return REFUSED as those of `kido.kernels.entries` do, and else overwrite the data with the state.
"""

from __future__ import annotations

from kido.jit import LANES, clear, direct_entry, inlined, kernel, lanes_view, view
from kido.kernels.common_point import motion_at_point
from kido.kernels.derivatives import composite_sweep, joint_force_derivatives, mass_matrix_from_momenta
from kido.kernels.entries import OK, REFUSED, copy_finite
from kido.kernels.forward_dynamics import (
    accelerations_of_state,
)
from kido.kernels.inertia import body_inertia
from kido.kernels.inverse_dynamics import body_acceleration
from kido.kernels.inverse_mass import factor, invert, solve_negative
from kido.kernels.kinematics import body_velocity, transforms
from kido.kernels.motion_derivatives import (
    centroidal_derivatives,
    point_acceleration_derivatives,
    point_hessian,
    point_velocity_derivatives,
)
from kido.tree.schema import DATA, TREE
from kido.tree.workspace import DERIVATIVES, PATH, ROWS


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
    for k in range(t.first_dof[n]):
        D[2, k, k] += t.armature[k]


@kernel
def derive_joint_accelerations(t, d, w, D):
    """`derive_joint_accelerations_by_blocks` of several samples side by side."""
    derive_joint_accelerations_by_blocks(t, d, w, w, w, 1, D)


@kernel
def derive_joint_accelerations_by_blocks(t, d, w, rows, blocks, wide, D):
    """dudot/dq, dudot/du, dudot/dtau into D from H, l, V, A, J, mc, U and Dinv.

    With the accelerations held, forces change by the derivatives of inverse dynamics; M^-1 of that has to be undone.

    Args:
        rows, blocks: work space X by numbers, and by blocks of `wide` neighbours.
    """
    n = t.parent.shape[0]
    size = t.first_dof[n]
    X = rows.X
    clear(X)
    motion_at_point(t, d, w, 0, n, 0.0, 0.0, 0.0)
    loads = any_load(t, d)
    composite_sweep(t, d, w, 0, n, loads)
    joint_force_derivatives(t, d, w, 0, n, loads, X, 0, 1)
    factor(t, d, w, 0, n)
    solve_negative(d, w, blocks, size)
    for m in range(2):
        for r in range(size):
            for c in range(size):
                D[m, r, c] = X[m, r, c]
    invert(d, w, rows, blocks, wide, size)
    for r in range(size):
        for c in range(size):
            D[2, r, c] = X[0, r, c]


@kernel
def move(t, d):
    """Poses, inertias, velocities and accelerations of all bodies."""
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_inertia(t, d, i)
        body_velocity(t, d, i)
        body_acceleration(t, d, i)


@direct_entry("i8(i8,i8,i8,f8[::1],f8[::1],f8[::1],f8[:,:,::1])")
def inverse_dynamics_derivatives(tree, data, work, q, u, udot, D):
    """dtau/dq, dtau/du, M at (q, u, udot)."""
    t = view(TREE, tree)
    d = view(DATA, data)
    if copy_finite(q, d.q) + copy_finite(u, d.u) + copy_finite(udot, d.udot) != OK:
        return REFUSED
    move(t, d)
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
    status = int(accelerations_of_state(t, d))
    w = view(DERIVATIVES, work)
    rows, blocks = view(ROWS, w.rows[0]), lanes_view(ROWS, w.rows[1])
    derive_joint_accelerations_by_blocks(t, d, w, rows, blocks, LANES, D)
    return OK if status < 0 else 2 + status


@direct_entry("i8(i8,i8,i8,f8[::1],f8[::1],f8[::1],f8[:,:,::1])")
def centroidal_momentum_derivatives(tree, data, work, q, u, udot, D):
    """dh/dq, dhdot/dq, dhdot/du, dhdot/dudot at (q, u, udot).

    Returns:
        0, REFUSED, or 2: no body has mass.
    """
    t = view(TREE, tree)
    d = view(DATA, data)
    w = view(DERIVATIVES, work)
    if copy_finite(q, d.q) + copy_finite(u, d.u) + copy_finite(udot, d.udot) != OK:
        return REFUSED
    n = t.parent.shape[0]
    move(t, d)
    motion_at_point(t, d, w, 0, n, t.gravity[0], t.gravity[1], t.gravity[2])
    composite_sweep(t, d, w, 0, n, 0)
    return 2 * centroidal_derivatives(t, d, w, 0, n, D)


@inlined
def tip(path):
    """Last body of a path."""
    p = view(PATH, path)
    return p.body[p.body.shape[0] - 1]


@direct_entry("i8(i8,i8,i8,i8,f8,f8,f8,f8[::1],f8[::1],f8[:,:,::1])")
def velocity_derivatives(tree, data, work, path, x, y, z, q, u, D):
    """dV/dq, dV/du of the point (x, y, z) of the last body of a path, in its axes, at (q, u); D holds zeros."""
    t = view(TREE, tree)
    d = view(DATA, data)
    w = view(DERIVATIVES, work)
    if copy_finite(q, d.q) + copy_finite(u, d.u) != OK:
        return REFUSED
    for k in range(u.shape[0]):
        d.udot[k] = 0.0
    move(t, d)
    motion_at_point(t, d, w, 0, t.parent.shape[0], 0.0, 0.0, 0.0)
    point_velocity_derivatives(t, d, w, tip(path), x, y, z, D)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8,f8,f8,i8,f8[::1],f8[::1],f8[::1],f8[:,:,::1])")
def acceleration_derivatives(tree, data, work, path, x, y, z, classic, q, u, udot, D):
    """dA/dq, dA/du, dA/dudot of the point (x, y, z) of the last body of a path; D holds zeros."""
    t = view(TREE, tree)
    d = view(DATA, data)
    w = view(DERIVATIVES, work)
    if copy_finite(q, d.q) + copy_finite(u, d.u) + copy_finite(udot, d.udot) != OK:
        return REFUSED
    move(t, d)
    motion_at_point(t, d, w, 0, t.parent.shape[0], t.gravity[0], t.gravity[1], t.gravity[2])
    point_acceleration_derivatives(t, d, w, tip(path), x, y, z, classic, D)
    return OK


@direct_entry("i8(i8,i8,i8,i8,f8,f8,f8,f8[::1],f8[:,:,::1])")
def jacobian_hessian(tree, data, work, path, x, y, z, q, D):
    """dJ/dq of the point (x, y, z) of the last body of a path, at q; D holds zeros."""
    t = view(TREE, tree)
    d = view(DATA, data)
    if copy_finite(q, d.q) != OK:
        return REFUSED
    transforms(t, d, 0, t.parent.shape[0])
    point_hessian(t, d, view(DERIVATIVES, work), tip(path), x, y, z, D)
    return OK
