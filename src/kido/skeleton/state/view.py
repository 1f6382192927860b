"""What skeletons and states have in common: quantities, and the numbers that they are of, each by its name.

Members are made of `kido.quantities.TABLE` and of `State`, for both classes alike: a skeleton's are those of its
current state. `view.pyi`, which editors read, is written by `tools/stubs.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import wraps
from operator import attrgetter
from typing import Any

from kido.jit import REFUSALS
from kido.kernels import current
from kido.quantities import TABLE
from kido.quantities.quantity import compiled
from kido.quantities.verbs import VERBS
from kido.skeleton.state.commands import COMMANDS

_ALL = ("of_positions", "of_velocities", "of_accelerations", "of_forces")
# By the name of what is set: the field of the data, the entry that writes it, what goes stale, and what it is.
NUMBERS = {
    "positions": ("q", current.set_positions, _ALL, "Positions of all coordinates (dofs,) [m, rad] (a copy)."),
    "velocities": ("u", current.set_velocities, _ALL[1:],
                   "Velocities of all coordinates (dofs,) [m/s, rad/s] (a copy)."),
    "accelerations": ("udot", current.set_accelerations, _ALL[2:3],
                      "Accelerations of all coordinates (dofs,) [m/s^2, rad/s^2] (a copy)."),
    "forces": ("tau", current.set_forces, _ALL[3:],
               """Joint forces (dofs,) [N, N m] (a copy): the command, and the result of inverse dynamics.

    A command at FORCE and MIMIC coordinates (see `commands`). At coordinates with other actuators it is a result
    of `compute_forward_dynamics` and `compute_inverse_dynamics`; what is written there does not act.
    """),
}  # fmt: skip


def _number_property(name: str) -> property:
    """The property of positions, velocities, ..., in as few steps as a setter of a quarter of a microsecond has."""
    field, entry, stale, doc = NUMBERS[name]
    getter = f"""
def get_{name}(of):
    state = of.current_state
    return (state.settled or state.settle()).{field}.copy()
"""
    setter = f"""
def set_{name}(of, value):
    state = of.current_state
    w = state.settled or state.settle()
    try:
        status = SET.call(w.tree, w.held, value)
    except REFUSALS:
        status = {current.REFUSED}
    if status == {current.CHANGED}:
        state.clock = {" = ".join(f"state.{s}" for s in stale)} = state.clock + 1
    elif status:
        state.assign("{name}", value)
"""
    scope = {"SET": entry, "REFUSALS": REFUSALS}
    return property(compiled(f"get_{name}", getter, {}), compiled(f"set_{name}", setter, scope), doc=doc)


class StateView:
    """Quantities and numbers of `current_state`.

    Attributes:
        current_state: the state that is meant: a skeleton's current one, or a state itself.
        ready: what calls with a given state work with, unless something must be compiled first.
    """

    current_state: Any
    ready: Any
    name: str


for _name in NUMBERS:
    setattr(StateView, _name, _number_property(_name))
for _row in TABLE.values():
    setattr(StateView, _row.name, property(_row.current, doc=_row.text) if _row.is_property else _row.current)
for _verb in VERBS:
    setattr(StateView, _verb.__name__, _verb)
for _name, _command in COMMANDS.items():
    setattr(StateView, _name, _command)


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
