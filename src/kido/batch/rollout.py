"""Rollouts: many copies of a world, contacts and all, from many states under many commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import FixedAttributes, dataclass, named_arguments
from kido.batch.arguments import Array, whole_number
from kido.batch.lockstep import why_alone
from kido.batch.rollout_lanes import LaneWorker
from kido.batch.rollout_worker import Job, Worker
from kido.errors import ConcurrencyError, ModelError, StateError
from kido.jit import JIT_DISABLED, LANES
from kido.jit.team import available_cores
from kido.reprs import brief
from kido.simulation import World
from kido.skeleton import BodyNode, Skeleton
from kido.turns import Turn

_POLL = 0.1  # [s] a run looks this often whether it was interrupted, and reports progress


@dataclass(frozen=True)
class Trajectories:
    """What a rollout gives; record r of a sample is its state at `times[r]`.

    Attributes:
        times: (records,) since the start [s].
        positions: (samples, records, dofs); NaN after a sample failed.
        velocities: (samples, records, dofs).
        contact_wrenches: (samples, records, bodies, 6), the sum of the contact forces on each chosen body in the step
            before the record, as [moment; force] about the body's origin at the middle of that step, world axes.
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


class RolloutPool(FixedAttributes):
    """Clones of a world, one for each thread, to run rollouts in again and again.

    Every sample starts from the world as it was when the pool was made (states of all skeletons, warm start of its
    contacts, external forces, which act all the time), but for the positions and velocities it is given, and is
    stepped as `World.step` would: results equal, bit for bit, those of setting positions, velocities and commands of
    one clone by hand and stepping it, and depend neither on the number of threads nor on other samples. Threads run
    without Python's lock. Step callbacks are not called, and pushes (`World.push`) do not act. Calls of `run` from
    several threads wait for each other.

    Args:
        model: a world; or a skeleton, which is put into a world of its own with its gravity.
        skeleton: whose coordinates positions, velocities and commands have, by object, name or index; those of all
            skeletons of the world, one after another, by default. Other skeletons keep the states and commands they
            have in the world.
        threads: how many compute; the number of available cores by default.
        time_step: instead of the world's [s].
        lanes: whether each thread steps eight worlds together, with robots' smooth motion and Newton's method along
            their trees in lanes. Results then depend neither on threads nor on other samples either, but equal those
            of `World.step` to rounding, not bit for bit: what they differ by grows where motion is chaotic. Worlds for
            which there are no lanes are stepped one by one; `why_alone` says why.

    Attributes:
        why_alone: why worlds are stepped one by one; "" if eight are together.

    Raises:
        ModelError, StateError: arguments that are none of these.
    """

    why_alone: str

    def __init__(
        self,
        model: World | Skeleton,
        *,
        skeleton: Skeleton | str | int | None = None,
        threads: int | None = None,
        time_step: float | None = None,
        lanes: bool = False,
    ):
        if not isinstance(lanes, bool):
            raise StateError(f"rollout: lanes: expected True or False, got {lanes!r}")
        world, chosen = _world_of(model, skeleton)
        self.world = world.clone()
        self.world.threads = 1
        if time_step is not None:
            self.world.time_step = time_step
        engine = self.world.engine
        index = None if chosen is None else [s.name for s in world.skeletons].index(chosen.name)
        parts = slice(0, len(engine.data.q))
        if index is not None:
            parts = slice(int(engine.tree.tree_dof[index]), int(engine.tree.tree_dof[index + 1]))
        self._index = index
        self._dofs = np.arange(parts.start, parts.stop)
        self._names = [engine.dof_name(int(k)) for k in self._dofs]
        self.threads = 1 if JIT_DISABLED else available_cores() if threads is None else whole_number("threads", threads)
        self.turn = Turn()
        self.why_alone = why_alone(self.world) if lanes else "lanes were not asked for"
        self._workers = [self._worker(self.world)]
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    def _worker(self, world: World) -> Worker:
        return Worker(world) if self.why_alone else LaneWorker(world)

    @property
    def num_dofs(self) -> int:
        """Coordinates of positions, velocities and commands."""
        return len(self._dofs)

    @named_arguments
    def run(
        self,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        commands: ArrayLike | None = None,
        *,
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
            steps: how many time steps; rows times `hold` by default.
            hold: time steps that a row of commands acts.
            every: time steps from one record to the next; `hold` by default.
            bodies: whose contact wrenches are recorded, bodies of the world or names, "skeleton/body" where a name is
                not unique.
            progress: called in this thread, now and then, with the numbers of samples done and of all.

        Samples with numbers that are not finite, and those whose motion becomes so, fail and are reported in `errors`;
        others are not touched by it.

        Raises:
            StateError: arguments of other shapes.
            NameLookupError, ModelError: no such body.
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
        job = Job(
            self._dofs,
            given["positions"],
            given["velocities"],
            given["commands"],
            samples,
            total,
            hold,
            every,
            self._sensors(bodies),
        )
        with self.turn:
            if self.turn.doing:
                raise ConcurrencyError(f"rollout of world {self.world.name!r}: `progress` may not run another one")
            with self.turn.used("run"):
                self._start(job, progress)
        records = total // every
        times: Array = float(self.world.time_step) * every * np.arange(1, records + 1, dtype=np.float64)
        errors = {k: job.errors[k] for k in sorted(job.errors)}
        return Trajectories(times, job.q, job.u, job.wrenches, job.steps, errors)

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

    def _sensors(self, bodies: Sequence[BodyNode | str]) -> list[tuple[int, int]]:
        """Skeleton and body indices of bodies."""
        found = []
        names = [s.name for s in self.world.skeletons]
        for body in bodies:
            if isinstance(body, BodyNode):
                if body.skeleton is None or body.skeleton.name not in names:
                    raise ModelError(f"rollout: bodies: {body.name!r} is no body of world {self.world.name!r}")
                place, name = names.index(body.skeleton.name), body.name
            elif isinstance(body, str):
                skeleton, _, name = body.rpartition("/")
                place = names.index(self.world.skeleton(skeleton).name) if skeleton else self._place_of(name)
            else:
                raise ModelError(f"rollout: bodies: expected bodies or their names, got {body!r}")
            found.append((place, self.world.skeletons[place].body(name).index))
        return found

    def _place_of(self, name: str) -> int:
        """The one skeleton that has a body of a name; the chosen one if there are several."""
        if self._index is not None:
            return self._index
        having = [k for k, s in enumerate(self.world.skeletons) if any(b.name == name for b in s.bodies)]
        if len(having) != 1:
            what = "no body has" if not having else "several bodies have"
            raise ModelError(f"rollout: bodies: {what} the name {name!r}; 'skeleton/body' names one")
        return having[0]

    def _start(self, job: Job, progress: Callable[[int, int], Any] | None) -> None:
        """Run a job in all threads; an interruption stops them before it is passed on."""
        number = min(self.threads, job.samples if self.why_alone else -(-job.samples // LANES))
        while len(self._workers) < number:
            self._workers.append(self._worker(self.world.clone()))
        if self._pool is None or self._process != os.getpid():  # threads do not survive a fork
            self._pool, self._process = ThreadPoolExecutor(self.threads), os.getpid()
        for worker in self._workers[:number]:
            worker.prepare(job)
        waiting: set[Future[None]] = {self._pool.submit(worker.run, job) for worker in self._workers[:number]}
        try:
            while waiting:
                finished, waiting = wait(waiting, timeout=_POLL, return_when=FIRST_COMPLETED)
                if progress is not None:
                    progress(job.finished, job.samples)
                for future in finished:
                    future.result()
        except BaseException:
            job.stopped = True
            wait(waiting)
            raise


@named_arguments
def rollout(
    model: World | Skeleton,
    positions: ArrayLike | None = None,
    velocities: ArrayLike | None = None,
    commands: ArrayLike | None = None,
    *,
    steps: int | None = None,
    hold: int = 1,
    every: int | None = None,
    bodies: Sequence[BodyNode | str] = (),
    skeleton: Skeleton | str | int | None = None,
    threads: int | None = None,
    time_step: float | None = None,
    lanes: bool = False,
    progress: Callable[[int, int], Any] | None = None,
) -> Trajectories:
    """Many contact worlds of one model, states and commands in, trajectories out; see `RolloutPool` and its `run`.

    For many rollouts of the same world a `RolloutPool` saves making its clones again.
    """
    pool = RolloutPool(model, skeleton=skeleton, threads=threads, time_step=time_step, lanes=lanes)
    options: dict[str, Any] = {"steps": steps, "hold": hold, "every": every, "bodies": bodies, "progress": progress}
    return pool.run(positions, velocities, commands, **options)


def _world_of(model: Any, skeleton: Any) -> tuple[World, Skeleton | None]:
    """A world of the model, and the skeleton of it that was chosen."""
    if isinstance(model, Skeleton):
        if model.host is not None:
            return model.host, model  # type: ignore[return-value]
        world = World(model.name, gravity=model.gravity)
        return world, world.add_skeleton(model.clone())
    if not isinstance(model, World):
        raise ModelError(f"rollout: expected a world or a skeleton, got {type(model).__name__}")
    if skeleton is None:
        return model, None
    chosen = skeleton if isinstance(skeleton, Skeleton) else model.skeleton(skeleton)
    if chosen.host is not model:
        raise ModelError(f"rollout: skeleton {chosen.name!r} is not in world {model.name!r}")
    return model, chosen
