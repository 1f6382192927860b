"""Compiling ahead of use, in parallel processes: `prepare` what is needed next, `warmup` everything."""

from __future__ import annotations

import importlib
import os
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

from kido.jit import image
from kido.jit.functions import ROOTS, Root
from kido.jit.progress import compiling, progress
from kido.jit.struct import JIT_DISABLED


def roots_by_module() -> dict[str, list[Root]]:
    """What the installed package declares, by module, each machine code once; imports all of it."""
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        if path.name not in ("__main__.py", "__init__.py"):
            with suppress(ImportError):  # what needs an extra that is not there
                importlib.import_module(".".join(parts))
    found: dict[str, dict[str, Root]] = {}
    for made in ROOTS:
        if made.function.__module__.startswith(f"{root.name}."):
            found.setdefault(made.function.__module__, {}).setdefault(made.symbol, made)
    return {module: list(roots.values()) for module, roots in found.items()}


def serve() -> None:
    """Compile what the lines of standard input name: `module`, or `module callback`. Runs in a process of its own."""
    by_module: dict[str, list[Root]] = {}
    for line in sys.stdin:
        module, _, name = line.strip().partition(" ")
        if name:
            roots = [getattr(importlib.import_module(module), name)]
        else:
            by_module = by_module or roots_by_module()
            roots = [root for root in by_module[module] if not root.is_ready()]
        for root in roots:
            _ = root.address
        print(len(roots), flush=True)


def _work_of(job: str) -> int:
    """How long a job takes, in no unit: the length of the sources that it is made from."""
    from kido.jit.cache import sources

    return sum(map(len, sources(job.split(" ")[0]).values()))


def compile_elsewhere(
    jobs: Iterable[str], processes: int, report: Callable[[str, int, float], None], server: str = "", **environment: str
) -> None:
    """Compile in several processes; each asks for another job when it is done with one, the long ones first.

    Args:
        jobs: lines for `serve`.
        processes: how many processes.
        report: called with the job that is done, how many functions it compiled, and the part of the work done.
        server: what each process runs; by default `serve`.
        **environment: variables for it.

    Raises:
        RuntimeError: a job failed; with what the process wrote.
    """
    work = {job: _work_of(job) for job in jobs}
    waiting = sorted(work, key=lambda job: -work[job])
    done = 0
    lock = Lock()

    def run() -> None:
        nonlocal done
        with TemporaryFile("w+") as errors, _worker(errors, server, environment) as worker:
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


def _worker(errors: IO[str], server: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", server or "from kido.jit.warmup import serve; serve()"],
        env={**os.environ, "KIDO_QUIET": "1", "KIDO_PRECOMPILED": "0", **environment},
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
        compile_elsewhere(missing, min(cores, len(missing)), report)


def warmup(processes: int | None = None, report: Callable[[str], None] | None = None) -> float:
    """Compile all kernels of the installed version into the cache, for the processor at hand.

    From then on they are taken from there, also where a wheel has brought a library of them.

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
    modules = [m for m, roots in roots_by_module().items() if not all(root.is_cached() for root in roots)]
    count = 0

    def tell(module: str, functions: int, part: float) -> None:
        nonlocal count
        count += 1
        if report is not None:
            left = (time.perf_counter() - started) * (1.0 - part) / part
            report(f"{count}/{len(modules)} modules: {module} ({functions}), about {left:.0f} s left")

    if modules:
        compile_elsewhere(modules, max(1, processes or os.cpu_count() or 1), tell)
    if image.FOLDER.is_dir():
        image.native_mark().parent.mkdir(parents=True, exist_ok=True)
        image.native_mark().touch()
    return time.perf_counter() - started
