"""Where models stand at the start: side by side, and just above the ground."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kido.shapes import Plane
from kido.skeleton import FreeJoint, Joint, ShapeNode, Skeleton, WeldJoint

Array = NDArray[np.float64]

CLEARANCE = 1e-3
"""Height of a free model's lowest point above the ground [m]."""


def extent(nodes: Sequence[ShapeNode], direction: Array) -> tuple[float, float]:
    """Smallest and largest value of direction . x over shapes in the world [m]; planes do not count.

    Infinities the wrong way round (inf, -inf) if there is nothing.
    """
    low, high = math.inf, -math.inf
    for node in nodes:
        if isinstance(node.shape, Plane):
            continue
        X = node.world_transform
        local, middle = X[:3, :3].T @ direction, float(direction @ X[:3, 3])
        high = max(high, middle + node.shape.support(local))
        low = min(low, middle - node.shape.support(-local))
    return low, high


def free_joints(skeleton: Skeleton) -> list[Joint]:
    """Free joints with nothing but welds between them and the world: what makes a model float."""
    found: list[Joint] = []
    bodies = list(skeleton.root_bodies)
    for body in bodies:
        if isinstance(body.parent_joint, FreeJoint):
            found.append(body.parent_joint)
        elif isinstance(body.parent_joint, WeldJoint):
            bodies.extend(body.children)
    return found


def move(skeleton: Skeleton, shift: Array) -> None:
    """Move a whole skeleton in the world [m]: the positions of its free joints, the frames of the others."""
    floating = free_joints(skeleton)
    for joint in floating:
        parent = np.eye(4) if joint.parent is None else joint.parent.world_transform
        axes = (parent @ joint.transform_from_parent)[:3, :3]
        joint.positions = joint.positions + np.concatenate([np.zeros(3), axes.T @ shift])
    for body in skeleton.root_bodies:
        joint = body.parent_joint
        if joint in floating or (floating and isinstance(joint, WeldJoint) and body.mass == 0.0):
            continue
        X = joint.transform_from_parent
        X[:3, 3] += shift
        joint.transform_from_parent = X


def shapes_of(skeletons: Sequence[Skeleton], collision: bool = False) -> list[ShapeNode]:
    """Shapes of skeletons; `collision`: only those that collide."""
    nodes = [node for s in skeletons for body in s.bodies for node in body.shapes]
    return [node for node in nodes if node.collision] if collision else nodes


def place_above(skeleton: Skeleton, up: Array, height: float) -> None:
    """Move a floating model so that its lowest colliding point is just above a height along `up` [m]."""
    low, _ = extent(shapes_of([skeleton], collision=True) or shapes_of([skeleton]), up)
    if free_joints(skeleton) and math.isfinite(low):
        move(skeleton, (height + CLEARANCE - low) * up)


def side_by_side(skeletons: Sequence[Skeleton], placed: Sequence[Skeleton], up: Array) -> None:
    """Move models one after another along a horizontal axis, past those placed already and each other."""
    axis = np.array([0.0, 1.0, 0.0]) if abs(up[1]) < 0.5 else np.array([1.0, 0.0, 0.0])
    _, edge = extent(shapes_of(placed), axis)
    for skeleton in skeletons:
        low, high = extent(shapes_of([skeleton]), axis)
        if not math.isfinite(low):
            continue
        if math.isfinite(edge):
            gap = max(0.1, 0.2 * (high - low))
            shift = edge + gap - low
            move(skeleton, shift * axis)
            high += shift
        edge = high
