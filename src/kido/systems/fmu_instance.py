"""An FMU that runs: the calls of FMI 2 and FMI 3, by FMPy, under the same names.

Source: Modelica Association, Functional Mock-up Interface 2.0.5 and 3.0.2, state machines of sections 3.2 and 4.2.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kido.errors import StateError
from kido.libraries import library

Array = NDArray[np.float64]
NUMBERS = ("Real", "Integer", "Enumeration", "Boolean", "Float64", "Float32") + tuple(
    f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)
)
_FATAL = 4  # status of a call
MOST_EVENTS = 100  # iterations at one moment


class Variables:
    """Variables of an FMU as one array of numbers, in their order.

    Args:
        version: of FMI.
        variables: as FMPy describes them.
    """

    def __init__(self, version: int, variables: Sequence[Any]):
        self.size = 0
        found: dict[str, tuple[list[int], list[int]]] = {}  # by type: references, places
        for v in variables:
            refs, places = found.setdefault(v.type, ([], []))
            size = math.prod(shape_of(v))
            refs.append(v.valueReference)
            places += range(self.size, self.size + size)
            self.size += size
        self._groups = [(_calls(version, kind), refs, np.array(at, int)) for kind, (refs, at) in found.items()]
        self._version = version

    def get(self, fmu: Any) -> Array:
        """Their values."""
        values = np.empty(self.size)
        for (kind, _), refs, at in self._groups:
            call = getattr(fmu, f"get{kind}")
            values[at] = call(refs) if self._version == 2 else call(refs, len(at))
        return values

    def set(self, fmu: Any, values: Array) -> None:
        """Give them values."""
        for (kind, as_type), refs, at in self._groups:
            getattr(fmu, f"set{kind}")(refs, [as_type(x) for x in values[at].tolist()])


def shape_of(variable: Any) -> tuple[int, ...]:
    """Of a variable; (): one number."""
    return tuple(int(n) for n in variable.shape or ())


def joined(parts: Sequence[Array]) -> Array:
    """Flat arrays as one."""
    return np.concatenate(parts) if parts else np.empty(0)


def split(values: Array, shapes: Iterable[tuple[int, ...]]) -> list[Array]:
    """Copies of an array's parts."""
    parts, at = [], 0
    for shape in shapes:
        parts.append(values[at : at + math.prod(shape)].reshape(shape).copy())
        at += math.prod(shape)
    return parts


def _calls(version: int, kind: str) -> tuple[str, Any]:
    name = {"Enumeration": "Integer" if version == 2 else "Int64"}.get(kind, kind)
    return name, float if kind in ("Real", "Float64", "Float32") else (bool if kind == "Boolean" else round)


