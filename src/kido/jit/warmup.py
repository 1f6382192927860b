"""`kido warmup`: compile every entry and callback ahead of use, in parallel processes."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from kido.jit import compile as compile_module

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
        done = subprocess.run(
            [sys.executable, "-c", code.format(index=index, of=shares, extra=list(extra))],
            env={**os.environ, "KIDO_QUIET": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"compiling kernels failed:\n{done.stderr}")
        return done.stdout.strip()

    with ThreadPoolExecutor(count) as pool:
        for index, number in enumerate(pool.map(run, range(shares))):
            if report is not None:
                report(f"{index + 1}/{shares} shares, {number} kernels in this one")
    return time.perf_counter() - started
