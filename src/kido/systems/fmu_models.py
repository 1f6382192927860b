"""Models that FMUs are: co-simulated at ticks, or asked for their equations.

Source: Modelica Association, Functional Mock-up Interface 2.0.5 and 3.0.2.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kido.errors import ModelError, StateError
from kido.jit import JIT_DISABLED, callback
from kido.jit.struct import live_struct
from kido.systems import schema as kinds
from kido.systems.declarations import Input, Output, Parameter, State
from kido.systems.fmu_instance import Instance, joined, split
from kido.systems.model import Model, PythonModel

Array = NDArray[np.float64]
NEVER = -1e9  # [s] what is left to an event that is not to come
TINY = 5e-324  # zero counts as below zero


class FMU(Model):
    """What both kinds share."""

    keeps_more = True
    file: ClassVar[Any]  # what it is of: see `load_fmu`

    def __init__(self, name: str, instance: Instance, given: Mapping[str, Any], **values: Any):
        file = type(self).file
        super().__init__(name, rate=file.rate, **values)
        parameters = self.of_kind(Parameter)
        self._inputs, self._outputs = (
            file.set_of(self.of_kind(Input)),
            [n for n in self.of_kind(Output) if n != "stepped"],
        )
        self._fixed = {n for n in parameters if file.variables[n].variability not in ("tunable", "continuous")}
        self._tunable = [n for n in parameters if n not in self._fixed]
        self._tuned, self._results = file.set_of(self._tunable), file.set_of(self._outputs)
        self._others = {n: x for n, x in given.items() if n not in parameters and n not in self.of_kind(State)}
        self._instance = instance
        weakref.finalize(self, instance.end).atexit = False  # programs within it may be gone by then

    def _restart(self, inputs: Array, values: Mapping[str, Any]) -> None:
        """At time 0."""
        file, given = type(self).file, {**values, **self._others}
        starts = file.set_of(given), joined([file.checked(n, x) for n, x in given.items()])
        self._instance.begin(starts, (self._inputs, inputs))
        self.failure = ""

    def _in_words(self, error: Exception, time: float) -> str:
        return f"the FMU at t = {time:g} s: {self._instance.failed(error)}"

    def __getstate__(self) -> Any:
        raise StateError(f"model {self.path!r}: an FMU cannot be copied; load it again")


class CoSimulated(FMU, PythonModel):
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
        inputs = joined([np.ravel(inside[n]) for n in self.of_kind(Input)])
        tuned = joined([np.ravel(inside[n]) for n in self._tunable])
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
        shapes = [self.declared[n].shape for n in self._outputs]
        return {**dict(zip(self._outputs, split(found, shapes), strict=True)), "stepped": time}


class _Called:
    """A function of Python with the address that compiled code calls."""

    def __init__(self, function: Any):
        self._kept: Any = callback(function) if JIT_DISABLED else ctypes.CFUNCTYPE(*[ctypes.c_int64] * 5)(function)
        self.address = self._kept.address if JIT_DISABLED else ctypes.cast(self._kept, ctypes.c_void_p).value


class Exchanged(FMU):
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
        sudden = [n for n in inputs if n not in smooth]
        self._smooth = file.set_of(smooth), _places(inputs, smooth)
        self._sudden = file.set_of(sudden), _places(inputs, sudden)
        self._tuned_at = _places(self.of_kind(Parameter), self._tunable)
        self._forget()

    def _forget(self) -> None:
        self._last = -1.0  # time of the last start of a step
        self._known: tuple[Array, Array, Array] | None = (
            None  # signs, sudden inputs, tuned parameters of the last event
        )

    def method(self, name: str) -> Any:
        has = {"outputs": Output, "derivatives": State}
        asked = name in ("crossings", "event", "start") or (name in has and self.of_kind(has[name]))
        return self._work if asked else None

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
                    m.crossing[:-1] = np.where(z == 0.0, -TINY, z)
                    m.crossing[-1] = max(time - one.next_event, NEVER)
        except Exception as error:
            self.failure = self.failure or self._in_words(error, time)
            written = {kinds.DERIVATIVES: m.result, kinds.OUTPUTS: m.output, kinds.CROSSING: m.crossing}
            written.get(what, m.state)[:] = np.nan

    def _bring(self, m: Any, time: float) -> None:
        self._instance.bring(time, m.state)
        variables, at = self._smooth
        if len(at):
            variables.set(self._instance.fmu, m.input[at])

    def _start_step(self, m: Any, time: float) -> None:
        first = self._last < 0.0 and not np.array_equal(m.input, self._instance.began_with)
        if first or time < self._last or (self.failure and time == 0.0):
            values = split(m.parameter, [d.shape for d in self.of_kind(Parameter).values()])
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
        return np.sign(np.maximum(self._instance.indicate(), 0.0))

    def _event(self, m: Any, time: float) -> None:
        self._bring(m, time)
        sudden, tuned = m.input[self._sudden[1]].copy(), m.parameter[self._tuned_at].copy()
        self._instance.event((self._sudden[0], sudden), (self._tuned, tuned))
        m.state[:] = self._instance.states()
        self._known = self._signs(), sudden, tuned


def _places(declared: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Where the numbers of some are among those of all."""
    ends = np.cumsum([d.size for d in declared.values()])
    spans = {n: np.arange(end - d.size, end) for (n, d), end in zip(declared.items(), ends, strict=True)}
    return joined([spans[n] for n in names]).astype(int)


def _refuse_fixed(model: FMU, values: Mapping[str, Any]) -> None:
    wrong = sorted(model._fixed & values.keys())
    if wrong:
        raise ModelError(f"model {model.path!r}: parameter {wrong[0]!r}: the FMU calls it fixed; give it to load_fmu")
