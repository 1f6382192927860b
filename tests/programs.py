"""Programs that tests start, and waiting for what they do instead of for a time that should be enough."""

from __future__ import annotations

import multiprocessing
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import kido
from kido.recording import RecordingError

PATIENCE = 600.0  # [s] for a program that compiles its kernels first, on a busy machine; below the limit of a test


def wait_until(happened: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """What a function returns as soon as that is true; an assertion fails if it never is."""
    end = time.monotonic() + patience
    while not (result := happened()):
        assert time.monotonic() < end, f"not within {patience:g} s: {what}"
        time.sleep(0.02)
    return result


class Program:
    """A program that runs beside the test; its streams go to files, so that it never waits for a reader.

    Ends with the block of a `with` statement, whatever happens there.
    """

    def __init__(self, command: Sequence[str], folder: Path, **options: Any) -> None:
        self._streams = [folder / "program.out", folder / "program.err"]
        with self._streams[0].open("wb") as out, self._streams[1].open("wb") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, **options)

    @property
    def out(self) -> str:
        """What it has printed."""
        return self._streams[0].read_text()

    @property
    def err(self) -> str:
        """What it has printed to stderr."""
        return self._streams[1].read_text()

    def wait_until(self, happened: Callable[[], Any], what: str) -> Any:
        """Like the function, but fails at once if the program ends before."""

        def happened_or_ended() -> Any:
            ended = self.process.poll() is not None  # before the look: what it did last counts
            result = happened()
            assert result or not ended, f"ended with {self.process.returncode} before: {what}\n{self.err}"
            return result

        return wait_until(happened_or_ended, what)

    def end(self, number: int) -> int:
        """Send a signal and wait for the end; returns the exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def in_a_process(check: Callable[..., None], *arguments: Any) -> None:
    """Run a function of a test's module in a process of its own.

    For what signals interrupt: one that comes too late, or twice, ends that process and fails this test, not the
    others that pytest's process has still to run.
    """
    process = multiprocessing.get_context("spawn").Process(target=check, args=arguments)
    process.start()
    process.join(PATIENCE)
    if process.exitcode is None:
        process.kill()
    assert process.exitcode == 0, f"{check.__name__} in a process of its own ended with {process.exitcode}"


def frames_on_disk(path: Path) -> int:
    """How many frames a recording holds that may still be written; 0 before there is one."""
    if not path.exists() or path.stat().st_size == 0:  # with a byte in it, the writer has locked it
        return 0
    try:
        with kido.Recording.open(path) as recording:
            return len(recording)
    except RecordingError:  # not complete yet
        return 0
