"""A skeleton in many poses at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kido.batch import Batch

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]


class Poses:
    """A skeleton at the positions of each frame of a motion.

    Attributes:
        batch: computes for all frames at once.
        positions: (frames, dofs) [m, rad].
    """

    def __init__(self, batch: Batch, positions: Array) -> None:
        self.batch = batch
        self.positions = positions
        self.memory: dict[Any, Any] = {}  # derivatives by the rows that they are of

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton. Its own positions are none of the motion's, but for while `one_by_one` runs."""
        return self.batch.skeleton

    def one_by_one(self, frames: NDArray[np.int64]) -> Iterator[int]:
        """Puts the skeleton into one pose after the other, and back at the end."""
        before = self.skeleton.positions
        try:
            for frame in frames.tolist():
                self.skeleton.positions = self.positions[frame]
                yield frame
        finally:
            self.skeleton.positions = before
