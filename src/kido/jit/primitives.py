"""Primitives of numbers and lanes that map to single machine instructions: fma, rint, floor, select, test."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from numba import config, types

if TYPE_CHECKING:

    def fma(x: float, y: float, z: float) -> float: ...
    def rint(x: float) -> float: ...
    def floor(x: float) -> float: ...
    def where_positive(m: float, x: float, y: float) -> float: ...
    def all_positive(m: float) -> bool: ...

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

    def all_positive(m):
        """Whether m > 0."""
        return m > 0.0

else:
    from llvmlite import ir
    from numba.core.extending import intrinsic

    from kido.jit.lanes import LANES, call_intrinsic, common_type, lanes_type, machine_type

    def _signature(*arguments):
        result = common_type(arguments)
        return result(*[result] * len(arguments))

    def _positive(builder, type_, value):
        return builder.fcmp_ordered(">", value, ir.Constant(machine_type(type_)[0], None))

    def _calls(name):
        def generate(context, builder, sig, args):
            return call_intrinsic(context, builder, name, sig.return_type, args)

        return generate

    @intrinsic
    def fma(typing_context, x, y, z):
        """x*y + z, rounded once."""
        return _signature(x, y, z), _calls("fma")

    @intrinsic
    def rint(typing_context, x):
        """Nearest integer, ties to even, as a float."""
        return _signature(x), _calls("nearbyint")

    @intrinsic
    def floor(typing_context, x):
        """Largest integer not above x, as a float."""
        return _signature(x), _calls("floor")

    @intrinsic
    def where_positive(typing_context, m, x, y):
        """x where m > 0, else y, without a branch."""

        def generate(context, builder, sig, args):
            return builder.select(_positive(builder, sig.args[0], args[0]), args[1], args[2])

        return _signature(m, x, y), generate

    @intrinsic
    def all_positive(typing_context, m):
        """Whether m > 0; of lanes, whether all are."""

        def generate(context, builder, sig, args):
            positive = _positive(builder, sig.args[0], args[0])
            if sig.args[0] is not lanes_type:
                return positive
            bits = ir.IntType(LANES)
            return builder.icmp_unsigned("==", builder.bitcast(positive, bits), ir.Constant(bits, 2**LANES - 1))

        return types.boolean(common_type((m,))), generate
