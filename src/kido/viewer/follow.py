"""Cameras on bodies: seen from a body's frame, or moving along with a body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kido.viewer.camera import CameraPose


class BodyCamera:
    """A camera fixed to a frame of a body. Its own axes: z forward, x right, y down, as in OpenCV.

    Attributes:
        name: shown in the panel.
        body: the body it sits on; None for a camera fixed in the world.
        transform: (4, 4) camera axes in body axes.
        fov: vertical field of view [rad].
    """

    def __init__(
        self, name: str, body: Any, transform: np.ndarray, fov: float, on_remove: Callable[[BodyCamera], None]
    ) -> None:
        self.name = name
        self.body = body
        self.transform = transform
        self.fov = fov
        self._on_remove = on_remove

    @property
    def world_transform(self) -> np.ndarray:
        """Camera axes in the world (4, 4)."""
        if self.body is None:
            return self.transform
        return np.asarray(self.body.world_transform) @ self.transform

    @property
    def pose(self) -> CameraPose:
        """Where it is and looks now."""
        X = self.world_transform
        return CameraPose(X[:3, 3].copy(), X[:3, 3] + X[:3, 2], -X[:3, 1], self.fov)

    def remove(self) -> None:
        """Take it out of the viewer; a second call does nothing."""
        self._on_remove(self)


def show_pose(client: Any, pose: CameraPose) -> None:
    """Move the camera of a page."""
    with client.atomic():
        camera = client.camera
        camera.position = pose.position
        camera.up_direction = pose.up
        camera.look_at = pose.target
        camera.fov = pose.fov


class Follower:
    """Moves the cameras of the pages: along with a body, or onto a body camera."""

    def __init__(self) -> None:
        self.body: Any = None
        self.camera: BodyCamera | None = None
        self._last: np.ndarray | None = None

    def follow(self, body: Any) -> None:
        """Move along with ``body``; None stops."""
        self.body, self.camera, self._last = body, None, None

    def look_through(self, camera: BodyCamera | None) -> None:
        """See what ``camera`` sees; None stops."""
        self.camera, self.body, self._last = camera, None, None

    def update(self, clients: list[Any]) -> None:
        """Move the cameras for this frame."""
        if self.camera is not None:
            pose = self.camera.pose
            for client in clients:
                show_pose(client, pose)
        elif self.body is not None:
            p = np.array(self.body.world_transform[:3, 3])
            if self._last is not None:
                shift = p - self._last
                if np.any(np.abs(shift) > 1e-6):
                    for client in clients:
                        client.camera.position = client.camera.position + shift
                    self._last = p
            else:
                self._last = p
                for client in clients:
                    camera = client.camera
                    offset = camera.position - camera.look_at
                    camera.position = p + offset
                    camera.look_at = p
