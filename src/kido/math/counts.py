"""Whole numbers that are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.errors import ModelError


def as_count(value: Any, what: str, least: int) -> int:
    """A whole number not below `least`.

    Raises:
        ModelError: anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ModelError(f"{what}: expected a whole number from {least} on, got {value!r:.100}")
    return int(value)
