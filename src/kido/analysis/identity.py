"""Digests by which a file of a study is known to be of another one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np


def digest(data: bytes) -> str:
    """SHA-256, as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def code_digest(run: Any) -> str | None:
    """Of the code of a function, or of the function that an object is when it is called; None: it shows none.

    Its instructions, constants and names, and those of functions within it; not of functions that it calls.
    """
    while isinstance(run, partial):
        run = run.func
    code = getattr(run, "__code__", None)
    if code is None:
        code = getattr(vars(type(run)).get("__call__"), "__code__", None)
    return digest(repr(_told(code)).encode()) if isinstance(code, CodeType) else None


def values_digest(run: Any) -> str | None:
    """Of what a function brings along: defaults, what it encloses, what it is bound to; None: it cannot be told."""
    parts: list[Any] = []
    while isinstance(run, partial):
        parts += [run.args, run.keywords]
        run = run.func
    try:
        if isinstance(run, FunctionType):
            parts += [run.__defaults__, run.__kwdefaults__, [cell.cell_contents for cell in run.__closure__ or ()]]
        else:
            parts.append(run.__self__ if isinstance(run, MethodType) else run)
    except ValueError:  # a cell that is empty yet
        return None
    return object_digest(parts)


def _told(code: CodeType) -> tuple[Any, ...]:
    constants = tuple(_told(c) if isinstance(c, CodeType) else _constant(c) for c in code.co_consts)
    return code.co_code.hex(), code.co_names, code.co_varnames, constants


def _constant(value: Any) -> str:
    """A text that is the same in each process: sets have no order."""
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def object_digest(thing: Any) -> str | None:
    """Of all that an object is made of, as `copy` and `pickle` take it apart; None: it cannot be.

    Unlike the bytes of `pickle` it is the same in each process: neither hashes of texts nor shared objects count.
    """
    walk = _Walk()
    try:
        walk.add(thing)
    except Exception:  # locks, files, whatever objects say of themselves
        return None
    return walk.sha.hexdigest()


class _Walk:
    """Goes through an object once, and hashes what it meets."""

    def __init__(self) -> None:
        self.sha, self._met = hashlib.sha256(), dict[int, tuple[int, Any]]()  # which are kept alive, as ids are theirs

    def tell(self, *texts: Any) -> None:
        self.sha.update(repr(texts).encode() + b";")

    def add(self, thing: Any) -> None:
        kind = type(thing)
        if thing is None or kind in (bool, int, float, complex, str, bytes):
            self.tell(kind.__name__, thing)
            return
        if isinstance(thing, type | FunctionType | BuiltinFunctionType):
            self.tell(thing.__module__, thing.__qualname__, code_digest(thing) if kind is FunctionType else None)
            return
        if id(thing) in self._met:
            self.tell("met", self._met[id(thing)][0])
            return
        self._met[id(thing)] = len(self._met), thing
        self.tell(kind.__module__, kind.__qualname__)
        if kind is np.ndarray and thing.dtype.kind != "O":
            self.tell(thing.dtype.str, thing.shape)
            self.sha.update(np.ascontiguousarray(thing).tobytes())
        elif kind in (set, frozenset):
            simple = all(isinstance(item, str | int | float | bytes) for item in thing)
            self.tell(len(thing), sorted(map(repr, thing)) if simple else None)  # others have no order to go by
        elif kind in (list, tuple):
            self._all(thing)
        elif kind is dict:
            self._all(item for pair in thing.items() for item in pair)
        else:
            reduced = thing.__reduce_ex__(4)
            parts = reduced if isinstance(reduced, tuple) else (reduced,)
            self._all(parts[:3])
            self._all(parts[3] if len(parts) > 3 and parts[3] is not None else ())
            self._all(item for pair in (parts[4] if len(parts) > 4 and parts[4] is not None else ()) for item in pair)

    def _all(self, things: Iterable[Any]) -> None:
        for thing in things:
            self.add(thing)
        self.tell("end")
