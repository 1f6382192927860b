"""How many threads share a world's steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kido.errors import ModelError
from kido.jit.team import available_cores

if TYPE_CHECKING:
    from kido.simulation.engine import Engine


class WorldThreads:
    """Threads of a world."""

    if TYPE_CHECKING:
        name: str
        _engine: Engine | None
        _stale: bool
        _threads: int

    @property
    def threads(self) -> int:
        """How many threads share a step; 1 by default, None stands for all available cores.

        Skeletons and islands of contacts are shared out; results are bit-identical at any number of threads. One large
        island is solved by one thread. Worlds of few coordinates are stepped by one thread, which is quicker. Threads
        take a core each while `step` runs (at most 64), so `step(n)` wastes less than n times `step()`.
        """
        return self._threads

    @threads.setter
    def threads(self, value: Any) -> None:
        if value is None:
            value = available_cores()
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ModelError(f"world {self.name!r}: threads: expected a whole number above 0 or None, got {value!r}")
        self._threads = int(value)
        if self._engine is not None and not self._stale:
            self._engine.set_threads(self._threads)
