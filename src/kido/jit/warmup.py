"""Compiling ahead of use, in parallel processes: `prepare` what is needed next, `warmup` everything."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from kido.jit import compile as compile_module
from kido.jit.progress import compiling

_DECLARES = re.compile(r"^@(?:entry|direct_entry|callback)\b", re.MULTILINE)


def _declaring_modules() -> list[str]:
    """Modules of the installed package with compiled entries or callbacks, found by reading their sources."""
    root = Path(__file__).parents[1]
    found = []
    for path in sorted(root.rglob("*.py")):
        if _DECLARES.search(path.read_text(encoding="utf-8")):
            found.append(".".join((root.name, *path.relative_to(root).with_suffix("").parts)))
    return found


def _missing() -> dict[str, list[Callable[[], object]]]:
    """What the cache does not hold, by the module that declares it."""
    for name in _declaring_modules():
        importlib.import_module(name)
    found: dict[str, list[Callable[[], object]]] = {}
    for dispatcher, build in compile_module.ENTRIES:
        if not dispatcher._cache.holds_anything():
            found.setdefault(dispatcher.py_func.__module__, []).append(build)
    for item in compile_module.CALLBACKS:
        if not item.is_ready():
            found.setdefault(item.function.__module__, []).append(partial(getattr, item, "address"))
    return found


def compile_missing(module: str) -> int:
    """Compile what is missing of one module; returns how many. Runs in a process of its own."""
    missing = _missing().get(module, [])
    for build in missing:
        build()
    return len(missing)


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


def warmup(processes: int | None = None, report: Callable[[str], None] | None = None) -> float:
    """Compile all kernels of the installed version into the cache.

    Args:
        processes: how many processes compile at once; the number of cores by default.
        report: called with a line of progress whenever a module is done.

    Returns:
        Seconds it took.
    """
    if compile_module.JIT_DISABLED:
        return 0.0
    started = time.perf_counter()
    modules = sorted(_missing())

    def run(module: str) -> str:
        code = f"from kido.jit.warmup import compile_missing as c; print(c({module!r}))"
        return f"{module} ({_run_python(code, 'compiling kernels')})"

    with ThreadPoolExecutor(max(1, processes or os.cpu_count() or 1)) as pool:
        for number, done in enumerate(as_completed(pool.submit(run, m) for m in modules), start=1):
            if report is not None:
                report(f"{number}/{len(modules)} modules: {done.result()}")
    return time.perf_counter() - started
