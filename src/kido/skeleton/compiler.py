"""From objects to arrays: the tree of a skeleton, alone or as a slice of a world's forest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.errors import ModelError
from kido.jit import Struct
from kido.joints import JointKind
from kido.joints.tape import INPUTS
from kido.math.transform import inverse_transform
from kido.skeleton.joints.actuator import fill_actuators
from kido.skeleton.joints.compound_joint import CompoundJoint
from kido.tree import DATA, TREE, data_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.inertia import Inertia
    from kido.skeleton.joints.joint import Joint
    from kido.skeleton.skeleton import Skeleton

# Fields with one row per body or coordinate that a skeleton shares with its world, as a slice.
_OWN_INDICES = (
    "parent",
    "kind",
    "first_dof",
    "body_of_dof",
    "tree_of_body",
    "tree_body",
    "tree_dof",
    "tree_mobile",
    "moves",
    "prescribed",
    "member_link",
    "member_apart",
    "member_pose",
)
_DOF_PROPERTIES = {
    "stiffness": "spring_stiffness",
    "rest": "rest_position",
    "damping": "damping",
    "armature": "armature",
    "lower": "position_lower_limit",
    "upper": "position_upper_limit",
    "coulomb": "coulomb_friction",
    "position_gain": "position_gain",
    "velocity_gain": "velocity_gain",
}


@dataclass(frozen=True, eq=False)
class Links:
    """The rigid links of a skeleton: bodies with all that is welded to them.

    Attributes:
        top: the topmost body of each link; its frame is the link's.
        members: indices of the bodies of each link.
        of_body: (bodies,) link of each body.
        offset: (bodies, 4, 4) pose of each body in its link.
    """

    top: list[BodyNode]
    members: list[list[int]]
    of_body: np.ndarray
    offset: np.ndarray

    def kinds_in_worlds(self, kind: np.ndarray) -> np.ndarray:
        """Kinds of the links' joints, free ones integrated with their linear velocity in fixed axes.

        Worlds and methods of integration do so, unless these numbers are driven.
        """
        own_axes = np.array([body.parent_joint._drives_body_axes for body in self.top], bool)
        return np.where((kind == JointKind.FREE) & ~own_axes, int(JointKind.FREE_MIXED), kind)


def find_links(skeleton: Skeleton) -> Links:
    """Merge welded bodies, but not across bodies that differ in gravity or must stay apart for a filter."""
    bodies = skeleton.bodies
    top: list[BodyNode] = []
    members: list[list[int]] = []
    of_body = np.zeros(len(bodies), np.int64)
    offset = np.tile(np.eye(4), (len(bodies), 1, 1))
    for i, body in enumerate(bodies):
        joint, parent = body.parent_joint, body.parent
        merge = parent is not None and joint.kind == JointKind.WELD
        if merge and parent is not None and body.gravity == parent.gravity and not body.own_link:
            of_body[i] = of_body[parent.index]
            X_child = inverse_transform(joint.transform_from_child)
            offset[i] = offset[parent.index] @ joint.transform_from_parent @ X_child
        else:
            of_body[i] = len(top)
            top.append(body)
            members.append([])
        members[of_body[i]].append(i)
    return Links(top, members, of_body, offset)


def index_arrays(skeleton: Skeleton, links: Links) -> dict[str, np.ndarray]:
    """The tree's integer arrays, with the skeleton's own numbering."""
    counts = [b.parent_joint.num_dofs for b in links.top]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    parent = np.array([-1 if b.parent is None else links.of_body[b.parent.index] for b in links.top], np.int64)
    moves = np.zeros(len(links.top), np.int64)
    if skeleton.mobile:
        for i, above in enumerate(parent):
            joint = links.top[i].parent_joint
            own = counts[i] > 0 or (joint.is_part and not joint.has_modes)  # nodes move with modes
            own = own or any(child.parent_joint.moves_parent for child in links.top[i].children)
            moves[i] = int(own or (above >= 0 and moves[above]))
    return {
        "parent": parent,
        "kind": np.array([int(b.parent_joint.kind) for b in links.top], np.int64),
        "first_dof": first,
        "body_of_dof": np.repeat(np.arange(len(links.top)), counts).astype(np.int64),
        "tree_of_body": np.zeros(len(links.top), np.int64),
        "tree_body": np.array([0, len(links.top)], np.int64),
        "tree_dof": np.array([0, first[-1]], np.int64),
        "tree_mobile": np.array([int(skeleton.mobile)], np.int64),
        "moves": moves,
        "prescribed": np.zeros(first[-1], np.int64),  # set while hybrid dynamics uses it; a world has its own
        "member_link": links.of_body,
        "member_apart": np.array([not np.array_equal(X, np.eye(4)) for X in links.offset], np.int64),
        "member_pose": np.ascontiguousarray(links.offset[:, :3].reshape(-1, 12)),
    }


def tape_places(tops: Sequence[BodyNode]) -> dict[str, Any]:
    """Where the formulas of user joints stand: the tree's `tape_of`, and how many steps and results there are."""
    tape_of = np.zeros((len(tops), 4), np.int64)
    steps = results = 0
    for i, body in enumerate(tops):
        tape = body.parent_joint._tape
        if tape is not None:
            tape_of[i, :3], tape_of[i, 3] = steps + tape.stages, results
            steps, results = steps + len(tape.steps), results + len(tape.results)
    return {"tape_of": tape_of, "steps": steps, "results": results}