class Instance:
    """An FMU that has been initialized at time 0.

    Args:
        description: as FMPy read it.
        folder: where it was unpacked.
        exchange: for model exchange, else for co-simulation.
        starts: variables and values that are set before.
        inputs: those of inputs, and their values.

    Attributes:
        fmu: FMPy's object, for calls that both versions have.
        next_event: when it wants to be asked again; infinite: it does not [s].

    Raises:
        StateError: one of its functions failed; the message has its own words.
    """

    def __init__(
        self,
        description: Any,
        folder: str,
        exchange: bool,
        starts: tuple[Variables, Array],
        inputs: tuple[Variables, Array],
    ):
        self.version = description.fmiMajorVersion
        self._fmi: Any = library(f"fmpy.fmi{self.version}", "running an FMU", "fmi")
        self._exchange = exchange
        self._words: list[str] = []
        part = description.modelExchange if exchange else description.coSimulation
        kind = getattr(self._fmi, f"FMU{self.version}{'Model' if exchange else 'Slave'}")
        self.fmu: Any = kind(
            guid=description.guid, unzipDirectory=folder, modelIdentifier=part.modelIdentifier, instanceName="kido"
        )
        self._callbacks: Any = None
        self._runs = False
        states = description.numberOfContinuousStates
        self._rates, self._states = np.zeros(states), np.zeros(states)
        self._indicators = np.zeros(description.numberOfEventIndicators)
        self.begin(starts, inputs)

    def begin(self, starts: tuple[Variables, Array], inputs: tuple[Variables, Array]) -> None:
        """At time 0, anew."""
        fmu, fmi = self.fmu, self._fmi
        if fmu.component:
            fmu.reset()
        elif self.version == 2:
            made = self._callbacks = fmi.fmi2CallbackFunctions()
            made.logger = fmi.fmi2CallbackLoggerTYPE(lambda _, __, ___, ____, text: self._note(text))
            made.allocateMemory, made.freeMemory = fmi.defaultCallbacks.allocateMemory, fmi.defaultCallbacks.freeMemory
            library("fmpy.logging", "running an FMU", "fmi").addLoggerProxy(ctypes.byref(made))
            fmu.instantiate(callbacks=made)
        else:
            fmu.instantiate(logMessage=lambda _, __, ___, text: self._note(text))
        self.next_event = math.inf
        starts[0].set(fmu, starts[1])
        if self.version == 2:
            fmu.setupExperiment(startTime=0.0)
        fmu.enterInitializationMode()
        inputs[0].set(fmu, inputs[1])
        self.began_with = np.array(inputs[1])
        fmu.exitInitializationMode()
        self._runs = True
        if self._exchange:
            self._update()

    def _note(self, text: Any) -> None:
        self._words = [*self._words[-2:], text.decode(errors="replace") if isinstance(text, bytes) else str(text)]

    def failed(self, error: Exception) -> str:
        """In words, what FMPy raised, with the FMU's own. From then on it can only be begun anew."""
        self._runs = False
        if getattr(error, "status", 0) >= _FATAL and self.fmu is not None:
            self.fmu.component = None  # it may not be called any more, not even to be freed
        words = "; ".join(self._words)
        return f"{str(error).rstrip('.')}{f'; it says: {words:.300}' if words else ''}"

    def step(self, time: float, size: float) -> None:
        """Of co-simulation."""
        done = self.fmu.doStep(time, size)
        if done is not None and (done[1] or (done[2] and done[3] < time + size * (1.0 - 1e-9))):
            raise StateError(f"it ended at {done[3]:g} s a step to {time + size:g} s")

    # Model exchange ----------------------------------------------------------------------------------------

    def bring(self, time: float, states: Array) -> None:
        """To a moment and states."""
        self.fmu.setTime(time)
        if len(states):
            self._states[:] = states
            self.fmu.setContinuousStates(_pointer(self._states), len(states))

    def states(self) -> Array:
        """Continuous states, the same array each time."""
        if len(self._states):
            self.fmu.getContinuousStates(_pointer(self._states), len(self._states))
        return self._states

    def rates(self) -> Array:
        """Derivatives of the continuous states, the same array each time."""
        if len(self._rates):
            call = self.fmu.getDerivatives if self.version == 2 else self.fmu.getContinuousStateDerivatives
            call(_pointer(self._rates), len(self._rates))
        return self._rates

    def indicate(self) -> Array:
        """Event indicators, the same array each time."""
        if len(self._indicators):
            self.fmu.getEventIndicators(_pointer(self._indicators), len(self._indicators))
        return self._indicators

    def completed(self) -> bool:
        """A step of integration is done; whether it wants an event."""
        event, ends = self.fmu.completedIntegratorStep()
        if ends:
            raise StateError("it wants the simulation to end")
        return bool(event)

    def event(self, inputs: tuple[Variables, Array], parameters: tuple[Variables, Array]) -> None:
        """All that changes at this moment."""
        self.fmu.enterEventMode()
        inputs[0].set(self.fmu, inputs[1])
        parameters[0].set(self.fmu, parameters[1])
        self._update()

    def _update(self) -> None:
        """In event mode, until nothing changes any more."""
        update = self.fmu.newDiscreteStates if self.version == 2 else self.fmu.updateDiscreteStates
        for _ in range(MOST_EVENTS):
            again, ends, _, _, defined, at = update()
            if ends:
                raise StateError("it wants the simulation to end")
            if not again:
                break
        else:
            raise StateError(f"its discrete states still change after {MOST_EVENTS} iterations")
        self.next_event = at if defined else math.inf
        self.fmu.enterContinuousTimeMode()

    def end(self) -> None:
        """Free it."""
        fmu, self.fmu = self.fmu, None
        if fmu is not None and fmu.component:
            try:
                if self._runs:
                    fmu.terminate()
            except Exception:  # it has failed before
                pass
            fmu.freeInstance()


def _pointer(array: Array) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
