"""The same mechanism described otherwise: by another root, or with welded bodies as part of those that carry them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from kido.errors import ModelError
from kido.joints import ActuatorType, JointKind
from kido.math.transform import as_flag, inverse_transform
from kido.skeleton import body_node
from kido.skeleton.joints.degree_of_freedom import rename
from kido.skeleton.joints.joint import Joint, detached, free_joint_name, put_under, set_mimics
from kido.skeleton.joints.loop_joint import LoopJoint
from kido.skeleton.joints.reversed_joint import Reversal, reversal
from kido.skeleton.joints.types import FreeJoint
from kido.skeleton.state.arrays import STATE_FIELDS, Array
from kido.skeleton.state.loads import row_seen_from

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.skeleton import Skeleton


_ACTS_ON_ROOT = ("spring_stiffness", "damping", "armature", "coulomb_friction")
_ANY_BODY = (ActuatorType.FORCE, ActuatorType.PASSIVE)  # whose power is the same at whichever body of the tree


def reroot(skeleton: Skeleton, body: BodyNode, keep_base: bool) -> None:
    """See `Skeleton.reroot`."""
    keep_base = as_flag(keep_base, f"skeleton {skeleton.name!r}: reroot: keep_base")
    path = [body]
    while path[-1].parent is not None:
        path.append(path[-1].parent)
    root, joint = path[-1], path[-1].parent_joint
    if root is body:
        return
    base = _base_of(skeleton, body, root, joint, keep_base)
    hinges = [b.parent_joint for b in path[:-1]]
    turned = [reversal(hinge) for hinge in hinges]
    d = skeleton.current_state.compiled()
    states = []
    for hinge, back in zip(hinges, turned, strict=True):
        part = hinge.coordinates
        states.append(back.state(tuple(getattr(d, f)[part].copy() for f in STATE_FIELDS)))
    states.append(_free_state(body, base.transform_from_parent))
    pushed = _wrench_of_root(root, joint)
    external = {skeleton.parts.bodies[i]: row for i, row in skeleton.current_state.applied.items()}
    impulses = {skeleton.parts.bodies[i]: row for i, row in skeleton.current_state.impulses.items()}

    skeleton.structure_changed()
    if base is not joint:
        skeleton.parts.loops = [*skeleton.parts.loops, LoopJoint(None, root.name, detached(joint))]
        put_under(joint, None)
    for below, above, hinge, back in zip(path, path[1:], hinges, turned, strict=False):
        _renumber_mimics(skeleton, hinge, back)
        _hang(above, _taken(hinge, back), below)
    body_node.put_on(body, None, base)
    base.transform_from_child = None
    for b, state in zip([*path[1:], body], states, strict=True):
        skeleton.current_state.saved[b] = state
    _reorder(skeleton, path)
    skeleton.parts.reindex()
    skeleton.current_state.applied = {b.index: row for b, row in external.items()}
    skeleton.current_state.impulses = {b.index: row for b, row in impulses.items()}
    skeleton.current_state.own_joint_impulses = None
    if pushed is not None:
        skeleton.forces = skeleton.forces + skeleton.jacobian(root).T @ pushed


def _base_of(skeleton: Skeleton, body: BodyNode, root: BodyNode, joint: Joint, keep_base: bool) -> Joint:
    """The joint that is to be above the new root, checked."""
    what = f"cannot make body {body.name!r} a root: its tree hangs on the world by joint {joint.name!r}"
    if joint.kind == JointKind.FREE:
        acting = [key for key in _ACTS_ON_ROOT if joint.get_property(key).any()]
        for what_of in ("position", "velocity", "force"):
            limits = [joint.get_property(f"{what_of}_{side}_limit") for side in ("lower", "upper")]
            acting += [f"{what_of} limits"] if np.isfinite(limits).any() else []
        acting += [f"{kind.name} actuator" for kind in joint.actuator_types if kind not in _ANY_BODY]
        if acting:
            raise ModelError(f"{what}, whose {acting[0]} would act on another body")
        if len(set(joint.actuator_types)) > 1:
            raise ModelError(f"{what}, whose actuators differ by axis")
        _refuse_followed(skeleton, joint, what)
        return joint
    if not keep_base:
        raise ModelError(
            f"{what}, a {type(joint).__name__}; keep_base=True makes that joint a loop, detach() of {root.name!r} "
            "drops it"
        )
    if joint.armature.any():
        raise ModelError(f"{what}, whose rotor inertia (armature) a loop would not have; set it to 0 first")
    _refuse_followed(skeleton, joint, what)
    base = FreeJoint()
    joints = {j.name for j in skeleton.joints} | {loop.name for loop in skeleton.parts.loops}
    base.name = free_joint_name(base, f"{body.name}_base", joints, {dof.name for dof in skeleton.parts.dofs})
    return base


def _refuse_followed(skeleton: Skeleton, joint: Joint, what: str) -> None:
    """Refuse to move a joint from its body that another one follows."""
    for other in skeleton.joints:
        if any(mimic is not None and mimic.joint == joint.name for mimic in other.mimics) and other is not joint:
            raise ModelError(
                f"{what}, which joint {other.name!r} follows; set the mimic of {other.name!r} to None first"
            )


def _free_state(body: BodyNode, X_base: Array) -> tuple[Array, ...]:
    """State of a free joint right at a body's frame that moves the body as it moves."""
    X = body.world_transform
    R, V = X[:3, :3], body.spatial_velocity
    X_J = inverse_transform(X_base) @ X
    q = np.concatenate([scipy.spatial.transform.Rotation.from_matrix(X_J[:3, :3]).as_rotvec(), X_J[:3, 3]])
    u = np.concatenate([R.T @ V[:3], R.T @ V[3:]])
    rate = body.linear_acceleration() - np.cross(V[:3], V[3:])
    udot = np.concatenate([R.T @ body.angular_acceleration(), R.T @ rate])
    return q, u, udot, np.zeros(6), np.zeros(6)


