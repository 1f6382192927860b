"""What Python functions refer to: copies of them refer to copies of it.

`copy.deepcopy` takes a function for a constant. A cost that asks a body where it is would go on asking the original.
"""

from __future__ import annotations

import copy
import dis
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

from kido.attributes import FixedAttributes
from kido.errors import ModelError
from kido.skeleton import DegreeOfFreedom, Joint, Skeleton
from kido.skeleton.nodes.node import JacobianNode


class LostFunction(FixedAttributes):
    """Stands for a function that cannot be copied with what it refers to; calls say why.

    Args:
        message: what they say.
    """

    def __init__(self, message: str) -> None:
        self.message = message

    def __call__(self, *args: Any, **options: Any) -> Any:
        """
        Raises:
            ModelError: always.
        """
        raise ModelError(self.message)


def rebound(function: Callable[..., Any], memo: dict[int, Any]) -> Callable[..., Any]:
    """A function for a copy, in whose closure and defaults parts of what is copied are replaced by their copies.

    Parts are looked for also in lists, tuples, dicts and functions that it refers to. Where it reaches one by a global
    name, which cannot be replaced, it becomes a `LostFunction`.

    Args:
        function: of Python; what is called otherwise is as it was.
        memo: of `copy.deepcopy`.

    Raises:
        ModelError: the copy lacks what the function refers to.
    """
    if not isinstance(function, FunctionType):
        return function
    for name, value in _globals_of(function, set()):
        if _copied(value, memo) is not value:
            return LostFunction(
                f"function {function.__name__!r} refers to {value!r} by the global name {name!r}, which is not copied "
                "with it; set it anew for the copy, or write it within a function that is given what it refers to"
            )
    return _rebound(function, memo)


def _rebound(function: FunctionType, memo: dict[int, Any]) -> FunctionType:
    if id(function) in memo:
        return memo[id(function)]
    cells = function.__closure__ or ()
    closure = tuple(CellType() for _ in cells)
    twin = FunctionType(function.__code__, function.__globals__, function.__name__, None, closure)
    memo[id(function)] = twin  # it may refer to itself
    held = [*map(_contents, cells), function.__defaults__, function.__kwdefaults__]
    new = [_copied(value, memo) for value in held]
    if all(a is b or (a is function and b is twin) for a, b in zip(held, new)):
        memo[id(function)] = function
        return function
    for cell, value in zip(closure, new):
        cell.cell_contents = value
    twin.__defaults__, twin.__kwdefaults__ = new[len(cells) :]
    twin.__qualname__, twin.__dict__ = function.__qualname__, {**function.__dict__}
    return twin


def _globals_of(function: FunctionType, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Global names that a function and those that it calls by global names use, and what they stand for."""
    seen.add(id(function))
    codes: list[CodeType] = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        for name in {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}:
            value = function.__globals__.get(name)
            if not isinstance(value, FunctionType):
                yield name, value
            elif id(value) not in seen and value.__module__ == function.__module__:
                yield from _globals_of(value, seen)


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is not set yet
        return None


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    """The copy of a value that is a part of what is copied, or holds some; else itself."""
    if isinstance(value, FunctionType):
        return _rebound(value, memo)
    if type(value) in (list, tuple):
        items = [_copied(item, memo) for item in value]
        return value if all(a is b for a, b in zip(value, items)) else type(value)(items)
    if type(value) is dict:
        made = {key: _copied(item, memo) for key, item in value.items()}
        return value if all(made[key] is value[key] for key in value) else made
    return _copied_part(value, memo)


def _copied_part(value: Any, memo: dict[int, Any]) -> Any:
    """The copy of a skeleton or world that is copied, or of what belongs to one; else the value."""
    if not isinstance(value, FixedAttributes):
        return value
    if id(value) in memo:
        return memo[id(value)]
    holder = value.joint if isinstance(value, DegreeOfFreedom) else getattr(value, "body", value)
    skeleton = holder if isinstance(holder, Skeleton) else getattr(holder, "skeleton", None)
    if not isinstance(skeleton, Skeleton):
        return value
    twin = memo.get(id(skeleton))
    if twin is skeleton or (twin is None and id(skeleton.host) not in memo):
        return value
    if twin is not None and vars(twin) and isinstance(value, JacobianNode | Joint | DegreeOfFreedom):
        raise ModelError(f"a function refers to {value!r}, and skeleton {twin.name!r} has nothing that stands for it")
    return copy.deepcopy(value, memo)
