"""A world: skeletons that move, touch and are stepped together."""

from __future__ import annotations

import copy
import time as clock
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import check_options, named_arguments
from kido.collision import CollisionDetector, CollisionGroup, NativeDetector
from kido.constraints.constraint import Constraint
from kido.errors import ModelError, NameLookupError, StateError
from kido.integrators import Integrator
from kido.integrators.simulate import CHUNK_SECONDS
from kido.interrupts import deferred_signals
from kido.math.transform import as_flag, as_positive, as_vector, takes
from kido.shapes import Plane
from kido.simulation.collision_filter import CollisionFilter
from kido.simulation.collision_group import WorldGroup
from kido.simulation.commands import Commands
from kido.simulation.constraint_set import ConstraintReport, ConstraintSet
from kido.simulation.contact_events import ContactEvent, ContactEvents, ContactListener
from kido.simulation.contact_surface import ContactSurfaceHandler
from kido.simulation.contacts import ContactSet
from kido.simulation.controller import Controller
from kido.simulation.engine import Engine
from kido.simulation.features import FEATURES
from kido.simulation.hooks import Push, Pushes, StepHooks
from kido.simulation.loop_system import LoopSystem
from kido.simulation.motion import run
from kido.simulation.options import (
    SETTINGS,
    Sleeping,
    StepOptions,
    WorldOptions,
    checked_settings,
    checked_sleeping,
    checked_time_step,
)
from kido.simulation.outrun import WATCH, warn_of_outrun
from kido.simulation.report import StepReport
from kido.simulation.sleeping import Sleepers
from kido.simulation.untested_pairs import warn_of_untested_pairs
from kido.simulation.world_snapshot import Start, WorldSnapshot, check_fits, put_back, snapshot_of
from kido.simulation.world_state import set_report, set_state, set_warm_state, state_of, warm_state
from kido.simulation.world_struct import REPORT
from kido.skeleton import BodyNode, Skeleton, WeldJoint
from kido.skeleton.aspects import Carrier
from kido.skeleton.joints.actuator import followed_dofs
from kido.skeleton.naming import checked_name
from kido.skeleton.state.loads import force_row
from kido.solvers import DefaultSolver, IslandProblem, Solver, as_solver
from kido.turns import Turn, in_turn

C = TypeVar("C", bound=Constraint)
Law = TypeVar("Law", bound=Controller)


