"""Damaged inputs by the thousand: each is to be taken, or refused by a KidoError, in bounded time and memory.

    python tools/mutate.py SUBJECTS [--count 1000] [--first 0] [--seed 0] [--only NAME ...] [--processes 1]
    python tools/mutate.py tests/io_samples.py --count 100000
    python tools/mutate.py tests/io_samples.py --first 4711 --count 1      one case again, with its traceback

SUBJECTS is a Python file that has a dictionary `SUBJECTS`: by name a list of sound inputs (bytes) and a function of
bytes that reads one. Case number i mutates an input of one subject by a few random changes (`mutations.py`) that the
seed and i alone determine. A case may return or raise a KidoError. Whatever else it raises, a RuntimeWarning, a crash,
more than `--seconds` of processor time or more than `--memory` beyond what an idle process has is a failure; so are
files that it opens outside of the folder for temporary ones, the network, and other programs. Cases run in processes
of their own, so that a crash or a hang costs one case. Prints a table, and each kind of failure with the number of its
first case; exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mutations import mutated, one

try:
    import resource
except ImportError:  # no limits of memory where there is no such module
    resource = None

Subjects = dict[str, tuple[list[bytes], Callable[[bytes], Any]]]

FORBIDDEN = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request", "subprocess.Popen",
             "os.system", "os.exec", "pickle.find_class")  # fmt: skip


# -- cases -------------------------------------------------------------------------------------------------


def load_subjects(path: Path, only: list[str]) -> Subjects:
    """`SUBJECTS` of a Python file, those of some names if any are given."""
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    chosen = {name: value for name, value in module.SUBJECTS.items() if not only or name in only}
    if not chosen:
        raise SystemExit(f"no subject of {', '.join(only)}; expected some of {', '.join(module.SUBJECTS)}")
    return chosen


def case_input(subjects: Subjects, seed: int, index: int) -> tuple[str, bytes]:
    """Subject and input of a case."""
    rng = np.random.default_rng([seed, index])
    name = list(subjects)[index % len(subjects)]
    return name, mutated(one(subjects[name][0], rng), rng)


class Watch:
    """An audit hook that notes what a case must not do.

    Args:
        folder: where it may open files, besides those of Python, of this repository and of compiled kernels.
    """

    def __init__(self, folder: Path) -> None:
        cache = os.environ.get("KIDO_CACHE_DIR") or Path.home() / ".cache" / "kido"
        known = [folder, sys.prefix, sys.base_prefix, Path(__file__).parents[1], Path(os.__file__).parent, cache]
        known += [sys.pycache_prefix] if sys.pycache_prefix else []
        self._known = (*(os.path.realpath(path) for path in known), "/proc/cpuinfo", "/dev/null")
        self.seen: list[str] = []
        self.active = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Called by the interpreter."""
        if not self.active:
            return
        if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if not path.startswith(self._known):
                self.seen.append(f"opens {path}")
        elif event in FORBIDDEN and not _compiling():
            self.seen.append(f"{event} {arguments!r:.200}")


def _compiling() -> bool:
    """Whether what happens is Python's imports or the compiler of kernels at work, and not a reader."""
    frame = sys._getframe(2)
    while frame is not None:
        if any(name in frame.f_code.co_filename for name in ("importlib", "dataclasses", "collections", "numba")):
            return True
        frame = frame.f_back
    return False


class TooLong(BaseException):
    """A case took longer than it may."""


@dataclass
class Limits:
    """What a case may use."""

    seconds: float
    memory: int


def run_case(read: Callable[[bytes], Any], data: bytes, limits: Limits, watch: Watch) -> tuple[str, str, float]:
    """Outcome ("taken", "refused" or a failure's kind), details and processor time [s] of one case."""
    from kido.errors import KidoError

    def stop(*_: Any) -> None:
        raise TooLong

    start = time.process_time()
    timed = hasattr(signal, "setitimer")
    if timed:
        signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, limits.seconds)
    outcome, details = "taken", ""
    watch.seen.clear()
    watch.active = True
    try:
        try:
            read(data)
        finally:
            watch.active = False  # to tell what failed opens sources
    except KidoError as error:
        outcome = "refused" if str(error).strip() else "KidoError without a text"
    except TooLong:
        outcome, details = f"more than {limits.seconds:g} s", traceback.format_exc()
    except BaseException as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        outcome = f"{type(error).__name__}: {str(error)[:80]} ({Path(frame.filename).name}:{frame.lineno})"
        details = traceback.format_exc()
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
    if watch.seen:
        outcome, details = f"trespasses: {watch.seen[0][:120]}", "\n".join(watch.seen)
    return outcome, details, time.process_time() - start


