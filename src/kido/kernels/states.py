"""The state that an entry works on: what its arguments give, or what the data holds.

Entries that compute a result of the current state and of a given one alike take `given`. If it is 0 the state arguments
are not looked at, and what the result needs must be current in the data. If it is 1 they are copied in, and what
the result needs is computed.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.kernels.entries import OK, REFUSED, copy_finite
from kido.kernels.inertia import body_inertia
from kido.kernels.inverse_dynamics import accelerations
from kido.kernels.jacobian import end_of, path_transforms, path_velocities
from kido.kernels.kinematics import poses, transforms, velocities
from kido.kernels.lazy import ensure_pose, ensure_velocity
from kido.math.so3 import cross


@kernel
def load_poses(t, d, given, q):
    """R, p, l of all bodies."""
    if given == 0:
        return OK
    if copy_finite(q, d.q) != OK:
        return REFUSED
    poses(t, d, 0, t.parent.shape[0])
    return OK


@kernel
def load_positions(t, d, given, q):
    """R, p, l, H of all bodies."""
    if given == 0:
        return OK
    if copy_finite(q, d.q) != OK:
        return REFUSED
    transforms(t, d, 0, t.parent.shape[0])
    return OK


@kernel
def load_inertias(t, d, given, q):
    """`load_positions`, and J and mc."""
    if given == 0:
        return OK
    if load_positions(t, d, given, q) != OK:
        return REFUSED
    for i in range(t.parent.shape[0]):
        body_inertia(t, d, i)
    return OK


@inlined
def body_twist(t, d, i):
    """V of body i: `body_velocity` without the velocity product."""
    w0, w1, w2, v0, v1, v2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(t.first_dof[i], t.first_dof[i + 1]):
        s = d.u[k]
        w0 += d.H[k, 0] * s
        w1 += d.H[k, 1] * s
        w2 += d.H[k, 2] * s
        v0 += d.H[k, 3] * s
        v1 += d.H[k, 4] * s
        v2 += d.H[k, 5] * s
    parent = t.parent[i]
    if parent >= 0:
        q0, q1, q2 = d.V[parent, 0], d.V[parent, 1], d.V[parent, 2]
        c0, c1, c2 = cross(q0, q1, q2, d.l[i, 0], d.l[i, 1], d.l[i, 2])
        w0 += q0
        w1 += q1
        w2 += q2
        v0 += d.V[parent, 3] + c0
        v1 += d.V[parent, 4] + c1
        v2 += d.V[parent, 5] + c2
    d.V[i, 0], d.V[i, 1], d.V[i, 2], d.V[i, 3], d.V[i, 4], d.V[i, 5] = w0, w1, w2, v0, v1, v2


@kernel
def load_twists(t, d, given, q, u):
    """`load_positions`, and V."""
    if given == 0:
        return OK
    if copy_finite(q, d.q) + copy_finite(u, d.u) != OK:
        return REFUSED
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    for i in range(n):
        body_twist(t, d, i)
    return OK


@kernel
def load_velocities(t, d, given, q, u):
    """`load_positions`, V and a."""
    if given == 0:
        return OK
    if copy_finite(q, d.q) + copy_finite(u, d.u) != OK:
        return REFUSED
    n = t.parent.shape[0]
    transforms(t, d, 0, n)
    velocities(t, d, 0, n)
    return OK


@kernel
def load_accelerations(t, d, given, q, u, udot):
    """`load_velocities`, and A."""
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
def load_path(t, d, path, given, q):
    """R, p, l, H of the bodies of a path; of the current state those that are stale."""
    if given == 0:
        ensure_pose(t, d, end_of(path))
        return OK
    if copy_finite(q, d.q) != OK:
        return REFUSED
    path_transforms(t, d, path)
    return OK


@kernel
def load_path_velocities(t, d, path, given, q, u):
    """`load_path`, V and a."""
    if given == 0:
        ensure_velocity(t, d, end_of(path))
        return OK
    if copy_finite(q, d.q) + copy_finite(u, d.u) != OK:
        return REFUSED
    path_transforms(t, d, path)
    path_velocities(t, d, path)
    return OK
