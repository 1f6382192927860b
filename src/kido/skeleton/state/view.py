"""What skeletons and states have in common: quantities, and the numbers that they are of, each by its name.

Members are made of `kido.quantities.TABLE` and of `State`, for both classes alike: a skeleton's are those of its
current state. `view.pyi`, which editors read, is written by `tools/stubs.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import wraps
from operator import attrgetter
from typing import Any

from kido.quantities import TABLE
from kido.quantities.verbs import VERBS
from kido.skeleton.state.commands import COMMANDS
from kido.skeleton.state.members import NUMBERS, number_property, transforms_property


class StateView:
    """Quantities and numbers of `current_state`.

    Attributes:
        current_state: the state that is meant: a skeleton's current one, or a state itself.
        ready: what calls with a given state work with, unless something must be compiled first.
        handle: address of the state for setters (`kido.skeleton.state.members.HELD`).
    """

    current_state: Any
    ready: Any
    handle: int
    name: str


MEMBERS: dict[str, Any] = {
    row.name: property(row.read, doc=row.text) if row.is_property else row.current for row in TABLE.values()
}
MEMBERS |= {name: number_property(name) for name in NUMBERS}
MEMBERS |= {"world_transforms": transforms_property(MEMBERS["world_transforms"])}
MEMBERS |= {verb.__name__: verb for verb in VERBS} | COMMANDS
for _name, _member in MEMBERS.items():
    setattr(StateView, _name, _member)
    if hasattr(_member, "__set_name__"):
        _member.__set_name__(StateView, _name)


def hand_on(view: type, names: Iterable[str], source: type) -> None:
    """Give a class members of its `current_state`, by name, with their docstrings."""
    for name in names:
        member = getattr(source, name)
        setattr(view, name, _property(name, member) if isinstance(member, property) else _method(name, member))


def _property(name: str, member: property) -> property:
    def write(of: Any, value: Any) -> None:
        setattr(of.current_state, name, value)

    return property(attrgetter(f"current_state.{name}"), write if member.fset else None, doc=member.__doc__)


def _method(name: str, member: Any) -> Any:
    @wraps(member)
    def call(of: Any, *args: Any, **options: Any) -> Any:
        return getattr(of.current_state, name)(*args, **options)

    return call
