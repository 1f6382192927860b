"""Dual numbers x + sum_k x_k eps_k, eps_j eps_k = 0, as a type of compiled code: vectors of a value and derivatives.

Arithmetic and the functions that kernels call take duals and numbers; comparisons look at values alone, so that
branches go the way of the value. Functions that are not listed here do not compile with duals: no derivative is lost
unseen, but where a field of one word takes the value of a dual.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.extending import lower_builtin, lower_cast, models, register_model
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AbstractTemplate, signature

from kido.jit.lanes import VECTOR, call_intrinsic, infer_global, splat
from kido.jit.struct import LANES

_I32, _DOUBLE = ir.IntType(32), ir.DoubleType()
_FIRST = ir.Constant(_I32, 0)
_ZERO = ir.Constant(VECTOR, [ir.Constant(_DOUBLE, 0.0)] * LANES)


class DualType(types.Type):
    """Numba's type of dual numbers."""

    def __init__(self):
        super().__init__(f"Dual[{LANES - 1}]")

    def can_convert_from(self, typingctx, other):
        return Conversion.safe if isinstance(other, types.Float | types.Integer) else None

    def unify(self, typingctx, other):
        return self if isinstance(other, types.Float | types.Integer) else None


dual_type = DualType()
_NUMBERS = types.Float | types.Integer


@register_model(DualType)
class _DualModel(models.PrimitiveModel):
    def __init__(self, manager, type_):
        super().__init__(manager, type_, VECTOR)


def constant(builder, value):
    """A dual without derivatives."""
    return builder.insert_element(_ZERO, value, _FIRST)


def value_of(builder, dual):
    """Lane 0."""
    return builder.extract_element(dual, _FIRST)


def with_value(builder, dual, value):
    """The derivatives of a dual with another value."""
    return builder.insert_element(dual, value, _FIRST)


@lower_cast(types.Float, DualType)
@lower_cast(types.Integer, DualType)
def _number_to_dual(context, builder, from_type, to_type, value):
    return constant(builder, context.cast(builder, value, from_type, types.float64))


@lower_cast(DualType, types.Float)
def _dual_to_number(context, builder, from_type, to_type, value):
    return value_of(builder, value)  # only where a field of one word is set


def _kind(type_):
    """A dual or a float64; None: neither."""
    if isinstance(type_, DualType):
        return dual_type
    return types.float64 if isinstance(type_, _NUMBERS) else None


def _kinds(args):
    """Those of arguments of which one is a dual; None: else."""
    kinds = [_kind(a) for a in args]
    return kinds if None not in kinds and dual_type in kinds else None


def _fma(context, builder, a, b, c):
    function = ir.FunctionType(VECTOR, [VECTOR] * 3)
    name = f"llvm.fma.v{LANES}f64"
    found = builder.module.globals.get(name) or ir.Function(builder.module, function, name)
    return builder.call(found, [a, b, c])


def add(context, builder, a, b):
    return builder.fadd(a, b)


def subtract(context, builder, a, b):
    return builder.fsub(a, b)


def multiply(context, builder, a, b):
    x, y = value_of(builder, a), value_of(builder, b)
    made = _fma(context, builder, splat(builder, x), b, builder.fmul(splat(builder, y), a))
    return with_value(builder, made, builder.fmul(x, y))


def scale(context, builder, a, y):
    return builder.fmul(a, splat(builder, y))


def divide(context, builder, a, b):
    x, y = value_of(builder, a), value_of(builder, b)
    q = builder.fdiv(x, y)
    made = builder.fsub(a, builder.fmul(splat(builder, q), b))
    return with_value(builder, builder.fmul(made, splat(builder, builder.fdiv(_DOUBLE(1.0), y))), q)


def _operator(symbols, both, left, right):
    """Define an operator of two duals, of a dual and a number, of a number and a dual."""
    for symbol in symbols:

        class Operator(AbstractTemplate):
            def generic(self, args, kws):
                kinds = _kinds(args) if len(args) == 2 else None
                return kinds and signature(dual_type, *kinds)

        infer_global(symbol)(Operator)

        for kinds, made in (
            ((DualType, DualType), both),
            ((DualType, types.Float), left),
            ((types.Float, DualType), right),
        ):

            def lower(context, builder, sig, args, made=made):
                return made(context, builder, *args)

            lower_builtin(symbol, *kinds)(lower)


