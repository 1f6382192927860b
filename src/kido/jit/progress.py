"""Tells a person on a cold machine why nothing moves: what compiles, how many of how many, and how long it may take."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

LINE_SECONDS = 10.0  # between lines where there is no terminal to write over


class _Progress:
    def __init__(self) -> None:
        self.count = 0
        self.depth = 0
        self.seconds = 0.0
        self.quiet = os.environ.get("KIDO_QUIET", "") not in ("", "0")
        self._started = 0.0
        self._last_line = 0.0

    def start(self, name: str) -> None:
        self.depth += 1
        if self.depth > 1:
            return
        self._started = time.perf_counter()
        self.count += 1
        if sys.stderr.isatty():
            self._write(f"kernel {self.count}: {name} (once per machine)")
        elif self.count == 1:
            self._write("kernels (once per machine) ...")

    def stop(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self._started
            if not self.quiet and sys.stderr.isatty():
                print("\r\x1b[2K", end="", file=sys.stderr, flush=True)

    def show(self, name: str, done: int, total: int, part: float) -> None:
        """One of several compilations is done.

        Args:
            name: what was compiled last.
            done: how many are done.
            total: of how many.
            part: how much of the work that is, by estimate, 0 to 1.
        """
        now = time.perf_counter()
        spent = now - self._started
        left = f", about {spent * (1.0 - part) / part:.0f} s left" if part > 0.0 and done < total else ""
        text = f"kernels: {done} of {total}{left}"
        if sys.stderr.isatty():
            self._write(f"{text} ({name}; once per machine)")
        elif now - max(self._last_line, self._started) > LINE_SECONDS:
            self._last_line = now
            self._write(text)

    def _write(self, text: str) -> None:
        if self.quiet:
            return
        if sys.stderr.isatty():
            print(f"\r\x1b[2Kkido: compiling {text}", end="", file=sys.stderr, flush=True)
        else:
            print(f"kido: compiling {text}", file=sys.stderr, flush=True)


progress = _Progress()


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Count and show one compilation; nested compilations belong to the outermost."""
    progress.start(name)
    try:
        yield
    finally:
        progress.stop()
