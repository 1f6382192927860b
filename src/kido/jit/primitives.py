"""Floating-point primitives that map to single machine instructions: fma, rint, floor, select."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from numba import config, types

if TYPE_CHECKING:

    def fma(x: float, y: float, z: float) -> float: ...
    def rint(x: float) -> float: ...
    def floor(x: float) -> float: ...
    def where_positive(m: float, x: float, y: float) -> float: ...

elif config.DISABLE_JIT:

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

else:
    from llvmlite import ir
    from numba.core import cgutils
    from numba.core.extending import intrinsic

    _DOUBLE = ir.DoubleType()

    def _call(builder, name, args):
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_DOUBLE, [_DOUBLE] * len(args)), f"llvm.{name}.f64"
        )
        return builder.call(function, args)

    @intrinsic
    def fma(typing_context, x, y, z):
        """x*y + z, rounded once."""
        signature = types.float64(types.float64, types.float64, types.float64)
        return signature, lambda context, builder, sig, args: _call(builder, "fma", args)

    @intrinsic
    def rint(typing_context, x):
        """Nearest integer, ties to even, as a float."""
        signature = types.float64(types.float64)
        return signature, lambda context, builder, sig, args: _call(builder, "nearbyint", args)

    @intrinsic
    def floor(typing_context, x):
        """Largest integer not above x, as a float."""
        signature = types.float64(types.float64)
        return signature, lambda context, builder, sig, args: _call(builder, "floor", args)

    @intrinsic
    def where_positive(typing_context, m, x, y):
        """x where m > 0, else y, without a branch."""

        def generate(context, builder, sig, args):
            zero = ir.Constant(_DOUBLE, 0.0)
            return builder.select(builder.fcmp_ordered(">", args[0], zero), args[1], args[2])

        return types.float64(types.float64, types.float64, types.float64), generate
