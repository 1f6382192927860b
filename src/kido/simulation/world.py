"""A world: skeletons that move, touch and are stepped together."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.collision import CollisionDetector, KidoCollisionDetector, NativeDetector
from kido.errors import ModelError
from kido.integrators import Integrator, MoreauMidpoint
from kido.integrators.simulate import CHUNK_SECONDS
from kido.interrupts import deferred_signals
from kido.math.transform import as_flag, as_vector, number_or_nan
from kido.simulation.collision_filter import CollisionFilter
from kido.simulation.contact_surface import ContactSurfaceHandler
from kido.simulation.engine import Engine
from kido.simulation.hooks import StepHooks
from kido.simulation.pushes import Push
from kido.simulation.report import StepReport
from kido.simulation.running import run
from kido.simulation.settings import checked_settings
from kido.simulation.sleeping import Sleeping
from kido.simulation.warm_state import set_warm_state
from kido.simulation.world_collision import WorldCollision
from kido.simulation.world_constraints import WorldConstraints
from kido.simulation.world_contact_laws import WorldContactLaws
from kido.simulation.world_contacts import ContactListener, WorldContacts
from kido.simulation.world_contents import WorldContents
from kido.simulation.world_copies import WorldCopies
from kido.simulation.world_dynamics import WorldDynamics, checked_sleeping
from kido.simulation.world_results import WorldResults
from kido.simulation.world_state import WorldState
from kido.simulation.world_threads import WorldThreads
from kido.skeleton import Skeleton
from kido.skeleton.aspects import Carrier
from kido.solvers import DefaultSolver, IslandProblem, Solver, as_solver


class World(
    WorldContents,
    WorldConstraints,
    WorldCopies,
    WorldContactLaws,
    WorldCollision,
    WorldResults,
    WorldContacts,
    WorldDynamics,
    WorldThreads,
    WorldState,
    Carrier,
):
    """Skeletons under one gravity and one clock.

    A step of h seconds takes forces at mid-step, finds the contacts there, and solves the exact Coulomb problem
    for the new velocities (`kido.simulation.predict` states the scheme: second order where nothing touches), unless
    another `integrator` is set.

    Args:
        name: for messages and recordings.
        gravity: [m/s^2], world axes.
        time_step: h [s].
        solver: of contacts and constraints, see `solver`.
        sleeping: whether and when skeletons at rest are no longer computed, see `sleeping`.
        integrator, collision_detector, contact_surface_handler, threads: see the properties of these names.
        **settings: solver parameters: `erp`, `slop`, `max_correction`, `skin`, `skin_share`,
            `restitution_speed`, `restitution_law`, `position_correction`, and those of
            `kido.solvers.problem.SETTING_NAMES`.

    Raises:
        ModelError: a time step that is not positive, gravity that is not three finite numbers, an unknown setting, and
            what the properties raise.
    """

    def __init__(
        self,
        name: str = "world",
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        time_step: float = 1e-3,
        solver: Solver | Callable[[IslandProblem], Any] | None = None,
        sleeping: Sleeping | bool | None = None,
        *,
        integrator: Integrator | None = None,
        collision_detector: CollisionDetector | str | None = None,
        contact_surface_handler: ContactSurfaceHandler | None = None,
        threads: int | None = 1,
        **settings: Any,
    ):
        super().__init__()
        self.name = name
        self._gravity = as_vector(gravity, f"world {name!r}: gravity")
        self._time_step = self._checked_time_step(time_step)
        self._settings = checked_settings(settings, f"world {name!r}")
        self._skeletons: list[Skeleton] = []
        self._collision_filter = CollisionFilter(self)
        self._collision_detector: CollisionDetector = KidoCollisionDetector()
        self._continuous_detection = False
        self._engine: Engine | None = None
        self._stale = True
        self._properties_stale = False
        self._surfaces_stale = False
        self._surface_handler = ContactSurfaceHandler()
        self._version = 0
        self._time_before = 0.0
        self._steps = 0
        self._steps_before = 0
        self._hooks = StepHooks()
        self._integrator: Integrator = MoreauMidpoint()
        self._solver: Solver = DefaultSolver() if solver is None else as_solver(solver)
        self._threads = 1
        self._sleeping = checked_sleeping(sleeping, f"world {name!r}")
        self._pushes: list[Push] = []
        self._collects_events = False
        self._events: list[Any] | None = None
        self._listeners: list[ContactListener] = []
        self._kept: dict[str, Any] | None = None
        self._like: NativeDetector | None = None  # of the world that this is a copy of, until it is compiled
        self.uri: str | None = None
        if integrator is not None:
            self.integrator = integrator
        if collision_detector is not None:
            self.collision_detector = collision_detector
        if contact_surface_handler is not None:
            self.contact_surface_handler = contact_surface_handler
        self.threads = threads

    def _checked_time_step(self, value: float) -> float:
        number = number_or_nan(value)
        if not np.isfinite(number) or number <= 0.0:
            raise ModelError(f"world {self.name!r}: time step: expected a positive number [s], got {value!r}")
        return number

    # Parameters ------------------------------------------------------------------------------------------

    @property
    def gravity(self) -> NDArray[np.float64]:
        """Acceleration of gravity [m/s^2], world axes (a copy)."""
        return self._gravity.copy()

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        self._gravity[:] = as_vector(value, f"world {self.name!r}: gravity")
        self._version += 1

    @property
    def up(self) -> NDArray[np.float64]:
        """Unit vector against gravity; z if there is none."""
        size = float(np.linalg.norm(self._gravity))
        return np.array([0.0, 0.0, 1.0]) if size == 0.0 else -self._gravity / size + 0.0

    @property
    def time_step(self) -> float:
        """h [s]."""
        return self._time_step

    @time_step.setter
    def time_step(self, value: float) -> None:
        value = self._checked_time_step(value)
        self._time_before, self._steps_before = self.time, self._steps
        self._time_step = value
        if self._engine is not None:
            self._engine.set_time_step(value)

    @property
    def integrator(self) -> Integrator:
        """How a step moves the state (`kido.integrators`): `MoreauMidpoint` unless set.

        `MoreauMidpoint`, `SemiImplicitEuler` and `ExplicitEuler` step with contacts, joint limits and friction. All
        others, a user's own among them, are for smooth motion: where something touches or a limit is passed they
        do not take the step and raise a `StateError`. The adaptive one divides each time step as it needs. Closed
        loops they hold by `loop_solver`, the explicit ones and a user's own.
        """
        return self._integrator

    @integrator.setter
    def integrator(self, value: Integrator) -> None:
        if not isinstance(value, Integrator):
            raise ModelError(
                f"world {self.name!r}: integrator: expected one such as kido.integrators.RK4(), got {value!r}"
            )
        if self._engine is not None and not self._stale:
            self._engine.set_integrator(value)  # which may refuse it
            self._engine.set_sleeping(self._sleeping)
        self._integrator = value

    @property
    def solver(self) -> Solver:
        """What solves contacts and constraints (`kido.solvers`): `DefaultSolver` unless set.

        One of `DefaultSolver`, `GaussSeidel`, `ADMM`, `Dantzig`, `Lemke`, `PGS`, or a function of an `IslandProblem`
        that returns impulses. Islands on which it fails go to the default solver; `report.fallbacks` counts them.
        The second phase of impacts that bounce is always the default solver's. `report.residual` measures the exact
        cone whatever the solver; `report.converged` says whether each solver solved its own problem, which for
        `Dantzig`, `Lemke` and `PGS` has a friction pyramid.
        """
        return self._solver

    @solver.setter
    def solver(self, value: Solver | Callable[[IslandProblem], Any]) -> None:
        self._solver = as_solver(value)
        if self._engine is not None and not self._stale:
            self._engine.set_solver(self._solver)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._time_before + (self._steps - self._steps_before) * self._time_step

    @property
    def num_steps(self) -> int:
        """Steps done."""
        return self._steps

    # Compilation -----------------------------------------------------------------------------------------

    def _structure_changed(self) -> None:
        if self._engine is not None:
            if self._engine.loops is not None:
                self._engine.loops.note_broken()
            for s in self._skeletons:
                s.drop_arrays()
            self._engine = None
        self._kept = None
        self._stale = True

    def _compile(self) -> Engine:
        """The engine of the present structure."""
        if self._stale or self._engine is None:
            engine = Engine(
                self._skeletons,
                self._gravity,
                self._time_step,
                self._collisions(),
                self._settings,
                self._integrator,
                self._solver,
                self._surface_handler,
                self._like,
                self.constraints,
                self._loop_solver,
            )
            self._like = None
            for s, window in zip(self._skeletons, engine.windows, strict=True):
                s.current_state.adopt(*window)
            self._engine = engine
            self._stale = False
            self._properties_stale = self._surfaces_stale = False
            self._version += 1
            engine.set_threads(self._threads)
            engine.set_sleeping(self._sleeping)
            engine.collect_events(self._collects_events)
            if self._kept is not None:
                set_warm_state(engine, self._kept)
                self._kept = None
        if self._properties_stale:
            for s in self._skeletons:
                s.current_state.compiled()
            self._engine.properties_changed()
            self._properties_stale = False  # not before: what was refused is refused again
        if self._surfaces_stale:
            self._engine.surfaces_changed(self._surface_handler)
            self._surfaces_stale = False
        return self._engine

    # Stepping --------------------------------------------------------------------------------------------

    def step(self, n: int = 1, reset_command: bool = True) -> StepReport:
        """Advance by n steps.

        Commands (joint forces, velocities and accelerations asked of actuators) and external forces hold during all n
        steps and are then set to zero, unless `reset_command` is False.

        Args:
            n: number of steps, not negative.

        Returns:
            The report of the last step.

        Raises:
            ModelError: n is no count, or a coordinate has no inertia.
            StateError: the motion became NaN or infinite; the state is that of the failed step.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise ModelError(f"world {self.name!r}: step: expected a number of steps not below 0, got {n!r}")
        reset_command = as_flag(reset_command, f"world {self.name!r}: step: reset_command")
        engine = self._compile()
        self._begin_events(engine)
        if n > 1:
            with deferred_signals():
                engine = self._advance_many(engine, int(n))
        elif n == 1:
            engine = self._advance_many(engine, 1)
        if reset_command and n > 0:
            engine.data.tau[:] = 0.0
            engine.data.command[:] = 0.0
            if engine.data.has_external.any():  # a look at thousands of skeletons takes a tenth of their step
                for s in self._skeletons:
                    if s.current_state.applied:
                        s.clear_external_forces()
        self._tell_events(engine)
        return self.report

    def _advance_many(self, engine: Engine, number: int) -> Engine:
        """Steps between callbacks, or in chunks that leave Python its turn. Returns what is compiled after them."""
        if self._hooks:
            for _ in range(number):
                self._hooks.run(self._hooks.before, self)
                self._advance_pushed(self._compile(), 1)
                self._hooks.run(self._hooks.after, self)
            return self._compile()
        chunk = 1
        while number > 0:
            steps = min(chunk, number)
            started = clock.perf_counter()
            self._advance_pushed(engine, steps)
            took = clock.perf_counter() - started
            number -= steps
            chunk = max(1, min(10 * chunk, int(chunk * CHUNK_SECONDS / max(took, 1e-6))))
        return engine

    def _advance(self, engine: Engine, number: int) -> None:
        before = int(engine.world.steps[0])
        try:
            run(engine, number, self.time)
        finally:
            self._steps += int(engine.world.steps[0]) - before
            self._version += 1

    def add_step_callback(self, callback: Callable[[World], Any], before: bool = False) -> Callable[[], None]:
        """Have a function called with the world at each step.

        Args:
            callback: called with the world.
            before: call it before the step, as a controller that sets forces needs; else after it.

        Returns:
            A function that takes it off again.
        """
        return self._hooks.add(callback, before)

    def __repr__(self) -> str:
        return f"World({self.name!r}, {len(self._skeletons)} skeletons, t = {self.time:g} s)"
