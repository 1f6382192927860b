"""One thread's share of a rollout: a world of its own, and the samples that it takes one after another."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from kido.batch.arguments import Array
from kido.batch.differences import Differences, scatter_numbers
from kido.batch.world_image import Image, Store
from kido.errors import KidoError
from kido.jit import entry, kernel, view
from kido.joints.actuators import ACCELERATION, FORCE, MIMIC, POSITION, SERVO, VELOCITY
from kido.math.so3 import cross
from kido.simulation import World
from kido.simulation.motion import make_room, run
from kido.simulation.sleeping import Sleepers
from kido.simulation.step import AT_PREDICT, run_steps
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
    """Sum of the contact forces, and torques of rolling and torsional friction, on each body with a sensor.

    As [moment; force] about its origin, world axes.
    """
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
                wrenches[sample, record, b, 0] += m0 + sign * c.torque[k, 0]
                wrenches[sample, record, b, 1] += m1 + sign * c.torque[k, 1]
                wrenches[sample, record, b, 2] += m2 + sign * c.torque[k, 2]
                wrenches[sample, record, b, 3] += f0
                wrenches[sample, record, b, 4] += f1
                wrenches[sample, record, b, 5] += f2


@entry("i8(i8,i8[::1],f8[:,:,::1],i8,i8)")
def set_commands(world, driven, controls, sample, row):
    """`place_commands` of a world."""
    w = view(WORLD, world)
    place_commands(w.tree, w.data, driven, controls, sample, row)
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
    "UniTuple(i8,3)(i8,i8[::1],f8[:,:,::1],i8[::1],f8[:,:,::1],f8[:,:,::1],"
    "i8[::1],i8[::1],f8[:,::1],f8[:,:,:,::1],i8,i8,i8,i8,i8,i8)"
)
def run_sample(
    world, driven, controls, dofs, q, u, sensor_of_shape, link, offset, wrenches, sample, done, end, hold, every, go
):
    """Steps done+1 .. end of a sample.

    Args:
        world: address of the WORLD container that the sample runs in.
        driven: coordinates that `controls` are for.
        dofs: coordinates that are recorded.
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
        place_commands(t, d, driven, controls, sample, done // hold)
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
    """What a run is to do, what it found, and which world comes next.

    Args:
        store: states of worlds, where they are before and after.
        worlds: numbers of those to step, in order.
        differences: properties in which worlds differ, or None.
        driven: coordinates of the forest that commands are for.
        commands: (worlds, rows, driven), one world or row for all.
        dofs: coordinates that are recorded.
        steps: time steps of each.
        hold: time steps that a row of commands acts.
        every: time steps from one record to the next.
        sensors: indices of skeletons and bodies whose contact wrenches are recorded.
        records: positions and velocities, (worlds, records, dofs), and contact wrenches, (worlds, records, bodies, 6).
    """

    def __init__(
        self,
        store: Store,
        worlds: np.ndarray,
        differences: Differences | None,
        driven: np.ndarray,
        commands: Array,
        dofs: np.ndarray,
        steps: int,
        hold: int,
        every: int,
        sensors: list[tuple[int, int]],
        records: tuple[Array, Array, Array],
    ):
        self.store, self.worlds, self.differences = store, worlds, differences
        self.driven, self.dofs = driven, dofs
        self.total, self.hold, self.every, self.sensors, self.records = steps, hold, every, sensors, records
        self.steps = np.empty(store.number, np.int64)
        self._lock = threading.Lock()
        self.begin(commands)

    def begin(self, commands: Array) -> None:
        """Nothing is done yet; these are the commands."""
        self.commands = commands
        self.steps.fill(0)
        self.errors: dict[int, str] = {}
        self.finished = self._next = 0
        self.stopped = False

    def take(self, most: int) -> np.ndarray:
        """The next worlds; none where there are no more."""
        with self._lock:
            begin = self._next
            self._next += 0 if self.stopped else most
            return self.worlds[begin : self._next]

    def leave(self, worlds: np.ndarray | int, done: int, error: str | None = None) -> None:
        """Worlds are finished after some steps, or one failed."""
        with self._lock:
            self.finished += 1 if isinstance(worlds, int) else len(worlds)
            self.steps[worlds] = done
            if error is not None:
                self.errors[int(worlds)] = error


class Member:
    """A world, which stands for one after another of those that are stepped.

    Args:
        world: of its own.
        lane_tree: the forest in lanes that it is a lane of, or None.
        lane: which.
    """

    def __init__(self, world: World, lane_tree: Any = None, lane: int = 0):
        self.world, self.lane_tree, self.lane = world, lane_tree, lane
        self.engine: Any = world.engine
        self.image = Image(world)
        self.differences: Differences | None = None
        self._scatter: Any = None
        self._own: Any = None

    def place(self) -> None:
        """It may have other arrays, or differ from others otherwise."""
        self.image.place()
        if self.differences is not None:
            self._scatter = self.differences.scatter(self.engine, self.lane_tree, self.lane)

    def take(self, differences: Differences | None) -> None:
        """Stand for worlds that differ in these properties."""
        self.differences = differences
        self._own = None if differences is None else differences.present(self.engine)

    @property
    def scatter(self) -> Any:
        """Where its properties are in which it differs from others, or None."""
        return None if self.differences is None else self._scatter[0]

    def be_itself(self) -> None:
        """Have the model's properties again: others are read, and others differ, by what it has."""
        if self.differences is not None:
            scatter_numbers(self._scatter[0].address, self._own)

    def differ(self, k: int) -> None:
        """Have the properties of world k."""
        if self.differences is not None:
            scatter_numbers(self._scatter[0].address, self.differences.values[k])

    def sensors(self, sensors: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, Array]:
        """Of each shape the number of its body among those with sensors, their links and places on them."""
        engine = self.engine
        links, offsets = [], []
        sensor_of_shape = np.full(max(len(engine.nodes), 1), -1, np.int64)
        for k, (skeleton, index) in enumerate(sensors):
            body = self.world.skeletons[skeleton].bodies[index]
            links.append(engine.link_index(body))
            offsets.append(engine.links[body.skeleton].offset[body.index][:3, 3])
            for s, node in enumerate(engine.nodes):
                if node.body is body:
                    sensor_of_shape[s] = k
        return sensor_of_shape, np.array(links, np.int64), np.array(offsets, dtype=float).reshape(-1, 3)


class Worker:
    """One thread's share of a run: worlds of its own, in which it steps those that it takes, one by one.

    Args:
        world: of this worker alone.
    """

    def __init__(self, world: World):
        self.members = self.make_members(world)
        self.images = [member.image for member in self.members]
        self.addresses = np.array([image.container.address for image in self.images])
        self._sensors_of: Any = None
        self.compiled = bool(self.members[0].engine.is_compiled)

    @property
    def together(self) -> int:
        """How many worlds it steps at a time."""
        return len(self.members)

    def make_members(self, world: World) -> list[Member]:
        """Those that it steps at a time."""
        return [Member(world)]

    def prepare(self, job: Job) -> None:
        """Where the job's sensors and differences are in these worlds."""
        if self._sensors_of is not job.sensors:
            self._sensors_of = job.sensors
            self.sensors = self.members[0].sensors(job.sensors)
            self.bodies = [self.members[0].world.skeletons[s].bodies[b] for s, b in job.sensors]
        for member in self.members:
            if member.differences is not job.differences:
                member.take(job.differences)
                self.place(member)

    def place(self, member: Member) -> None:
        """A member may have other arrays."""
        member.place()
        self.addresses[member.lane] = member.image.container.address

    def run(self, job: Job) -> None:
        """Take worlds until there are no more."""
        first = self.members[0].world  # of the others nobody else knows
        with first.turn.used("stepped"), first.in_compiled_code():
            try:
                self.run_all(job)
            finally:
                for member in self.members:
                    member.be_itself()

    def run_all(self, job: Job) -> None:
        """`run`, while worlds are used."""
        while len(taken := job.take(len(self.members))):
            for member, k in zip(self.members, taken, strict=False) if job.differences is not None else ():
                member.differ(k)
            if job.store.put(self.images, self.addresses, taken):
                for member in self.members:
                    self.place(member)
            self.step(job, taken)

    def keep(self, job: Job, members: Sequence[Member], worlds: np.ndarray, done: int) -> None:
        """Worlds have done their steps."""
        whole = len(members) == len(self.members)
        addresses = self.addresses if whole else self.addresses[[member.lane for member in members]]
        bad = job.store.keep([member.image for member in members], addresses, worlds)
        job.leave(np.delete(worlds, bad) if bad else worlds, done)
        for j in bad:
            job.leave(int(worlds[j]), done, f"the motion became NaN or infinite in the last of {done} steps")

    def fail(self, job: Job, member: Member, k: int, done: int, error: KidoError) -> None:
        """A world has failed."""
        if member.engine.acting is not None:
            member.engine.acting.put_back()
        job.leave(k, done, str(error))

    def make_room(self, member: Member, stage: int, status: int) -> int:
        """`kido.simulation.motion.make_room`."""
        go = make_room(member.engine, stage, status)
        self.place(member)
        return go

    def wrenches_of(self, member: Member) -> Array:
        """What `add_contact_wrenches` finds, of a world that sleeps, whose detector does not have all contacts."""
        d, contacts = member.engine.data, member.engine.contacts()
        found = np.zeros((len(self.bodies), 6))
        for k, (body, link, offset) in enumerate(zip(self.bodies, *self.sensors[1:], strict=True)):
            found[k] = contacts.wrench_on(body, d.p[link] + d.R[link].reshape(3, 3) @ offset)
        return found

    def step(self, job: Job, worlds: np.ndarray) -> None:
        """Run worlds that are in place."""
        member, k = self.members[0], int(worlds[0])
        engine, h = member.engine, float(member.world.time_step)
        compiled = self.compiled
        q, u, wrenches = job.records
        done, go = 0, AT_PREDICT
        try:
            while done < job.total and not job.stopped:
                if compiled:
                    end = min(done + TOGETHER, job.total)
                    done, stage, status = run_sample(
                        *(engine.world.address, job.driven, job.commands, job.dofs, q, u, *self.sensors, wrenches),
                        *(k, done, end, job.hold, job.every, go),
                    )
                    go = self.make_room(member, stage, status) if stage != -1 else AT_PREDICT
                else:
                    set_commands(engine.world.address, job.driven, job.commands, k, done // job.hold)
                    number = min(job.hold - done % job.hold, job.every - done % job.every, job.total - done)
                    run(engine, number, partial(float, done * h))
                    done += number
                    if done % job.every == 0:
                        place = k, done // job.every - 1
                        record_state(engine.world.address, job.dofs, q, u, *self.sensors, wrenches, *place)
                        if engine.feature(Sleepers).is_active:
                            wrenches[place] = self.wrenches_of(member)
        except KidoError as error:
            self.fail(job, member, k, done, error)
            return
        self.keep(job, self.members, worlds, done)
