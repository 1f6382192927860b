"""What exists in compiled code alone: machine instructions on numbers, lanes and shared integers; calls by address."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core.extending import intrinsic

from kido.jit.device import bound
from kido.jit.handles import call_numbered
from kido.jit.lanes import call_intrinsic, common_type, lanes_type, machine_type, on_gpu
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
        if on_gpu(context):  # there a struct belongs to one thread
            return builder.load(_pointer(builder, args[0]))
        return builder.load_atomic(_pointer(builder, args[0]), "seq_cst", 8)

    return types.int64(types.int64), generate


@intrinsic
def store(typing_context, address, value):
    """Write the integer at an address."""

    def generate(context, builder, signature, args):
        if on_gpu(context):
            builder.store(args[1], _pointer(builder, args[0]))
        else:
            builder.store_atomic(args[1], _pointer(builder, args[0]), "seq_cst", 8)
        return ir.Constant(_I64, 0)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def add(typing_context, address, value):
    """Add to the integer at an address; returns what it was before."""

    def generate(context, builder, signature, args):
        if on_gpu(context):
            before = builder.load(_pointer(builder, args[0]))
            builder.store(builder.add(before, args[1]), _pointer(builder, args[0]))
            return before
        return builder.atomic_rmw("add", _pointer(builder, args[0]), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), generate


def caller(table):
    """A function that calls the callback at an address, which stands in a table of callbacks, with four integers.

    Args:
        table: "STRUCT.field" in which it stands; on a GPU, where it is a number, this says whose.
    """
    function_type = ir.FunctionType(_I64, [_I64] * 4)

    @intrinsic
    def call(typing_context, address, a, b, c, d):
        def generate(context, builder, signature, args):
            if on_gpu(context):
                return call_numbered(context, builder, bound(table), args[0], args[1:])
            return builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])

        return types.int64(*[types.int64] * 5), generate

    return call


call4 = caller("")
