"""Systems: models under one clock, with or without a world."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from kido.errors import ModelError, StateError
from kido.integrators import RK4, Integrator
from kido.integrators.explicit import explicit_step
from kido.integrators.integrator import CompiledIntegrator, count
from kido.interrupts import deferred_signals
from kido.math.transform import as_positive
from kido.systems.assembly import Assembly
from kido.systems.clock import SECOND, as_nanoseconds
from kido.systems.declarations import Noise, Output, State
from kido.systems.engine import Engine
from kido.systems.linking import Linked
from kido.systems.model import Model, Port
from kido.turns import Turn, in_turn


class System(Assembly):
    """Models that run together: continuous ones are integrated, those with a rate tick on a clock of nanoseconds.

    What is traced or compiled runs without Python; it is asked where a model of plain Python is due. Between ticks
    continuous states are integrated in equal steps, or in steps that follow their error; steps end at ticks and at
    crossings. Models and connections may be added and removed at any time; states of those that stay, stay.

    Args:
        name: for messages; it is no part of paths.
        step: largest step of integration [s], of integrators of fixed steps.
        integrator: an explicit Runge-Kutta method of `kido.integrators`: `RK4`, `DormandPrince`, `ExplicitEuler`.
        seed: of all noise.

    Example:
        >>> system = System()
        >>> motor = system.add(Motor())
        >>> control = system.add(PID(rate=1000))
        >>> system.connect(motor.speed, control.measured)
        >>> system.connect(control.output, motor.voltage)
        >>> system.run(2.0)
        >>> motor.speed.value

    Raises:
        ModelError: a step that is not positive, or an integrator that is none of those.
    """

    def __init__(
        self,
        name: str = "system",
        *,
        step: float = 1e-3,
        integrator: Integrator | None = None,
        seed: int = 0,
    ):
        super().__init__(name)
        self.turn = Turn(self, "system")
        self._step = as_positive(step, f"system {name!r}: step", "s")
        self._seed = count(seed, f"system {name!r}: seed", zero=True)
        self._engine: Engine | None = None
        self._kept: dict[str, Any] = {}  # values of the structure before, by path
        self._now, self._ticked = 0, 0
        self._elapsed = 0.0
        self._integrator: CompiledIntegrator = RK4()
        if integrator is not None:
            self.integrator = integrator

    # What it is --------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """Empty: paths begin below it."""
        return ""

    @property
    def _what(self) -> str:
        return f"system {self._name!r}"

    def root_system(self) -> System:
        """Itself."""
        return self

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        e = self._engine
        return self._now / SECOND + self._elapsed if e is None else e.time

    @property
    def nanoseconds(self) -> int:
        """The same as whole nanoseconds, of the last tick or end of a run."""
        return self._now if self._engine is None else int(self._engine.system.now)

    @property
    def step(self) -> float:
        """Largest step of integration [s]. May be set."""
        return self._step

    @step.setter
    def step(self, value: float) -> None:
        self._step = as_positive(value, f"{self._what}: step", "s")
        self.structure_changed()

    @property
    def integrator(self) -> CompiledIntegrator:
        """Of continuous states. May be set."""
        return self._integrator

    @integrator.setter
    def integrator(self, value: Integrator) -> None:
        if not isinstance(value, CompiledIntegrator) or value.step_function is not explicit_step:
            raise ModelError(
                f"{self._what}: integrator: expected RK4, DormandPrince or ExplicitEuler of kido.integrators, "
                f"got {value!r}"
            )
        self._integrator = value
        self.structure_changed()

    @property
    def seed(self) -> int:
        """Of all noise. May be set."""
        return self._seed

    @seed.setter
    def seed(self, value: int) -> None:
        self._seed = count(value, f"{self._what}: seed", zero=True)
        self.structure_changed()

    # Running -----------------------------------------------------------------------------------------------

    @in_turn
    def run(self, duration: float) -> None:
        """Go on for a time, and do what is due at its end.

        Args:
            duration: [s], whole nanoseconds.

        Raises:
            ModelError: inputs that are not connected, an algebraic loop, equations that cannot be traced.
            StateError: a value became NaN or infinite, the message names its port; an algebraic loop was not solved.
        """
        ahead = as_nanoseconds(duration, f"{self._what}: run")
        engine = self.engine
        with self.turn.used("run"), deferred_signals():
            self._advance(engine, int(engine.system.now) + ahead)

    def _advance(self, engine: Engine, stop: int) -> None:
        try:
            engine.run(stop, self._flush)
        except BaseException:
            engine.abandon_tick()
            raise

    def _flush(self) -> None:
        """Recordings are full."""

    @in_turn
    def reset(self) -> None:
        """Back to time 0 and to initial values of all states; parameters stay."""
        self._engine, self._kept = None, {}
        self._now = self._ticked = 0
        self._elapsed = 0.0

    # Values ------------------------------------------------------------------------------------------------

    def value_of(self, port: Port | str) -> Any:
        """The present value of an input, an output or a state, see `Port.value`."""
        port = self._port(port)
        engine = self.engine
        engine.signals()
        slots = engine.linked.of(port)
        return float(engine.value[slots[0]]) if not port.shape else engine.value[slots].reshape(port.shape)

    @in_turn
    def set_state_value(self, port: Port | str, value: ArrayLike) -> None:
        """Let a state be something else from now on.

        Raises:
            StateError: it is no state, or the value is not finite or of another shape.
        """
        port = self._port(port)
        if not isinstance(port.declared, State):
            raise StateError(f"{port.path}: an {port.kind} follows from states and cannot be set")
        try:
            array = port.declared.checked(value, port.path)
        except ModelError as error:
            raise StateError(str(error)) from None
        engine = self.engine
        engine.value[engine.linked.of(port)] = array.ravel()
        engine.refresh()

    def parameters_changed(self, model: Model) -> None:
        """A model has other parameters."""
        engine = self._engine
        if engine is None:
            return
        for name, array in model.parameter_values().items():
            engine.value[engine.linked.slots[model.path, name]] = array.ravel()
        for call in engine.linked.calls:
            call.parameters_changed()
        engine.refresh()

    # Structure ---------------------------------------------------------------------------------------------

    def check_part(self, part: Model | Assembly) -> None:
        """Refuse a part that cannot be in it."""

    @in_turn
    def structure_changed(self) -> None:
        """Models or connections came or went."""
        engine = self._engine
        if engine is None:
            return
        self._kept = self._values(engine)
        s = engine.system
        self._now, self._elapsed, self._ticked = int(s.now), float(s.elapsed), int(s.ticked)
        self._engine = None

    @property
    def engine(self) -> Engine:
        """The compiled side of the present structure."""
        if self._engine is None:
            self._engine = self._make_engine()
        return self._engine

    def _make_engine(self) -> Engine:
        linked = Linked(self.models, self.connections, self._seed)
        made = self._compiled(linked)
        s, kept = made.system, self._kept
        for key, slots in _remembered(linked).items():
            if key in kept and len(kept[key]) == len(slots):
                made.value[slots] = kept[key]
        s.now, s.elapsed, s.ticked = self._now, self._elapsed, self._ticked
        made.value[0] = made.time
        for k, rate in enumerate(linked.rates):
            number = self._now * rate.denominator // rate.numerator
            done = rate.tick(number) < self._now or (self._ticked and self._elapsed == 0.0) or self._elapsed > 0.0
            while rate.tick(number) < self._now or (done and rate.tick(number) <= self._now):
                number += 1
            s.ticks[k], s.next[k] = number, rate.tick(number)
            s.carry[k] = number * rate.numerator % rate.denominator
        made.refresh()
        return made

    def _compiled(self, linked: Linked) -> Engine:
        return Engine(linked, self._integrator, self._step)

    def _values(self, engine: Engine) -> dict[str, Any]:
        return {key: engine.value[slots].copy() for key, slots in _remembered(engine.linked).items()}

    def __repr__(self) -> str:
        return f"System({self._name!r}, {len(self.models)} models, t = {self.time:g} s)"


def _remembered(linked: Linked) -> dict[str, list[int]]:
    """Values that follow from nothing else: states, what is held, and where searches begin."""
    found = {
        f"{m.path}.{name}": linked.slots[m.path, name]
        for m in linked.models
        for name, d in m.declared.items()
        if isinstance(d, State | Noise) or (isinstance(d, Output) and (m.clock is not None or m.is_boundary))
    }
    found |= {f"{target} (delayed)": slots for target, slots in linked.delays.items()}
    for slot, _ in linked.unknowns:
        found[f"unknown {slot}"] = [slot]
    return found
