"""What is kept of structs in files, checked before it comes near compiled code, which believes its indices.

Of each array that a struct keeps, the struct declares kind and shape; a table beside it says once which values there
may be (`Values`), with sizes by the names that the shapes have:

    PAIRS = {"pair_a": index("shapes"), "pair_axis": FINITE}
    arrays = checked_arrays(collision, PAIRS, state, "detector", free=("pairs",))
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kido.errors import StateError
from kido.jit.struct import Struct
from kido.reprs import in_few_words

_LARGEST = float(np.finfo(np.float64).max)


class Values(NamedTuple):
    """From where to where the values of an array go, both included.

    Attributes:
        low, high: numbers, or the name of a size.
        nan: NaN may stand for what is not known.
        below: the largest is one less than `high`.
        absent: what takes the place of an array that older files lack; None: it must be there.
    """

    low: float | str
    high: float | str
    nan: bool = False
    below: bool = False
    absent: float | None = None

    def or_absent(self, value: float = 0.0) -> Values:
        """The same, of an array that older files lack."""
        return self._replace(absent=value)


ANYTHING = Values(-np.inf, np.inf, nan=True)
FINITE = Values(-_LARGEST, _LARGEST)
NOT_NEGATIVE = Values(0.0, _LARGEST)
FLAG = Values(0, 1)
WHOLE = Values(-(2**63), 2**63 - 1)
COUNT = Values(0, 2**53)


def index(size: str) -> Values:
    """Indices below a size."""
    return Values(0, size, below=True)


def up_to(size: str) -> Values:
    """Numbers from 0 to a size."""
    return Values(0, size)


def sizes_of(struct: Struct, free: Collection[str] = ()) -> dict[str, int]:
    """Sizes of a struct's arrays by their names, but for some."""
    sizes: dict[str, int] = {}
    for name in type(struct).arrays:
        for size, n in zip(type(struct).fields[name].dims, getattr(struct, name).shape, strict=False):
            if isinstance(size, str) and size not in free:
                sizes[size] = n
    return sizes


def checked_arrays(
    struct: Struct, table: Mapping[str, Values], given: Any, where: str, free: Collection[str] = ()
) -> dict[str, np.ndarray]:
    """Copies of arrays by name, each of the kind and shape that a struct has, with values that it may have.

    Args:
        struct: that is to hold them.
        table: which fields, and their values.
        given: arrays by name.
        where: begins messages.
        free: names of sizes that may be others than those of the struct; the first array that has one sets it.

    Raises:
        StateError: something is missing or is not as declared; says which, where in it, and what was expected.
    """
    if not isinstance(given, Mapping):
        raise StateError(f"{where}: expected arrays by name, got {in_few_words(given)}")
    fields, sizes = type(struct).fields, sizes_of(struct, free)
    for name, values in table.items():
        if name not in given and values.absent is None:
            raise StateError(f"{where}: {name} is missing")
        for size, n in zip(fields[name].dims, getattr(given.get(name), "shape", ()), strict=False):
            if isinstance(size, str):
                sizes.setdefault(size, n)
    found = {}
    for name, values in table.items():
        kind, what = fields[name].kind, f"{where}.{name}"
        shape = [n if isinstance(n, int) else sizes[n] for n in fields[name].dims if isinstance(n, int) or n in sizes]
        if name in given:
            found[name] = checked_array(given[name], kind, shape, values, what, sizes)
        else:
            found[name] = np.full(shape, values.absent, np.int64 if kind == "i" else np.float64)
    return found


def checked_array(
    value: Any, kind: str, shape: Sequence[int], values: Values, what: str, sizes: Mapping[str, int] | None = None
) -> np.ndarray:
    """A copy of an array, int64 ("i") or float64 ("f"), of a shape and with values that it may have.

    Raises:
        StateError: it is something else; says where in it, and what was expected.
    """
    if not isinstance(value, np.ndarray) or value.dtype.kind not in ("biu" if kind == "i" else "biuf"):
        raise StateError(f"{what}: expected an array of {'whole ' if kind == 'i' else ''}numbers, got {_got(value)}")
    if value.shape != tuple(shape):
        raise StateError(f"{what}: expected the shape {tuple(shape)}, got {value.shape}")
    array = value
    low, high = (n if not isinstance(n, str) else (sizes or {})[n] for n in values[:2])
    high -= values.below
    with np.errstate(invalid="ignore"):
        good = (array >= low) & (array <= high)
        if values.nan and array.dtype.kind == "f":
            good |= np.isnan(array)
    if not good.all():
        at = tuple(int(k) for k in np.unravel_index(int(np.argmin(good)), array.shape))
        place = f"[{', '.join(map(str, at))}]" if at else ""
        raise StateError(f"{what}{place} is {array[at]}; expected {_in_words(values, low, high)}")
    return np.array(array, np.int64 if kind == "i" else np.float64, order="C")


def _got(value: Any) -> str:
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else in_few_words(value)


def _in_words(values: Values, low: float, high: float) -> str:
    or_nan = " or NaN" if values.nan else ""
    if high >= 2**53 or low <= -(2**53):
        return f"a finite number{'' if low < 0 else f' not below {low:g}'}{or_nan}"
    if high < low:
        return "nothing: there is nothing that it could be a number of"
    return f"{low:g} to {high:g}{or_nan}"


def checked_number(value: Any, values: Values, what: str, whole: bool = False) -> Any:
    """A float, or with `whole` an int, that it may be.

    Raises:
        StateError: it is something else.
    """
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    low, high = values[:2]
    assert not isinstance(low, str) and not isinstance(high, str)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        raise StateError(f"{what} is {in_few_words(value)}; expected {_in_words(values, low, high)}")
    return int(value) if whole else float(value)
