"""The processor's side of a batch: work spaces of lanes, and threads that share the samples out."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.batch import entries
from kido.batch.states import ROLLOUT
from kido.errors import StateError
from kido.jit import JIT_DISABLED, LANES, Container
from kido.joints import JointKind
from kido.tree import DATA, TREE

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

FEWEST = 8  # groups of lanes for which starting another thread pays


def available_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


class Threads:
    """Runs an entry over all samples of a call.

    Each thread works on samples that follow each other, in groups of `LANES`, and has work space of its own,
    so results do not depend on how many threads there are.
    """

    def __init__(self, skeleton: Skeleton, threads: int | None):
        if threads is None:
            threads = available_cores()
        elif isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
            raise StateError(f"threads: expected a whole number above 0, got {threads!r}")
        self.skeleton = skeleton
        self.threads = 1 if JIT_DISABLED else int(threads)
        self._forget()

    def _forget(self) -> None:
        self._tree: Container | None = None
        self._mixed: Container | None = None
        self._data: list[Container] = []
        self._rollouts: list[Container] = []
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        return {"skeleton": self.skeleton, "threads": self.threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def _current_tree(self) -> Container:
        """The skeleton's tree with all changes of the model, and work space that fits it."""
        self.skeleton._compiled()
        tree = self.skeleton._tree
        if tree is not self._tree or tree is None:
            self._tree, self._mixed, self._data, self._rollouts = tree, None, [], []
        return tree  # type: ignore[return-value]

    def _mixed_tree(self, tree: Container) -> Container:
        """The tree with free joints integrated with their linear velocity in fixed axes, as worlds do."""
        if self._mixed is None:
            shared = {name: getattr(tree, name) for name in TREE.fields}
            kind = shared["kind"].copy()
            kind[kind == JointKind.FREE] = JointKind.FREE_MIXED
            self._mixed = Container(TREE, **{**shared, "kind": kind})
        return self._mixed

    def _work_space(self, tree: Container, thread: int) -> tuple[int, int]:
        """Addresses of one thread's data, of its own and of rollouts."""
        bodies, dofs = len(tree.parent), len(tree.body_of_dof)
        lanes = 0 if JIT_DISABLED else LANES
        while len(self._data) <= thread:
            self._data.append(Container(DATA, samples=lanes, bodies=bodies, dofs=dofs, rows=0, columns=0))
            self._rollouts.append(Container(ROLLOUT, samples=lanes, dofs=dofs))
        return self._data[thread].address, self._rollouts[thread].address

    def run(self, name: str, count: int, *arguments: Any) -> int:
        """Call the entry of a name for samples 0..count-1; returns the largest of what it returned."""
        entry: Callable[..., int] = getattr(entries, name)
        tree = self._current_tree()
        rollout = name == "simulate"
        address = (self._mixed_tree(tree) if rollout else tree).address
        groups = -(-count // LANES)
        parts = max(1, min(self.threads, groups // FEWEST))
        bounds = [LANES * (groups * k // parts) for k in range(parts)] + [count]

        def work(part: int) -> int:
            data, more = self._work_space(tree, part)
            own = (address, data, more) if rollout else (address, data)
            return entry(*own, *arguments, bounds[part], bounds[part + 1])

        if parts == 1:
            return work(0)
        for part in range(parts):  # memory and machine code are made here, by one thread
            self._work_space(tree, part)
        if not entry.overloads:  # type: ignore[attr-defined]
            data, more = self._work_space(tree, 0)
            entry(*((address, data, more) if rollout else (address, data)), *arguments, 0, 0)
        if self._pool is None or self._process != os.getpid():  # threads do not survive a fork
            self._pool, self._process = ThreadPoolExecutor(self.threads - 1), os.getpid()
        others = [self._pool.submit(work, part) for part in range(1, parts)]
        results = [work(0)]
        return max(results + [other.result() for other in others])
