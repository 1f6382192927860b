"""Velocity changes by impulses, and the wrenches that joints carry."""

from __future__ import annotations

import numpy as np

from kido.errors import StateError
from kido.kernels import matrix_entries as entries
from kido.math.transform import as_numbers
from kido.quantities.failures import singular
from kido.quantities.quantity import ACCELERATIONS, POSITIONS, derived
from kido.quantities.soft import refuse_free


def changes(state, on_bodies, on_joints, prescribed=None):
    """M^-1 (impulses + sum J^T p) (dofs,) of joint impulses, and of impulses (6,) on bodies by their index.

    Args:
        on_bodies: about the bodies' origins, world axes.
        on_joints: (dofs,).
        prescribed: flags (dofs,) of coordinates that do not give way; None: none.
    """
    w = state.settled or state.settle()
    if state.has_soft:
        refuse_free(state, "velocity changes by impulses")
    if state.deformed is not None:
        return state.deformed.velocity_changes(on_bodies, on_joints, prescribed)
    out, by_link, tree = np.empty(w.dofs), state.wrenches_by_link(on_bodies), state.tree
    if prescribed is not None:
        tree.prescribed[:] = prescribed
    status = entries.velocity_changes.call(w.tree, w.held, on_joints, by_link, out)
    tree.prescribed[:] = 0  # all other results are those of the free tree
    if status:
        singular(state, status)
    return out


@derived(POSITIONS, ("dofs",), is_property=True, equation="M (u+ - u) = joint impulses + sum J^T p",
         unit="m/s or rad/s")  # fmt: skip
def velocity_changes(state, joint_impulses=None, body_impulses=None):
    """What impulses do to the velocities.

    Without arguments, the impulses that a state holds: coordinates whose actuators give accelerations or velocities,
    or lock, do not give way. By given impulses all coordinates give way.

    Args:
        joint_impulses: (dofs,) [N s, N m s]; None: none.
        body_impulses: (bodies, 6) [angular; linear] impulses about the bodies' origins, world axes; None: none.

    Raises:
        ModelError: the inertia seen by a coordinate is not positive; points of a soft body are free.
    """
    if joint_impulses is None and body_impulses is None:
        on_bodies = {i: state.impulse_on(i) for i in state.impulses}
        return changes(state, on_bodies, state.joint_impulses, state.prescribed_by_actuators())
    w = state.settled or state.settle()
    on_joints = np.zeros(w.dofs) if joint_impulses is None else state.finite(joint_impulses, "joint_impulses")
    on_bodies = {}
    if body_impulses is not None:
        shape = w.poses[0], 6
        try:
            given = as_numbers(body_impulses)
        except (TypeError, ValueError):
            given = np.zeros(0)
        if given.shape != shape or not np.isfinite(given).all():
            raise StateError(
                f"skeleton {state.name!r}: body_impulses: expected finite numbers of shape {shape}, "
                f"got {body_impulses!r}"
            )
        on_bodies = dict(enumerate(given))
    return changes(state, on_bodies, on_joints)


@derived(ACCELERATIONS, ("bodies", 6), is_property=True, unit="N m, N", frame="world axes", skins="held")
def reaction_wrenches(state):
    """Wrench that each body's joint carries to it, about the body's origin.

    [torque; force] on the body from its parent, welded ones included: all that the joint does, its constraint,
    motor, spring and damper together. For the accelerations and external forces of the state, so that it fits the
    current one after `compute_forward_dynamics` or `compute_inverse_dynamics`; contacts of a world are no part.
    """
    external = np.zeros((state.skeleton.num_bodies, 6))
    for index in state.applied:
        external[index] = state.external_wrench(index)
    return reactions(state, external)


def reactions(state, external):
    """`reaction_wrenches` with wrenches (bodies, 6) from outside on the bodies, about their origins, world axes."""
    w, out = state.settled or state.settle(), np.empty_like(external)
    if state.deformed is not None:
        return state.deformed.answer("reaction_wrenches", {"external": external})
    entries.reaction_wrenches.call(w.tree, w.held, state.members(), external, out)
    return out
