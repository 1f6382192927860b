"""Roots become machine code: what they call is linked, with one function in front that reads Python's arguments."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import sigutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from kido.jit import image
from kido.jit.arguments import OBJECT, ArgumentType, known, value_of
from kido.jit.cache import RootCache
from kido.jit.deferred import RawLibrary
from kido.jit.functions import OBJECT as OBJECTS
from kido.jit.functions import Root
from kido.jit.progress import compiling

_I64 = ir.IntType(64)
_context: Any = cpu_target.target_context
_known: dict[str, tuple[Any, int]] = {}  # libraries and addresses by symbol, of this process

# Called with the symbol and the module of each root that is compiled, optimised and not yet machine code.
watchers: list[Callable[[str, Any], None]] = []


image.when_known(lambda name, cell: binding.add_symbol(f"{image.SLOT}{name}", ctypes.addressof(cell)))


def _types_of(root: Root) -> tuple[tuple[Any, ...], Any]:
    """Numba's types of arguments and result."""
    if root.signature == OBJECTS:
        return (OBJECT,) * root.function.__code__.co_argcount, OBJECT
    args, result = sigutils.normalize_signature(root.signature)
    if root.direct:
        args = tuple(ArgumentType(a.ndim) if isinstance(a, types.Array) else a for a in args)
    return args, result


# How far back an optimiser looks for what a value was loaded from: beyond some blocks it took a third of all its time,
# and made no code shorter or faster.
binding.set_option("kido", "-memdep-block-number-limit=8")


@contextmanager
def _collected_rarely() -> Iterator[None]:
    """Meanwhile Python looks for unreachable objects seldom: a compiler makes millions that stay."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@global_compiler_lock
def built(root: Root) -> tuple[Any, int, str]:
    """Machine code of a root: what keeps it, its address, and whether it is from the "cache" or was "compiled".

    Raises:
        numba.core.errors.NumbaError: the function cannot be compiled.
    """
    if root.symbol in _known:
        return *_known[root.symbol], "cache"
    args, result = _types_of(root)
    cache = RootCache(root.function)
    _context.refresh()
    packed = getattr(root.function, "packed", False)
    key = cache.key((args, str(root.signature), *(["packed"] if packed else [])))
    origin, library = "cache", _loaded(cache, key)
    if library is None:
        origin = "compiled"
        with compiling(root.function.__name__), _collected_rarely():
            library = _compiled(root, args, result)
        try:
            cache.files.save(key, library.serialize_using_object_code())
        except OSError:  # no cache can be written
            pass
    _known[root.symbol] = library, library.get_pointer_to_function(root.symbol)
    return *_known[root.symbol], origin


def _loaded(cache: RootCache, key: tuple[Any, ...]) -> Any:
    try:
        state = cache.files.load(key)
        return None if state is None else _context.codegen().unserialize_library(state)
    except Exception:  # what another version wrote can raise anything: it is compiled anew
        return None


def _compiled(root: Root, args: tuple[Any, ...], result: Any) -> Any:
    dispatcher = root.kernel.dispatcher
    dispatcher.compile(args)
    found = dispatcher.overloads[args]
    if not _context.typing_context.can_convert(found.signature.return_type, result) is not None:
        raise TypeError(f"{root.function.__name__}: returns {found.signature.return_type}, declared {result}")
    library = RawLibrary(_context.codegen(), root.symbol)
    library.root, library.packed = root.symbol, getattr(root.function, "packed", False)
    library.enable_object_caching()
    module = library.create_ir_module(root.symbol)
    (_for_python if root.from_python else _for_address)(module, root, found, args, result)
    library.add_ir_module(module)
    library.add_linking_library(found.library)
    library.watchers = watchers
    library.finalize()
    return library


def _call(builder: Any, found: Any, args: tuple[Any, ...], values: list[Any]) -> tuple[Any, Any]:
    callee = _context.declare_function(builder.module, found.fndesc)
    return _context.call_conv.call_function(builder, callee, found.signature.return_type, args, values)


def _for_address(module: Any, root: Root, found: Any, args: tuple[Any, ...], result: Any) -> None:
    """``int64 f(int64, int64, int64, int64)``; what it raises is written out, and the result then is 0."""
    function = ir.Function(module, ir.FunctionType(_I64, [_I64] * len(args)), root.symbol)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    status, value = _call(builder, found, args, list(function.args))
    with builder.if_then(status.is_error, likely=False):
        api = _context.get_python_api(builder)
        lock = api.gil_ensure()
        _context.call_conv.raise_error(builder, api, status)
        name = api.string_from_string(_context.insert_const_string(module, root.function.__name__))
        api.err_write_unraisable(name)
        api.decref(name)
        api.gil_release(lock)
        builder.ret(_I64(0))
    builder.ret(_context.cast(builder, value, found.signature.return_type, result))


def _for_python(module: Any, root: Root, found: Any, args: tuple[Any, ...], result: Any) -> None:
    """``PyObject *f(PyObject *, PyObject **arguments, Py_ssize_t number)``, with the interpreter's lock set free
    meanwhile, unless the root is direct."""
    objects = _context.get_argument_type(types.pyobject)
    kind = ir.FunctionType(objects, [objects, objects.as_pointer(), _I64])
    function = ir.Function(module, kind, root.symbol)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    api = _context.get_python_api(builder)
    refused = function.append_basic_block("refused")
    _, given, number = function.args

    def refuse_if(condition: Any) -> None:
        after = function.append_basic_block()
        builder.cbranch(condition, refused, after)
        builder.position_at_end(after)

    refuse_if(builder.icmp_signed("!=", number, _I64(len(args))))
    values = []
    for k, type_ in enumerate(args):
        obj = builder.load(builder.gep(given, [_I64(k)]))
        value, is_other = value_of(_context, builder, api, type_, obj)
        refuse_if(is_other)
        values.append(value)
    lock = None if root.direct else api.save_thread()
    status, value = _call(builder, found, args, values)
    if lock is not None:
        api.restore_thread(lock)
    with builder.if_then(status.is_error, likely=False):
        _context.call_conv.raise_error(builder, api, status)
        builder.ret(api.get_null_object())
    value = _context.cast(builder, value, found.signature.return_type, result)
    builder.ret(api.from_native_value(result, value, None))
    builder.position_at_end(refused)
    declared = f"({', '.join(['object'] * len(args))})" if root.signature == OBJECTS else root.signature
    kind_of_error = builder.bitcast(known(builder, "TypeError"), api.pyobj)
    api.err_set_string(kind_of_error, f"{root.function.__name__} takes {declared}")
    builder.ret(api.get_null_object())