def _quotient(context, builder, x, b):
    """A number over a dual."""
    y = value_of(builder, b)
    q = builder.fdiv(x, y)
    return with_value(builder, builder.fmul(b, splat(builder, builder.fneg(builder.fdiv(q, y)))), q)


_operator(
    (operator.add, operator.iadd),
    add,
    lambda c, b, x, y: b.insert_element(x, b.fadd(value_of(b, x), y), _FIRST),
    lambda c, b, x, y: b.insert_element(y, b.fadd(x, value_of(b, y)), _FIRST),
)
_operator(
    (operator.sub, operator.isub),
    subtract,
    lambda c, b, x, y: b.insert_element(x, b.fsub(value_of(b, x), y), _FIRST),
    lambda c, b, x, y: b.insert_element(b.fneg(y), b.fsub(x, value_of(b, y)), _FIRST),
)
_operator((operator.mul, operator.imul), multiply, scale, lambda c, b, x, y: scale(c, b, y, x))
_operator(
    (operator.truediv, operator.itruediv),
    divide,
    lambda c, b, x, y: b.fdiv(x, splat(b, y)),
    _quotient,
)


def _comparison(symbol, sign):
    class Comparison(AbstractTemplate):
        def generic(self, args, kws):
            kinds = _kinds(args) if len(args) == 2 else None
            return kinds and signature(types.boolean, *kinds)

    infer_global(symbol)(Comparison)

    def lower(context, builder, sig, args):
        values = [value_of(builder, a) if isinstance(k, DualType) else a for k, a in zip(sig.args, args, strict=True)]
        compare = builder.fcmp_unordered if sign == "!=" else builder.fcmp_ordered
        return compare(sign, *values)

    for kinds in ((DualType, DualType), (DualType, types.Float), (types.Float, DualType)):
        lower_builtin(symbol, *kinds)(lower)


for _symbol, _sign in (
    (operator.lt, "<"),
    (operator.le, "<="),
    (operator.gt, ">"),
    (operator.ge, ">="),
    (operator.eq, "=="),
    (operator.ne, "!="),
):
    _comparison(_symbol, _sign)


def _function(symbol, result=dual_type):
    """Define a function of one dual."""

    class OfOne(AbstractTemplate):
        def generic(self, args, kws):
            if len(args) == 1 and isinstance(args[0], DualType):
                return signature(result, dual_type)
            return None

    infer_global(symbol)(OfOne)

    def decorate(made):
        def lower(context, builder, sig, args):
            return made(context, builder, args[0])

        lower_builtin(symbol, DualType)(lower)
        return made

    return decorate


def _of_value(context, builder, name, *values):
    return call_intrinsic(context, builder, name, types.float64, values)


@_function(operator.neg)
def negate(context, builder, a):
    return builder.fneg(a)


@_function(operator.pos)
def _same(context, builder, a):
    return a


@_function(math.sqrt)
def root(context, builder, a):
    """The derivative at 0 counts as 0."""
    r = _of_value(context, builder, "sqrt", value_of(builder, a))
    zero = builder.fcmp_ordered("==", r, _DOUBLE(0.0))
    rate = builder.select(zero, _DOUBLE(0.0), builder.fdiv(_DOUBLE(0.5), r))
    return with_value(builder, builder.fmul(a, splat(builder, rate)), r)


def _magnitude(context, builder, a):
    negative = builder.fcmp_ordered("<", value_of(builder, a), _DOUBLE(0.0))
    made = builder.select(negative, builder.fneg(a), a)
    return with_value(builder, made, _of_value(context, builder, "fabs", value_of(builder, a)))


_function(abs)(_magnitude)
_function(math.fabs)(_magnitude)


def _elementary(symbol, name, rate):
    """A function of LLVM's by its derivative."""

    @_function(symbol)
    def made(context, builder, a):
        x = value_of(builder, a)
        value = _of_value(context, builder, name, x)
        factor = rate(context, builder, x, value)
        return with_value(builder, builder.fmul(a, splat(builder, factor)), value)


_elementary(math.sin, "sin", lambda c, b, x, y: _of_value(c, b, "cos", x))
_elementary(math.cos, "cos", lambda c, b, x, y: b.fneg(_of_value(c, b, "sin", x)))
_elementary(math.exp, "exp", lambda c, b, x, y: y)
_elementary(math.log, "log", lambda c, b, x, y: b.fdiv(_DOUBLE(1.0), x))


