"""Arrays that attributes give: copies, which nobody can take for the thing itself because they cannot be written to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from kido.errors import ReadOnlyError


class _Copy(np.ndarray):
    """Type of the `base` of copies: what has one, or shows a part of what has one, is not written to."""

    __slots__ = ()


COPY = np.empty(0).view(_Copy)  # that of copies that compiled code makes


class ReadOnlyArray(np.ndarray):
    """What an attribute gives: an array that is not written to, and says how to set the attribute if it can be.

    Operations on it give ordinary arrays, and so does `copy()`; `robot.positions += 0.1` sets the attribute. A copy's
    memory may be written to, since functions of other packages ask for that and only read (SciPy's rotations, say).
    """

    __slots__ = ()
    attribute = ""  # that is set by assigning a whole array; "": a result, which is not set
    example = ""  # of how else it may be set

    def _is_fixed(self) -> bool:
        """Whether it is what an attribute gave, or a part of that: NumPy makes new arrays of this type too."""
        base = self.base
        part = isinstance(base, ReadOnlyArray) and base._is_fixed()
        return part or type(base) is _Copy or not self.flags.writeable

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        own = "; copy() gives an array of your own"
        if not self.attribute:
            raise ReadOnlyError(f"this array is read-only: a result, or part of a value that does not change{own}")
        how = f"assign a whole array to {self.attribute}" + (f", or use {self.example}" if self.example else "")
        raise ReadOnlyError(
            f"{self.attribute}: this array is a copy, and writing to it would change nothing; {how}{own}"
        )

    if not TYPE_CHECKING:
        __array_priority__ = -1.0  # what is made of it and an ordinary array is an ordinary one

        def __setitem__(self, key, value):
            if self._is_fixed():
                self._refuse()
            super().__setitem__(key, value)

        def __array_wrap__(self, array, context=None, return_scalar=False):
            return array[()] if return_scalar else array

        def copy(self, order="C"):
            """An ordinary array."""
            return np.array(self, order=order)

        def __deepcopy__(self, memo):
            return np.array(self)

        def __reduce__(self):
            return np.array(self).__reduce__()

        def __repr__(self):
            return repr(self.view(np.ndarray))

        __copy__ = copy


def _guarded(name: str) -> Any:
    def call(self: Any, *args: Any, **options: Any) -> Any:
        if self._is_fixed():
            self._refuse()
        return getattr(np.ndarray, name)(self, *args, **options)

    return call


def _in_place(operation: str) -> Any:
    """`a += b` with an array that is not written to: a = a + b, which is what setters want."""

    def call(self: Any, other: Any) -> Any:
        if not self._is_fixed():
            return getattr(np.ndarray, f"__i{operation}__")(self, other)
        return getattr(np.ndarray, f"__{operation}__")(self, other)

    return call


for _name in ("fill", "sort", "partition", "put", "byteswap", "setfield"):
    setattr(ReadOnlyArray, _name, _guarded(_name))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"):
    setattr(ReadOnlyArray, f"__i{_name}__", _in_place(_name))


def settable(attribute: str, example: str = "") -> type[ReadOnlyArray]:
    """The type of arrays that an attribute gives.

    Args:
        attribute: its name.
        example: a call that sets some of it.
    """
    return type("ReadOnlyArray", (ReadOnlyArray,), {"__slots__": (), "attribute": attribute, "example": example})


def read_only_copy(kind: type[ReadOnlyArray], array: NDArray[Any]) -> Any:
    """A copy of an array, of a type."""
    return array.copy().view(_Copy).view(kind)


def fixed(array: NDArray[Any]) -> Any:
    """The numbers of an array, not to be written to by it."""
    result = array.view(ReadOnlyArray)
    result.setflags(False)  # type: ignore[call-arg]  (its stub has it by name only)
    return result
