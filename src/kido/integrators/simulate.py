"""Motions of a skeleton on its own."""

from __future__ import annotations

import os
import sys
import time as clock
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes, named_arguments
from kido.errors import ModelError
from kido.integrators.dense import DenseOutput, HermiteSegment, RungeKuttaSegment
from kido.integrators.events import Crossing, Event, EventWatch, checked_events
from kido.integrators.integrator import CompiledIntegrator, Integrator, positive
from kido.integrators.system import System
from kido.interrupts import deferred_signals
from kido.math.transform import as_flag, as_numbers
from kido.reprs import brief
from kido.skeleton import Skeleton

Array = NDArray[np.float64]
State = tuple[Array, Array]

CHUNK_SECONDS = 0.05  # compiled code comes back this often, so that Ctrl-C works
MAX_AT_ONCE = 1 << 40  # steps
QUIET_SECONDS = 2.0  # a run shorter than this shows no progress
_NOT_KEPT = DenseOutput(0.0, (np.empty(0), np.empty(0)), kept=False)


class Trajectory(NamedTuple):
    """A motion.

    Attributes:
        times: (T,) [s]; the first is that of the start.
        positions: (T, dofs) [m, rad].
        velocities: (T, dofs) [m/s, rad/s].
        steps: steps done.
        rejected: steps of an adaptive integrator that were tried and not taken.
        evaluations: evaluations of the dynamics in compiled code.
        iterations: of an implicit integrator's solver, all steps together; `worst_iterations`: of its worst step.
        events: passages of `events` through zero, in order of time. Where one was terminal, the last of `times` is its.
        dense: the motion as a function of time, if `dense_output` was asked for.
    """

    times: Array
    positions: Array
    velocities: Array
    steps: int
    rejected: int
    evaluations: int
    iterations: int
    worst_iterations: int
    events: tuple[Crossing, ...] = ()
    dense: DenseOutput = _NOT_KEPT

    __repr__ = brief


class Movable(FixedAttributes, ABC):
    """What `simulate` can move besides a skeleton: a skeleton with closed loops is one."""

    @property
    @abstractmethod
    def skeleton(self) -> Skeleton:
        """The skeleton that it moves."""

    @abstractmethod
    def _motion_system(self, forces: Any, integrator: Integrator, stabilization: Any) -> System:
        """What integrators see of it, from the state that the skeleton has."""


@named_arguments
def simulate(
    skeleton: Skeleton | Movable,
    integrator: Integrator,
    duration: float | None = None,
    *,
    times: ArrayLike | None = None,
    time_step: float = 1e-3,
    forces: ArrayLike | Callable[[float, Skeleton], ArrayLike] | None = None,
    stabilization: Any = None,
    events: Event | Sequence[Event] | None = None,
    dense_output: bool = False,
    progress: bool | None = None,
) -> Trajectory:
    """Move a skeleton through smooth motion, without contacts, joint limits and Coulomb friction.

    What acts: gravity, joint forces, external forces (held as they are), springs and dampers of joints. Coordinates
    with actuators of type ACCELERATION have the acceleration that is their command, those of type VELOCITY the
    velocity, from the start on; LOCKED ones stand still; servos and gears are refused. The skeleton is left in the
    last state.

    Args:
        skeleton: starts from the state it holds. In a world it moves alone, and the world's clock stands still. Or
            `kido.ConstrainedDynamics`, for closed loops.
        integrator: say, `kido.integrators.RK4()`, or one of your own; of flexible bodies any but `Variational`.
        duration: [s], from time zero, with results at every time step.
        times: increasing times [s] at which results are wanted, instead of a duration; the first is that of
            the start. Integrators with fixed steps divide the time between two of them into equal steps.
        time_step: largest step [s]. Adaptive integrators take it as the interval of results only.
        forces: joint forces (dofs,) [N, N m], or a function (time, skeleton) that returns them. It is called at
            every evaluation, with the skeleton at that state. By default the forces that the skeleton holds.
        stabilization: how closed loops are kept closed (`kido.dynamics`), where the dynamics leave that open.
        events: what to look for on the way, and where to stop.
        dense_output: keep what makes `dense` of the result, the motion between the results.
        progress: show a bar on stderr; by default on a terminal, if it takes more than two seconds.

    Raises:
        ModelError: an argument is of the wrong kind, a coordinate has no inertia, or `Variational` is to move flexible
            bodies.
        ConcurrencyError: another thread moves the skeleton.
        StateError: numbers of the wrong count or not finite; the motion became infinite; the integrator gave
            up. The skeleton then is as it was. After Ctrl-C it is in the last state that was completed.

    Example:
        >>> motion = kido.integrators.simulate(arm, kido.integrators.RK4(), 2.0)
        >>> motion.positions[-1]
    """
    movable = skeleton
    if isinstance(movable, Movable):
        skeleton = movable.skeleton
    if not isinstance(skeleton, Skeleton):
        raise ModelError(f"simulate: expected a skeleton or its dynamics, got {type(skeleton).__name__}")
    if not isinstance(integrator, Integrator):
        raise ModelError(f"simulate: expected an integrator such as kido.integrators.RK4(), got {integrator!r}")
    largest = positive(time_step, "simulate: time_step")
    wanted = _times(duration, times, largest)
    watched = checked_events(events)
    keeps = as_flag(dense_output, "simulate: dense_output")
    with skeleton.turn.used("moved"):
        before = skeleton.positions, skeleton.velocities
        if isinstance(movable, Movable):
            system = movable._motion_system(forces, integrator, stabilization)
        elif stabilization is None:
            system = System.of_skeleton(skeleton, forces)
        else:
            raise ModelError("simulate: stabilization is for closed loops: expected kido.ConstrainedDynamics")
        kind = CompiledRun if isinstance(integrator, CompiledIntegrator) else PythonRun
        start = system.start(float(wanted[0]), *before)
        try:
            run = kind(system, integrator, wanted, largest, start)
        except MemoryError:
            raise ModelError(
                f"simulate: {len(wanted)} results of {skeleton.num_dofs} coordinates are more than memory has room "
                "for; ask for fewer times"
            ) from None
        if watched or keeps:
            run.follower = Follower(system, EventWatch(system, integrator, skeleton, watched), keeps, wanted[0], start)
        bar = _bar(float(wanted[-1] - wanted[0]), progress)
        end = before
        try:
            with deferred_signals():
                run.go(bar)
            end = run.end()
        except KeyboardInterrupt:
            end = run.state()
            raise
        finally:
            bar.close()
            skeleton.positions, skeleton.velocities = end
        return run.trajectory()


