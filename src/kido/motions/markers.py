"""Motions of markers: places of points over time, as cameras see them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed
from kido.attributes import FixedAttributes
from kido.errors import NameLookupError, StateError
from kido.math.transform import as_numbers, number_or_nan
from kido.motions.fitting import point
from kido.skeleton import Marker

if TYPE_CHECKING:
    from kido.motions.motion import Motion

__all__ = ["MarkerMotion"]


class MarkerMotion(FixedAttributes):
    """Places of named points in the world over time, in frames at an even rate; it does not change.

    Args:
        names: names of the markers.
        places: (T, markers, 3) [m]; NaN where one is not seen.
        frame_rate: frames per second.
        start: time of the first frame [s].

    Raises:
        StateError: numbers that do not fit or are infinite, or names given twice.
    """

    def __init__(self, names: Iterable[str], places: ArrayLike, frame_rate: float, *, start: float = 0.0) -> None:
        self.names = tuple(names)
        self.frame_rate, self.start = number_or_nan(frame_rate), number_or_nan(start)
        if not all(isinstance(name, str) for name in self.names) or len(set(self.names)) != len(self.names):
            raise StateError(f"markers: expected different names, got {', '.join(map(str, self.names))}")
        if not 0.0 < self.frame_rate < np.inf or not np.isfinite(self.start):
            raise StateError(
                f"markers: frame_rate is {frame_rate!r}, start {start!r} s; expected numbers, the rate above 0"
            )
        try:
            values = np.array(as_numbers(places), dtype=float)
        except (TypeError, ValueError):
            raise StateError("markers: places are no numbers") from None
        if values.ndim != 3 or len(values) == 0 or values.shape[1:] != (len(self.names), 3):
            raise StateError(f"markers: places have shape {values.shape}; expected (frames, {len(self.names)}, 3)")
        if np.isinf(values).any():
            raise StateError("markers: places are infinite; expected numbers, or NaN where a marker is not seen")
        self.places = fixed(values)

    @classmethod
    def of(cls, motion: Motion, names: Iterable[str] | None = None) -> MarkerMotion:
        """Places of markers of a motion's skeleton (`kido.Marker`), or of origins of its bodies.

        Args:
            motion: of a skeleton.
            names: of markers or bodies; None for all markers.

        Raises:
            StateError: the motion has no skeleton.
            NameLookupError: there is no such marker or body.
        """
        skeleton = motion.skeleton
        if skeleton is None:
            raise StateError("markers: the motion has no skeleton: Motion.on() gives it one")
        nodes = skeleton.nodes(Marker) if names is None else [point(skeleton, name) for name in names]
        X = np.array([skeleton.forward_kinematics(q) for q in motion.positions])
        places = np.zeros((motion.num_frames, len(nodes), 3))
        for k, node in enumerate(nodes):
            pose = X[:, node.body.index if isinstance(node, Marker) else node.index]
            places[:, k] = pose[:, :3, 3] + (pose[:, :3, :3] @ node.offset if isinstance(node, Marker) else 0.0)
        return cls([node.name for node in nodes], places, motion.frame_rate, start=motion.start)

    @property
    def num_frames(self) -> int:
        """Number of frames T."""
        return len(self.places)

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of the frames (T,) [s]."""
        return fixed(self.start + np.arange(self.num_frames) / self.frame_rate)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """Places (T, 3) of one marker.

        Raises:
            NameLookupError: there is none of that name.
        """
        if name not in self.names:
            raise NameLookupError("marker", name, self.names)
        return fixed(np.array(self.places[:, self.names.index(name)]))

    def __repr__(self) -> str:
        return f"MarkerMotion({self.num_frames} frames at {self.frame_rate:g} Hz, {len(self.names)} markers)"
