"""Checked numbers of what builders make."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import ModelError


def whole(count: Any, what: str, things: str) -> int:
    """A whole number of at least 1.

    Raises:
        ModelError: it is none.
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise ModelError(f"{what}: the number of {things} is {count!r}; expected a whole number of at least 1")
    return int(count)
