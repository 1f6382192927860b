"""Kernels and callbacks made anew for dual numbers, from the same source.

A kernel's code is kept, and what it names is exchanged: `view` gives handles of duals, other kernels are those for
duals, a lane is one number. So all that a callback calls follows, however deep.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any

from kido.jit.functions import Callback, Intrinsic, Kernel, Root
from kido.jit.naming import symbol

_HANDLES = "kido.jit.duals.handles"
_OF_DUALS = {
    name: Intrinsic(_HANDLES, name) for name in ("view", "fma", "rint", "floor", "where_positive", "all_positive")
}
_OF_DUALS["lanes_view"] = _OF_DUALS["view"]
_MAKING = ("functions", "handles", "numbers")  # modules that decide what code is made
_KEPT = ("call4", "caller", "clear", "load", "store", "add")  # work on addresses and memory
_replaced: dict[Any, Kernel] = {}
_constants = {"LANES": 1}  # by the name that kernels know them by
_made: dict[Any, Kernel] = {}
_callbacks: dict[Any, DualCallback] = {}


def replaced_by(kernel: Any, other: Any) -> None:
    """Have another kernel, itself made for duals, stand for one; before anything is made."""
    _replaced[kernel] = other


def constant_is(name: str, value: int) -> None:
    """Have kernels for duals see another number under a name; before anything is made."""
    _constants[name] = value


@cache
def _stamp() -> str:
    """Hash of what makes duals and of kernels that stand for others: part of the names under which code is kept."""
    from kido.jit.cache import source_stamp  # it needs Numba

    texts = [(Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8") for name in _MAKING]
    texts += [repr(sorted(_constants.items()))]
    texts += sorted(f"{k.__qualname__} {v.__qualname__} {source_stamp(v.__module__)}" for k, v in _replaced.items())
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def _names(code: CodeType) -> set[str]:
    found = set(code.co_names)
    for value in code.co_consts:
        if isinstance(value, CodeType):
            found |= _names(value)
    return found


def _converted(name: str, value: Any) -> Any:
    """What stands for a global of a kernel."""
    if isinstance(value, Root):
        value = value.kernel
    if isinstance(value, Kernel):
        return dual_kernel(value)
    if isinstance(value, Intrinsic):
        if value.__name__.split("_")[0] in _KEPT:
            return value
        if value.__name__ not in _OF_DUALS:
            raise TypeError(f"{value.__name__} has no form for dual numbers")
        return _OF_DUALS[value.__name__]
    return _constants.get(name, value)


def dual_kernel(kernel: Any) -> Kernel:
    """A kernel for duals."""
    kernel = _replaced.get(kernel, kernel)
    if kernel in _made:
        return _made[kernel]
    function = kernel.py_func
    known: dict[str, Any] = {"__builtins__": __builtins__, "__name__": function.__module__}
    closure = tuple(CellType(None) for _ in function.__closure__ or ())
    copy = FunctionType(function.__code__, known, function.__name__, function.__defaults__, closure or None)
    copy.__qualname__ = f"dual_{_stamp()}_{function.__qualname__}"
    copy.__module__ = function.__module__
    made = _made[kernel] = Kernel(copy, kernel.options)
    for name in _names(function.__code__) & function.__globals__.keys():
        known[name] = _converted(name, function.__globals__[name])
    for cell, old in zip(closure, function.__closure__ or (), strict=True):
        cell.cell_contents = _converted("", old.cell_contents)
    return made


class DualCallback(Callback):
    """A callback for structs of duals: compiled when its address is asked for, and no part of what is built ahead."""

    def __init__(self, kernel: Kernel):
        self.kernel = dual_kernel(kernel)
        self.function, self.signature, self.direct = self.kernel.py_func, "i8(i8,i8,i8,i8)", False
        self.origin, self._address, self._kept, self._function = "", 0, None, None

    @property
    def symbol(self) -> str:
        """Its name in libraries."""
        return symbol(self.function, self.signature)


def dual_callback(function: Any) -> DualCallback:
    """The form of a callback for duals, or of a kernel with the arguments of one."""
    kernel = function.kernel if isinstance(function, Root) else function
    if kernel not in _callbacks:
        _callbacks[kernel] = DualCallback(kernel)
    return _callbacks[kernel]
