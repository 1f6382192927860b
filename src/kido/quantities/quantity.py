"""Declarations of quantities, and what is made of them: properties, methods and pure calls.

A quantity is declared once. `array`, `number` and `fused` declare one by its kernel, `derived` one by a function of a
state. What they return is the pure call, `kido.quantities.NAME(of, positions, ..., **arguments)`: of a skeleton or a
`State`, at the state given, or without one at the current state. `TABLE` has them all.

The calls are written as text and compiled (as dataclasses do), because a call takes a microsecond: all that depends on
the declaration is settled before.
"""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from textwrap import indent
from typing import Any, NoReturn

import numpy as np

from kido.arrays import fixed
from kido.jit import REFUSALS, Struct
from kido.kernels import states
from kido.kernels.entries import REFUSED
from kido.quantities.soft import refuse_free, refuse_moving
from kido.tree.schema import TREE
from kido.tree.workspace import MEMBERS, PATH, SUBSET

POSITIONS, VELOCITIES, ACCELERATIONS = (
    ("positions",),
    ("positions", "velocities"),
    ("positions", "velocities", "accelerations"),
)
FORCES = ("positions", "velocities", "forces")
_OF = (POSITIONS, VELOCITIES, ACCELERATIONS)
OF_POSITIONS, OF_VELOCITIES, OF_ACCELERATIONS, OF_FORCES = range(4)  # places in `State.stamps`
_STAMPS = {
    POSITIONS: OF_POSITIONS, VELOCITIES: OF_VELOCITIES, ACCELERATIONS: OF_ACCELERATIONS, FORCES: OF_FORCES,
}  # fmt: skip
_ROOM = {
    ("dofs",): "w.dofs", ("dofs", "dofs"): "w.square", (3, "dofs"): "w.three_rows", (6, "dofs"): "w.six_rows",
    ("bodies", 4, 4): "w.poses", ("dofs", "10 bodies"): "w.dofs[0], 10 * state.number_of(bodies)",
    (2, "10 bodies"): "2, 10 * state.number_of(bodies)", ("dofs + 1", "dofs"): "w.factors",
    (6, "dofs", "dofs"): "w.by_column", (3, "dofs", "dofs"): "w.squares",
    (2, 6, "dofs"): "w.two_rates", (3, 6, "dofs"): "w.three_rates", (4, 6, "dofs"): "w.centroidal",
}  # fmt: skip


# After a call, before arrays are used: another thread may have stepped the world that moves the state.
_AGAIN = "if state.settled is None: w = state.settle()"


@dataclass(frozen=True)
class Arguments:
    """What a quantity is about, besides a state.

    Attributes:
        signature: parameters, as text.
        prepare: statements that make `first` of them; they see the workspace `w` and `state`.
        first: what the entry takes between the data and the state.
        key: what tells kept results of one state apart; empty: nothing does.
        struct: of the core's third argument.
        point: whether three numbers come after it.
        required: whether a call without arguments means nothing.
    """

    signature: str = ""
    prepare: str = ""
    first: str = "w.tree"
    key: str = ""
    struct: type[Struct] = TREE
    point: bool = False

    def taking(self, signature: str) -> Arguments:
        """The same with other parameters, which `finish` uses."""
        return replace(self, signature=signature)

    def about(self, signature: str, key: str) -> Arguments:
        """The same with other parameters, which tell results apart."""
        return replace(self, signature=signature, key=key)

    def kept_as(self, name: str) -> str:
        """The key of a kept result, as text."""
        if not self.key:
            return f'"{name}"'
        whole = f'"{name}" if bodies is None else ' if self.signature.startswith("bodies=None") else ""
        return f'{whole}("{name}", {self.key})'

    @property
    def afterwards(self) -> str:
        """Statements after `prepare` for the current state."""
        if "state." not in self.prepare or self.prepare.startswith("try"):  # no call, or one the first time
            return ""
        return (
            _AGAIN.replace("if ", "if bodies is not None and ") if self.signature.startswith("bodies=None") else _AGAIN
        )

    @property
    def required(self) -> bool:
        return bool(self.signature) and "=" not in self.signature.split(",")[0]

    @property
    def handed(self) -> str:
        """A dictionary of the arguments, as text."""
        return "{" + ", ".join(f'"{name}": {name}' for name in self.names) + "}"

    @property
    def names(self) -> list[str]:
        return [part.split("=")[0].strip() for part in self.signature.split(", ")] if self.signature else []


