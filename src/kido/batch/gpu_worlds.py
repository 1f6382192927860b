"""Worlds on a GPU: the step of a world as it is, a world a thread.

A world's structs are copied as one row of words (`kido.jit.relocated`), once for each thread; callbacks are numbers
there (`kido.jit.device`). What a thread does is what a worker of the processor does with its one world: properties
and state of a sample go into it, it steps, and its state comes out. Worlds that need larger arrays, or whose numbers
are not finite, are done again on the processor, which tells what was wrong. It has not been run on
a GPU yet: tests step such copies on the processor, and compile the kernel to PTX.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from kido.batch.differences import SCATTER, scatter_numbers
from kido.batch.rollout_worker import TOGETHER, Job, Worker, run_sample
from kido.batch.world_image import FITS, IMAGE, is_finite, keep_world, put_world, why_plain
from kido.jit import JIT_DISABLED, Struct, entry, reference, view
from kido.jit.relocated import Relocatable
from kido.simulation import World
from kido.simulation.world_struct import WORLD

MOST_WORLDS = 16384  # at a time
DONE, TO_PROCESSOR = 0, 1  # of `status`: also while there are steps left
_ALONE = ("kido.collision.pairs.compound", "kido.collision.pairs.skin")  # their callbacks call callbacks of their kind


class ON_GPU(Struct):
    world = reference(WORLD)
    image = reference(IMAGE, doc="where its state is")
    scatter = reference(SCATTER, doc="where its properties are, if worlds differ in some")


SIGNATURE = (
    "i8(i8,f8[:,::1],f8[:,::1],i8[::1],f8[:,:,::1],i8[::1],f8[:,:,::1],f8[:,:,::1],"
    "i8[::1],i8[::1],f8[:,::1],f8[:,:,:,::1],i8[::1],i8,i8,i8,i8,i8,i8)"
)


@entry(SIGNATURE)
def run_copy(
    address, rows, values, driven, controls, dofs, q, u, sensor_of_shape, link, offset, wrenches, status, k, done, end,
    total, hold, every,
):  # fmt: skip
    """Steps done+1 .. end of sample k in a copy of a world, as `run_sample` has it.

    Args:
        address: of an ON_GPU.
        rows: states of samples; that of k is read before the first step and written after the last one.
        values: properties of samples.
        total: steps of all calls together.

    Returns:
        The sample's `status`: DONE or TO_PROCESSOR.
    """
    m = view(ON_GPU, address)
    if done == 0:
        status[k] = DONE
        if m.scatter.address != 0:
            scatter_numbers(m.scatter.address, values[k])
        if put_world(m.image, rows, k) != FITS:
            status[k] = TO_PROCESSOR
    if status[k] == DONE:
        _, stage, _ = run_sample(
            m.world.address, driven, controls, dofs, q, u, sensor_of_shape, link, offset, wrenches, k, done, end, hold,
            every, 0,
        )  # fmt: skip
        if (
            stage != -1
            or not is_finite(m.world.data)
            or (end == total and keep_world(m.image, rows, k) > rows.shape[1])
        ):
            status[k] = TO_PROCESSOR
    return status[k]


def why_not(world: World) -> str:
    """Why steps of a world are not for a GPU; "" if they are."""
    engine: Any = world.engine
    if JIT_DISABLED:
        return "kernels run as plain Python"
    if not engine.is_compiled or engine.calls_users:
        return "its steps call functions of users or of other libraries"
    if reason := why_plain(world):
        return f"its state is kept by Python ({reason})"
    callbacks = Relocatable(engine.world).callbacks
    found = {c.function.__name__ for found in callbacks.values() for c in found if c.function.__module__ in _ALONE}
    if found:
        return f"it has shapes made of others, such as meshes ({', '.join(sorted(found))})"
    return ""


class Device(Protocol):
    """Memory of its own, and threads that work on it."""

    def room_for(self, nbytes: int) -> int:
        """How many copies of so many bytes there is room for."""
        ...

    def array(self, host: np.ndarray) -> Any:
        """A copy of an array there."""
        ...

    def back(self, there: Any, host: np.ndarray) -> None:
        """Copy an array from there."""
        ...

    def place(self, template: Relocatable, number: int) -> Any:
        """Copies of a row of words, each with its own addresses."""
        ...

    def run(self, copies: Any, count: int, *arguments: Any) -> None:
        """`run_copy` for samples 0..count-1 in as many copies, with these arguments but for the address and `k`."""
        ...


class GpuWorker(Worker):
    """Steps worlds on a device, and those that this cannot do on the processor.

    Args:
        world: of this worker alone, for which `why_not` gives no reason.
        device: where.
    """

    def __init__(self, world: World, device: Device):
        super().__init__(world)
        self._device, self._template, self._copies, self._number = device, None, None, 0

    @property
    def together(self) -> int:
        """How many worlds it steps at a time."""
        return MOST_WORLDS

    def run_all(self, job: Job) -> None:
        member, store = self.members[0], job.store
        self._connect(len(job.worlds))
        while len(taken := job.take(self._number)):
            ready = np.array([k not in store.plain for k in taken.tolist()], bool)
            left = np.concatenate([taken[~ready], self._launch(job, taken[ready])])
            for k in [] if job.stopped else left.tolist():
                if job.differences is not None:
                    member.differ(k)
                one = np.array([k])
                if store.put(self.images, self.addresses, one):
                    self.place(member)
                self.step(job, one)

    def _connect(self, worlds: int) -> None:
        """Have copies of the world as it is now, for so many samples if there is room."""
        member = self.members[0]
        root = ON_GPU(world=member.engine.world, image=member.image.container)
        if member.scatter is not None:
            root.scatter = member.scatter
        template = Relocatable(root)
        number = max(1, min(worlds, MOST_WORLDS, self._device.room_for(template.words.nbytes)))
        known = self._template
        if known is None or number > self._number or not template.like(known):
            self._copies = None  # before others need its room
            self._copies = self._device.place(template, number)
            self._template, self._number = template, number

    def _launch(self, job: Job, worlds: np.ndarray) -> np.ndarray:
        """Step some worlds on the device. Returns those that are left to the processor."""
        if not len(worlds):
            return worlds
        device, count = self._device, len(worlds)
        of = [worlds if len(job.commands) > 1 else slice(0, 1), slice(None)]
        records = [np.full((count, *record.shape[1:]), np.nan) for record in job.records]
        rows, status = job.store.rows[worlds], np.zeros(count, np.int64)
        values = np.zeros((count, 0)) if job.differences is None else job.differences.values[worlds]
        host = (
            rows, np.ascontiguousarray(values), job.driven, np.ascontiguousarray(job.commands[of[0]]), job.dofs,
            *records[:2], *self.sensors, records[2], status,
        )  # fmt: skip
        there = [device.array(a) for a in host]
        done = 0
        while done < job.total and not job.stopped:
            end = min(done + TOGETHER, job.total)
            device.run(self._copies, count, *there, done, end, job.total, job.hold, job.every)
            device.back(there[-1], status)  # waits for it
            done = end
        if job.stopped:
            return worlds[:0]
        for k, array in ((0, rows), (5, records[0]), (6, records[1]), (10, records[2])):
            device.back(there[k], array)
        good = status == DONE
        job.store.rows[worlds[good]] = rows[good]
        for own, found in zip(job.records, records, strict=True):
            own[worlds[good]] = found[good]
        job.leave(worlds[good], job.total)
        return worlds[~good]
