"""What a batch is given: batch-first arrays, checked before anything is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.batch.states import first_not_finite
from kido.errors import StateError
from kido.math.transform import as_numbers

if TYPE_CHECKING:
    from kido.skeleton import Skeleton

Array = NDArray[np.float64]


def rows_of(skeleton: Skeleton, what: str, value: ArrayLike, ndim: int = 2) -> Array:
    """Finite numbers of shape (samples, dofs), or (samples, steps, dofs); one state stands for all samples.

    Raises:
        StateError: other shape, not numbers, or not finite; names the sample and the coordinate.
    """
    dofs = skeleton.num_dofs
    array: Any = value
    if type(array) is not np.ndarray or array.dtype != np.float64 or not array.flags.carray:
        try:
            array = np.array(value, order="C").astype(np.float64, casting="same_kind")
        except (TypeError, ValueError):
            raise StateError(f"{_name(skeleton)}: {what}: expected numbers, got {_short(value)}") from None
    if array.ndim == 1:
        array = array[None]
    if array.ndim == 2 and ndim == 3:
        array = array[:, None]
    if array.ndim != ndim or array.shape[-1] != dofs:
        wanted = "(samples, dofs)" if ndim == 2 else "(samples, dofs) or (samples, steps, dofs)"
        raise StateError(
            f"{_name(skeleton)}: {what}: expected the shape {wanted} with {dofs} dofs, or one state of {dofs} "
            f"numbers, got an array of shape {np.shape(value)}"
        )
    bad = first_not_finite(array.reshape(-1).view(np.int64))
    if bad >= 0:
        _raise_not_finite(skeleton, what, array, bad)
    return array


def wrenches_of(skeleton: Skeleton, wrenches: ArrayLike) -> Array:
    """Finite external wrenches (samples, bodies, 6); (bodies, 6) stand for all samples.

    Raises:
        StateError: other shape, not numbers, or not finite; names the sample and the body.
    """
    try:
        array = as_numbers(wrenches)
    except (TypeError, ValueError):
        raise StateError(f"{_name(skeleton)}: wrenches: expected numbers, got {_short(wrenches)}") from None
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3 or array.shape[1:] != (skeleton.num_bodies, 6):
        raise StateError(
            f"{_name(skeleton)}: wrenches: expected the shape (samples, bodies, 6) with {skeleton.num_bodies} bodies, "
            f"or (bodies, 6), got an array of shape {np.shape(wrenches)}"
        )
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        sample, body, number = bad[0]
        raise StateError(
            f"{_name(skeleton)}: wrenches: expected finite numbers, got {array[sample, body, number]} in sample "
            f"{sample} for body {skeleton.bodies[body].name!r}"
        )
    return np.ascontiguousarray(array)


def common_count(skeleton: Skeleton, **given: Array) -> int:
    """Number of samples: that of all arguments which are not a single state.

    Raises:
        StateError: they differ.
    """
    counts = {what: len(array) for what, array in given.items() if len(array) != 1}
    if not counts:
        return 1
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{n} of {what}" for what, n in counts.items())
        raise StateError(f"{_name(skeleton)}: expected as many samples of each argument, got {listed}")
    return next(iter(counts.values()))


def result(out: Array | None, shape: tuple[int, ...], what: str = "out") -> Array:
    """The array to write: `out` if it is given and fits, else a new one.

    Raises:
        StateError: `out` is no writeable, C-contiguous float64 array of the shape.
    """
    if out is None:
        return np.empty(shape)
    if type(out) is not np.ndarray or out.dtype != np.float64 or out.shape != shape or not out.flags.carray:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else repr(out)
        raise StateError(f"{what}: expected a writeable, C-contiguous float64 array of shape {shape}, got {got}")
    return out


def apart(array: Array, out: Array) -> Array:
    """The array, or a copy of it where memory of it that belongs to other samples would be written."""
    if not np.may_share_memory(array, out):
        return array
    same = out.ctypes.data == array.ctypes.data and out.shape == array.shape
    return array if same else array.copy()


def finite_number(what: str, value: Any, positive: bool = False) -> float:
    """A finite number.

    Raises:
        StateError: it is none, or not positive where that is asked.
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not np.isfinite(number) or (positive and number <= 0.0):
        raise StateError(f"{what}: expected a {'positive ' if positive else ''}finite number, got {value!r}")
    return number


def numbers(what: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Numbers of a shape, in C order; not a copy where they are so already.

    Raises:
        StateError: they are none, or of another shape.
    """
    array: Any = value
    if type(array) is not np.ndarray or array.dtype != np.float64 or not array.flags.c_contiguous:
        try:
            array = as_numbers(value)
        except (TypeError, ValueError):
            raise StateError(f"{what}: expected numbers, got {_short(value)}") from None
    if array.shape != shape:
        raise StateError(f"{what}: expected an array of shape {shape}, got one of shape {array.shape}")
    return array


def whole_number(what: str, value: Any) -> int:
    """A whole number above zero.

    Raises:
        StateError: it is none.
    """
    if type(value) is int and 0 < value < 2**63:
        return value
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 < value < 2**63:
        raise StateError(f"{what}: expected a whole number above 0, got {value!r}")
    return int(value)


def _raise_not_finite(skeleton: Skeleton, what: str, array: Array, index: int) -> NoReturn:
    place = np.unravel_index(index, array.shape)
    dof = int(place[-1])
    step = f", step {place[1]}" if array.ndim == 3 and array.shape[1] > 1 else ""
    raise StateError(
        f"{_name(skeleton)}: {what}: expected finite numbers, got {array[place]} in sample {place[0]}{step} for dof "
        f"{dof} ({skeleton.dofs[dof].name!r})"
    )


def _name(skeleton: Skeleton) -> str:
    return f"skeleton {skeleton.name!r}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "..."
