"""What commands say: progress on stderr, and which files they wrote."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

BAR = "{desc}{percentage:3.0f}%|{bar}| {n:.2f}/{total:.2f} s [{elapsed}<{remaining}]{postfix}"


def hush(quiet: bool) -> None:
    """Let the compiler of kernels know that nothing is to be printed. Call before it is imported."""
    if quiet:
        os.environ["KIDO_QUIET"] = "1"


def bar(total: float, quiet: bool, **options: Any) -> Any:
    """A tqdm bar on stderr; where that is no terminal, a line now and then instead of many."""
    from tqdm import tqdm

    terminal = sys.stderr.isatty()
    return tqdm(
        total=total,
        file=sys.stderr,
        disable=quiet,
        dynamic_ncols=terminal,
        mininterval=0.1 if terminal else 10.0,
        **options,
    )


class Counter:
    """Adapter from `progress(done, total)` callbacks to a bar."""

    def __init__(self, what: str, quiet: bool) -> None:
        self.what, self.quiet, self.bar = what, quiet, None

    def __call__(self, done: int, total: int) -> None:
        if self.bar is None:
            self.bar = bar(total, self.quiet, desc=self.what, unit="frame")
        self.bar.update(done - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def file_line(what: str, path: str | Path, note: str = "") -> str:
    """A line about a file that was written."""
    size = Path(path).stat().st_size
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    text = f"{size:.3g} {unit}" if unit != "bytes" else f"{size:.0f} bytes"
    return f"{what:<12} {path} ({note + ', ' if note else ''}{text})"
