"""Functions of NumPy's arrays, with their pull-backs, as functions of JAX's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from kido.errors import StateError
from kido.gradients.shapes import common_samples

Arrays = Any  # tuples of arrays


def together(what: str, given: Mapping[str, tuple[Any, tuple[int | None, ...]]]) -> dict[str, jax.Array]:
    """Arrays with the same leading axes, from arrays by name with the ends of their shapes.

    Raises:
        StateError: what is no array of 64 bits, or of another shape.
    """
    if not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        raise StateError(
            f'{what}: expected numbers of 64 bits, which JAX has after jax.config.update("jax_enable_x64", True)'
        )
    for name, (array, _) in given.items():
        if not isinstance(array, jax.Array | np.ndarray):
            raise StateError(f"{what}: {name}: expected an array of JAX, got {type(array).__name__}")
        if array.dtype != np.float64:
            raise StateError(f"{what}: {name}: expected float64, got {array.dtype}")
    samples = common_samples(what, {name: (tuple(array.shape), tail) for name, (array, tail) in given.items()})
    return {
        name: jnp.broadcast_to(array, (*samples, *array.shape[array.ndim - len(tail) :]))
        for name, (array, tail) in given.items()
    }


class Function:
    """Functions of arrays (samples, ...) in NumPy.

    Args:
        value: of arrays, gives a tuple of arrays.
        pull_back: of these arrays, what `value` gave, and gradients by that; gives those by the arrays.
        ends: numbers of axes after the samples' of each array.
        shapes: of the results without samples.
    """

    def __init__(
        self,
        value: Callable[..., Arrays],
        pull_back: Callable[[Arrays, Arrays, Arrays], Arrays],
        ends: tuple[int, ...],
        shapes: tuple[tuple[int, ...], ...],
    ):
        self.value, self.ends, self.shapes = value, ends, shapes
        self.pull_back = pull_back

    def __call__(self, *arrays: jax.Array) -> Arrays:
        """Results for JAX's arrays with common leading axes."""
        return _call(self, arrays)

    def computed(self, back: bool, *groups: Arrays) -> Arrays:
        """`value`, or `pull_back`, of arrays with leading axes."""
        ends = (self.ends, *[tuple(len(shape) for shape in self.shapes)] * (len(groups) - 1))
        rows = [tuple(map(_rows, group, own)) for group, own in zip(groups, ends, strict=True)]
        first = np.shape(groups[0][0])
        samples = first[: len(first) - self.ends[0]]
        found = self.pull_back(*rows) if back else self.value(*rows[0])
        return tuple(x.reshape(*samples, *x.shape[1:]) for x in found)


def _rows(array: Any, ends: int) -> Any:
    found = np.asarray(array)
    return found.reshape(-1, *found.shape[found.ndim - ends :])


def _apply(function: Function, back: bool, shapes: Sequence[tuple[int, ...]], *groups: Arrays) -> Arrays:
    """What a function computes: at once where numbers are there, by a callback where JAX traces."""
    arrays = [x for group in groups for x in group]
    if any(isinstance(x, Tracer) for x in arrays):
        made = tuple(jax.ShapeDtypeStruct(shape, np.float64) for shape in shapes)
        return jax.pure_callback(partial(function.computed, back), made, *groups, vmap_method="broadcast_all")
    found = function.computed(back, *groups)
    return tuple(jnp.from_dlpack(x) if jax.default_backend() == "cpu" else jnp.asarray(x) for x in found)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _call(function: Function, arrays: Arrays) -> Arrays:
    samples = arrays[0].shape[: arrays[0].ndim - function.ends[0]]
    return _apply(function, False, [(*samples, *shape) for shape in function.shapes], arrays)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _back(function: Function, arrays: Arrays, values: Arrays, gradients: Arrays) -> Arrays:
    return _apply(function, True, [x.shape for x in arrays], arrays, values, gradients)


@_back.defjvp
def _no_second(function: Function, primals: Arrays, tangents: Arrays) -> Arrays:
    raise StateError("kido.jax: second derivatives: there are first ones only")


def _forward(function: Function, arrays: Arrays) -> tuple[Arrays, Arrays]:
    values = _call(function, arrays)
    return values, (arrays, values)


def _backward(function: Function, kept: Arrays, gradients: Arrays) -> Arrays:
    return (_back(function, *kept, gradients),)


_call.defvjp(_forward, _backward)
