"""`Path`: what planners answer with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes

if TYPE_CHECKING:
    from kido.planning.space import Space

Array = NDArray[np.float64]
_NO_COSTS = np.zeros(0)


class Path(FixedAttributes):
    """A motion in straight pieces from state to state: the shortest ways there, as their space has them.

    Attributes:
        states: (n, planned dofs) [rad or m]; hinges without limits turn on, by more than a turn if need be.
        dof_names: names of the coordinates.
        seconds: how long the search took; iterations, checked_states: what it did.
        iterations, checked_states: see there.
        costs: lengths of the best path after each batch of samples, of a planner that goes on (n,).
    """

    if TYPE_CHECKING:
        space: Space | None
        states: Array
        dof_names: list[str]
        seconds: float
        iterations: int
        checked_states: int
        costs: Array

    def __init__(
        self,
        states: Array,
        dof_names: list[str],
        seconds: float = 0.0,
        iterations: int = 0,
        checked_states: int = 0,
        space: Space | None = None,
    ):
        kept = states.copy() if space is None else space.unrolled(states)
        vars(self).update(  # one by one it takes as long as a short search
            space=space, states=kept, dof_names=dof_names, seconds=seconds, iterations=iterations,
            checked_states=checked_states, costs=_NO_COSTS,
        )  # fmt: skip

    @property
    def length(self) -> float:
        """Sum of the lengths of its pieces [rad or m]."""
        return float(np.linalg.norm(self._ways(), axis=1).sum())

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        return f"Path({len(self)} states, length={self.length:.4g})"

    def at(self, fraction: ArrayLike) -> Array:
        """States at shares of the length, 0 to 1."""
        if len(self.states) == 1:
            return np.broadcast_to(self.states[0], (*np.shape(fraction), self.states.shape[1])).copy()
        ways = self._ways()
        steps = np.linalg.norm(ways, axis=1)
        along = np.concatenate([[0.0], np.cumsum(steps)])
        s = np.clip(np.asarray(fraction, float), 0.0, 1.0) * along[-1]
        k = np.clip(np.searchsorted(along, s, side="right") - 1, 0, len(steps) - 1)
        share = np.clip((s - along[k]) / np.maximum(steps[k], 1e-300), 0.0, 1.0)
        return self._go(self.states[k], ways[k], share)

    def _ways(self) -> Array:
        if self.space is None:
            return np.diff(self.states, axis=0)
        return self.space.ways(self.states[:-1], self.states[1:])

    def _go(self, states: Array, ways: Array, shares: Array) -> Array:
        if self.space is None:
            return states + shares[..., None] * ways
        return self.space.at(states, ways, shares)

    def at_shares_of_pieces(self, number: int) -> Array:
        """States that divide each piece into as many equal parts, ends included."""
        shares = np.arange(number) / number
        pieces = [self._go(a, np.tile(w, (number, 1)), shares) for a, w in zip(self.states, self._ways(), strict=False)]
        return np.concatenate([*pieces, self.states[-1:]])
