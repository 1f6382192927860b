"""Kinds of frames: the world, frames at rest on their parent, and frames that are put and moved as one likes."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from kido.arrays import ReadOnlyArray, fixed, read_only_copy, settable
from kido.errors import ModelError
from kido.math.transform import as_transform, as_vector
from kido.skeleton.frames.frame import POSE, Array, Frame, frame_or_world

_ZERO = np.zeros(6)


_RELATIVE_TRANSFORM = settable("relative_transform")
_RELATIVE_TRANSLATION = settable("relative_translation")
_RELATIVE_ROTATION = settable("relative_rotation")
_RELATIVE_SPATIAL_VELOCITY = settable("relative_spatial_velocity")
_RELATIVE_SPATIAL_ACCELERATION = settable("relative_spatial_acceleration")
_WORLD_TRANSFORM = settable("world_transform")


class WorldFrame(Frame):
    """The inertial frame that all chains of frames end at; there is one, `kido.WORLD_FRAME`, its own parent."""

    def __new__(cls) -> WorldFrame:
        return _ONLY[0] if _ONLY else super().__new__(cls)

    def __init__(self) -> None:
        self._held, self._stamps = [np.eye(4), np.zeros(6), np.zeros(6)], [0, 0, 0]

    @property
    def name(self) -> str:
        """ "world"."""
        return "world"

    @property
    def parent_frame(self) -> Frame:
        """Itself."""
        return self

    @parent_frame.setter
    def parent_frame(self, parent: Frame | None) -> None:
        raise ModelError("the world frame hangs on nothing: it has no other parent than itself")

    @property
    def relative_transform(self) -> Array:
        """Identity, 4x4."""
        return fixed(np.eye(4))

    @property
    def relative_spatial_velocity(self) -> Array:
        """Zeros."""
        return fixed(np.zeros(6))

    @property
    def relative_spatial_acceleration(self) -> Array:
        """Zeros."""
        return fixed(np.zeros(6))

    def _update(self, level: int) -> None:
        pass  # nothing of it is ever stale

    def __reduce__(self) -> tuple[Any, ...]:
        return WorldFrame, ()

    def __copy__(self) -> WorldFrame:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> WorldFrame:
        return self

    def __repr__(self) -> str:
        return "WORLD_FRAME"


_ONLY: list[WorldFrame] = []
WORLD_FRAME = WorldFrame()
_ONLY.append(WORLD_FRAME)
Frame._world = WORLD_FRAME


class FixedFrame(Frame):
    """A frame at rest on its parent.

    A class derived from it may move the frame with `_set_relative_transform`; its relative velocity and
    acceleration are zero all the same.

    Args:
        parent: the frame it is fixed to; None for the world.
        transform: its pose in the parent (4x4 or what `as_transform` takes).
        name: for messages and for people.

    Raises:
        ModelError: the parent is no frame, or the transform no rigid transform.

    Source: DART report, section 2.4.3.
    """

    def __init__(self, parent: Frame | None = None, transform: Any = None, name: str = ""):
        self._relative = as_transform(transform, f"{type(self).__name__} {name!r}: transform")
        super().__init__(parent, name)

    @property
    def _relative(self) -> Array:
        """The relative transform itself: replaced, never written to, since copies share it."""
        return self._placed

    @_relative.setter
    def _relative(self, X: Array) -> None:
        self._placed = X
        self.transform_changed()

    def _set_relative_transform(self, transform: Any) -> None:
        self._relative = as_transform(transform, f"{self.label}: relative transform")

    @property
    def relative_transform(self) -> Array:
        """Pose in the parent frame, 4x4 (a copy)."""
        return read_only_copy(ReadOnlyArray, self._placed)

    @property
    def relative_spatial_velocity(self) -> Array:
        """Zeros."""
        return fixed(np.zeros(6))

    @property
    def relative_spatial_acceleration(self) -> Array:
        """Zeros."""
        return fixed(np.zeros(6))

    def _relative_pose(self) -> Array:
        return self._placed

    def _relative_twist(self) -> Array:
        return _ZERO

    def _relative_rate(self) -> Array:
        return _ZERO

    def clone(self, parent: Frame | None = None) -> Self:
        """An independent copy on the same parent, or on another, with the same relative transform."""
        twin = copy.copy(self)
        if parent is not None:
            twin.parent_frame = parent
        return twin


class SimpleFrame(Frame):
    """A frame whose pose, velocity and acceleration on its parent can be set to anything.

    They are independent numbers: nothing moves by itself.

    Args:
        parent: the frame it hangs on; None for the world.
        name: for messages and for people.
        transform: its pose in the parent (4x4 or what `as_transform` takes).

    Raises:
        ModelError: the parent is no frame, or the transform no rigid transform.

    Example:
        >>> target = SimpleFrame(hand, "target", (0.0, 0.0, 0.1))
        >>> target.set_classic_derivatives(linear_velocity=(0.1, 0.0, 0.0))
        >>> target.linear_velocity()

    Source: DART report, section 2.4.2.
    """

    def __init__(self, parent: Frame | None = None, name: str = "", transform: Any = None):
        self._relative = as_transform(transform, f"SimpleFrame {name!r}: transform")
        self._twist, self._rate = np.zeros(6), np.zeros(6)  # replaced, never written to: copies share them
        super().__init__(parent, name)

    @property
    def name(self) -> str:
        """Name, for messages and for people."""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        if not isinstance(value, str):
            raise ModelError(f"{self.label}: name: expected a text, got {value!r}")
        self._name = value

    def set_parent_frame(self, parent: Frame | None, keep_world_transform: bool = False) -> None:
        """Hang it on another frame.

        Args:
            parent: the new parent; None for the world.
            keep_world_transform: it stays where it is, with a new relative transform; else it keeps the relative
                one. Relative velocity and acceleration keep their numbers either way.

        Raises:
            ModelError: the new parent hangs on this frame.
        """
        target = self._checked_parent(parent)
        X = self.transform(target) if keep_world_transform else None
        self._hang_on(target)
        if X is not None:
            self.relative_transform = X

    # Pose --------------------------------------------------------------------------------------------------

    @property
    def relative_transform(self) -> Array:
        """Pose in the parent frame, 4x4 (a copy); set with what `as_transform` takes."""
        return read_only_copy(_RELATIVE_TRANSFORM, self._relative)

    @relative_transform.setter
    def relative_transform(self, value: Any) -> None:
        self._set_relative(as_transform(value, f"{self.label}: relative_transform"))

    def _set_relative(self, X: Array) -> None:
        if X.tobytes() != self._relative.tobytes():
            self._relative = X
            self.transform_changed()

    @property
    def relative_translation(self) -> Array:
        """Origin in the parent frame [m] (a copy)."""
        return read_only_copy(_RELATIVE_TRANSLATION, self._relative[:3, 3].copy())

    @relative_translation.setter
    def relative_translation(self, value: ArrayLike) -> None:
        X = self._relative.copy()
        X[:3, 3] = as_vector(value, f"{self.label}: relative_translation")
        self._set_relative(X)

    @property
    def relative_rotation(self) -> Array:
        """Rotation in the parent frame, 3x3 (a copy); set with a matrix or a SciPy `Rotation`."""
        return read_only_copy(_RELATIVE_ROTATION, self._relative[:3, :3].copy())

    @relative_rotation.setter
    def relative_rotation(self, value: Any) -> None:
        X = self._relative.copy()
        X[:3, :3] = _as_rotation(value, f"{self.label}: relative_rotation")
        self._set_relative(X)

    @property
    def world_transform(self) -> Array:
        """Pose in the world, 4x4 (a copy); set with what `as_transform` takes."""
        return read_only_copy(_WORLD_TRANSFORM, self._up_to(POSE)[POSE])

    @world_transform.setter
    def world_transform(self, value: Any) -> None:
        self.set_transform(value)

    def set_transform(self, transform: Any, with_respect_to: Frame | None = None) -> None:
        """Put it at a pose.

        Args:
            transform: the pose (4x4 or what `as_transform` takes).
            with_respect_to: frame in which the pose is given; None for the world.

        Raises:
            ModelError: no rigid transform, or `with_respect_to` hangs on this frame and so moves with it.
        """
        X = as_transform(transform, f"{self.label}: transform")
        base, parent = frame_or_world(self, with_respect_to, "with_respect_to"), self.parent_frame
        if base.descends_from(self):
            raise ModelError(f"{self.label}: cannot be put with respect to {base.label}, which hangs on it")
        self._set_relative(X if base is parent else base.transform(parent) @ X)

    # Motion ------------------------------------------------------------------------------------------------

    @property
    def relative_spatial_velocity(self) -> Array:
        """[angular; linear] velocity relative to the parent, in the frame's own axes [rad/s, m/s] (a copy)."""
        return read_only_copy(_RELATIVE_SPATIAL_VELOCITY, self._twist)

    @relative_spatial_velocity.setter
    def relative_spatial_velocity(self, value: ArrayLike) -> None:
        self.set_relative_spatial_velocity(value)

    def set_relative_spatial_velocity(self, velocity: ArrayLike, in_coordinates_of: Frame | None = None) -> None:
        """Set the spatial velocity relative to the parent.

        Args:
            velocity: [angular; linear] [rad/s, m/s].
            in_coordinates_of: frame in whose axes it is given; None: the frame's own (`kido.WORLD_FRAME` for the
                world's). Only the axes are meant: what is given is relative to the parent all the same.
        """
        twist = self._in_own_axes(as_vector(velocity, f"{self.label}: velocity", 6), in_coordinates_of)
        if twist.tobytes() != self._twist.tobytes():
            self._twist = twist
            self.velocity_changed()

    @property
    def relative_spatial_acceleration(self) -> Array:
        """Spatial acceleration relative to the parent, in the frame's own axes [rad/s^2, m/s^2] (a copy)."""
        return read_only_copy(_RELATIVE_SPATIAL_ACCELERATION, self._rate)

    @relative_spatial_acceleration.setter
    def relative_spatial_acceleration(self, value: ArrayLike) -> None:
        self.set_relative_spatial_acceleration(value)

    def set_relative_spatial_acceleration(
        self, acceleration: ArrayLike, in_coordinates_of: Frame | None = None
    ) -> None:
        """Set the spatial acceleration relative to the parent; arguments as for the velocity."""
        rate = self._in_own_axes(as_vector(acceleration, f"{self.label}: acceleration", 6), in_coordinates_of)
        if rate.tobytes() != self._rate.tobytes():
            self._rate = rate
            self.acceleration_changed()

    def set_classic_derivatives(
        self,
        linear_velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
        linear_acceleration: ArrayLike = (0.0, 0.0, 0.0),
        angular_acceleration: ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        """Set velocity and acceleration by classic vectors, all at once.

        They are those of the origin relative to the parent frame, in the parent's axes [m/s, rad/s, m/s^2,
        rad/s^2]. The spatial acceleration is [wdot; a - w x v].
        """
        label = self.label
        v = as_vector(linear_velocity, f"{label}: linear_velocity")
        w = as_vector(angular_velocity, f"{label}: angular_velocity")
        a = as_vector(linear_acceleration, f"{label}: linear_acceleration")
        e = as_vector(angular_acceleration, f"{label}: angular_acceleration")
        parent = self.parent_frame
        self.set_relative_spatial_velocity(np.concatenate([w, v]), parent)
        self.set_relative_spatial_acceleration(np.concatenate([e, a - np.cross(w, v)]), parent)

    def _in_own_axes(self, vector: Array, axes: Frame | None) -> Array:
        if axes is None or axes is self:
            return vector
        R = frame_or_world(self, axes, "in_coordinates_of").transform(self)[:3, :3]
        return np.concatenate([R @ vector[:3], R @ vector[3:]])

    # Evaluation --------------------------------------------------------------------------------------------

    def _relative_pose(self) -> Array:
        return self._relative

    def _relative_twist(self) -> Array:
        return self._twist

    def _relative_rate(self) -> Array:
        return self._rate

    def clone(self, parent: Frame | None = None) -> Self:
        """An independent copy on the same parent, or on another, with the same relative transform and motion."""
        twin = copy.copy(self)
        if parent is not None:
            twin.parent_frame = parent
        return twin


def _as_rotation(value: Any, what: str) -> Array:
    try:
        shape = np.shape(value.as_matrix() if hasattr(value, "as_matrix") else value)
    except ValueError:  # rows of unequal lengths
        shape = ()
    if shape != (3, 3):
        raise ModelError(f"{what}: expected a 3x3 rotation or a SciPy Rotation, got {value!r}")
    return as_transform(value, what)[:3, :3]
