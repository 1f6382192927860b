"""One thread's share of many worlds, eight of which step together in lanes."""

from __future__ import annotations

import numpy as np

from kido.batch.lockstep import Lockstep
from kido.batch.lockstep_step import run_together
from kido.batch.rollout_worker import TOGETHER, Job, Member, Worker
from kido.errors import KidoError
from kido.jit import LANES
from kido.simulation import World
from kido.simulation.step import AT_INTEGRATE


class LaneWorker(Worker):
    """Worlds that step together, and stand for eight after another of those that are stepped."""

    def make_members(self, world: World) -> list[Member]:
        worlds = [world, *(world.clone() for _ in range(LANES - 1))]
        self.group = Lockstep(worlds)
        return [Member(w, self.group.tree, k) for k, w in enumerate(worlds)]

    def step(self, job: Job, worlds: np.ndarray) -> None:
        group, done = self.group, 0
        group.begin(worlds)
        left = dict(enumerate(worlds.tolist()))
        q, u, wrenches = job.records
        while left and done < job.total and not job.stopped:
            done, lane, stage, status = run_together(
                *(group.container.address, job.driven, job.commands, job.dofs, q, u, *self.sensors, wrenches),
                *(done, min(done + TOGETHER, job.total), job.hold, job.every),
            )
            if lane >= 0:
                try:
                    self.make_room(self.members[lane], stage, status)
                except KidoError as error:
                    group.leave(lane)
                    self.fail(job, self.members[lane], left.pop(lane), done + (stage == AT_INTEGRATE), error)
        if len(left) == len(worlds):
            self.keep(job, self.members[: len(worlds)], worlds, done)
        elif left:
            self.keep(job, [self.members[lane] for lane in left], np.array(list(left.values())), done)
