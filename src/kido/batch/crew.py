"""Threads that step many worlds: workers with engines of their own, among whom a job is shared out."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from kido.batch.gpu_worlds import Device, GpuWorker
from kido.batch.lockstep import why_alone
from kido.batch.rollout_lanes import LaneWorker
from kido.batch.rollout_worker import Job, Member, Worker
from kido.batch.world_image import Store
from kido.simulation import World, WorldSnapshot
from kido.simulation.world_state import put_state

_POLL = 0.1  # [s] a run looks this often whether it was interrupted, and reports progress
_AT_ONCE = 20_000  # steps of worlds that are done in the calling thread, without looking for interruptions


NO_LANES = "lanes were not asked for"


class Crew:
    """Workers, one for each thread that is needed.

    Args:
        world: what all worlds are like; the first worker steps in it, others in clones.
        threads: most that there are.
        lanes: whether a worker steps eight worlds together, if there are lanes for such worlds.
        device: instead of both, a GPU, which steps thousands together.

    Attributes:
        why_alone: why worlds are stepped one by one; "" if eight are together.
    """

    def __init__(self, world: World, threads: int, lanes: bool, device: Device | None = None):
        self.world, self.threads = world, 1 if device else threads
        self.why_alone = why_alone(world) if lanes and not device else "a GPU steps them" if device else NO_LANES
        self._workers: list[Worker] = [GpuWorker(world, device) if device else self._worker(world)]
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    def _worker(self, world: World) -> Worker:
        return Worker(world) if self.why_alone else LaneWorker(world)

    def run(self, job: Job, progress: Callable[[int, int], Any] | None) -> None:
        """Do what a job says; an interruption stops all threads before it is passed on.

        Args:
            progress: called in this thread, now and then, with the numbers of worlds that are done and of all.
        """
        together = self._workers[0].together
        threads = max(1, min(self.threads, -(-len(job.worlds) // together)))
        while len(self._workers) < threads:
            self._workers.append(self._worker(self.world.clone()))
        workers = self._workers[:threads]
        for worker in workers:
            worker.prepare(job)
        if threads == 1 and progress is None and len(job.worlds) * job.total <= _AT_ONCE:
            workers[0].run(job)
            return
        if self._pool is None or self._process != os.getpid():  # threads do not survive a fork
            self._pool, self._process = ThreadPoolExecutor(self.threads), os.getpid()
        waiting: set[Future[None]] = {self._pool.submit(worker.run, job) for worker in workers}
        try:
            while waiting:
                finished, waiting = wait(waiting, timeout=_POLL, return_when=FIRST_COMPLETED)
                if progress is not None:
                    progress(job.finished, len(job.worlds))
                for future in finished:
                    future.result()
        except BaseException:
            job.stopped = True
            wait(waiting)
            raise

    def show(self, store: Store, k: int) -> World:
        """A world that is as number k of a store is, until the next call."""
        worker, member = self._first()
        if store.put(worker.images, worker.addresses[:1], np.array([k])):
            worker.place(member)
        steps = int(member.engine.world.steps)
        member.world.clock = {"steps": steps, "steps_before": 0, "time_before": 0.0}
        return member.world

    def take(self, store: Store, k: int, snapshot: WorldSnapshot, start: dict[str, Any]) -> None:
        """Put a snapshot into number k of a store.

        Args:
            start: the model's state, whose external forces go on.
        """
        worker, member = self._first()
        member.world.restore(snapshot)
        member.engine.world.steps = snapshot.num_steps
        worker.place(member)
        store.keep(worker.images, worker.addresses[:1], np.array([k]))
        put_state(member.world, start)
        worker.place(member)

    def _first(self) -> tuple[Worker, Member]:
        return self._workers[0], self._workers[0].members[0]
