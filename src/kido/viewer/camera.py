"""Where a camera stands so that a model fills the picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kido.viewer.rotations import look_at_matrix, wxyz_from_matrix

FOV = float(np.deg2rad(40.0))
"""Vertical field of view of the default camera [rad]."""


@dataclass(frozen=True)
class CameraPose:
    """A camera: position (3,), the point it looks at (3,), up (3,), vertical field of view [rad]."""

    position: np.ndarray
    target: np.ndarray
    up: np.ndarray
    fov: float = FOV

    @property
    def wxyz(self) -> np.ndarray:
        """Orientation (4,) of the camera frame: z forward, x right, y down."""
        return wxyz_from_matrix(look_at_matrix(self.position, self.target, self.up))


def basis(up: np.ndarray) -> np.ndarray:
    """Rotation (3, 3) whose columns are front, left and up of a scene with this up axis.

    Z up gives the world's axes, Y up gives front +z and left +x.
    """
    u = np.asarray(up, dtype=float) / np.linalg.norm(up)
    front = np.roll(np.eye(3)[int(np.argmax(np.abs(u)))], 1)
    front = front - u * (front @ u)
    front /= np.linalg.norm(front)
    return np.stack([front, np.cross(u, front), u], axis=1)


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
