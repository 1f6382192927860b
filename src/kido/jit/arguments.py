"""Arguments of roots: how machine code reads what Python gives it.

A root has one signature, so its arguments need only be checked. The check of an array is on the object itself: its
type, number of dimensions, the number of its dtype and its flags.
"""

from __future__ import annotations

import ctypes

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import boxing, cgutils  # noqa: F401  (boxing: how results become objects)
from numba.core.extending import NativeValue, box, models, register_model, unbox
from numba.np.arrayobj import make_array, populate_array

from kido.jit.array_object import (
    BYTE_ORDER,
    C_CONTIGUOUS_ALIGNED_WRITEABLE,
    DATA,
    DTYPE,
    FLAGS,
    NDIM,
    SHAPE,
    TYPE,
    TYPE_NUMBER,
)
from kido.jit.handles import FieldType
from kido.jit.image import SLOT

# Of two functions that do the same, the one of C's long is twice as fast; on some systems it is too short.
_AS_INT64 = "PyLong_AsLong" if ctypes.sizeof(ctypes.c_long) == 8 else "PyLong_AsLongLong"
_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)


def known(builder, name):
    """What is known by a name (`kido.jit.image.know`), as a pointer."""
    symbol, pointer = f"{SLOT}{name}", _I8.as_pointer()
    slot = builder.module.globals.get(symbol) or ir.GlobalVariable(builder.module, pointer, symbol)
    loaded = builder.load(slot)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


class ObjectType(types.Type):
    """Numba's type of a Python object, of which nothing is known: its address."""

    def __init__(self):
        super().__init__(name="object of Python")


OBJECT = ObjectType()


@register_model(ObjectType)
class _ObjectModel(models.PrimitiveModel):
    def __init__(self, manager, type_):
        super().__init__(manager, type_, _I64)


@unbox(ObjectType)
def _unbox_object(type_, obj, c):
    return NativeValue(c.builder.ptrtoint(obj, _I64))


@box(ObjectType)
def _box_object(type_, value, c):
    return c.builder.inttoptr(value, c.pyapi.pyobj)


class ArgumentType(FieldType):
    """Numba's type of a float64 array that a direct root is given: apart from all fields that it reads."""

    def __init__(self, ndim: int):
        super().__init__("argument", "f", (0,) * ndim)


register_model(ArgumentType)(models.ArrayModel)


def array_of(context, builder, array_type, obj):
    """An array of Python as a value of compiled code, and whether it is another than the type says."""
    start = builder.ptrtoint(obj, _I64)
    refused = cgutils.alloca_once_value(builder, cgutils.true_bit)
    array = make_array(array_type)(context, builder)

    def word(address, offset, kind=_I64):
        return builder.load(builder.inttoptr(builder.add(address, _I64(offset)), kind.as_pointer()))

    def is_known(address, name):
        return builder.icmp_signed("==", address, builder.ptrtoint(known(builder, name), _I64))

    with builder.if_then(is_known(word(start, TYPE), "ndarray"), likely=True):
        flags = builder.and_(word(start, FLAGS, _I32), _I32(C_CONTIGUOUS_ALIGNED_WRITEABLE))
        good = builder.icmp_signed("==", flags, _I32(C_CONTIGUOUS_ALIGNED_WRITEABLE))
        same_rank = builder.icmp_signed("==", word(start, NDIM, _I32), _I32(array_type.ndim))
        dtype, expected = word(start, DTYPE), np.dtype(str(array_type.dtype))  # there are many equal ones: copies, say
        same_number = builder.icmp_signed("==", word(dtype, TYPE_NUMBER, _I32), _I32(expected.num))
        same_order = builder.icmp_signed("==", word(dtype, BYTE_ORDER, _I8), _I8(ord(expected.byteorder)))
        same_dtype = builder.and_(same_number, same_order)
        with builder.if_then(builder.and_(good, builder.and_(same_rank, same_dtype)), likely=True):
            builder.store(cgutils.false_bit, refused)
            sizes = word(start, SHAPE)
            shape = [word(sizes, 8 * k) for k in range(array_type.ndim)]
            strides = [_I64(8)]
            for size in reversed(shape[1:]):
                strides.insert(0, builder.mul(strides[0], size))
            populate_array(
                array,
                data=builder.inttoptr(word(start, DATA), array.data.type),
                shape=cgutils.pack_array(builder, shape),
                strides=cgutils.pack_array(builder, strides),
                itemsize=_I64(8),
                meminfo=None,
            )
    return array._getvalue(), builder.load(refused)


def _number_of(api, builder, name, failed, obj):
    """A number of Python by a function of its interpreter, and whether there is none."""
    kind = _I64 if name == _AS_INT64 else ir.DoubleType()
    value = builder.call(api._get_function(ir.FunctionType(kind, [api.pyobj]), name), [obj])
    is_error = cgutils.alloca_once_value(builder, cgutils.false_bit)
    suspicious = (builder.icmp_signed if kind is _I64 else builder.fcmp_ordered)("==", value, kind(failed))
    with builder.if_then(suspicious, likely=False):
        builder.store(cgutils.is_not_null(builder, api.err_occurred()), is_error)
    return value, builder.load(is_error)


def value_of(context, builder, api, type_, obj):
    """An object of Python as a value of compiled code, and whether it is another than the type says."""
    if isinstance(type_, types.Array):
        return array_of(context, builder, type_, obj)
    if isinstance(type_, types.Integer):
        return _number_of(api, builder, _AS_INT64, -1, obj)
    if isinstance(type_, types.Float):
        return _number_of(api, builder, "PyFloat_AsDouble", -1.0, obj)
    native = api.to_native_value(type_, obj)
    return native.value, native.is_error or cgutils.false_bit
