"""Frames: what has a pose and a motion."""

from __future__ import annotations

import itertools
import weakref
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import ReadOnlyArray, fixed, read_only_copy
from kido.attributes import FixedAttributes
from kido.errors import ModelError
from kido.kernels import frames as kernels
from kido.math.transform import as_transform, as_vector
from kido.quantities.quantity import ORIGIN

Array = NDArray[np.float64]

_ORIGIN = np.zeros(3)
# How much of a frame is asked for.
POSE, TWIST, RATE = 0, 1, 2
_STAMPS = itertools.count(1)  # every evaluation of a frame gets a number of its own
_NEVER = -1
_TRANSIENT = ("_hanging", "_held", "_stamps", "_seen")


class Frame(FixedAttributes, ABC):
    """Something with a pose, a velocity and an acceleration, which can be asked for relative to any other frame.

    A frame hangs on a parent frame; all chains end at the world. A class of one's own says how the frame moves
    on its parent, by three properties: `relative_transform`, `relative_spatial_velocity` and
    `relative_spatial_acceleration`; and calls `transform_changed`, `velocity_changed` or `acceleration_changed`
    when what they return has changed. Everything else follows, evaluated when asked for and kept until it or
    something above it changes.

    In queries None stands for the world, and results are in world axes unless told otherwise. Spatial vectors are
    [angular; linear] of the frame's origin, or of the point `offset` (in the frame's own axes, from its origin).
    Spatial accelerations are Featherstone's; `linear_acceleration` is the classic one, v' of a point. Relative to
    a moving frame means as an observer who moves and turns with it sees it.

    Args:
        parent: the frame it hangs on; None for the world.
        name: for messages and for people.

    Source: DART report, section 2.4.
    """

    _world: ClassVar[Frame]  # set where the world frame is made
    _parent_frame: Frame | None = None
    _name = ""
    _kind_of_frame = ""  # as messages say it; the class's name by default
    _hanging: weakref.WeakValueDictionary[int, Frame] | None = None  # by id: a class may compare by value
    # By level: evaluated pose, velocity [w; v] and acceleration [wdot; classic] of the origin, world axes; numbers of
    # the evaluations that they are from, and of those of the parent that they were made from. Empty: nothing yet.
    _held: Any = ()
    _stamps: list[int]
    _seen: list[int]

    def __init__(self, parent: Frame | None = None, name: str = ""):
        if not isinstance(name, str):
            raise ModelError(f"frame: name: expected a text, got {name!r}")
        self._name = name
        self._hang_on(frame_or_world(self, parent, "parent"))

    # What a class of one's own implements ------------------------------------------------------------------

    @property
    @abstractmethod
    def relative_transform(self) -> Array:
        """Pose in the parent frame, 4x4."""

    @property
    @abstractmethod
    def relative_spatial_velocity(self) -> Array:
        """[angular; linear] velocity of the origin relative to the parent frame, in the frame's own axes."""

    @property
    @abstractmethod
    def relative_spatial_acceleration(self) -> Array:
        """Spatial acceleration relative to the parent frame, in the frame's own axes.

        The rate of the numbers of `relative_spatial_velocity`; its linear part is the classic relative
        acceleration of the origin less w x v.
        """

    @property
    def primary_relative_acceleration(self) -> Array:
        """The part of the relative acceleration that is free to choose, in the frame's own axes.

        For a body H udot, the share of its joint's accelerations; else all of `relative_spatial_acceleration`.
        """
        return fixed(self.relative_spatial_acceleration)

    @property
    def partial_acceleration(self) -> Array:
        """What the frame's spatial acceleration has besides its parent's and the primary part, in its own axes.

        A = Ad(X^-1) A_parent + primary + partial, with partial = ad(V) V_relative and, for a body, the rate of
        its joint's motion columns: what velocities alone bring.
        """
        V_rel = self._checked_twist("relative_spatial_velocity")
        V = self.compute_spatial_velocity(in_coordinates_of=self)
        w, v, a, b = V[:3], V[3:], V_rel[:3], V_rel[3:]
        bracket = np.concatenate([np.cross(w, a), np.cross(w, b) + np.cross(v, a)])
        return fixed(bracket + self.relative_spatial_acceleration - self.primary_relative_acceleration)

    def transform_changed(self) -> None:
        """`relative_transform` is no longer what it was."""
        if self._held:
            self._seen[POSE] = _NEVER

    def velocity_changed(self) -> None:
        """`relative_spatial_velocity` is no longer what it was."""
        if self._held:
            self._seen[TWIST] = _NEVER

    def acceleration_changed(self) -> None:
        """`relative_spatial_acceleration` is no longer what it was."""
        if self._held:
            self._seen[RATE] = _NEVER

    # Name and place ----------------------------------------------------------------------------------------

    @staticmethod
    def world() -> Frame:
        """The world frame: one, immutable."""
        return Frame._world

    @property
    def name(self) -> str:
        """Name."""
        return self._name

    @property
    def parent_frame(self) -> Frame:
        """The frame it hangs on. Setting it keeps the relative transform and motion.

        Raises:
            ModelError: on setting: the new parent hangs on this frame, or this frame cannot change its parent.
        """
        return self._parent_frame or Frame._world

    @parent_frame.setter
    def parent_frame(self, parent: Frame | None) -> None:
        self._hang_on(self._checked_parent(parent))

    @property
    def child_frames(self) -> tuple[Frame, ...]:
        """Frames that hang on it, in the order they were hung. The world does not list skeletons' bodies."""
        return tuple([] if self._hanging is None else list(self._hanging.values()))

    def descends_from(self, frame: Frame) -> bool:
        """Whether it hangs on a frame, directly or through others; a frame descends from itself."""
        current: Frame = self
        while current is not frame:
            if current is Frame._world:
                return False
            current = current.parent_frame
        return True

    def _checked_parent(self, parent: Frame | None) -> Frame:
        target = frame_or_world(self, parent, "parent")
        if target.descends_from(self):
            chain = [target]
            while chain[-1] is not self:
                chain.append(chain[-1].parent_frame)
            raise ModelError(
                f"{self.label}: cannot hang on {target.label}, which hangs on it: "
                + " on ".join(f.label for f in [*chain, target])
            )
        return target

    def _hang_on(self, parent: Frame) -> None:
        before = self._parent_frame
        if before is parent and id(self) in (parent._hanging or ()):
            return
        if before is not None:
            before._drop(self)
        self._parent_frame = parent
        parent._hang(self)
        self.transform_changed()
        self.velocity_changed()
        self.acceleration_changed()

    def _hang(self, child: Frame) -> None:
        if self._hanging is None:
            self._hanging = weakref.WeakValueDictionary()
        self._hanging[id(child)] = child

    def _drop(self, child: Frame) -> None:
        if self._hanging is not None:
            self._hanging.pop(id(child), None)

    @property
    def label(self) -> str:
        """Its kind and name, as messages say them."""
        return f"{self._kind_of_frame or type(self).__name__} {self.name!r}"

    # Evaluation --------------------------------------------------------------------------------------------

    def _relative_pose(self) -> Array:
        """`relative_transform`, checked; not to be written to."""
        return as_transform(self.relative_transform, f"{self.label}: relative_transform")

    def _relative_twist(self) -> Array:
        return self._checked_twist("relative_spatial_velocity")

    def _relative_rate(self) -> Array:
        return self._checked_twist("relative_spatial_acceleration")

    def _checked_twist(self, what: str) -> Array:
        return as_vector(getattr(self, what), f"{self.label}: {what}", 6)

    def _update(self, level: int) -> None:
        """Bring the pose, the velocity too, or the acceleration too, up to date, where stale."""
        parent = self._parent_frame or Frame._world
        above = []
        while type(parent)._update is Frame._update:  # no recursion: chains may be longer than Python's stack
            above.append(parent)
            parent = parent._parent_frame or Frame._world
        parent._update(level)
        while above:
            frame = above.pop()
            frame._refresh(parent, level)
            parent = frame
        self._refresh(parent, level)

    def _refresh(self, parent: Frame, level: int) -> None:
        """`_update`, with the parent up to date."""
        if not self._held:
            self._held, self._stamps, self._seen = [None] * 3, [0] * 3, [_NEVER] * 3
        held, seen, above, stamps = self._held, self._seen, parent._held, parent._stamps
        if seen[POSE] != stamps[POSE]:
            held[POSE] = np.empty((4, 4))
            kernels.compose_poses.call(above[POSE], self._relative_pose(), held[POSE])
            self._stamps[POSE], seen[POSE] = next(_STAMPS), stamps[POSE]
            seen[TWIST] = _NEVER
        if level == POSE:
            return
        if seen[TWIST] != stamps[TWIST]:
            held[TWIST] = np.empty(6)
            kernels.velocity_on.call(*above[: TWIST + 1], held[POSE], self._relative_twist(), held[TWIST])
            self._stamps[TWIST], seen[TWIST] = next(_STAMPS), stamps[TWIST]
            seen[RATE] = _NEVER
        if level == TWIST:
            return
        if seen[RATE] != stamps[RATE]:
            held[RATE] = np.empty(6)
            twist, rate = self._relative_twist(), self._relative_rate()
            kernels.acceleration_on.call(*above, held[POSE], twist, rate, held[RATE])
            self._stamps[RATE], seen[RATE] = next(_STAMPS), stamps[RATE]

    def _up_to(self, level: int) -> Any:
        """Pose, velocity and acceleration, up to date as far as the level."""
        self._update(level)
        return self._held

    def _velocity_seen_by(self, offset: ArrayLike, relative_to: Frame | None, in_coordinates_of: Frame | None) -> Array:
        r = _ORIGIN if offset is ORIGIN else as_vector(offset, f"{self.label}: offset")
        seen_by = frame_or_world(self, relative_to, "relative_to")
        axes = frame_or_world(self, in_coordinates_of, "in_coordinates_of")
        X, (there, V_there, _), (own, V, _) = (
            axes._up_to(POSE)[POSE],
            seen_by._up_to(TWIST),
            self._up_to(TWIST),
        )
        out = np.empty(6)
        kernels.relative_velocity.call(own, V, r, there, V_there, X, out)
        return out

    def _acceleration_seen_by(
        self, offset: ArrayLike, relative_to: Frame | None, in_coordinates_of: Frame | None, spatial: bool
    ) -> Array:
        r = _ORIGIN if offset is ORIGIN else as_vector(offset, f"{self.label}: offset")
        seen_by = frame_or_world(self, relative_to, "relative_to")
        axes = frame_or_world(self, in_coordinates_of, "in_coordinates_of")
        X, there, own = (
            axes._up_to(POSE)[POSE],
            seen_by._up_to(RATE),
            self._up_to(RATE),
        )
        out = np.empty(6)
        kernels.relative_acceleration.call(*own, r, *there, X, int(spatial), out)
        return out

    # Queries -----------------------------------------------------------------------------------------------

    @property
    def world_transform(self) -> Array:
        """Pose in the world, 4x4 (a copy)."""
        return read_only_copy(ReadOnlyArray, self._up_to(POSE)[POSE])

    def transform(self, with_respect_to: Frame | None = None, in_coordinates_of: Frame | None = None) -> Array:
        """Pose in another frame, 4x4.

        Args:
            with_respect_to: frame A of the pose X_AB; None for the world.
            in_coordinates_of: frame F in whose axes the pose is written, R_FA R_AB and the position from A's
                origin in F's axes; None for those of `with_respect_to`.
        """
        base = frame_or_world(self, with_respect_to, "with_respect_to")
        X_base, own = base._up_to(POSE)[POSE], self._up_to(POSE)[POSE]
        X = np.eye(4)
        if base is not self:
            kernels.pose_seen_from.call(X_base, own, X)
        if in_coordinates_of is not None and in_coordinates_of is not base:
            axes = frame_or_world(self, in_coordinates_of, "in_coordinates_of")
            X[:3] = axes._up_to(POSE)[POSE][:3, :3].T @ X_base[:3, :3] @ X[:3]
        return X

    @property
    def spatial_velocity(self) -> Array:
        """[angular; linear] velocity of the origin relative to the world, world axes [rad/s, m/s] (a copy)."""
        return read_only_copy(ReadOnlyArray, self._up_to(TWIST)[TWIST])

    def compute_spatial_velocity(
        self, offset: ArrayLike = ORIGIN, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None
    ) -> Array:
        """[angular; linear] velocity of a point of the frame [rad/s, m/s].

        Args:
            offset: the point, from the origin in the frame's own axes [m].
            relative_to: frame from which the motion is seen; None for the world.
            in_coordinates_of: frame in whose axes the result is; None for the world's.
        """
        return self._velocity_seen_by(offset, relative_to, in_coordinates_of)

    def angular_velocity(self, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None) -> Array:
        """Angular velocity [rad/s]; arguments as for `compute_spatial_velocity`."""
        return self._velocity_seen_by(ORIGIN, relative_to, in_coordinates_of)[:3]

    def linear_velocity(
        self, offset: ArrayLike = ORIGIN, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None
    ) -> Array:
        """Velocity of a point of the frame [m/s]; arguments as for `compute_spatial_velocity`."""
        return self._velocity_seen_by(offset, relative_to, in_coordinates_of)[3:]

    @property
    def spatial_acceleration(self) -> Array:
        """[angular; linear] spatial acceleration (Featherstone's) of the origin, relative to the world, world axes.

        Its linear part is the classic acceleration of the origin less w x v [rad/s^2, m/s^2].
        """
        return fixed(self._acceleration_seen_by(ORIGIN, None, None, True))

    def compute_spatial_acceleration(
        self, offset: ArrayLike = ORIGIN, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None
    ) -> Array:
        """[angular; linear] spatial acceleration (Featherstone's) at a point of the frame [rad/s^2, m/s^2].

        The linear part is the point's classic acceleration less w x v, all relative to `relative_to`; arguments
        as for `compute_spatial_velocity`.
        """
        return self._acceleration_seen_by(offset, relative_to, in_coordinates_of, True)

    def angular_acceleration(self, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None) -> Array:
        """Angular acceleration [rad/s^2]; arguments as for `compute_spatial_velocity`."""
        return self._acceleration_seen_by(ORIGIN, relative_to, in_coordinates_of, False)[:3]

    def linear_acceleration(
        self, offset: ArrayLike = ORIGIN, relative_to: Frame | None = None, in_coordinates_of: Frame | None = None
    ) -> Array:
        """Classic acceleration of a point of the frame [m/s^2]; arguments as for `compute_spatial_velocity`.

        a_BA = a_B - a_A - wdot_A x r - 2 w_A x v_BA - w_A x (w_A x r), with r from A's origin to the point.
        """
        return self._acceleration_seen_by(offset, relative_to, in_coordinates_of, False)[3:]

    # Copies ------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in _TRANSIENT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for key, value in state.items():
            # Kernels take arrays whose dtype is NumPy's own float64 object; unpickled ones have an equal one.
            own = isinstance(value, np.ndarray) and value.dtype == np.float64
            vars(self)[key] = value.astype(np.float64) if own else value
        if self._parent_frame is not None:
            self._parent_frame._hang(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def frame_or_world(asked: Frame, frame: Frame | None, what: str) -> Frame:
    """A frame that a user gave to another; None stands for the world.

    Raises:
        ModelError: no frame.
    """
    if frame is None:
        return Frame._world
    if not isinstance(frame, Frame):
        raise ModelError(f"{asked.label}: {what}: expected a frame or None (the world), got {frame!r}")
    return frame
