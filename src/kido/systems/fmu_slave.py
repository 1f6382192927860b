"""What runs in an FMU that `kido.systems.export_fmu` wrote: a system behind the calls of FMI."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from kido.errors import ModelError, StateError
from kido.systems.assembly import Assembly
from kido.systems.clock import SECOND
from kido.systems.declarations import Declared, Input, Output, Parameter, State
from kido.systems.fmu_exchange import Exchange
from kido.systems.model import Model, Port
from kido.systems.system import System
from kido.systems.units import Unit

_CLOSE = 1e-9  # [s] between a moment that an importing program names and the system's
_BASE = ("m", "kg", "s", "A", "K", "mol", "cd")


class Slave:
    """Mixed into PythonFMU's class of version 2 or 3: parameters, inputs, outputs and states as variables.

    Attributes:
        make: gives the model, the assembly or the system.
        fmi: its version.
        communication: step that the description proposes [s].
    """

    make: ClassVar[Any]
    fmi: ClassVar[int]
    communication: ClassVar[float]
    vars: dict[int, Any]

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.time = 0.0
        library = importlib.import_module("pythonfmu" if self.fmi == 2 else "pythonfmu3")
        made = type(self).make()
        if not isinstance(made, Model | Assembly):
            raise ModelError(f"FMU: expected a model, an assembly or a system, got {made!r:.100}")
        self.default_experiment = library.DefaultExperiment(start_time=0.0, step_size=self.communication)
        self.system = made if isinstance(made, System) else System("fmu")
        if not isinstance(made, System):
            self.system.add(made)
        self._units: dict[str, Unit] = {}  # by name of the variable
        self._limits: dict[str, tuple[float, float]] = {}
        self._number, enums = getattr(library, "Real" if self.fmi == 2 else "Float64"), library.enums
        self._causality = getattr(enums, f"Fmi{self.fmi}Causality")
        self._variability = getattr(enums, f"Fmi{self.fmi}Variability")
        self._initial = getattr(enums, f"Fmi{self.fmi}Initial")
        if self.fmi == 3:
            kind, how = self._causality.independent, self._variability.continuous
            clock = self._number("time", causality=kind, variability=how, getter=lambda: self.system.time)
            self.register_variable(clock, nested=False)  # type: ignore[attr-defined]
        exposed = self._exposed = made.exposed if isinstance(made, Assembly) else {}
        names = {port: name for name, port in exposed.items()}
        chosen = any(not isinstance(port.declared, Input) for port in names)
        self._below = "" if isinstance(made, System) else made.path + "."
        connected = {c.target for c in self.system.connections}
        for m in self.system.models:
            for d in m.declared.values():
                name = names.get(Port(m, d), f"{m.path}.{d.name}".removeprefix(self._below))
                if isinstance(d, Parameter):
                    self._add(name, d, lambda m=m, d=d: m.parameter(d.name), _setter(m, d.name), "parameter")
                elif isinstance(d, Input) and Port(m, d) not in connected and not m.is_boundary:
                    source = self.system.add(_given(f"input_{len(self.vars)}", d))
                    self.system.connect(source.port("signal"), Port(m, d))
                    self._add(name, d, lambda m=source: m.parameter("value"), _setter(source, "value"), "input")
                elif isinstance(d, Output | State):
                    port, causality = Port(m, d), "output" if not chosen or Port(m, d) in names else "local"
                    setter = None if isinstance(d, Output) else _state_setter(port)
                    self._add(name, d, lambda p=port: p.value, setter, causality)
        self.exchange: Exchange | None = None
        if self.fmi == 3 and Exchange.possible(self.system):
            self._add_exchange()

    def _add_exchange(self) -> None:
        """Derivatives and crossings, as variables that only they are."""
        exchange = self.exchange = Exchange(self.system)
        linked = exchange.engine.linked
        numbers = {v.name: v.value_reference for v in self.vars.values()}

        def local(name: str, get: Any, **more: Any) -> None:
            variable = self._number(
                name, causality=self._causality.local, variability=self._variability.continuous, getter=get, **more
            )
            self.register_variable(variable, nested=False)  # type: ignore[attr-defined]

        names = {port: name for name, port in self._exposed.items()}
        for port, first, _ in linked.continuous:
            name = names.get(port, port.path.removeprefix(self._below))
            for k, (_, own) in enumerate(_elements(name, port.shape)):
                at = first - linked.first_state + k
                local(f"der({own})", lambda at=at: exchange.derivatives()[at], derivative=numbers[own])
        for k, (m, name, _, _) in enumerate(linked.crossings):
            path = f"{m.path}.{name}".removeprefix(self._below)
            local(f"crossing({path})", lambda k=k: float(exchange.crossings()[k]))
            self.register_event_indicator(len(self.vars) - 1)  # type: ignore[attr-defined]

    def _add(self, name: str, d: Declared, get: Any, put: Any, causality: str) -> None:
        variability = self._variability.tunable if causality == "parameter" else self._variability.continuous
        initial = (
            None if causality == "input" else (self._initial.exact if put is not None else self._initial.calculated)
        )
        change: Any = put
        for at, own in _elements(name, d.shape):

            def getter(at: tuple[int, ...] = at) -> float:
                return float(np.asarray(get())[at])

            def setter(value: float, at: tuple[int, ...] = at) -> None:
                array = np.array(get(), float)
                array[at] = value
                change(array)

            self.register_variable(  # type: ignore[attr-defined]
                self._number(
                    own, causality=getattr(self._causality, causality), variability=variability, initial=initial,
                    description=d.doc or None, getter=getter, setter=None if put is None else setter,
                ),
                nested=False,
            )  # fmt: skip
            if d.unit is not None:
                self._units[own] = d.unit
            if isinstance(d, Parameter):
                self._limits[own] = d.low, d.high

    def to_xml(self, *options: Any) -> Element:
        """The description, with units, bounds and all digits besides."""
        root = super().to_xml(*options)  # type: ignore[misc]
        values = {v.name: v for v in self.vars.values()}
        for element in root.find("ModelVariables") or ():
            name = element.attrib["name"]
            number = element if self.fmi == 3 else element[0]
            if "start" in number.attrib:
                number.set("start", repr(values[name].getter()))
            if name in self._units:
                number.set("unit", self._units[name].text or "1")
            for key, x in zip(("min", "max"), self._limits.get(name, ()), strict=False):
                if np.isfinite(x):
                    number.set(key, repr(x))
        units = {unit.text or "1": unit for unit in self._units.values()}
        definitions = Element("UnitDefinitions")
        for text, unit in sorted(units.items()):
            base = SubElement(SubElement(definitions, "Unit", name=text), "BaseUnit")
            for key, power in zip(_BASE, unit.powers, strict=True):
                if power:
                    base.set(key, str(power))
            for key, x in (("factor", unit.factor), ("offset", unit.offset)):
                base.set(key, repr(x))
        if units:
            kinds = [child.tag for child in root]
            root.insert(kinds.index("CoSimulation") + 1, definitions)
        exchange = root.find("ModelExchange")
        if exchange is not None and self.exchange is None:
            root.remove(exchange)
        return root

    def setup_experiment(self, start_time: float, *_: Any) -> None:
        """Where it starts, which is at 0."""
        if start_time != 0.0:
            raise StateError(f"FMU: a system starts at 0 s, not at {start_time:g} s")

    def exit_initialization_mode(self) -> None:
        """Do what is due at 0."""
        self.system.run(0.0)
        if self.exchange is not None:
            self.exchange.start()

    # Model exchange, by the names of PythonFMU3

    def set_time(self, time: float) -> None:
        """What the program has come to [s]."""
        self._exchanged().set_time(time)

    def get_number_of_continuous_states(self) -> int:
        """Numbers in them."""
        return self._exchanged().engine.linked.num_states

    def get_continuous_states(self) -> list[float]:
        """In the order of their derivatives in the description."""
        exchange = self._exchanged()
        return exchange.engine.value[exchange.states].tolist()

    def set_continuous_states(self, states: list[float]) -> None:
        """What the program has come to."""
        exchange = self._exchanged()
        exchange.engine.value[exchange.states] = states

    def get_continuous_state_derivatives(self) -> list[float]:
        """At the present time and states."""
        return self._exchanged().derivatives()

    def get_number_of_event_indicators(self) -> int:
        """Crossings."""
        return len(self._exchanged().engine.linked.crossings)

    def get_event_indicators(self) -> list[float]:
        """Values of crossings."""
        return self._exchanged().indicators().tolist()

    def update_discrete_states(self) -> Any:
        """Do what an event is for, and say when the next tick is."""
        exchange = self._exchanged()
        changed, due = exchange.event(), exchange.next_event()
        result = importlib.import_module("pythonfmu3").Fmi3UpdateDiscreteStatesResult
        return result(
            valuesOfContinuousStatesChanged=changed, nextEventTimeDefined=due is not None, nextEventTime=due or 0.0
        )

    def _exchanged(self) -> Exchange:
        if self.exchange is None:
            raise StateError("FMU: a system with a world is co-simulated only")
        return self.exchange

    # Co-simulation

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Go on."""
        system, stop = self.system, round((current_time + step_size) * SECOND)
        if abs(current_time - system.time) > _CLOSE:
            raise StateError(f"FMU: a step from {current_time!r} s; the system is at {system.time!r} s")
        system.run(Fraction(stop - system.nanoseconds, SECOND))  # type: ignore[arg-type]
        return True


def made_in(module: str, function: str, file: str | None, script: str) -> Any:
    """What gives the system: of a file beside a script, which is run under a name of its own, or of a package."""
    if file is None:
        return staticmethod(getattr(importlib.import_module(module), function))
    name = f"{Path(script).stem}_source"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(script).with_name(file))
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[name])
        except BaseException:
            del sys.modules[name]
            raise
    return staticmethod(getattr(sys.modules[name], function))


def _elements(name: str, shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], str]]:
    """Indices and names of an array's numbers."""
    for at in np.ndindex(shape):
        yield at, f"{name}[{','.join(str(k + 1) for k in at)}]" if shape else name


def _given(name: str, d: Input) -> Model:
    """A model that gives what the FMU is given."""
    body = {
        "value": Parameter(np.zeros(d.shape) if d.default is None else d.default, d.unit),  # type: ignore[arg-type]
        "signal": Output(d.unit, d.shape),
        "outputs": lambda self: {"signal": self.value},
    }
    return type("Given", (Model,), body)(name)


def _setter(m: Model, name: str) -> Any:
    return lambda array: m.set_parameters(**{name: array})


def _state_setter(port: Port) -> Any:
    def put(array: Any) -> None:
        port.value = array

    return put
