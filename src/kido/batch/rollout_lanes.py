"""One thread's share of a rollout in lanes: eight worlds, and the samples that they take together."""

from __future__ import annotations

from contextlib import ExitStack

from kido.batch.lockstep import Lockstep
from kido.batch.lockstep_step import run_together
from kido.batch.rollout_worker import TOGETHER, Job, Worker, last_error
from kido.errors import KidoError
from kido.jit import LANES
from kido.simulation import World
from kido.simulation.motion import make_room
from kido.simulation.step import AT_INTEGRATE


class LaneWorker(Worker):
    """Worlds that step together, and what they are set back to before each sample.

    Args:
        world: of this worker alone; the others are its clones.
    """

    def __init__(self, world: World):
        super().__init__(world)
        self.lanes = [self, *(Worker(world.clone()) for _ in range(LANES - 1))]
        self.group = Lockstep([worker.world for worker in self.lanes])

    def run(self, job: Job) -> None:
        """Take samples until there are no more."""
        with ExitStack() as used:
            for worker in self.lanes:
                used.enter_context(worker.world.turn.used("stepped"))
                used.enter_context(worker.world.in_compiled_code())
            while samples := self._take(job):
                self._run(job, samples)

    def _take(self, job: Job) -> list[int]:
        """Samples for all lanes, set back to their starts; fewer or none where there are no more."""
        taken: list[int] = []
        while len(taken) < LANES and (sample := job.take()) >= 0:
            error = job.not_finite(sample)
            if error is None:
                self.lanes[len(taken)].set_back(job, sample)
                taken.append(sample)
            else:
                job.leave(sample, 0, error)
        return taken

    def _run(self, job: Job, samples: list[int]) -> None:
        group, done = self.group, 0
        group.begin(samples)
        left = dict(enumerate(samples))
        while left and done < job.total and not job.stopped:
            done, lane, stage, status = run_together(
                *(group.container.address, job.dofs, self.commands, job.q, job.u, *self.sensors),
                *(done, min(done + TOGETHER, job.total), job.hold, job.every),
            )
            if lane >= 0:
                try:
                    make_room(self.lanes[lane].engine, stage, status)
                except KidoError as error:
                    group.leave(lane)
                    job.leave(left.pop(lane), done + (stage == AT_INTEGRATE), str(error))
        for lane, sample in left.items():
            job.leave(sample, done, last_error(self.lanes[lane].engine, done))
