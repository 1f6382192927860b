"""Moving a body and all below it, with their states, to another parent or another skeleton."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.joints import JointKind
from kido.math.transform import inverse_transform
from kido.skeleton import body_node
from kido.skeleton.joints.actuator import check_followers, rename_followed
from kido.skeleton.joints.degree_of_freedom import name_with_joint, own_name
from kido.skeleton.joints.joint import Joint, detached, free_joint_name, put_under
from kido.skeleton.joints.loop_joint import with_names
from kido.skeleton.naming import free_name, free_names
from kido.skeleton.nodes.node import Node
from kido.skeleton.nodes.shape_node import ShapeNode
from kido.skeleton.state.arrays import STATE_FIELDS

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.skeleton import Skeleton

Array = NDArray[np.float64]


def subtree(body: BodyNode) -> list[BodyNode]:
    """A body and all below it, in the order of their indices."""
    below = {body}
    for other in body.skeleton.parts.bodies[body.index + 1 :]:
        if other.parent in below:
            below.add(other)
    return [b for b in body.skeleton.parts.bodies[body.index :] if b in below]


# The joint above ---------------------------------------------------------------------------------------------


@dataclasses.dataclass
class JointChange:
    """The joint that a body is to hang on, checked.

    Attributes:
        joint: the present one or another.
        name: what it is to be called, if that is free; "" for the body's name with "_joint".
        settings: what to set on the present one.
    """

    joint: Joint
    name: str
    settings: dict[str, Any]

    @property
    def is_kept(self) -> bool:
        return self.joint.skeleton is not None


def joint_to_use(joint: Any, properties: dict[str, Any], what: str, *first: Any) -> Joint:
    """A joint in use nowhere, from itself or from a class of joints and properties.

    Raises:
        ModelError: it is neither or in use, or properties of a joint that is made already.
    """
    if isinstance(joint, type) and issubclass(joint, Joint):
        try:
            joint = joint(*first, **properties)
        except TypeError as error:
            raise ModelError(f"{what}: cannot make a {joint.__name__}: {error}") from None
    elif properties:
        raise ModelError(f"{what}: expected a joint or properties of one, got both: {', '.join(properties)}")
    if not isinstance(joint, Joint):
        raise ModelError(f"{what}: expected a joint or a class of joints, got {joint!r}")
    if joint.skeleton is not None:
        raise ModelError(f"{what}: joint {joint.name!r} already moves body {joint.child.name!r}")
    return joint


def change_of_joint(body: BodyNode, joint: Joint | type[Joint] | None, properties: dict[str, Any]) -> JointChange:
    """Check what a user wants for the joint above a body; nothing is changed.

    Args:
        joint: None or the present joint's class keeps it, with the properties given changed; another class makes
            a joint with the name and frames of the present one; a joint that is not in use is taken as it is.
        properties: of the class's constructor.

    Raises:
        ModelError: a property that the class does not have or a wrong value, a joint that is in use, one that lacks
            the coordinate that another joint mimics.
    """
    old, what = body.parent_joint, f"body {body.name!r}: joint"
    if isinstance(joint, Joint):
        if joint is not old and joint.skeleton is not None:
            raise ModelError(f"{what} {joint.name!r} already moves body {joint.child.name!r}")
        if joint is not old and properties:
            raise ModelError(f"{what}: expected a joint or properties of one, got both: {', '.join(properties)}")
        if joint is not old:
            check_followers(old, joint)
            return JointChange(joint, joint.name or old.name, {})
        joint = None
    if joint is None or joint is type(old):
        trial, settings = detached(old), dict(properties)
        name = settings.pop("name", old.name)
        if not isinstance(name, str):
            raise ModelError(f"{what}: name: expected a text, got {name!r}")
        for key, value in settings.items():
            attribute = getattr(type(old), key, None)
            if key not in old.unique_properties and getattr(attribute, "fset", None) is None:
                valid = [k for k in dir(type(old)) if getattr(getattr(type(old), k), "fset", None)]
                raise ModelError(f"{what} {old.name!r} has no property {key!r} to set; it has {', '.join(valid)}")
            setattr(trial, key, value)
        return JointChange(old, name, settings)
    if not (isinstance(joint, type) and issubclass(joint, Joint)):
        raise ModelError(f"{what}: expected a joint, a class of joints or None, got {joint!r}")
    frames = {key: getattr(old, key) for key in ("transform_from_parent", "transform_from_child")}
    try:
        made = joint(**{"name": old.name, **frames, **properties})
    except TypeError as error:
        raise ModelError(f"{what}: cannot make a {joint.__name__}: {error}") from None
    check_followers(old, made)
    return JointChange(made, made.name, {})


def motion_of_joint(joint: Joint, positions: Array) -> Array:
    """X_J: pose of a joint's child-side frame in its parent-side frame at given positions."""
    from kido.skeleton.skeleton import Skeleton

    trial = detached(joint)
    trial.transform_from_parent = trial.transform_from_child = None
    trial.mimic = None
    probe = Skeleton("probe")
    probe.add_body("body", trial)
    return probe.forward_kinematics(positions)[0]


