"""Exponential, logarithm and inverse tangent against the C library: within 2 units in the last place."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kido.jit import entry
from kido.math.elementary import arctan2, exp, log


@entry("f8(f8)")
def exponential(x):
    return exp(x)


@entry("f8(f8)")
def logarithm(x):
    return log(x)


@entry("f8(f8,f8)")
def angle(y, x):
    return arctan2(y, x)


def ulps(value: float, expected: float) -> float:
    return abs(value - expected) / math.ulp(expected)


def test_exponential() -> None:
    rng = np.random.default_rng(0)
    points = [*rng.uniform(-1, 1, 2000), *rng.uniform(-700, 709.7, 2000), 0.0, 1e-300, 709.78, -708.0]
    assert max(ulps(exponential(x), math.exp(x)) for x in points) <= 2.0
    assert exponential(1000.0) == math.inf and exponential(-1000.0) == 0.0
    assert math.isnan(exponential(math.nan))


def test_logarithm() -> None:
    rng = np.random.default_rng(1)
    points = [*rng.uniform(0.5, 2, 2000), *np.exp(rng.uniform(-700, 700, 2000)), 1e-300, 1e300, 2.0, 0.5]
    assert max(ulps(logarithm(x), math.log(x)) for x in points) <= 2.0
    assert logarithm(1.0) == 0.0
    assert all(math.isnan(logarithm(x)) for x in (0.0, -1.0, math.nan))


def test_angle() -> None:
    rng = np.random.default_rng(2)
    points = [
        *rng.normal(size=(4000, 2)),
        *np.exp(rng.uniform(-200, 200, (500, 2))),
        (1.0, 0.0),
        (-1.0, 0.0),
        (1e-9, 1.0),
    ]
    assert max(ulps(angle(y, x), math.atan2(y, x)) for y, x in points) <= 2.0
    assert angle(0.0, 0.0) == 0.0 and angle(0.0, 2.0) == 0.0
    assert angle(0.0, -2.0) == pytest.approx(math.pi, rel=1e-15)
