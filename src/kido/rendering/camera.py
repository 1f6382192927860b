"""Pinhole cameras: what a picture shows of what is in front, on any frame or riding on a body.

A camera's axes are OpenCV's: z forward, x right, y down. Those of OpenGL and MuJoCo (x right, y up, z backwards) are
the same turned half a turn about x. Pixel (row i, column j) covers rows i to i+1 and columns j to j+1 from the upper
left corner of the image, so that its middle is at (j + 1/2, i + 1/2).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed
from kido.attributes import dataclass
from kido.errors import ModelError, StateError
from kido.math.transform import as_positive, as_vector, inverse_transform, number_or_nan, numbers_or_nan
from kido.rendering.rotations import look_at_matrix
from kido.skeleton import BodyNode, Frame, FrameNode, SimpleFrame

FLIP = np.diag([1.0, -1.0, -1.0, 1.0])
"""From axes of OpenCV to those of OpenGL, and back."""


@dataclass(frozen=True)
class Pinhole:
    """What a pinhole camera makes of points in its axes: the pixel (u, v) = (f x/z + width/2, f y/z + height/2).

    Args:
        width, height: of the image in pixels, 1 to 16384.
        fov: vertical field of view [rad], above 0 and below pi; f = height / (2 tan(fov/2)) in pixels.
        near, far: nothing nearer or farther along the optical axis is seen [m].

    Raises:
        ModelError: a value out of range.
    """

    width: int = 640
    height: int = 480
    fov: float = math.radians(45.0)
    near: float = 0.01
    far: float = 1000.0

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            value = getattr(self, name)
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not (whole and 1 <= value <= 16384):
                raise ModelError(f"camera: {name}: expected a whole number of pixels from 1 to 16384, got {value!r}")
            object.__setattr__(self, name, int(value))
        fov = number_or_nan(self.fov)
        if not 1e-6 < fov < math.pi - 1e-6:
            raise ModelError(f"camera: fov: expected an angle above 0 and below pi [rad], got {self.fov!r}")
        near, far = as_positive(self.near, "camera: near", "m"), as_positive(self.far, "camera: far", "m")
        if near >= far:
            raise ModelError(f"camera: near is {near:g} m and far {far:g} m; expected near below far")
        for name, value in (("fov", fov), ("near", near), ("far", far)):
            object.__setattr__(self, name, value)

    @property
    def focal_length(self) -> float:
        """f in pixels, the same along rows and columns."""
        return 0.5 * self.height / math.tan(0.5 * self.fov)

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """Intrinsic matrix K (3, 3): z [u, v, 1] = K [x, y, z] in OpenCV's axes."""
        f = self.focal_length
        return fixed(np.array([[f, 0.0, 0.5 * self.width], [0.0, f, 0.5 * self.height], [0.0, 0.0, 1.0]]))

    def project(self, points: ArrayLike) -> NDArray[np.float64]:
        """Pixels (..., 2) of points (..., 3) in camera axes [m]; NaN of those that are not in front."""
        p = _as_points(points)
        depth = p[..., 2:].copy()
        depth[depth <= 0.0] = np.nan
        return np.array([self.width, self.height]) * 0.5 + self.focal_length * p[..., :2] / depth

    def unproject(self, depth: ArrayLike) -> NDArray[np.float64]:
        """Points (..., height, width, 3) in camera axes that depth images (..., height, width) show [m]; NaN
        where nothing is.
        """
        z = numbers_or_nan(depth)
        if z.shape[-2:] != (self.height, self.width):
            raise StateError(f"Depth has shape {z.shape}; expected (..., {self.height}, {self.width}).")
        z[np.isinf(z)] = np.nan
        x = (np.arange(self.width) + 0.5 - 0.5 * self.width) / self.focal_length
        y = (np.arange(self.height) + 0.5 - 0.5 * self.height) / self.focal_length
        points: Any = np.stack([x * z, y[:, None] * z, z], axis=-1)
        return points