def _fill_joint(tree: Struct, i: int, joint: Joint) -> None:
    """What compound and user joints keep besides their axes."""
    hinges = joint.hinges if isinstance(joint, CompoundJoint) else ()
    for k, hinge in enumerate(hinges, start=int(tree.first_dof[i])):
        tree.chain_kind[k] = hinge.kind
        tree.chain_axis[k, :3], tree.chain_axis[k, 3] = hinge.axis, hinge.pitch / (2.0 * np.pi)
        tree.chain_moved[k] = int(not np.array_equal(hinge.offset, np.eye(4)))
        tree.chain_offset[k, :9], tree.chain_offset[k, 9:] = hinge.offset[:3, :3].ravel(), hinge.offset[:3, 3]
    tape = joint._tape
    if tape is not None:
        step, result = int(tree.tape_of[i, 0]), int(tree.tape_of[i, 3])
        steps = tape.steps.copy()
        inputs = np.isin(steps[:, 0], INPUTS)
        steps[~inputs, 1:] += step
        tree.tape[step : step + len(steps)] = steps
        tree.tape_number[step : step + len(steps)] = tape.numbers
        tree.tape_result[result : result + len(tape.results)] = tape.results + step


def fill_inertias(links: Links, inertias: Sequence[Inertia], tree: Struct) -> None:
    """Write the inertias of links, sums of those of their bodies, into a tree."""
    mass, moment, J = np.zeros(len(links.top)), np.zeros((len(links.top), 3)), np.zeros((len(links.top), 3, 3))
    for i, own in enumerate(inertias):
        link = links.of_body[i]
        R, p = links.offset[i, :3, :3], links.offset[i, :3, 3]
        c = R @ own.com + p
        mass[link] += own.mass
        moment[link] += own.mass * c
        J[link] += R @ own.moment @ R.T + own.mass * (c @ c * np.eye(3) - np.outer(c, c))
    for i in range(len(links.top)):
        tree.mass[i] = mass[i]
        tree.com[i] = moment[i] / mass[i] if mass[i] > 0.0 else 0.0
        tree.inertia[i] = J[i, 0, 0], J[i, 0, 1], J[i, 0, 2], J[i, 1, 1], J[i, 1, 2], J[i, 2, 2]


def fill_properties(links: Links, skeleton: Skeleton, tree: Struct) -> None:
    """Write masses, joint frames, axes and joint properties of a skeleton into its tree; skins are at rest in it."""
    fill_inertias(links, [body.inertia for body in skeleton.bodies], tree)
    for i, body in enumerate(links.top):
        joint = body.parent_joint
        X_pj, X_cj = joint.transform_from_parent, joint.transform_from_child
        if body.parent is not None:
            X_pj = links.offset[body.parent.index] @ X_pj
        tree.rotation_pj[i] = X_pj[:3, :3].ravel()
        tree.position_pj[i] = X_pj[:3, 3]
        tree.has_child_offset[i] = int(not np.array_equal(X_cj, np.eye(4)))
        tree.rotation_jb[i] = X_cj[:3, :3].T.ravel()
        tree.position_jb[i] = -X_cj[:3, 3]
        tree.axes[i] = joint._axes()
        tree.hinge[i] = _hinge(X_pj[:3, :3], tree.axes[i, :3])
        _fill_joint(tree, i, joint)
        tree.gravity_factor[i] = float(body.gravity)
        k = int(tree.first_dof[i])
        for field, key in _DOF_PROPERTIES.items():
            getattr(tree, field)[k : k + joint.num_dofs] = joint.get_property(key)
        if not joint.enforce_position_limits:
            tree.lower[k : k + joint.num_dofs], tree.upper[k : k + joint.num_dofs] = -np.inf, np.inf
    fill_actuators(skeleton, [body.parent_joint for body in links.top], tree)


