"""Who computes batches of samples: this thread, several, or several processes."""

from __future__ import annotations

import multiprocessing
import pickle
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

import numpy as np

from kido.analysis.factors import Array, numbers_of
from kido.errors import KidoWarning, ModelError, StateError

Run = Callable[..., Any]
_MOST_LOSSES = 3


class Task(NamedTuple):
    """What is run: the function, its model, names of factors, and whether it takes many samples at once."""

    run: Run
    model: Any
    names: tuple[str, ...]
    batched: bool


class Found(NamedTuple):
    """Of a batch: its first sample, names and values of outputs, errors by sample, seconds that it took."""

    first: int
    outputs: tuple[str, ...]
    values: Array
    errors: dict[int, str]
    seconds: float


def compute(task: Task, first: int, rows: Array) -> Found:
    """A batch. Errors of a sample are kept, its numbers NaN; those of KIDO's own checks of results are raised."""
    from time import perf_counter

    began = perf_counter()
    given = () if task.model is None else (task.model,)
    if task.batched:
        columns = {name: np.ascontiguousarray(rows[:, k]) for k, name in enumerate(task.names)}
        try:
            result = task.run(*given, columns)
        except Exception as error:
            if len(rows) > 1:  # whose fault it is shows one by one
                parts = [compute(task, first + k, rows[k : k + 1]) for k in range(len(rows))]
                return _joined(parts, first, perf_counter() - began)
            return Found(first, (), np.zeros((1, 0)), {first: _text(error)}, perf_counter() - began)
        return Found(first, *numbers_of(result, len(rows)), {}, perf_counter() - began)
    parts = []
    for k, row in enumerate(rows):
        try:
            result = task.run(*given, dict(zip(task.names, row.tolist())))
        except Exception as error:
            parts.append(Found(first + k, (), np.zeros((1, 0)), {first + k: _text(error)}, 0.0))
            continue
        parts.append(Found(first + k, *numbers_of(result, None), {}, 0.0))
    return _joined(parts, first, perf_counter() - began)


def _joined(parts: list[Found], first: int, seconds: float) -> Found:
    outputs = next((part.outputs for part in parts if part.outputs), ())
    values = np.full((len(parts), len(outputs)), np.nan)
    errors: dict[int, str] = {}
    for k, part in enumerate(parts):
        if part.outputs and part.outputs != outputs:
            raise ModelError(f"run: sample {part.first} gives {part.outputs}, others {outputs}")
        if part.outputs:
            values[k] = part.values[0]
        errors |= part.errors
    return Found(first, outputs, values, errors, seconds)


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


class Workers(ABC):
    """Computes batches, several at a time. To be used in a `with` statement."""

    def __init__(self, task: Task, number: int) -> None:
        self.task, self.number = task, number

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def start(self, first: int, rows: Array) -> None:
        """Begin a batch."""

    @abstractmethod
    def finished(self) -> list[Found]:
        """Wait for batches; at least one, if any has begun."""

    @property
    @abstractmethod
    def busy(self) -> int:
        """How many batches have begun and not been handed out."""

    def close(self) -> None:
        """End what was started."""
        return


class LocalWorkers(Workers):
    """This thread (one worker), threads, or processes of this machine.

    Raises:
        ModelError: a function or model that processes cannot be sent.
    """

    def __init__(self, task: Task, number: int, processes: bool) -> None:
        super().__init__(task, number)
        self.processes = processes
        if processes:
            sendable(task, pickle.dumps, "processes")
        self._pool = self._made()
        self._running: dict[Future[Found], tuple[int, Array]] = {}
        self._losses = 0

    def _made(self) -> Executor:
        if not self.processes:
            return ThreadPoolExecutor(self.number)
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.number, context, initializer=_keep, initargs=(self.task,))

    @property
    def busy(self) -> int:
        return len(self._running)

    def start(self, first: int, rows: Array) -> None:
        submit = self._pool.submit
        future = submit(_of_kept, first, rows) if self.processes else submit(compute, self.task, first, rows)
        self._running[future] = first, rows

    def finished(self) -> list[Found]:
        done, _ = wait(self._running, return_when=FIRST_COMPLETED)
        try:
            found = [future.result() for future in done]
        except BrokenProcessPool:
            return self._again()
        for future in done:
            del self._running[future]
        return found

    def _again(self) -> list[Found]:
        """A process died: which one is not known, all batches that had begun are begun again."""
        lost = sorted(self._running.values(), key=lambda batch: batch[0])
        self._losses += 1
        text = f"a worker process was lost while {len(lost)} batches from sample {lost[0][0]} on were computed"
        if self._losses > _MOST_LOSSES:
            raise StateError(f"study: {text}, for the {self._losses}th time; resume it from its file")
        warnings.warn(f"study: {text}; they are computed again", KidoWarning, stacklevel=2)
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool, self._running = self._made(), {}
        for first, rows in lost:
            self.start(first, rows)
        return []

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


def sendable(task: Task, dumps: Callable[[Any], bytes], where: str) -> None:
    """Refuse what cannot be sent, and say which part of it.

    Raises:
        ModelError: the function, or the model, cannot be.
    """
    for what, thing in (("run", task.run), ("model", task.model)):
        try:
            dumps(thing)
        except Exception as error:
            parts = {**getattr(thing, "__dict__", {}), **_closed_over(thing)}
            bad = next((name for name, part in parts.items() if not _goes(part, dumps)), None)
            name = getattr(thing, "__qualname__", type(thing).__name__)
            because = f"its {bad!r}, {type(parts[bad]).__name__}, cannot be" if bad else str(error)
            raise ModelError(
                f"study: {what} {name!r} cannot be sent to {where}: {because}; define functions at the top of a "
                "module, and make what cannot be sent within them"
            ) from None


def _closed_over(thing: Any) -> dict[str, Any]:
    cells = getattr(thing, "__closure__", None) or ()
    names = thing.__code__.co_freevars if cells else ()
    return {name: cell.cell_contents for name, cell in zip(names, cells)}


def _goes(thing: Any, dumps: Callable[[Any], bytes]) -> bool:
    try:
        dumps(thing)
    except Exception:
        return False
    return True


_kept: list[Task] = []  # of this process


def _keep(task: Task) -> None:
    _kept[:] = [task]


def _of_kept(first: int, rows: Array) -> Found:
    return compute(_kept[0], first, rows)
