"""Being asked to end: SIGTERM as an exception, so that files are closed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kido.interrupts import deferred_signals


class Terminated(BaseException):
    """The process was asked to end (SIGTERM); files are closed on the way out."""


@contextmanager
def ended_cleanly() -> Iterator[None]:
    """Within it SIGTERM raises `Terminated`, and neither this nor Ctrl-C goes unheard.

    Outside of the main thread nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGTERM, _terminate)
    try:
        with deferred_signals(SIGTERM=Terminated):
            yield
    finally:
        signal.signal(signal.SIGTERM, handler)


def _terminate(number: int, frame: Any) -> None:
    raise Terminated
