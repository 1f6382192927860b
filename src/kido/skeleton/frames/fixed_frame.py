"""Frames that do not move on their parent."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from kido.math.transform import as_transform
from kido.skeleton.frames.frame import Array, Frame

_ZERO = np.zeros(6)


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
        self._relative = as_transform(transform, f"{self._label()}: relative transform")

    @property
    def relative_transform(self) -> Array:
        """Pose in the parent frame, 4x4 (a copy)."""
        return self._placed.copy()

    @property
    def relative_spatial_velocity(self) -> Array:
        """Zeros."""
        return np.zeros(6)

    @property
    def relative_spatial_acceleration(self) -> Array:
        """Zeros."""
        return np.zeros(6)

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
