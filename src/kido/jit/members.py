"""Members of Python objects as machine code, for properties that are read and set in a tenth of a microsecond.

A *member* is a kernel that is given Python objects as they are. It reads addresses of structs from attributes of the
first, makes arrays, and does what is usual. All else it leaves to a Python function that does the same. It keeps the
interpreter's lock. Where arrays cannot be made and read as expected, `KNOWN` is false, and the Python functions are
there alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.core.extending import NativeValue, box, intrinsic, models, register_model, unbox
from numba.np.arrayobj import make_array

from kido.jit.compile import ENTRIES, OPTIONS
from kido.jit.deferred import root_dispatcher
from kido.jit.direct import DATA, FLAGS, NDIM, NEW_ARRAY, SHAPE, WRITEABLE, ArgumentType

_primitive: Any = intrinsic
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_DOUBLE = 12  # NumPy's number of float64
KNOWN = NEW_ARRAY != 0
_NAMES: list[Any] = []  # what compiled code knows by address: it must stay
binding.add_symbol("kido_new_array", NEW_ARRAY)


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


def _intrinsic(made: Callable[..., Any], name: str) -> Any:
    made.__qualname__ = name  # part of the name under which the code is kept
    result = _primitive(made)
    result.__closure__ = None
    return result


def _know(name: str) -> None:
    """Let compiled code know a text."""
    _NAMES.append(sys.intern(name))
    binding.add_symbol(f"kido_name_{name}", id(_NAMES[-1]))


def number_at(*path: str) -> Any:
    """A function that gives the integer at a path of attributes of an object; 0: there is none."""
    for name in path:
        _know(name)

    def number(typing_context, of):
        def generate(context, builder, signature, args):
            api = context.get_python_api(builder)
            result = cgutils.alloca_once_value(builder, _I64(0))

            def follow(start, names):
                found = api.object_getattr(start, _known(context, builder, f"kido_name_{names[0]}"))
                with builder.if_else(cgutils.is_not_null(builder, found), likely=True) as (there, missing):
                    with there:
                        if len(names) > 1:
                            follow(found, names[1:])
                        else:
                            builder.store(api.long_as_longlong(found), result)
                        api.decref(found)
                    with missing:
                        api.err_clear()

            follow(builder.inttoptr(args[0], api.pyobj), path)
            return builder.load(result)

        return types.int64(OBJECT), generate

    return _intrinsic(number, "number_at_" + "_".join(path))


handle_of = number_at("handle")
_know("value")


@_primitive
def is_missing(typing_context, item):
    """Whether an object could not be made."""

    def generate(context, builder, signature, args):
        return builder.icmp_signed("==", args[0], _I64(0))

    return types.boolean(OBJECT), generate


def know_type(name: str, kind: type) -> str:
    """Let compiled code know a type of arrays; gives the name for `maker`."""
    _NAMES.append(kind)
    binding.add_symbol(f"kido_type_{name}", id(kind))
    return f"kido_type_{name}"


def _word(builder, item, offset, kind=_I64):
    """Pointer to a field of an object."""
    return builder.inttoptr(builder.add(builder.ptrtoint(item, _I64), _I64(offset)), kind.as_pointer())


def _fix(builder, made):
    """Let an array be written to no more."""
    flags = _word(builder, made, FLAGS, _I32)
    builder.store(builder.and_(builder.load(flags), _I32(~WRITEABLE)), flags)


def _new_array(context, builder, api, rank, shape, kind="kido_ndarray"):
    """A new float64 array; shape points to its sizes."""
    nothing, zero = ir.Constant(api.pyobj, None), _I32(0)
    taken = [api.pyobj, _I32, shape.type, _I32, api.pyobj, api.pyobj, _I32, _I32, api.pyobj]
    function = ir.FunctionType(api.pyobj, taken).as_pointer()
    new = builder.bitcast(_known(context, builder, "kido_new_array"), function)
    of = _known(context, builder, kind)
    return builder.call(new, [of, rank, shape, _I32(_DOUBLE), nothing, nothing, zero, zero, nothing])


def maker(*more: int, of: str = "kido_ndarray") -> Any:
    """A function that makes a float64 array (n, *more) for n: the object, read-only in Python, and its numbers.

    Args:
        of: name of its type.
    """
    kind, rank = ArgumentType(1 + len(more)), 1 + len(more)

    def make(typing_context, n):
        def generate(context, builder, signature, args):
            api = context.get_python_api(builder)
            room = cgutils.alloca_once(builder, _I64, size=rank)
            for k, size in enumerate([args[0], *map(_I64, more)]):
                builder.store(size, builder.gep(room, [_I32(k)]))
            made = _new_array(context, builder, api, _I32(rank), room, of)
            there = builder.select(cgutils.is_not_null(builder, made), made, api.borrow_none())
            pair = builder.ptrtoint(made, _I64), api.to_native_value(kind, there).value
            with builder.if_then(cgutils.is_not_null(builder, made), likely=True):
                _fix(builder, made)
            return context.make_tuple(builder, signature.return_type, pair)

        return types.Tuple((OBJECT, kind))(types.int64), generate

    return _intrinsic(make, f"maker_{of}_" + "_".join(map(str, more)))


def _copier(name: str, writeable: bool) -> Any:
    def copy(typing_context, of):
        def generate(context, builder, signature, args):
            api = context.get_python_api(builder)
            value = api.object_getattr(
                builder.inttoptr(args[0], api.pyobj), _known(context, builder, "kido_name_value")
            )
            result = cgutils.alloca_once_value(builder, _I64(0))
            with builder.if_then(cgutils.is_not_null(builder, value), likely=True):
                rank, shape = (
                    builder.load(_word(builder, value, NDIM, _I32)),
                    builder.load(_word(builder, value, SHAPE)),
                )
                shape = builder.inttoptr(shape, _I64.as_pointer())
                made = _new_array(context, builder, api, rank, shape)
                with builder.if_then(cgutils.is_not_null(builder, made), likely=True):
                    size = cgutils.alloca_once_value(builder, _I64(8))
                    with cgutils.for_range(builder, builder.zext(rank, _I64)) as loop:
                        length = builder.load(builder.gep(shape, [loop.index]))
                        builder.store(builder.mul(builder.load(size), length), size)
                    target, source = (
                        builder.inttoptr(builder.load(_word(builder, a, DATA)), ir.IntType(8).as_pointer())
                        for a in (made, value)
                    )
                    cgutils.raw_memcpy(builder, target, source, builder.load(size), 1)
                    if not writeable:
                        _fix(builder, made)
                builder.store(builder.ptrtoint(made, _I64), result)
                api.decref(value)
            return builder.load(result)

        return OBJECT(OBJECT), generate

    return _intrinsic(copy, name)


copied = _copier("copied", writeable=True)  # of the C-contiguous float64 array that is an object's attribute `value`
shown = _copier("shown", writeable=False)  # the same, which others do not write to


@_primitive
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


@_primitive
def nothing(typing_context):
    """None."""

    def generate(context, builder, signature, args):
        return builder.ptrtoint(context.get_python_api(builder).make_none(), _I64)

    return OBJECT(), generate


@_primitive
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


def otherwise(name: str, function: Callable[..., Any], number: int) -> Any:
    """What a member calls, with its `number` objects, where something is not as usual."""
    _NAMES.append(function)
    symbol = f"kido_otherwise_{name}"
    binding.add_symbol(symbol, id(function))

    def left(args, context, builder):
        api = context.get_python_api(builder)
        objects = [builder.inttoptr(a, api.pyobj) for a in args]
        return builder.ptrtoint(api.call_function_objargs(_known(context, builder, symbol), objects), _I64)

    def leave_one(typing_context, of):
        return OBJECT(OBJECT), lambda context, builder, signature, args: left(args, context, builder)

    def leave_two(typing_context, of, value):
        return OBJECT(OBJECT, OBJECT), lambda context, builder, signature, args: left(args, context, builder)

    return _intrinsic(leave_one if number == 1 else leave_two, symbol)


class Member:
    """A member that is called with one object or two; compiled, or loaded, when it is asked for."""

    def __init__(self, function: Callable[..., Any]):
        self.dispatcher: Any = root_dispatcher(function, {**OPTIONS, "nogil": False})
        self.signature = OBJECT(*[OBJECT] * function.__code__.co_argcount)
        ENTRIES.append((self.dispatcher, self.compile))

    def compile(self) -> Callable[..., Any]:
        """The machine code."""
        self.dispatcher.compile(self.signature)
        return self.dispatcher.overloads[self.signature.args].entry_point


class FastProperty(property):
    """A property of a class that loads its members when it is first used, and is these from then on.

    Args:
        plain: the property that does the same in Python.
        get, write: what makes the members; without `write` the plain setter, if there is one, stays.
    """

    def __init__(self, plain: property, get: Member, write: Member | None = None):
        self.plain, self.get, self.write = plain, get, write
        getter: Any = plain.fget

        @wraps(getter)
        def first_get(of):
            self._load()
            return getattr(of, self.name)

        super().__init__(first_get, self._first_set if write else plain.fset, None, plain.__doc__)

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def _load(self) -> None:
        write = self.write.compile() if self.write else self.plain.fset
        setattr(self.owner, self.name, property(self.get.compile(), write, doc=self.plain.__doc__))

    def _first_set(self, of: Any, value: Any) -> None:
        self._load()
        setattr(of, self.name, value)
