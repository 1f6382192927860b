"""Jacobians of any frame with respect to the coordinates of a skeleton that it may hang on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kido.skeleton import BodyNode, Frame

if TYPE_CHECKING:
    from kido.ik.base import InverseKinematicsBase
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]


def body_under(frame: Frame, skeleton: Skeleton) -> BodyNode | None:
    """The body of a skeleton on which a frame hangs, directly or through others; None if it hangs on none."""
    world = Frame.world()
    while frame is not world:
        if isinstance(frame, BodyNode):
            return frame if frame.skeleton is skeleton else None
        frame = frame.parent_frame
    return None


def jacobian_of(frame: Frame, ik: InverseKinematicsBase) -> Array | None:
    """[angular; linear] velocity (6, n) of a frame per change of active coordinates, world axes; None: it stands."""
    skeleton = ik.skeleton
    body = body_under(frame, skeleton)
    if body is None:
        return None
    if frame is body:
        return ik.columns(skeleton.jacobian(body))
    X_WB, p = body.world_transform, frame.world_transform[:3, 3]
    return ik.columns(skeleton.jacobian(body, X_WB[:3, :3].T @ (p - X_WB[:3, 3])))