class World(WorldOptions, Carrier):
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
        check_options(self, settings, SETTINGS)
        self._name = checked_name(name, "world")
        self.turn = Turn(self, "world")
        self._is_stepping = False
        self.uri: str | None = None
        self.options = StepOptions(
            as_vector(gravity, f"world {name!r}: gravity"),
            checked_time_step(time_step, name),
            checked_settings(settings, f"world {name!r}"),
            solver=DefaultSolver() if solver is None else as_solver(solver),
            sleeping=checked_sleeping(sleeping, f"world {name!r}"),
        )
        self.version = 0
        self.constraint_set = ConstraintSet(self)
        self._skeletons: list[Skeleton] = []
        self._collision_filter = CollisionFilter(self)
        self._controllers: list[Controller] = []
        self.hooks = StepHooks()
        self.pushes = Pushes()
        self._events = ContactEvents()
        self._engine: Engine | None = None
        self._changes: set[str] = set()  # of properties and surfaces, that the engine has not seen
        self._kept: dict[str, Any] | None = None  # warm state of the world that this is a copy of
        self._like: NativeDetector | None = None  # its detector, until this one is compiled
        self._steps, self._steps_before, self._time_before = 0, 0, 0.0
        self._watches_motion = True  # until a user is told of motions that outrun detection
        self._start, self._begun = Start(), False  # where `reset` leads; whether it knows the present structure
        if integrator is not None:
            self.integrator = integrator
        if collision_detector is not None:
            self.collision_detector = collision_detector
        if contact_surface_handler is not None:
            self.contact_surface_handler = contact_surface_handler
        self.threads = threads

    @property
    def name(self) -> str:
        """For messages and recordings."""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = checked_name(value, f"world {self._name!r}")

    # Contents ----------------------------------------------------------------------------------------------

    @property
    def skeletons(self) -> tuple[Skeleton, ...]:
        """Its skeletons, in the order they were added."""
        return tuple(self._skeletons)

    def skeleton(self, key: str | int) -> Skeleton:
        """A skeleton by name or index.

        Raises:
            NameLookupError: there is none.
        """
        if isinstance(key, str):
            for s in self._skeletons:
                if key == s.name:
                    return s
        elif isinstance(key, int | np.integer) and not isinstance(key, bool):
            if -len(self._skeletons) <= key < len(self._skeletons):
                return self._skeletons[key]
        raise NameLookupError(f"skeleton in world {self.name!r}", key, [s.name for s in self._skeletons])

    @in_turn
    @named_arguments
    def add_skeleton(self, skeleton: Skeleton, name: str | None = None) -> Skeleton:
        """Add a skeleton; it keeps its state and from now on has the world's gravity.

        Args:
            skeleton: one that is in no world.
            name: renames it. If its name is taken, a number is appended.

        Raises:
            ModelError: it is in a world already, or a joint of it mimics what it cannot.
            NameLookupError: a joint of it mimics one that is not there.
        """
        if not isinstance(skeleton, Skeleton):
            raise ModelError(f"world {self.name!r}: expected a skeleton to add, got {type(skeleton).__name__}")
        if skeleton.host is not None:
            raise ModelError(
                f"skeleton {skeleton.name!r} is in world {skeleton.host.name!r} already; add a clone() instead"
            )
        wanted = skeleton.name if name is None else checked_name(name, f"world {self.name!r}: add_skeleton")
        followed_dofs(skeleton)
        taken = set(map(attrgetter("name"), self._skeletons))  # of thousands: half the time of a comprehension
        unique, number = wanted, 1
        while unique in taken:
            number += 1
            unique = f"{wanted}_{number}"
        self.structure_changed()
        skeleton.drop_arrays()
        skeleton.name = unique
        self._take(skeleton)
        self._skeletons.append(skeleton)
        return skeleton

    def _take(self, skeleton: Skeleton) -> None:
        skeleton.host = self  # type: ignore[assignment]  # a whole World
        skeleton.own_gravity = self.options.gravity

    @in_turn
    @named_arguments
    def remove_skeleton(self, skeleton: Skeleton | str | int) -> Skeleton:
        """Take a skeleton out; it keeps its state."""
        if not isinstance(skeleton, Skeleton):
            skeleton = self.skeleton(skeleton)
        self._own(skeleton)
        self.structure_changed()
        gravity = self.options.gravity.copy()
        self._skeletons.remove(skeleton)
        skeleton.drop_arrays()
        skeleton.host, skeleton.own_gravity = None, gravity
        self._collision_filter.bodies_left(skeleton.bodies)
        self.pushes.drop(skeleton.bodies)
        self.constraint_set.drop(skeleton.bodies, [skeleton])
        self._controllers = [c for c in self._controllers if c.skeleton is not skeleton]
        return skeleton

    @named_arguments
    def add_ground(self, height: float = 0.0, friction: float = 1.0, restitution: float = 0.0) -> Skeleton:
        """Add an immobile skeleton "ground" with a plane across the world's up direction.

        Args:
            height: of the plane along `up` [m].
        """
        ground = Skeleton("ground")
        body = ground.add_body("ground", WeldJoint("ground_weld"))
        body.add_shape(
            Plane(normal=tuple(self.up), offset=height), name="plane", friction=friction, restitution=restitution
        )
        ground.mobile = False
        return self.add_skeleton(ground)

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

    # Results -----------------------------------------------------------------------------------------------

    @property
    @in_turn
    def contacts(self) -> ContactSet:
        """Contacts of the last step with their forces; empty before the first."""
        return self.engine.contacts()

    @property
    def report(self) -> StepReport:
        """Quality of the last step."""
        return StepReport.of(self.engine.last)

    @property
    def totals(self) -> StepReport:
        """Worst values over all steps since the structure last changed or `reset_totals`."""
        return StepReport.of(self.engine.worst)

    @property
    def unconverged_steps(self) -> int:
        """Steps, as counted by `totals`, whose contact problem was not solved to its tolerance."""
        return self.engine.world.unconverged

    @in_turn
    def reset_totals(self) -> None:
        """Start `totals` and `unconverged_steps` afresh."""
        world = self.engine.world
        set_report(world.worst, np.zeros(len(REPORT.fields)))
        world.unconverged = 0

    def contact_force(self, body_a: BodyNode, body_b: BodyNode) -> NDArray[np.float64]:
        """Force of body a on body b through all their contacts in the last step, world axes [N].

        Raises:
            ModelError: one of them is no body of this world.
        """
        for body in (body_a, body_b):
            self._check_body(body, "contact force")
        return self.contacts.between(body_a, body_b)

    def constraint_forces(self, skeleton: Skeleton | str | int) -> NDArray[np.float64]:
        """Generalized forces (dofs,) of contacts, limits, joint friction and gears on a skeleton in the last step."""
        return self.engine.world.constraint_force[self._dofs_of(skeleton)].copy()

    def actuator_forces(self, skeleton: Skeleton | str | int) -> NDArray[np.float64]:
        """Forces (dofs,) that a skeleton's actuators gave in the last step; see `Skeleton.actuator_forces`."""
        return self.engine.world.actuator_force[self._dofs_of(skeleton)].copy()

    def _dofs_of(self, skeleton: Skeleton | str | int) -> slice:
        s = skeleton if isinstance(skeleton, Skeleton) else self.skeleton(skeleton)
        return self.engine.dofs_of(self._own(s))

    def _own(self, skeleton: Skeleton) -> Skeleton:
        if not isinstance(skeleton, Skeleton):
            raise ModelError(f"world {self.name!r}: expected a skeleton, got {skeleton!r}")
        if skeleton not in self._skeletons:
            raise NameLookupError(f"skeleton in world {self.name!r}", skeleton.name, [s.name for s in self._skeletons])
        return skeleton

    def _check_body(self, body: Any, what: str) -> None:
        if not isinstance(body, BodyNode) or body.skeleton not in self._skeletons:
            raise ModelError(f"world {self.name!r}: {what}: expected a body of a skeleton in this world, got {body!r}")

    @property
    def kinetic_energy(self) -> float:
        """Sum over mobile skeletons [J]."""
        return float(sum(s.kinetic_energy for s in self._skeletons if s.mobile))

    @property
    def potential_energy(self) -> float:
        """Sum over mobile skeletons [J]."""
        return float(sum(s.potential_energy for s in self._skeletons if s.mobile))

    @property
    def total_energy(self) -> float:
        """Kinetic plus potential energy [J]."""
        return self.kinetic_energy + self.potential_energy

    # Contacts and constraints ------------------------------------------------------------------------------

    @property
    def collision_filter(self) -> CollisionFilter:
        """Which pairs of bodies do not collide, and why."""
        return self._collision_filter

    @named_arguments
    def set_collision_filter(self, body_a: BodyNode, body_b: BodyNode, enabled: bool = False) -> None:
        """Switch collision of a pair of bodies off, or back on: the reason "user" of `collision_filter`."""
        if as_flag(enabled, f"world {self.name!r}: set_collision_filter: enabled"):
            self._collision_filter.remove(body_a, body_b)
        else:
            self._collision_filter.add(body_a, body_b)

    @property
    def collision_group(self) -> CollisionGroup:
        """All collision shapes of the world as a group with the world's filters, to be asked between steps.

        It finds contacts, distances and ray hits at the present positions, by the world's detector.
        """
        return WorldGroup(self)

    @property
    def collects_contact_events(self) -> bool:
        """Whether `step` collects contact events. False at first; a listener switches it on."""
        return self.options.collects_events

    @collects_contact_events.setter
    @in_turn
    def collects_contact_events(self, value: bool) -> None:
        value = as_flag(value, f"world {self.name!r}: collects_contact_events")
        if not value:
            self._events.listeners.clear()
        self.options.collects_events, self._events.events = value, []
        self.options_changed("collects_events")

    @property
    def contact_events(self) -> tuple[ContactEvent, ...]:
        """Events of the last call of `step`: which pairs of shapes began to touch, touch still, or ceased to.

        Every BEGIN and END of all its steps, in the order of steps and shapes; then one PERSIST for each pair that was
        in touch before the call and still is. A pair touches in a step if a contact of it has an impulse, or its
        surfaces meet. Pairs that were in touch when collecting began, or when the structure changed, begin anew.

        Raises:
            StateError: `collects_contact_events` is off.
        """
        if not self.options.collects_events:
            raise StateError(
                f"world {self.name!r}: contact events are not collected; set collects_contact_events = True, or "
                "add_contact_listener"
            )
        return tuple(self._events.events)

    @in_turn
    @named_arguments
    def add_contact_listener(self, listener: ContactListener) -> Callable[[], None]:
        """Have a function called with each contact event; events of a call of `step(n)` come at its end.

        Args:
            listener: called with a `ContactEvent`.

        Returns:
            A function that takes it off again.

        Raises:
            ModelError: it is no function of one argument.
        """
        if not callable(listener) or not takes(listener, 1):
            what = f"world {self.name!r}: contact listener"
            raise ModelError(f"{what}: expected a function of an event, got {listener!r}")
        if not self.options.collects_events:
            self.collects_contact_events = True
        return self._events.add(listener)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """All constraints that act: those added, and those of loops of its skeletons (`Skeleton.loops`)."""
        return tuple(self.constraint_set.all())

    @in_turn
    @named_arguments
    def add_constraint(self, constraint: C) -> C:
        """Have a constraint hold from the next step on.

        Where it does not hold at that moment, positions are first moved onto it, if they can be, and velocities by an
        inelastic impulse, nearest to what they were in the sense of kinetic energy.

        Args:
            constraint: one that is in no world, between bodies or coordinates of skeletons of this world.

        Returns:
            The constraint.

        Raises:
            ModelError: it is no constraint, is in a world already, or something of it is not in this world.
        """
        return self.constraint_set.add(constraint)

    @in_turn
    @named_arguments
    def remove_constraint(self, constraint: Constraint) -> Constraint:
        """Have a constraint hold no more; momentum and energy stay as they are.

        Raises:
            ModelError: it is not among those that were added.
        """
        return self.constraint_set.remove(constraint)

    @property
    def constraint_report(self) -> ConstraintReport:
        """How well constraints without limits were met in the last step, and which of their equations are redundant."""
        return self.constraint_set.report()

    @in_turn
    def close_constraints(self) -> float:
        """Move positions and velocities onto all constraints without limits now, as the next step would.

        Returns:
            The largest error of positions that is left [m or rad]; where it is not below 1e-8 the constraints could
            not be met from here, and positions are as they were. Then `Skeleton.warnings` name the equations that are
            open, until they are closed; `ConstrainedDynamics.assemble` tries farther.
        """
        return self.constraint_set.close()

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

    # The engine, and what changes it -----------------------------------------------------------------------

    @property
    def is_stepping(self) -> bool:
        """Whether its arrays are in the hands of compiled code."""
        return self._is_stepping

    @contextmanager
    def in_compiled_code(self) -> Iterator[None]:
        """Meanwhile other threads find its arrays in the hands of compiled code."""
        self._is_stepping = True
        try:
            yield
        finally:
            self._is_stepping = False

    @property
    def engine(self) -> Engine:
        """The compiled side of the present structure; another one whenever the structure changed."""
        if self._is_stepping:
            self.turn.sole()
        engine = self._engine or self._make_engine()
        if self._changes:
            self._catch_up(engine)
        return engine

    @property
    def present_engine(self) -> Engine | None:
        """The engine if nothing of the structure changed since it was made."""
        return self._engine

    @property
    def constraint_system(self) -> LoopSystem:
        """The compiled constraints."""
        return self.engine.feature(LoopSystem)

    @in_turn
    def _make_engine(self) -> Engine:
        engine = Engine(self._skeletons, self.options, self._collision_filter, FEATURES, self.constraints, self._like)
        self._like = None
        for s, window in zip(self._skeletons, engine.windows, strict=True):
            s.drop_arrays()  # it may have been asked for results before there was an engine
            s.current_state.adopt(*window)
        self._engine = engine
        self._changes.clear()
        self.version += 1
        engine.adopted()
        if self._controllers:
            engine.feature(Commands).set_controllers(self._controllers)
            engine.link()
        warn_of_untested_pairs(engine)
        if self._kept is not None:
            set_warm_state(engine, self._kept)
            self._kept = None
        return engine

    @in_turn
    def _catch_up(self, engine: Engine) -> None:
        if "properties" in self._changes:
            for s in self._skeletons:
                s.current_state.compiled()
            engine.properties_changed()
            self._changes.discard("properties")  # not before: what was refused is refused again
        if "surfaces" in self._changes:
            engine.surfaces_changed()
            self._changes.discard("surfaces")

    def options_changed(self, name: str) -> None:
        """An option has another value; see `WorldOptions`."""
        if not isinstance(name, str):
            raise ModelError(f"world {self.name!r}: expected the name of an option, got {name!r}")
        engine = self._engine
        if name == "surface_handler":
            self.surfaces_changed()
        elif name in ("detector", "continuous"):
            self.structure_changed()
        elif engine is not None:
            if name == "time_step":
                engine.set_time_step()
            elif name == "solver":
                engine.set_solver()
            elif name == "settings":
                engine.set_laws()
            else:
                engine.options_changed()

    @in_turn
    def structure_changed(self) -> None:
        """Skeletons, bodies, joints or shapes came, went or changed their kind."""
        if self._engine is not None:
            for feature in self._engine.features:
                feature.release()
            for s in self._skeletons:
                s.drop_arrays()
            self._steps, self._engine = self.num_steps, None
        self._kept = None
        self._begun = False

    def properties_changed(self) -> None:
        """A skeleton has other properties."""
        self._changes.add("properties")

    def surfaces_changed(self) -> None:
        """A shape has another surface."""
        self._changes.add("surfaces")

    @in_turn
    def constraints_changed(self, constraint: Constraint | None = None) -> None:
        """A constraint changed; None: loops of a skeleton."""
        if constraint is not None and not isinstance(constraint, Constraint):
            raise ModelError(f"world {self.name!r}: expected a constraint, got {constraint!r}")
        self.constraint_set.changed(constraint)

    def bodies_left(self, bodies: Iterable[BodyNode]) -> None:
        """Bodies left their skeleton: collision filters, constraints and pushes of theirs go."""
        gone = list(bodies) if isinstance(bodies, Iterable) else [bodies]
        if not all(isinstance(body, BodyNode) for body in gone):
            raise ModelError(f"world {self.name!r}: expected bodies, got {bodies!r}")
        self.constraint_set.drop(gone)
        self._collision_filter.bodies_left(gone)
        self.pushes.drop(gone)

    # Sleep, for skeletons ----------------------------------------------------------------------------------

    def is_asleep(self, skeleton: Skeleton) -> bool:
        """See `Skeleton.is_asleep`."""
        return self.engine.feature(Sleepers).is_asleep(self._own(skeleton))

    @in_turn
    def wake(self, skeleton: Skeleton) -> None:
        """See `Skeleton.wake`."""
        self.engine.disturb([self._own(skeleton)])

    @in_turn
    def can_sleep_changed(self, skeleton: Skeleton) -> None:
        """See `Skeleton.can_sleep`."""
        if self._engine is not None:
            self.engine.feature(Sleepers).permission_changed(self._own(skeleton))

    def __repr__(self) -> str:
        return f"World({self.name!r}, {len(self._skeletons)} skeletons, t = {self.time:g} s)"
