"""The motion between the ends of steps."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed
from kido.attributes import FixedAttributes
from kido.errors import StateError
from kido.math.transform import as_numbers

if TYPE_CHECKING:
    from kido.integrators.schema import MOTION

Array = NDArray[np.float64]
State = tuple[Array, Array]
BEYOND = 1e-12  # share of a time by which it may lie outside of what was integrated


class Interpolated(Protocol):
    """What segments ask of the system that was integrated: `kido.integrators.System` describes it."""

    def advance(self, positions: Array, velocities: Array, duration: float = 1.0) -> Array: ...
    def close(self, time: float, positions: Array, velocities: Array) -> State: ...
    def displacement(self, before: Array, after: Array) -> Array: ...
    def displacement_rate(self, x: Array, velocities: Array) -> Array: ...
    def interpolated(self, segment: RungeKuttaSegment, time: float) -> State: ...


class RungeKuttaSegment:
    """One step of a method with an interpolant of its own, of the order of the method's error control.

    Args:
        system: what was integrated.
        motion: holds the step just done.
        end: time of its end [s].
    """

    def __init__(self, system: Interpolated, motion: MOTION, end: float):
        self.system, self.end = system, end
        self.size = motion.size
        self.start = end - self.size
        self.kept = {name: getattr(motion, name).copy() for name in ("q0", "u0", "K", "L")}
        self.kept |= {name: getattr(motion, name) for name in ("b", "db_dense")}
        self.num_stages = motion.num_stages

    def __call__(self, time: float) -> State:
        """Positions and velocities at a time."""
        return self.system.interpolated(self, time)


class HermiteSegment:
    """One step of any method: cubics of the displacement and of the velocities through both ends and their rates.

    The error is of fourth order in the step, that of RK4. Displacements are on the manifold of positions.
    """

    def __init__(
        self, system: Interpolated, start: float, end: float, before: State, after: State, rates: tuple[Array, Array]
    ):
        self.system, self.start, self.end, self.size = system, start, end, end - start
        self.before, self.after, self.rates = before, after, rates
        self.shift = system.displacement(before[0], after[0])
        self.shift_rate = system.displacement_rate(self.shift, after[1])

    def __call__(self, time: float) -> State:
        """Positions and velocities at a time."""
        h, s = self.size, (time - self.start) / self.size
        if s == 0.0 or s == 1.0:
            q, u = self.before if s == 0.0 else self.after
            return q.copy(), u.copy()
        (q0, u0), (_, u1), (a0, a1) = self.before, self.after, self.rates
        x = _cubic(s, h, np.zeros_like(self.shift), self.shift, u0, self.shift_rate)
        u = _cubic(s, h, u0, u1, a0, a1)
        return self.system.close(time, self.system.advance(q0, x), u)


def _cubic(s: float, h: float, y0: Array, y1: Array, d0: Array, d1: Array) -> Array:
    """Hermite's cubic at share s of a step of size h."""
    r = 1.0 - s
    return r * r * (1.0 + 2.0 * s) * y0 + s * s * (3.0 - 2.0 * s) * y1 + h * s * r * (r * d0 - s * d1)


class DenseOutput(FixedAttributes):
    """A motion at any time between its first and its last, by the interpolants of its steps.

    Its error is of the order of the step's: fourth for Dormand-Prince and RK4. Closed loops stay closed. What becomes
    of the skeleton afterwards is no part of it, and copies and pickles are read by themselves.

    Example:
        >>> motion = simulate(arm, DormandPrince(), 2.0, dense_output=True)
        >>> positions, velocities = motion.dense(0.777)
    """

    def __init__(self, start: float, state: State, *, kept: bool = True):
        self._kept = kept
        self._segments: list[Any] = []
        self._ends: list[float] = []
        self._start, self._state = start, state
        self._cut: tuple[float, State] | None = None

    def add(self, segment: Any) -> None:
        """One more step."""
        self._segments.append(segment)
        self._ends.append(segment.end)

    def freeze(self, system: Interpolated) -> None:
        """Be of a system that nothing changes any more."""
        for segment in self._segments:
            segment.system = system

    def end_at(self, time: float, state: State) -> None:
        """The motion ends within its last step."""
        self._ends[-1] = time
        self._cut = time, state

    @property
    def start(self) -> float:
        """First time [s]."""
        return self._start

    @property
    def end(self) -> float:
        """Last time [s]."""
        return self._ends[-1] if self._ends else self._start

    @property
    def step_times(self) -> Array:
        """Ends of steps, the start first [s]."""
        return fixed(np.array([self._start, *self._ends]))

    def __call__(self, time: ArrayLike) -> State:
        """Positions and velocities.

        Args:
            time: one [s], or many.

        Returns:
            Both (dofs,), or (times, dofs).

        Raises:
            StateError: a time outside of the motion; the motion was not kept.
        """
        if not self._kept:
            raise StateError("dense output: this motion was not kept: simulate(..., dense_output=True) keeps it")
        try:
            wanted = as_numbers(time)
        except (TypeError, ValueError):
            raise StateError(f"dense output: expected times, got {time!r}") from None
        slack = BEYOND * max(abs(self._start), abs(self.end))
        bad = ~((wanted >= self._start - slack) & (wanted <= self.end + slack))
        if bad.any():
            raise StateError(
                f"dense output: t = {wanted[bad].flat[0]:g} s is not between {self._start:g} s and {self.end:g} s"
            )
        states = [self._at(float(t)) for t in wanted.ravel()]
        size = len(self._state[0])
        q, u = (np.reshape([state[k] for state in states], (*wanted.shape, size)) for k in range(2))
        return q, u

    def _at(self, time: float) -> State:
        if not self._segments:
            return self._state
        if self._cut is not None and time >= self._cut[0]:
            return self._cut[1]
        k = min(bisect_right(self._ends, time), len(self._segments) - 1)
        segment = self._segments[k]
        return segment(min(max(time, segment.start), segment.end))
