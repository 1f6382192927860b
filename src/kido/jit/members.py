"""Members of Python objects as machine code, for properties that are read and set in a tenth of a microsecond.

A *member* is a kernel that is given Python objects as they are. It reads addresses of structs from attributes of the
first, makes arrays, and does what is usual. All else it leaves to a Python function that does the same. It keeps the
interpreter's lock. Where arrays cannot be made and read as expected, `KNOWN` is false, and the Python functions are
there alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from kido.jit.array_object import ARRAYS_CAN_BE_MADE as KNOWN
from kido.jit.compile import OPTIONS
from kido.jit.functions import OBJECT, Entry, Intrinsic
from kido.jit.image import know

__all__ = [
    "KNOWN",
    "FastProperty",
    "Member",
    "copied",
    "handle_of",
    "is_missing",
    "maker",
    "nothing",
    "number_at",
    "otherwise",
    "put",
    "vector_of",
]

_MODULE = "kido.jit.objects"
_KEPT: list[Any] = []  # what compiled code knows by address: it must stay


def _know(name: str) -> None:
    """Let compiled code know a text."""
    _KEPT.append(sys.intern(name))
    know(f"text_{name}", id(_KEPT[-1]))


def number_at(*path: str) -> Any:
    """A function that gives the integer at a path of attributes of an object; 0: there is none."""
    for name in path:
        _know(name)
    return Intrinsic(_MODULE, "number_at", *path)


def maker(*more: int) -> Any:
    """A function that makes a float64 array (n, *more) for n: the object, and its numbers to be written."""
    return Intrinsic(_MODULE, "maker", *more)


def otherwise(name: str, function: Callable[..., Any], number: int) -> Any:
    """What a member calls, with its `number` objects, where something is not as usual."""
    _KEPT.append(function)
    know(f"otherwise_{name}", id(function))
    return Intrinsic(_MODULE, "leave", name, number)


handle_of = number_at("handle")
_know("value")
is_missing, copied, vector_of, nothing, put = (
    Intrinsic(_MODULE, name) for name in ("is_missing", "copied", "vector_of", "nothing", "put")
)


class Member(Entry):
    """A member that is called with one object or two; compiled, or loaded, when it is asked for."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__(function, OBJECT, OPTIONS, direct=True)


class FastProperty(property):
    """A property of a class that loads its members when it is first used, and is these from then on.

    Args:
        plain: the property that does the same in Python.
        get, write: what makes the members; without `write` the plain setter, if there is one, stays.
    """

    def __init__(self, plain: property, get: Member, write: Member | None = None):
        self.plain, self.get, self.write = plain, get, write
        getter: Any = plain.fget

        @wraps(getter)
        def first_get(of):
            self._load()
            return getattr(of, self.name)

        super().__init__(first_get, self._first_set if write else plain.fset, None, plain.__doc__)

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def _load(self) -> None:
        write = self.write.compile() if self.write else self.plain.fset
        setattr(self.owner, self.name, property(self.get.compile(), write, doc=self.plain.__doc__))

    def _first_set(self, of: Any, value: Any) -> None:
        self._load()
        setattr(of, self.name, value)
