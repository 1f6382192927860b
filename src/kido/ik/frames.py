"""Frames at an offset from a node, and Jacobians of any frame by the coordinates of a skeleton that it may hang on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.ik.coordinates import Coordinates
from kido.ik.model import carrier_of
from kido.skeleton import BodyNode, Frame
from kido.skeleton.frames.kinds import FixedFrame
from kido.skeleton.nodes.node import JacobianNode

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]


class OffsetNode(JacobianNode, FixedFrame):
    """A frame at a fixed pose in the axes of a node, which nothing else knows of."""

    def __init__(self, node: JacobianNode, pose: Array):
        body, relative = carrier_of(node)
        super().__init__(body, pose if relative is None else relative @ pose, node.name)
        self._place = body, self._relative

    @property
    def _carrier(self) -> tuple[Any, Any]:
        return self._place


def body_under(frame: Frame, skeleton: Skeleton) -> BodyNode | None:
    """The body of a skeleton on which a frame hangs, directly or through others; None if it hangs on none."""
    world = Frame.world()
    while frame is not world:
        if isinstance(frame, BodyNode):
            return frame if frame.skeleton is skeleton else None
        frame = frame.parent_frame
    return None


def jacobian_of(frame: Frame, ik: Coordinates) -> Array | None:
    """[angular; linear] velocity (6, n) of a frame per change of active coordinates, world axes; None: it stands."""
    skeleton = ik.skeleton
    body = body_under(frame, skeleton)
    if body is None:
        return None
    if frame is body:
        return ik.columns(skeleton.jacobian(body))
    X_WB, p = body.world_transform, frame.world_transform[:3, 3]
    return ik.columns(skeleton.jacobian(body, X_WB[:3, :3].T @ (p - X_WB[:3, 3])))
