"""Signals whose exceptions get lost are sent once more: Ctrl-C always ends what it was meant to end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

AGAIN = 0.01  # [s] after which a signal is sent anew whose exception was lost


@contextmanager
def deferred_signals(**signals: type[BaseException]) -> Iterator[None]:
    """Within it Ctrl-C does not go unheard.

    Python drops exceptions of callbacks that run while objects are freed, and a signal may come just then: what was
    dropped is sent once more. Outside of the main thread nothing is changed.

    Args:
        **signals: exceptions by the names of the other signals that raise them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers: dict[type[BaseException], int] = {KeyboardInterrupt: signal.SIGINT}
    numbers |= {raised: signal.Signals[name] for name, raised in signals.items()}
    hook = sys.unraisablehook

    def dropped(what: Any) -> None:
        number = numbers.get(what.exc_type)
        if number is None:
            hook(what)
            return
        delay = AGAIN
        while True:
            try:
                threading.Timer(delay, os.kill, (os.getpid(), number)).start()
                return
            except tuple(numbers):  # it came before this had returned, on a busy machine: lost here as well
                delay = 2.0 * delay + 0.01

    sys.unraisablehook = dropped
    try:
        yield
    finally:
        sys.unraisablehook = hook