class Follower:
    """Follows an integration step by step: events, and what dense output is made of.

    Args:
        system: what is integrated.
        watch: looks for events.
        keeps: whether steps are kept.
        time, state: of the start.
    """

    def __init__(self, system: System, watch: EventWatch, keeps: bool, time: float, state: State):
        self.system, self.watch = system, watch
        self.dense = DenseOutput(float(time), state) if keeps else _NOT_KEPT
        self.keeps = keeps
        self.time, self.state = float(time), state
        self._rate: Array | None = None
        self.stop: Crossing | None = None
        with system.aside():
            watch.begin(self.time, state)

    def step(self, end: float, state: State, motion: Any = None) -> bool:
        """Look at a step that ended at a time in a state.

        Args:
            motion: container of a method with an interpolant of its own.

        Returns:
            Whether the motion ends in it.
        """
        with self.system.aside():
            segment: Any
            if motion is not None:
                segment = RungeKuttaSegment(self.system, motion, end)
            else:
                if self._rate is None:
                    self._rate = self.system.accelerations(self.time, *self.state)
                rate = self.system.accelerations(end, *state)
                segment = HermiteSegment(self.system, self.time, end, self.state, state, (self._rate, rate))
                self._rate = rate
            if self.keeps:
                self.dense.add(segment)
            self.stop = self.watch.step(segment, self.state, state)
        if self.stop is not None and self.keeps:
            self.dense.end_at(self.stop.time, self.stop[2:4])
        self.time, self.state = end, state
        return self.stop is not None

    def results(self, trajectory: Trajectory, rows: int) -> Trajectory:
        """The results, with events; cut where one ended the motion. `rows` of them are there."""
        stop = self.stop
        if self.keeps:
            self.dense.freeze(self.system.frozen())
        if stop is not None:
            T, Q, U = (x[:rows] for x in trajectory[:3])
            kept = stop.time > T
            T, Q, U = T[kept], Q[kept], U[kept]
            trajectory = trajectory._replace(
                times=np.append(T, stop.time),
                positions=np.vstack([Q, stop.positions]),
                velocities=np.vstack([U, stop.velocities]),
            )
        return trajectory._replace(events=tuple(self.watch.found), dense=self.dense)


