"""Entries called without Numba's dispatcher, for calls that take less than a microsecond.

The dispatcher finds a function for the types of its arguments; an entry has one signature, so its arguments
need only be checked. The check here is on the array object itself: its type, number of dimensions, the
identity of its dtype and its flags. Arrays that are not to be written to are taken: what an entry writes to is its
caller's. Where an array object looks otherwise than expected (another Python
implementation, say), `LAYOUT_KNOWN` is false and ordinary entries take over.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import (
    boxing,  # noqa: F401  (fills the table that is changed below)
    cgutils,
    pythonapi,
    sigutils,
)
from numba.core.extending import NativeValue, models, register_model, unbox
from numba.core.typing import templates
from numba.np.arrayobj import make_array, populate_array

from kido.jit.handles import FieldType

# Offsets in NumPy's array object, part of its stable binary interface.
TYPE, DATA, NDIM, SHAPE, DTYPE, FLAGS = 8, 16, 24, 32, 56, 64
READABLE, WRITEABLE = 0x0001 | 0x0100, 0x0400  # C-contiguous and aligned
_PLACE_OF_NEW = 93  # PyArray_New in NumPy's table of functions, part of it too
_FLOAT64 = np.dtype(np.float64)
# Of two functions that do the same, the one of C's long is twice as fast; on some systems it is too short.
_AS_INT64 = "PyLong_AsLong" if ctypes.sizeof(ctypes.c_long) == 8 else "PyLong_AsLongLong"
_I32, _I64 = ir.IntType(32), ir.IntType(64)

# Addresses under names, because compiled code outlives the process in the cache.
binding.add_symbol("kido_ndarray", id(np.ndarray))
binding.add_symbol("kido_float64", id(_FLOAT64))


def _layout_is_known() -> bool:
    probe = np.zeros((2, 3))

    def word(offset: int, kind: Any = ctypes.c_int64) -> int:
        return kind.from_address(id(probe) + offset).value

    flags = word(FLAGS, ctypes.c_int32) if probe.__sizeof__() > FLAGS else 0
    return (
        flags & (READABLE | WRITEABLE) == READABLE | WRITEABLE
        and word(TYPE) == id(np.ndarray)
        and word(DATA) == probe.ctypes.data
        and word(NDIM, ctypes.c_int32) == 2
        and word(DTYPE) == id(_FLOAT64)
        and tuple((ctypes.c_int64 * 2).from_address(word(SHAPE))) == (2, 3)
    )


LAYOUT_KNOWN = _layout_is_known()


def _array_maker() -> int:
    """Address of NumPy's function that makes an array; 0: it is none that makes one."""
    try:
        from numpy._core._multiarray_umath import _ARRAY_API as capsule
    except ImportError:
        return 0
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer_of(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    return table[_PLACE_OF_NEW] or 0


NEW_ARRAY = _array_maker() if LAYOUT_KNOWN else 0


class ArgumentType(FieldType):
    """Numba's type of a float64 array that a direct entry is given: apart from all fields that it reads."""

    def __init__(self, ndim: int):
        super().__init__("argument", "f", (0,) * ndim)


register_model(ArgumentType)(models.ArrayModel)


@unbox(ArgumentType)
def _unbox_argument(array_type, obj, c):
    builder, module = c.builder, c.builder.module
    start = builder.ptrtoint(obj, _I64)
    refused = cgutils.alloca_once_value(builder, cgutils.true_bit)
    array = make_array(array_type)(c.context, builder)

    def word(address, offset, kind=_I64):
        return builder.load(builder.inttoptr(builder.add(address, _I64(offset)), kind.as_pointer()))

    def address_of(symbol):
        known = module.globals.get(symbol)
        return builder.ptrtoint(known or ir.GlobalVariable(module, ir.IntType(8), symbol), _I64)

    kind, ndarray = word(start, TYPE), address_of("kido_ndarray")
    is_array = cgutils.alloca_once_value(builder, builder.icmp_signed("==", kind, ndarray))
    with builder.if_then(builder.not_(builder.load(is_array)), likely=False):
        derives = c.pyapi._get_function(ir.FunctionType(_I32, [c.pyapi.pyobj] * 2), "PyType_IsSubtype")
        types_of = (builder.inttoptr(k, c.pyapi.pyobj) for k in (kind, ndarray))
        builder.store(builder.icmp_signed("!=", builder.call(derives, list(types_of)), _I32(0)), is_array)
    with builder.if_then(builder.load(is_array), likely=True):
        flags = builder.and_(word(start, FLAGS, _I32), _I32(READABLE))
        good = builder.icmp_signed("==", flags, _I32(READABLE))
        same_rank = builder.icmp_signed("==", word(start, NDIM, _I32), _I32(array_type.ndim))
        same_dtype = builder.icmp_signed("==", word(start, DTYPE), address_of("kido_float64"))
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
    is_error = builder.load(refused)
    with builder.if_then(is_error, likely=False):
        c.pyapi.err_set_string("PyExc_TypeError", f"expected a C-contiguous float64 array of rank {array_type.ndim}")
    return NativeValue(array._getvalue(), is_error=is_error)


def _unbox_integer(type_, obj, c):
    """An integer by one call, where Numba's own way makes four; an entry is given two to five."""
    builder = c.builder
    as_int64 = c.pyapi._get_function(ir.FunctionType(_I64, [c.pyapi.pyobj]), _AS_INT64)
    value = builder.call(as_int64, [obj])
    is_error = cgutils.alloca_once_value(builder, cgutils.false_bit)
    with builder.if_then(builder.icmp_signed("==", value, _I64(-1)), likely=False):
        builder.store(cgutils.is_not_null(builder, c.pyapi.err_occurred()), is_error)
    return NativeValue(value, is_error=builder.load(is_error))


@contextmanager
def _own_integers() -> Iterator[None]:
    """Functions compiled meanwhile unbox their integers, which all have 64 bits, as above."""
    known = pythonapi._unboxers.functions
    usual = known[types.Integer]
    known[types.Integer] = _unbox_integer
    try:
        yield
    finally:
        known[types.Integer] = usual


class DirectEntry:
    """An entry whose `call` is its machine code; compiled, or loaded, on the first call."""

    def __init__(self, dispatcher: Any, signature: str):
        args, result = sigutils.normalize_signature(signature)
        taken = (ArgumentType(a.ndim) if isinstance(a, types.Array) else a for a in args)
        self.signature = templates.signature(result, *taken)
        self.dispatcher = dispatcher
        self.call: Callable[..., Any] = self._first_call

    @property
    def stats(self):
        """Numba's counts of cache hits and misses."""
        return self.dispatcher.stats

    def compile(self) -> None:
        """Compile, or load from the cache."""
        with _own_integers():
            self.dispatcher.compile(self.signature)

    def _first_call(self, *args):
        self.compile()
        self.call = self.dispatcher.overloads[self.signature.args].entry_point
        return self.call(*args)

    def __call__(self, *args):
        return self.call(*args)
