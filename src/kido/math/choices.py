"""Choices in kernels that run on one state and, in lanes, on eight: what some of them need is computed for all."""

from __future__ import annotations

from kido.jit import all_positive, inlined, where_positive


@inlined
def any_positive(x):
    """Whether x > 0; of lanes, whether one is: then what that one needs is computed, and `where_positive` chooses."""
    return not all_positive(where_positive(x, -1.0, 1.0))


@inlined
def both(a, b):
    """1 where a and b are positive, else -1."""
    return where_positive(a, where_positive(b, 1.0, -1.0), -1.0)


@inlined
def either(a, b):
    """1 where a or b is positive, else -1."""
    return where_positive(a, 1.0, where_positive(b, 1.0, -1.0))


@inlined
def larger(a, b):
    """The larger of two numbers; b if one is NaN."""
    return where_positive(a - b, a, b)


@inlined
def smaller(a, b):
    """The smaller of two numbers; b if one is NaN."""
    return where_positive(b - a, a, b)
