"""Quantities of many states, made of the rows of `kido.quantities.TABLE`: each sample by the pure call of the row.

`quantities.pyi`, which editors read, is written by `tools/stubs.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kido.batch.arguments import common_count, result, rows_of
from kido.errors import KidoError, StateError
from kido.quantities import TABLE, Quantity
from kido.quantities.quantity import call_of

IN_LANES = ("jacobian", "mass_matrix", "inverse_mass_matrix")  # `Batch` has kernels for these


class BatchQuantities:
    """Quantities of all samples, one after the other; arguments besides a state are the same for all."""


def has_arrays(row: Quantity) -> bool:
    """Whether results of samples can be put together."""
    return bool(row.shape) or row.result == "float"


def parameters_of(row: Quantity) -> str:
    """Parameters of the batch call, as text: only a single array can be written to."""
    arrays = ["out=None"] if row.result in ("Array", "float") else []
    return ", ".join([*row.needs, *filter(None, [row.arguments]), *arrays])


def of_samples(batch: Any, row: Quantity, out: Any = None, **given: Any) -> Any:
    """Results with the samples first: an array, or a tuple of them where the quantity is one.

    Raises:
        StateError: numbers of other shapes or not finite; a batch for a GPU.
    """
    if batch.device != "cpu":
        raise StateError(f"{row.name}: there is no kernel for the device {batch.device!r}; use a Batch for the CPU")
    skeleton, state = batch.skeleton, batch.state
    arrays = {what: rows_of(skeleton, what, given.pop(what)) for what in row.needs}
    count = common_count(skeleton, **arrays)

    def sample(k: int) -> Any:
        try:
            return row.given(state, *(a[k if len(a) > 1 else 0] for a in arrays.values()), **given)
        except KidoError as error:
            error.add_note(f"in sample {k}")
            raise

    if not count:
        first = row.given(state, *np.zeros((len(arrays), skeleton.num_dofs)), **given)
        return _of_parts(first, [np.empty((0, *np.shape(part))) for part in _parts(first)])
    with batch.turn:
        first = sample(0)
        found = [result(out, (count, *np.shape(part))) for part in _parts(first)]
        for k in range(count):
            for whole, part in zip(found, _parts(first if k == 0 else sample(k)), strict=True):
                whole[k] = part
        return _of_parts(first, found)


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _of_parts(like: Any, parts: list[Any]) -> Any:
    if not isinstance(like, tuple):
        return parts[0]
    return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)


for _row in TABLE.values():
    if has_arrays(_row) and _row.name not in IN_LANES:
        _doc = f"{_row.text}\n\nOf all samples, (samples, ...); arguments besides a state are the same for all."
        setattr(BatchQuantities, _row.name, call_of(_row, parameters_of(_row), of_samples, _doc))
