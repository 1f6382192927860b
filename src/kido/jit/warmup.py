"""Compiling ahead of use, in parallel processes: `prepare` what is needed next, `warmup` everything."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any

from kido.jit.functions import ROOTS, Root
from kido.jit.progress import compiling, progress
from kido.jit.struct import JIT_DISABLED

_DECLARES = re.compile(r"^@(?:entry|direct_entry|callback)\b", re.MULTILINE)


def _declaring_modules() -> list[str]:
    """Modules of the installed package with compiled entries or callbacks, found by reading their sources."""
    root = Path(__file__).parents[1]
    found = []
    for path in sorted(root.rglob("*.py")):
        if _DECLARES.search(path.read_text(encoding="utf-8")):
            found.append(".".join((root.name, *path.relative_to(root).with_suffix("").parts)))
    return found


def missing(module: str) -> list[Root]:
    """Roots of one module that are not at hand."""
    importlib.import_module(module)
    return [root for root in ROOTS if root.function.__module__ == module and not root.is_ready()]


def serve() -> None:
    """Compile what the lines of standard input name: `module`, or `module callback`. Runs in a process of its own."""
    for line in sys.stdin:
        module, _, name = line.strip().partition(" ")
        roots = [getattr(importlib.import_module(module), name)] if name else missing(module)
        for root in roots:
            _ = root.address
        print(len(roots), flush=True)


def _work_of(job: str) -> int:
    """How long a job takes, in no unit: the length of the sources that it is made from."""
    from kido.jit.cache import sources

    return sum(map(len, sources(job.split(" ")[0]).values()))


def _compile_elsewhere(jobs: Iterable[str], processes: int, report: Callable[[str, int, float], None]) -> None:
    """Compile in several processes; each asks for another job when it is done with one, the long ones first.

    Args:
        jobs: lines for `serve`.
        processes: how many processes.
        report: called with the job that is done, how many functions it compiled, and the part of the work done.

    Raises:
        RuntimeError: a job failed; with what the process wrote.
    """
    work = {job: _work_of(job) for job in jobs}
    waiting = sorted(work, key=lambda job: -work[job])
    done = 0
    lock = Lock()

    def run() -> None:
        nonlocal done
        with TemporaryFile("w+") as errors, _worker(errors) as worker:
            assert worker.stdin is not None and worker.stdout is not None
            try:
                while True:
                    with lock:
                        if not waiting:
                            break
                        job = waiting.pop(0)
                    worker.stdin.write(f"{job}\n")
                    worker.stdin.flush()
                    answer = worker.stdout.readline().strip()
                    if not answer:
                        worker.wait()
                        errors.seek(0)
                        raise RuntimeError(f"compiling {job} failed:\n{errors.read()}")
                    with lock:
                        done += work[job]
                        report(job, int(answer), done / sum(work.values()))
                worker.stdin.close()
                worker.wait()
            except BaseException:
                waiting.clear()
                worker.kill()
                raise

    with ThreadPoolExecutor(processes) as pool:
        for future in [pool.submit(run) for _ in range(min(processes, len(work)))]:
            future.result()


def _worker(errors: IO[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", "from kido.jit.warmup import serve; serve()"],
        env={**os.environ, "KIDO_QUIET": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )


def prepare(callbacks: Iterable[Any]) -> None:
    """Compile callbacks that this machine's cache does not hold, in parallel processes.

    Where no process can be started, or on a single core, nothing is done and each is compiled on its first use.
    """
    missing = {f"{c.function.__module__} {c.function.__name__}" for c in callbacks if not c.is_ready()}
    cores = os.cpu_count() or 1
    if cores < 2 or len(missing) < 2:
        return
    count = 0

    def report(job: str, _: int, part: float) -> None:
        nonlocal count
        count += 1
        progress.show(job.split(" ")[-1], count, len(missing), part)

    with compiling("several in parallel"), suppress(RuntimeError, OSError):  # what fails is compiled here, and says why
        _compile_elsewhere(missing, min(cores, len(missing)), report)


def warmup(processes: int | None = None, report: Callable[[str], None] | None = None) -> float:
    """Compile all kernels of the installed version into the cache.

    Args:
        processes: how many processes compile at once; the number of cores by default.
        report: called with a line of progress whenever a module is done.

    Returns:
        Seconds it took.

    Raises:
        RuntimeError: a module could not be compiled.
    """
    if JIT_DISABLED:
        return 0.0
    started = time.perf_counter()
    modules = [module for module in _declaring_modules() if missing(module)]
    count = 0

    def tell(module: str, functions: int, part: float) -> None:
        nonlocal count
        count += 1
        if report is not None:
            left = (time.perf_counter() - started) * (1.0 - part) / part
            report(f"{count}/{len(modules)} modules: {module} ({functions}), about {left:.0f} s left")

    if modules:
        _compile_elsewhere(modules, max(1, processes or os.cpu_count() or 1), tell)
    return time.perf_counter() - started
