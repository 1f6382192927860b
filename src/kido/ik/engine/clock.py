"""The time, asked for in compiled code: a search stops at its deadline without coming back to Python."""

from __future__ import annotations

import ctypes
import sys

from kido.ik.engine.search import SEARCH
from kido.jit import JIT_DISABLED, call4, callback, kernel


@kernel
def now(w):
    """Seconds since some moment."""
    call4(w.clock, w.first, w.second, 0, 0)
    return w.tick[0] * w.tick_scale + w.tick[1] * 1e-9


def link_clock(w: SEARCH) -> None:
    """Enter the operating system's clock into the table of a search."""
    ticks = int(w.tick.ctypes.data)
    if JIT_DISABLED:  # callbacks are Python functions here

        def read(a: int, b: int, c: int, d: int) -> int:
            from time import perf_counter_ns

            w.tick[0], w.tick[1] = divmod(perf_counter_ns(), 1_000_000_000)
            return 0

        w.clock, w.first, w.second, w.tick_scale = callback(read).address, 0, 0, 1.0
    elif sys.platform == "win32":
        kernel32 = getattr(ctypes, "windll").kernel32  # noqa: B009  (of Windows alone)
        frequency = ctypes.c_int64()
        kernel32.QueryPerformanceFrequency(ctypes.byref(frequency))
        address = ctypes.cast(kernel32.QueryPerformanceCounter, ctypes.c_void_p).value or 0
        w.clock, w.first, w.second, w.tick_scale = address, ticks, 0, 1.0 / frequency.value
    else:
        monotonic = 6 if sys.platform == "darwin" else 1
        address = ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value or 0
        w.clock, w.first, w.second, w.tick_scale = address, monotonic, ticks, 1.0
