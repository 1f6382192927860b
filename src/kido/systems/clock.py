"""Rates on a clock of whole nanoseconds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from kido.attributes import dataclass
from kido.errors import ModelError

SECOND = 1_000_000_000  # [ns]


@dataclass(frozen=True)
class Rate:
    """Ticks at times k / rate, k = 0, 1, ...: at nanosecond floor(k numerator / denominator).

    Attributes:
        numerator, denominator: of the period [ns].
    """

    numerator: int
    denominator: int

    def __post_init__(self) -> None:
        for value in (self.numerator, self.denominator):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ModelError(
                    f"rate: expected a period of whole numbers above 0, got {self.numerator!r} / {self.denominator!r}"
                )

    @property
    def period(self) -> float:
        """[s]"""
        return self.numerator / self.denominator / SECOND

    @property
    def hertz(self) -> float:
        """[Hz]"""
        return SECOND * self.denominator / self.numerator

    def tick(self, number: int) -> int:
        """Time of a tick [ns]."""
        return number * self.numerator // self.denominator

    def divides(self, step: int) -> bool:
        """Whether all ticks are at multiples of a step [ns]."""
        return self.denominator == 1 and self.numerator % step == 0

    def __str__(self) -> str:
        return f"{self.hertz:g} Hz"


def as_rate(value: Any, what: str) -> Rate:
    """A rate from a number of Hz, whose period must be whole nanoseconds, or from a Fraction, which may be any.

    Raises:
        ModelError: it is not positive, or its period is no whole number of nanoseconds.
    """
    if isinstance(value, Rate):
        return value
    exact = isinstance(value, Fraction)
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | np.integer | np.floating):
        raise ModelError(f"{what}: rate: expected a number of Hz or a Fraction, got {value!r}")
    if not np.isfinite(float(value)) or value <= 0 or value > SECOND:
        raise ModelError(f"{what}: rate: expected a number above 0, at most 1e9 Hz, got {value!r}")
    hertz = value if exact else Fraction(float(value)).limit_denominator(SECOND)
    period = SECOND / Fraction(hertz)
    if period.denominator != 1 and not exact:
        raise ModelError(
            f"{what}: rate: the period of {float(value):g} Hz is {float(period):.6f} ns; expected a whole number of "
            f"nanoseconds, or the rate as a Fraction: fractions.Fraction({hertz.numerator}, {hertz.denominator}) ticks "
            "at the nanoseconds before k / rate"
        )
    return Rate(period.numerator, period.denominator)


def as_nanoseconds(value: Any, what: str) -> int:
    """A time in seconds as whole nanoseconds.

    Raises:
        ModelError: it is not finite, below 0, or no whole number of them.
    """
    if isinstance(value, Fraction):
        exact = value * SECOND
        if exact.denominator == 1 and exact >= 0:
            return int(exact)
    elif isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        if np.isfinite(value) and 0 <= value < 9e9:
            whole = round(Fraction(float(value)) * SECOND)
            if abs(float(value) - whole / SECOND) <= 1e-12 * max(1.0, float(value)):
                return whole
    raise ModelError(f"{what}: expected seconds not below 0 and a whole number of nanoseconds, got {value!r}")