def _hinge(R: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Row of `TREE.hinge`: Rodrigues' formula for an axis in a frame with rotation R in the parent body."""
    along = R @ np.outer(axis, axis)
    across = R @ np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return np.concatenate([along.ravel(), (R - along).ravel(), across.ravel()])


def check_masses(skeleton: Skeleton) -> None:
    """Refuse a joint that moves only massless bodies: its acceleration is not defined.

    Raises:
        ModelError: there is one; names it.
    """
    bodies = skeleton.bodies
    carried = np.array([b.inertia.mass + float(np.trace(b.inertia.moment)) for b in bodies])
    for i in range(len(bodies) - 1, -1, -1):
        body = bodies[i]
        # The mass of modes is that of the body they deform.
        if carried[i] <= 0.0 and body.parent_joint.num_dofs > 0 and not body.parent_joint.has_modes:
            raise ModelError(
                f"skeleton {skeleton.name!r}: joint {body.parent_joint.name!r} moves body {body.name!r}, but "
                "neither that body nor any below it has mass; give it an inertia or weld it"
            )
        if body.parent is not None:
            carried[body.parent.index] += carried[i]


def compile_skeleton(skeleton: Skeleton, gravity: np.ndarray) -> tuple[Links, Struct, Struct]:
    """Links, tree and data of a skeleton on its own."""
    links = find_links(skeleton)
    indices = index_arrays(skeleton, links)
    n, m = len(links.top), int(indices["first_dof"][-1])
    tree = TREE(bodies=n, dofs=m, gravity=gravity, **tape_places(links.top), **indices)
    fill_properties(links, skeleton, tree)
    return links, tree, data_for(tree, mass_matrix=True)


def compile_forest(
    skeletons: Sequence[Skeleton], gravity: np.ndarray
) -> tuple[Struct, Struct, list[tuple[Links, Struct, Struct]]]:
    """One forest of all skeletons, and each skeleton's window on it.

    Returns:
        Tree and data of the forest; and for each skeleton its links, its tree and its data, which share the
        forest's memory except for the indices.
    """
    linked = [find_links(s) for s in skeletons]
    indices = [index_arrays(s, k) for s, k in zip(skeletons, linked, strict=True)]
    bodies = np.concatenate([[0], np.cumsum([len(k.top) for k in linked])]).astype(int)
    dofs = np.concatenate([[0], np.cumsum([int(k["first_dof"][-1]) for k in indices])]).astype(int)
    n, m = int(bodies[-1]), int(dofs[-1])
    joined = {
        "parent": [np.where(k["parent"] < 0, -1, k["parent"] + b) for k, b in zip(indices, bodies, strict=False)],
        "kind": [links.kinds_in_worlds(k["kind"]) for links, k in zip(linked, indices, strict=True)],
        "first_dof": [k["first_dof"][:-1] + c for k, c in zip(indices, dofs, strict=False)] + [np.array([m])],
        "body_of_dof": [k["body_of_dof"] + b for k, b in zip(indices, bodies, strict=False)],
        "tree_of_body": [k["tree_of_body"] + s for s, k in enumerate(indices)],
        "tree_body": [bodies],
        "tree_dof": [dofs],
        "tree_mobile": [k["tree_mobile"] for k in indices],
        "moves": [k["moves"] for k in indices],
    }
    whole = {key: np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64) for key, parts in joined.items()}
    places = tape_places([body for links in linked for body in links.top])
    tree = TREE(bodies=n, dofs=m, members=0, gravity=gravity, **places, **whole)
    data = data_for(tree)
    windows = []
    for s, links, own, b0, b1, k0, k1 in zip(
        skeletons, linked, indices, bodies, bodies[1:], dofs, dofs[1:], strict=False
    ):
        tree_part = {f: part for f, part in _slices(tree, b0, b1, k0, k1).items() if f not in _OWN_INDICES}
        window = TREE(**tree_part, **own)
        fill_properties(links, s, window)
        data_part = _slices(data, b0, b1, k0, k1)
        data_part.pop("mass_matrix")
        windows.append((links, window, DATA(rows=int(k1 - k0), columns=int(k1 - k0), **data_part)))
    return tree, data, windows


def _slices(whole: Struct, b0: int, b1: int, k0: int, k1: int) -> dict[str, np.ndarray]:
    """Rows of one skeleton in each array of a forest's container."""
    rows = {"bodies": slice(b0, b1), "dofs": slice(k0, k1)}
    return {
        name: getattr(whole, name)[rows.get(str(type(whole).fields[name].dims[0]), slice(None))]
        for name in type(whole).arrays
    }