def look_at(position: ArrayLike, target: ArrayLike, up: ArrayLike = (0.0, 0.0, 1.0)) -> NDArray[np.float64]:
    """Pose (4, 4) of a camera at `position` that sees `target` in the middle, with `up` upwards, all (3,) in one frame.

    Raises:
        ModelError: no finite vectors, two points in one place, or no direction for `up`.
    """
    p, t, u = as_vector(position, "position"), as_vector(target, "target"), as_vector(up, "up")
    if np.linalg.norm(t - p) < 1e-12:
        raise ModelError(f"look_at: position and target are both {p.tolist()}; expected two points")
    if not np.any(u):
        raise ModelError("look_at: up: expected a direction, got the zero vector")
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = look_at_matrix(p, t, u), p
    return X


def _as_points(points: ArrayLike) -> NDArray[np.float64]:
    p = numbers_or_nan(points)
    if p.ndim < 1 or p.shape[-1] != 3:
        raise StateError(f"Points to project have shape {p.shape}; expected (..., 3), got {points!r:.60}.")
    return p


def _checked(lens: Any, who: str) -> Pinhole:
    if not isinstance(lens, Pinhole):
        raise ModelError(f"{who}: lens: expected a kido.rendering.Pinhole, got {lens!r}")
    return lens


class _Seeing:
    """What a camera is besides a frame."""

    _lens: Pinhole
    world_transform: Any
    label: Any

    @property
    def lens(self) -> Pinhole:
        """Size of its images, field of view and range."""
        return self._lens

    @lens.setter
    def lens(self, value: Pinhole) -> None:
        self._lens = _checked(value, self.label)

    @property
    def opengl_transform(self) -> NDArray[np.float64]:
        """World pose (4, 4) of its axes as OpenGL and MuJoCo have them: x right, y up, z backwards."""
        return fixed(np.asarray(self.world_transform) @ FLIP)

    def project(self, points: ArrayLike) -> NDArray[np.float64]:
        """Pixels (..., 2) at which it sees points (..., 3) of the world [m]; NaN of those that are not in front."""
        X = np.asarray(self.world_transform)
        return self._lens.project((_as_points(points) - X[:3, 3]) @ X[:3, :3])


class Camera(_Seeing, SimpleFrame):
    """A camera on any frame: it goes where that goes, or stays in the world.

    Args:
        lens: what it sees; by default 640 x 480 pixels, 45 degrees.
        transform: its axes in the frame's (4x4 or what `as_transform` takes): z forward, x right, y down.
        parent: the frame or body it hangs on; None for the world.
        name: for messages and for people.

    Example:
        >>> camera = kido.rendering.Camera(transform=kido.rendering.look_at((2, -1, 1), (0, 0, 0.5)))
    """

    def __init__(self, lens: Pinhole | None = None, transform: Any = None, parent: Frame | None = None, name: str = ""):
        self._lens = _checked(Pinhole() if lens is None else lens, f"camera {name!r}")
        super().__init__(parent, name, transform)


class CameraNode(_Seeing, FrameNode):
    """A camera that belongs to a body, and is copied, saved and moved with it.

    Args:
        body: the body that carries it.
        name: unique among the skeleton's nodes.
        lens: what it sees; by default 640 x 480 pixels, 45 degrees.
        relative_transform: its axes in the body's: z forward, x right, y down.

    Example:
        >>> eye = head.create_node(kido.rendering.CameraNode, "eye", kido.rendering.Pinhole(64, 64))
    """

    _property_fields: ClassVar[dict[str, str]] = {**FrameNode._property_fields, "lens": "_lens"}

    def __init__(self, body: BodyNode, name: str, lens: Pinhole | None = None, relative_transform: Any = None):
        self._lens = _checked(Pinhole() if lens is None else lens, f"camera {name!r}")
        super().__init__(body, name, relative_transform)


def anchor_of(camera: Camera | CameraNode) -> tuple[BodyNode | None, NDArray[np.float64]]:
    """The body that a camera moves with, None for the world, and its pose (4, 4) there."""
    above: Any = camera
    while not isinstance(above, BodyNode) and above.parent_frame is not above:
        above = above.parent_frame
    X = np.asarray(camera.world_transform)
    if not isinstance(above, BodyNode):
        return None, X
    return above, inverse_transform(np.asarray(above.world_transform)) @ X


__all__ = ["Camera", "CameraNode", "Pinhole", "look_at"]
