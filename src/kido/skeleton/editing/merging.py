"""Merging of welded bodies into the bodies that carry them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kido.joints import JointKind
from kido.math.transform import inverse_transform
from kido.skeleton.external import row_seen_from
from kido.skeleton.naming import free_name
from kido.skeleton.nodes.node import FrameNode
from kido.skeleton.nodes.shape_node import ShapeNode

if TYPE_CHECKING:
    from kido.skeleton.body_node import BodyNode
    from kido.skeleton.skeleton import Skeleton


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
    others = [f for f in body.child_frames if f not in body._nodes and f not in body._children]
    return not (body.aspects or joint.aspects or others)


def _merge(body: BodyNode, parent: BodyNode) -> None:
    skeleton, joint = body.skeleton, body.parent_joint
    X = joint.transform_from_parent @ inverse_transform(joint.transform_from_child)
    loads = [
        (rows, rows.pop(body.index, None)) for rows in (skeleton.current_state.applied, skeleton.current_state.impulses)
    ]
    skeleton.structure_changed()
    if body.inertia.mass > 0.0 or body.inertia.moment.any():
        parent._inertia = parent._inertia + body.inertia.transformed(X)
    for rows, load in loads:
        if load is not None:
            rows[parent.index] = rows.get(parent.index, np.zeros(len(load))) + row_seen_from(load, X)
    taken = {shape.name for shape in parent.shapes}
    for node in body._nodes:
        if isinstance(node, ShapeNode):
            node._collision = node._collision and body.collidable
            node._name = free_name(node.name, taken)
            taken.add(node.name)
        node._body = parent
        if isinstance(node, FrameNode):
            node._hang_on(parent)
            node._seen_from(X)
    parent._nodes += body._nodes
    body._nodes = []
    children = []
    for child in body._children:
        child._parent = parent
        child.parent_joint.transform_from_parent = X @ child.parent_joint.transform_from_parent
        children.append(child)
    place = parent._children.index(body)
    parent._children[place + 1 : place + 1] = children
    body._children = []
    body.remove()
