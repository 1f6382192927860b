"""Copies of worlds: clones, deep copies and pickles."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

from kido.simulation.hooks import StepHooks
from kido.simulation.warm_state import warm_state

if TYPE_CHECKING:
    from kido.collision import NativeDetector
    from kido.skeleton import Skeleton


class WorldCopies:
    """How a world is copied; what was compiled is made anew, but for what shapes were made into."""

    if TYPE_CHECKING:
        _skeletons: list[Skeleton]
        _constraints: list[Any]
        _compile: Any
        _like: NativeDetector | None

    def clone(self) -> Self:
        """An independent copy with the same state; step callbacks are not copied."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        twin.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        twin._like = self._compile().detector
        return twin

    def __getstate__(self) -> dict[str, Any]:
        kept = warm_state(self._compile())
        state = self.__dict__.copy()
        state["_engine"] = None
        state["_stale"] = True
        state["_hooks"] = StepHooks()
        state["_listeners"], state["_events"] = [], None
        state["_kept"] = kept
        state["_like"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for s in self._skeletons:
            s._world = self  # type: ignore[assignment]
        for c in self._constraints:
            c._world = self
