"""Being asked to end: SIGTERM as an exception, so that files are closed; and exceptions of signals that get lost."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

AGAIN = 0.01  # [s] after which a signal is sent anew whose exception was lost


class Terminated(BaseException):
    """The process was asked to end (SIGTERM); files are closed on the way out."""


@contextmanager
def heard() -> Iterator[None]:
    """Within it SIGTERM raises `Terminated`, and neither this nor Ctrl-C goes unheard.

    Python drops exceptions of callbacks that run while objects are freed, and a signal may come just then: what was
    dropped is sent once more. Outside of the main thread nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler, hook = signal.signal(signal.SIGTERM, _terminate), sys.unraisablehook

    def dropped(what: Any) -> None:
        number = {Terminated: signal.SIGTERM, KeyboardInterrupt: signal.SIGINT}.get(what.exc_type)
        if number is None:
            hook(what)
        else:
            threading.Timer(AGAIN, os.kill, (os.getpid(), number)).start()

    sys.unraisablehook = dropped
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGTERM, handler)


def _terminate(number: int, frame: Any) -> None:
    raise Terminated
