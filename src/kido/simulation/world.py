"""A world: skeletons that move, touch and are stepped together."""

from __future__ import annotations

import copy
import time as clock
from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import named_arguments
from kido.errors import ModelError
from kido.integrators.simulate import CHUNK_SECONDS
from kido.interrupts import deferred_signals
from kido.math.transform import as_flag, as_positive, as_vector
from kido.simulation.commands import Commands
from kido.simulation.controller import Controller
from kido.simulation.hooks import Push
from kido.simulation.motion import run
from kido.simulation.outrun import WATCH, warn_of_outrun
from kido.simulation.report import StepReport
from kido.simulation.sleeping import Sleepers
from kido.simulation.world_results import WorldResults
from kido.simulation.world_snapshot import Start, WorldSnapshot, check_fits, put_back, snapshot_of
from kido.simulation.world_state import set_state, state_of, warm_state
from kido.skeleton import BodyNode
from kido.skeleton.state.loads import force_row
from kido.turns import Turn, in_turn

Law = TypeVar("Law", bound=Controller)


class World(WorldResults):
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
            `restitution_speed`, `restitution_law`, `position_correction`, `spring_law`, and those of
            `kido.solvers.problem.DEFAULT_SETTINGS`.

    Raises:
        ModelError: a time step that is not positive, gravity that is not three finite numbers, and what the properties
            raise.
        ArgumentError: an unknown setting.
    """

    # Stepping ----------------------------------------------------------------------------------------------

    def step(self, n: int = 1, reset_command: bool = True) -> StepReport:
        """Advance by n steps.

        Commands (joint forces, velocities and accelerations asked of actuators) and external forces hold during all n
        steps and are then set to zero, unless `reset_command` is False. Positions asked for stay.

        Args:
            n: number of steps, not negative.

        Returns:
            The report of the last step.

        Raises:
            ModelError: n is no count, or a coordinate has no inertia.
            StateError: the motion became NaN or infinite; the state is that of the failed step.
            ConcurrencyError: another thread steps the world.
        """
        # A step of a small world takes a few microseconds, so that what is usual is looked at first.
        if type(n) is not int or n < 0:
            if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
                raise ModelError(f"world {self.name!r}: step: expected a number of steps not below 0, got {n!r}")
        if reset_command is not True:
            reset_command = as_flag(reset_command, f"world {self.name!r}: step: reset_command")
        turn = self.turn
        if turn.doing:
            turn.sole()
        with turn:
            before = turn.doing
            try:
                turn.doing = "stepped"
                if not self._begun:
                    self._begin()
                if self.options.collects_events:
                    self._events.begin(self.engine)
                if n == 1 and not (self.hooks.before or self.hooks.after or self.pushes.all or self._controllers):
                    self._advance(1)
                elif n == 1:
                    self._advance_many(1)
                elif n > 1:
                    with deferred_signals():
                        self._advance_many(int(n))
                engine = self._engine
                if engine is None or self._changes:
                    engine = self.engine
                if reset_command and n > 0:
                    data = engine.data
                    data.tau.fill(0.0)
                    if engine.momentary is None:
                        data.command.fill(0.0)
                    else:
                        data.command[engine.momentary] = 0.0
                    if np.count_nonzero(data.has_external):  # to look at thousands of skeletons takes a tenth of a step
                        for s in self._skeletons:
                            if s.current_state.applied:
                                s.clear_external_forces()
                if self.options.collects_events:
                    self._events.tell(engine, self.num_steps)
                return StepReport.of(engine.last)
            finally:
                turn.doing = before

    def _advance_many(self, number: int) -> None:
        """Steps between callbacks, or in chunks that leave Python its turn."""
        advance = self._advance_asking if self._controllers and self.engine.asks_controllers else self._advance
        if self.hooks:
            for _ in range(number):
                self.hooks.run(self.hooks.before, self)
                self.pushes.advance(1, advance, self)
                self.hooks.run(self.hooks.after, self)
            return
        chunk = 1
        while number > 0:
            steps = min(chunk, number)
            started = clock.perf_counter()
            self.pushes.advance(steps, advance, self)
            took = clock.perf_counter() - started
            number -= steps
            chunk = max(1, min(10 * chunk, int(chunk * CHUNK_SECONDS / max(took, 1e-6))))

    def _advance(self, number: int) -> None:
        engine, before = self._engine, self._is_stepping
        own = vars(self)  # set in a tenth of the time
        if engine is None or self._changes:
            engine = self.engine
        try:
            own["_is_stepping"] = True
            run(engine, number, self._now)
        finally:
            version = own["version"] = own["version"] + 1
            own["_is_stepping"] = before
        if number > WATCH or not version & WATCH:
            self._watch_motion()

    def _advance_asking(self, number: int) -> None:
        """Steps, between which Python does what controllers need of it."""
        while number > 0:
            steps = self.engine.feature(Commands).ask(number)
            self._advance(steps)
            number -= steps

    def _watch_motion(self) -> None:
        """Warn a user, once, of motions that outrun detection."""
        if self._watches_motion:
            self._watches_motion = not warn_of_outrun(self.engine)

    def _now(self) -> float:
        return self.time

    @named_arguments
    def add_step_callback(self, callback: Callable[[World], Any], before: bool = False) -> Callable[[], None]:
        """Have a function called with the world at each step.

        Args:
            callback: called with the world.
            before: call it before the step, as a controller that sets forces needs; else after it.

        Returns:
            A function that takes it off again.
        """
        return self.hooks.add(callback, before)

    @property
    def controllers(self) -> tuple[Controller, ...]:
        """Controllers that it calls, in the order they were added."""
        return tuple(self._controllers)

    @in_turn
    @named_arguments
    def add_controller(self, controller: Law) -> Law:
        """Have a controller drive a skeleton of the world in steps and rollouts; see `kido.control`.

        Controllers are called at the start of a step in the order they were added. They belong to the world: clones
        have clones of them, snapshots the forces that they hold; recordings have the commands that acted, and no
        controllers. Skeletons with controllers do not sleep.

        Raises:
            ModelError: no controller of a skeleton in this world, one that it has already, or a rate that is no whole
                number of time steps.
        """
        what = f"world {self.name!r}: add_controller"
        if not isinstance(controller, Controller):
            raise ModelError(f"{what}: expected a kido.control.Controller, got {controller!r}")
        self._own(controller.skeleton)
        if controller in self._controllers:
            raise ModelError(f"{what}: {controller!r} is there already")
        controller.steps(self.time_step)
        self._set_controllers([*self._controllers, controller])
        return controller

    @in_turn
    @named_arguments
    def remove_controller(self, controller: Controller) -> Controller:
        """Take a controller off; forces that it holds are gone.

        Raises:
            ModelError: the world has no such.
        """
        if controller not in self._controllers:
            raise ModelError(f"world {self.name!r}: remove_controller: it has no {controller!r}")
        self._set_controllers([c for c in self._controllers if c is not controller])
        return controller

    def _set_controllers(self, controllers: list[Controller]) -> None:
        engine = self.engine
        commands, before = engine.feature(Commands), self._controllers
        try:
            commands.set_controllers(controllers)
        except BaseException:
            commands.set_controllers(before)
            raise
        self._controllers = controllers
        engine.feature(Sleepers).properties_changed()
        engine.link()

    @in_turn
    @named_arguments
    def push(
        self,
        body: BodyNode,
        force: ArrayLike,
        duration: float,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        offset_is_local: bool = True,
    ) -> None:
        """Let a force act on a body from now on for a while, whatever calls of `step` that takes.

        It acts for the whole number of steps, at least one, that comes closest to the duration, and is scaled so that
        its impulse is force times duration. `BodyNode.push` gives an impulse at once.

        Args:
            body: of a skeleton in this world.
            force: [N], world axes.
            duration: [s]
            offset: point at which it acts: from the body's origin in body axes, or, unless `offset_is_local`, the
                point of the body that is now at this point of the world.

        Raises:
            ModelError: no body of this world, not finite numbers, or a duration that is not positive.
        """
        what = f"world {self.name!r}: push"
        self._check_body(body, "push")
        seconds = as_positive(duration, f"{what}: duration", "s")
        f, r = as_vector(force, f"{what}: force"), as_vector(offset, f"{what}: offset")
        if not as_flag(offset_is_local, f"{what}: offset in body axes"):
            X = body.world_transform
            r = X[:3, :3].T @ (r - X[:3, 3])
        steps = max(1, round(seconds / self.time_step))
        row = force_row(body, f * (seconds / (steps * self.time_step)), r, False, True, None, "push")
        self.pushes.add(Push(body, row, steps))

    # State and copies --------------------------------------------------------------------------------------

    @in_turn
    def snapshot(self) -> WorldSnapshot:
        """Everything the next step depends on besides the structure; `restore` continues bit for bit.

        Positions, velocities, commands and external forces, contacts with their impulses, who sleeps, time, and the
        states of the skeletons' nodes and aspects, on which users' callbacks may depend. Not what describes the
        world: properties, settings, solver and integrator.

        Example:
            >>> before = world.snapshot()
            >>> world.step(1000)
            >>> world.restore(before)
            >>> before.save("before.npz")
        """
        return snapshot_of(self)

    @in_turn
    def restore(self, snapshot: WorldSnapshot) -> None:
        """Put a snapshot of this world, or of an equal one, back; nodes and aspects that came since keep their states.

        Raises:
            StateError: it is of a world with other skeletons, bodies, joints or shapes, or is damaged; the world is
                as it was.
        """
        put_back(self, snapshot, f"world {self.name!r}: restore")

    def _begin(self) -> None:
        """The first step of this structure is to be done."""
        self._start.take(self)
        self._begun = True

    @property
    def initial_state(self) -> WorldSnapshot:
        """Where `reset` leads: the snapshot that it was set to, or the state before the first step.

        The first step counts anew when skeletons, bodies, joints or colliding shapes came or went. Set it to a
        snapshot of this world, as `world.initial_state = world.snapshot()`, or to None for that before the next step.

        Raises:
            StateError: there is none, since the state of a user's node or aspect could not be copied; set to something
                else, or to a snapshot of another structure.
        """
        start = self._start
        if not self._begun:  # it may still change
            start = copy.copy(start)
            start.take(self)
        return start.snapshot(f"world {self.name!r}: initial_state")

    @initial_state.setter
    def initial_state(self, value: WorldSnapshot | None) -> None:
        if value is not None:
            check_fits(value, self._skeletons, f"world {self.name!r}: initial_state")
        self._start, self._begun = Start(value), False

    def reset(self) -> None:
        """Go back to `initial_state`: what follows is, bit for bit, what followed then.

        State, commands and loads of skeletons, time and steps (zero, unless that state was taken later), contacts and
        their impulses, who sleeps, totals, pushes, and the states of nodes and aspects. Systems that it runs begin
        anew, as `System.reset` says; their logs go on. Not what describes the world, such as its time step, and no
        callbacks. Contact events of the last call are forgotten.

        Raises:
            StateError: the initial state that was set is of another structure; the world is as it was.

        Example:
            >>> for episode in range(100):
            ...     world.reset()
            ...     world.step(1000)
        """
        start, h = self.initial_state, self.time_step
        self.restore(start)
        if self.time_step != h:
            self.time_step = h
        self._events.events = []
        for controller in self.controllers:
            controller.reset()

    @in_turn
    def state(self) -> dict[str, Any]:
        """What a snapshot keeps, as plain data."""
        return state_of(self)

    @in_turn
    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned.

        Raises:
            StateError: it belongs to a world with other skeletons, or is damaged; the world is as it was.
        """
        set_state(self, state, f"world {self.name!r}: restore")

    def clone(self) -> Self:
        """An independent copy with the same state; step callbacks are not copied."""
        return copy.deepcopy(self)

    def __copy__(self) -> Self:
        return self.clone()  # what is in it belongs to one world

    @in_turn
    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        twin.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        twin._like = self.engine.detector
        return twin

    @in_turn
    def __getstate__(self) -> dict[str, Any]:
        kept = warm_state(self.engine)
        return {
            **self.__dict__,
            "_engine": None,
            "_steps": self.num_steps,
            "_changes": set(),
            "_kept": kept,
            "_like": None,
            "_is_stepping": False,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.turn = Turn(self, "world")
        for s in self._skeletons:
            self._take(s)
        for c in self.constraint_set.added:
            c.world = self

    def __repr__(self) -> str:
        return f"World({self.name!r}, {len(self._skeletons)} skeletons, t = {self.time:g} s)"
