"""Positions and velocities of closed chains, put together from any start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.constraints.closure import CLOSURE_TOLERANCE
from kido.dynamics.closing import LoopCloser, metric
from kido.dynamics.system import ConstrainedSystem
from kido.errors import ModelError, StateError
from kido.joints import ActuatorType, JointKind
from kido.reprs import brief
from kido.skeleton import DegreeOfFreedom, Joint, Skeleton

__all__ = ["Assembly", "AssemblyError"]

Array = NDArray[np.float64]

# Share of the largest velocity by which rates of rows may be missed: those of files follow to digits.
ASSEMBLED_RATE_TOLERANCE = 1e-6
# Singular values of G, as shares of the largest, below which rates of rows follow from others.
RATE_RANK_TOLERANCE = 1e-7
SPREAD = 0.1  # of other starts at first, as a share of half a turn; later three times, nine times as much
MAX_LISTED_ROWS = 6  # rows in a message
_ROUND = (JointKind.BALL, JointKind.FREE)  # their positions have no limits to keep to


@dataclass(frozen=True)
class Assembly:
    """How an assembly came about.

    Attributes:
        positions, velocities: (dofs,) the state, which the skeleton has too.
        error: largest |phi| that is left [m or rad].
        missed: rows that are not met to rounding, because they contradict others within limits, as "constraint: row",
            with their phi [m or rad]; largest first. Numbers of model files have few digits.
        iterations: steps, those of failed starts too.
        restarts: how many other starts were tried.
    """

    positions: Array
    velocities: Array
    error: float
    missed: dict[str, float]
    iterations: int
    restarts: int

    __repr__ = brief


class AssemblyError(StateError):
    """Loops that cannot be closed.

    Attributes:
        closest: positions that miss rows least, of all starts: a local minimum of |phi|^2 within limits, where rows and
            limits contradict each other by what is `missed`. Its velocities are zero.
        distance: |phi| there, the root of the sum of squares of its rows [m or rad].
        limits: coordinates whose limits keep |phi| from becoming less.
    """

    def __init__(self, message: str, closest: Assembly, distance: float, limits: list[str]) -> None:
        super().__init__(message)
        self.closest, self.distance, self.limits = closest, distance, limits

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (*self.args, self.closest, self.distance, self.limits))


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
        self.restarts = 0
        for joint in self.skeleton.joints:
            held = self.frozen[[dof.index for dof in joint.dofs]]
            if joint.kind in _ROUND and held.any() and not held.all():
                raise ModelError(
                    f"assembly: positions of joint {joint.name!r} are rotations; expected all of its coordinates to be "
                    f"frozen or none, got {', '.join(dof.name for dof in joint.dofs if self.frozen[dof.index])}"
                )

    # Positions -------------------------------------------------------------------------------------------

    def positions(self, start: Array, restarts: int, rng: np.random.Generator) -> Assembly:
        """Positions near to the start with phi = 0; velocities are zero.

        Groups of rows that share no coordinates are closed one by one: other starts move those that are still open.

        Raises:
            AssemblyError: none were found.
        """
        self.lower, self.upper = np.minimum(self.lower, start), np.maximum(self.upper, start)
        closer = LoopCloser(self.system, self.frozen, self.lower, self.upper, self.time, self.tolerance)
        closer.measure_from(start)
        groups = closer.groups()
        best, phi = self._close(closer, start)
        for attempt in range(restarts):
            open_ = [group for group in groups if not self._met(phi[group[0]])]
            moves = np.any([dofs for _, dofs in open_], axis=0)
            if not np.any(moves):  # all are closed, or what is open has nothing that moves
                break
            self.restarts += 1
            near = best if attempt % 2 == 0 else start
            other = np.where(moves, self._other_start(near, attempt // 2, rng), best)
            q, found = self._close(closer, other)
            for rows, dofs in open_:
                if np.linalg.norm(found[rows]) < np.linalg.norm(phi[rows]):
                    best = np.where(dofs, q, best)
            phi = closer.rows(best)[0]
        if not self._met(phi):
            raise self._failure(closer, best)
        if (best != start).any():
            best = closer.back(closer.polish(best) if self.restarts else best, start)
        return self._assembly(best, closer.iterations)

    def _met(self, phi: Array) -> bool:
        return bool(np.abs(phi).max(initial=0.0) <= self.tolerance)

    def _close(self, closer: LoopCloser, q: Array) -> tuple[Array, Array]:
        """Closed positions, or those at a local minimum of |phi|; and their phi."""
        q, phi = closer.close(q)
        if self._met(phi):
            return q, phi
        before = np.linalg.norm(phi)  # at a saddle point perhaps, or far up a valley
        q, phi = closer.miss_least(q)
        return closer.close(q) if np.linalg.norm(phi) < 0.9 * before else (q, phi)

    def _assembly(self, q: Array, iterations: int) -> Assembly:
        phi, names = self.system.phi(q, self.time), self.system.row_names
        missed = {names[s]: float(phi[s]) for s in np.argsort(-np.abs(phi)) if not abs(phi[s]) <= CLOSURE_TOLERANCE}
        error = float(np.abs(phi).max(initial=0.0))
        return Assembly(q, np.zeros_like(q), error, missed, iterations, self.restarts)

    def _failure(self, closer: LoopCloser, q: Array) -> AssemblyError:
        """What rows and limits contradict each other where they are missed least."""
        open_ = [dofs for rows, dofs in closer.groups() if not self._met(closer.rows(q)[0][rows])]
        rest = LoopCloser(
            self.system, self.frozen | np.any(open_, axis=0), self.lower, self.upper, self.time, self.tolerance
        )
        rest.measure_from(q)
        q, phi = closer.miss_least(rest.polish(q))
        closest = self._assembly(q, closer.iterations)
        names = [dof.name for dof in self.skeleton.dofs]
        limits = [names[k] for k in np.flatnonzero(closer.held_by_limits(q))]
        listed = [f"{name} ({value:.3g})" for name, value in closest.missed.items() if abs(value) > self.tolerance]
        frozen = [names[k] for k in np.flatnonzero(self.frozen)]
        held = f" with {_some(frozen, 4)} frozen" if frozen else ""
        hint = f"; limits of {_some(limits, 4)} are in the way" if limits else ""
        beyond = self._beyond_limits(q, limits, names) if limits else []
        if beyond:
            hint += f"; with limits=False they can, beyond those of {_some(beyond, 4)}"
        distance = float(np.linalg.norm(phi))
        starts = f"{self.restarts + 1} start{'s' if self.restarts else ''}"
        return AssemblyError(
            f"skeleton {self.skeleton.name!r}: loops cannot be closed{held} from {starts}; rows "
            f"contradict each other by {distance:.6g} (root of the sum of squares) [m or rad] where they are missed "
            f"least: {_some(listed, MAX_LISTED_ROWS)}{hint}",
            closest,
            distance,
            limits,
        )

    def _beyond_limits(self, q: Array, limits: list[str], names: list[str]) -> list[str]:
        """Coordinates beyond whose limits loops can be closed, few if possible; none if they cannot be so either."""
        lower, upper = self.lower.copy(), self.upper.copy()
        for which in (np.isin(names, limits), np.ones(len(q), bool)):
            lower[which], upper[which] = -np.inf, np.inf
            closer = LoopCloser(self.system, self.frozen, lower, upper, self.time, self.tolerance)
            closer.measure_from(q)
            closed, phi = self._close(closer, q)
            if self._met(phi):
                closed = closer.back(closed, q)
                return [name for name, x, low, high in zip(names, closed, self.lower, self.upper, strict=True)
                        if not low <= x <= high]  # fmt: skip
        return []

    def _other_start(self, near: Array, attempt: int, rng: np.random.Generator) -> Array:
        """Positions moved at random, farther from attempt to attempt; in the end anywhere within limits."""
        spread = min(1.0, SPREAD * 3.0**attempt)
        moves = np.pi * spread * rng.uniform(-1.0, 1.0, len(near))
        slides = self._slides()
        moves[slides] *= self._size(near) / np.pi
        moves[self.frozen] = 0.0
        q = np.where(self.frozen, near, self.skeleton.integrate_positions(near, moves))
        if spread == 1.0:
            anywhere = ~self.frozen & np.isfinite(self.lower) & np.isfinite(self.upper)
            q[anywhere] = rng.uniform(self.lower[anywhere], self.upper[anywhere])
        return np.clip(q, self.lower, self.upper)

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
        U, values, _ = np.linalg.svd(G[:, free], full_matrices=False)
        R = U[:, values > RATE_RANK_TOLERANCE * values.max(initial=0.0)]
        L = np.linalg.cholesky(metric(self.skeleton, q)[np.ix_(free, free)])
        E = np.linalg.solve(L, G[:, free].T @ R)
        change = np.zeros(len(u))
        for _ in range(2):  # the second takes away what rounding has left
            left = R.T @ (wanted - rate - G @ change)
            change[free] += np.linalg.solve(L.T, np.linalg.lstsq(E.T, left, rcond=0.0)[0])
        missed = wanted - rate - G @ change
        scale = max(float(np.abs(u).max(initial=0.0)), float(np.abs(wanted).max(initial=0.0)), 1.0)
        wrong = np.flatnonzero(~(np.abs(missed) <= ASSEMBLED_RATE_TOLERANCE * scale))
        if len(wrong):
            names = self.system.row_names
            listed = _some([f"{names[s]} ({missed[s]:.3g})" for s in wrong], MAX_LISTED_ROWS)
            held = [dof.name for dof in self.skeleton.dofs if not free[dof.index]]
            raise StateError(
                f"skeleton {self.skeleton.name!r}: velocities cannot meet all rows with those of "
                f"{_some(held, 4)} frozen; missed by [m/s or rad/s]: {listed}"
            )
        return u + change


def _some(items: list[str], most: int) -> str:
    return ", ".join(items[:most]) + (" ..." if len(items) > most else "")
