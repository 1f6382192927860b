"""From models and connections to one program: values get numbers, ports become other names of values.

An input is the value that it is connected to; nothing is copied. Assemblies are gone here: order is found among
operations, so that no loop is seen where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from kido.errors import ModelError
from kido.systems import schema as kinds
from kido.systems.assembly import Connection
from kido.systems.clock import Rate
from kido.systems.declarations import Crossing, Input, Noise, Output, Parameter, State
from kido.systems.model import Model, Port
from kido.systems.noise import key_of
from kido.systems.operations import Loop, Operation, needed
from kido.systems.python_calls import PythonCall
from kido.systems.schema import MODEL
from kido.systems.tracing import Traced

CONSTANT, HOLDING, VARYING = range(3)  # levels: made of parameters; of what changes at ticks too; of all else
_CONTEXTS = {
    "outputs": kinds.OUTPUTS, "derivatives": kinds.DERIVATIVES, "update": kinds.UPDATE, "crossings": kinds.CROSSING,
    "event": kinds.EVENT, "start": kinds.START,
}  # fmt: skip


class Linked:
    """A system's values and operations.

    Attributes:
        initial: of all values.
        slots: of each port, element by element.
        level: of values that no operation writes while states stand still.
        always, at_ticks: the operations that write values; those of ticks, with their rates.
        commits: by rate: (state, new value) of what updates change together.
        rates: of all that ticks.
        continuous: ports and first slots of continuous states, in the order of their values.
    """

    def __init__(self, models: Sequence[Model], connections: Sequence[Connection], seed: int):
        self.models, self.connections = list(models), list(connections)
        self.initial: list[float] = [0.0]
        self.slots: dict[tuple[str, str], list[int]] = {}
        self.level: dict[int, int] = {kinds.TIME: VARYING}
        self.always: dict[int, Operation] = {}
        self.at_ticks: dict[int, tuple[Operation, int]] = {}
        self.commits: dict[int, list[tuple[int, int]]] = {}
        self.noise: dict[int, list[Operation]] = {}
        self.calls: list[PythonCall] = []
        self.kept: list[Any] = []  # structs that calls name by address
        self.rates: list[Rate] = []
        self.crossings: list[tuple[Model, str, int, list[tuple[int, int]]]] = []
        self.starts: list[int] = []  # values that stand for calls at the start of each step
        self.unknowns: list[tuple[int, int]] = []  # value, residual
        self.rate_slots: list[int] = []
        self.held: list[int] = []  # outputs and states that ticks write
        self.delays: dict[str, list[int]] = {}  # by path of the input
        self._constants: dict[float, int] = {}
        self._alias: dict[int, int] = {}
        self._levels: dict[Operation, int] = {}
        traced = {m: Traced(m) for m in self.models}
        self._place(traced)
        for m in self.models:
            self._equations(m, traced[m], seed)
        self._connect()
        self._settle()
        self.size, self.num_rates = len(self.initial), len(self.rates)  # what logs add is behind these

    # Values ------------------------------------------------------------------------------------------------

    def new(self, count: int, values: Iterable[float] | None = None, level: int | None = None) -> int:
        """The first of so many new values."""
        first = len(self.initial)
        self.initial += [0.0] * count if values is None else [float(x) for x in values]
        if level is not None:
            self.level.update(dict.fromkeys(range(first, first + count), level))
        return first

    def constant(self, number: float) -> int:
        """The value that is a number."""
        if number not in self._constants:
            self._constants[number] = self.new(1, [number], CONSTANT)
        return self._constants[number]

    def of(self, port: Port) -> list[int]:
        """Values of a port, or of a parameter."""
        return self.slots[port.model.path, port.name]

    def rate_number(self, rate: Rate) -> int:
        """Number of a rate."""
        if rate not in self.rates:
            self.rates.append(rate)
        return self.rates.index(rate)

    def _place(self, traced: dict[Model, Traced]) -> None:
        """Give numbers to what models have; continuous states lie together."""
        changing = {
            m: set(t.results.get("derivatives", m.of_kind(State) if "derivatives" in t.callbacks else ()))
            for m, t in traced.items()
        }
        self.first_state = len(self.initial)
        self.continuous: list[tuple[Port, int, int]] = []
        for m in self.models:
            for name, d in m.of_kind(State).items():
                if name in changing[m]:
                    first = self.new(d.size, m.initial_value(name).ravel(), VARYING)
                    self.slots[m.path, name] = list(range(first, first + d.size))
                    self.continuous.append((m.port(name), first, d.size))
        self.num_states = len(self.initial) - self.first_state
        for m in self.models:
            for name, d in m.declared.items():
                if isinstance(d, Parameter):
                    values, level = m.parameter_values()[name].ravel(), CONSTANT
                elif isinstance(d, State) and name not in changing[m]:
                    values, level = m.initial_value(name).ravel(), HOLDING
                elif isinstance(d, Noise):
                    values, level = None, HOLDING
                elif isinstance(d, Input):
                    values = np.zeros(d.size) if d.default is None else d.default.ravel()
                    level = CONSTANT  # unless it is connected
                elif isinstance(d, Output):
                    values, level = None, HOLDING if m.clock is not None or m.is_boundary else None
                else:
                    continue
                first = self.new(d.size, values, level)
                self.slots[m.path, name] = list(range(first, first + d.size))
                if level == HOLDING:
                    self.held += self.slots[m.path, name]

    # Equations ---------------------------------------------------------------------------------------------

    def _equations(self, m: Model, t: Traced, seed: int) -> None:
        rate = None if m.clock is None else self.rate_number(m.clock)
        for name in m.of_kind(Noise):
            for k, slot in enumerate(self.slots[m.path, name]):
                key = key_of(seed, f"{m.path}.{name}[{k}]")
                op = Operation(kinds.NOISE, (slot,), (), m.path, (rate or 0, key, 0))
                self.noise.setdefault(rate or 0, []).append(op)
        if m.is_python:
            self._python(m, rate)
        if t.callbacks:
            self._callbacks(m, t.callbacks, rate)
        if not t.results:
            return
        leaf = [kinds.TIME] * (1 + sum(d.size for n, d in m.declared.items() if n in t.first))
        for name, first in t.first.items():
            if name != "time":
                leaf[first : first + m.declared[name].size] = self.slots[m.path, name]
        wanted = [a for values in t.results.values() for nodes in values.values() for a in nodes]
        slot, made = t.lower(wanted, leaf, self.new, self.constant)
        for op in made:
            for out in op.outs:
                self.always[out] = op
        for name, nodes in t.results.get("outputs", {}).items():
            for port, a in zip(self.slots[m.path, name], nodes, strict=True):
                if rate is None:
                    self._alias[port] = slot[a]
                else:
                    self.at_ticks[port] = Operation(kinds.COPY, (port,), (slot[a],), m.path), rate
        rates = t.results.get("derivatives", {})
        for name, nodes in rates.items():
            self._set_rates(self.slots[m.path, name][0], [slot[a] for a in nodes], len(nodes))
        for name, nodes in t.results.get("update", {}).items():
            self._commit(rate, zip(self.slots[m.path, name], (slot[a] for a in nodes), strict=True), m.path)
        for name, nodes in t.results.get("crossings", {}).items():
            pairs = []
            for state, values in t.results.get(f"at_{name}", {}).items():
                for to, a in zip(self.slots[m.path, state], values, strict=True):
                    pairs.append((to, self._copied(slot[a], m.path)))
            self.crossings.append((m, name, slot[nodes[0]], pairs))

    def _set_rates(self, first: int, slots: list[int], size: int) -> None:
        if not self.rate_slots:
            self.rate_slots = [0] * self.num_states
        at = first - self.first_state
        self.rate_slots[at : at + size] = slots

    def _copied(self, slot: int, path: str) -> int:
        """A new value that is another's copy: what it is of may change before it is used."""
        made = self.new(1)
        self.always[made] = Operation(kinds.COPY, (made,), (slot,), path)
        return made

    def _commit(self, rate: int | None, pairs: Iterable[tuple[int, int]], path: str) -> None:
        """Let states be values at each tick, all of them at once."""
        own = self.commits.setdefault(rate or 0, [])
        own += [(to, self._copied(of, path)) for to, of in pairs]

    def _python(self, m: Model, rate: int | None) -> None:
        inputs = {name: self.slots[m.path, name] for name in m.of_kind(Input)}
        others = {name: self.slots[m.path, name] for name, d in m.declared.items() if isinstance(d, State | Noise)}
        given = [slot for slots in others.values() for slot in slots]
        for on, names in _groups(m).items():
            if m.method("outputs") is None:
                break
            reads = [slot for name, slots in inputs.items() if name in on for slot in slots]
            to = {name: self.slots[m.path, name] for name in names}
            call = PythonCall(m, "outputs", inputs | others, to, self)
            row = (self._called(call), 0, 0)
            outs = tuple(slot for slots in to.values() for slot in slots)
            op = Operation(kinds.PYTHON, outs, (*reads, *given), m.path, row)
            self.at_ticks.update(dict.fromkeys(outs, (op, rate or 0)))
        if m.method("update") is not None:
            states = {name: self.slots[m.path, name] for name in m.of_kind(State)}
            to = {name: [self.new(1) for _ in slots] for name, slots in states.items()}
            call = PythonCall(m, "update", inputs | others, to, self)
            reads = [slot for slots in inputs.values() for slot in slots]
            outs = tuple(slot for slots in to.values() for slot in slots)
            op = Operation(kinds.PYTHON, outs, (*reads, *given), m.path, (self._called(call), 0, 0))
            self.always.update(dict.fromkeys(outs, op))
            self._commit(rate, ((a, b) for n in states for a, b in zip(states[n], to[n], strict=True)), m.path)

    def _called(self, call: PythonCall) -> int:
        self.calls.append(call)
        return len(self.calls) - 1

    def _callbacks(self, m: Model, callbacks: dict[str, Any], rate: int | None) -> None:
        """Calls of a compiled model, whose inputs, results and outputs lie side by side in its struct."""
        inputs = [slot for name in m.of_kind(Input) for slot in self.slots[m.path, name]]
        own = self.new(len(inputs))
        for k, slot in enumerate(inputs):
            self.always[own + k] = Operation(kinds.COPY, (own + k,), (slot,), m.path)
        sizes = {kind: sum(d.size for d in m.of_kind(kind).values()) for kind in (Parameter, State, Output)}
        places: dict[type, list[int]] = {}
        for kind in (Parameter, State, Output):
            found = [slot for name in m.of_kind(kind) for slot in self.slots[m.path, name]]
            if found != list(range(found[0] if found else 0, (found[0] if found else 0) + len(found))):
                raise ModelError(
                    f"model {m.path!r}: declare each of parameters, states and outputs of a compiled model in a row, "
                    "without others between"
                )
            places[kind] = found
        result, crossing = self.new(sizes[State]), self.new(len(m.of_kind(Crossing)))
        starts = {k: (v[0] if v else 0) for k, v in places.items()}
        self.kept.append((m, starts, sizes, own, len(inputs), result, crossing))
        place = len(self.kept) - 1
        names = list(m.of_kind(Input))
        of_input = dict(zip(names, _split(list(range(own, own + len(inputs))), m.of_kind(Input)), strict=True))
        event: list[tuple[int, int]] = []
        for name, callback in callbacks.items():
            row = (callback.address, place, _CONTEXTS[name])
            everything = (*range(own, own + len(inputs)), *places[State])
            if name == "outputs":
                for on, outputs in _groups(m).items():
                    reads = (*(slot for n in names if n in on for slot in of_input[n]), *places[State], kinds.TIME)
                    outs = tuple(slot for n in outputs for slot in self.slots[m.path, n])
                    op = Operation(kinds.CALL, outs, reads, m.path, row)
                    if rate is None:
                        self.always.update(dict.fromkeys(outs, op))
                    else:
                        self.at_ticks.update(dict.fromkeys(outs, (op, rate)))
                continue
            if name == "crossings":
                outs = tuple(range(crossing, crossing + len(m.of_kind(Crossing))))
            elif name in ("event", "start"):  # it writes states themselves; a value stands for its being called
                outs = (self.new(1),)
            else:
                outs = tuple(range(result, result + sizes[State]))
            op = Operation(kinds.CALL, outs, (*everything, kinds.TIME), m.path, row)
            self.always.update(dict.fromkeys(outs, op))
            if name == "derivatives" and outs:
                self._set_rates(places[State][0], list(outs), len(outs))
            elif name == "update":
                self._commit(rate, zip(places[State], outs, strict=True), m.path)
            elif name == "start":
                self.starts.append(outs[0])
            elif name == "event":
                event = [(self.new(1), outs[0])]
        if "crossings" in callbacks:
            for k, key in enumerate(m.of_kind(Crossing)):
                self.crossings.append((m, key, crossing + k, event))

    # Connections -------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        connected = set()
        for c in sorted(self.connections, key=lambda c: c.target.path):
            sources, targets = self.of(c.source), self.of(c.target)
            connected.add((c.target.model.path, c.target.name))
            for slot in targets:
                self.level.pop(slot, None)
            if c.delay is not None:
                first = self.new(len(targets), level=HOLDING)
                kept = list(range(first, first + len(targets)))
                self.held += kept
                self.delays[c.target.path] = kept
                self._commit(self.rate_number(c.delay), zip(kept, sources, strict=True), c.target.path)
                sources = kept
            elif c.solve:
                for to, of in zip(targets, sources, strict=True):
                    residual = self.new(1)
                    self.always[residual] = Operation(kinds.SUBTRACT, (residual,), (of, to), c.target.path)
                    self.level[to] = VARYING
                    self.unknowns.append((to, residual))
                continue
            self._alias.update(zip(targets, sources, strict=True))
        open_inputs = [
            f"{m.path}.{name}"
            for m in self.models
            for name, d in m.of_kind(Input).items()
            if d.default is None and (m.path, name) not in connected
        ]
        if open_inputs:
            raise ModelError(
                f"unconnected inputs: {', '.join(open_inputs[:8])}{', ...' if len(open_inputs) > 8 else ''}; connect "
                "them, or declare them with a default"
            )

    def _settled(self, slot: int) -> int:
        """The value that a value is another name of, or itself."""
        return self._alias.get(slot, slot)

    def _settle(self) -> None:
        """Put values in the place of their other names."""
        for slot in list(self._alias):
            seen = [slot]
            while seen[-1] in self._alias:
                if self._alias[seen[-1]] in seen:
                    raise self.loop_error(seen)
                seen.append(self._alias[seen[-1]])
            for one in seen[:-1]:
                self._alias[one] = seen[-1]
        at = self._settled
        self.slots = {key: [at(slot) for slot in slots] for key, slots in self.slots.items()}
        ops = dict.fromkeys(self.always.values()) | {op: None for op, _ in self.at_ticks.values()}
        for op in ops:
            op.reads = tuple(at(slot) for slot in op.reads)
        self.rate_slots = [at(slot) for slot in self.rate_slots]
        self.commits = {rate: [(to, at(of)) for to, of in pairs] for rate, pairs in self.commits.items()}
        self.crossings = [(m, name, at(slot), pairs) for m, name, slot, pairs in self.crossings]
        for call in self.calls:
            call.settle(at)
        everything = sorted(self.always)
        try:
            for op in needed(everything, self.always.get):
                self._levels[op] = max((self.level_of(slot) for slot in op.reads), default=CONSTANT)
            needed([*everything, *self.at_ticks], self.producer(None))
        except Loop as loop:
            raise self.loop_error([slot for op in loop.operations for slot in op.outs]) from None

    def level_of(self, slot: int) -> int:
        """When a value changes."""
        op = self.always.get(slot)
        return self.level.get(slot, CONSTANT) if op is None else self._levels[op]

    def producer(self, due: set[int] | None) -> Callable[[int], Operation | None]:
        """What writes a value while the rates of some numbers are due; None: all."""

        def find(slot: int) -> Operation | None:
            held = self.at_ticks.get(slot)
            if held is not None:
                return held[0] if due is None or held[1] in due else None
            op = self.always.get(slot)
            return None if op is None or self._levels.get(op) == CONSTANT else op

        return find

    def loop_error(self, slots: Sequence[int]) -> ModelError:
        """The error for an algebraic loop through values: it names connections on it."""
        on = set(slots)
        at, parts = self._settled, []
        for c in sorted(self.connections, key=lambda c: c.target.path):
            own = {at(slot) for slot in self.of(c.source)} | set(self.of(c.source)) | set(self.of(c.target))
            if own & on and c.delay is None and not c.solve:
                parts.append(f"{c.source.path} -> {c.target.path}")
        return ModelError(
            f"algebraic loop: {'; '.join(parts)}; break it by connect(..., delay=rate), or have it solved by "
            "connect(..., solve=True)"
        )

    def fixed_numbers(self) -> list[tuple[int, float]]:
        """Values that nothing changes, with their numbers: those in equations, and of inputs without connections."""
        parameters = {slot for m in self.models for n in m.of_kind(Parameter) for slot in self.slots[m.path, n]}
        return [
            (slot, number)
            for slot, number in enumerate(self.initial[: self.size])
            if self.level.get(slot) == CONSTANT and slot not in parameters
        ]

    def models_structs(self, value: Any) -> list[MODEL]:
        """Structs of compiled models on parts of the values."""
        made = []
        for m, starts, sizes, own, inputs, result, crossing in self.kept:
            cut = lambda first, size: value[first : first + size]  # noqa: E731
            made.append(
                MODEL(
                    time=cut(kinds.TIME, 1),
                    parameter=cut(starts[Parameter], sizes[Parameter]),
                    input=cut(own, inputs),
                    state=cut(starts[State], sizes[State]),
                    output=cut(starts[Output], sizes[Output]),
                    result=cut(result, sizes[State]),
                    crossing=cut(crossing, len(m.of_kind(Crossing))),
                    period=0.0 if m.clock is None else m.clock.period,
                )
            )
        return made


def _groups(m: Model) -> dict[tuple[str, ...], list[str]]:
    """Outputs of a model by the inputs that they say they depend on."""
    found: dict[tuple[str, ...], list[str]] = {}
    inputs = list(m.of_kind(Input))
    for name, d in m.of_kind(Output).items():
        on = inputs if d.depends_on is None else list(d.depends_on)
        unknown = [n for n in on if n not in inputs]
        if unknown:
            raise ModelError(f"{m.path}.{name}: depends_on: no input {unknown[0]!r}; there are {', '.join(inputs)}")
        found.setdefault(tuple(sorted(on)), []).append(name)
    return found


def _split(slots: list[int], declared: dict[str, Any]) -> list[list[int]]:
    parts, at = [], 0
    for d in declared.values():
        parts.append(slots[at : at + d.size])
        at += d.size
    return parts


def direction_of(m: Model, name: str) -> int:
    """Of a crossing."""
    d = m.declared[name]
    assert isinstance(d, Crossing)
    return d.direction