def serve(options: argparse.Namespace) -> None:
    """Run cases of this process and write a line for each start and end to standard output."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed goes to standard error
    subjects = load_subjects(options.subjects, options.only)
    limits = Limits(options.seconds, options.memory * 2**20)
    warnings.simplefilter("error", RuntimeWarning)
    for name, (seeds, read) in subjects.items():  # what is imported or compiled on first use is not the case's
        for seed in seeds:
            try:
                read(seed)
            except Exception as error:
                raise SystemExit(f"subject {name}: a sound input is refused: {error}") from error
    if resource is not None and sys.platform == "linux":
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + limits.memory, resource.RLIM_INFINITY))
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        watch = Watch(Path(folder))
        sys.addaudithook(watch)
        for index in range(options.first, options.first + options.count, options.stride):
            name, data = case_input(subjects, options.seed, index)
            print(json.dumps({"case": index, "subject": name}), file=out, flush=True)
            outcome, details, seconds = run_case(subjects[name][1], data, limits, watch)
            print(json.dumps({"outcome": outcome, "details": details, "seconds": seconds}), file=out, flush=True)
        tempfile.tempdir = None


# -- the process that watches ------------------------------------------------------------------------------


@dataclass
class Tally:
    """What became of all cases."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    slowest: dict[str, tuple[float, int]] = field(default_factory=dict)
    failures: dict[str, list[tuple[int, str, str]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, index: int, subject: str, outcome: str, details: str, seconds: float) -> None:
        """Count a case."""
        kind = outcome if outcome in ("taken", "refused") else "failed"
        with self.lock:
            self.outcomes.setdefault(subject, Counter())[kind] += 1
            self.slowest[subject] = max(self.slowest.get(subject, (0.0, 0)), (seconds, index))
            if kind == "failed":
                self.failures.setdefault(outcome, []).append((index, subject, details))


def watch(options: argparse.Namespace, offset: int, tally: Tally) -> None:
    """Run every n-th case in another process, and again in a new one after each that ends or hangs."""
    stop, index = options.first + options.count, options.first + offset
    while index < stop:
        command = [sys.executable, __file__, str(options.subjects), "--serve", "--first", str(index)]
        command += ["--count", str(stop - index), "--stride", str(options.processes), "--seed", str(options.seed)]
        command += ["--seconds", str(options.seconds), "--memory", str(options.memory), "--only", *options.only]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            begun = _follow(process, options, tally)
        if begun is None:
            if process.returncode:
                raise SystemExit(process.returncode)
            return
        index, subject, hung = begun
        how = "hangs" if hung else f"the process ends with {process.returncode}"
        tally.add(index, subject, how, "", options.seconds)
        index += options.processes


def _follow(
    process: subprocess.Popen[bytes], options: argparse.Namespace, tally: Tally
) -> tuple[int, str, bool] | None:
    """Count the cases of a process; the one in which it ended or hung, if it did: number, subject, whether it hung."""
    assert process.stdout is not None
    selector = selectors.DefaultSelector()
    selector.register(process.stdout, selectors.EVENT_READ)
    begun: tuple[int, str] | None = None
    patience = 10.0 * options.seconds + 600.0  # the first case waits for imports and sound inputs
    pending = b""
    while True:
        if not selector.select(patience):
            process.kill()
            return (*begun, True) if begun else None
        chunk = os.read(process.stdout.fileno(), 1 << 16)
        if not chunk:
            process.wait()
            return (*begun, False) if begun else None
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            item = json.loads(line)
            if "case" in item:
                begun, patience = (item["case"], item["subject"]), 20.0 * options.seconds
            elif begun is not None:
                tally.add(*begun, item["outcome"], item["details"], item["seconds"])
                begun = None


def report(tally: Tally) -> None:
    """Print what became of the cases."""
    print("| subject | cases | taken | refused | failed | slowest [s] (case) |\n| --- | --- | --- | --- | --- | --- |")
    total: Counter[str] = Counter()
    for name, counts in sorted(tally.outcomes.items()):
        seconds, index = tally.slowest[name]
        row = [sum(counts.values()), counts["taken"], counts["refused"], counts["failed"]]
        print(f"| {name} | {' | '.join(map(str, row))} | {seconds:.2f} ({index}) |")
        total += counts
    row = [sum(total.values()), total["taken"], total["refused"], total["failed"]]
    print(f"| all | {' | '.join(map(str, row))} | |")
    for kind, cases in sorted(tally.failures.items(), key=lambda item: -len(item[1])):
        index, subject, details = cases[0]
        print(f"\n{len(cases)} x {kind}; first in case {index} ({subject})\n{details[-1500:]}")


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--memory", type=int, default=2048, help="MiB beyond what an idle process has")
    parser.add_argument("--write", type=Path, help="write the input of the first case to this file, and read nothing")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--stride", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        subjects = load_subjects(options.subjects, options.only)
        options.write.write_bytes(case_input(subjects, options.seed, options.first)[1])
        return 0
    if options.serve:
        serve(options)
        return 0
    tally = Tally()
    with ThreadPoolExecutor(options.processes) as pool:
        list(pool.map(lambda offset: watch(options, offset, tally), range(options.processes)))
    report(tally)
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
