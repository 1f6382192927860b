"""Bodies let go and taken hold of while they move: momentum is kept, and what energy is lost is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.math.transform import inverse_transform
from kido.quantities.centroidal import momentum_about
from kido.quantities.impulses import changes
from kido.quantities.matrices import mass_matrix
from kido.reprs import brief
from kido.skeleton.editing.transplant import (
    change_of_joint,
    check_mimics,
    joint_to_use,
    motion_of_joint,
    motion_to_keep,
    subtree,
)
from kido.skeleton.editing.transplant import transplant as move
from kido.skeleton.joints.joint import Joint
from kido.skeleton.joints.loop_joint import LoopJoint
from kido.skeleton.joints.types import JOINT_TYPES
from kido.skeleton.naming import free_name
from kido.skeleton.state.actuation import is_prescribed
from kido.skeleton.state.arrays import Array

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.skeleton import Skeleton

_RANK_TOLERANCE = 1e-12  # share of the largest eigenvalue below which a row of a loop says nothing new


@dataclass(frozen=True, eq=False)
class Attachment:
    """What taking hold of a body did.

    Attributes:
        joint: the new joint: above the body, or that of the loop.
        loop: the loop that it closes; None if the body hangs on it.
        energy_lost: kinetic energy before, less that after [J]. Not negative unless prescribed coordinates do work.
        impulse: [angular; linear] impulse (6,) on the body and all below it together, about the body's origin, world
            axes [N m s, N s]; of a loop, the impulse that the loop's joint gives the body.
    """

    joint: Joint
    loop: LoopJoint | None
    energy_lost: float
    impulse: Array

    __repr__ = brief


def body_momenta(skeleton: Skeleton) -> dict[BodyNode, Array]:
    """[angular; linear] momentum of each body alone about its origin, world axes."""
    if any(joint.has_modes for joint in skeleton.joints):
        return {b: momentum_about(skeleton, about=b.world_transform[:3, 3], bodies=[b]) for b in skeleton.parts.bodies}
    found = {}
    for body in skeleton.parts.bodies:
        V, R, inertia = body.spatial_velocity, body.world_transform[:3, :3], body.inertia
        m, c, w, v = inertia.mass, R @ inertia.com, V[:3], V[3:]
        linear = m * (v + np.cross(w, c))
        found[body] = np.concatenate([R @ inertia.moment @ R.T @ w + np.cross(c, linear), linear])
    return found


def modal_momenta(skeleton: Skeleton) -> dict[BodyNode, Array]:
    """Momentum of each mode's rate in the motion of its body alone, by the body whose joint has the modes."""
    u, found = skeleton.velocities, {}
    for body in skeleton.parts.bodies:
        joint = body.parent_joint
        if joint.has_modes:
            found[body] = (mass_matrix(skeleton, bodies=[body.parent])[joint.coordinates] @ u).copy()
    return found


def _energy(skeletons: set[Skeleton]) -> float:
    return sum(skeleton.kinetic_energy for skeleton in skeletons)


def _response(skeleton: Skeleton, on_bodies: dict[int, Array], on_joints: Array) -> Array:
    """Velocity changes (dofs,) by impulses; those of coordinates that move no mass are zero.

    Args:
        on_bodies: about the bodies' origins, world axes, by index.
        on_joints: (dofs,)
    """
    try:
        state = skeleton.current_state
        return changes(state, on_bodies, on_joints, state.prescribed_by_actuators())
    except ModelError:
        free, change = np.flatnonzero(~is_prescribed(skeleton.current_state.tree.actuator)), np.zeros(skeleton.num_dofs)
        M = skeleton.mass_matrix[np.ix_(free, free)]
        whole = on_joints + skeleton.joint_forces_of_wrenches(
            list(on_bodies), np.reshape([*on_bodies.values()], (-1, 6))
        )
        change[free] = np.linalg.pinv(M, _RANK_TOLERANCE, hermitian=True) @ whole[free]
        return change


def _about(body: BodyNode, momenta: dict[BodyNode, Array]) -> Array:
    """Sum of momenta of a body and all below it, about its origin."""
    total, p = np.zeros(6), body.world_transform[:3, 3]
    for b in subtree(body):
        h = momenta[b]
        total[:3] += h[:3] + np.cross(b.world_transform[:3, 3] - p, h[3:])
        total[3:] += h[3:]
    return total


