"""Which results of which bodies are current, and evaluation of those that are not.

`DATA.fresh` has a bit per result and body. If a body's result is current, so are the same result of all bodies
above it and, of the body itself, the results it is made from. Changes keep that true: a coordinate's body is marked
together with all that hangs on it. Marking stops at bodies that are stale already.
"""

from __future__ import annotations

from kido.jit import inlined, kernel
from kido.joints.motion import hinge_column
from kido.kernels.inertia import body_inertia
from kido.kernels.inverse_dynamics import body_acceleration
from kido.kernels.kinematics import body_pose, body_velocity, has_hinge

POSE_BIT, INERTIA_BIT, VELOCITY_BIT, ACCELERATION_BIT = 1, 2, 4, 8
# By what changed: the results that go stale.
AFTER_POSITIONS = POSE_BIT | INERTIA_BIT | VELOCITY_BIT | ACCELERATION_BIT
AFTER_VELOCITIES = VELOCITY_BIT | ACCELERATION_BIT
AFTER_ACCELERATIONS = ACCELERATION_BIT


@kernel
def mark_below(t, d, first, stale):
    """Mark what hangs on bodies that are marked, of which `first` is the lowest."""
    for i in range(first + 1, t.parent.shape[0]):
        above = t.parent[i]
        # A body above `first` may be current, or stale from before: then so is all that hangs on it.
        if above >= first and d.fresh[i] & stale & ~d.fresh[above] != 0:
            d.fresh[i] = d.fresh[i] & (d.fresh[above] | ~stale)


@kernel
def mark_one(t, d, k, value, target, stale):
    """`mark` for a single coordinate k."""
    if target[k] == value:
        return 0
    target[k] = value
    i = t.body_of_dof[k]
    if d.fresh[i] & stale != 0:
        d.fresh[i] = d.fresh[i] & ~stale
        mark_below(t, d, i, stale)
    return 1


@kernel
def mark(t, d, values, target, stale):
    """Write new values of all coordinates, and mark what hangs on those that differ.

    Args:
        values: (dofs,) finite numbers.
        target: (dofs,) the field of `d` that they go to.
        stale: bits that they make stale.

    Returns:
        1 if any value differs, else 0.
    """
    n = t.parent.shape[0]
    changed = 0
    first = n
    for k in range(target.shape[0]):
        if target[k] != values[k]:
            changed = 1
            i = t.body_of_dof[k]
            if d.fresh[i] & stale != 0:
                d.fresh[i] = d.fresh[i] & ~stale
                if i < first:
                    first = i
        target[k] = values[k]
    mark_below(t, d, first, stale)
    return changed


@kernel
def stale_path(t, d, i, bit):
    """Write the bodies from i upwards that lack the bit into d.path, and return how many there are."""
    number = 0
    while i >= 0 and d.fresh[i] & bit == 0:
        d.path[number] = i
        number += 1
        i = t.parent[i]
    return number


@inlined
def evaluate_pose(t, d, i):
    body_pose(t, d, i)
    if has_hinge(t, i):
        hinge_column(t, d, i, t.first_dof[i])
    d.fresh[i] = d.fresh[i] | POSE_BIT
    d.num_poses[i] += 1


@inlined
def evaluate_inertia(t, d, i):
    body_inertia(t, d, i)
    d.fresh[i] = d.fresh[i] | INERTIA_BIT
    d.num_inertias[i] += 1


@inlined
def evaluate_velocity(t, d, i):
    body_velocity(t, d, i)
    d.fresh[i] = d.fresh[i] | VELOCITY_BIT
    d.num_velocities[i] += 1


@inlined
def evaluate_acceleration(t, d, i):
    body_acceleration(t, d, i)
    d.fresh[i] = d.fresh[i] | ACCELERATION_BIT
    d.num_accelerations[i] += 1


@kernel
def ensure_pose(t, d, i):
    """Bring R, p, l and H of body i up to date, and of those above it that need it."""
    for k in range(stale_path(t, d, i, POSE_BIT) - 1, -1, -1):
        evaluate_pose(t, d, d.path[k])


@kernel
def ensure_velocity(t, d, i):
    """Bring V and a of body i up to date, and what they need."""
    ensure_pose(t, d, i)
    for k in range(stale_path(t, d, i, VELOCITY_BIT) - 1, -1, -1):
        evaluate_velocity(t, d, d.path[k])


@kernel
def ensure_acceleration(t, d, i):
    """Bring A of body i up to date, and what it needs."""
    ensure_velocity(t, d, i)
    for k in range(stale_path(t, d, i, ACCELERATION_BIT) - 1, -1, -1):
        evaluate_acceleration(t, d, d.path[k])


@kernel
def ensure_all_poses(t, d):
    """R, p, l, H, J and mc of all bodies."""
    for i in range(t.parent.shape[0]):
        if d.fresh[i] & POSE_BIT == 0:
            evaluate_pose(t, d, i)
        if d.fresh[i] & INERTIA_BIT == 0:
            evaluate_inertia(t, d, i)


@kernel
def ensure_all_velocities(t, d):
    """V and a of all bodies; their poses must be current."""
    for i in range(t.parent.shape[0]):
        if d.fresh[i] & VELOCITY_BIT == 0:
            evaluate_velocity(t, d, i)


@kernel
def ensure_all_accelerations(t, d):
    """A of all bodies; their velocities must be current."""
    for i in range(t.parent.shape[0]):
        if d.fresh[i] & ACCELERATION_BIT == 0:
            evaluate_acceleration(t, d, i)


@kernel
def accelerations_written(t, d):
    """A of all bodies was just computed from the current udot by a recursion of its own."""
    for i in range(t.parent.shape[0]):
        d.fresh[i] = d.fresh[i] | ACCELERATION_BIT
        d.num_accelerations[i] += 1
