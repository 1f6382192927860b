"""Members of Python objects as machine code, for setters of a tenth of a microsecond.

A *member* is a kernel that is given Python objects as they are. It reads the address of a struct from the attribute
`handle` of the first, and does what is usual. All else it leaves to a Python function that does the same. It keeps
the interpreter's lock, and what an object of Python must not see, like a number that is not finite, it must not write.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.core.extending import NativeValue, box, intrinsic, models, register_model, unbox
from numba.np.arrayobj import make_array

from kido.jit.compile import ENTRIES, kernel
from kido.jit.direct import LAYOUT_KNOWN as KNOWN
from kido.jit.direct import ArgumentType

_I64 = ir.IntType(64)
_HANDLE = sys.intern("handle")
binding.add_symbol("kido_handle", id(_HANDLE))  # a name, because compiled code outlives the process in the cache


class ObjectType(types.Type):
    """Numba's type of a Python object, of which nothing is known: its address."""

    def __init__(self):
        super().__init__(name="object of Python")


OBJECT, VECTOR = ObjectType(), ArgumentType(1)


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


def _known(context, builder, symbol):
    """A Python object that is known by name."""
    found = builder.module.globals.get(symbol) or ir.GlobalVariable(builder.module, ir.IntType(8), symbol)
    return builder.bitcast(found, context.get_python_api(builder).pyobj)


@intrinsic
def handle_of(typing_context, of):
    """The number that is an object's attribute `handle`; 0: it has none."""

    def generate(context, builder, signature, args):
        api = context.get_python_api(builder)
        found = api.object_getattr(builder.inttoptr(args[0], api.pyobj), _known(context, builder, "kido_handle"))
        result = cgutils.alloca_once_value(builder, _I64(0))
        with builder.if_else(cgutils.is_not_null(builder, found), likely=True) as (is_there, is_not):
            with is_there:
                builder.store(api.long_as_longlong(found), result)
                api.decref(found)
            with is_not:
                api.err_clear()
        return builder.load(result)

    return types.int64(OBJECT), generate


@intrinsic
def vector_of(typing_context, value):
    """An object as a vector of float64; of size -1 if it is none that can be read as it is."""

    def generate(context, builder, signature, args):
        api = context.get_python_api(builder)
        native = api.to_native_value(VECTOR, builder.inttoptr(args[0], api.pyobj))
        with builder.if_then(native.is_error, likely=False):
            api.err_clear()
        array = make_array(VECTOR)(context, builder, value=native.value)
        size = cgutils.unpack_tuple(builder, array.shape)[0]
        array.shape = cgutils.pack_array(builder, [builder.select(native.is_error, _I64(-1), size)])
        return array._getvalue()

    return VECTOR(OBJECT), generate


@intrinsic
def nothing(typing_context):
    """None."""

    def generate(context, builder, signature, args):
        return builder.ptrtoint(context.get_python_api(builder).make_none(), _I64)

    return OBJECT(), generate


@intrinsic
def put(typing_context, items, number, first, last):
    """Put a number in places first..last-1 of a Python list, which is given by its address."""

    def generate(context, builder, signature, args):
        api = context.get_python_api(builder)
        items, made = builder.inttoptr(args[0], api.pyobj), api.long_from_longlong(args[1])
        with cgutils.for_range_slice(builder, args[2], args[3], _I64(1)) as (k, _):
            api.incref(made)
            api.list_setitem(items, k, made)
        api.decref(made)
        return _I64(0)

    return types.int64(*[types.int64] * 4), generate


def otherwise(name: str, function: Callable[[Any, Any], Any]) -> Any:
    """What a member calls, with both its objects, where something is not as usual."""
    symbol = f"kido_otherwise_{name}"
    binding.add_symbol(symbol, id(function))

    def leave_to_python(typing_context, of, value):
        def generate(context, builder, signature, args):
            api = context.get_python_api(builder)
            objects = [builder.inttoptr(a, api.pyobj) for a in args]
            return builder.ptrtoint(api.call_function_objargs(_known(context, builder, symbol), objects), _I64)

        return OBJECT(OBJECT, OBJECT), generate

    leave_to_python.__qualname__ = symbol  # part of the name under which the code is kept
    made: Any = intrinsic(leave_to_python)
    made.kept, made.__closure__ = function, None
    return made


class Member:
    """A member that is called with two objects; compiled, or loaded, when it is asked for."""

    def __init__(self, function: Callable[[Any, Any], Any]):
        self.dispatcher: Any = kernel(function)
        self.dispatcher.targetoptions["nogil"] = False
        ENTRIES.append((self.dispatcher, self.compile))

    def compile(self) -> Callable[[Any, Any], Any]:
        """The machine code."""
        signature = OBJECT(OBJECT, OBJECT)
        self.dispatcher.compile(signature)
        return self.dispatcher.overloads[signature.args].entry_point
