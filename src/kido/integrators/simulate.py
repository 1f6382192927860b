"""Motions of a skeleton on its own."""

from __future__ import annotations

import os
import sys
import time as clock
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.integrators.integrator import CompiledIntegrator, Integrator, positive
from kido.integrators.schema import EVALUATIONS, ITERATIONS, NOW, REJECTED, STEPS, WORST_ITERATIONS
from kido.integrators.system import System
from kido.math.transform import as_flag, as_numbers
from kido.skeleton import Skeleton

Array = NDArray[np.float64]

CHUNK_SECONDS = 0.05  # compiled code comes back this often, so that Ctrl-C works
QUIET_SECONDS = 2.0  # a run shorter than this shows no progress


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
    """

    times: Array
    positions: Array
    velocities: Array
    steps: int
    rejected: int
    evaluations: int
    iterations: int
    worst_iterations: int


def simulate(
    skeleton: Skeleton,
    integrator: Integrator,
    duration: float | None = None,
    *,
    times: ArrayLike | None = None,
    time_step: float = 1e-3,
    forces: ArrayLike | Callable[[float, Skeleton], ArrayLike] | None = None,
    progress: bool | None = None,
) -> Trajectory:
    """Move a skeleton through smooth motion, without contacts, joint limits and Coulomb friction.

    What acts: gravity, joint forces, external forces (held as they are), springs and dampers of joints. Coordinates
    with actuators of type ACCELERATION have the acceleration that is their command, those of type VELOCITY the
    velocity, from the start on; LOCKED ones stand still; servos and gears are refused. The skeleton is left in the
    last state.

    Args:
        skeleton: starts from the state it holds. In a world it moves alone, and the world's clock stands still.
        integrator: say, `kido.integrators.RK4()`, or one of your own.
        duration: [s], from time zero, with results at every time step.
        times: increasing times [s] at which results are wanted, instead of a duration; the first is that of
            the start. Integrators with fixed steps divide the time between two of them into equal steps.
        time_step: largest step [s]. Adaptive integrators take it as the interval of results only.
        forces: joint forces (dofs,) [N, N m], or a function (time, skeleton) that returns them. It is called at
            every evaluation, with the skeleton at that state. By default the forces that the skeleton holds.
        progress: show a bar on stderr; by default on a terminal, if it takes more than two seconds.

    Raises:
        ModelError: an argument is of the wrong kind, or a coordinate has no inertia.
        StateError: numbers of the wrong count or not finite; the motion became infinite; the integrator gave
            up. The skeleton then is as it was. After Ctrl-C it is in the last state that was completed.

    Example:
        >>> motion = kido.integrators.simulate(arm, kido.integrators.RK4(), 2.0)
        >>> motion.positions[-1]
    """
    if not isinstance(skeleton, Skeleton):
        raise ModelError(f"simulate: expected a skeleton, got {type(skeleton).__name__}")
    if not isinstance(integrator, Integrator):
        raise ModelError(f"simulate: expected an integrator such as kido.integrators.RK4(), got {integrator!r}")
    largest = positive(time_step, "simulate: time_step")
    wanted = _times(duration, times, largest)
    before = skeleton.positions, skeleton.velocities
    system = System.of_skeleton(skeleton, forces)
    kind = CompiledRun if isinstance(integrator, CompiledIntegrator) else PythonRun
    start = before[0], system.start_velocities(before[1])
    run = kind(system, integrator, wanted, largest, start)
    bar = _bar(float(wanted[-1] - wanted[0]), progress)
    end = before
    try:
        run.go(bar)
        end = run.state()
    except KeyboardInterrupt:
        end = run.state()
        raise
    finally:
        bar.close()
        skeleton.positions, skeleton.velocities = end
    return run.trajectory()


class CompiledRun:
    """An integration in compiled code."""

    def __init__(self, system: System, integrator: Any, times: Array, largest: float, state: tuple[Array, Array]):
        self.system = system
        self.motion = system.motion(integrator, times, largest, *state)

    def go(self, bar: Any) -> None:
        """Go on to the last time; Python gets a look in now and then."""
        budget, shown = 1, float(self.motion.clock[NOW])
        done = False
        while not done:
            started = clock.perf_counter()
            done = self.system.go_on(self.motion, budget)
            took = clock.perf_counter() - started
            budget = max(1, min(10 * budget, int(budget * CHUNK_SECONDS / max(took, 1e-6))))
            now = float(self.motion.clock[NOW])
            bar.update(now - shown)
            shown = now

    def state(self) -> tuple[Array, Array]:
        """The last state that was completed."""
        return self.system.state(self.motion)

    def trajectory(self) -> Trajectory:
        """Results at all times."""
        m = self.motion
        numbers = (int(m.at[k]) for k in (STEPS, REJECTED, EVALUATIONS, ITERATIONS, WORST_ITERATIONS))
        return Trajectory(m.times, m.Q, m.U, *numbers)


class PythonRun:
    """An integration by a user's `step`."""

    def __init__(
        self, system: System, integrator: Integrator, times: Array, largest: float, state: tuple[Array, Array]
    ):
        self.system, self.integrator, self.times, self.largest = system, integrator, times, largest
        self.now = state
        self.steps = 0
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
            self.Q[k], self.U[k] = self.now

    def state(self) -> tuple[Array, Array]:
        """The last state that was completed."""
        return self.now

    def trajectory(self) -> Trajectory:
        """Results at all times."""
        return Trajectory(self.times, self.Q, self.U, self.steps, 0, self.system.evaluations, 0, 0)


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
