"""Threads that share the targets of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import StateError
from kido.ik.engine import batch as kernels
from kido.ik.engine.arrays import SearchArrays
from kido.ik.engine.batch import BATCH
from kido.jit import JIT_DISABLED
from kido.jit.team import MOST_THREADS, Team, available_cores

Array = NDArray[np.float64]
TARGETS_TOGETHER = 64  # targets that a thread takes at a time
MIN_TARGETS_PER_THREAD = 64  # targets for which another thread pays


class SearchPool:
    """What each thread of a batch works in, and the threads; kept from one call to the next."""

    def __init__(self) -> None:
        self._arrays: list[SearchArrays] = []
        self._team: Team | None = None

    def _workers(self, first: SearchArrays, number: int) -> list[SearchArrays]:
        if not self._arrays or self._arrays[0] is not first:
            self._arrays = [first]
        while len(self._arrays) < number:
            self._arrays.append(first.twin())
        for other in self._arrays[1:number]:
            other.tasks.base[:], other.tasks.target[:] = first.tasks.base, first.tasks.target
        return self._arrays[:number]

    def run(self, arrays: SearchArrays, targets: Array, starts: Array, threads: Any) -> Array:
        """Positions and reports (samples, numbers) of searches for rows of `targets` from rows of `starts`.

        Raises:
            StateError: a number of threads that is none.
        """
        if threads is None:
            threads = available_cores()
        if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
            raise StateError(f"threads: expected a whole number above 0, got {threads!r}")
        samples = len(targets)
        wanted = 1 if JIT_DISABLED else min(int(threads), MOST_THREADS, max(1, samples // MIN_TARGETS_PER_THREAD))
        workers = self._workers(arrays, wanted)
        out = np.zeros((samples, arrays.result[1]))
        table = BATCH(workers=wanted, tree=arrays.tree, target=targets, start=starts, out=out)
        table.worker[:] = [w.addresses for w in workers]
        function = kernels.solve_share.address
        if wanted == 1:
            kernels.solve_batch(0, function, table.address, samples, TARGETS_TOGETHER)
            return out
        if self._team is None or self._team.threads != wanted:
            self._team = Team(wanted)
        with self._team.working():
            kernels.solve_batch(self._team.address, function, table.address, samples, TARGETS_TOGETHER)
        return out
