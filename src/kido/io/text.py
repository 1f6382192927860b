"""Files of words and numbers: read whole, split as they are asked for, with errors that name the file and the line."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kido.errors import FileFormatError, shortened
from kido.math.transform import number_or_nan

__all__ = ["MAX_BYTES", "Place", "Words", "finite_number", "float_or_nan", "read_bytes", "read_text"]

MAX_BYTES = 64 * 1024 * 1024
WORD = re.compile(r"\S+")


def read_bytes(path: str | Path, max_bytes: int = MAX_BYTES, name: str | None = None) -> bytes:
    """The content of a file, which messages call `name`.

    Raises:
        FileFormatError: it is not there, cannot be read, or is larger than `max_bytes`.
    """
    label = name or str(path)
    try:
        with open(path, "rb") as file:
            data = file.read(max_bytes + 1)
    except FileNotFoundError:
        raise FileFormatError(label, None, "no such file") from None
    except IsADirectoryError:
        raise FileFormatError(label, None, "is a directory; expected a file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FileFormatError(label, None, f"cannot be read: {reason}") from None
    if len(data) > max_bytes:
        raise FileFormatError(label, None, f"larger than {max_bytes // 2**20} MiB; refused")
    return data


def read_text(path: str | Path) -> str:
    """The content of a file as text; bytes that are no UTF-8 become replacement characters."""
    return read_bytes(path).decode("utf-8-sig", errors="replace")


def float_or_nan(word: str) -> float:
    """The number that a word is; NaN where it is none, or has Python's underscores between digits."""
    return number_or_nan(word) if "_" not in word else math.nan


def finite_number(word: str, what: str, error: Callable[[str], FileFormatError]) -> float:
    """The finite number that a word is, which messages call `what`.

    Args:
        error: makes the exception of a reason.
    """
    try:
        value = float(word) if "_" not in word else math.nan
    except ValueError:
        raise error(f"{what} is '{shortened(word, 60)}'; expected a number") from None
    if not math.isfinite(value):
        raise error(f"{what} is '{shortened(word, 60)}'; expected a finite number")
    return value


class Place(NamedTuple):
    """Where something is described: a file, a line, and what it is in words."""

    path: str
    line: int
    what: str

    def error(self, reason: str) -> FileFormatError:
        """An exception (to be raised by the caller) about this place."""
        return FileFormatError(self.path, self.line, reason)

    def describe(self) -> str:
        """What is there."""
        return self.what


class Words:
    """The words of a text, one after the other.

    Args:
        text: what to read.
        path: for messages.
        word: what a word is; by default what stands between spaces.
    """

    def __init__(self, text: str, path: str, word: re.Pattern[str] = WORD) -> None:
        self.path = path
        self._text = text
        self._word = word
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self._next = 0
        self._last = 0

    @property
    def line(self) -> int:
        """Line of the word that was taken last, from 1."""
        return bisect_left(self._ends, self._last) + 1

    def place(self, what: str) -> Place:
        """The line of the word that was taken last."""
        return Place(self.path, self.line, what)

    def error(self, reason: str) -> FileFormatError:
        """An exception (to be raised by the caller) about the word that was taken last."""
        return FileFormatError(self.path, self.line, reason)

    def take(self, expected: str) -> str:
        """The next word; where there is none, an error says what was `expected`."""
        match = self._word.search(self._text, self._next)
        if match is None:
            self._last = len(self._text.rstrip())
            raise self.error(f"the file ends; expected {expected}")
        self._last, self._next = match.span()
        return match.group()

    def peek(self) -> str | None:
        """The next word without taking it; None at the end."""
        match = self._word.search(self._text, self._next)
        return None if match is None else match.group()

    def expect(self, *choices: str) -> str:
        """The next word, which has to be one of some."""
        word = self.take(" or ".join(f"'{choice}'" for choice in choices))
        if word not in choices:
            raise self.error(f"found '{shortened(word, 60)}'; expected {' or '.join(map(repr, choices))}")
        return word

    def number(self, what: str) -> float:
        """The next word as a finite number."""
        return self._as_number(self.take(what), what)

    def count(self, what: str) -> int:
        """The next word as a whole number that is not negative."""
        word = self.take(what)
        if not (word.isascii() and word.isdigit() and len(word) < 16):
            raise self.error(f"{what} is '{shortened(word, 60)}'; expected a whole number")
        return int(word)

    def numbers(self, count: int, what: str) -> np.ndarray:
        """The next `count` words, which stand between spaces, as finite numbers (count,)."""
        words = self._text[self._next :].split(None, count) if count <= len(self._text) else []
        if len(words) < count:
            self._last = len(self._text.rstrip())
            found = len(words) or len(self._text[self._next :].split())
            raise self.error(f"the file ends after {found} of {count} numbers ({what})")
        rest = words.pop() if len(words) > count else ""
        try:
            values = np.array(words, dtype=float) if count else np.zeros(0)
            sound = not any("_" in word for word in words) and bool(np.isfinite(values).all())
        except ValueError:
            values, sound = np.zeros(0), False
        if not sound:
            for match in islice(WORD.finditer(self._text, self._next), count):  # which of them
                self._last = match.start()
                self._as_number(match.group(), what)
        self._next = len(self._text) - len(rest)
        self._last = max(self._next - 1, 0)
        return values

    def _as_number(self, word: str, what: str) -> float:
        return finite_number(word, what, self.error)
