"""The world frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import ModelError
from kido.skeleton.frames.frame import Array, Frame


class WorldFrame(Frame):
    """The inertial frame that all chains of frames end at; there is one, `kido.WORLD_FRAME`, its own parent."""

    def __new__(cls) -> WorldFrame:
        return _ONLY[0] if _ONLY else super().__new__(cls)

    def __init__(self) -> None:
        self._X, self._V, self._A = np.eye(4), np.zeros(6), np.zeros(6)

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
        return np.eye(4)

    @property
    def relative_spatial_velocity(self) -> Array:
        """Zeros."""
        return np.zeros(6)

    @property
    def relative_spatial_acceleration(self) -> Array:
        """Zeros."""
        return np.zeros(6)

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
