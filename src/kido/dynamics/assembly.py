"""Positions and velocities of closed chains, put together from any start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.dynamics.system import ConstrainedSystem
from kido.errors import ModelError, StateError
from kido.joints import ActuatorType, JointKind
from kido.skeleton import DegreeOfFreedom, Joint, Skeleton

__all__ = ["Assembly"]

Array = NDArray[np.float64]

ITERATIONS = 80  # of one start
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-12, 1e8  # shares of the mean of S = G W^-1 G^T
MOST = 0.5  # [m or rad] most that one step moves a coordinate
CLOSED = 1e-13  # [m or rad] rows this near to zero are met
MISSED = 1e-6  # share of the largest velocity by which rates of rows may be missed: those of files follow to digits
STUCK = 1e-9  # share of the error by which a step has to make it less
DROP = 1e-10  # share of the largest eigenvalue of S below which rows depend on others
REGULAR = 1e-9  # share of the mean of a singular M's diagonal that is added: bodies without inertia are moved too
_ROUND = (JointKind.BALL, JointKind.FREE)  # their positions have no limits to keep to


@dataclass(frozen=True)
class Assembly:
    """How an assembly came about.

    Attributes:
        positions, velocities: (dofs,) the state, which the skeleton has too.
        error: largest |phi| that is left [m or rad].
        iterations: Levenberg-Marquardt steps, those of failed starts too.
        restarts: how many other starts were tried.
    """

    positions: Array
    velocities: Array
    error: float
    iterations: int
    restarts: int


def frozen_mask(skeleton: Skeleton, *lists: Any) -> NDArray[np.bool_]:
    """Which coordinates (dofs,) are among given ones.

    Args:
        skeleton: theirs.
        *lists: each one or several coordinates, joints, or names of either.

    Raises:
        NameLookupError: no such joint or coordinate.
        ModelError: something else, or of another skeleton.
    """
    mask = np.zeros(skeleton.num_dofs, bool)
    for items in lists:
        if isinstance(items, str | Joint | DegreeOfFreedom) or not isinstance(items, Iterable):
            items = (items,)
        for item in items:
            for dof in _dofs_of(skeleton, item):
                mask[dof.index] = True
    return mask


def _dofs_of(skeleton: Skeleton, item: Any) -> list[DegreeOfFreedom]:
    if isinstance(item, str):
        names = [dof for dof in skeleton.dofs if dof.name == item]
        return names or list(skeleton.joint(item).dofs)
    dofs = [item] if isinstance(item, DegreeOfFreedom) else list(item.dofs) if isinstance(item, Joint) else None
    if dofs is None:
        raise ModelError(f"assembly: expected coordinates, joints or their names, got {item!r}")
    for dof in dofs:
        if dof.joint.child.skeleton is not skeleton:
            raise ModelError(f"assembly: dof {dof.name!r} is not of skeleton {skeleton.name!r}")
    return dofs


def random_generator(seed: Any, what: str) -> np.random.Generator:
    """A generator from a seed or another generator.

    Raises:
        ModelError: it is neither.
    """
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: seed: expected a whole number not below 0, got {seed!r}") from None


class Assembler:
    """Assembles one system at one time.

    Args:
        system: the skeleton with its rows.
        frozen: (dofs,) coordinates whose positions stay; those of LOCKED actuators do too.
        limits: whether positions keep to joint limits; those that start outside go no farther.
        time: [s] at which rates of rows are taken.
        tolerance: of |phi| [m or rad].

    Raises:
        ModelError: some but not all coordinates of a ball or free joint are frozen.
    """

    def __init__(
        self, system: ConstrainedSystem, frozen: NDArray[np.bool_], limits: bool, time: float, tolerance: float
    ):
        self.system, self.skeleton, self.time, self.tolerance = system, system.skeleton, time, tolerance
        t = system.tree
        self.frozen = frozen | (t.actuator == ActuatorType.LOCKED)
        self.lower, self.upper = t.lower.copy(), t.upper.copy()
        round_ = np.isin(t.kind[t.body_of_dof], _ROUND)
        if not limits:
            round_ = np.ones_like(round_)
        self.lower[round_], self.upper[round_] = -np.inf, np.inf
        self.iterations = 0
        for joint in self.skeleton.joints:
            held = self.frozen[[dof.index for dof in joint.dofs]]
            if joint.kind in _ROUND and held.any() and not held.all():
                raise ModelError(
                    f"assembly: positions of joint {joint.name!r} are rotations; expected all of its coordinates to be "
                    f"frozen or none, got {', '.join(dof.name for dof in joint.dofs if self.frozen[dof.index])}"
                )

    # Positions -------------------------------------------------------------------------------------------

    def positions(self, start: Array, restarts: int, rng: np.random.Generator) -> tuple[Array, int]:
        """Positions near to the start with phi = 0.

        Returns:
            They, and how many other starts it took.

        Raises:
            StateError: none were found; the message names the rows that are missed where they are missed least.
        """
        self.lower, self.upper = np.minimum(self.lower, start), np.maximum(self.upper, start)
        best, least = start, np.inf
        for attempt in range(restarts + 1):
            q = self._clipped(start if attempt == 0 else self._other_start(start, attempt, rng))
            q = self._descend(q)
            phi = self.system.phi(q, self.time)
            error = float(np.abs(phi).max(initial=0.0))
            if error <= self.tolerance:
                return q, attempt
            if float(np.linalg.norm(phi)) < least:
                best, least = q, float(np.linalg.norm(phi))
        return self._fail(best, restarts, self._beyond_limits(start))

    def _beyond_limits(self, start: Array) -> list[str]:
        """Coordinates beyond whose limits loops can be closed from the start; none if they cannot be so either."""
        lower, upper = self.lower, self.upper
        self.lower, self.upper = np.full_like(lower, -np.inf), np.full_like(upper, np.inf)
        q = self._descend(start)
        if not np.abs(self.system.phi(q, self.time)).max(initial=0.0) <= self.tolerance:
            return []
        return [dof.name for dof in self.skeleton.dofs if not lower[dof.index] <= q[dof.index] <= upper[dof.index]]

    def _fail(self, q: Array, restarts: int, beyond: list[str]) -> Any:
        phi, names = self.system.phi(q, self.time), self.system.row_names
        wrong = [s for s in np.argsort(-np.abs(phi)) if not abs(phi[s]) <= self.tolerance]
        listed = ", ".join(f"{names[s]} ({phi[s]:.3g})" for s in wrong[:6])
        held = [dof.name for dof in self.skeleton.dofs if self.frozen[dof.index]]
        frozen = f" with {', '.join(held[:4])}{' ...' if len(held) > 4 else ''} frozen" if held else ""
        hint = f"; with limits=False they can, beyond those of {', '.join(beyond[:4])}" if beyond else ""
        raise StateError(
            f"skeleton {self.skeleton.name!r}: loops cannot be closed{frozen} from {restarts + 1} starts; rows "
            f"that are missed where they are missed least [m or rad]: {listed}{' ...' if len(wrong) > 6 else ''}{hint}"
        )

    def _clipped(self, q: Array) -> Array:
        return np.where(self.frozen, q, np.clip(q, self.lower, self.upper))

    def _other_start(self, start: Array, attempt: int, rng: np.random.Generator) -> Array:
        """The start moved at random, farther from attempt to attempt; in the end anywhere within limits."""
        spread = min(1.0, 0.1 * 2.0 ** (attempt - 1))
        moves = np.pi * spread * rng.uniform(-1.0, 1.0, len(start))
        slides = self._slides()
        moves[slides] *= self._size(start) / np.pi
        moves[self.frozen] = 0.0
        q = np.where(self.frozen, start, self.skeleton.integrate_positions(start, moves))
        if spread == 1.0:
            anywhere = ~self.frozen & np.isfinite(self.lower) & np.isfinite(self.upper)
            q[anywhere] = rng.uniform(self.lower[anywhere], self.upper[anywhere])
        return q

    def _slides(self) -> NDArray[np.bool_]:
        """Coordinates that move bodies along and do not turn them."""
        system = self.system
        system.evaluate()
        return np.abs(system.data.H[:, :3]).max(axis=1, initial=0.0) < 1e-12

    def _size(self, q: Array) -> float:
        """How far bodies are from one another [m]."""
        self.system.evaluate(q)
        p = self.system.data.p
        return max(float(np.ptp(p, axis=0).max(initial=0.0)), 0.1)

    def _descend(self, q: Array) -> Array:
        """Levenberg-Marquardt: dq = -W^-1 G^T (G W^-1 G^T + mu)^-1 phi, the least change in the metric of W = M.

        Coordinates at limits that steps would leave are held there.
        """
        damping = FIRST_DAMPING
        phi, G = self.system.evaluate(q, None, self.time)[:2]
        size = float(phi @ phi)
        for _ in range(ITERATIONS):
            worst = float(np.abs(phi).max(initial=0.0))
            if worst <= min(CLOSED, self.tolerance):
                break
            self.iterations += 1
            step = self._step(q, phi, G, damping)
            largest = float(np.abs(step).max(initial=0.0))
            if largest == 0.0:
                break
            moved = self.skeleton.integrate_positions(q, step * min(1.0, MOST / largest))
            trial = self._clipped(np.where(self.frozen, q, moved))
            new_phi, new_G = self.system.evaluate(trial, None, self.time)[:2]
            new_size = float(new_phi @ new_phi)
            if new_size < size * (1.0 - STUCK):
                q, phi, G, size = trial, new_phi, new_G, new_size
                damping = max(0.1 * damping, LEAST_DAMPING)
            else:
                damping *= 10.0
                if damping > MOST_DAMPING or worst <= self.tolerance:  # what is left is rounding, or contradicts
                    break
        return q

    def _step(self, q: Array, phi: Array, G: Array, damping: float) -> Array:
        M = self._metric(q)
        free = ~self.frozen
        step = np.zeros(len(q))
        for _ in range(len(q)):
            rest = phi + G @ step  # what coordinates held at limits leave to the others
            A, W = G[:, free], M[np.ix_(free, free)]
            response = np.linalg.solve(W, A.T)
            S = A @ response
            mean = float(np.trace(S)) / max(len(S), 1)
            change = -response @ np.linalg.lstsq(S + damping * mean * np.eye(len(S)), rest, rcond=DROP)[0]
            step[free] = change
            beyond = free & ((q + step < self.lower) | (q + step > self.upper))
            if not beyond.any():
                break
            room = np.clip(q + step, self.lower, self.upper) - q
            step[free] = 0.0
            step[beyond] = room[beyond]
            free = free & ~beyond
        return step

    def _metric(self, q: Array) -> Array:
        M = self.skeleton.compute_mass_matrix(q)
        try:
            np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            return M + (REGULAR * float(np.trace(M)) / len(M) or 1.0) * np.eye(len(M))
        return M

    # Velocities ------------------------------------------------------------------------------------------

    def velocities(self, q: Array, u: Array, frozen: NDArray[np.bool_]) -> Array:
        """Velocities with G u = U, changed least in kinetic energy.

        Args:
            q: closed positions.
            u: velocities to start from.
            frozen: (dofs,) coordinates whose velocities stay.

        Raises:
            StateError: there are none; the message names the rows that are missed.
        """
        _, G, rate, wanted, _ = self.system.evaluate(q, u, self.time)
        free = ~(frozen | (self.system.tree.prescribed != 0))
        A, W = G[:, free], self._metric(q)[np.ix_(free, free)]
        response = np.linalg.solve(W, A.T)
        values, vectors = np.linalg.eigh(A @ response)
        keep = values > DROP * max(values.max(initial=0.0), 0.0)
        change = np.zeros(len(u))
        for _ in range(2):
            left = wanted - rate - G @ change
            share = vectors[:, keep].T @ left
            change[free] += response @ (vectors[:, keep] @ (share / values[keep]))
        missed = wanted - rate - G @ change
        scale = max(float(np.abs(u).max(initial=0.0)), float(np.abs(wanted).max(initial=0.0)), 1.0)
        wrong = np.flatnonzero(~(np.abs(missed) <= MISSED * scale))
        if len(wrong):
            names = self.system.row_names
            listed = ", ".join(f"{names[s]} ({missed[s]:.3g})" for s in wrong[:6])
            held = [dof.name for dof in self.skeleton.dofs if not free[dof.index]]
            raise StateError(
                f"skeleton {self.skeleton.name!r}: velocities cannot meet all rows with those of "
                f"{', '.join(held[:4])}{' ...' if len(held) > 4 else ''} frozen; missed by [m/s or rad/s]: {listed}"
            )
        return u + change
