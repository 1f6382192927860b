"""Integers that threads share: read, written and added to in one piece, and in order.

They are known by their addresses. What a thread wrote before `store` or `add` is seen by another after its `load` or
`add` of the same integer finds the result.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING

from kido.jit.functions import Intrinsic
from kido.jit.struct import JIT_DISABLED

if TYPE_CHECKING:

    def load(address: int) -> int: ...
    def store(address: int, value: int) -> int: ...
    def add(address: int, value: int) -> int: ...

elif JIT_DISABLED:

    def _at(address):
        return ctypes.c_int64.from_address(address)

    def load(address):
        """The integer at an address."""
        return _at(address).value

    def store(address, value):
        """Write the integer at an address."""
        _at(address).value = value
        return 0

    def add(address, value):
        """Add to the integer at an address; returns what it was before."""
        before = _at(address).value
        _at(address).value = before + value
        return before

else:
    load, store, add = (Intrinsic("kido.jit.intrinsics", name) for name in ("load", "store", "add"))


def yield_address() -> int:
    """Address of the operating system's function by which a thread lets others run; its arguments do not matter."""
    if sys.platform == "win32":
        function = ctypes.windll.kernel32.SwitchToThread  # type: ignore[attr-defined]
    else:
        function = ctypes.CDLL(None).sched_yield
    return ctypes.cast(function, ctypes.c_void_p).value or 0