def _of_number(symbol, result):
    """Lower a function of a dual, without derivative, by that of numbers."""

    @_function(symbol, result)
    def made(context, builder, a):
        of = context.typing_context.resolve_value_type(symbol)
        found = context.typing_context.resolve_function_type(of, (types.float64,), {})
        y = context.get_function(of, found)(builder, [value_of(builder, a)])
        return context.cast(builder, y, found.return_type, result)


for _symbol, _result in (
    (math.isfinite, types.boolean),
    (math.isinf, types.boolean),
    (math.isnan, types.boolean),
    (math.floor, types.int64),
    (int, types.int64),
):
    _of_number(_symbol, _result)


class _Extreme(AbstractTemplate):
    def generic(self, args, kws):
        return signature(dual_type, *[dual_type] * len(args)) if len(args) > 1 and _kinds(args) else None


def _extreme(symbol, sign):
    """The first of the least or largest values, as of numbers."""

    def lower(context, builder, sig, args):
        found, *others = args
        for other in others:
            better = builder.fcmp_ordered(sign, value_of(builder, other), value_of(builder, found))
            found = builder.select(better, other, found)
        return found

    infer_global(symbol)(_Extreme)
    for count in (2, 3, 4):
        lower_builtin(symbol, *[DualType] * count)(lower)


_extreme(min, "<")
_extreme(max, ">")


@infer_global(math.copysign)
class _Copysign(AbstractTemplate):
    def generic(self, args, kws):
        return signature(dual_type, dual_type, dual_type) if len(args) == 2 and _kinds(args) else None


@lower_builtin(math.copysign, DualType, DualType)
def _copysign(context, builder, sig, args):
    x, y = value_of(builder, args[0]), value_of(builder, args[1])
    value = _of_value(context, builder, "copysign", x, y)
    other = builder.fcmp_ordered("<", builder.fmul(value, x), _DOUBLE(0.0))
    return with_value(builder, builder.select(other, builder.fneg(args[0]), args[0]), value)


@infer_global(math.atan2)
class _Arctangent(AbstractTemplate):
    def generic(self, args, kws):
        return signature(dual_type, dual_type, dual_type) if len(args) == 2 and _kinds(args) else None


@lower_builtin(math.atan2, DualType, DualType)
def _atan2(context, builder, sig, args):
    y, x = value_of(builder, args[0]), value_of(builder, args[1])
    of: Any = context.typing_context.resolve_value_type(math.atan2)
    found = context.typing_context.resolve_function_type(of, (types.float64, types.float64), {})
    value = context.get_function(of, found)(builder, [y, x])
    square = builder.fadd(builder.fmul(x, x), builder.fmul(y, y))
    made = builder.fsub(
        builder.fmul(args[0], splat(builder, builder.fdiv(x, square))),
        builder.fmul(args[1], splat(builder, builder.fdiv(y, square))),
    )
    return with_value(builder, made, value)


class _Power(AbstractTemplate):
    def generic(self, args, kws):
        if len(args) == 2 and isinstance(args[0], DualType) and isinstance(args[1], _NUMBERS):
            return signature(dual_type, dual_type, types.int64 if isinstance(args[1], types.Integer) else types.float64)
        return None


infer_global(operator.pow)(_Power)


def _power(context, builder, sig, args):
    """x^n, n a number; at x = 0 for whole n > 0 alone."""
    x, n, exponent = value_of(builder, args[0]), args[1], sig.args[1]
    of: Any = context.typing_context.resolve_value_type(operator.pow)
    found = context.typing_context.resolve_function_type(of, (types.float64, exponent), {})
    power = context.get_function(of, found)
    if exponent is types.int64:
        below, factor = builder.sub(n, ir.Constant(n.type, 1)), builder.sitofp(n, _DOUBLE)
    else:
        below, factor = builder.fsub(n, _DOUBLE(1.0)), n
    rate = builder.fmul(factor, power(builder, [x, below]))
    return with_value(builder, builder.fmul(args[0], splat(builder, rate)), power(builder, [x, n]))


lower_builtin(operator.pow, DualType, types.Integer)(_power)
lower_builtin(operator.pow, DualType, types.Float)(_power)
