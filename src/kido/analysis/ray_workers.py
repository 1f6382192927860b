"""Batches on many machines, by Ray (Apache 2.0, extra `ray`)."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from typing import Any

from kido.analysis.factors import Array
from kido.analysis.workers import Found, Task, Workers, compute, sendable
from kido.errors import KidoWarning, StateError
from kido.libraries import library

_MOST_LOSSES = 3  # of one batch: then it is likely its fault


_LOCAL = "127.0.0.1"
# Of a local cluster, read when Ray is imported: it listens at the loopback alone, says nothing to anybody, and its
# workers are as nice as this process is.
_ENVIRONMENT = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
}


class _Worker:
    """What lives on a machine of the cluster; Ray makes an actor of it."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def where(self) -> str:
        import socket

        return f"process {os.getpid()} on {socket.gethostname()}"

    def compute(self, first: int, rows: Array) -> Found:
        return compute(self.task, first, rows)


class RayWorkers(Workers):
    """Workers of a Ray cluster: one that is joined, or a local one, bound to 127.0.0.1, for as long as it is used.

    The function and its model are put once, and read by workers of a machine from its shared memory. A worker that is
    lost is named, and its batch goes to another; a new one takes its place.

    Args:
        task: what is run.
        number: of workers.
        address: of a cluster, such as "auto", "10.0.0.1:6379" or "ray://10.0.0.1:10001"; None: a local one.

    Raises:
        MissingExtraError: Ray is not installed.
        ModelError: a function or model that cannot be sent.
        StateError: there is no cluster at the address.
    """

    def __init__(self, task: Task, number: int, address: str | None = None) -> None:
        super().__init__(task, number)
        for name, value in _ENVIRONMENT.items() if address is None else ():
            os.environ.setdefault(name, value)
        ray = self._ray = library("ray", "studies on many machines", "ray")
        _by_value(task, ray.cloudpickle)
        sendable(task, ray.cloudpickle.dumps, "Ray's workers")
        self._started = not ray.is_initialized()
        if self._started:
            common: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
            try:
                if address is None:
                    ray.init(num_cpus=number, include_dashboard=False, _node_ip_address=_LOCAL, **common)
                else:
                    ray.init(address=address, **common)
            except Exception as error:  # Ray raises plain ones, such as where a busy machine takes too long to start it
                raise StateError(f"study: no Ray cluster at {address or 'this machine'}: {error}") from None
            found = [node["NodeManagerAddress"] for node in ray.nodes()]
            if address is None and found != [_LOCAL]:
                ray.shutdown()
                raise StateError(
                    f"study: a local Ray cluster would listen at {', '.join(found)}, not at {_LOCAL} alone, as Ray was "
                    f"imported before; set {', '.join(f'{k}={v}' for k, v in _ENVIRONMENT.items())} in the environment"
                )
        self._task = ray.put(task)
        self._class = ray.remote(_Worker)
        self._names: dict[Any, str] = {}
        self._idle = [self._made() for _ in range(number)]
        self._running: dict[Any, tuple[Any, int, Array]] = {}
        self._waiting: list[tuple[int, Array]] = []
        self._losses: dict[int, int] = {}

    def _made(self) -> Any:
        worker = self._class.options(num_cpus=1).remote(self._task)
        self._names[worker] = ""
        return worker

    @property
    def busy(self) -> int:
        return len(self._running) + len(self._waiting)

    def start(self, first: int, rows: Array) -> None:
        self._waiting.append((first, rows))
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiting and self._idle:
            worker, (first, rows) = self._idle.pop(), self._waiting.pop(0)
            if not self._names[worker]:
                try:
                    self._names[worker] = self._ray.get(worker.where.remote())
                except self._ray.exceptions.RayActorError as error:
                    self._lost(worker, first, rows, error)
                    continue
            self._running[worker.compute.remote(first, rows)] = worker, first, rows

    def finished(self) -> list[Found]:
        ray, found = self._ray, []
        done, _ = ray.wait(list(self._running), num_returns=1)
        for reference in done:
            worker, first, rows = self._running.pop(reference)
            try:
                found.append(ray.get(reference))
                self._idle.append(worker)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayActorError as error:
                self._lost(worker, first, rows, error)
        self._hand_out()
        return found

    def _lost(self, worker: Any, first: int, rows: Array, error: BaseException) -> None:
        name = self._names.pop(worker) or "one that never answered"
        self._losses[first] = self._losses.get(first, 0) + 1
        text = f"worker {name} was lost while {len(rows)} samples from {first} on were computed"
        if self._losses[first] > _MOST_LOSSES:
            raise StateError(
                f"study: {text}, the {self._losses[first]}th for this batch: {error}; resume it from its file"
            )
        warnings.warn(f"study: {text}; they are computed again by another", KidoWarning, stacklevel=2)
        self._idle.append(self._made())
        self._waiting.insert(0, (first, rows))

    @property
    def places(self) -> list[str]:
        """Processes and machines of workers that have answered."""
        return [name for name in self._names.values() if name]

    def close(self) -> None:
        for worker in self._names:
            self._ray.kill(worker)
        if self._started:
            self._ray.shutdown()


def _by_value(task: Task, cloudpickle: Any) -> None:
    """Functions of a module that is no installed package go with its code: other machines do not have the file."""
    module = sys.modules.get(getattr(task.run, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if module is not None and file and module.__name__ != "__main__" and "." not in module.__name__:
        if "site-packages" not in file:
            cloudpickle.register_pickle_by_value(module)
