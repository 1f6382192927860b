"""Where a camera stands so that a model fills the picture; cameras on bodies, and those that follow one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from kido.arrays import fixed
from kido.attributes import FixedAttributes, dataclass
from kido.errors import StateError
from kido.rendering.model import basis
from kido.rendering.rotations import look_at_matrix, wxyz_from_matrix
from kido.reprs import brief

FOV = float(np.deg2rad(40.0))
"""Vertical field of view of the default camera [rad]."""


@dataclass(frozen=True)
class CameraPose:
    """Where a camera is and what it sees.

    Attributes:
        position: (3,) in the world [m].
        target: (3,) the point it looks at [m].
        up: (3,) what is up in the picture.
        fov: vertical field of view [rad].

    Raises:
        StateError: numbers that are not finite or not three, two points in one place, a field of view that is not
            between 0 and pi.
    """

    position: np.ndarray
    target: np.ndarray
    up: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    fov: float = FOV

    def __post_init__(self) -> None:
        for name in ("position", "target", "up"):
            object.__setattr__(self, name, point(getattr(self, name), f"Camera {name}"))
        if np.linalg.norm(self.position - self.target) < 1e-9:
            raise StateError(f"Camera position and target are both {self.target.tolist()}; expected two points.")
        if not np.any(self.up):
            raise StateError("Camera up is [0.0, 0.0, 0.0]; expected a direction.")
        check_fov(self.fov)

    @property
    def distance(self) -> float:
        """From the position to the target [m]."""
        return float(np.linalg.norm(self.position - self.target))

    @property
    def planes(self) -> tuple[float, float]:
        """Distances [m] of what is just not too near and not too far to be drawn."""
        return max(1e-3 * self.distance, 1e-4), max(1000.0, 200.0 * self.distance)

    __repr__ = brief

    @property
    def wxyz(self) -> np.ndarray:
        """Orientation (4,) of the camera frame: z forward, x right, y down."""
        return fixed(wxyz_from_matrix(look_at_matrix(self.position, self.target, self.up)))


def point(value: Any, what: str) -> np.ndarray:
    """Three finite numbers as an array (3,).

    Raises:
        StateError: they are not.
    """
    try:
        p = np.array(value, dtype=float)
    except (TypeError, ValueError):
        p = np.zeros(0)
    if p.shape != (3,) or not np.all(np.isfinite(p)):
        raise StateError(f"{what} is {value if p.size == 0 else p.tolist()}; expected three finite numbers.")
    return p


def check_fov(fov: float) -> None:
    """Refuse a field of view that is not between 0 and pi."""
    if not 0 < fov < np.pi:
        raise StateError(f"Field of view of a camera is {fov!r} rad; expected a number between 0 and pi.")


VIEW = np.array([0.80, -0.50, 0.33])
"""Where the default camera stands, seen from the model: front, left, up."""


def fit(corners: np.ndarray, up: np.ndarray, *, aspect: float = 1.5, fov: float = FOV) -> CameraPose:
    """Camera in front, to the right and a little above, as close as it may be to see all points.

    Args:
        corners: points (n, 3) to be seen, such as the corners of boxes around the shapes [m].
        up: up axis (3,).
        aspect: width by height of the picture.
        fov: vertical field of view [rad].
    """
    corners = np.asarray(corners, dtype=float).reshape(-1, 3)
    direction = basis(up) @ (VIEW / np.linalg.norm(VIEW))
    R = look_at_matrix(direction, np.zeros(3), np.asarray(up, float))
    target = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    tan = np.tan(0.5 * fov) * np.array([aspect, 1.0]) * 0.88
    size = max(0.5 * float(np.linalg.norm(np.ptp(corners, axis=0))), 1e-3)
    distance = size
    for _ in range(8):
        local = (corners - target) @ R
        distance = max(float(np.max(np.abs(local[:, :2]) / tan - local[:, 2:])), 0.05 * size)
        # Shift the target to the middle of what the camera sees from there.
        seen = local[:, :2] / np.maximum(distance + local[:, 2:], 1e-6)
        middle = 0.5 * (seen.min(axis=0) + seen.max(axis=0)) * distance
        target = target + R[:, :2] @ middle
    distance = max(distance, 1.2 * size)
    return CameraPose(target + distance * direction, target, np.asarray(up, float), fov)


class BodyCamera(FixedAttributes):
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
            return fixed(self.transform)
        return fixed(np.asarray(self.body.world_transform) @ self.transform)

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
        camera.near, camera.far = pose.planes


def pose_of(client: Any) -> CameraPose:
    """The camera of a page."""
    c = client.camera
    return CameraPose(np.array(c.position), np.array(c.look_at), np.array(c.up_direction), float(c.fov))


def set_initial_camera(server: Any, pose: CameraPose) -> None:
    """Camera of pages that are opened from now on."""
    camera = server.initial_camera
    camera.position, camera.look_at, camera.up, camera.fov = pose.position, pose.target, pose.up, pose.fov
    camera.near, camera.far = pose.planes


class Follower:
    """Moves the cameras of the pages: along with a body, or onto a body camera."""

    def __init__(self) -> None:
        self.body: Any = None
        self.camera: BodyCamera | None = None
        self._last = np.zeros(3)
        self._along: set[Any] = set()  # pages whose cameras stand beside the body

    def follow(self, body: Any) -> None:
        """Move along with ``body``; None stops."""
        self.body, self.camera, self._along = body, None, set()

    def look_through(self, camera: BodyCamera | None) -> None:
        """See what ``camera`` sees; None stops."""
        self.camera, self.body, self._along = camera, None, set()

    def update(self, clients: list[Any]) -> None:
        """Move the cameras for this frame."""
        if self.camera is not None:
            pose = self.camera.pose
            for client in clients:
                show_pose(client, pose)
        elif self.body is not None:
            p = np.array(self.body.world_transform[:3, 3])
            moved = bool(np.any(np.abs(p - self._last) > 1e-6))
            for client in clients:
                if moved or client.client_id not in self._along:  # or opened since
                    camera = client.camera
                    # What a slow page tells of its camera is old; from where it looks at its target is right.
                    offset = camera.position - camera.look_at
                    camera.position = p + offset
                    camera.look_at = p
            self._along = {client.client_id for client in clients}
            if moved:
                self._last = p
