"""`kernel`, `entry`, `callback` and `view`: how the project's Python functions become machine code.

* A *kernel* is called by other kernels. It takes numbers, tuples and handles.
* An *entry* is called from Python with integers (addresses), floats and float64 arrays.
* A *callback* is called by address from compiled code, so that only what is used is compiled.

Functions that are alike but for the kernel they call can be made by one that has that kernel as an argument: what a
closure holds is part of the name under which its code is kept.

Source: the measurements behind these choices (handles against six other packings, reference counting, cost of an
indirect call) are in docs/decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numba import config, types

from kido.jit.progress import compiling, progress
from kido.jit.struct import S, live_struct

JIT_DISABLED = bool(getattr(config, "DISABLE_JIT"))  # noqa: B009  (set at run time, unknown to type checkers)
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}

# What a call of an entry with arguments of other types than declared raises, compiled or not.
REFUSALS = (TypeError, ValueError, AttributeError)

ENTRIES: list[tuple[Any, Callable[[], Any]]] = []  # dispatchers, and what compiles or loads them
CALLBACKS: list[Any] = []


def _named(module: str, name: str) -> Any:
    """A callback of a module: copies and pickles hold its name."""
    return getattr(import_module(module), name)


if TYPE_CHECKING:
    LANES = 8
    _F = TypeVar("_F", bound=Callable[..., Any])

    def kernel(function: _F) -> _F: ...
    def inlined(function: _F) -> _F: ...
    def entry(signature: str) -> Callable[[_F], _F]: ...
    def direct_entry(signature: str) -> Callable[[_F], Any]: ...
    def view(struct: type[S], address: int) -> S: ...
    def lanes_view(struct: type[S], address: int) -> S: ...
    def thread_view(struct: type[S], address: int, sample: int) -> S: ...
    def lanes_samples(array: Any, first: int) -> Any: ...
    def thread_samples(array: Any, sample: int) -> Any: ...
    def clear(array: Any) -> None: ...
    def call4(address: int, a: int, b: int, c: int, d: int) -> int: ...

    class callback:
        function: Any

        def __init__(self, function: Callable[[Any, Any, Any, Any], Any]) -> None: ...
        def is_ready(self) -> bool: ...
        @property
        def address(self) -> int: ...
        def __call__(self, *args: int) -> int: ...

elif JIT_DISABLED:
    _python_callbacks: list[Callable[..., int]] = []

    def kernel(function):
        """Leave a kernel as the Python function it is."""
        return function

    inlined = kernel

    def entry(signature: str):
        """Leave an entry as the Python function it is."""
        return lambda function: function

    def direct_entry(signature: str):
        """A Python function as `call`, which refuses arrays of other numbers than floats."""

        def decorate(function):
            def checked(*args):
                for array in args:
                    if isinstance(array, np.ndarray) and array.dtype != np.float64:
                        raise TypeError(f"expected a float64 array, got {array.dtype}")
                return function(*args)

            checked.call = checked
            return checked

        return decorate

    class callback:
        """A Python function with a number for an address."""

        def __init__(self, function):
            self.function = function
            self.address = len(_python_callbacks) + 1
            _python_callbacks.append(function)

        def __call__(self, *args):
            return self.function(*args)

        def __reduce__(self):
            return _named, (self.function.__module__, self.function.__qualname__)

        def is_ready(self) -> bool:
            """Always: there is nothing to compile."""
            return True

    def call4(address, a, b, c, d):
        """Call the callback at `address`."""
        return _python_callbacks[address - 1](a, b, c, d)

    def view(struct, address):
        """The struct at `address`."""
        return live_struct(address)

    LANES = 1  # plain Python takes one sample after the other
    lanes_view = view

    def lanes_samples(array, first):
        """Sample `first` of a batch-first array; an array of one sample stands for all."""
        return array[min(first, len(array) - 1)]

    def clear(array):
        """Set all elements to zero."""
        array[...] = 0.0

else:
    from llvmlite import ir
    from numba.core import event
    from numba.core.ccallback import CFunc, _CFuncCompiler
    from numba.core.extending import intrinsic

    from kido.jit.cache import KernelCache
    from kido.jit.deferred import FunctionCompiler, KernelCompiler, raw_dispatcher, root_dispatcher
    from kido.jit.direct import LAYOUT_KNOWN, DirectEntry
    from kido.jit.handles import lanes_view as lanes_view  # noqa: PLC0414  (handed on)
    from kido.jit.handles import thread_view as thread_view  # noqa: PLC0414
    from kido.jit.handles import view as view  # noqa: PLC0414
    from kido.jit.lanes import LANES as LANES  # noqa: PLC0414
    from kido.jit.samples import clear as clear  # noqa: PLC0414
    from kido.jit.samples import lanes_samples as lanes_samples  # noqa: PLC0414
    from kido.jit.samples import thread_samples as thread_samples  # noqa: PLC0414

    _I64 = ir.IntType(64)

    @intrinsic
    def call4(typing_context, address, a, b, c, d):
        """Call the callback at `address` with four integers; returns its integer."""
        function_type = ir.FunctionType(_I64, [_I64] * 4)

        def generate(context, builder, signature, args):
            return builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])

        return types.int64(*[types.int64] * 5), generate

    class _CallbackCompiler(FunctionCompiler, _CFuncCompiler):
        """Compiles callbacks: with a wrapper for calls by address."""

    class _CFunc(CFunc):
        def __init__(self, function, signature):
            super().__init__(function, signature, {}, dict(OPTIONS), KernelCompiler)
            self._compiler = _CallbackCompiler(function, self._targetdescr, dict(OPTIONS), {}, KernelCompiler)

        def _compile_uncached(self):
            with compiling(self._pyfunc.__name__):
                return super()._compile_uncached()

    def kernel(function):
        """Compile a function for use by other kernels: cached, without GIL, reference counts or exceptions from
        arithmetic; a product that is added in the same expression is fused with the sum, and no other liberty taken."""
        return _kernel(function, OPTIONS)

    def inlined(function):
        """A kernel whose code is copied into its callers: for steps of a loop that hand numbers on."""
        return _kernel(function, {**OPTIONS, "forceinline": True})

    def _kernel(function, options):
        return _unliteral(raw_dispatcher(function, options))

    def _root(function, options):
        return _unliteral(root_dispatcher(function, options))

    def _unliteral(dispatcher):
        template = dispatcher.get_call_template

        def one_per_type(args, kws):
            # Without this a literal argument compiles the kernel once more for each value.
            return template(tuple(types.unliteral(a) for a in args), kws)

        dispatcher.get_call_template = one_per_type
        return dispatcher

    def entry(signature: str):
        """Compile a function for calls from Python, on its first call.

        Args:
            signature: Numba's notation of the one signature it is called with. A call with other types
                (a read-only or strided array, say) raises TypeError and compiles nothing.
        """

        def decorate(function):
            dispatcher = _root(function, OPTIONS)

            def compile_declared(*args, **_):
                if not dispatcher.overloads:
                    dispatcher.compile(signature)
                result = dispatcher.overloads.get(tuple(dispatcher.typeof_pyval(a) for a in args))
                if result is None:
                    raise TypeError(f"{function.__name__} takes {signature}")
                return result.entry_point

            dispatcher._compile_for_args = compile_declared
            ENTRIES.append((dispatcher, partial(dispatcher.compile, signature)))
            return dispatcher

        return decorate

    def direct_entry(signature: str):
        """An entry whose attribute `call` takes half the time of a call: for functions of a microsecond.

        It keeps the interpreter's lock. Arrays that the signature does not declare raise TypeError. An array
        must not be a field of a struct that the function views, and no index may be negative.
        """

        def decorate(function):
            if not LAYOUT_KNOWN:
                made = entry(signature)(function)
                made.call = made
                return made
            made = DirectEntry(_root(function, {**OPTIONS, "nogil": False}), signature)
            ENTRIES.append((made.dispatcher, made.compile))
            return made

        return decorate

    class callback:
        """A kernel ``int64 f(int64, int64, int64, int64)`` with a C address, compiled when that is asked for."""

        SIGNATURE = types.int64(*[types.int64] * 4)

        def __init__(self, function):
            self.function = function
            self.kernel = kernel(function)
            self._compiled = None
            CALLBACKS.append(self)

        def is_ready(self) -> bool:
            """Whether its machine code is at hand, loaded or in the cache of this machine."""
            return self._compiled is not None or KernelCache(self.function).holds_anything()

        @property
        def address(self) -> int:
            """Address of the compiled function (int); compiles or loads it on first use."""
            if self._compiled is None:
                signature = (self.SIGNATURE.args, self.SIGNATURE.return_type)
                compiled = _CFunc(self.function, signature)
                compiled._cache = KernelCache(self.function)
                compiled.compile()
                self._compiled = compiled
            return self._compiled.address

        def __call__(self, *args):
            return self.kernel(*args)

        def __reduce__(self):
            return _named, (self.function.__module__, self.function.__qualname__)

    class _CompileListener(event.Listener):
        def on_start(self, event):
            progress.start(event.data["dispatcher"].py_func.__name__)

        def on_end(self, event):
            progress.stop()

    event.register("numba:compile", _CompileListener())
