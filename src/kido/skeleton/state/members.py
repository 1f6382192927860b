"""Properties that take a tenth of a microsecond: positions, velocities, accelerations, forces, and poses of bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kido.arrays import ReadOnlyArray, read_only_copy, settable
from kido.jit import JIT_DISABLED, REFUSALS, Struct, inlined, integer, view
from kido.kernels import current
from kido.kernels.current import CHANGED, OUTSIDE, REFUSED, UNCHANGED
from kido.kernels.lazy import ensure_pose
from kido.kernels.placement import write_pose, write_poses
from kido.kernels.states import ensure_transforms
from kido.quantities.quantity import compiled
from kido.tree.schema import DATA, TREE

if JIT_DISABLED:
    FAST = False
else:
    from kido.jit import members

    FAST = members.KNOWN

# By the name of what is set: the field of the data, the entry that writes it, which of `State.stamps` go (the first,
# and the one after the last), and what it is.
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

ARRAYS = {name: settable(name, f"set_{name}(values, dofs)") for name in NUMBERS}  # what the getters give


class HELD(Struct):
    """A state as setters find it, by the attribute `handle` of states and skeletons."""

    tree = integer(doc="address of the tree; 0: the state must be compiled first, or is moved by a world")
    data = integer(doc="address of the data")
    stamps = integer(doc="address of the list `State.stamps`")
    clock = integer(doc="counts changes")


def number_property(name: str) -> property:
    """The property of positions, velocities, ..., of what has a `current_state`."""
    field, entry, (first, last), doc = NUMBERS[name]
    stale = " = ".join(f"stamps[{k}]" for k in range(first, last))
    outside = f"if status == {OUTSIDE}: state.warn_of_limits()" if name == "positions" else ""
    getter = f"""
def get_{name}(of):
    state = of.current_state
    return READ_ONLY(KIND, (state.settled or state.settle()).{field})
"""
    setter = f"""
def set_{name}(of, value):
    state = of.current_state
    w = state.settled or state.settle()
    try:
        status = SET.call(w.tree, w.held, value)
    except REFUSALS:
        status = {REFUSED}
    if status >= {CHANGED}:
        stamps = state.stamps
        {stale} = object()
        {outside}
    elif status:
        state.assign("{name}", value)
"""
    get = compiled(f"get_{name}", getter, {"READ_ONLY": read_only_copy, "KIND": ARRAYS[name]})
    write = compiled(f"set_{name}", setter, {"SET": entry, "REFUSALS": REFUSALS})
    plain = property(get, write, doc=doc)
    if not FAST:
        return plain
    reads = _reader(name, _READ[field], get)
    return members.FastProperty(plain, reads, _writer(name, entry.kernel, write, first, last))


# As machine code ---------------------------------------------------------------------------------------------


def _result() -> str:
    """Name of the type of results."""
    return members.know_type("result", ReadOnlyArray)


@inlined
def read_q(d, out):
    for k in range(out.shape[0]):
        out[k] = d.q[k]


@inlined
def read_u(d, out):
    for k in range(out.shape[0]):
        out[k] = d.u[k]


@inlined
def read_udot(d, out):
    for k in range(out.shape[0]):
        out[k] = d.udot[k]


@inlined
def read_tau(d, out):
    for k in range(out.shape[0]):
        out[k] = d.tau[k]


_READ = {"q": read_q, "u": read_u, "udot": read_udot, "tau": read_tau}


def _reader(name: str, read: Any, plain: Any) -> members.Member:
    """The getter of numbers of a state that is compiled; `plain` is that of all states."""
    leave, new = members.otherwise(f"get_{name}", plain, 1), members.maker(members.know_type(name, ARRAYS[name]))

    def get_numbers(of):
        handle = members.handle_of(of)
        if handle == 0:
            return leave(of)
        state = view(HELD, handle)
        if state.tree == 0:
            return leave(of)
        d = view(DATA, state.data)
        made, out = new(d.q.shape[0])
        if members.is_missing(made):
            return made
        read(d, out)
        return made

    return members.Member(get_numbers)


def _warn(of: Any) -> None:
    of.current_state.warn_of_limits()


def _writer(name: str, write: Any, plain: Any, first: int, last: int) -> members.Member:
    """The setter of numbers of a state that is compiled, from a vector of float64; `plain` is that for all."""
    leave, warn = members.otherwise(f"set_{name}", plain, 2), members.otherwise(f"{name}_outside", _warn, 1)

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
        if status != UNCHANGED:
            state.clock += 1
            members.put(state.stamps, state.clock, first, last)
        if status == OUTSIDE:
            return warn(of)
        return members.nothing()

    return members.Member(set_numbers)


def transforms_property(plain: Any) -> property:
    """World transforms of all bodies."""
    if not FAST:
        return plain
    leave, new = members.otherwise("world_transforms", plain.fget, 1), members.maker(_result(), 4, 4)

    def get_transforms(of):
        handle = members.handle_of(of)
        if handle == 0:
            return leave(of)
        state = view(HELD, handle)
        if state.tree == 0:
            return leave(of)
        t, d = view(TREE, state.tree), view(DATA, state.data)
        made, out = new(t.member_link.shape[0])
        if members.is_missing(made):
            return made
        ensure_transforms(t, d, t)
        write_poses(t, d, out)
        return made

    return members.FastProperty(plain, members.Member(get_transforms))


def pose_getter(plain: Callable[[Any], Any]) -> property:
    """World transform of a body, which has `skeleton` and `_index`."""
    if not FAST:
        return property(plain)
    leave, new = members.otherwise("pose", plain, 1), members.maker(_result(), 4)
    handle_of, index_of = members.number_at("skeleton", "handle"), members.number_at("_index")

    def get_pose(of):
        handle = handle_of(of)
        if handle == 0:
            return leave(of)
        state = view(HELD, handle)
        if state.tree == 0:
            return leave(of)
        t, d, m = view(TREE, state.tree), view(DATA, state.data), index_of(of)
        made, out = new(4)
        if members.is_missing(made):
            return made
        ensure_pose(t, d, t.member_link[m])
        write_pose(t, d, m, out)
        return made

    return members.FastProperty(property(plain), members.Member(get_pose))


def copy_getter(plain: Callable[[Any], Any]) -> property:
    """A copy of the array `value`."""
    if not FAST:
        return property(plain)

    copied = members.copier()

    def get_copy(of):
        return copied(of)

    return members.FastProperty(property(plain), members.Member(get_copy))


def shown_getter(plain: Callable[[Any], Any]) -> property:
    """A copy of the array `value` that is not to be written to."""
    if not FAST:
        return property(plain)

    shown = members.copier(_result())

    def get_shown(of):
        return shown(of)

    return members.FastProperty(property(plain), members.Member(get_shown))


if TYPE_CHECKING:
    pose_property = copy_property = shown_property = property
else:
    pose_property, copy_property, shown_property = pose_getter, copy_getter, shown_getter
