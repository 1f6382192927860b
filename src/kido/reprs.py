"""What results look like at a prompt: their numbers in a line or two, arrays by their shapes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence, Set
from enum import Enum
from typing import Any

import numpy as np

_MOST_WORDS = 60  # characters of a field
_MOST_NUMBERS = 7  # of an array that is written out: the positions of most arms


def brief(self: Any) -> str:
    """`__repr__` of a dataclass or named tuple: its fields, but for those after the first with their default value."""
    shown = [
        f"{name}={in_few_words(value)}"
        for k, (name, value, default) in enumerate(_fields(self))
        if k == 0 or not _same(value, default)
    ]
    return f"{type(self).__name__}({', '.join(shown)})"


def in_few_words(value: Any) -> str:
    """A value in at most 60 characters: numbers with 4 digits, `<40 x 3>` for an array, `<9 BodyNode>` for a list."""
    if isinstance(value, np.ndarray):
        if value.ndim == 1 and value.size <= _MOST_NUMBERS:
            return f"[{', '.join(map(in_few_words, value.tolist()))}]"
        return f"<{' x '.join(map(str, value.shape))}>"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if type(value).__repr__ is object.__repr__:
        return f"<{type(value).__name__}>"
    several = isinstance(value, Sequence | Mapping | Set) and not isinstance(value, str)
    try:
        text = "" if several and len(value) > _MOST_NUMBERS else repr(value)
    except (ValueError, RecursionError):  # an integer of more digits than Python prints, lists of lists of lists
        text = ""
    if text and len(text) <= _MOST_WORDS and "\n" not in text:
        return text
    if isinstance(value, str):
        return text[: _MOST_WORDS - 4] + "..." + text[-1]
    if several:
        kinds = {type(item).__name__ for item in value}
        return f"<{len(value)} {kinds.pop() if len(kinds) == 1 else 'items'}>"
    return f"<{type(value).__name__}>"


def counted(number: int, thing: str) -> str:
    """A number of things, such as "1 contact", "8 contacts"."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _fields(thing: Any) -> Iterator[tuple[str, Any, Any]]:
    """Name, value and default of each field."""
    if dataclasses.is_dataclass(thing):
        for field in dataclasses.fields(thing):
            if field.repr:
                made = field.default_factory
                default = field.default if made is dataclasses.MISSING else made()
                yield field.name, getattr(thing, field.name), default
    else:
        for name, value in zip(thing._fields, thing):
            yield name, value, thing._field_defaults.get(name, dataclasses.MISSING)


def _same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    if type(value) is not type(default):
        return False
    if isinstance(value, np.ndarray):
        return np.array_equal(value, default, equal_nan=value.dtype.kind == "f")
    return bool(value == default) or (isinstance(value, float) and value != value and default != default)