def _wrench_of_root(root: BodyNode, joint: Joint) -> Array | None:
    """Forces of a free joint as a wrench about the body's origin, world axes; None: zero."""
    if joint.kind != JointKind.FREE or not joint.forces.any():
        return None
    R = (root.world_transform @ joint.transform_from_child)[:3, :3]
    arm = root.world_transform[:3, :3] @ joint.transform_from_child[:3, 3]
    tau = joint.forces
    f = R @ tau[3:]
    return np.concatenate([R @ tau[:3] + np.cross(arm, f), f])


def _taken(joint: Joint, back: Reversal) -> Joint:
    """The reversed joint: the old one itself if its class is the same, with its coordinates' objects in any case."""
    made, dofs = back.joint, [joint.dofs[k] for k in back.order]
    for dof in dofs:
        if back.order != tuple(range(len(dofs))):
            rename(dof, dof.name)
    if type(made) is type(joint):
        kept = {key: joint.__dict__[key] for key in ("dofs", "_body", "_aspects") if key in joint.__dict__}
        joint.__dict__.update({**made.__dict__, **kept})
        made = joint
    else:
        made.__dict__.update({key: joint.__dict__[key] for key in ("_aspects",) if key in joint.__dict__})
        for aspect in made.__dict__.get("_aspects", {}).values():
            if getattr(aspect, "_carrier", None) is joint:
                aspect._carrier = made
        put_under(joint, None)
    for k, dof in enumerate(dofs):
        dof.joint, dof.index_in_joint = made, k
    made.dofs = tuple(dofs)
    return made


def _hang(body: BodyNode, joint: Joint, parent: BodyNode) -> None:
    """Let a body hang on what hung on it."""
    body_node.take_off(parent, body)
    body_node.put_on(body, parent, joint)


def _renumber_mimics(skeleton: Skeleton, joint: Joint, back: Reversal) -> None:
    """Followers of a joint whose coordinates change their order follow the same ones."""
    n = len(back.order)
    if n < 2 or back.order == tuple(range(n)):
        return

    def renumbered(mimic: Any, k: int) -> Any:
        if mimic is None or mimic.joint != joint.name:
            return mimic
        old = mimic.dof if mimic.dof is not None else k
        return dataclasses.replace(mimic, dof=back.order.index(old))

    for other in [*skeleton.joints, back.joint]:
        if other is not joint:
            set_mimics(other, [renumbered(mimic, k) for k, mimic in enumerate(other.mimics)])


def _reorder(skeleton: Skeleton, path: list[BodyNode]) -> None:
    """Parents before children: in the tree's places of the list, the path comes first."""
    moved = set(path)
    places, rest = [], []
    below: set[Any] = set(path)
    for k, body in enumerate(skeleton.parts.bodies):
        if body in below or body.parent in below:
            below.add(body)
            places.append(k)
            if body not in moved:
                rest.append(body)
    for k, body in zip(places, [*path, *rest], strict=True):
        skeleton.parts.bodies[k] = body


def merge_fixed_joints(skeleton: Skeleton) -> dict[str, str]:
    """See `Skeleton.merge_fixed_joints`."""
    into: dict[str, str] = {}
    for body in skeleton.bodies[::-1]:  # leaves first, so that what is merged has taken in what is below it
        parent = body.parent
        if parent is not None and _can_merge(body, parent):
            _merge(body, parent)
            into[body.name] = parent.name
    for name in into:
        while into[name] in into:
            into[name] = into[into[name]]
    return dict(reversed(into.items()))


def _can_merge(body: BodyNode, parent: BodyNode) -> bool:
    """Whether nothing is lost if a body is part of its parent."""
    joint = body.parent_joint
    if joint.kind != JointKind.WELD or body.gravity != parent.gravity or body.own_link:
        return False
    if body.collidable and not parent.collidable and any(shape.collision for shape in body.shapes):
        return False
    if any(child.parent_joint.has_modes for child in parent.children):
        return False  # its inertia is that of its modes
    others = [f for f in body.child_frames if f not in body.nodes() and f not in body.children]
    return not (body.aspects or joint.aspects or others)


def _merge(body: BodyNode, parent: BodyNode) -> None:
    skeleton, joint = body.skeleton, body.parent_joint
    X = joint.transform_from_parent @ inverse_transform(joint.transform_from_child)
    loads = [
        (rows, rows.pop(body.index, None)) for rows in (skeleton.current_state.applied, skeleton.current_state.impulses)
    ]
    skeleton.structure_changed()
    body_node.hand_over(body, parent, X)
    for rows, load in loads:
        if load is not None:
            rows[parent.index] = rows.get(parent.index, np.zeros(len(load))) + row_seen_from(load, X)
    body.remove()
