"""Callbacks on a GPU, where addresses of functions are of no use: numbers, told apart where they are called.

While something is compiled for a GPU, a `Binding` says which callbacks each stage, or table of callbacks, may hold. A
word that holds the address of a callback on the processor holds its number there. A call compares that number with
those of its field and calls the function that it belongs to, which so becomes a part of what is compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any

from kido.jit.functions import Callback

_one_at_a_time = RLock()


class Binding:
    """Callbacks by the name of their field, "STRUCT.field".

    Attributes:
        number: of each callback, from 1 on.
    """

    current: Binding | None = None

    def __init__(self, callbacks: Mapping[str, Iterable[Callback]]):
        self._of = {field: tuple(dict.fromkeys(found)) for field, found in callbacks.items()}
        every = dict.fromkeys(callback for found in self._of.values() for callback in found)
        self.number = {callback: 1 + k for k, callback in enumerate(every)}
        self._dispatchers: dict[Any, Any] = {}

    @property
    def fields(self) -> dict[str, frozenset[Callback]]:
        """Callbacks of each field."""
        return {field: frozenset(found) for field, found in self._of.items()}

    def callbacks(self, field: str) -> tuple[tuple[int, Callback], ...]:
        """Number and callback of all that a field may hold."""
        return tuple((self.number[callback], callback) for callback in self._of.get(field, ()))

    def dispatcher(self, made: Any) -> Any:
        """Numba's object of a kernel on the GPU: what it calls depends on the binding."""
        from numba.core.dispatcher import Dispatcher
        from numba.cuda.dispatcher import CUDADispatcher

        if not isinstance(made, Dispatcher) or isinstance(made, CUDADispatcher):
            return made
        if made not in self._dispatchers:
            options = {**made.targetoptions, "device": True, "debug": False, "opt": True}
            self._dispatchers[made] = CUDADispatcher(made.py_func, options)
        return self._dispatchers[made]

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Within it, what is compiled for a GPU calls these."""
        with _one_at_a_time:
            before, Binding.current = Binding.current, self
            try:
                yield
            finally:
                Binding.current = before


def bound(field: str) -> tuple[tuple[int, Callback], ...]:
    """Number and callback of all that a field may hold, in what is compiled now."""
    return Binding.current.callbacks(field) if Binding.current is not None else ()
