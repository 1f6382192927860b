"""Signals whose exceptions get lost are sent once more."""

from __future__ import annotations

import signal
import sys
import time

import pytest

from kido.cli.main import Terminated, ended_cleanly
from programs import in_a_process


class Freed:
    """Gets a signal while it is freed: what that raises is dropped there."""

    def __init__(self, number):
        self.number = number

    def __del__(self):
        signal.raise_signal(self.number)


def _heard(number, kind):
    before = signal.getsignal(signal.SIGTERM), sys.unraisablehook
    with pytest.raises(kind), ended_cleanly():
        Freed(number)
        time.sleep(10.0)
    assert (signal.getsignal(signal.SIGTERM), sys.unraisablehook) == before


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)])
def test_a_signal_that_comes_while_an_object_is_freed_is_heard(number, kind):
    in_a_process(_heard, number, kind)


def _heard_however_soon():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kido.interrupts.AGAIN", 0.0)
        for _ in range(100):
            with pytest.raises(Terminated), ended_cleanly():
                Freed(signal.SIGTERM)
                time.sleep(10.0)


def test_a_signal_that_is_sent_again_is_heard_however_soon():
    """On a busy machine it comes while what sends it is still being started, where exceptions are dropped too."""
    in_a_process(_heard_however_soon)
