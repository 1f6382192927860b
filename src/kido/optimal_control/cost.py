"""What a motion costs: terms of many nodes at once, with gradients and Gauss-Newton matrices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import FixedAttributes
from kido.batch import Batch
from kido.errors import ModelError, StateError
from kido.math.transform import as_vector
from kido.optimal_control.dynamics import Array, Dynamics, differences_of_nodes
from kido.reprs import brief
from kido.skeleton import BodyNode, Skeleton


class Quadratic(NamedTuple):
    """Derivatives of costs at nodes: x (nodes, n), u (nodes, m), xx, ux (nodes, m, n), uu. A zero may be given as 0."""

    x: Array | float
    u: Array | float
    xx: Array | float
    ux: Array | float
    uu: Array | float

    __repr__ = brief


class Cost(FixedAttributes, ABC):
    """A cost of states and controls of nodes. Subclass it, and write `value` and `quadratic`, for your own.

    At the last node there are no controls: they are None there, and derivatives by them are not read.
    """

    _dynamics: Dynamics | None = None

    def on(self, dynamics: Dynamics) -> Self:
        """This cost for states of dynamics, of which it takes differences: on a manifold if they are of one.

        `ControlProblem` asks for it; derivatives by states are then along the dynamics' moves.
        """
        if not dynamics.curved:
            return self
        found = copy(self)
        found._dynamics = dynamics
        return found

    @abstractmethod
    def value(self, states: Array, controls: Array | None) -> Array:
        """Cost (nodes,) of each node."""

    @abstractmethod
    def quadratic(self, states: Array, controls: Array | None) -> Quadratic:
        """Gradient and positive semidefinite second derivatives, or what stands for these."""


class QuadraticCost(Cost):
    """(x - x0)^T Q (x - x0) / 2 + (u - u0)^T R (u - u0) / 2 + q x + r u, at each node.

    On manifolds x - x0 is the move from x0 to x, in q x too.

    Args:
        Q: (n, n), its diagonal (n,), or 0.
        R: (m, m), its diagonal (m,), or 0.
        target: x0 (n,), or (nodes, n) where it moves.
        target_control: u0 (m,), or (nodes, m).
        q: (n,).
        r: (m,).

    Raises:
        ModelError: matrices that are not symmetric and positive semidefinite, or not finite.
    """

    def __init__(
        self,
        Q: ArrayLike = 0.0,
        R: ArrayLike = 0.0,
        target: ArrayLike = 0.0,
        target_control: ArrayLike = 0.0,
        q: ArrayLike = 0.0,
        r: ArrayLike = 0.0,
    ):
        self._Q, self._R = _weights(Q, "Q"), _weights(R, "R")
        self._x0, self._u0, self._q, self._r = (
            _finite(v, what) for v, what in ((target, "target"), (target_control, "target_control"), (q, "q"), (r, "r"))
        )

    def on(self, dynamics: Dynamics) -> Self:
        """This cost for states of dynamics; see `Cost.on`.

        Raises:
            ModelError: numbers for states or controls of another size.
        """
        n, m = dynamics.num_states, dynamics.num_controls
        of_states = (("Q", self._Q), ("target", self._x0), ("q", self._q))
        of_controls = (("R", self._R), ("target_control", self._u0), ("r", self._r))
        for size, parts in ((n, of_states), (m, of_controls)):
            for what, value in parts:
                if value.ndim and value.shape[-1] not in (1, size):
                    raise ModelError(f"cost: {what}: expected {size} numbers, got shape {value.shape}")
        return super().on(dynamics)

    def value(self, states: Array, controls: Array | None) -> Array:
        """Cost (nodes,)."""
        x = self._off(states)
        total = 0.5 * np.sum(_times(self._Q, x) * x, axis=1)
        total = total + np.sum(self._q * (states if self._dynamics is None else x), axis=1)
        if controls is not None:
            u = controls - self._u0
            total = total + 0.5 * np.sum(_times(self._R, u) * u, axis=1) + np.sum(self._r * controls, axis=1)
        return total

    def quadratic(self, states: Array, controls: Array | None) -> Quadratic:
        """Its exact derivatives; on manifolds second ones by Gauss and Newton."""
        off = self._off(states)
        x, xx = _times(self._Q, off) + self._q, _square(self._Q, states.shape[1])
        if self._dynamics is not None:
            moves, curved = self._dynamics.move_derivatives(off), np.array(self._dynamics.curved)
            if moves is not None:
                J, of_curved = moves[0], (slice(None), curved[:, None], curved)
                J[of_curved] = np.linalg.inv(J[of_curved])
                x, xx = np.einsum("kji,kj->ki", J, np.broadcast_to(x, off.shape)), np.swapaxes(J, 1, 2) @ xx @ J
        if controls is None:
            return Quadratic(x, 0.0, xx, 0.0, 0.0)
        u = _times(self._R, controls - self._u0) + self._r
        return Quadratic(x, u, xx, 0.0, _square(self._R, controls.shape[1]))

    def _off(self, states: Array) -> Array:
        if self._dynamics is None:
            return states - self._x0
        return self._dynamics.differences(states, np.array(np.broadcast_to(self._x0, states.shape)))


class ResidualCost(Cost):
    """|r(x, u)|^2 / 2 at each node, its second derivatives by Gauss and Newton: J^T J.

    Args:
        residuals: states (nodes, n), controls (nodes, m) -> (nodes, rows); at the last node controls are None.
        jacobians: the same -> (nodes, rows, n), (nodes, rows, m), the second may be 0; None: by central differences. On
            manifolds, those by states are along moves, as Jacobians of skeletons are along velocities.

    Raises:
        ModelError: no functions.
    """

    def __init__(
        self,
        residuals: Callable[[Array, Any], ArrayLike],
        jacobians: Callable[[Array, Array | None], tuple[Array, Array | float]] | None = None,
    ):
        if not callable(residuals) or not (jacobians is None or callable(jacobians)):
            raise ModelError(f"residual cost: expected functions of states and controls, got {residuals!r}")
        self._residuals, self._jacobians = residuals, jacobians

    def residuals(self, states: Array, controls: Array | None) -> Array:
        """r (nodes, rows)."""
        found = np.asarray(self._residuals(states, controls), dtype=float)
        if found.ndim != 2 or len(found) != len(states):
            raise StateError(f"residual cost: expected residuals ({len(states)}, rows), got an array of {found.shape}")
        return found

    def jacobians(self, states: Array, controls: Array | None) -> tuple[Array, Array | float]:
        """dr/dx (nodes, rows, n) and dr/du (nodes, rows, m)."""
        if self._jacobians is not None:
            return self._jacobians(states, controls)
        n, on = states.shape[1], self._dynamics
        if controls is None:
            return differences_of_nodes(
                lambda x: self.residuals(x, None), states, np.add if on is None else on.moved
            ), 0.0
        z = np.concatenate([states, controls], axis=1)
        D = differences_of_nodes(
            lambda z: self.residuals(z[:, :n], z[:, n:]), z, np.add if on is None else on.moved_pairs
        )
        return D[:, :, :n], D[:, :, n:]

    def value(self, states: Array, controls: Array | None) -> Array:
        """Cost (nodes,)."""
        r = self.residuals(states, controls)
        return 0.5 * np.einsum("ki,ki->k", r, r)

    def quadratic(self, states: Array, controls: Array | None) -> Quadratic:
        """J^T r and J^T J."""
        r = self.residuals(states, controls)
        Jx, Ju = self.jacobians(states, controls)
        xt = np.swapaxes(Jx, 1, 2)
        x, xx = (xt @ r[:, :, None])[:, :, 0], xt @ Jx
        if not isinstance(Ju, np.ndarray):
            return Quadratic(x, 0.0, xx, 0.0, 0.0)
        ut = np.swapaxes(Ju, 1, 2)
        return Quadratic(x, (ut @ r[:, :, None])[:, :, 0], xx, ut @ Jx, ut @ Ju)


class PointCost(ResidualCost):
    """weight |D (p(q) - target)|^2 / 2 of a point on a body, for states [q, u] of a skeleton.

    Args:
        skeleton: whose states they are.
        body: the body, its name or its index.
        target: (3,), or (nodes, 3) where it moves, in the world [m].
        weight: [1/m^2], or (nodes,) where it changes, such as one at a touch-down and zeros.
        offset: the point in the body's axes [m].
        directions: D (rows, 3) or (3,), world axes.

    Its residual is zero where the point is at its target, so that it may be an equality of a problem too.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        body: BodyNode | str | int,
        target: ArrayLike,
        weight: ArrayLike = 1.0,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        directions: ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    ):
        batch, point = Batch(skeleton), as_vector(offset, "offset")
        index = skeleton.body(body).index if isinstance(body, str | int) else getattr(body, "index", None)
        if index is None or (not isinstance(body, str | int) and body.skeleton is not skeleton):
            raise ModelError(f"cost: expected a body of skeleton {skeleton.name!r}, got {body!r:.80}")
        weights, D, n = _finite(weight, "weight"), np.atleast_2d(_finite(directions, "directions")), skeleton.num_dofs
        if weights.ndim > 1 or not (weights >= 0.0).all() or not weights.any() or D.shape[1] != 3:
            raise ModelError(f"cost: expected weights not below 0, not all 0, and directions (rows, 3), got {weight!r}")
        goal, root = _finite(target, "target"), np.sqrt(weights)[..., None]
        if goal.ndim not in (1, 2) or goal.shape[-1] != 3:
            raise ModelError(f"cost: target: expected (3,) or (nodes, 3) numbers, got shape {goal.shape}")

        def residuals(states: Array, controls: Array | None) -> Array:
            X = batch.forward_kinematics(np.ascontiguousarray(states[:, :n]))[:, index]
            return root * ((X[:, :3, :3] @ point + X[:, :3, 3] - goal) @ D.T)

        def jacobians(states: Array, controls: Array | None) -> tuple[Array, float]:
            J = np.zeros((len(states), len(D), 2 * n))
            J[:, :, :n] = root[..., None] * (
                D @ batch.jacobian(np.ascontiguousarray(states[:, :n]), index, point)[:, 3:]
            )
            return J, 0.0

        super().__init__(residuals, jacobians)


