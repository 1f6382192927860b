"""`Path`: what planners answer with."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes

Array = NDArray[np.float64]


class Path(FixedAttributes):
    """A motion in straight pieces from state to state.

    Attributes:
        states: (n, planned dofs) [rad or m].
        dof_names: names of the coordinates.
        seconds: how long the search took; iterations, checked_states: what it did.
        iterations, checked_states: see there.
        costs: lengths of the best path after each batch of samples, of a planner that goes on (n,).
    """

    def __init__(
        self, states: Array, dof_names: list[str], seconds: float = 0.0, iterations: int = 0, checked_states: int = 0
    ):
        self.states, self.dof_names = states, dof_names
        self.seconds, self.iterations, self.checked_states = seconds, iterations, checked_states
        self.costs: Array = np.zeros(0)

    @property
    def length(self) -> float:
        """Sum of the lengths of its pieces [rad or m]."""
        return float(np.linalg.norm(np.diff(self.states, axis=0), axis=1).sum())

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        return f"Path({len(self)} states, length={self.length:.4g})"

    def at(self, fraction: ArrayLike) -> Array:
        """States at shares of the length, 0 to 1."""
        steps = np.linalg.norm(np.diff(self.states, axis=0), axis=1)
        along = np.concatenate([[0.0], np.cumsum(steps)])
        s = np.clip(np.asarray(fraction, float), 0.0, 1.0) * along[-1]
        return np.stack([np.interp(s, along, column) for column in self.states.T], axis=-1)

    def at_shares_of_pieces(self, number: int) -> Array:
        """States that divide each piece into as many equal parts, ends included."""
        shares = np.arange(number)[:, None] / number
        pieces = [a + shares * (b - a) for a, b in zip(self.states[:-1], self.states[1:], strict=True)]
        return np.concatenate([*pieces, self.states[-1:]])
