"""Systems: models under one clock, with or without a world."""

from __future__ import annotations

from collections.abc import Callable, Collection
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from kido.errors import ModelError, StateError
from kido.integrators import RK4, Integrator
from kido.integrators.explicit import explicit_step
from kido.integrators.integrator import CompiledIntegrator, count
from kido.interrupts import deferred_signals
from kido.math.transform import as_positive
from kido.simulation import World
from kido.systems.assembly import Assembly
from kido.systems.checkpoint import Checkpoint, check_fits, put_back, taken
from kido.systems.clock import SECOND, Rate, as_nanoseconds, as_rate
from kido.systems.declarations import State
from kido.systems.engine import Engine
from kido.systems.inspection import Cost, Entry, as_dot, costs, draw, entries
from kido.systems.linking import Linked
from kido.systems.log import Log, as_ports
from kido.systems.model import Model, Port
from kido.systems.world_ports import MassPort, WorldPort
from kido.systems.world_side import WorldSide
from kido.turns import Turn, in_turn


class System(Assembly):
    """Models that run together: continuous ones are integrated, those with a rate tick on a clock of nanoseconds.

    What is traced or compiled runs without Python; it is asked where a model of plain Python is due. Between ticks
    continuous states are integrated in equal steps, or in steps that follow their error; steps end at ticks and at
    crossings. With a world all this happens in the world's steps, whose time step divides all periods: at the start of
    a step joints and bodies are read, what is due is done, and forces are given, which hold during the step. Models and
    connections may be added and removed between runs; states of those that stay, stay.

    Args:
        name: for messages; it is no part of paths.
        world: whose joints and bodies `JointPort` and `BodyPort` stand for; its steps run the system.
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
        world: World | None = None,
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
        self._logs: list[Log] = []
        self._integrator: CompiledIntegrator = RK4()
        self._side = None if world is None else WorldSide(self, world)
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
    def world(self) -> World | None:
        """Whose steps run it."""
        return None if self._side is None else self._side.world

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
        self.check_idle(f"{self._what}: step")
        self._step = as_positive(value, f"{self._what}: step", "s")
        self.structure_changed()

    @property
    def integrator(self) -> CompiledIntegrator:
        """Of continuous states. May be set."""
        return self._integrator

    @integrator.setter
    def integrator(self, value: Integrator) -> None:
        self.check_idle(f"{self._what}: integrator")
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
        self.check_idle(f"{self._what}: seed")
        self._seed = count(value, f"{self._what}: seed", zero=True)
        self.structure_changed()

    # Running -----------------------------------------------------------------------------------------------

    @in_turn
    def run(self, duration: float) -> None:
        """Go on for a time, and do what is due at its end.

        Args:
            duration: [s], whole nanoseconds; with a world, whole time steps of it.

        Raises:
            ModelError: inputs that are not connected, an algebraic loop, equations that cannot be traced.
            StateError: a value became NaN or infinite, the message names its port; an algebraic loop was not solved.
                A tick that failed, or in which a model of plain Python raised something, is undone, and done again.
                One of its models called this.
        """
        ahead = as_nanoseconds(duration, f"{self._what}: run")
        self.check_idle(f"{self._what}: run")
        engine = self.engine
        with self.turn.used("run"), deferred_signals():
            try:
                stop = int(engine.system.now) + ahead
                if self._side is None:
                    engine.run(stop, self._flush)
                else:
                    self._advance_world(engine, self._side, stop)
                engine.check_signals()
            finally:
                self._flush()

    def _advance_world(self, engine: Engine, side: WorldSide, stop: int) -> None:
        """Steps of the world, to those at which Python is wanted."""
        h, s = side.step, engine.system
        if (stop - s.now) % h:
            raise ModelError(
                f"{self._what}: run: {(stop - s.now) / SECOND:g} s is no whole number of the world's time steps of "
                f"{h / SECOND:g} s"
            )
        while True:
            side.read()
            engine.tick(self._flush)
            if s.now >= stop:
                return
            until = min(stop, engine.next_python())
            side.world.step((until - int(s.now)) // h)

    @property
    def is_running(self) -> bool:
        """Whether `run` is under way."""
        return self.turn.doing == "run"

    def check_idle(self, what: str) -> None:
        """Refuse what cannot be done while models are called.

        Raises:
            StateError: one of its models, which is being called, asks for it.
            ConcurrencyError: another thread runs the system.
        """
        with self.turn.sole():
            if self.turn.doing:
                raise StateError(
                    f"{what}: {self._what} runs, and one of its models asks for it; do it between two runs"
                )

    def tick(self) -> None:
        """Do what is due now, in a step of its world that `run` does not make.

        Raises:
            StateError: as of `run`.
        """
        with self.turn.used("ticked"):
            self.engine.tick(self._flush)

    def failed_in_world(self) -> None:
        """A step of the world could not be made, and is not; what asks for Python is done.

        Raises:
            StateError: as of `run`.
        """
        engine = self.engine
        failure, engine.system.failure = int(engine.system.failure), 0
        engine.check(failure)
        if self.is_running:
            engine.tick(self._flush)
        else:
            self.tick()

    def _flush(self) -> None:
        """Take what has been written down."""
        engine = self._engine
        if engine is not None:
            for log, (_, recording) in zip(self._logs, engine.recordings, strict=True):
                log.take(recording)

    @in_turn
    def reset(self) -> None:
        """Back to time 0 and to initial values of all states; parameters, the world and logs stay as they are.

        Raises:
            StateError: it runs.
        """
        self.check_idle(f"{self._what}: reset")
        self._kept = {}
        self._now = self._ticked = 0
        self._elapsed = 0.0
        engine = self._engine
        if engine is not None:
            self._flush()
            engine.begin()
            if self._side is not None:
                self._side.read()

    # Values ------------------------------------------------------------------------------------------------

    def value_of(self, port: Port | str) -> Any:
        """The present value of an input, an output or a state, see `Port.value`."""
        port = self._port(port)
        engine = self.engine
        if self._side is not None:
            self._side.read()
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

    # Looking at it -----------------------------------------------------------------------------------------

    def entries(self, values: bool = True) -> tuple[Entry, ...]:
        """All parameters, inputs, outputs and states, by path.

        Args:
            values: with present values; False: of a system that cannot run yet.
        """
        return tuple(entries(self, values))

    def graph(self) -> str:
        """Assemblies, models with their rates, and connections with their units, in DOT, the language of Graphviz."""
        return as_dot(self)

    def draw(self, path: str | PathLike[str]) -> None:
        """Draw it: models with their rates, signals from left to right, assemblies as frames.

        Args:
            path: file that is written; its ending says how: .svg; .pdf or .png by Graphviz, whose program `dot` must be
                there.

        Raises:
            ModelError: another ending, or there is no such program.
            FileFormatError: the file cannot be written.
        """
        draw(self, path)

    @in_turn
    def costs(self) -> tuple[Cost, ...]:
        """What each model costs, the dearest first; measured now, on copies of the values."""
        return tuple(costs(self.engine))

    # Logs and checkpoints ----------------------------------------------------------------------------------

    @in_turn
    def log(self, ports: Any, rate: Any, path: str | PathLike[str] | None = None) -> Log:
        """Write values of ports down from now on.

        Args:
            ports: ports or their paths, or a list of them; a model or an assembly, or its path, stands for all its own.
            rate: of rows [Hz], as of a model.
            path: HDF5 file that they are written to, anew; None: they are kept.

        Raises:
            ModelError: no ports, one twice, or a rate that cannot be.
            FileFormatError: the file cannot be written.
            StateError: it runs.
        """
        what = f"{self._what}: log"
        self.check_idle(what)
        clock, found = as_rate(rate, what), as_ports(self, ports)
        self.check_rate(clock, what)
        made = Log(self, found, clock, path)
        self.structure_changed()
        self._logs.append(made)
        return made

    def end_log(self, log: Log) -> None:
        """A log is closed."""
        self.check_idle(f"{self._what}: close of a log")
        if log in self._logs:
            self.structure_changed()
            self._logs.remove(log)

    @in_turn
    def checkpoint(self) -> Checkpoint:
        """All that its future depends on, besides models, connections and logs.

        Raises:
            StateError: a model keeps more than its states, as FMUs do; or it runs.
        """
        self.check_idle(f"{self._what}: checkpoint")
        engine = self.engine
        for m in self.models:
            if m.keeps_more:
                raise StateError(f"{self._what}: checkpoint: model {m.path!r} keeps more than its states can tell")
        return taken(engine, self._seed, None if self._side is None else self._side.world.snapshot())

    @in_turn
    def restore(self, checkpoint: Checkpoint) -> None:
        """Put a checkpoint back: what follows is, bit for bit, what followed then, in another process too.

        Raises:
            StateError: it is of a system of another structure, or damaged; nothing is changed.
        """
        what = f"{self._what}: restore"
        self.check_idle(what)
        if not isinstance(checkpoint, Checkpoint):
            raise StateError(f"{what}: expected a Checkpoint, got {checkpoint!r:.100}")
        seed = checkpoint.arrays().get("seed")
        if seed is not None and seed.tolist() != [self._seed]:
            raise StateError(f"{what}: the checkpoint is of seed {seed.tolist()}, the system has {self._seed}")
        engine = self.engine
        check_fits(checkpoint, engine, what)
        if (checkpoint.world is None) != (self._side is None):
            raise StateError(f"{what}: one of the system and the checkpoint has a world, the other has none")
        if self._side is not None and checkpoint.world is not None:
            self._side.world.restore(checkpoint.world)
            self._side.make_structs(engine)
        self._flush()
        put_back(checkpoint, engine)
        for m in self.models:
            values = {name: engine.value[engine.linked.slots[m.path, name]] for name in m.parameter_values()}
            m.take_parameters(values)
        for call in engine.linked.calls:
            call.parameters_changed()
        for m in self.models:
            m.restored()

    # Structure ---------------------------------------------------------------------------------------------

    def check_part(self, part: Model | Assembly, leaving: Collection[Model] = ()) -> None:
        """Refuse a part that cannot be in it.

        Args:
            leaving: models whose place it takes.

        Raises:
            ModelError: it is of a world, or has a rate, that does not fit the system's world, or is a second `MassPort`
                of a body.
        """
        what, side = f"{self._what}: add", self._side
        massive = {m.body: m.path for m in self.models if isinstance(m, MassPort) and m not in leaving}
        for m in (part,) if isinstance(part, Model) else part.models:
            if isinstance(m, WorldPort):
                if side is None:
                    raise ModelError(f"{what}: model {m.name!r} is of a world; this system has none: System(world=...)")
                side.check_port(m, what)
            if isinstance(m, MassPort):
                if m.body in massive:
                    raise ModelError(
                        f"{what}: model {m.name!r}: body {m.body.name!r} has a MassPort, {massive[m.body]!r}; expected "
                        "one of a body"
                    )
                massive[m.body] = m.name
            if m.clock is not None:
                self.check_rate(m.clock, f"{what}: model {m.name!r}")
        for c in () if isinstance(part, Model) else part.connections:
            if c.delay is not None:
                self.check_rate(c.delay, f"{what}: {c!r}")

    def check_rate(self, rate: Rate, what: str) -> None:
        """Refuse a rate that the time step of its world does not divide.

        Raises:
            ModelError: it does not.
        """
        if self._side is not None:
            self._side.check_rate(rate, what)

    @in_turn
    def structure_changed(self) -> None:
        """Models or connections came or went."""
        engine = self._engine
        if self._side is not None:
            self._side.expect()
        if engine is None:
            return
        self._flush()
        self._kept = engine.kept()
        s = engine.system
        self._now, self._elapsed, self._ticked = int(s.now), float(s.elapsed), int(s.ticked)
        self._engine = None

    def forget(self, gone: Callable[[str], bool]) -> None:
        """Keep nothing of what was before, of paths of states, outputs and crossings of which this is true."""
        self._kept = {path: value for path, value in self._kept.items() if not gone(path)}

    @property
    def is_made(self) -> bool:
        """Whether there is a compiled side of the present structure."""
        return self._engine is not None

    @property
    def engine(self) -> Engine:
        """The compiled side of the present structure."""
        if self._engine is None:
            try:
                self._make_engine()
            except BaseException:
                self._engine = None
                raise
        engine = self._engine
        assert engine is not None
        return engine

    def _make_engine(self) -> None:
        linked = Linked(self.models, self.connections, self._seed)
        made = self._compiled(linked)
        made.set_clock(self._now, self._elapsed, self._ticked)
        made.refresh()
        self._engine = made
        if self._side is not None:
            for rate in linked.rates:
                self.check_rate(rate, self._what)  # the world's time step may be another by now
            self._side.attach(made)
            self._side.read()

    def _compiled(self, linked: Linked) -> Engine:
        recordings = [(log.rate, log.slots(linked), log.room) for log in self._logs]
        return Engine(linked, self._integrator, self._step, recordings, self._kept)

    # Copies, of worlds with systems say, make what holds addresses anew.

    def __getstate__(self) -> dict[str, Any]:
        engine = self._engine
        own = {**vars(self), "_engine": None, "_logs": []}
        if engine is not None:
            s = engine.system
            own |= {"_kept": engine.kept(), "_now": int(s.now), "_elapsed": float(s.elapsed)}
            own["_ticked"] = int(s.ticked)
        return own

    def __repr__(self) -> str:
        return f"System({self._name!r}, {len(self.models)} models, t = {self.time:g} s)"