NOTHING = Arguments()
BODIES = Arguments(
    "bodies=None", "chosen = w.all_bodies if bodies is None else state.subset(bodies)", "chosen", "chosen", SUBSET
)
OF_MEMBERS = Arguments("bodies=None", "chosen = state.members(bodies)", "chosen", "chosen", MEMBERS)
NODE = Arguments(
    "node",
    "try:\n    chosen, offset = w.carriers[node]\n"
    "except (KeyError, TypeError):\n    chosen, offset = state.carrier_of(node)",
    "chosen",
    "chosen",
    PATH,
)
POINT = Arguments(
    "node, offset=ORIGIN, in_coordinates_of=None",
    "chosen, x, y, z = place = state.place_of(node, offset)",
    "chosen, x, y, z",
    "place",
    PATH,
    True,
)
POINT_ALONE = Arguments(
    "node, offset=ORIGIN", "chosen, x, y, z = place = state.place_of(node, offset)", "chosen, x, y, z", "place"
)
ORIGIN = (0.0, 0.0, 0.0)
# How pure calls begin.
_WORKSPACE = """
try:
    w = of.ready
    if w is None:
        w = of.current_state.prepare()
        GATE
except AttributeError:
    refuse_source(of)
"""
_STATE = """
try:
    state = of.current_state
except AttributeError:
    refuse_source(of)
"""


@dataclass(eq=False)
class Quantity:
    """What is declared of a quantity.

    Attributes:
        name: of the property or method, and of the pure call.
        doc: what it is.
        needs: names of the parts of a state that it depends on.
        arguments: parameters besides a state, as text.
        shape: of the result; empty for a number.
        unit: of its entries.
        frame: in whose axes it is; empty where that means nothing.
        equation: that defines it.
        source: where it is from.
        is_property: whether it is a property of a state; else a method, with the arguments.
        current: function of a state or skeleton that computes it of the current state.
        read: the same as the getter of a property, whose result is not to be written to.
        given: the pure call.
        result: type of the result.
        has_gravity: whether it depends on gravity, as far as is known.
        group: how that of a group follows from those of skeletons: "sum" or "mean" (by mass) over its bodies, "share"
            (rows and columns of its coordinates) or "columns" (of its coordinates, the default for Jacobians of a
            node); empty where groups have none.
        subgraph: whether subgraphs have it, as that of their model; by default, if coordinates may be prescribed.
        skins: "held" if its current value is known only while no point of a soft skin moves, and refused else.
    """

    name: str
    doc: str
    needs: tuple[str, ...]
    arguments: str
    shape: tuple[Any, ...]
    unit: str = ""
    frame: str = ""
    equation: str = ""
    source: str = ""
    is_property: bool = False
    current: Callable[..., Any] = lambda of: None
    read: Callable[..., Any] = lambda of: None
    given: Callable[..., Any] = lambda of: None
    result: str = "Array"
    has_gravity: bool = True
    group: str = ""
    subgraph: bool = False
    skins: str = ""

    def __post_init__(self) -> None:
        if self.names[:1] == ["node"] and len(self.shape) == 2 and self.shape[1] == "dofs":
            self.group = "columns"
        self.subgraph = self.subgraph or "prescribed" in self.names

    @property
    def names(self) -> list[str]:
        """Names of its arguments besides a state."""
        return Arguments(self.arguments).names

    @property
    def of_group(self) -> str:
        """Parameters of its form for groups: bodies are not among them."""
        chosen = self.group in ("sum", "mean")
        return ", ".join(p for p in self.arguments.split(", ") if not (chosen and p == "bodies=None"))

    @property
    def text(self) -> str:
        """Its docstring."""
        facts = [self.equation, self.frame, f"[{self.unit}]" if self.unit else ""]
        shape = f" ({', '.join(map(str, self.shape))}{',' if len(self.shape) == 1 else ''})" if self.shape else ""
        first, _, rest = self.doc.partition("\n")
        more = "; ".join(f for f in facts if f)
        lines = [f"{first}{shape}" if shape and shape.strip() not in first else first, more, inspect.cleandoc(rest)]
        return "\n\n".join(part for part in lines if part) + (f"\n\nSource: {self.source}" if self.source else "")


