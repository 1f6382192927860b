"""Vectors whose components are numbers, arrays or a model's expressions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from kido.errors import ModelError

F = TypeVar("F", bound=Callable[..., Any])


def of_vectors(*names: str) -> Callable[[F], F]:
    """A function some of whose arguments are vectors (..., 3): given as arrays, lists or a model's expressions.

    It raises ModelError for what is none.
    """

    def made(function: F) -> F:
        places = {name: k for k, name in enumerate(inspect.signature(function).parameters)}

        @wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            values = list(given)
            for name in names:
                where: Any = values if places[name] < len(values) else named
                key: Any = places[name] if where is values else name
                if where is values or name in named:
                    where[key] = _as_vectors(where[key], f"{function.__name__}: {name}")
            return function(*values, **named)

        return call  # type: ignore[return-value]

    return made


def _as_vectors(given: Any, what: str) -> Any:
    try:
        array = np.asarray(given)
    except ValueError:
        array = np.empty(0)
    if array.shape[-1:] != (3,) or array.dtype.kind not in "iufO":
        raise ModelError(f"{what}: expected vectors (..., 3), got {given!r:.100}")
    return array if array.dtype.kind in "fO" else array.astype(float)


def vector(x: Any, y: Any, z: Any) -> Any:
    """(..., 3) from three components."""
    return np.moveaxis(np.array([x, y, z]), 0, -1)


def dot(a: Any, b: Any) -> Any:
    """Scalar product of vectors (..., 3)."""
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def length(a: Any) -> Any:
    """Of vectors (..., 3)."""
    return np.sqrt(dot(a, a))


def scaled(a: Any, factor: Any) -> Any:
    """Vectors (..., 3) times numbers (...)."""
    return vector(a[..., 0] * factor, a[..., 1] * factor, a[..., 2] * factor)
