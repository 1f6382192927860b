"""What users give of one world or of many, as arrays with a row for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError

__all__ = ["as_array", "stacked"]


def as_array(actions: Any) -> NDArray:
    """Actions as an array; what cannot be one, as lists of several lengths, becomes one of an object, not a number."""
    try:
        return np.asarray(actions)
    except (TypeError, ValueError, RuntimeError):
        found = np.empty(1, object)
        found[0] = actions
        return found


def stacked(drawn: Sequence[Mapping[str, Any]], what: str) -> dict[str, Any]:
    """Dictionaries of one world as one of all.

    Raises:
        ModelError: they have not the same names, or shapes.
    """
    first: Any = drawn[0]
    for d in drawn:
        if not isinstance(d, Mapping) or d.keys() != first.keys():
            raise ModelError(f"{what}: expected a dictionary of the same names for each world, got {d!r:.80}")
    found: dict[str, Any] = {}
    for name in first:
        values = [d[name] for d in drawn]
        if isinstance(first[name], Mapping):
            found[name] = stacked(values, f"{what}: {name}")
        elif len({np.shape(value) for value in values}) > 1:
            raise ModelError(f"{what}: {name}: expected numbers of the same shape for each world, got {values!r:.80}")
        else:
            found[name] = np.array(values, dtype=float)
    return found
