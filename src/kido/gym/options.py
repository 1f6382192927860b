"""Options of environments: refused by name where they are of another kind than their defaults."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from kido.errors import ModelError
from kido.math.transform import number_or_nan

__all__ = ["checked_options"]

Maker = TypeVar("Maker", bound=Callable[..., Any])


def checked_options(name: str) -> Callable[[Maker], Maker]:
    """Have a function that makes an environment refuse options that cannot be, by the kinds of their defaults.

    A flag is True or False; a number is finite, and not negative where it is a scale of noise; a range is two numbers,
    infinite ones among them, of which the second is not below the first. Others are the function's own matter.

    Args:
        name: of the environment.

    Raises:
        ModelError: of the function: another option, with what is expected.
    """

    def decorate(maker: Maker) -> Maker:
        defaults = {key: p.default for key, p in inspect.signature(maker).parameters.items()}

        @functools.wraps(maker)
        def make(**options: Any) -> Any:
            for key, value in options.items():
                wanted = _wanted(key, defaults.get(key), value)
                if wanted:
                    raise ModelError(f"environment {name!r}: {key}: expected {wanted}, got {value!r:.80}")
            return maker(**options)

        return make  # type: ignore[return-value]

    return decorate


def _wanted(key: str, default: Any, value: Any) -> str:
    """What is expected of an option; "" if that is what it is."""
    if isinstance(default, bool):
        return "" if isinstance(value, bool | np.bool_) else "True or False"
    if isinstance(default, float):
        number = math.nan if isinstance(value, bool) else number_or_nan(value)
        least = 0.0 if key.endswith("noise_scale") else -math.inf
        fits = math.isfinite(number) and number >= least
        return "" if fits else "a finite number" + (" not below 0" if least == 0.0 else "")
    if isinstance(default, tuple):
        try:
            low, high = (number_or_nan(x) for x in value)
        except (TypeError, ValueError):
            low = high = math.nan
        return "" if low <= high else "two numbers, the second not below the first"
    return ""
