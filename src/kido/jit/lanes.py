"""Lanes: eight float64 numbers side by side, of eight states of one model, that compiled kernels treat as one.

A kernel whose handles come from `lanes_view` works on eight states at once, by the same source and with the
same rounding as on one. Lanes add, subtract, multiply, divide and negate among themselves and with numbers;
`fma`, `rint`, `floor`, `where_positive` and `math.sqrt` take them too. There is no comparison: states may
not go different ways, so a choice is a `where_positive`, and `all_positive` asks for all of them.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import lower_builtin, lower_cast, models, register_model
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AbstractTemplate, builtin_registry, signature

from kido.jit.struct import LANES

_I32 = ir.IntType(32)
_DOUBLE = ir.DoubleType()
VECTOR = ir.VectorType(_DOUBLE, LANES)
infer_global: Any = builtin_registry.register_global


class LanesType(types.Type):
    """Numba's type of lanes."""

    def __init__(self):
        super().__init__(f"Lanes[{LANES}]")

    def can_convert_from(self, typingctx, other):
        return Conversion.safe if isinstance(other, types.Float | types.Integer) else None

    def unify(self, typingctx, other):
        return self if isinstance(other, types.Float | types.Integer) else None


lanes_type = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, type_):
        super().__init__(manager, type_, VECTOR)


def splat(builder, value):
    """The same number in all lanes."""
    undefined = ir.Constant(VECTOR, ir.Undefined)
    one = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES))


@lower_cast(types.Float, LanesType)
def _float_to_lanes(context, builder, from_type, to_type, value):
    return splat(builder, context.cast(builder, value, from_type, types.float64))


@lower_cast(types.Integer, LanesType)
def _integer_to_lanes(context, builder, from_type, to_type, value):
    return splat(builder, context.cast(builder, value, from_type, types.float64))


def common_type(arguments):
    """Lanes if an argument is, else float64: what a primitive of these arguments works in."""
    return lanes_type if any(isinstance(a, LanesType) for a in arguments) else types.float64


def machine_type(type_):
    """LLVM's type of lanes or float64, and the suffix of intrinsics on it."""
    return (VECTOR, f"v{LANES}f64") if isinstance(type_, LanesType) else (_DOUBLE, "f64")


def _define_operator(symbol, instruction):
    class Operator(AbstractTemplate):
        def generic(self, args, kws):
            known = all(isinstance(a, LanesType | types.Float | types.Integer) for a in args)
            if known and len(args) == 2 and common_type(args) is lanes_type:
                return signature(lanes_type, lanes_type, lanes_type)
            return None

    infer_global(symbol)(Operator)

    @lower_builtin(symbol, LanesType, LanesType)
    def lower(context, builder, sig, args):
        return getattr(builder, instruction)(*args)


for _symbol, _in_place, _instruction in (
    (operator.add, operator.iadd, "fadd"),
    (operator.sub, operator.isub, "fsub"),
    (operator.mul, operator.imul, "fmul"),
    (operator.truediv, operator.itruediv, "fdiv"),
):
    _define_operator(_symbol, _instruction)
    _define_operator(_in_place, _instruction)


class _OfOneLanes(AbstractTemplate):
    def generic(self, args, kws):
        if len(args) == 1 and isinstance(args[0], LanesType):
            return signature(lanes_type, lanes_type)
        return None


@infer_global(operator.neg)
class _Negated(_OfOneLanes):
    pass


@lower_builtin(operator.neg, LanesType)
def _negated(context, builder, sig, args):
    if on_gpu(context):  # NVVM does not know `fneg`
        return builder.fsub(splat(builder, ir.Constant(_DOUBLE, -0.0)), args[0])
    return builder.fneg(args[0])


@infer_global(math.sqrt)
class _Root(_OfOneLanes):
    pass


@lower_builtin(math.sqrt, LanesType)
def _root(context, builder, sig, args):
    return call_intrinsic(context, builder, "sqrt", lanes_type, args)


def on_gpu(context) -> bool:
    """Whether code is made for a GPU."""
    return type(context).__module__.startswith("numba.cuda")


def call_intrinsic(context, builder, name, type_, args):
    """Call one of LLVM's own functions on numbers or lanes; on a GPU, that of CUDA's library, lane by lane."""
    if on_gpu(context) and isinstance(type_, LanesType):
        result = ir.Constant(VECTOR, ir.Undefined)
        for k in range(LANES):
            lane = ir.Constant(_I32, k)
            one = call_intrinsic(
                context, builder, name, types.float64, [builder.extract_element(a, lane) for a in args]
            )
            result = builder.insert_element(result, one, lane)
        return result
    llvm_type, suffix = machine_type(type_)
    symbol = f"__nv_{name}" if on_gpu(context) else f"llvm.{name}.{suffix}"
    function_type = ir.FunctionType(llvm_type, [llvm_type] * len(args))
    return builder.call(cgutils.get_or_insert_function(builder.module, function_type, symbol), args)
