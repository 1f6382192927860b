"""The axes of a chain of hinges, read from a skeleton."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError
from kido.math.transform import inverse_transform
from kido.reprs import brief
from kido.skeleton import WORLD_FRAME, CompoundJoint, DegreeOfFreedom, Frame, Joint
from kido.skeleton.joints.coordinates import CoordinateKind
from kido.skeleton.nodes.node import JacobianNode

Array = NDArray[np.float64]

_NO_TURN = 1e-9


@dataclass(frozen=True)
class HingeChain:
    """Hinges in a row, from a base to a tip: T = R(axis_1, q_1) ... R(axis_n, q_n) home, turns about axes in the base.

    Args:
        axes: (n, 3) unit axes in the base's frame at zero positions.
        points: (n, 3) a point on each axis [m], the same.
        home: (4, 4) pose of the tip in the base at zero positions.
        lower, upper: (n,) limits [rad]; infinite: none.
        name: what messages call it.
    """

    axes: Array
    points: Array
    home: Array
    lower: Array
    upper: Array
    name: str = "chain"

    __repr__ = brief

    def __len__(self) -> int:
        return len(self.axes)

    @property
    def size(self) -> float:
        """Size of the arm [m]: the largest distance between two of its axes, or of the tip from one; at least 1 mm."""
        largest = 1e-3
        for k, (h, o) in enumerate(zip(self.axes, self.points, strict=True)):
            for g, p in zip(self.axes[:k], self.points[:k], strict=True):
                n, gap = np.cross(h, g), o - p
                sine = float(np.linalg.norm(n))
                apart = abs(n @ gap) / sine if sine > 1e-6 else float(np.linalg.norm(np.cross(h, gap)))
                largest = max(largest, apart)
            largest = max(largest, float(np.linalg.norm(np.cross(h, self.home[:3, 3] - o))))
        return largest

    def pose(self, q: Array) -> Array:
        """Pose of the tip in the base at positions q: (4, 4)."""
        X = np.eye(4)
        for axis, point, angle in zip(self.axes, self.points, q, strict=True):
            X = X @ turn(axis, point, float(angle))
        return X @ self.home


def turn(axis: Array, point: Array, angle: float) -> Array:
    """Motion of a turn about the axis through a point (4, 4), by Rodrigues' formula."""
    X = np.eye(4)
    K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    X[:3, :3] += np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)
    X[:3, 3] = point - X[:3, :3] @ point
    return X


def base_of(dofs: Sequence[DegreeOfFreedom]) -> Frame:
    """The frame that carries the first of a chain's joints: a body, or the world."""
    return dofs[0].joint.parent or WORLD_FRAME


def _may_be_hinges(joint: Joint) -> bool:
    """Whether coordinates are angles about axes that those after them do not move; hinges of a chain are looked at."""
    return isinstance(joint, CompoundJoint) or set(joint.coordinate_kinds) == {CoordinateKind.ANGLE}


def read_chain(node: JacobianNode, dofs: Sequence[DegreeOfFreedom]) -> HingeChain:
    """The axes of a chain of coordinates up to a node, from the pose that the skeleton has now.

    Column k of the node's Jacobian is [h; h x (tip - point on the axis)]. At the present positions q these are axes
    where turns have carried them; turning back one after the other, from the base, gives them at zero positions.

    Raises:
        ModelError: a coordinate is no hinge; others are between them, or between them and the node.
    """
    above = node.dependent_dofs
    names = [dof.name for dof in dofs]
    if not dofs:
        raise ModelError(f"chain up to {node.name!r}: expected coordinates, got none")
    for dof in dofs:
        if dof not in above:
            raise ModelError(f"chain up to {node.name!r}: coordinate {dof.name!r} does not move it")
        if not _may_be_hinges(dof.joint):
            raise ModelError(
                f"chain up to {node.name!r}: joint {dof.joint.name!r} is a {type(dof.joint).__name__}; expected hinges"
            )
    first = above.index(dofs[0])
    if first and above[first - 1].joint is dofs[0].joint:
        raise ModelError(f"chain up to {node.name!r}: {names[0]!r} is not the first coordinate of its joint")
    if list(above[first:]) != list(dofs):
        others = [dof.name for dof in above[first:] if dof not in dofs]
        reason = f"{others} move it too" if others else f"expected the order {[d.name for d in above[first:]]}"
        raise ModelError(f"chain up to {node.name!r}: {names} is no chain: {reason}")
    base = base_of(dofs)
    X_WB = base.world_transform
    X_BW = inverse_transform(X_WB)
    tip = X_BW @ node.world_transform
    columns = node.jacobian()[:, first:]
    axes, points = np.empty((len(dofs), 3)), np.empty((len(dofs), 3))
    back = np.eye(4)
    for k, dof in enumerate(dofs):
        h, v = X_BW[:3, :3] @ columns[:3, k], X_BW[:3, :3] @ columns[3:, k]
        if abs(np.linalg.norm(h) - 1.0) > 1e-9 or abs(h @ v) > _NO_TURN:
            raise ModelError(f"chain up to {node.name!r}: coordinate {dof.name!r} is no hinge: it moves along its axis")
        point = tip[:3, 3] + np.cross(h, v)
        axis, point = back[:3, :3] @ h, back[:3, :3] @ point + back[:3, 3]
        axes[k], points[k] = axis / np.linalg.norm(axis), point
        back = turn(axes[k], points[k], -dof.position) @ back
    return HingeChain(
        axes,
        points,
        back @ tip,
        np.array([dof.position_lower_limit for dof in dofs]),
        np.array([dof.position_upper_limit for dof in dofs]),
        f"chain up to {node.name!r}",
    )