class StackedCost(ResidualCost):
    """Residuals of several, one after the other."""

    def __init__(self, parts: Sequence[ResidualCost]):
        self._parts = tuple(parts)

        def residuals(states: Array, controls: Array | None) -> Array:
            return np.concatenate([part.residuals(states, controls) for part in self._parts], axis=1)

        super().__init__(residuals)

    def on(self, dynamics: Dynamics) -> Self:
        """See `Cost.on`."""
        return type(self)([part.on(dynamics) for part in self._parts])

    def jacobians(self, states: Array, controls: Array | None) -> tuple[Array, Array | float]:
        """Those of the parts."""
        found = [part.jacobians(states, controls) for part in self._parts]
        Jx = np.concatenate([part[0] for part in found], axis=1)
        if controls is None:
            return Jx, 0.0
        m = controls.shape[1]
        Ju = [np.broadcast_to(part[1], (*part[0].shape[:2], m)) for part in found]
        return Jx, np.concatenate(Ju, axis=1)


def _finite(value: ArrayLike, what: str) -> Array:
    array = np.asarray(value, dtype=float)
    if not np.isfinite(array).all():
        raise ModelError(f"cost: {what}: expected finite numbers, got {value!r}")
    return array


def _weights(value: ArrayLike, what: str) -> Array:
    array = _finite(value, what)
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        lowest = float(np.linalg.eigvalsh(array)[0])
        good = np.allclose(array, array.T) and lowest >= -1e-9 * float(np.abs(array).max(initial=0.0))
    else:
        good = array.ndim < 2 and bool((array >= 0.0).all())
    if not good:
        raise ModelError(
            f"cost: {what}: expected a symmetric positive semidefinite matrix or its diagonal, got {value!r}"
        )
    return array


def _times(weights: Array, rows: Array) -> Array:
    return rows @ weights if weights.ndim == 2 else weights * rows


def _square(weights: Array, n: int) -> Array:
    return weights if weights.ndim == 2 else np.diag(np.broadcast_to(weights, n))
