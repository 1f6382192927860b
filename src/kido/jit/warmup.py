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
from typing import Any

from kido.jit import compile as compile_module
from kido.jit.progress import compiling

# Modules whose import declares the compiled entries and callbacks.
KERNEL_MODULES = (
    "kido.tree.state",
    "kido.kernels.entries",
    "kido.collision",
    "kido.solvers",
    "kido.constraints",
    "kido.simulation",
)


def _targets() -> list[tuple[str, str, Callable[[], object]]]:
    for name in KERNEL_MODULES:
        importlib.import_module(name)
    found: list[tuple[str, str, Callable[[], object]]] = []
    for dispatcher, signature in compile_module.ENTRIES:
        function = dispatcher.py_func
        found.append((function.__module__, function.__name__, lambda d=dispatcher, s=signature: d.compile(s)))
    for item in compile_module.CALLBACKS:
        function = item.function
        found.append((function.__module__, function.__name__, lambda c=item: c.address))
    return found


def compile_share(index: int, of: int) -> int:
    """Compile every `of`-th target, from `index` on; returns how many. Runs in a process of its own."""
    mine = _targets()[index::of]
    for _, _, build in mine:
        build()
    return len(mine)


def _run_python(code: str, what: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "KIDO_QUIET": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{what} failed:\n{done.stderr}")
    return done.stdout.strip()


def prepare(callbacks: Iterable[Any]) -> None:
    """Compile callbacks that this machine's cache does not hold, in parallel processes.

    Those of one package share what they call, so they are compiled by the same process. Where no process can
    be started, or on a single core, nothing is done and each is compiled on its first use.
    """
    by_package: dict[str, list[Any]] = {}
    for item in callbacks:
        if not item.is_ready():
            by_package.setdefault(item.function.__module__.split(".")[1], []).append(item)
    cores = os.cpu_count() or 1
    if cores < 2 or sum(map(len, by_package.values())) < 2:
        return
    shares: list[list[Any]] = [[] for _ in range(min(cores, max(2, len(by_package))))]
    for items in sorted(by_package.values(), key=len, reverse=True):
        min(shares, key=len).extend(items)

    def compile_elsewhere(items: list[Any]) -> None:
        names = [(c.function.__module__, c.function.__name__) for c in items]
        code = f"import importlib\nfor m, n in {names!r}: getattr(importlib.import_module(m), n).address"
        with suppress(RuntimeError, OSError):  # what fails there is compiled here, and says why
            _run_python(code, "compiling kernels")

    with compiling("several in parallel"), ThreadPoolExecutor(len(shares)) as pool:
        list(pool.map(compile_elsewhere, [s for s in shares if s]))


def warmup(
    processes: int | None = None, report: Callable[[str], None] | None = None, extra: Iterable[str] = ()
) -> float:
    """Compile all kernels of the installed version into the cache.

    Args:
        processes: how many processes compile at once; the number of cores by default.
        report: called with a line of progress whenever a share is done.
        extra: further modules that declare entries or callbacks.

    Returns:
        Seconds it took.
    """
    if compile_module.JIT_DISABLED:
        return 0.0
    started = time.perf_counter()
    count = max(1, processes or os.cpu_count() or 1)
    shares = count * 4  # several shares a process: kernels differ much in size
    code = (
        "import importlib; from kido.jit import warmup as w; from kido.jit.warmup import compile_share; "
        "[importlib.import_module(m) for m in {extra!r}]; print(compile_share({index}, {of}))"
    )

    def run(index: int) -> str:
        return _run_python(code.format(index=index, of=shares, extra=list(extra)), "compiling kernels")

    with ThreadPoolExecutor(count) as pool:
        for index, number in enumerate(pool.map(run, range(shares))):
            if report is not None:
                report(f"{index + 1}/{shares} shares, {number} kernels in this one")
    return time.perf_counter() - started
