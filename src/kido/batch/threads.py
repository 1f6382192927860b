"""The processor's side of a batch: work spaces of lanes, and threads that share the samples out."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from kido.batch import flexible_states, states, velocities
from kido.batch.states import ROLLOUT
from kido.errors import StateError
from kido.flexible.filling import flex_of, in_lanes
from kido.jit import JIT_DISABLED, LANES, Struct
from kido.jit.team import available_cores
from kido.joints import JointKind
from kido.quantities.branches import columns_workspace, derivatives_workspace
from kido.tree import TREE, data_for

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

# Work space by its kind, for a tree and a number of samples side by side, and what entries work in besides data.
MAKERS: dict[str, Callable[[Struct, int], Struct]] = {
    "data": lambda tree, samples: data_for(tree, samples=samples),
    "rollout": lambda tree, samples: ROLLOUT(samples=samples, dofs=len(tree.body_of_dof)),
    "derivation": derivatives_workspace,
    "columns": columns_workspace,
}
WORK_SPACES = {
    "simulate": ("data", "rollout"),
    "inverse_mass_matrix": ("data", "columns"),
    "inverse_dynamics_derivatives": ("data", "derivation"),
    "forward_dynamics_derivatives": ("data", "derivation"),
}
# Of skeletons with flexible bodies; "flex" is made of the skeleton.
FLEXIBLE_WORK_SPACES = {"simulate": ("data", "flex", "rollout")}
Variant = str | tuple[int, ...] | None
MIXED = "mixed"
FEWEST = 8  # groups of lanes for which starting another thread pays


def arrays_of(tree: Struct, variant: Variant) -> dict[str, np.ndarray]:
    """Arrays of a tree.

    Args:
        tree: the skeleton's own.
        variant: `MIXED`: its free joints integrated with their linear velocity in fixed axes, as worlds do; indices of
            coordinates: those are prescribed, and no others; None: the tree as it is.
    """
    arrays = {name: getattr(tree, name) for name in TREE.arrays}
    if variant == MIXED:
        arrays["kind"] = np.where(arrays["kind"] == JointKind.FREE, int(JointKind.FREE_MIXED), arrays["kind"])
    elif variant is not None:
        arrays["prescribed"] = np.zeros_like(arrays["prescribed"])
        arrays["prescribed"][list(variant)] = 1
    return arrays


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
        self._invalidate()

    def _invalidate(self) -> None:
        self._tree: Struct | None = None
        self._flex: Any = None
        self._variants: dict[Variant, Struct] = {}
        self._spaces: dict[tuple[int, str], Struct] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        return {"skeleton": self.skeleton, "threads": self.threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._invalidate()

    def _current_tree(self) -> Struct:
        """The skeleton's tree with all changes of the model, and work space that fits it."""
        tree: Struct = self.skeleton.current_state.compiled_tree()
        if tree is not self._tree:
            self._tree, self._variants, self._spaces = tree, {}, {}
            self._flex = flex_of(self.skeleton)
        return tree

    def _work_space(self, tree: Struct, thread: int, name: str) -> tuple[int, ...]:
        """Addresses of one thread's work space for an entry."""
        samples = 0 if JIT_DISABLED else LANES
        addresses = []
        kinds = WORK_SPACES.get(name, ("data",))
        if self._flex is not None:
            kinds = FLEXIBLE_WORK_SPACES.get(name, ("data", "flex"))
        for kind in kinds:
            if (thread, kind) not in self._spaces:
                made = in_lanes(self._flex, samples) if kind == "flex" else MAKERS[kind](tree, samples)
                self._spaces[thread, kind] = made
            addresses.append(self._spaces[thread, kind].address)
        return tuple(addresses)

    def run(self, name: str, count: int, *arguments: Any, variant: Variant = None) -> int:
        """Call the entry of a name for samples 0..count-1; returns the largest of what it returned."""
        tree = self._current_tree()
        home = flexible_states if self._flex is not None else states if hasattr(states, name) else velocities
        entry: Callable[..., int] = getattr(home, name)
        address = tree.address
        if variant is not None:
            if variant not in self._variants:
                self._variants = {key: made for key, made in self._variants.items() if key == MIXED}
                self._variants[variant] = TREE(**arrays_of(tree, variant))
            address = self._variants[variant].address
        groups = -(-count // LANES)
        parts = max(1, min(self.threads, groups // FEWEST))
        bounds = [LANES * (groups * k // parts) for k in range(parts)] + [count]
        # Memory and machine code are made here, by one thread.
        spaces = [self._work_space(tree, part, name) for part in range(parts)]
        if parts == 1:
            return entry(address, *spaces[0], *arguments, 0, count)
        entry(address, *spaces[0], *arguments, 0, 0)
        if self._pool is None or self._process != os.getpid():  # threads do not survive a fork
            self._pool, self._process = ThreadPoolExecutor(self.threads - 1), os.getpid()

        def work(part: int) -> int:
            return entry(address, *spaces[part], *arguments, bounds[part], bounds[part + 1])

        others = [self._pool.submit(work, part) for part in range(1, parts)]
        first = work(0)
        return max([first, *(other.result() for other in others)])
