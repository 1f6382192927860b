"""From nested models to one tree: links and joints with names and poses in the outermost model, and a spanning tree.

SDF joins links as it likes; a skeleton is a tree. Of joints that close a loop, those with the fewest degrees of freedom
make the tree (Kruskal's algorithm; among equals the first in the file), so that what is left to be closed by
constraints are ball joints rather than hinges. Joints that then point towards the root are turned round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kido.io.fields import WORLD
from kido.io.sdf.fields import find_pose
from kido.io.sdf.joints import NUM_AXES, SDF_JOINTS, JointSpec
from kido.io.sdf.models import LinkSpec, ModelSpec, WorldSpec
from kido.io.sdf.scope import MODEL, Scope
from kido.io.xml import Node
from kido.math.transform import inverse_transform

__all__ = ["FlatJoint", "FlatLink", "Step", "flat_joint", "flatten", "span"]

NUM_DOFS = NUM_AXES | {name: len(kind.dof_suffixes) for name, kind in SDF_JOINTS.items()}


@dataclass(frozen=True)
class FlatLink:
    """A link: its scoped name, its pose in the outermost model, and in its own (`local`)."""

    name: str
    pose: np.ndarray
    spec: LinkSpec
    scope: Scope
    local: np.ndarray

    def shape_pose(self, node: Node) -> np.ndarray:
        """Pose in the link of a <visual> or <collision>, which may be given in another frame of its model."""
        pose, relative_to = find_pose(node)
        if not relative_to or relative_to == self.spec.name:
            return pose
        return inverse_transform(self.local) @ self.scope.pose(relative_to, node) @ pose


@dataclass(frozen=True)
class FlatJoint:
    """A joint: its scoped name, the links it joins (or ``world``), its pose in the outermost model.

    `axes` are directions in its own frame; `prefix` is what the names of its scope start with.
    """

    name: str
    prefix: str
    parent: str
    child: str
    pose: np.ndarray
    axes: list[np.ndarray]
    spec: JointSpec
    gear_reference: str = ""


@dataclass(frozen=True)
class Step:
    """A body of the tree: the link `child` hangs on `parent` by a joint, or freely on the world (None)."""

    parent: str
    child: str
    joint: FlatJoint | None

    @property
    def turned(self) -> bool:
        """Whether the joint is used against its direction."""
        return self.joint is not None and self.joint.child != self.child


def flatten(model: ModelSpec) -> tuple[dict[str, FlatLink], list[FlatJoint]]:
    """Links by scoped name and joints of a model and those nested in it; a joint without links is refused."""
    links: dict[str, FlatLink] = {}
    joints: list[FlatJoint] = []
    for prefix, inner, pose in _models(model, "", np.eye(4)):
        for name, link in inner.links.items():
            local = inner.scope.pose(name, link.node)
            links[prefix + name] = FlatLink(prefix + name, pose @ local, link, inner.scope, local)
        joints.extend(flat_joint(key, inner, prefix, pose) for key in inner.joints)
    return links, joints


def _models(model: ModelSpec, prefix: str, pose: np.ndarray) -> Iterator[tuple[str, ModelSpec, np.ndarray]]:
    yield prefix, model, pose
    for name, nested in model.models.items():
        yield from _models(nested, f"{prefix}{name}::", pose @ model.scope.pose(name, nested.node))


def flat_joint(key: str, model: ModelSpec | WorldSpec, prefix: str, pose: np.ndarray) -> FlatJoint:
    """A joint of a model, or of a world, whose pose in the outermost scope is given; one without links is refused."""
    joint = model.joints[key]
    scope, node = model.scope, joint.node

    def link(role: str, name: str) -> str:
        found = scope.link(name, node.child(role) or node)
        return found if found == WORLD else prefix + found

    parent, child = link("parent", joint.parent), link("child", joint.child)
    if child == WORLD:
        raise node.require("child").error(f"the child of joint '{joint.name}' is the world; expected a link")
    if parent == child:
        raise node.error(f"joint '{joint.name}' connects link '{child}' to itself")
    local = scope.pose(key, node)
    axes = []
    for axis in joint.axes:
        direction = axis.direction
        if axis.expressed_in:
            where = np.eye(4) if axis.expressed_in == MODEL else scope.pose(axis.expressed_in, axis.node)
            direction = local[:3, :3].T @ where[:3, :3] @ direction
        axes.append(direction)
    reference = ""
    if joint.type == "gearbox":
        reference = link("gearbox_reference_body", joint.gear_reference or joint.parent)
    return FlatJoint(prefix + joint.name, prefix, parent, child, pose @ local, axes, joint, reference)


def span(links: dict[str, FlatLink], joints: list[FlatJoint], canonical: str) -> tuple[list[Step], list[FlatJoint]]:
    """A spanning tree, parents first, and the joints that close loops.

    What no joint ties to the world hangs on it freely, by the link `canonical` if no joint of the tree has it as its
    child, else by the first such link.
    """
    group = {name: name for name in (WORLD, *links)}

    def find(name: str) -> str:
        while group[name] != name:
            group[name] = group[group[name]]
            name = group[name]
        return name

    in_tree: set[int] = set()
    for index in sorted(range(len(joints)), key=lambda k: NUM_DOFS[joints[k].spec.type]):
        first, second = find(joints[index].parent), find(joints[index].child)
        if first != second:
            group[second] = first
            in_tree.add(index)
    at: dict[str, list[FlatJoint]] = {name: [] for name in group}
    for index in sorted(in_tree):
        at[joints[index].parent].append(joints[index])
        at[joints[index].child].append(joints[index])
    steps: list[Step] = []
    reached = {WORLD}
    _grow(WORLD, at, reached, steps)
    carried = {joints[index].child for index in in_tree}
    for name in ([canonical] if canonical in links else []) + list(links):
        if name not in reached and name not in carried:
            reached.add(name)
            steps.append(Step(WORLD, name, None))
            _grow(name, at, reached, steps)
    return steps, [joint for index, joint in enumerate(joints) if index not in in_tree]


def _grow(root: str, at: dict[str, list[FlatJoint]], reached: set[str], steps: list[Step]) -> None:
    """Add everything that hangs on a link, in depth first, in document order."""
    waiting = [(joint, root) for joint in reversed(at[root])]
    while waiting:
        joint, parent = waiting.pop()
        child = joint.child if joint.parent == parent else joint.parent
        if child in reached:
            continue
        reached.add(child)
        steps.append(Step(parent, child, joint))
        waiting.extend((other, child) for other in reversed(at[child]))