# Names -------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Names:
    """New names of moved bodies, joints, coordinates and nodes, by object."""

    bodies: dict[BodyNode, str]
    joints: dict[Joint, str]
    dofs: dict[Any, str]
    nodes: dict[Node, str]


def names_for(moved: list[BodyNode], joints: dict[Joint, str], target: Skeleton) -> Names:
    """Names that are free in a skeleton: those wanted, or with a number in brackets; `joints` in the bodies' order."""
    staying = [b for b in target.parts.bodies if b not in set(moved)]
    bodies = dict(zip(moved, free_names([b.name for b in moved], [b.name for b in staying]), strict=True))
    joints_taken = {b.parent_joint.name for b in staying}
    dofs_taken = {dof.name for b in staying for dof in b.parent_joint.dofs}
    new_joints: dict[Joint, str] = {}
    new_dofs: dict[Any, str] = {}
    for body, (joint, wanted) in zip(moved, joints.items(), strict=True):
        name = free_joint_name(joint, wanted or f"{bodies[body]}_joint", joints_taken, dofs_taken)
        joints_taken.add(name)
        new_joints[joint] = name
        for dof in joint.dofs:
            given = own_name(dof)
            if given is not None:
                new_dofs[dof] = free_name(given, dofs_taken)
            dofs_taken.add(new_dofs.get(dof) or name_with_joint(dof, name))
    nodes = _nodes_of(moved)
    new_nodes = free_names([n.name for n in nodes], [n.name for n in _nodes_of(staying)])
    return Names(bodies, new_joints, new_dofs, dict(zip(nodes, new_nodes, strict=True)))


def _nodes_of(bodies: list[BodyNode]) -> list[Node]:
    """All nodes but shapes, whose names are unique on their bodies only."""
    return [node for body in bodies for node in body.nodes() if not isinstance(node, ShapeNode)]


# References between joints -----------------------------------------------------------------------------------


def check_mimics(moved: list[BodyNode], what: str, copied: bool = False) -> None:
    """Refuse to part a joint that follows another from it; if `copied`, the originals stay together anyway.

    Raises:
        ModelError: there is one; names both.
    """
    inside = {b.parent_joint.name for b in moved}
    known = moved[0].skeleton.parts.joint_by_name
    for joint in moved[0].skeleton.joints:
        for master in {mimic.joint for mimic in joint.mimics if mimic is not None}:
            parted = joint.name in inside and master not in inside
            if not copied:
                parted = parted or (joint.name not in inside and master in inside)
            if master in known and parted:
                raise ModelError(
                    f"cannot {what}: joint {joint.name!r} follows joint {master!r}, and only one of them would come "
                    f"along; set the mimic of {joint.name!r} to None first"
                )


# The move ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Motion:
    """Where a body is and how it moves relative to its new parent, to be kept over a move."""

    pose: Array  # in the new parent
    twist: Array  # of the body origin relative to the new parent, in body axes


def motion_to_keep(body: BodyNode, parent: BodyNode | None) -> Motion:
    """Pose and velocity of a body relative to the one it is to hang on (None: the world)."""
    X, V = body.world_transform, body.spatial_velocity
    if parent is not None:
        X_WP, V_WP = parent.world_transform, parent.spatial_velocity
        V = V - np.concatenate([V_WP[:3], V_WP[3:] + np.cross(V_WP[:3], X[:3, 3] - X_WP[:3, 3])])
        pose = inverse_transform(X_WP) @ X
    else:
        pose = X
    return Motion(pose, np.concatenate([X[:3, :3].T @ V[:3], X[:3, :3].T @ V[3:]]))