TABLE: dict[str, Quantity] = {}


def compiled(name: str, text: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """A function from its text, which tracebacks show."""
    file = f"<kido.quantities.{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    exec(compile(text, file, "exec"), scope)
    function = scope[name]
    function.__module__ = "kido.quantities"
    return function


def call_of(row: Quantity, parameters: str, function: Callable[..., Any], doc: str) -> Any:
    """A method with the name of a quantity that calls `function(self, row, ...)` with its arguments by name."""
    names = [part.partition("=")[0] for part in parameters.split(", ") if part]
    handed = "".join(f", {name}={name}" for name in names)
    scope = {"FUNCTION": function, "ROW": row, "ORIGIN": ORIGIN}
    made = _function(
        row.name, ", ".join(["self", parameters][: 1 + bool(parameters)]), f"return FUNCTION(self, ROW{handed})", scope
    )
    made.__doc__ = doc
    return made


def _function(name: str, signature: str, body: str, scope: dict[str, Any]) -> Callable[..., Any]:
    return compiled(name, f"def {name}({signature}):\n{indent(body, '    ')}\n", scope)


def _registered(row: Quantity, scope: dict[str, Any], current: str, given: str, arguments: Arguments) -> Any:
    """Make the calls of a row from their bodies, and register it."""
    more = f", {arguments.signature}" if arguments.signature else ""
    current, given = _gated(row, arguments, current, given)
    if row.skins:
        check = "state = of.current_state\nif state.settled is None:\n    state.compiled()\n    if state.has_soft:\n"
        check += f'        refuse_moving(state, "{row.name}")'
        current, scope = current.replace("state = of.current_state", check), scope | {"refuse_moving": refuse_moving}
    row.current = _function(row.name, f"of{more}", current, dict(scope))
    if row.is_property:
        row.read = _function(row.name, "of", _defaults(arguments) + _shown(current), scope | {"FIXED": fixed_result})
    parts = ", ".join(f"{part}=None" for part in row.needs)
    optional = "".join(f", {p if '=' in p else p + '=None'}" for p in more.split(", ")[1:])
    handed = "".join(f", {name}" for name in arguments.names)
    guard = f"if positions is None:\n    return current({', '.join(['of', *row.needs])}{handed})\n"
    if len(row.needs) > 1:
        guard += f"if {' or '.join(f'{p} is None' for p in row.needs[1:])}:\n    refuse_part({', '.join(row.needs)})\n"
    whole = scope | {"current": _whole_or_none(row), "refuse_part": _refuse_part, "refuse_source": _refuse_source}
    row.given = _function(row.name, f"of, {parts}{optional}", guard + given, whole)
    row.current.__doc__ = row.given.__doc__ = row.read.__doc__ = row.text
    row.given.quantity = row
    TABLE[row.name] = row
    return row.given


# What does not know of flexible bodies: of quantities that are made of poses, or of other quantities, alone.
INDIFFERENT = frozenset((
    "world_transforms", "world_transform", "spring_forces", "damping_forces", "linear_jacobian", "angular_jacobian",
    "momentum", "angular_momentum", "linear_momentum", "lagrangian", "augmented_mass_matrix", "active_passive_split",
    "velocity_changes",
))  # fmt: skip
_SETTLED = "w = state.settled or state.settle()\n"


def _gated(row: Quantity, arguments: Arguments, current: str, given: str) -> tuple[str, str]:
    """Bodies of calls that leave skeletons with flexible bodies to `State.deformed`."""
    handed = arguments.handed
    given = _given_gated(given, row.name, handed, row.needs)
    if row.name in INDIFFERENT:
        return current, given
    answer = f'if state.deformed is not None:\n    return state.deformed.answer("{row.name}", {handed})\n'
    if _SETTLED in current:
        settled = f"w = state.settled\nif w is None:\n    w = state.settle()\n{indent(answer, '    ')}"
        return current.replace(_SETTLED, settled, 1), given
    gate = f"state = of.current_state\nif state.settled is None:\n    state.settle()\n{indent(answer, '    ')}"
    return current.replace("state = of.current_state\n", gate, 1), given


def _given_gated(text: str, name: str, handed: str, parts: tuple[str, ...]) -> str:
    """The body of a call that is given a state, at a skeleton with flexible bodies that of `State.deformed`."""
    state = ", ".join(f"{p}={p}" for p in parts)
    gate = f'of.current_state.deformed.at("{name}", {handed}, {state})'
    if name in ("position_differences", "integrate_positions"):
        return text.replace("\n        GATE", "")
    return text.replace("GATE", f"if of.current_state.deformed is not None:\n            return {gate}")


def _defaults(arguments: Arguments) -> str:
    """Statements that give the arguments of a call their defaults."""
    return "".join(f"{part}\n" for part in arguments.signature.split(", ") if part)


def _shown(text: str) -> str:
    """The body of a call, for a property: its result is not to be written to."""
    if "out = kept.copied" in text:
        text = text.replace("kept.copied", "kept.shown")
        return re.sub(r"^( *)out = (?!kept\.)(.+)$", r"\1out = FIXED((\2))", text, flags=re.MULTILINE)
    return re.sub(r"\breturn (?!kept\.value$)(.+)$", r"return FIXED(\1)", text)


def fixed_result(result: Any) -> Any:
    """A result that is not to be written to: an array, or a tuple of some."""
    if isinstance(result, tuple):
        return tuple.__new__(type(result), map(fixed_result, result))
    return fixed(result) if isinstance(result, np.ndarray) else result


def _refuse_source(of: Any) -> NoReturn:
    """For a handler of AttributeError: nothing that has a state."""
    from kido.errors import ModelError

    if hasattr(of, "current_state"):
        raise  # noqa: PLE0704  (from within)
    raise ModelError(f"expected a kido.Skeleton or a State to compute a quantity of, got {of!r}")


def _refuse_part(*given: Any) -> None:
    from kido.errors import StateError

    raise StateError(f"expected a whole state, or none for the current one; got {given!r}")


def _whole_or_none(row: Quantity) -> Callable[..., Any]:
    """`current` of a row for calls in which positions are None: then no other part of a state may be given."""
    number, call = len(row.needs), row.current

    def current(of: Any, *values: Any) -> Any:
        if not hasattr(of, "current_state"):
            _refuse_source(of)
        if any(value is not None for value in values[:number]):
            _refuse_part(*values[:number])
        return call(of, *values[number:])

    return current


def array(
    name: str,
    core: Any,
    needs: states.Needs,
    shape: tuple[Any, ...],
    doc: str,
    *,
    of: Arguments = NOTHING,
    finish: str = "",
    soft: Any = None,
    fail: Any = None,
    is_property: bool | None = None,
    kept: bool = True,
    scope: dict[str, Any] | None = None,
    **facts: Any,
) -> Any:
    """Declare a quantity by a core that fills an array.

    Args:
        core: kernel (t, d, c[, x, y, z], out), see `kido.kernels.states`.
        needs: what the core supposes current.
        shape: of the array, of numbers and names of sizes.
        of: the quantity's arguments.
        finish: statements that turn `out` into the result.
        soft: function (state, bodies) of what points of soft skins add, for the current state.
        fail: function (state, status) that raises for a status of the core.
        is_property: by default, unless it has arguments without which it means nothing.
        kept: whether its result is kept; not one that takes no longer than its copy, once what it needs is current.
        scope: names that `finish` uses.
        facts: `unit`, `frame`, `equation`, `source`, `result` of `Quantity`.
    """
    current, given = states.array_entries(core, needs, of.struct, len(shape), of.point)
    room, parts = _room(shape), _OF[needs.vectors - 1]
    names: dict[str, Any] = {
        "CURRENT": current, "GIVEN": given, "empty": np.empty, "REFUSALS": REFUSALS, "REFUSED": REFUSED, "fail": fail,
        "soft": soft, "ORIGIN": ORIGIN, "zeros": np.zeros, **(scope or {}),
    }  # fmt: skip
    failing = "fail(state, status)" if fail else "pass"
    ending = f"{finish}\nreturn out" if finish else "return out"
    share = "\nif state.has_soft:\n    out = out + soft(state, bodies)" if soft else ""
    keeping = f"""
out = empty({room})
{_AGAIN}
CURRENT.call(w.tree, w.held, {of.first}, out)"""
    if kept:
        keeping = f"""
key = {of.kept_as(name)}
try:
    kept = state.kept[key]
except KeyError:
    kept = state.keep(key, empty({room}))
    {_AGAIN}
stamp = state.stamps[{_STAMPS[parts]}]
if kept.stamp != stamp:
    status = CURRENT.call(w.tree, w.held, {of.first}, kept.value)
    if status:
        {failing}
    kept.stamp = stamp
    kept.count += 1
out = kept.copied"""
    held = f"""
state = of.current_state
w = state.settled or state.settle()
{of.prepare}
{of.afterwards}
{keeping}
{f"{' = '.join(parts)} = None" if finish else ""}{share}
{ending}"""
    late = of.prepare.replace("state.", "of.current_state.")
    pure = f"""{_WORKSPACE}{late}
out = empty({room.replace("state.", "of.current_state.")})
try:
    status = GIVEN.call(w.tree, w.data, {of.first}, {", ".join(parts)}, out)
except REFUSALS:
    status = REFUSED
if status:
    state = of.current_state
    if status == REFUSED:
        status = state.repeat(GIVEN, ({of.first},), (out,), {", ".join(f"{p}={p}" for p in parts)})
    if status:
        {failing}
{ending.replace("state.", "of.current_state.")}"""
    row = Quantity(name, doc, parts, of.signature, shape, **facts)
    row.is_property = not of.required if is_property is None else is_property
    return _registered(row, names, held, pure, of)


def number(
    name: str,
    core: Any,
    needs: states.Needs,
    doc: str,
    *,
    of: Arguments = BODIES,
    soft: Any = None,
    moves: bool = True,
    **facts: Any,
) -> Any:
    """Declare a quantity by a core (t, d, c) that returns a number; arguments as for `array`.

    Args:
        moves: whether points of soft skins add to it by their motion, which a state that is given has none of.
    """
    current, given = states.number_entries(core, needs, of.struct)
    parts = _OF[needs.vectors - 1]
    names = {"CURRENT": current, "GIVEN": given, "REFUSALS": REFUSALS, "soft": soft, "ORIGIN": ORIGIN}
    share = "\nif state.has_soft:\n    return kept.value + soft(state, bodies)" if soft else ""
    held = f"""
state = of.current_state
w = state.settled or state.settle()
{of.prepare}
{of.afterwards}
key = {of.kept_as(name)}
try:
    kept = state.kept[key]
except KeyError:
    kept = state.keep(key, 0.0)
    {_AGAIN}
stamp = state.stamps[{_STAMPS[parts]}]
if kept.stamp != stamp:
    kept.value = CURRENT.call(w.tree, w.held, {of.first})
    kept.stamp = stamp
    kept.count += 1{share}
return kept.value"""
    pure = f"""{_WORKSPACE}{of.prepare.replace("state.", "of.current_state.")}
try:
    value = GIVEN.call(w.tree, w.data, {of.first}, {", ".join(parts)})
except REFUSALS:
    value = float("nan")
if value != value:
    value = of.current_state.repeat(GIVEN, ({of.first},), (), {", ".join(f"{p}={p}" for p in parts)})
return value"""
    if soft and not moves:
        pure = pure.replace(
            "return value", "state = of.current_state\nreturn value + soft(state, bodies) if state.has_soft else value"
        )
    row = Quantity(name, doc, parts, of.signature, (), is_property=True, **{"result": "float", **facts})
    return _registered(row, names, held, pure, of)


def pure_text(entry_first: str, parts: tuple[str, ...], room: str, prepare: str, failing: str, finish: str) -> str:
    """Body of a call of an entry that takes a state: (tree, data, *first, *state, out)."""
    first = f"{entry_first}, " if entry_first else ""
    tuple_text = f"({entry_first},)" if entry_first else "()"
    return f"""{_WORKSPACE}{prepare.replace("state.", "of.current_state.")}
out = {room}
try:
    status = GIVEN.call(w.tree, w.data, {first}{", ".join(parts)}, out)
except REFUSALS:
    status = REFUSED
if status:
    state = of.current_state
    if status == REFUSED:
        status = state.repeat(GIVEN, {tuple_text}, (out,), {", ".join(f"{p}={p}" for p in parts)})
    if status:
        {failing}
{finish}
return out"""


def fused(
    name: str,
    entry: Any,
    parts: tuple[str, ...],
    shape: tuple[Any, ...],
    doc: str,
    *,
    of: Arguments = NOTHING,
    prepare: str = "",
    first: str = "",
    finish: str = "",
    fail: Any = None,
    zeros: bool = False,
    is_property: bool = False,
    scope: dict[str, Any] | None = None,
    **facts: Any,
) -> Any:
    """Declare a quantity by an entry (tree, data, *first, *state, out) that computes it at a state given.

    That of the current state is kept like all others; the entry works on arrays that belong to no state.
    """
    names = {
        "GIVEN": entry, "empty": np.empty, "zeros": np.zeros, "REFUSALS": REFUSALS, "REFUSED": REFUSED, "fail": fail,
        "ORIGIN": ORIGIN, **(scope or {}),
    }  # fmt: skip
    failing = "fail(state, status)" if fail else "pass"
    room = f"{'zeros' if zeros else 'empty'}({_room(shape)})"
    prepare = "\n".join(p for p in (of.prepare, prepare) if p)
    fields = {"positions": "w.q", "velocities": "w.u", "accelerations": "w.udot", "forces": "w.tau"}
    state_of = ", ".join(fields[p] for p in parts)
    first_text = f"{first}, " if first else ""
    held = f"""
state = of.current_state
w = state.settled or state.settle()
{prepare}
{of.afterwards}
key = {of.kept_as(name)}
try:
    kept = state.kept[key]
except KeyError:
    kept = state.keep(key, {room})
    {_AGAIN}
stamp = state.stamps[{_STAMPS[parts]}]
if kept.stamp != stamp:
    status = GIVEN.call(w.tree, w.data, {first_text}{state_of}, kept.value)
    if status:
        {failing}
    kept.stamp = stamp
    kept.count += 1
out = kept.copied
{finish}
return out"""
    row = Quantity(name, doc, parts, of.signature, shape, is_property=is_property, **facts)
    return _registered(row, names, held, pure_text(first, parts, room, prepare, failing, finish), of)


def derived(
    needs: tuple[str, ...],
    shape: tuple[Any, ...] = (),
    *,
    is_property: bool = False,
    kept: bool = False,
    **facts: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """Declare a quantity by a function of a `State` and its other arguments, which asks the state for other ones.

    At a state that is given, the function is called with a state that has these numbers, and no loads.

    Args:
        needs: parts of a state that it depends on.
        kept: whether results (arrays, or tuples of them) without arguments are kept while these do not change.
    """

    def declare(function: Callable[..., Any]) -> Any:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        names: dict[str, Any] = {"FUNCTION": function, "ORIGIN": ORIGIN}
        texts = []
        for p in parameters:
            default = "ORIGIN" if p.default is ORIGIN else repr(p.default)
            texts.append(p.name if p.default is p.empty else f"{p.name}={default}")
        handed = "".join(f", {p.name}" for p in parameters)
        arguments = Arguments(", ".join(texts))
        name = function.__name__
        held = f"state = of.current_state\nreturn FUNCTION(state{handed})"
        if kept:
            held = f"""
state = of.current_state
state.settled or state.settle()
kept = state.kept.get("{name}")
if kept is None:
    kept = state.keep("{name}", None)
stamp = state.stamps[{_STAMPS[needs]}]
if kept.stamp != stamp:
    kept.value = FUNCTION(state{handed})
    kept.stamp = stamp
    kept.count += 1
return tuple(x.copy() for x in kept.value) if type(kept.value) is tuple else kept.value.copy()"""
        given = f"{_STATE}made = state.at({', '.join(f'{p}={p}' for p in needs)})\n"
        if name not in INDIFFERENT:
            given += f'if made.deformed is not None:\n    return made.deformed.answer("{name}", {arguments.handed})\n'
        given += f"return FUNCTION(made{handed})"
        row = Quantity(name, inspect.cleandoc(function.__doc__ or ""), needs, arguments.signature, shape, **facts)
        row.is_property = is_property
        return _registered(row, names, held, given, arguments)

    return declare


def verb(
    name: str,
    entry: Any,
    parts: tuple[str, ...],
    room: str,
    doc: str,
    *,
    prepare: str = "",
    first: str = "",
    finish: str = "",
    fail: Any = None,
    skins: str = "",
) -> Any:
    """A method that is pure by name: an entry (tree, data, *first, *state, out) at a state that is always given.

    Args:
        skins: "frozen" if it is refused while points of a soft skin are free.
    """
    names = {
        "GIVEN": entry, "empty": np.empty, "REFUSALS": REFUSALS, "REFUSED": REFUSED, "fail": fail,
        "refuse_source": _refuse_source,
    }  # fmt: skip
    failing = "fail(state, status)" if fail else "pass"
    text = _given_gated(pure_text(first, parts, f"empty({room})", prepare, failing, finish), name, "{}", parts)
    if skins:  # skeletons with skins are never ready
        text = text.replace("of.current_state.prepare()", f'frozen(of.current_state, "{name}")')
        names["frozen"] = frozen
    function = _function(name, f"of, {', '.join(f'{part}=None' for part in parts)}", text, names)
    function.__doc__ = inspect.cleandoc(doc)
    return function


def frozen(state: Any, what: str) -> Any:
    """What calls that are given a state work with, of a skeleton all of whose skins are frozen, if it has any.

    Raises:
        ModelError: points of a soft body are free.
    """
    made = state.prepare()
    if state.has_soft:
        refuse_free(state, what)
    return made


def _room(shape: tuple[Any, ...]) -> str:
    known = _ROOM.get(shape)
    if known is None:
        sizes = {"bodies": "w.poses[0]", "dofs": "w.dofs[0]"}
        return f"({', '.join(sizes.get(size, str(size)) for size in shape)},)"
    return f"({known})" if "," in known else known
