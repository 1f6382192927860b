"""Damaged inputs by the thousand: is each taken or refused by a KidoError, in bounded time and memory?

    python tools/mutate.py SUBJECTS [--count 1000] [--first 0] [--seed 0] [--only NAME ...] [--processes 1]
    python tools/mutate.py tests/io_samples.py --count 100000
    python tools/mutate.py tests/io_samples.py --first 4711 --count 1      one case again, with its traceback

SUBJECTS is a Python file that has a dictionary `SUBJECTS`: by name a list of sound inputs (bytes) and a function of
bytes that reads one. Case number i mutates an input of one subject by a few random changes that the seed and i alone
determine. A case may return or raise a KidoError; whatever else it raises, a RuntimeWarning, a crash, more than
`--seconds` or more than `--memory` beyond what an idle process has is a failure. Cases run in processes of their own,
so that a crash or a hang costs one case. Prints a table, and each kind of failure with the number of its first case;
exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import selectors
import signal
import subprocess
import sys
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

try:
    import resource
except ImportError:  # no limits of memory where there is no such module
    resource = None

Subjects = dict[str, tuple[list[bytes], Callable[[bytes], Any]]]

NUMBER = re.compile(rb"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
WORD = re.compile(rb"[A-Za-z_][\w.:/-]*")
ELEMENT = re.compile(rb"<(\w+)\b[^<>]*?(?:/>|>(?:(?!<\1\b).)*?</\1>)", re.DOTALL)
LINE = re.compile(rb"[^\n]*\n")
NUMBERS = (
    *(b"0", b"-0", b"-1", b"1", b"2", b"3", b"1e-320", b"1e-30", b"1e30", b"1e160", b"1e300", b"1.7e308", b"-1e308"),
    *(b"1e400", b"nan", b"inf", b"-inf", b"1e", b"0x10", b"1_0", b"1,5", b"1.5.", b"", b"007", b"4294967296"),
    *(b"9223372036854775807", b"9223372036854775808", b"99999999999999999999999", b"9" * 5000, b"1" + b"0" * 400),
)
TEXTS = (
    *(b"", b" ", b"\0", b"\xff", b"\xef\xbb\xbf", b"<", b">", b"</", b"/>", b"&", b"&lt;", b"&#0;", b'"', b"'", b"#"),
    *(b"]]>", b"<!--", b"<![CDATA[", b"<?x?>", b"\r\n", b"\t", b"\\", b"../", b"..", b"/", b"~", b"{", b"::", b"%s"),
    *(b"world", b"true", b"\xe2\x98\x83", b"\xed\xa0\x80", b"A" * 3000, b"0 0 0", b"1 2 3 4 5 6 7"),
    *(b"file:///etc/passwd",),
)
WORDS_32 = (0, 1, 2, 3, 0x7F800000, 0x7FC00000, 0x7F7FFFFF, 0xFFFFFFFF, 0x80000000, 0x00000001)


# -- mutations ---------------------------------------------------------------------------------------------


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """The input after one to four random changes."""
    for _ in range(int(rng.choice([1, 1, 1, 2, 2, 3, 4]))):
        data = MUTATIONS[int(rng.integers(len(MUTATIONS)))](data, rng)
    return data


def _one(items: Any, rng: np.random.Generator) -> Any:
    return items[int(rng.integers(len(items)))]


def _span(data: bytes, rng: np.random.Generator, most: int = 200) -> tuple[int, int]:
    start = int(rng.integers(len(data) + 1))
    return start, min(len(data), start + int(rng.integers(1, most)))


def flip_bit(data: bytes, rng: np.random.Generator) -> bytes:
    if not data:
        return data
    changed = bytearray(data)
    changed[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def set_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _span(data, rng, 9)
    return data[:start] + rng.integers(0, 256, stop - start, dtype=np.uint8).tobytes() + data[stop:]


def set_word(data: bytes, rng: np.random.Generator) -> bytes:
    """Four bytes that mean something as a count or as a float, in either order."""
    start = int(rng.integers(max(1, len(data) - 3)))
    return data[:start] + int(_one(WORDS_32, rng)).to_bytes(4, _one(("little", "big"), rng)) + data[start + 4 :]


def cut_end(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def drop_span(data: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + data[stop:]


def repeat_span(data: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _span(data, rng)
    return data[:stop] + data[start:stop] * int(_one((1, 1, 2, 50), rng)) + data[stop:]


def move_span(data: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _span(data, rng)
    rest, at = data[:start] + data[stop:], int(rng.integers(len(data) - (stop - start) + 1))
    return rest[:at] + data[start:stop] + rest[at:]


def insert_text(data: bytes, rng: np.random.Generator) -> bytes:
    at = int(rng.integers(len(data) + 1))
    return data[:at] + _one(TEXTS, rng) + data[at:]


def _replace(data: bytes, rng: np.random.Generator, what: re.Pattern[bytes], by: Callable[[list[Any]], bytes]) -> bytes:
    found = list(what.finditer(data))
    if not found:
        return data
    match = _one(found, rng)
    return data[: match.start()] + by(found) + data[match.end() :]


def set_number(data: bytes, rng: np.random.Generator) -> bytes:
    return _replace(data, rng, NUMBER, lambda _: _one(NUMBERS, rng))


def swap_word(data: bytes, rng: np.random.Generator) -> bytes:
    """A word by another one of the same input."""
    return _replace(data, rng, WORD, lambda found: _one(found, rng).group())


def set_text(data: bytes, rng: np.random.Generator) -> bytes:
    return _replace(data, rng, WORD, lambda _: _one(TEXTS, rng))


def swap_element(data: bytes, rng: np.random.Generator) -> bytes:
    """An element of XML by another one of the same input, by both, or by nothing."""
    found = list(ELEMENT.finditer(data))
    if not found:
        return swap_line(data, rng)
    one, other = _one(found, rng), _one(found, rng)
    new = _one((b"", other.group(), one.group() + other.group(), one.group() * 2), rng)
    return data[: one.start()] + new + data[one.end() :]


def swap_line(data: bytes, rng: np.random.Generator) -> bytes:
    return _replace(data, rng, LINE, lambda found: _one((b"", _one(found, rng).group()), rng))


MUTATIONS: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (
    *(flip_bit, set_bytes, set_word, cut_end, drop_span, repeat_span, move_span, insert_text),
    *(set_number, set_number, set_number, set_number, swap_word, swap_word, set_text, swap_element, swap_element),
    swap_line,
)


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
    return name, mutated(_one(subjects[name][0], rng), rng)


class TooLong(BaseException):
    """A case took longer than it may."""


@dataclass
class Limits:
    """What a case may use."""

    seconds: float
    memory: int


def run_case(read: Callable[[bytes], Any], data: bytes, limits: Limits) -> tuple[str, str, float]:
    """Outcome ("taken", "refused" or a failure's kind), details and seconds of one case."""
    from kido.errors import KidoError

    def stop(*_: Any) -> None:
        raise TooLong

    start = time.perf_counter()
    timed = hasattr(signal, "setitimer")
    if timed:
        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, limits.seconds)
    outcome, details = "taken", ""
    try:
        read(data)
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
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    return outcome, details, time.perf_counter() - start


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
    for index in range(options.first, options.first + options.count, options.stride):
        name, data = case_input(subjects, options.seed, index)
        print(json.dumps({"case": index, "subject": name}), file=out, flush=True)
        outcome, details, seconds = run_case(subjects[name][1], data, limits)
        print(json.dumps({"outcome": outcome, "details": details, "seconds": seconds}), file=out, flush=True)


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
                begun, patience = (item["case"], item["subject"]), 10.0 * options.seconds
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
