"""What exists in compiled code alone: machine instructions on numbers, lanes and shared integers; calls by address."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core.extending import intrinsic

from kido.jit.lanes import call_intrinsic, common_type, lanes_type, machine_type
from kido.jit.struct import LANES

_I64 = ir.IntType(64)


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


def _pointer(builder, address):
    return builder.inttoptr(address, _I64.as_pointer())


@intrinsic
def load(typing_context, address):
    """The integer at an address."""

    def generate(context, builder, signature, args):
        return builder.load_atomic(_pointer(builder, args[0]), "seq_cst", 8)

    return types.int64(types.int64), generate


@intrinsic
def store(typing_context, address, value):
    """Write the integer at an address."""

    def generate(context, builder, signature, args):
        builder.store_atomic(args[1], _pointer(builder, args[0]), "seq_cst", 8)
        return ir.Constant(_I64, 0)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def add(typing_context, address, value):
    """Add to the integer at an address; returns what it was before."""

    def generate(context, builder, signature, args):
        return builder.atomic_rmw("add", _pointer(builder, args[0]), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def call4(typing_context, address, a, b, c, d):
    """Call the callback at `address` with four integers; returns its integer."""
    function_type = ir.FunctionType(_I64, [_I64] * 4)

    def generate(context, builder, signature, args):
        return builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])

    return types.int64(*[types.int64] * 5), generate
