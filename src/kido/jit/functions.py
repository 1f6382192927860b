"""What the marks `kernel`, `entry` and `callback` make of functions: compiled, or loaded, when that is asked for.

Until then nothing of Numba is imported. A *root* is what is called from outside of compiled code. Its machine code
comes from the library that a wheel holds (`kido.jit.image`), else from the cache, else it is compiled.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from types import FunctionType
from typing import Any

from kido.jit import (
    array_object,  # noqa: F401  (what machine code knows by address)
    image,
)
from kido.jit.naming import symbol
from kido.jit.struct import DEBUG

ROOTS: list[Root] = []

OBJECT = "object"  # in the place of a signature: of members, Python objects

_INTEGERS = [ctypes.c_int64] * 4
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, *_INTEGERS)
_FASTCALL = 0x0080  # CPython's flag of functions that take an array of arguments


def _type_for_compiler(made: Any) -> Any:
    """What Numba takes a value for that compiled code names."""
    from numba.core.registry import cpu_target
    from numba.core.target_extension import current_target

    target: Any = cpu_target
    if current_target() == "cuda":
        target = import_module("numba.cuda.descriptor").cuda_target
        binding = import_module("kido.jit.device").Binding.current
        made = made if binding is None else binding.dispatcher(made)
    target.typing_context.refresh()  # it may have been made just now
    target.target_context.refresh()
    return target.typing_context.resolve_value_type(made)


class Kernel:
    """A function for other kernels; Numba meets it when something is compiled that calls it.

    Attributes:
        py_func: the function.
        options: Numba's.
    """

    def __init__(self, function: Any, options: dict[str, Any]):
        self.py_func, self.options = function, options
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.__module__, self.__doc__ = function.__module__, function.__doc__
        self.__wrapped__ = function

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's object of it."""
        from kido.jit.deferred import raw_dispatcher

        return raw_dispatcher(self.py_func, self.options)

    @property
    def _numba_type_(self) -> Any:
        return _type_for_compiler(self.dispatcher)

    def __call__(self, *args: Any) -> Any:
        return self.dispatcher(*args)


class Intrinsic:
    """A function that exists in compiled code alone: made by a module that knows Numba, when it is needed.

    Args:
        module: which declares it.
        name: of it there.
        given: what it is made with; none: it is there as it is.
    """

    def __init__(self, module: str, name: str, *given: Any):
        self.__module__, self.__qualname__ = module, "_".join((name, *map(str, given)))
        self.__name__ = self.__qualname__
        self._name, self._given = name, given

    @cached_property
    def made(self) -> Any:
        """Numba's object of it."""
        found = getattr(import_module(self.__module__), self._name)
        return found(*self._given) if self._given or isinstance(found, FunctionType) else found

    @property
    def _numba_type_(self) -> Any:
        return _type_for_compiler(self.made)

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.__name__} is called in compiled code only")


class Root:
    """A function that is called from outside of compiled code.

    Args:
        function: Python's.
        signature: Numba's notation; `OBJECT`: objects of Python. Other arrays than it declares are refused.
        options: Numba's.
        direct: arrays are apart from all fields of structs, no index is negative, and the interpreter's lock is kept.
    """

    from_python = True  # called from Python, or by its address with four integers

    def __init__(self, function: Any, signature: str, options: dict[str, Any], direct: bool):
        self.function, self.signature, self.direct = function, signature, direct
        self.kernel = Kernel(function, options)
        self.origin = ""  # "image", "cache" or "compiled", once it has an address
        self._address = 0
        self._kept: Any = None
        ROOTS.append(self)

    @cached_property
    def symbol(self) -> str:
        """Its name in libraries."""
        return symbol(self.function, self.signature)

    @property
    def _numba_type_(self) -> Any:
        return self.kernel._numba_type_

    def is_ready(self) -> bool:
        """Whether its machine code is at hand: loaded, in a library that came with KIDO, or in the cache."""
        return bool(self._address or image.address_of(self.symbol)) or self.is_cached()

    @property
    def is_placed(self) -> bool:
        """Whether its machine code has an address already."""
        return bool(self._address)

    def is_cached(self) -> bool:
        """Whether its machine code for this very processor is in the cache."""
        from kido.jit.cache import RootCache

        return RootCache(self.function).holds_anything()

    @property
    def address(self) -> int:
        """Address of its machine code (int); loads or compiles it on first use."""
        if not self._address:
            found = image.address_of(self.symbol)
            if found:
                self.origin, self._address = "image", found
            else:
                from kido.jit.roots import built

                self._kept, self._address, self.origin = built(self)
        return self._address


class _Method(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_METHODS: list[_Method] = []  # functions point to them; two threads may make two functions of one entry
_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = [ctypes.POINTER(_Method), ctypes.c_void_p, ctypes.c_void_p]


class Entry(Root):
    """A root that Python calls.

    Attributes:
        call: its machine code as a function of Python; what compiles or loads it before its first call.
    """

    def __init__(self, function: Any, signature: str, options: dict[str, Any], direct: bool):
        super().__init__(function, signature, options, direct)
        self.__name__, self.__qualname__, self.__doc__ = function.__name__, function.__qualname__, function.__doc__
        self.__module__ = function.__module__
        self.call: Callable[..., Any] = self._first_call

    def compile(self) -> Callable[..., Any]:
        """Compile or load it; returns `call`."""
        if self.call == self._first_call:
            method = _Method(self.__name__.encode(), self.address, _FASTCALL, None)
            _METHODS.append(method)
            self.call = _new_function(ctypes.byref(method), None, None)
        return self.call

    def _first_call(self, *args: Any) -> Any:
        return self.compile()(*args)

    def __call__(self, *args: Any) -> Any:
        return self.call(*args)


class Callback(Root):
    """A kernel ``int64 f(int64, int64, int64, int64)`` with a C address, compiled when that is asked for."""

    from_python = False

    def __init__(self, function: Any, options: dict[str, Any]):
        super().__init__(function, "i8(i8,i8,i8,i8)", options, direct=False)
        self._function: Any = None
        self._waiting: list[tuple[Any, int]] = []

    def __call__(self, *args: Any) -> int:
        if DEBUG:
            return self.kernel(*args)  # which raises what compiled code refuses
        if self._function is None:
            self._function = _FUNCTION(self.address)
        return self._function(*map(int, args))

    def place(self, block: Any, word: int) -> None:
        """Write its address into a word of an array; where it is not compiled yet, that of a function which compiles it
        when it is called first, and writes the address then."""
        if self.is_ready():
            block[word] = self.address
            return
        block[word] = ctypes.cast(self._stand_in, ctypes.c_void_p).value
        self._waiting.append((weakref.ref(block), word))

    @cached_property
    def _stand_in(self) -> Any:
        def compile_and_call(a: int, b: int, c: int, d: int) -> int:
            address, waiting = self.address, self._waiting
            own = ctypes.cast(self._stand_in, ctypes.c_void_p).value
            while waiting:
                array, word = waiting.pop()
                block = array()
                if block is not None and block[word] == own:
                    block[word] = address
            return _FUNCTION(address)(a, b, c, d)

        return _FUNCTION(compile_and_call)

    def __reduce__(self):
        return named, (self.function.__module__, self.function.__qualname__)


def named(module: str, name: str) -> Any:
    """A callback of a module: copies and pickles hold its name."""
    return getattr(import_module(module), name)
