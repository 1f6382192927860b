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
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kido.jit.functions import Callback, Entry, Intrinsic, Kernel, named
from kido.jit.struct import JIT_DISABLED, LANES, S, live_struct

_G = TypeVar("_G", bound=Callable[..., Any])
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}

# What a call of an entry with arguments of other types than declared raises, compiled or not.
REFUSALS = (TypeError, ValueError, AttributeError)


def packed(function: _G) -> _G:
    """Mark the function of an entry or a callback whose straight code becomes vector instructions, with the same bits.

    In all that it calls, equal steps on numbers that lie side by side are taken together. Compiling takes longer; it
    pays where such steps are most of the work.
    """
    vars(function)["packed"] = True
    return function


if TYPE_CHECKING:
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
    def caller(table: str) -> Callable[[int, int, int, int, int], int]: ...

    class callback:
        function: Any
        origin: str

        def __init__(self, function: Callable[[Any, Any, Any, Any], Any]) -> None: ...
        def is_ready(self) -> bool: ...
        def place(self, block: Any, word: int) -> None: ...
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
            return named, (self.function.__module__, self.function.__qualname__)

        def is_ready(self) -> bool:
            """Always: there is nothing to compile."""
            return True

        def place(self, block, word):
            """Write its address into a word of an array."""
            block[word] = self.address

    def call4(address, a, b, c, d):
        """Call the callback at `address`."""
        return _python_callbacks[address - 1](a, b, c, d)

    def caller(table):
        """`call4` of callbacks that stand in a table, "STRUCT.field"."""
        return call4

    def view(struct, address):
        """The struct at `address`."""
        return live_struct(address)

    def thread_view(struct, address, sample):
        """The struct at `address`, of which there is one sample."""
        return live_struct(address)

    LANES = 1
    lanes_view = view

    def lanes_samples(array, first):
        """Sample `first` of a batch-first array; an array of one sample stands for all."""
        return array[min(first, len(array) - 1)]

    def clear(array):
        """Set all elements to zero."""
        array[...] = 0.0

else:
    view, lanes_view, thread_view = (
        Intrinsic("kido.jit.handles", name) for name in ("view", "lanes_view", "thread_view")
    )
    clear, lanes_samples, thread_samples = (
        Intrinsic("kido.jit.samples", name) for name in ("clear", "lanes_samples", "thread_samples")
    )
    call4 = Intrinsic("kido.jit.intrinsics", "call4")

    def caller(table):
        """`call4` of callbacks that stand in a table, "STRUCT.field": on a GPU only these are called."""
        return Intrinsic("kido.jit.intrinsics", "caller", table)

    def kernel(function):
        """Compile a function for use by other kernels: cached, without GIL, reference counts or exceptions from
        arithmetic; a product that is added in the same expression is fused with the sum, and no other liberty taken."""
        return Kernel(function, OPTIONS)

    def inlined(function):
        """A kernel whose code is copied into its callers: for steps of a loop that hand numbers on."""
        return Kernel(function, {**OPTIONS, "forceinline": True})

    def entry(signature: str):
        """Compile a function for calls from Python, on its first call.

        Args:
            signature: Numba's notation of the one signature it is called with. A call with other arrays
                (read-only or strided ones, say) raises TypeError and compiles nothing.
        """
        return lambda function: Entry(function, signature, OPTIONS, direct=False)

    def direct_entry(signature: str):
        """An entry for functions of a microsecond: it keeps the interpreter's lock.

        An array must not be a field of a struct that the function views, and no index may be negative. Its attribute
        `call` is the machine code itself.
        """
        return lambda function: Entry(function, signature, OPTIONS, direct=True)

    def callback(function):
        """A kernel ``int64 f(int64, int64, int64, int64)`` with a C address, compiled when that is asked for."""
        return Callback(function, OPTIONS)