class CompiledRun:
    """An integration in compiled code."""

    follower: Follower | None = None

    def __init__(self, system: System, integrator: Any, times: Array, largest: float, state: State):
        self.system = system
        self.motion = system.motion(integrator, times, largest, *state)

    def go(self, bar: Any) -> None:
        """Go on to the last time; Python gets a look in now and then."""
        if self.follower is not None:
            self._follow(self.follower, bar)
            return
        budget, shown = 1, self.motion.now
        done = False
        while not done:
            started = clock.perf_counter()
            done = self.system.go_on(self.motion, budget)
            took = clock.perf_counter() - started
            budget = max(1, min(10 * budget, MAX_AT_ONCE, int(budget * CHUNK_SECONDS / max(took, 1e-6))))
            now = self.motion.now
            bar.update(now - shown)
            shown = now

    def _follow(self, follower: Follower, bar: Any) -> None:
        m = self.motion
        done = False
        while not done:
            steps, shown = m.steps, m.now
            done = self.system.go_on(m, 1)
            if m.steps == steps:
                continue
            now = m.now
            bar.update(now - shown)
            if follower.step(now, self.system.present(), m if m.adaptive != 0 else None):
                return

    def state(self) -> State:
        """The last state that was completed."""
        return self.system.state(self.motion)

    def end(self) -> State:
        """The state that the motion ends in."""
        stop = self.follower.stop if self.follower is not None else None
        return self.state() if stop is None else stop[2:4]

    def trajectory(self) -> Trajectory:
        """Results at all times."""
        m = self.motion
        counts = m.steps, m.rejected, m.evaluations, m.iterations, m.worst_iterations
        trajectory = Trajectory(m.times, m.Q, m.U, *counts)
        return trajectory if self.follower is None else self.follower.results(trajectory, m.output)


class PythonRun:
    """An integration by a user's `step`."""

    follower: Follower | None = None

    def __init__(self, system: System, integrator: Integrator, times: Array, largest: float, state: State):
        self.system, self.integrator, self.times, self.largest = system, integrator, times, largest
        self.now = state
        self.steps, self.rows = 0, 1
        self.Q, self.U = (np.empty((len(times), len(x))) for x in state)
        self.Q[0], self.U[0] = state

    def go(self, bar: Any) -> None:
        """Step through all intervals."""
        for k in range(1, len(self.times)):
            start, interval = self.times[k - 1], self.times[k] - self.times[k - 1]
            number = max(1, int(np.ceil(interval / self.largest - 1e-9)))
            h = float(interval / number)
            for part in range(number):
                self.now = self.system.step(self.integrator, float(start + part * h), *self.now, h)
                self.steps += 1
                bar.update(h)
                end = float(self.times[k] if part == number - 1 else start + (part + 1) * h)
                if self.follower is not None and self.follower.step(end, self.now):
                    return
            self.Q[k], self.U[k] = self.now
            self.rows = k + 1

    def state(self) -> State:
        """The last state that was completed."""
        return self.now

    def end(self) -> State:
        """The state that the motion ends in."""
        stop = self.follower.stop if self.follower is not None else None
        return self.now if stop is None else stop[2:4]

    def trajectory(self) -> Trajectory:
        """Results at all times."""
        trajectory = Trajectory(self.times, self.Q, self.U, self.steps, 0, self.system.evaluations, 0, 0)
        return trajectory if self.follower is None else self.follower.results(trajectory, self.rows)


def _times(duration: Any, times: Any, largest: float) -> Array:
    """The requested times, checked."""
    if (duration is None) == (times is None):
        raise ModelError("simulate: expected either a duration or times")
    if times is None:
        end = positive(duration, "simulate: duration", zero=True)
        number = int(np.ceil(end / largest - 1e-9))
        try:
            return np.linspace(0.0, end, number + 1)
        except (ValueError, MemoryError):
            raise ModelError(f"simulate: {number} steps in {end:g} s are more than memory has room for") from None
    try:
        wanted = as_numbers(times)
    except (TypeError, ValueError):
        raise ModelError(f"simulate: times: expected increasing numbers, got {times!r}") from None
    if wanted.ndim != 1 or len(wanted) == 0 or not np.isfinite(wanted).all() or (np.diff(wanted) <= 0.0).any():
        raise ModelError(f"simulate: times: expected increasing finite numbers, got {times!r}")
    return wanted


def _bar(total: float, progress: bool | None) -> Any:
    from tqdm import tqdm

    progress = None if progress is None else as_flag(progress, "simulate: progress")
    quiet = os.environ.get("KIDO_QUIET", "") not in ("", "0")
    hidden = quiet or not sys.stderr.isatty() if progress is None else not progress
    return tqdm(
        total=total,
        file=sys.stderr,
        disable=hidden,
        delay=0.0 if progress else QUIET_SECONDS,
        bar_format="{percentage:3.0f}%|{bar}| {n:.3g}/{total:.3g} s [{elapsed}<{remaining}]",
    )
