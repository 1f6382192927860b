"""Handles whose float fields are dual numbers, and the intrinsics of kernels for duals."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core.extending import intrinsic, models, register_model

from kido.jit.duals.numbers import DualType, constant, dual_type, multiply, value_of, with_value
from kido.jit.handles import FieldType, HandleType, StageType, StructType, _checked_handle, _HandleModel
from kido.jit.lanes import call_intrinsic
from kido.jit.struct import StructKind

_DOUBLE = ir.DoubleType()


class DualFieldType(FieldType):
    """Numba's type of an array field of duals."""

    def __init__(self, field: str, kind: str, dims: tuple[int, ...]):
        self.field, self.kind, self.dims = field, kind, dims
        self.target = "lanes" if kind == "f" else "scalar"  # as it lies in memory
        element = dual_type if kind == "f" else types.int64
        types.Array.__init__(self, element, len(dims), "C", name=f"Dual:{field}{kind}{dims}")


class DualHandleType(HandleType):
    """Numba's type of a handle of a struct of duals."""

    def __init__(self, struct: StructKind):
        super().__init__(struct, "dual")

    def field_type(self, name: str) -> types.Type | None:
        """Type of an attribute; None: there is none of this name."""
        field = self.struct.fields.get(name)
        if field is not None and field.is_array:
            _, kind, dims = field.key
            return DualFieldType(f"{self.struct.__name__}.{name}", kind, dims)
        if field is not None and field.kind == "r":
            return DualHandleType(field.struct)
        if field is not None and field.kind == "s":
            return StageType(None)
        return super().field_type(name)


register_model(DualFieldType)(models.ArrayModel)
register_model(DualHandleType)(_HandleModel)


@intrinsic
def view(typing_context, struct, address):
    """The struct of duals at `address` as a handle."""
    if not isinstance(struct, StructType):
        return None
    handle = DualHandleType(struct.struct)

    def generate(context, builder, sig, args):
        return _checked_handle(context, builder, handle, args[1])

    return handle(struct, types.int64), generate


def _type(*arguments):
    return dual_type if any(isinstance(a, DualType) for a in arguments) else types.float64


@intrinsic
def fma(typing_context, x, y, z):
    """x*y + z; the value is rounded once."""
    kind = _type(x, y, z)

    def generate(context, builder, sig, args):
        if kind is not dual_type:
            return call_intrinsic(context, builder, "fma", kind, args)
        values = [value_of(builder, a) for a in args]
        made = builder.fadd(multiply(context, builder, args[0], args[1]), args[2])
        return with_value(builder, made, call_intrinsic(context, builder, "fma", types.float64, values))

    return kind(kind, kind, kind), generate


def _step(name):
    """Generator of a function whose derivative is zero."""

    def generate(context, builder, sig, args):
        if sig.return_type is not dual_type:
            return call_intrinsic(context, builder, name, sig.return_type, args)
        value = value_of(builder, args[0])
        return constant(builder, call_intrinsic(context, builder, name, types.float64, [value]))

    return generate


@intrinsic
def rint(typing_context, x):
    """Nearest integer, ties to even."""
    return _type(x)(_type(x)), _step("nearbyint")


@intrinsic
def floor(typing_context, x):
    """Largest integer not above x."""
    return _type(x)(_type(x)), _step("floor")


@intrinsic
def where_positive(typing_context, m, x, y):
    """x where m > 0, else y."""
    kind, condition = _type(x, y), _type(m)

    def generate(context, builder, sig, args):
        value = value_of(builder, args[0]) if condition is dual_type else args[0]
        return builder.select(builder.fcmp_ordered(">", value, _DOUBLE(0.0)), args[1], args[2])

    return kind(condition, kind, kind), generate


@intrinsic
def all_positive(typing_context, m):
    """Whether m > 0."""

    def generate(context, builder, sig, args):
        value = value_of(builder, args[0]) if sig.args[0] is dual_type else args[0]
        return builder.fcmp_ordered(">", value, _DOUBLE(0.0))

    return types.boolean(_type(m)), generate
