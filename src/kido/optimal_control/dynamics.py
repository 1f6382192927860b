"""What moves: states and controls of many nodes at once to the states that follow them, with derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes
from kido.errors import ModelError, StateError
from kido.math.transform import as_vector

Array = NDArray[np.float64]
_STEP = float(np.finfo(float).eps) ** (1.0 / 3.0)


def differences_of_nodes(
    function: Callable[[Array], Array],
    values: Array,
    moved: Callable[[Array, Array], Array] = np.add,
    differences: Callable[[Array, Array], Array] = np.subtract,
) -> Array:
    """Derivatives (nodes, rows, n) of a function of many nodes, (nodes, n) -> (nodes, rows), by central differences.

    One call for each of the n numbers, of all nodes together. `moved` and `differences` are of manifolds: how values
    move, and how results differ.
    """
    columns = []
    for i in range(values.shape[1]):
        h = _STEP * np.maximum(1.0, np.abs(values[:, i]))
        step = np.zeros_like(values)
        step[:, i] = h
        ahead, behind = (np.asarray(function(moved(values, s))) for s in (step, -step))
        columns.append(np.asarray(differences(ahead, behind)) / (2.0 * h[:, None]))
    return np.stack(columns, axis=-1)


class Dynamics(FixedAttributes, ABC):
    """x_{k+1} = f(x_k, u_k), of all nodes by one call. Subclass it, and write `step`, for your own.

    States may lie on a manifold, as those of skeletons with ball and free joints do. Then `differences` and `moved` are
    of it, and derivatives are along moves: `differences(f(moved(x, d)), f(x)) = A d` for small d.

    Attributes:
        num_states: n, numbers of a state.
        num_controls: m, numbers of a control.
        curved: indices of the numbers of a state that do not simply add up; none but on manifolds.
    """

    num_states: int
    num_controls: int
    curved: tuple[int, ...] = ()

    @abstractmethod
    def step(self, states: Array, controls: Array) -> Array:
        """States (nodes, n) after those of `states` (nodes, n) under `controls` (nodes, m)."""

    def step_of_node(self, node: int, state: Array, control: Array) -> Array:
        """The state (n,) after that of one node, for dynamics that are not the same at all nodes."""
        return self.step(state[None], control[None])[0]

    def differences(self, after: Array, before: Array) -> Array:
        """d (nodes, n) with `moved(before, d) = after`."""
        return after - before

    def moved(self, states: Array, steps: Array) -> Array:
        """States (nodes, n) moved by steps (nodes, n)."""
        return states + steps

    def move_derivatives(self, steps: Array) -> tuple[Array, Array] | None:
        """J and T (nodes, n, n) of moves on a manifold, or None for unit matrices.

        `moved(x, s + d) = moved(moved(x, s), J d)` and `moved(moved(x, d), s) = moved(moved(x, s), T d)`, d small.
        """
        return None

    def derivatives(self, states: Array, controls: Array) -> tuple[Array, Array]:
        """A = df/dx (nodes, n, n) and B = df/du (nodes, n, m), by central differences unless a subclass knows more."""
        n = self.num_states
        D = differences_of_nodes(
            lambda z: self.step(z[:, :n], z[:, n:]), np.concatenate([states, controls], axis=1), self.moved_pairs,
            self.differences,
        )  # fmt: skip
        return np.ascontiguousarray(D[:, :, :n]), np.ascontiguousarray(D[:, :, n:])

    def moved_pairs(self, pairs: Array, steps: Array) -> Array:
        """`moved` of rows [state, control]."""
        n = self.num_states
        return np.concatenate([self.moved(pairs[:, :n], steps[:, :n]), pairs[:, n:] + steps[:, n:]], axis=1)

    def rollout(
        self, start: Array, states: Array, controls: Array, gains: Array, steps: Array, gaps: Array, bounds: Any
    ) -> tuple[Array, Array]:
        """States and controls under u = u_k + step_k + K_k (x - x_k) within bounds, x_{k+1} = f(x, u) - gap_k.

        From a state on that is not finite, all are NaN.
        """
        low, high = bounds
        X, U = np.full_like(states, np.nan), np.array(controls)
        X[0] = start
        for k in range(len(U)):
            off = self.differences(X[k : k + 1], states[k : k + 1])[0]
            U[k] = np.clip(controls[k] + steps[k] + gains[k] @ off, low[k], high[k])
            after = self.step_of_node(k, X[k], U[k])
            if not np.isfinite(after).all():
                break
            X[k + 1] = self.moved(after[None], -gaps[k : k + 1])[0]
        return X, U

    def simulate(self, start: ArrayLike, controls: ArrayLike) -> Array:
        """States (nodes + 1, n) from one, under controls (nodes, m).

        Raises:
            ModelError: numbers of other shapes, or not finite.
        """
        U = np.ascontiguousarray(controls, dtype=float)
        start = as_vector(start, "start", self.num_states)
        if U.ndim != 2 or U.shape[1] != self.num_controls or not np.isfinite(U).all():
            raise ModelError(f"simulate: controls: expected finite numbers (nodes, {self.num_controls}), got {U.shape}")
        none, bounds = np.zeros((len(U) + 1, self.num_states)), np.full((2, *U.shape), np.inf)
        bounds[0] = -np.inf
        K, zero = np.zeros((len(U), self.num_controls, self.num_states)), np.zeros_like(U)
        return self.rollout(start, none, U, K, zero, none[1:], bounds)[0]


class FunctionDynamics(Dynamics):
    """Dynamics by a function of many nodes.

    Args:
        num_states, num_controls: n and m.
        step: (nodes, n), (nodes, m) -> (nodes, n).
        derivatives: (nodes, n), (nodes, m) -> A (nodes, n, n), B (nodes, n, m); None: by central differences.

    Raises:
        ModelError: no function, or sizes that are no whole numbers above 0.
    """

    def __init__(
        self,
        num_states: int,
        num_controls: int,
        step: Callable[[Array, Array], ArrayLike],
        derivatives: Callable[[Array, Array], tuple[ArrayLike, ArrayLike]] | None = None,
    ):
        for what, size in (("num_states", num_states), ("num_controls", num_controls)):
            if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
                raise ModelError(f"dynamics: {what}: expected a whole number above 0, got {size!r}")
        if not callable(step) or not (derivatives is None or callable(derivatives)):
            raise ModelError(f"dynamics: expected functions of states and controls, got {step!r} and {derivatives!r}")
        self.num_states, self.num_controls = int(num_states), int(num_controls)
        self._step, self._derivatives = step, derivatives

    def step(self, states: Array, controls: Array) -> Array:
        """States (nodes, n) that follow."""
        found = np.asarray(self._step(states, controls), dtype=float)
        if found.shape != states.shape:
            raise StateError(f"dynamics: step: expected states of shape {states.shape}, got {found.shape}")
        return found

    def derivatives(self, states: Array, controls: Array) -> tuple[Array, Array]:
        """A (nodes, n, n) and B (nodes, n, m)."""
        if self._derivatives is None:
            return super().derivatives(states, controls)
        A, B = (np.ascontiguousarray(part, dtype=float) for part in self._derivatives(states, controls))
        n, m, N = self.num_states, self.num_controls, len(states)
        if A.shape != (N, n, n) or B.shape != (N, n, m):
            raise StateError(f"dynamics: derivatives: expected {(N, n, n)} and {(N, n, m)}, got {A.shape}, {B.shape}")
        return A, B


class LinearDynamics(FunctionDynamics):
    """x_{k+1} = A x + B u.

    Args:
        A: (n, n).
        B: (n, m).
    """

    def __init__(self, A: ArrayLike, B: ArrayLike):
        a, b = np.asarray(A, dtype=float), np.asarray(B, dtype=float)
        if (
            a.ndim != 2
            or b.ndim != 2
            or a.shape != (len(b), len(b))
            or not (np.isfinite(a).all() and np.isfinite(b).all())
        ):
            raise ModelError(f"linear dynamics: expected finite A (n, n) and B (n, m), got {a.shape} and {b.shape}")

        def derivatives(states: Array, controls: Array) -> tuple[Array, Array]:
            return np.tile(a, (len(states), 1, 1)), np.tile(b, (len(states), 1, 1))

        super().__init__(b.shape[0], b.shape[1], lambda x, u: x @ a.T + u @ b.T, derivatives)
