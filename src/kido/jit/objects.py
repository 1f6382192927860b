"""What members do with Python objects in machine code: see `kido.jit.members`."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic
from numba.np.arrayobj import make_array

from kido.jit.arguments import OBJECT, ArgumentType, array_of, known
from kido.jit.array_object import BASE, DATA, DOUBLE, NDIM, SHAPE

VECTOR = ArgumentType(1)
_I32, _I64 = ir.IntType(32), ir.IntType(64)


def _text(builder, api, name):
    return builder.bitcast(known(builder, f"text_{name}"), api.pyobj)


def number_at(*path):
    """A function that gives the integer at a path of attributes of an object; 0: there is none."""

    def number(typing_context, of):
        def generate(context, builder, signature, args):
            api = context.get_python_api(builder)
            result = cgutils.alloca_once_value(builder, _I64(0))

            def follow(start, names):
                found = api.object_getattr(start, _text(builder, api, names[0]))
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

    return intrinsic(number)


@intrinsic
def is_missing(typing_context, item):
    """Whether an object could not be made."""

    def generate(context, builder, signature, args):
        return builder.icmp_signed("==", args[0], _I64(0))

    return types.boolean(OBJECT), generate


def _place(builder, item, offset, kind=_I64):
    """Pointer to a field of an object."""
    return builder.inttoptr(builder.add(builder.ptrtoint(item, _I64), _I64(offset)), kind.as_pointer())


def _fix(builder, api, made, kind):
    """Let an array be written to no more, unless it is an ordinary one: see `kido.arrays.COPY`."""
    if kind != "ndarray":
        mark = builder.bitcast(known(builder, "copy"), api.pyobj)
        api.incref(mark)
        builder.store(builder.ptrtoint(mark, _I64), _place(builder, made, BASE))


def _new_array(context, builder, api, rank, shape, kind):
    """A new float64 array of a type that is known by name; shape points to its sizes."""
    nothing, zero = ir.Constant(api.pyobj, None), _I32(0)
    taken = [api.pyobj, _I32, shape.type, _I32, api.pyobj, api.pyobj, _I32, _I32, api.pyobj]
    function = ir.FunctionType(api.pyobj, taken).as_pointer()
    new = builder.bitcast(known(builder, "new_array"), function)
    of = builder.bitcast(known(builder, kind), api.pyobj)
    return builder.call(new, [of, rank, shape, _I32(DOUBLE), nothing, nothing, zero, zero, nothing])


def maker(of, *more):
    """A function that makes a float64 array (n, *more) for n: the object, and its numbers to be written.

    Args:
        of: name of its type; Python writes to no other than "ndarray".
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
            pair = builder.ptrtoint(made, _I64), array_of(context, builder, kind, there)[0]
            with builder.if_then(cgutils.is_not_null(builder, made), likely=True):
                _fix(builder, api, made, of)
            return context.make_tuple(builder, signature.return_type, pair)

        return types.Tuple((OBJECT, kind))(types.int64), generate

    return intrinsic(make)


def copier(of):
    """A function that copies the C-contiguous float64 array that is an object's attribute `value`, as another type."""

    def copy(typing_context, item):
        def generate(context, builder, signature, args):
            api = context.get_python_api(builder)

            def word(item, offset, kind=_I64):
                return builder.load(_place(builder, item, offset, kind))

            value = api.object_getattr(builder.inttoptr(args[0], api.pyobj), _text(builder, api, "value"))
            result = cgutils.alloca_once_value(builder, _I64(0))
            with builder.if_then(cgutils.is_not_null(builder, value), likely=True):
                rank, shape = word(value, NDIM, _I32), builder.inttoptr(word(value, SHAPE), _I64.as_pointer())
                made = _new_array(context, builder, api, rank, shape, of)
                with builder.if_then(cgutils.is_not_null(builder, made), likely=True):
                    size = cgutils.alloca_once_value(builder, _I64(8))
                    with cgutils.for_range(builder, builder.zext(rank, _I64)) as loop:
                        length = builder.load(builder.gep(shape, [loop.index]))
                        builder.store(builder.mul(builder.load(size), length), size)
                    to, start = (builder.inttoptr(word(a, DATA), ir.IntType(8).as_pointer()) for a in (made, value))
                    cgutils.raw_memcpy(builder, to, start, builder.load(size), 1)
                    _fix(builder, api, made, of)
                builder.store(builder.ptrtoint(made, _I64), result)
                api.decref(value)
            return builder.load(result)

        return OBJECT(OBJECT), generate

    return intrinsic(copy)


@intrinsic
def vector_of(typing_context, value):
    """An object as a vector of float64; of size -1 if it is none that can be read as it is."""

    def generate(context, builder, signature, args):
        api = context.get_python_api(builder)
        value, refused = array_of(context, builder, VECTOR, builder.inttoptr(args[0], api.pyobj))
        array = make_array(VECTOR)(context, builder, value=value)
        size = cgutils.unpack_tuple(builder, array.shape)[0]
        array.shape = cgutils.pack_array(builder, [builder.select(refused, _I64(-1), size)])
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


def leave(name, number):
    """A function that calls, with `number` objects, what is known as ``otherwise_NAME``."""

    def left(args, context, builder):
        api = context.get_python_api(builder)
        objects = [builder.inttoptr(a, api.pyobj) for a in args]
        function = builder.bitcast(known(builder, f"otherwise_{name}"), api.pyobj)
        return builder.ptrtoint(api.call_function_objargs(function, objects), _I64)

    def leave_one(typing_context, of):
        return OBJECT(OBJECT), lambda context, builder, signature, args: left(args, context, builder)

    def leave_two(typing_context, of, value):
        return OBJECT(OBJECT, OBJECT), lambda context, builder, signature, args: left(args, context, builder)

    return intrinsic(leave_one if number == 1 else leave_two)