def attach(body: BodyNode, target: Skeleton, parent: BodyNode | None, joint: Any, properties: dict[str, Any]) -> Any:
    """See `BodyNode.attach`: the body comes to hang on the parent."""
    what = f"attach body {body.name!r}"
    if parent is not None and parent in subtree(body):
        raise ModelError(
            f"cannot {what} to {parent.name!r}, which is the body itself or below it; as_loop=True closes a loop, and "
            f"reroot() of {parent.name!r} turns the tree round"
        )
    change = change_of_joint(body, joint, properties)
    if target is not body.skeleton:
        check_mimics(subtree(body), what)
    both = {body.skeleton, target}
    before, energy = {b: h for s in both for b, h in body_momenta(s).items()}, _energy(both)
    of_modes = {b: h for s in both for b, h in modal_momenta(s).items()}
    move(body, target, parent, change, motion_to_keep(body, parent))
    # Momentum of each body as before, on a tree at the velocities that its coordinates have: the rest is an impulse.
    now = body_momenta(target)
    pushed = {b.index: before[b] - now[b] for b in target.parts.bodies}
    on_joints = np.zeros(target.num_dofs)
    for b, h in modal_momenta(target).items():
        on_joints[b.parent_joint.coordinates] = of_modes[b] - h
    target.velocities = target.velocities + _response(target, pushed, on_joints)
    impulse = _about(body, body_momenta(target)) - _about(body, before)
    return Attachment(body.parent_joint, None, energy - _energy(both), impulse)


# Loops -------------------------------------------------------------------------------------------------------


def close_loop(body: BodyNode, parent: BodyNode | None, joint: Any, properties: dict[str, Any]) -> Attachment:
    """See `BodyNode.attach`: a joint between a body and another that the tree connects already."""
    skeleton = body.skeleton
    made = _loop_joint(body, joint, properties)
    if parent is body:
        raise ModelError(f"cannot attach body {body.name!r} to itself")
    X = body.world_transform if parent is None else inverse_transform(parent.world_transform) @ body.world_transform
    q = made.get_property("initial_position")
    made.transform_from_parent = X @ made.transform_from_child @ inverse_transform(motion_of_joint(made, q))
    loop = LoopJoint(None if parent is None else parent.name, body.name, made)

    free = made.compute_relative_jacobian(q) if made.num_dofs else np.zeros((6, 0))
    rows = scipy.linalg.null_space(free.T).T if free.shape[1] else np.eye(6)
    if parent is None:
        relative = skeleton.jacobian(body, in_coordinates_of=body)
    else:
        relative = skeleton.relative_jacobian(body, parent, in_coordinates_of=body)
    G, u, energy = rows @ relative, skeleton.velocities, skeleton.kinetic_energy
    response = np.array([_response(skeleton, {}, row) for row in G]).T
    A = G @ response
    values, vectors = np.linalg.eigh(0.5 * (A + A.T))
    kept = values > _RANK_TOLERANCE * max(float(values[-1]), 0.0)
    V = vectors[:, kept]
    multipliers = -V @ ((V.T @ (G @ u)) / values[kept])
    u = u + response @ multipliers
    skeleton.velocities = u
    skeleton.loops = [*skeleton.loops, loop]
    R, f = body.world_transform[:3, :3], rows.T @ multipliers
    impulse = np.concatenate([R @ f[:3], R @ f[3:]])
    return Attachment(made, loop, energy - skeleton.kinetic_energy, impulse)


def _loop_joint(body: BodyNode, joint: Any, properties: dict[str, Any]) -> Joint:
    """A joint for a loop, part of no skeleton, with a name that is free."""
    what, skeleton = f"body {body.name!r}: loop", body.skeleton
    taken = {*skeleton.parts.joint_by_name, *(loop.name for loop in skeleton.parts.loops)}
    joint = joint_to_use(joint, properties, what)
    if not joint.closes_loops:
        names = ", ".join(kind.kind.name for kind in JOINT_TYPES.values() if kind.closes_loops)
        raise ModelError(f"{what}: a {type(joint).__name__} closes no loop; expected one of the kinds {names}")
    joint.name = free_name(joint.name or f"{body.name}_loop", taken)
    return joint
