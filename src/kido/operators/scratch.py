"""Arrays between the sweeps of an expression, kept for the next ones: fresh pages of memory cost more than a sweep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_SMALL = 1 << 13  # numbers; below, allocating is quick
_MAX_KEPT = 4  # arrays of one shape, and shapes, that are kept


class Scratch:
    """Arrays that are free, by shape."""

    def __init__(self) -> None:
        self._free: dict[tuple[int, int], list[Array]] = {}

    def take(self, rows: int, columns: int) -> Array:
        """An array of any numbers."""
        free = self._free.get((rows, columns))
        return free.pop() if free else np.empty((rows, columns))

    def give(self, array: Array) -> None:
        """An array that nobody needs any more."""
        if array.size < _SMALL:
            return
        shape = array.shape[0], array.shape[1]
        if shape not in self._free and len(self._free) >= _MAX_KEPT:
            self._free.clear()
        free = self._free.setdefault(shape, [])
        if len(free) < _MAX_KEPT and array.base is None:
            free.append(array)
