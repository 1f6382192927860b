"""The state that an entry works on: what its arguments give, or what the data holds.

Entries that compute a result of the held state and of a given one alike take `given`. If it is 0 the state arguments
are not looked at, and what the result needs must be current in the data. If it is 1 they are copied in, and what
the result needs is computed.
"""

from __future__ import annotations

from kido.jit import kernel
from kido.kernels.entries import OK, REFUSED, copy_finite
from kido.kernels.inertia import body_inertia
from kido.kernels.inverse_dynamics import accelerations
from kido.kernels.jacobian import end_of, path_transforms, path_velocities
from kido.kernels.kinematics import poses, transforms, velocities
from kido.kernels.lazy import want_pose, want_velocity


@kernel
def take_poses(t, d, given, q):
    """R, p, l of all bodies."""
    if given == 0:
        return OK
    if copy_finite(q, d.q) != OK:
        return REFUSED
    poses(t, d, 0, t.parent.shape[0])
    return OK


@kernel
def take_positions(t, d, given, q):
    """R, p, l, H of all bodies."""
    if given == 0:
        return OK
    if copy_finite(q, d.q) != OK:
        return REFUSED
    transforms(t, d, 0, t.parent.shape[0])
    return OK


@kernel
def take_inertias(t, d, given, q):
    """`take_positions`, and J and mc."""
    if given == 0:
        return OK
    if take_positions(t, d, given, q) != OK:
        return REFUSED
    for i in range(t.parent.shape[0]):
        body_inertia(t, d, i)
    return OK


@kernel
def take_velocities(t, d, given, q, u):
    """`take_positions`, V and a."""
    if given == 0:
        return OK
    if copy_finite(q, d.q) + copy_finite(u, d.u) != OK:
        return REFUSED
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    velocities(t, d, 0, n)
    return OK


@kernel
def take_accelerations(t, d, given, q, u, udot):
    """`take_velocities`, and A."""
    if given == 0:
        return OK
    if copy_finite(q, d.q) + copy_finite(u, d.u) + copy_finite(udot, d.udot) != OK:
        return REFUSED
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    velocities(t, d, 0, n)
    accelerations(t, d, 0, n)
    return OK


@kernel
def take_path(t, d, path, given, q):
    """R, p, l, H of the bodies of a path; of the held state those that are stale."""
    if given == 0:
        want_pose(t, d, end_of(path))
        return OK
    if copy_finite(q, d.q) != OK:
        return REFUSED
    path_transforms(t, d, path)
    return OK


@kernel
def take_path_velocities(t, d, path, given, q, u):
    """`take_path`, V and a."""
    if given == 0:
        want_velocity(t, d, end_of(path))
        return OK
    if copy_finite(q, d.q) + copy_finite(u, d.u) != OK:
        return REFUSED
    path_transforms(t, d, path)
    path_velocities(t, d, path)
    return OK
