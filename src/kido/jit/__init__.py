"""Compiled kernels: the one place that knows Numba.

Everything above this package writes plain Python functions, marks them with `kernel`, `entry` or
`callback`, and reads its arrays through handles (`Struct`, `view`). With the environment
variable ``NUMBA_DISABLE_JIT=1`` the same sources run as ordinary Python.
"""

from kido.jit.compile import (
    JIT_DISABLED,
    LANES,
    REFUSALS,
    call4,
    callback,
    caller,
    clear,
    direct_entry,
    entry,
    inlined,
    kernel,
    lanes_samples,
    lanes_view,
    packed,
    view,
)
from kido.jit.primitives import all_positive, floor, fma, rint, where_positive
from kido.jit.struct import Struct, floats, integer, integers, number, reference, stage
from kido.jit.warmup import prepare, warmup

__all__ = [
    "JIT_DISABLED",
    "LANES",
    "REFUSALS",
    "Struct",
    "all_positive",
    "call4",
    "callback",
    "caller",
    "clear",
    "direct_entry",
    "entry",
    "floats",
    "floor",
    "fma",
    "inlined",
    "integer",
    "integers",
    "kernel",
    "lanes_samples",
    "lanes_view",
    "number",
    "packed",
    "prepare",
    "reference",
    "rint",
    "stage",
    "view",
    "warmup",
    "where_positive",
]
