"""One thread's share of a rollout: a world of its own, and the samples that it takes one after another."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import numpy as np

from kido.batch.arguments import Array
from kido.errors import KidoError
from kido.jit import entry, kernel, view
from kido.joints.actuators import ACCELERATION, FORCE, MIMIC, POSITION, SERVO, VELOCITY
from kido.math.so3 import cross
from kido.simulation import World
from kido.simulation.motion import make_room, run
from kido.simulation.step import AT_PREDICT, run_steps
from kido.simulation.world_state import put_state
from kido.simulation.world_struct import WORLD


@kernel
def place_commands(t, d, dofs, controls, sample, row):
    """Commands of some coordinates from a row of a sample's controls; one sample or row stands for all."""
    s = sample if controls.shape[0] > 1 else 0
    r = row if controls.shape[1] > 1 else 0
    for j in range(dofs.shape[0]):
        k = dofs[j]
        kind = t.actuator[k]
        if kind == FORCE or kind == MIMIC:
            d.tau[k] = controls[s, r, j]
        elif kind == SERVO or kind == POSITION or kind == VELOCITY or kind == ACCELERATION:
            d.command[k] = controls[s, r, j]


@kernel
def add_contact_wrenches(d, c, h, sensor_of_shape, link, offset, wrenches, sample, record):
    """Sum of the contact forces on each body with a sensor as [moment; force] about its origin, world axes."""
    for b in range(link.shape[0]):
        for i in range(6):
            wrenches[sample, record, b, i] = 0.0
    for k in range(c.num_contacts):
        for side in range(2):
            b = sensor_of_shape[c.shape_a[k]] if side == 0 else sensor_of_shape[c.shape_b[k]]
            if b >= 0:
                sign = -1.0 / h if side == 0 else 1.0 / h
                i = link[b]
                x, y, z = offset[b, 0], offset[b, 1], offset[b, 2]
                rx = c.point[k, 0] - (d.p[i, 0] + d.R[i, 0] * x + d.R[i, 1] * y + d.R[i, 2] * z)
                ry = c.point[k, 1] - (d.p[i, 1] + d.R[i, 3] * x + d.R[i, 4] * y + d.R[i, 5] * z)
                rz = c.point[k, 2] - (d.p[i, 2] + d.R[i, 6] * x + d.R[i, 7] * y + d.R[i, 8] * z)
                f0, f1, f2 = sign * c.impulse[k, 0], sign * c.impulse[k, 1], sign * c.impulse[k, 2]
                m0, m1, m2 = cross(rx, ry, rz, f0, f1, f2)
                wrenches[sample, record, b, 0] += m0
                wrenches[sample, record, b, 1] += m1
                wrenches[sample, record, b, 2] += m2
                wrenches[sample, record, b, 3] += f0
                wrenches[sample, record, b, 4] += f1
                wrenches[sample, record, b, 5] += f2


@entry("i8(i8,i8[::1],f8[:,:,::1],i8,i8)")
def set_commands(world, dofs, controls, sample, row):
    """`place_commands` of a world."""
    w = view(WORLD, world)
    place_commands(w.tree, w.data, dofs, controls, sample, row)
    return 0


@kernel
def keep_record(world, dofs, q, u, sensor_of_shape, link, offset, wrenches, sample, record):
    """State and contact wrenches after a step into one record of a sample."""
    w = view(WORLD, world)
    d = w.data
    for j in range(dofs.shape[0]):
        q[sample, record, j], u[sample, record, j] = d.q[dofs[j]], d.u[dofs[j]]
    if link.shape[0] > 0:
        c = w.collision
        add_contact_wrenches(d, c, w.time_step, sensor_of_shape, link, offset, wrenches, sample, record)


@entry("i8(i8,i8[::1],f8[:,:,::1],f8[:,:,::1],i8[::1],i8[::1],f8[:,::1],f8[:,:,:,::1],i8,i8)")
def record_state(world, dofs, q, u, sensor_of_shape, link, offset, wrenches, sample, record):
    """`keep_record` from Python."""
    keep_record(world, dofs, q, u, sensor_of_shape, link, offset, wrenches, sample, record)
    return 0


@entry(
    "UniTuple(i8,3)(i8,i8[::1],f8[:,:,::1],f8[:,:,::1],f8[:,:,::1],"
    "i8[::1],i8[::1],f8[:,::1],f8[:,:,:,::1],i8,i8,i8,i8,i8,i8)"
)
def run_sample(
    world, dofs, controls, q, u, sensor_of_shape, link, offset, wrenches, sample, done, end, hold, every, go
):
    """Steps done+1 .. end of a sample.

    Args:
        world: address of the WORLD container that the sample runs in.
        hold: steps that a row of controls acts.
        every: steps from one record to the next.
        go: where the first step goes on (`run_steps`).

    Returns:
        Steps of the sample that are done; the stage that could not go on or -1; its status.
    """
    w = view(WORLD, world)
    t = w.tree
    d = w.data
    while done < end:
        place_commands(t, d, dofs, controls, sample, done // hold)
        number = min(hold - done % hold, every - done % every, end - done)
        steps, stage, status = run_steps(world, number, go)
        go = 0
        done += steps
        if stage != -1:
            return done, stage, status
        if done % every == 0:
            keep_record(world, dofs, q, u, sensor_of_shape, link, offset, wrenches, sample, done // every - 1)
    return done, -1, 0


TOGETHER = 100  # steps that compiled code does before it looks whether the run was stopped


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


def last_error(engine: Any, done: int) -> str | None:
    """What is wrong with the state that a sample ended in after some steps."""
    if np.isfinite(engine.data.q).all() and np.isfinite(engine.data.u).all():
        return None
    return f"the motion became NaN or infinite in the last of {done} steps"


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
        world = self.world
        with world.turn.used("stepped"), world.in_compiled_code():
            self._take_all(job)

    def _take_all(self, job: Job) -> None:
        while (sample := job.take()) >= 0:
            error = job.not_finite(sample)
            done = 0
            if error is None:
                self.set_back(job, sample)
                done, error = self.sample(job, sample)
            job.leave(sample, done, error)

    def set_back(self, job: Job, sample: int) -> None:
        """The state that a sample starts from."""
        self.engine.world.steps = 0  # messages count those of the sample
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
                    end = min(done + TOGETHER, job.total)
                    done, stage, status = run_sample(
                        *(engine.world.address, job.dofs, self.commands, job.q, job.u, *self.sensors),
                        *(sample, done, end, job.hold, job.every, go),
                    )
                    go = make_room(engine, stage, status) if stage != -1 else AT_PREDICT
                else:
                    set_commands(engine.world.address, job.dofs, self.commands, sample, done // job.hold)
                    number = min(job.hold - done % job.hold, job.every - done % job.every, job.total - done)
                    run(engine, number, partial(float, done * h))
                    done += number
                    if done % job.every == 0:
                        place = sample, done // job.every - 1
                        record_state(engine.world.address, job.dofs, job.q, job.u, *self.sensors, *place)
        except KidoError as error:
            return done, str(error)
        return done, last_error(engine, done)
