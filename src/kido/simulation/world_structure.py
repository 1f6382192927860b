"""What a world consists of: skeletons, constraints, and the engine that is compiled for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from kido.attributes import check_options, named_arguments
from kido.collision import CollisionDetector, NativeDetector
from kido.constraints.constraint import Constraint
from kido.errors import ModelError, NameLookupError
from kido.integrators import Integrator
from kido.math.transform import as_vector
from kido.shapes import Plane
from kido.simulation.collision_filter import CollisionFilter
from kido.simulation.commands import Commands
from kido.simulation.constraint_set import ConstraintReport, ConstraintSet
from kido.simulation.contact_events import ContactEvents
from kido.simulation.contact_surface import ContactSurfaceHandler
from kido.simulation.controller import Controller
from kido.simulation.engine import Engine
from kido.simulation.features import FEATURES
from kido.simulation.hooks import Pushes, StepHooks
from kido.simulation.loop_system import LoopSystem
from kido.simulation.options import (
    SETTINGS,
    Sleeping,
    StepOptions,
    WorldOptions,
    checked_settings,
    checked_sleeping,
    checked_time_step,
)
from kido.simulation.sleeping import Sleepers
from kido.simulation.untested_pairs import warn_of_untested_pairs
from kido.simulation.world_snapshot import Start
from kido.simulation.world_state import set_warm_state
from kido.skeleton import BodyNode, Skeleton, WeldJoint
from kido.skeleton.aspects import Carrier
from kido.skeleton.joints.actuator import followed_dofs
from kido.skeleton.naming import checked_name
from kido.solvers import DefaultSolver, IslandProblem, Solver, as_solver
from kido.turns import Turn, in_turn

C = TypeVar("C", bound=Constraint)


class WorldStructure(WorldOptions, Carrier):
    """What a world consists of, and the engine that is compiled for it."""

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

    def _own(self, skeleton: Skeleton) -> Skeleton:
        if not isinstance(skeleton, Skeleton):
            raise ModelError(f"world {self.name!r}: expected a skeleton, got {skeleton!r}")
        if skeleton not in self._skeletons:
            raise NameLookupError(f"skeleton in world {self.name!r}", skeleton.name, [s.name for s in self._skeletons])
        return skeleton

    def _check_body(self, body: Any, what: str) -> None:
        if not isinstance(body, BodyNode) or body.skeleton not in self._skeletons:
            raise ModelError(f"world {self.name!r}: {what}: expected a body of a skeleton in this world, got {body!r}")

    # Constraints --------------------------------------------------------------------------------------------

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
