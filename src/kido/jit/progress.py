"""Tells a person on a cold machine why nothing moves: one line on stderr while kernels compile."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager


class _Progress:
    def __init__(self) -> None:
        self.count = 0
        self.depth = 0
        self.seconds = 0.0
        self.quiet = os.environ.get("KIDO_QUIET", "") not in ("", "0")
        self._started = 0.0

    def start(self, name: str) -> None:
        self.depth += 1
        if self.depth > 1:
            return
        self._started = time.perf_counter()
        self.count += 1
        if self.quiet:
            return
        if sys.stderr.isatty():
            text = f"kido: compiling kernel {self.count}: {name} (once per machine)"
            print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)
        elif self.count == 1:
            print("kido: compiling kernels (once per machine) ...", file=sys.stderr, flush=True)

    def stop(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self._started
            if not self.quiet and sys.stderr.isatty():
                print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


progress = _Progress()


@contextmanager
def compiling(name: str):
    """Count and show one compilation; nested compilations belong to the outermost."""
    progress.start(name)
    try:
        yield
    finally:
        progress.stop()
