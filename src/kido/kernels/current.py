"""Calls from Python on the state held in a tree's data: set it, and bring results up to date body by body.

Where `kido.kernels.entries` evaluates unconditionally, these evaluate what `DATA.fresh` says is stale.
"""

from __future__ import annotations

from kido.jit import direct_entry, kernel, view
from kido.kernels.entries import REFUSED
from kido.kernels.forward_dynamics import (
    acceleration_scatter,
    articulated_inertias,
    bias_gather,
    prescribed_forces,
)
from kido.kernels.inverse_dynamics import joint_forces
from kido.kernels.lazy import (
    AFTER_ACCELERATIONS,
    AFTER_POSITIONS,
    AFTER_VELOCITIES,
    accelerations_written,
    ensure_acceleration,
    ensure_all_accelerations,
    ensure_all_poses,
    ensure_all_velocities,
    ensure_pose,
    ensure_velocity,
    mark,
    mark_one,
)
from kido.kernels.placement import member_arm, write_pose
from kido.math.so3 import cross
from kido.tree.schema import DATA, TREE

UNCHANGED, CHANGED = 0, 2  # or REFUSED
OUTSIDE = 3  # CHANGED, to positions beyond limits
SLACK = 1e-3  # [m, rad] beyond a limit that is of no account: contacts and measurements are no better


@kernel
def checked(source, size):
    """REFUSED if a vector has another size, or a number that is NaN or infinite; else UNCHANGED."""
    if source.shape[0] != size:
        return REFUSED
    for k in range(size):
        if source[k] * 0.0 != 0.0:
            return REFUSED
    return UNCHANGED


@kernel
def is_outside(t, k, q):
    """Whether a position of a coordinate is beyond its limits."""
    return q < t.lower[k] - SLACK or q > t.upper[k] + SLACK


@direct_entry("i8(i8,i8,f8[::1])")
def set_positions(tree, data, source):
    """Write q; returns UNCHANGED, CHANGED, OUTSIDE or REFUSED."""
    t = view(TREE, tree)
    d = view(DATA, data)
    if checked(source, d.q.shape[0]) != UNCHANGED:
        return REFUSED
    if mark(t, d, source, d.q, AFTER_POSITIONS) == 0:
        return UNCHANGED
    for k in range(source.shape[0]):
        if is_outside(t, k, source[k]):
            return OUTSIDE
    return CHANGED


@direct_entry("i8(i8,i8,f8[::1])")
def set_velocities(tree, data, source):
    """Write u; returns UNCHANGED, CHANGED or REFUSED."""
    t = view(TREE, tree)
    d = view(DATA, data)
    if checked(source, d.u.shape[0]) != UNCHANGED:
        return REFUSED
    return CHANGED if mark(t, d, source, d.u, AFTER_VELOCITIES) != 0 else UNCHANGED


@direct_entry("i8(i8,i8,f8[::1])")
def set_accelerations(tree, data, source):
    """Write udot; returns UNCHANGED, CHANGED or REFUSED."""
    t = view(TREE, tree)
    d = view(DATA, data)
    if checked(source, d.udot.shape[0]) != UNCHANGED:
        return REFUSED
    return CHANGED if mark(t, d, source, d.udot, AFTER_ACCELERATIONS) != 0 else UNCHANGED


@direct_entry("i8(i8,i8,f8[::1])")
def set_forces(tree, data, source):
    """Write tau; returns UNCHANGED, CHANGED or REFUSED."""
    t = view(TREE, tree)
    d = view(DATA, data)
    if checked(source, d.tau.shape[0]) != UNCHANGED:
        return REFUSED
    return CHANGED if mark(t, d, source, d.tau, 0) != 0 else UNCHANGED


@direct_entry("i8(i8,i8,i8,i8,f8)")
def set_number(tree, data, field, k, value):
    """Write number k of q, u, udot or tau (field 0 to 3); returns UNCHANGED, CHANGED, OUTSIDE or REFUSED."""
    t = view(TREE, tree)
    d = view(DATA, data)
    if value * 0.0 != 0.0:
        return REFUSED
    if field == 0:
        changed = mark_one(t, d, k, value, d.q, AFTER_POSITIONS)
        if changed != 0 and is_outside(t, k, value):
            return OUTSIDE
    elif field == 1:
        changed = mark_one(t, d, k, value, d.u, AFTER_VELOCITIES)
    elif field == 2:
        changed = mark_one(t, d, k, value, d.udot, AFTER_ACCELERATIONS)
    else:
        changed = mark_one(t, d, k, value, d.tau, 0)
    return CHANGED if changed != 0 else UNCHANGED


