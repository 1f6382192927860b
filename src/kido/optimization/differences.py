"""Derivatives by central differences, for functions that have none of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Retraction = Callable[[Array, Array], Array]

_STEP = float(np.finfo(float).eps) ** (1.0 / 3.0)  # balances cutting off (h^2) and rounding (eps / h)


def add(x: Array, dx: Array) -> Array:
    """The retraction of a vector space."""
    return x + dx


def central_differences(
    function: Callable[[Array], float | Array], x: Array, retract: Retraction = add, step: float | None = None
) -> Array:
    """Derivative of `function(retract(x, dx))` with respect to dx at dx = 0.

    Column i is (f(x + h e_i) - f(x - h e_i)) / 2h, with an error of order h^2; h is 6e-6 max(1, |x_i|) unless given.

    Returns:
        (n,) for a function with one value, (m, n) for one with m values.
    """
    columns = []
    dx = np.zeros(x.size)
    for i in range(x.size):
        h = step if step is not None else _STEP * max(1.0, abs(float(x[i])))
        dx[i] = h
        ahead = np.array(function(retract(x, dx)), dtype=float)
        dx[i] = -h
        behind = np.array(function(retract(x, dx)), dtype=float)
        dx[i] = 0.0
        columns.append((ahead - behind) / (2.0 * h))
    if not columns:
        return np.zeros((*np.shape(function(x)), 0))
    return np.stack(columns, axis=-1)
