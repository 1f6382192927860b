"""Calls from Python: a quadratic program in one call."""

from __future__ import annotations

from kido.jit import entry, view
from kido.optimization.dense_qp.dual import minimize
from kido.optimization.dense_qp.schema import QUADRATIC


@entry("i8(i8)")
def solve(address):
    """Solve the program in a container; returns as `minimize` does."""
    return minimize(view(QUADRATIC, address))
