"""FMUs as models: other programs' models in the form of the Functional Mock-up Interface, run by FMPy.

Source: Modelica Association, Functional Mock-up Interface 2.0.5 and 3.0.2.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kido.errors import FileFormatError, ModelError, NameLookupError, StateError
from kido.jit import JIT_DISABLED, callback
from kido.jit.struct import live_struct
from kido.libraries import library
from kido.math.transform import numbers_or_nan
from kido.systems import schema as kinds
from kido.systems.declarations import Crossing, Input, Output, Parameter, State
from kido.systems.fmu_instance import NUMBERS, Instance, Variables, shape_of
from kido.systems.model import Model, PythonModel
from kido.systems.units import Unit, as_unit

Array = NDArray[np.float64]
_BASE = ("m", "kg", "s", "A", "K", "mol", "cd")
_NEVER = -1e9  # [s] what is left to an event that is not to come
_TINY = 5e-324  # zero counts as below zero
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
                raise ModelError(f"{self.path}: it is for model exchange alone; leave the rate out")
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
                while key in self.variables or hasattr(Model, key):
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
        starts = self.set_of(given), _flat([self.checked(key, value) for key, value in given.items()])
        parameters, inputs = self.of("parameter"), self.of("input")
        defaults = _flat([self._start(v) for v in inputs.values()])
        try:
            instance = Instance(d, self.folder.name, self.exchange, starts, (self.set_of(inputs), defaults))
        except Exception as error:
            raise StateError(f"{self.path}: it cannot be started: {error}") from error
        now = dict(zip(parameters, _parts(self.set_of(parameters).get(instance.fmu), parameters.values()), strict=True))
        body: dict[str, Any] = {"__doc__": d.description or d.modelName, "file": self}
        for key, v in parameters.items():
            body[key] = Parameter(now[key], self.unit(v), low=_bound(v.min, -1), high=_bound(v.max, 1), doc=_doc(key, v))
        for key, v in inputs.items():
            start = self._start(v).reshape(shape_of(v))
            body[key] = Input(self.unit(v), shape_of(v), default=start if v.start is not None else None, doc=_doc(key, v))
        states = [u.variable.derivative for u in d.derivatives] if self.exchange else []
        first = _parts(instance.states(), states) if self.exchange else []
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
        kind = type(re.sub(r"\W", "_", d.modelName or name), (_Exchanged if self.exchange else _CoSimulated,), body)
        own = {key: given[key] for key in given if isinstance(body.get(key), State)}
        return kind(name, instance, given, **own)

    def _start(self, v: Any) -> Array:
        words = str(v.start).split() if v.start is not None else []
        numbers = [float(w in ("true", "1")) if v.type == "Boolean" else float(w) for w in words]
        return np.broadcast_to(np.array(numbers or [0.0]), (math.prod(shape_of(v)),)).astype(float)


class _FMU(Model):
    """What both kinds share."""

    keeps_more = True
    file: ClassVar[_File]

    def __init__(self, name: str, instance: Instance, given: Mapping[str, Any], **values: Any):
        file = type(self).file
        super().__init__(name, rate=file.rate, **values)
        parameters = self.of_kind(Parameter)
        self._inputs, self._outputs = file.set_of(self.of_kind(Input)), [n for n in self.of_kind(Output) if n != "stepped"]
        self._fixed = {n for n in parameters if file.variables[n].variability not in ("tunable", "continuous")}
        self._tunable = [n for n in parameters if n not in self._fixed]
        self._tuned, self._results = file.set_of(self._tunable), file.set_of(self._outputs)
        self._others = {n: x for n, x in given.items() if n not in parameters and n not in self.of_kind(State)}
        self._begin(instance)

    def _begin(self, instance: Instance) -> None:
        self._instance = instance
        self._end = weakref.finalize(self, instance.end)
        self._end.atexit = False  # programs within it may be gone by then
        self.failure = ""

    def _restart(self, inputs: Array, values: Mapping[str, Any]) -> None:
        """At time 0."""
        file, given = type(self).file, {**values, **self._others}
        starts = file.set_of(given), _flat([file.checked(n, x) for n, x in given.items()])
        self._end()
        self._begin(Instance(file.description, file.folder.name, file.exchange, starts, (self._inputs, inputs)))

    def _in_words(self, error: Exception, time: float) -> str:
        return f"the FMU at t = {time:g} s: {self._instance.failed(error)}"

    def __getstate__(self) -> Any:
        raise StateError(f"model {self.path!r}: an FMU cannot be copied; load it again")


class _CoSimulated(_FMU, PythonModel):
    """At each tick it steps up to now."""

    def __init__(self, *args: Any, **values: Any):
        super().__init__(*args, **values)
        self._now, self._started = 0.0, False
        self._set: Array | None = None

    def set_parameters(self, **values: Any) -> None:
        if self._now > 0.0 and self.root_system() is not None and self.root_system().time > 0.0:
            _refuse_fixed(self, values)
        super().set_parameters(**values)
        self._started = self._started and not self._fixed & values.keys()

    def outputs(self) -> dict[str, Any]:
        inside = self.inside
        assert inside is not None
        time: float = inside["time"]
        inputs = _flat([np.ravel(inside[n]) for n in self.of_kind(Input)])
        tuned = _flat([np.ravel(inside[n]) for n in self._tunable])
        try:
            if time < self._now or not self._started:
                self._restart(inputs, {n: inside[n] for n in self.of_kind(Parameter)})
                self._now, self._started = 0.0, True
            if time > self._now:
                self._instance.step(self._now, time - self._now)
                self._now = time
            fmu = self._instance.fmu
            if self._set is None or not np.array_equal(tuned, self._set):
                self._tuned.set(fmu, tuned)
                self._set = tuned
            self._inputs.set(fmu, inputs)
            found = self._results.get(fmu)
        except Exception as error:
            raise StateError(f"model {self.path!r}: {self._in_words(error, time)}") from error
        declared = [self.declared[n] for n in self._outputs]
        results = {d.name: x.reshape(d.shape) for d, x in zip(declared, _cut(found, declared), strict=True)}
        return {**results, "stepped": time}


class _Called:
    """A function of Python with the address that compiled code calls."""

    def __init__(self, function: Any):
        made = callback(function) if JIT_DISABLED else ctypes.CFUNCTYPE(*[ctypes.c_int64] * 5)(function)
        self._kept = made
        self.address = made.address if JIT_DISABLED else int(ctypes.cast(made, ctypes.c_void_p).value or 0)


class _Exchanged(_FMU):
    """Its equations are asked for at each evaluation."""

    def __init__(self, *args: Any, **values: Any):
        me = weakref.ref(self)

        def work(address: int, what: int, a: int, b: int) -> int:
            own = me()
            if own is not None:
                own.work(live_struct(address), what)
            return 0

        self._work = _Called(work)
        super().__init__(*args, **values)
        file, inputs = type(self).file, self.of_kind(Input)
        smooth = [n for n in inputs if file.variables[n].type in ("Real", "Float64", "Float32")]
        smooth = [n for n in smooth if file.variables[n].variability != "discrete"]
        sizes = np.cumsum([0, *(d.size for d in inputs.values())])
        at = {n: np.arange(sizes[k], sizes[k + 1]) for k, n in enumerate(inputs)}
        self._smooth = file.set_of(smooth), _indices([at[n] for n in smooth])
        self._sudden = file.set_of([n for n in inputs if n not in smooth]), _indices(
            [at[n] for n in inputs if n not in smooth]
        )
        sizes = np.cumsum([0, *(self.declared[n].size for n in self.of_kind(Parameter))])
        spans = {n: np.arange(sizes[k], sizes[k + 1]) for k, n in enumerate(self.of_kind(Parameter))}
        self._tuned_at = _indices([spans[n] for n in self._tunable])
        self._forget()

    def _forget(self) -> None:
        self._last = -1.0  # time of the last start of a step
        self._known: tuple[Array, Array, Array] | None = None  # signs, sudden inputs, tuned parameters of the last event

    def method(self, name: str) -> Any:
        if name == "outputs":
            return self._work if self._outputs_of_class() else None
        if name == "derivatives":
            return self._work if self.of_kind(State) else None
        return self._work if name in ("crossings", "event", "start") else None

    def _outputs_of_class(self) -> dict[str, Any]:
        return self.of_kind(Output)

    def set_parameters(self, **values: Any) -> None:
        _refuse_fixed(self, values)
        super().set_parameters(**values)

    def work(self, m: Any, what: int) -> None:
        """What compiled code wants."""
        time = float(m.time[0])
        try:
            if what == kinds.START:
                self._start_step(m, time)
            elif what == kinds.EVENT:
                self._event(m, time)
            else:
                self._bring(m, time)
                one = self._instance
                if what == kinds.DERIVATIVES:
                    m.result[:] = one.rates()
                elif what == kinds.OUTPUTS:
                    m.output[:] = self._results.get(one.fmu)
                elif what == kinds.CROSSING:
                    z = one.indicate()
                    m.crossing[:-1] = np.where(z == 0.0, -_TINY, z)
                    m.crossing[-1] = max(time - one.next_event, _NEVER)
        except Exception as error:
            self.failure = self.failure or self._in_words(error, time)
            for array in (m.result, m.output, m.crossing, m.state):
                array[:] = np.nan

    def _bring(self, m: Any, time: float) -> None:
        self._instance.bring(time, m.state)
        variables, at = self._smooth
        if len(at):
            variables.set(self._instance.fmu, m.input[at])

    def _start_step(self, m: Any, time: float) -> None:
        if time < self._last or (self.failure and time == 0.0):
            values = _cut(m.parameter, [self.declared[n] for n in self.of_kind(Parameter)])
            self._restart(m.input, dict(zip(self.of_kind(Parameter), values, strict=True)))
            self._forget()
        self._bring(m, time)
        wants = time > self._last >= 0.0 and self._instance.completed()
        self._last = time
        now = self._signs(), m.input[self._sudden[1]], m.parameter[self._tuned_at]
        if self._known is None:  # what it was started with is told from what it is given
            wants = bool(len(now[1]) or len(now[2]))
            self._known = now
        if wants or self._instance.next_event <= time or not all(map(np.array_equal, now, self._known)):
            self._event(m, time)

    def _signs(self) -> Array:
        return self._instance.indicate() > 0.0

    def _event(self, m: Any, time: float) -> None:
        self._bring(m, time)
        sudden, tuned = m.input[self._sudden[1]].copy(), m.parameter[self._tuned_at].copy()
        self._instance.event((self._sudden[0], sudden), (self._tuned, tuned))
        m.state[:] = self._instance.states()
        self._known = self._signs(), sudden, tuned


def _refuse_fixed(model: _FMU, values: Mapping[str, Any]) -> None:
    wrong = sorted(model._fixed & values.keys())
    if wrong:
        raise ModelError(
            f"model {model.path!r}: parameter {wrong[0]!r}: the FMU calls it fixed; give it to load_fmu"
        )


def _doc(key: str, v: Any) -> str:
    return " ".join(filter(None, [v.description, f"({v.name})" if v.name != key else ""]))


def _bound(text: Any, sign: int) -> float:
    return sign * math.inf if text is None else float(text)


def _flat(parts: Sequence[Array]) -> Array:
    return np.concatenate(parts) if parts else np.empty(0)


def _indices(parts: Sequence[Any]) -> Any:
    return np.concatenate(parts) if parts else np.empty(0, int)


def _cut(values: Array, declared: Iterable[Any]) -> list[Array]:
    parts, at = [], 0
    for d in declared:
        parts.append(values[at : at + d.size])
        at += d.size
    return parts


def _parts(values: Array, variables: Iterable[Any]) -> list[Array]:
    parts, at = [], 0
    for v in variables:
        size = math.prod(shape_of(v))
        parts.append(values[at : at + size].reshape(shape_of(v)).copy())
        at += size
    return parts
