"""Names that are not taken: "name", "name(1)", "name(2)", ..., as DART resolves a clash."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator
from typing import Any

from kido.errors import ModelError


def checked_name(value: Any, what: str) -> str:
    """A name.

    Raises:
        ModelError: it is no text.
    """
    if not isinstance(value, str):
        raise ModelError(f"{what}: name: expected a text, got {value!r}")
    return value


def candidates(wanted: str) -> Iterator[str]:
    """The name itself, then with numbers in brackets."""
    yield wanted
    for k in itertools.count(1):
        yield f"{wanted}({k})"


def free_name(wanted: str, taken: Container[str]) -> str:
    """The first candidate that is not taken."""
    return next(name for name in candidates(wanted) if name not in taken)


def free_names(wanted: Iterable[str], taken: Iterable[str]) -> list[str]:
    """A free name for each wanted one, all different."""
    used, result = set(taken), []
    for name in wanted:
        result.append(free_name(name, used))
        used.add(result[-1])
    return result
