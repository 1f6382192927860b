"""Primitives of numbers and lanes that map to single machine instructions: fma, rint, floor, select, test."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kido.jit.functions import Intrinsic
from kido.jit.struct import JIT_DISABLED

if TYPE_CHECKING:

    def fma(x: float, y: float, z: float) -> float: ...
    def rint(x: float) -> float: ...
    def floor(x: float) -> float: ...
    def where_positive(m: float, x: float, y: float) -> float: ...
    def all_positive(m: float) -> bool: ...

elif JIT_DISABLED:

    def fma(x, y, z):
        """x*y + z (rounded twice when run as plain Python)."""
        return x * y + z

    def rint(x):
        """Nearest integer, ties to even, as a float."""
        return float(round(x))

    def floor(x):
        """Largest integer not above x, as a float."""
        return float(math.floor(x))

    def where_positive(m, x, y):
        """x where m > 0, else y."""
        return x if m > 0.0 else y

    def all_positive(m):
        """Whether m > 0."""
        return m > 0.0

else:
    fma, rint, floor, where_positive, all_positive = (
        Intrinsic("kido.jit.intrinsics", name) for name in ("fma", "rint", "floor", "where_positive", "all_positive")
    )
