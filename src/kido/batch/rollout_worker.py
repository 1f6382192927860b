"""One thread's share of a rollout: a world of its own, and the samples that it takes one after another."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from kido.batch.arguments import Array
from kido.batch.rollout_entries import record_state, run_sample, set_commands
from kido.errors import KidoError
from kido.simulation import World
from kido.simulation.motion import make_room, run
from kido.simulation.step import AT_PREDICT
from kido.simulation.world_state import put_state

_TOGETHER = 100  # steps that compiled code does before it looks whether the run was stopped


class Job:
    """What a run is to do, what it found, and which sample comes next.

    Args:
        dofs: coordinates of the forest that states and commands have, (dofs,).
        positions, velocities: (samples, dofs) or (1, dofs), or None.
        commands: (samples, rows, dofs), one sample or row for all; or None.
        samples: their number.
        steps: time steps of each.
        hold: time steps that a row of commands acts.
        every: time steps from one record to the next.
        sensors: indices of skeletons and bodies whose contact wrenches are recorded.
    """

    def __init__(
        self,
        dofs: np.ndarray,
        positions: Array | None,
        velocities: Array | None,
        commands: Array | None,
        samples: int,
        steps: int,
        hold: int,
        every: int,
        sensors: list[tuple[int, int]],
    ):
        self.dofs, self.positions, self.velocities = dofs, positions, velocities
        self.samples, self.total, self.hold, self.every, self.sensors = samples, steps, hold, every, sensors
        self.commands = commands
        shape = samples, steps // every, len(dofs)
        self.q, self.u = np.full(shape, np.nan), np.full(shape, np.nan)
        self.wrenches = np.full((*shape[:2], len(sensors), 6), np.nan)
        self.steps = np.zeros(samples, np.int64)
        self.errors: dict[int, str] = {}
        self.finished = 0
        self.stopped = False
        self._next = 0
        self._lock = threading.Lock()

    def take(self) -> int:
        """The next sample; -1: there is none."""
        with self._lock:
            sample = self._next
            if self.stopped or sample >= self.samples:
                return -1
            self._next += 1
            return sample

    def leave(self, sample: int, done: int, error: str | None) -> None:
        """A sample is finished after some steps, or failed."""
        with self._lock:
            self.finished += 1
            self.steps[sample] = done
            if error is not None:
                self.errors[sample] = error

    def not_finite(self, sample: int) -> str | None:
        """What is not finite of a sample's arguments."""
        for what, array in (
            ("positions", self.positions),
            ("velocities", self.velocities),
            ("commands", self.commands),
        ):
            if array is not None:
                row = array[sample if len(array) > 1 else 0]
                if not np.isfinite(row).all():
                    return f"{what}: expected finite numbers, got {row[~np.isfinite(row)][0]}"
        return None


class Worker:
    """A world and what it is set back to before each sample.

    Args:
        world: of this worker alone.
    """

    def __init__(self, world: World):
        self.world = world
        self.engine: Any = world.engine
        # States of nodes and aspects matter to callbacks alone, which are not called, as `World.push` is not.
        self.start = {name: value for name, value in world.state().items() if name not in ("carried", "pushes")}

    def prepare(self, job: Job) -> None:
        """Where the job's sensors are in this world."""
        engine = self.engine
        links, offsets = [], []
        sensor_of_shape = np.full(max(len(engine.nodes), 1), -1, np.int64)
        for k, (skeleton, index) in enumerate(job.sensors):
            body = self.world.skeletons[skeleton].bodies[index]
            links.append(engine.link_index(body))
            offsets.append(engine.links[body.skeleton].offset[body.index][:3, 3])
            for s, node in enumerate(engine.nodes):
                if node.body is body:
                    sensor_of_shape[s] = k
        self.sensors = (
            sensor_of_shape,
            np.array(links, np.int64),
            np.array(offsets, dtype=float).reshape(-1, 3),
            job.wrenches,
        )
        commands = job.commands
        if commands is None:
            commands = engine.commands()[job.dofs].reshape(1, 1, -1)
        self.commands = np.ascontiguousarray(commands)

    def run(self, job: Job) -> None:
        """Take samples until there are no more."""
        while (sample := job.take()) >= 0:
            error = job.not_finite(sample)
            done = 0
            if error is None:
                self.set_back(job, sample)
                done, error = self.sample(job, sample)
            job.leave(sample, done, error)

    def set_back(self, job: Job, sample: int) -> None:
        """The state that a sample starts from."""
        put_state(self.world, self.start)
        d = self.engine.data
        if job.positions is not None:
            d.q[job.dofs] = job.positions[sample if len(job.positions) > 1 else 0]
        if job.velocities is not None:
            d.u[job.dofs] = job.velocities[sample if len(job.velocities) > 1 else 0]

    def sample(self, job: Job, sample: int) -> tuple[int, str | None]:
        """Run one sample. Returns the steps that are done, and why there are no more."""
        engine, h = self.engine, float(self.world.time_step)
        compiled = engine.is_compiled
        done, go = 0, AT_PREDICT
        try:
            while done < job.total and not job.stopped:
                if compiled:
                    end = min(done + _TOGETHER, job.total)
                    done, stage, status = run_sample(
                        *(engine.world.address, job.dofs, self.commands, job.q, job.u, *self.sensors),
                        *(sample, done, end, job.hold, job.every, go),
                    )
                    go = make_room(engine, stage, status) if stage != -1 else AT_PREDICT
                else:
                    set_commands(engine.world.address, job.dofs, self.commands, sample, done // job.hold)
                    number = min(job.hold - done % job.hold, job.every - done % job.every, job.total - done)
                    run(engine, number, done * h)
                    done += number
                    if done % job.every == 0:
                        place = sample, done // job.every - 1
                        record_state(engine.world.address, job.dofs, job.q, job.u, *self.sensors, *place)
        except KidoError as error:
            return done, str(error)
        if not (np.isfinite(engine.data.q).all() and np.isfinite(engine.data.u).all()):
            return done, f"the motion became NaN or infinite in the last of {done} steps"
        return done, None
