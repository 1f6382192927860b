"""One thread's share of many worlds, eight of which step together in lanes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from kido.batch.lockstep import Lockstep
from kido.batch.lockstep_step import run_together
from kido.batch.rollout_worker import TOGETHER, Job, Worker
from kido.errors import KidoError
from kido.jit import LANES
from kido.simulation import World
from kido.simulation.step import AT_INTEGRATE


class LaneWorker(Worker):
    """Worlds that step together, which stand for eight after another of those that are stepped.

    Args:
        world: of this worker alone; the others are its clones.
    """

    def __init__(self, world: World):
        worlds = [world, *(world.clone() for _ in range(LANES - 1))]
        self.group = Lockstep(worlds)
        super().__init__(world, self.group.tree, 0)
        self.lanes = [self, *(Worker(w, self.group.tree, k) for k, w in enumerate(worlds[1:], start=1))]

    @property
    def groups(self) -> int:
        return LANES

    def prepare(self, job: Job) -> None:
        for worker in self.lanes:
            Worker.prepare(worker, job)

    def run(self, job: Job) -> None:
        with ExitStack() as used:
            for worker in self.lanes:
                used.enter_context(worker.world.turn.used("stepped"))
                used.enter_context(worker.world.in_compiled_code())
            while taken := job.take(LANES):
                self._run(job, taken)

    def _run(self, job: Job, taken: Sequence[int]) -> None:
        group, done = self.group, 0
        for worker, k in zip(self.lanes, taken, strict=False):
            worker.put(job, k)
        group.begin(taken)
        left = dict(enumerate(taken))
        q, u, wrenches = job.records
        while left and done < job.total and not job.stopped:
            done, lane, stage, status = run_together(
                *(group.container.address, job.driven, job.commands, job.dofs, q, u, *self.sensors, wrenches),
                *(done, min(done + TOGETHER, job.total), job.hold, job.every),
            )
            if lane >= 0:
                worker = self.lanes[lane]
                try:
                    worker.make_room(stage, status)
                except KidoError as error:
                    group.leave(lane)
                    worker.leave(job, left.pop(lane), done + (stage == AT_INTEGRATE), str(error))
        for lane, k in left.items():
            self.lanes[lane].leave(job, k, done, None)
