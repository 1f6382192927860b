"""Signals whose exceptions get lost are sent once more."""

from __future__ import annotations

import signal
import sys
import time

import pytest

from kido.cli.main import Terminated, ended_cleanly


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)])
def test_a_signal_that_comes_while_an_object_is_freed_is_heard(number, kind):
    class Freed:
        def __del__(self):
            signal.raise_signal(number)  # what it raises is dropped here

    before = signal.getsignal(signal.SIGTERM), sys.unraisablehook
    with pytest.raises(kind), ended_cleanly():
        Freed()
        time.sleep(10.0)
    assert (signal.getsignal(signal.SIGTERM), sys.unraisablehook) == before


def test_a_signal_that_is_sent_again_is_heard_however_soon(monkeypatch):
    """On a busy machine it comes while what sends it is still being started, where exceptions are dropped too."""

    class Freed:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("kido.interrupts.AGAIN", 0.0)
    for _ in range(100):
        with pytest.raises(Terminated), ended_cleanly():
            Freed()
            time.sleep(10.0)
