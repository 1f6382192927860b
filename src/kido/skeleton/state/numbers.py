"""Positions, velocities, accelerations and forces as properties, which are set in a tenth of a microsecond."""

from __future__ import annotations

from typing import Any

from kido.jit import JIT_DISABLED, REFUSALS, Struct, integer, view
from kido.kernels import current
from kido.kernels.current import CHANGED, REFUSED
from kido.quantities.quantity import compiled

if not JIT_DISABLED:
    from kido.jit import members

# By the name of what is set: the field of the data, the entry that writes it, which of `State.stamps` go, from the first to before the last, and what it is.
NUMBERS = {
    "positions": ("q", current.set_positions, (0, 4), "Positions of all coordinates (dofs,) [m, rad] (a copy)."),
    "velocities": ("u", current.set_velocities, (1, 4),
                   "Velocities of all coordinates (dofs,) [m/s, rad/s] (a copy)."),
    "accelerations": ("udot", current.set_accelerations, (2, 3),
                      "Accelerations of all coordinates (dofs,) [m/s^2, rad/s^2] (a copy)."),
    "forces": ("tau", current.set_forces, (3, 4),
               """Joint forces (dofs,) [N, N m] (a copy): the command, and the result of inverse dynamics.

    A command at FORCE and MIMIC coordinates (see `commands`). At coordinates with other actuators it is a result
    of `compute_forward_dynamics` and `compute_inverse_dynamics`; what is written there does not act.
    """),
}  # fmt: skip


class HELD(Struct):
    """A state as setters find it, by the attribute `handle` of states and skeletons."""

    tree = integer(doc="address of the tree; 0: the state must be compiled first, or is moved by a world")
    data = integer(doc="address of the data")
    stamps = integer(doc="address of the list `State.stamps`")
    clock = integer(doc="counts changes")


def number_property(owner: type, name: str) -> property:
    """The property of positions, velocities, ..., of a class of `current_state`s."""
    field, entry, (first, last), doc = NUMBERS[name]
    stale = " = ".join(f"stamps[{k}]" for k in range(first, last))
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
        status = {REFUSED}
    if status == {CHANGED}:
        stamps = state.stamps
        {stale} = object()
    elif status:
        state.assign("{name}", value)
"""
    get = compiled(f"get_{name}", getter, {})
    write = compiled(f"set_{name}", setter, {"SET": entry, "REFUSALS": REFUSALS})
    if JIT_DISABLED or not members.KNOWN:
        return property(get, write, doc=doc)
    fast = _member(name, entry.dispatcher, write, first, last)

    def first_time(of: Any, value: Any) -> None:
        """Load the machine code, which then is the setter."""
        setattr(owner, name, property(get, fast.compile(), doc=doc))
        setattr(of, name, value)

    return property(get, first_time, doc=doc)


def _member(name: str, write: Any, plain: Any, first: int, last: int) -> members.Member:
    """The setter of a state that is compiled, for a vector of the kind that arrays are; `plain` does it for all."""
    leave = members.otherwise(name, plain)

    def set_numbers(of, value):
        handle = members.handle_of(of)
        if handle == 0:
            return leave(of, value)
        state = view(HELD, handle)
        if state.tree == 0:
            return leave(of, value)
        status = write(state.tree, state.data, members.vector_of(value))
        if status == REFUSED:
            return leave(of, value)
        if status == CHANGED:
            state.clock += 1
            members.put(state.stamps, state.clock, first, last)
        return members.nothing()

    return members.Member(set_numbers)
