"""Kinds of tasks: one file each, with its residual, its Jacobian, its constructor and what drivers ask about it.

The files are found here. A constructor makes itself one of `Task`'s; what a file's `__all__` lists, such as an error
method that stands for the task, is part of `kido.ik`. Type checkers see both in the stub that `tools/stubs.py` writes.
"""

from importlib import import_module
from pkgutil import iter_modules

from kido.ik.tasks.kind import Task as Task

_files = [import_module(f"{__name__}.{name}") for name in sorted(found.name for found in iter_modules(__path__))]
_own = {name: getattr(file, name) for file in _files for name in getattr(file, "__all__", ())}
globals().update(_own, __all__=["Task", *_own])