def transplant(
    body: BodyNode,
    target: Skeleton,
    parent: BodyNode | None,
    change: JointChange,
    keep: Motion | None = None,
    in_place: bool = False,
) -> None:
    """Hang a body, with all below it, on a parent by a joint. All arguments are checked already.

    The bodies then come last, in their old order; `in_place`, with the present parent, nothing is renumbered.
    """
    source, moved = body.skeleton, subtree(body)
    joint, old = change.joint, body.parent_joint
    names = names_for(moved, {joint: change.name, **{b.parent_joint: b.parent_joint.name for b in moved[1:]}}, target)
    state, X_pj = _state_at_joint(body, change, keep)
    external = {s.parts.bodies[i]: row for s in {source, target} for i, row in s.current_state.applied.items()}
    impulses = {s.parts.bodies[i]: row for s in {source, target} for i, row in s.current_state.impulses.items()}
    source.structure_changed()
    target.structure_changed()

    _carry_loops(source, target, {b.name: name for b, name in names.bodies.items()})
    renamed = {b.parent_joint.name: name for b, name in zip(moved, names.joints.values(), strict=True)}
    rename_followed(source.joints if source is target else [b.parent_joint for b in moved], renamed)
    for item, name in (*names.bodies.items(), *names.joints.items(), *names.dofs.items(), *names.nodes.items()):
        item._name = name
    for key, value in change.settings.items():
        setattr(joint, key, value)
    if joint is not old:
        put_under(old, None)
        body_node.put_on(body, body.parent, joint)
    if X_pj is not None:
        joint.transform_from_parent = X_pj

    if not in_place:
        _relink(body, moved, target, parent)
    for b in moved:
        if source is not target and b in source.current_state.saved:
            target.current_state.saved[b] = source.current_state.saved.pop(b)
    if state is not None:
        target.current_state.saved[body] = state
    for skeleton in {source, target}:
        skeleton.parts.reindex()
        skeleton.current_state.applied = {b.index: row for b, row in external.items() if b.skeleton is skeleton}
        skeleton.current_state.impulses = {b.index: row for b, row in impulses.items() if b.skeleton is skeleton}
        skeleton.current_state.own_joint_impulses = None
    if source.host is not None and source.host is not target.host:
        source.host.bodies_left(moved)


def _carry_loops(source: Skeleton, target: Skeleton, names: dict[str, str]) -> None:
    """Loops of moved bodies: those between two of them come along, those that would join two skeletons are lost."""
    if source is target:
        source.parts.loops = [with_names(loop, names) for loop in source.parts.loops]
        return
    kept = []
    for loop in source.parts.loops:
        inside = [name is None or name in names for name in (loop.parent, loop.child)]
        moves = [name in names for name in (loop.parent, loop.child)]
        if not any(moves):
            kept.append(loop)
        elif all(inside):
            target.parts.loops = [*target.parts.loops, with_names(loop, names)]
        else:
            source.warnings.append(f"loop {loop.name!r} is gone: only one of its bodies moved to {target.name!r}")
    source.parts.loops = kept


def _relink(body: BodyNode, moved: list[BodyNode], target: Skeleton, parent: BodyNode | None) -> None:
    source, gone = body.skeleton, set(moved)
    if body.parent is not None:
        body_node.take_off(body, body.parent)
    body_node.put_on(body, parent, body.parent_joint)
    source.parts.bodies = [b for b in source.parts.bodies if b not in gone]
    target.parts.bodies = [*target.parts.bodies, *moved]
    for b in moved:
        b.skeleton = target


def _state_at_joint(
    body: BodyNode, change: JointChange, keep: Motion | None
) -> tuple[tuple[Array, ...] | None, Array | None]:
    """State and parent-side frame of the joint after the change, so that `keep` holds; None: as they are."""
    joint = change.joint
    if change.is_kept and keep is None:
        return None, None
    if change.is_kept:
        state = {f: body.skeleton.current_state.read(f)[joint.coordinates] for f in STATE_FIELDS}
        trial = detached(joint)
        for key, value in change.settings.items():
            setattr(trial, key, value)
    else:
        state = {f: np.zeros(joint.num_dofs) for f in STATE_FIELDS}
        state["q"], state["u"] = joint.get_property("initial_position"), joint.get_property("initial_velocity")
        trial = joint
    X_pj, X_cj = None, trial.transform_from_child
    if keep is not None and joint.kind == JointKind.FREE:
        X_J = inverse_transform(trial.transform_from_parent) @ keep.pose @ X_cj
        R, w, v = X_cj[:3, :3], keep.twist[:3], keep.twist[3:]
        state["q"] = np.concatenate([scipy.spatial.transform.Rotation.from_matrix(X_J[:3, :3]).as_rotvec(), X_J[:3, 3]])
        state["u"] = np.concatenate([R.T @ w, R.T @ (v + np.cross(w, X_cj[:3, 3]))])
    elif keep is not None:
        X_pj = keep.pose @ X_cj @ inverse_transform(motion_of_joint(trial, state["q"]))
    return tuple(state[f] for f in STATE_FIELDS), X_pj
