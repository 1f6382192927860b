"""`Study`: a function of parameters to numbers, for many parameters, on all cores or many machines."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kido.analysis.factors import Array, Factors
from kido.analysis.identity import code_digest, digest, object_digest, values_digest
from kido.analysis.journal import Journal
from kido.analysis.results import StudyResult, writable
from kido.analysis.sensitivity import Sensitivity, sobol_design, sobol_indices
from kido.analysis.workers import Found, LocalWorkers, Run, Task, Workers
from kido.attributes import FixedAttributes
from kido.errors import ModelError
from kido.jit.team import available_cores
from kido.math.transform import as_flag, as_positive, numbers_or_nan

SECONDS = 1.0  # that a batch is to take: long beside sending it, short beside losing it
MODES = ("threads", "processes", "ray")
_IN_ADVANCE = 2  # batches that wait for each worker
_GROWTH = 8  # times that a batch is larger than those before at most


class Study(FixedAttributes):
    """What `run` gives for many values of its factors.

    Args:
        factors: by name, (lower, upper), a list of numbers, or a distribution of `scipy.stats`; see `Factors`.
        run: takes numbers by name and gives a number, several, or numbers by name: `run({"mass": 1.2})` ->
            `{"speed": 3.4}`. An exception of a sample is kept with it, and the others go on.
        model: what `run` takes first, if it is given: sent once to each worker, not with each sample. Threads share it.
        batched: `run` takes arrays (samples,) by name, and gives such: for samples in lanes, as `kido.batch` has them.
        seed: of random samples.

    Example:
        >>> study = Study({"mass": (0.5, 2.0), "friction": (0.2, 0.9)}, run)
        >>> result = study.monte_carlo(100_000, file="slides.h5", workers=2)
        >>> result.frame().describe()

    Raises:
        ModelError: factors that are none, or no function.
    """

    def __init__(
        self, factors: Mapping[str, Any], run: Run, *, model: Any = None, batched: bool = False, seed: int = 0
    ):
        self.factors = Factors(factors)
        if not callable(run):
            raise ModelError(f"study: run: expected a function of parameters, got {run!r:.80}")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ModelError(f"study: seed: expected a whole number not below 0, got {seed!r}")
        self.run, self.model, self.batched, self.seed = run, model, as_flag(batched, "batched"), int(seed)
        self._values = {  # as they are before runs change them
            "code of run": code_digest(run),
            "values of run": values_digest(run),
            "model": object_digest(model),
        }

    def __repr__(self) -> str:
        return f"Study({', '.join(self.factors.names)} -> {getattr(self.run, '__name__', 'run')})"

    def monte_carlo(self, samples: int, sampler: str = "random", **options: Any) -> StudyResult:
        """Random samples of all factors.

        Args:
            samples: how many.
            sampler: "random", "latin" (a Latin hypercube) or "sobol" (a scrambled low-discrepancy sequence).
            **options: see `evaluate`.
        """
        rows = self.factors.sampled(_count("samples", samples), sampler, self.seed)
        return self.evaluate(rows, **options)

    def sweep(self, points: int | Mapping[str, int] = 5, **options: Any) -> StudyResult:
        """All combinations: choices as they are, and `points` of each range, or of each by name.

        Args:
            points: along each range, its ends among them.
            **options: see `evaluate`.
        """
        return self.evaluate(self.factors.grid(points), **options)

    def sensitivity(self, samples: int = 1024, **options: Any) -> Sensitivity:
        """Sobol's indices: which share of each output's variance comes of which factor (extra `study`: SALib, MIT).

        Args:
            samples: a power of 2; there are samples (factors + 2) runs.
            **options: see `evaluate`.

        Raises:
            ModelError: samples that failed, as indices need all of them.
        """
        shares = sobol_design(self.factors.names, _count("samples", samples), self.seed)
        result = self.evaluate(self.factors.of_shares(shares), **options)
        return sobol_indices(result, self.seed)

    def evaluate(
        self,
        parameters: Any,
        *,
        file: str | Path | None = None,
        workers: int | None = None,
        mode: str = "threads",
        address: str | None = None,
        progress: bool | Callable[[int, int], Any] = False,
        batch_seconds: float = SECONDS,
    ) -> StudyResult:
        """Run given samples.

        Args:
            parameters: (samples, factors).
            file: HDF5 file for the result. What is found is kept in a journal beside it meanwhile, so that the same
                call goes on where a killed one ended; a file that is whole is read. It is of the same study if
                factors, samples, `batched`, the code of `run`, what that encloses or is bound to, and the model are, as
                they were when the study was made; functions that `run` calls and globals are not looked into, nor what
                cannot be taken apart, such as locks.
            workers: how many compute; available cores by default.
            mode: "threads" (compiled code runs side by side), "processes" (of this machine), or "ray".
            address: of a Ray cluster to join; without one, mode "ray" starts a local one and stops it.
            progress: True for a bar, or a function of the numbers of samples done and of all.
            batch_seconds: that a batch of samples is to take [s].

        Raises:
            ModelError: samples of another shape; a function that cannot be sent; a file of another study.
            StateError: workers that are lost again and again.
            MissingExtraError: Ray or h5py is not installed.
        """
        rows = numbers_or_nan(parameters)
        if rows.ndim != 2 or rows.shape[1] != len(self.factors) or not np.isfinite(rows).all():
            given = f"{parameters!r:.80}" if rows.shape == (1,) else str(rows.shape)
            raise ModelError(f"parameters: expected finite numbers (samples, {len(self.factors)}), got {given}")
        if mode not in MODES:
            raise ModelError(f"mode: expected one of {', '.join(MODES)}, got {mode!r}")
        number = available_cores() if workers is None else _count("workers", workers)
        as_positive(batch_seconds, "batch_seconds", "s")
        path = None if file is None else writable("file", file)
        identity = self._identity(rows)
        if path is not None and path.exists():
            return StudyResult.load(path, identity)
        journal = None if path is None else Journal(path.with_name(path.name + ".journal"), identity)
        collected = _Collected(rows)
        try:
            for record in journal or ():
                errors = {int(k): text for k, text in record["errors"].items()}
                values = np.array(record["values"], dtype=float)
                values = values.reshape(len(record["values"]), len(record["outputs"]))
                collected.add(Found(record["first"], tuple(record["outputs"]), values, errors, record["seconds"]))
            report = _reporter(progress, len(rows))
            report(collected.number, len(rows))
            if collected.number < len(rows):
                with self._workers(mode, number, address) as pool:
                    self._go(pool, rows, collected, journal, report, batch_seconds)
        finally:
            if journal is not None:
                journal.close()
        result = StudyResult(self.factors.names, rows, collected.outputs, collected.values, collected.errors, identity)
        if path is not None and journal is not None:
            result.save(path)
            journal.path.unlink()
        return result

    def _identity(self, rows: Array) -> dict[str, Any]:
        """What tells this study from others in a file, as JSON has it; what cannot be told is None."""
        return {
            "factors": self.factors.described(),
            "run": getattr(self.run, "__qualname__", type(self.run).__name__),
            **self._values,
            "batched": self.batched,
            "samples": len(rows),
            "parameters": digest(np.ascontiguousarray(rows).tobytes()),
        }

    def _workers(self, mode: str, number: int, address: str | None) -> Workers:
        task = Task(self.run, self.model, self.factors.names, self.batched)
        if mode == "ray":
            from kido.analysis.ray_workers import RayWorkers

            return RayWorkers(task, number, address)
        return LocalWorkers(task, number, mode == "processes")

    def _go(
        self,
        pool: Workers,
        rows: Array,
        collected: _Collected,
        journal: Journal | None,
        report: Callable[[int, int], Any],
        batch_seconds: float,
    ) -> None:
        sizes, open_samples = _Sizes(batch_seconds, self.batched), collected.gaps()
        while open_samples or pool.busy:
            while open_samples and pool.busy < _IN_ADVANCE * pool.number:
                first, end = open_samples.pop()
                last = min(first + sizes.next, end)
                if last < end:
                    open_samples.append((last, end))
                pool.start(first, rows[first:last])
            for found in pool.finished():
                collected.add(found)
                if journal is not None:
                    journal.add(found._asdict() | {"values": found.values.tolist()})
                report(collected.number, len(rows))
                sizes.learn(len(found.values), found.seconds)


class _Sizes:
    """How many samples a batch has: as many as take the seconds that it is to take.

    What a function does once for all samples of a batch can take longer than that; so batches of a function of many
    samples become larger as long as that makes a sample shorter.
    """

    def __init__(self, seconds: float, batched: bool) -> None:
        self.next, self._seconds, self._batched = 1, seconds, batched
        self._each: dict[int, float] = {}  # least seconds of a sample by size of batches

    def learn(self, size: int, seconds: float) -> None:
        each = max(seconds / size, 1e-9)
        most, self.next = _GROWTH * self.next, max(1, int(min(self._seconds / each, 1e9)))
        if self._batched:
            known = self._each
            known[size] = min(each, known.get(size, math.inf))
            smaller = min((known[n] for n in known if n < size), default=math.inf)
            enough = min(n for n in known if known[n] <= 1.25 * min(known.values()))
            self.next = max(self.next, enough, 2 * size if known[size] < 0.8 * smaller else 1)
        self.next = min(self.next, most)


class _Collected:
    """Values as they come in."""

    def __init__(self, rows: Array) -> None:
        self.done = np.zeros(len(rows), dtype=bool)
        self.outputs: tuple[str, ...] = ()
        self.values: Array = np.zeros((len(rows), 0))
        self.errors: dict[int, str] = {}

    @property
    def number(self) -> int:
        return int(self.done.sum())

    def add(self, found: Found) -> None:
        part = slice(found.first, found.first + len(found.values))
        if found.outputs:
            if not self.outputs:
                self.outputs, self.values = found.outputs, np.full((len(self.done), len(found.outputs)), np.nan)
            if found.outputs != self.outputs:
                raise ModelError(f"run: from sample {found.first} on it gives {found.outputs}, before {self.outputs}")
            self.values[part] = found.values
        self.errors |= found.errors
        self.done[part] = True

    def gaps(self) -> list[tuple[int, int]]:
        """Ranges that are open, the first one last."""
        edges = np.flatnonzero(np.diff(np.concatenate([[True], self.done, [True]]).astype(int)))
        return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)][::-1]


def _count(what: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ModelError(f"{what}: expected a whole number above 0, got {value!r}")
    return int(value)


def _reporter(progress: bool | Callable[[int, int], Any], total: int) -> Callable[[int, int], Any]:
    if callable(progress):
        return progress
    if not progress:
        return lambda done, total: None
    from tqdm import tqdm

    bar = tqdm(total=total, file=sys.stderr, unit="sample", mininterval=0.5)
    began = time.monotonic()

    def show(done: int, total: int) -> None:
        bar.update(done - bar.n)
        if done >= total:
            bar.set_postfix(seconds=f"{time.monotonic() - began:.1f}")
            bar.close()

    return show
