"""Interleaved timing and Markdown tables."""

from __future__ import annotations

import gc
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter


def interleaved(
    calls: Mapping[str, Callable[[], object]], repeats: int, seconds: float = float("inf")
) -> dict[str, float]:
    """Best time [s] of each call over `repeats` rounds; in every round each is run once, one after the other.

    A slow moment of the machine so hits all alike, and the minimum leaves it out. After `seconds` no further round
    begins, but five are run at least.
    """
    return {name: min(times) for name, times in rounds(calls, repeats, seconds).items()}


def rounds(
    calls: Mapping[str, Callable[[], object]],
    repeats: int,
    seconds: float = float("inf"),
    before: Mapping[str, Callable[[], object]] | None = None,
) -> dict[str, list[float]]:
    """Times [s] of each call in all rounds of `interleaved`; `before` each, without being timed, another."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    first = before or {}
    for name, call in calls.items():  # compile, fill caches
        first.get(name, call)()
        call()
    collecting = gc.isenabled()
    gc.disable()
    try:
        end = perf_counter() + seconds
        for round in range(repeats):
            if round >= 5 and perf_counter() > end:
                break
            for name, call in calls.items():
                if name in first:
                    first[name]()
                start = perf_counter()
                call()
                times[name].append(perf_counter() - start)
    finally:
        if collecting:
            gc.enable()
    return times


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, columns padded so that it also reads as plain text."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(line, widths)) + " |" for line in lines)


def ratio(time: float | None, reference: float | None) -> str:
    """`time` as a multiple of `reference`."""
    return "-" if time is None or not reference else f"{time / reference:.2f}"


def machine() -> str:
    """One line that says what the numbers were measured with."""
    packages = []
    for name in ("kido", "numba", "pin", "dartpy", "mujoco"):
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    python = ".".join(map(str, sys.version_info[:3]))
    return f"{_processor()}, {os.cpu_count()} cores; Python {python}, {', '.join(packages)}"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