@direct_entry("i8(i8,i8,i8)")
def refresh(tree, data, level):
    """R, p, l, H, J, mc of all bodies; from level 1 on V and a; from level 2 on A, from udot."""
    t = view(TREE, tree)
    d = view(DATA, data)
    ensure_all_poses(t, d)
    if level > 0:
        ensure_all_velocities(t, d)
    if level > 1:
        ensure_all_accelerations(t, d)
    return 0


@direct_entry("i8(i8,i8)")
def joint_forces_of_state(tree, data):
    """tau that gives the current udot, without joint springs, damping and friction."""
    t = view(TREE, tree)
    d = view(DATA, data)
    ensure_all_poses(t, d)
    ensure_all_velocities(t, d)
    ensure_all_accelerations(t, d)
    joint_forces(t, d, 0, t.parent.shape[0])
    return 0


@direct_entry("i8(i8,i8)")
def joint_accelerations_of_state(tree, data):
    """udot of the free coordinates from tau (prescribed ones: tau from udot), and A.

    Returns:
        -1, or the index of a coordinate whose inertia is not positive.
    """
    t = view(TREE, tree)
    d = view(DATA, data)
    n = t.parent.shape[0]
    ensure_all_poses(t, d)
    ensure_all_velocities(t, d)
    status = int(articulated_inertias(t, d, 0, n, 0.0))
    bias_gather(t, d, 0, n)
    acceleration_scatter(t, d, 0, n)
    prescribed_forces(t, d, 0, n)
    accelerations_written(t, d)
    return status


@direct_entry("i8(i8,i8,i8,f8[:,::1])")
def pose_of(tree, data, m, X):
    """Write the world transform of body m of the skeleton; returns how often its pose was evaluated so far."""
    t = view(TREE, tree)
    d = view(DATA, data)
    i = t.member_link[m]
    ensure_pose(t, d, i)
    write_pose(t, d, m, X)
    return d.num_poses[i]


@direct_entry("i8(i8,i8,i8,f8[::1])")
def velocity_of(tree, data, m, V):
    """Write [w; v] of body m's origin, world axes; returns how often its velocity was evaluated so far."""
    t = view(TREE, tree)
    d = view(DATA, data)
    i = t.member_link[m]
    ensure_velocity(t, d, i)
    w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
    v0, v1, v2 = d.V[i, 3], d.V[i, 4], d.V[i, 5]
    if t.member_apart[m] != 0:
        r0, r1, r2 = member_arm(t, d, m)
        x, y, z = cross(w0, w1, w2, r0, r1, r2)
        v0 += x
        v1 += y
        v2 += z
    V[0], V[1], V[2], V[3], V[4], V[5] = w0, w1, w2, v0, v1, v2
    return d.num_velocities[i]


@direct_entry("i8(i8,i8,i8,f8[::1])")
def acceleration_of(tree, data, m, A):
    """Write [wdot; classic acceleration] of body m's origin, world axes; returns how often it was evaluated."""
    t = view(TREE, tree)
    d = view(DATA, data)
    i = t.member_link[m]
    ensure_acceleration(t, d, i)
    e0, e1, e2 = d.A[i, 0], d.A[i, 1], d.A[i, 2]
    a0, a1, a2 = d.A[i, 3] + t.gravity[0], d.A[i, 4] + t.gravity[1], d.A[i, 5] + t.gravity[2]
    if t.member_apart[m] != 0:
        r0, r1, r2 = member_arm(t, d, m)
        w0, w1, w2 = d.V[i, 0], d.V[i, 1], d.V[i, 2]
        x, y, z = cross(e0, e1, e2, r0, r1, r2)
        c0, c1, c2 = cross(w0, w1, w2, r0, r1, r2)
        b0, b1, b2 = cross(w0, w1, w2, c0, c1, c2)
        a0 += x + b0
        a1 += y + b1
        a2 += z + b2
    A[0], A[1], A[2], A[3], A[4], A[5] = e0, e1, e2, a0, a1, a2
    return d.num_accelerations[i]
