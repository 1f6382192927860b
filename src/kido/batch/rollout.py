"""Rollouts: many copies of a world, contacts and all, from many states under many commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import FixedAttributes, dataclass, named_arguments
from kido.batch.arguments import Array, whole_number
from kido.batch.model import NotPickled
from kido.batch.rollout_worker import Job
from kido.batch.worlds import Worlds
from kido.errors import StateError
from kido.reprs import brief
from kido.simulation import World
from kido.skeleton import BodyNode, Skeleton


@dataclass(frozen=True)
class Trajectories:
    """What a rollout gives; record r of a sample is its state at `times[r]`.

    Attributes:
        times: (records,) since the start [s].
        positions: (samples, records, dofs); NaN after a sample failed.
        velocities: (samples, records, dofs).
        contact_wrenches: (samples, records, bodies, 6), the sum of the contact forces on each chosen body in the step
            before the record, as [moment; force] about the body's origin at the middle of that step, world axes, with
            the torques of rolling and torsional friction.
        steps: (samples,) steps done; all of them unless the sample failed.
        errors: why samples failed, by sample.
    """

    times: Array
    positions: Array
    velocities: Array
    contact_wrenches: Array
    steps: np.ndarray
    errors: dict[int, str] = field(default_factory=dict)

    __repr__ = brief


class RolloutPool(NotPickled, FixedAttributes):
    """Worlds to run rollouts in again and again: `Worlds` that begin anew in each run, as many as it has samples.

    Every sample starts from the world as it was when the pool was made (states of all skeletons, warm start of its
    contacts, external forces, which act all the time), but for the positions, velocities and properties it is given,
    and is stepped as `World.step` would: results equal, bit for bit, those of setting these and commands of one clone
    by hand and stepping it, or to rounding in lanes, and depend neither on the number of threads nor on other samples.
    Calls of `run` from several threads wait for each other.

    Args:
        model, skeleton, threads, time_step, lanes, device: as those of `Worlds`; `lanes` is off by default.

    Attributes:
        world: what they are like, a clone of the model; whatever is done to it does nothing to them.
        worlds: those of the last run as it left them.
        why_alone: why worlds are stepped one by one; "" if eight are together.

    Raises:
        ModelError, StateError: arguments that are none of these.
    """

    def __init__(
        self,
        model: World | Skeleton | Sequence[World],
        *,
        skeleton: Skeleton | str | int | None = None,
        threads: int | None = None,
        time_step: float | None = None,
        lanes: bool = False,
        device: str = "cpu",
    ):
        self.worlds = Worlds(model, skeleton=skeleton, threads=threads, time_step=time_step, lanes=lanes, device=device)
        self.world, self.why_alone = self.worlds.world, self.worlds.why_alone

    @property
    def num_dofs(self) -> int:
        """Coordinates of positions, velocities and commands."""
        return self.worlds.num_dofs

    @named_arguments
    def run(
        self,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        commands: ArrayLike | None = None,
        *,
        properties: Mapping[str, Any] | None = None,
        steps: int | None = None,
        hold: int = 1,
        every: int | None = None,
        bodies: Sequence[BodyNode | str] = (),
        progress: Callable[[int, int], Any] | None = None,
    ) -> Trajectories:
        """Run all samples.

        Args:
            positions, velocities: where samples start, (samples, dofs), or (dofs,) for all; those of the world by
                default.
            commands: of the actuators (joint forces, unless others are set): (samples, rows, dofs), each row for `hold`
                steps; (samples, dofs) or (dofs,): held all the time; those of the world by default.
            properties: in which samples differ, by name, (samples, ...); see `Worlds`.
            steps: how many time steps; rows times `hold` by default.
            hold: time steps that a row of commands acts.
            every: time steps from one record to the next; `hold` by default.
            bodies: whose contact wrenches are recorded, bodies of the world or names, "skeleton/body" where a name is
                not unique.
            progress: called in this thread, now and then, with the numbers of samples done and of all.

        Samples with numbers that are not finite, and those whose motion becomes so, fail and are reported in `errors`;
        others are not touched by it.

        Raises:
            StateError: arguments of other shapes, or properties out of range.
            NameLookupError, ModelError: no such body or property.
        """
        hold = whole_number("hold", hold)
        every = hold if every is None else whole_number("every", every)
        n = self.num_dofs
        given: dict[str, Any] = {
            "positions": None if positions is None else self._numbers("positions", positions, (n,), 2),
            "velocities": None if velocities is None else self._numbers("velocities", velocities, (n,), 2),
            "commands": None if commands is None else self._numbers("commands", commands, (1, n), 3),
        }
        counts = {name: len(a) for name, a in given.items() if a is not None and len(a) != 1}
        counts |= self.worlds.counts(properties)
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{count} of {name}" for name, count in counts.items())
            raise StateError(f"rollout: expected as many samples of each argument, got {listed}")
        samples = next(iter(counts.values()), 1)
        rows = 1 if given["commands"] is None else given["commands"].shape[1]
        if rows > 1:
            total = rows * hold if steps is None else whole_number("steps", steps)
            if total > rows * hold:
                raise StateError(f"rollout: steps: {rows} rows of commands held for {hold} steps give no {total} steps")
        elif steps is None and (commands is None or np.ndim(commands) != 3):
            raise StateError("rollout: steps: expected a whole number above 0 where commands are held, got None")
        else:
            total = hold if steps is None else whole_number("steps", steps)
            hold = total
        with self.worlds.turn:
            return self._run(given, samples, properties, total, hold, every, bodies, progress)

    def _run(
        self,
        given: dict[str, Any],
        samples: int,
        properties: Mapping[str, Any] | None,
        total: int,
        hold: int,
        every: int,
        bodies: Sequence[BodyNode | str],
        progress: Callable[[int, int], Any] | None,
    ) -> Trajectories:
        worlds = self.worlds
        worlds.begin(samples, properties, bodies)
        bad = {k: why for k in range(samples) if (why := _not_finite(given, k)) is not None}
        for what in ("positions", "velocities"):
            if given[what] is not None:
                worlds.put(what, given[what])
        dofs = worlds.dofs
        driven, controls = (np.zeros(0, np.int64), np.zeros((1, 1, 0)))
        if given["commands"] is not None:
            driven, controls = dofs, given["commands"]
        records = total // every
        shape = samples, records, len(dofs)
        found = np.full(shape, np.nan), np.full(shape, np.nan), np.full((samples, records, len(bodies), 6), np.nan)
        order = np.delete(np.arange(samples), list(bad))
        job = Job(
            worlds.store, order, worlds.differences, driven, controls, dofs, total, hold, every, worlds.sensors, found
        )
        for k, why in bad.items():
            job.leave(k, 0, why)
        worlds.run_job(job, progress)
        times: Array = float(worlds.world.time_step) * every * np.arange(1, records + 1, dtype=np.float64)
        errors = {k: job.errors[k] for k in sorted(job.errors)}
        return Trajectories(times, *found, job.steps, errors)

    def _numbers(self, what: str, value: ArrayLike, middle: tuple[int, ...], ndim: int) -> Array:
        try:
            array = np.array(value, order="C").astype(np.float64, casting="same_kind")
        except (TypeError, ValueError):
            raise StateError(f"rollout: {what}: expected numbers, got {value!r:.80}") from None
        shape = array.shape
        if array.ndim == 1:
            array = array[None]
        if array.ndim == 2 and ndim == 3:
            array = array[:, None]
        if array.ndim != ndim or array.shape[-1] != middle[-1] or 0 in array.shape[:-1]:
            wanted = "(samples, dofs)" if ndim == 2 else "(samples, rows, dofs) or (samples, dofs)"
            raise StateError(
                f"rollout: {what}: expected the shape {wanted} with {middle[-1]} dofs, or one state of {middle[-1]} "
                f"numbers, got an array of shape {shape}"
            )
        return np.ascontiguousarray(array)


@named_arguments
def rollout(
    model: World | Skeleton | Sequence[World],
    positions: ArrayLike | None = None,
    velocities: ArrayLike | None = None,
    commands: ArrayLike | None = None,
    *,
    properties: Mapping[str, Any] | None = None,
    steps: int | None = None,
    hold: int = 1,
    every: int | None = None,
    bodies: Sequence[BodyNode | str] = (),
    skeleton: Skeleton | str | int | None = None,
    threads: int | None = None,
    time_step: float | None = None,
    lanes: bool = False,
    device: str = "cpu",
    progress: Callable[[int, int], Any] | None = None,
) -> Trajectories:
    """Many contact worlds of one model, states and commands in, trajectories out; see `RolloutPool` and its `run`.

    For many rollouts of the same world a `RolloutPool` saves making its clones again.
    """
    pool = RolloutPool(model, skeleton=skeleton, threads=threads, time_step=time_step, lanes=lanes, device=device)
    times: dict[str, Any] = {"steps": steps, "hold": hold, "every": every}
    others: dict[str, Any] = {"properties": properties, "bodies": bodies, "progress": progress}
    return pool.run(positions, velocities, commands, **times, **others)


def _not_finite(given: dict[str, Any], sample: int) -> str | None:
    """What is not finite of a sample's arguments."""
    for what, array in given.items():
        if array is not None:
            row = array[sample if len(array) > 1 else 0]
            if not np.isfinite(row).all():
                return f"{what}: expected finite numbers, got {row[~np.isfinite(row)][0]}"
    return None
