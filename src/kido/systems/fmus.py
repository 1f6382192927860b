"""FMUs as models: other programs' models in the form of the Functional Mock-up Interface, run by FMPy.

Source: Modelica Association, Functional Mock-up Interface 2.0.5 and 3.0.2.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import FileFormatError, ModelError, NameLookupError, StateError
from kido.libraries import library
from kido.math.transform import numbers_or_nan
from kido.systems.declarations import Crossing, Input, Output, Parameter, State
from kido.systems.fmu_instance import NUMBERS, Instance, Variables, joined, shape_of, split
from kido.systems.fmu_models import CoSimulated, Exchanged
from kido.systems.model import METHODS, Model
from kido.systems.units import Unit, as_unit

Array = NDArray[np.float64]
_BASE = ("m", "kg", "s", "A", "K", "mol", "cd")
_TAKEN = ("clock", "inside", "parent", "file", "stepped", "time_event", *METHODS)  # attributes that models have
_TEXT = re.compile(r"([A-Za-z%]+)(-?\d+)")


def load_fmu(
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    rate: Any = None,
    outputs: Iterable[str] = (),
    **values: Any,
) -> Model:
    """A model from an FMU of version 2 or 3. What is in such a file is run: it is a program, to be trusted as one.

    With a rate it is co-simulated: at its ticks it steps up to now with the inputs of the tick before, and gives its
    outputs, which hold. Without, its continuous states are integrated with those of other models (model exchange); its
    state and time events are crossings, which end a step; events that steps and inputs bring about come at the start of
    the next step.

    Parameters, inputs, outputs and continuous states are those of its description with their units, under their names
    with other signs than letters, digits and underscores replaced by underscores: "x[1]" is `x_1`. Booleans and
    integers are numbers too; texts keep their values. Parameters that it calls fixed are given here, or, of
    co-simulation, until it has run. Its own memory is in no checkpoint.

    Args:
        path: of the file.
        name: of the model; by default the file's.
        rate: of co-simulation [Hz], as of other models; None: model exchange, or the step of which the file speaks.
        outputs: names of other variables that are to be outputs as well.
        **values: of parameters, and of other variables what they are at the start.

    Example:
        >>> ball = system.add(load_fmu("BouncingBall.fmu", e=0.8))
        >>> system.run(1.0)
        >>> ball.h.value

    Raises:
        MissingExtraError: FMPy is not installed.
        FileFormatError: there is no such file, it is no FMU, or has nothing that runs on this machine.
        NameLookupError: it has no variable of a name.
        ModelError: a value that does not fit, or neither a rate nor model exchange.
        StateError: it could not be started; the message has its own words.
    """
    file = _File(path, rate)
    own = re.sub(r"\W", "_", Path(path).stem) if name is None else name
    return file.model(own, values, list(outputs))


class _File:
    """What an FMU has, by the names that models of it have."""

    def __init__(self, path: str | os.PathLike[str], rate: Any):
        fmpy = library("fmpy", "running an FMU", "fmi")
        self.path = os.fspath(path)
        try:
            d = self.description = fmpy.read_model_description(self.path)
            platforms = fmpy.supported_platforms(self.path)
            if d.fmiMajorVersion not in (2, 3):
                raise FileFormatError(path, None, f"FMI {d.fmiVersion}; expected version 2 or 3")
            if fmpy.platform not in platforms and fmpy.platform_tuple not in platforms:
                raise FileFormatError(
                    path, None, f"no binary for this machine, {fmpy.platform_tuple}: it has {', '.join(platforms)}"
                    + ("; `fmpy compile` makes one of its sources" if "c-code" in platforms else "")
                )  # fmt: skip
            self.folder = tempfile.TemporaryDirectory(prefix="kido_fmu_")
            fmpy.extract(self.path, self.folder.name)
        except FileFormatError:
            raise
        except Exception as error:  # whatever a damaged file brings about
            raise FileFormatError(path, None, f"no FMU: {error!s:.500}") from error
        self.exchange = rate is None and d.modelExchange is not None
        self.rate = rate
        if not self.exchange:
            if d.coSimulation is None:
                kind = "model exchange alone; leave the rate out" if d.modelExchange else "scheduled execution alone"
                raise ModelError(f"{self.path}: it is for {kind}")
            if rate is None:
                step = d.coSimulation.fixedInternalStepSize or getattr(d.defaultExperiment, "stepSize", None)
                if step is None:
                    raise ModelError(f"{self.path}: it is for co-simulation; give a rate [Hz]")
                self.rate = 1.0 / float(step)
        self.variables: dict[str, Any] = {}
        for v in d.modelVariables:
            if v.type in NUMBERS and v.causality != "independent":
                key = re.sub(r"\W+", "_", v.name).strip("_") or "_"
                key = key if key.isidentifier() else f"_{key}"
                while key in self.variables or key in _TAKEN or hasattr(Model, key):
                    key += "_"
                self.variables[key] = v
        self.names = {id(v): key for key, v in self.variables.items()}

    def of(self, *causality: str) -> dict[str, Any]:
        return {key: v for key, v in self.variables.items() if v.causality in causality}

    def set_of(self, keys: Iterable[str]) -> Variables:
        return Variables(self.description.fmiMajorVersion, [self.variables[key] for key in keys])

    def found(self, name: str) -> str:
        """A variable by the one or the other of its names."""
        for key, v in self.variables.items():
            if name in (key, v.name):
                return key
        raise NameLookupError(f"variable of the FMU {self.path}", name, list(self.variables))

    def checked(self, key: str, value: Any) -> Array:
        """A value of a variable, flat."""
        v, array = self.variables[key], numbers_or_nan(value)
        array = array.reshape(shape_of(v)) if array.size == math.prod(shape_of(v)) else array
        if array.shape not in ((), shape_of(v)) or not np.isfinite(array).all():
            raise ModelError(f"{self.path}: {key}: expected shape {shape_of(v)} of finite numbers, got {value!r:.100}")
        return np.broadcast_to(array, shape_of(v)).ravel().astype(float)

    def unit(self, v: Any) -> Unit | None:
        """Of a variable, as the file defines it, or as it is written."""
        text = v.unit or (v.declaredType.unit if v.declaredType is not None else None)
        if text is None:
            return None
        for u in self.description.unitDefinitions:
            if u.name == text and u.baseUnit is not None:
                b = u.baseUnit
                return Unit(text, float(b.factor), tuple(int(getattr(b, n)) for n in _BASE), float(b.offset))
        try:
            return as_unit(_TEXT.sub(r"\1^\2", text.replace(".", " ").replace("*", " ")))
        except ModelError:
            return None

    def model(self, name: str, values: Mapping[str, Any], more: Sequence[str]) -> Model:
        """A model of it, of a class of its own."""
        d = self.description
        given = {self.found(key): value for key, value in values.items()}
        for key in given:
            v = self.variables[key]
            if v.causality not in ("parameter", "structuralParameter") and v.initial not in ("exact", "approx"):
                raise ModelError(f"{self.path}: {key} is {v.causality or 'local'}, and has no value at the start")
        starts = self.set_of(given), joined([self.checked(key, value) for key, value in given.items()])
        parameters, inputs = self.of("parameter"), self.of("input")
        defaults = joined([self._start(v) for v in inputs.values()])
        try:
            instance = Instance(d, self.folder.name, self.exchange, starts, (self.set_of(inputs), defaults))
        except Exception as error:
            raise StateError(f"{self.path}: it cannot be started: {error}") from error
        now = dict(
            zip(
                parameters,
                split(self.set_of(parameters).get(instance.fmu), map(shape_of, parameters.values())),
                strict=True,
            )
        )
        body: dict[str, Any] = {"__doc__": d.description or d.modelName, "file": self}
        for key, v in parameters.items():
            body[key] = Parameter(
                now[key], self.unit(v), low=_bound(v.min, -1), high=_bound(v.max, 1), doc=_doc(key, v)
            )
        for key, v in inputs.items():
            start = self._start(v).reshape(shape_of(v))
            body[key] = Input(
                self.unit(v), shape_of(v), default=start if v.start is not None else None, doc=_doc(key, v)
            )
        states = [u.variable.derivative for u in d.derivatives] if self.exchange else []
        first = split(instance.states(), map(shape_of, states)) if self.exchange else []
        for v, x in zip(states, first, strict=True):
            if id(v) not in self.names:
                raise ModelError(f"{self.path}: the state {v.name!r} has another type than numbers have")
            body[self.names[id(v)]] = State(self.unit(v), x, doc=_doc(self.names[id(v)], v))
        on = {id(u.variable): u.dependencies for u in d.outputs}
        for key in [*self.of("output"), *(self.found(key) for key in more)]:
            v, names = self.variables[key], on.get(id(self.variables[key]))
            depends = None if names is None else tuple(self.names[id(u)] for u in names if u.causality == "input")
            if not isinstance(body.get(key), State):
                body[key] = Output(self.unit(v), shape_of(v), depends_on=depends, doc=_doc(key, v))
        if self.exchange:
            for k in range(d.numberOfEventIndicators):
                body[f"event_{k}"] = Crossing()
            body["time_event"] = Crossing(1)
        else:
            body["stepped"] = Output("s", doc="how far it has been stepped")
        kind: Any = type(re.sub(r"\W", "_", d.modelName or name), (Exchanged if self.exchange else CoSimulated,), body)
        own = {key: given[key] for key in given if isinstance(body.get(key), State)}
        return kind(name, instance, given, **own)

    def _start(self, v: Any) -> Array:
        words = str(v.start).split() if v.start is not None else []
        numbers = [float(w in ("true", "1")) if v.type == "Boolean" else float(w) for w in words]
        return np.broadcast_to(np.array(numbers or [0.0]), (math.prod(shape_of(v)),)).astype(float)


def _doc(key: str, v: Any) -> str:
    return " ".join(filter(None, [v.description, f"({v.name})" if v.name != key else ""]))


def _bound(text: Any, sign: int) -> float:
    return sign * math.inf if text is None else float(text)
