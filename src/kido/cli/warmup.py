"""`kido warmup`."""

from __future__ import annotations

import sys

from kido.cli.main import UsageError
from kido.cli.options import Warmup


def run(options: Warmup) -> int:
    """Compile all kernels."""
    if options.processes is not None and options.processes < 1:
        raise UsageError(f"--processes {options.processes}: expected a whole number above 0")
    from kido.jit import warmup

    def report(line: str) -> None:
        print(f"kido: compiling kernels: {line}", file=sys.stderr, flush=True)

    seconds = warmup(options.processes, report=None if options.quiet else report)
    if not options.quiet:
        print(f"all kernels are compiled ({seconds:.1f} s)")
    return 0
