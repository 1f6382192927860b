"""How a world steps: its settings, and the properties that set them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.arrays import fixed, read_only_copy, settable
from kido.attributes import dataclass
from kido.callers import warn_user
from kido.collision import CollisionDetector, KidoCollisionDetector
from kido.collision.detectors.registry import as_detector
from kido.constraints.row_origins import ROW_ORIGINS
from kido.dynamics.registry import AUTO, SOLVERS
from kido.errors import ModelError, NameLookupError, StateError
from kido.integrators import Integrator, MoreauMidpoint
from kido.jit.team import available_cores
from kido.math.transform import as_flag, as_positive, as_vector, number_or_nan
from kido.simulation.contact_surface import ContactSurfaceHandler
from kido.solvers import DefaultSolver, IslandProblem, Solver, as_solver
from kido.solvers.problem import DEFAULT_SETTINGS
from kido.turns import Turn, in_turn

WORLD_SETTINGS: dict[str, float] = {
    "erp": 0.2,  # share of a penetration that a step removes
    "slop": 0.0,  # [m] penetration that is left alone
    "max_correction": 0.01,  # [m] most that a step removes
    "skin": 1e-6,  # [m or rad] surfaces and limits this near to touching come together slowly
    "skin_share": 0.05,  # share of such a distance that a step removes
    "restitution_speed": 0.05,  # [m/s] slower impacts do not bounce
}

CHOICES: dict[str, tuple[str, ...]] = {  # settings that are a choice, the default first
    "restitution_law": ("poisson", "newton"),
    "position_correction": ("split", "baumgarte"),
    "spring_law": ("midpoint", "future"),
}


LONG_STEP = 0.1  # [s] in which a body falls 5 cm
_GRAVITY = settable("gravity")
SETTINGS = tuple({**WORLD_SETTINGS, **CHOICES, **DEFAULT_SETTINGS})  # names of all


def checked_option(name: str, value: Any, what: str) -> str:
    """A value of one of the `CHOICES`.

    Raises:
        ModelError: none that it has.
    """
    if not isinstance(value, str) or value not in CHOICES[name]:
        raise ModelError(f"{what}: {name}: expected one of {', '.join(CHOICES[name])}, got {value!r}")
    return value


def checked_settings(settings: dict[str, Any], what: str) -> dict[str, Any]:
    """All settings: those given, and the defaults of `WORLD_SETTINGS`; the solvers' own defaults are theirs.

    Args:
        settings: by name, some of `SETTINGS`.
        what: the world, for messages.

    Raises:
        ModelError: a value that is no number or below zero.
    """
    for key, value in settings.items():
        if key in CHOICES:
            checked_option(key, value, what)
        elif not 0.0 <= number_or_nan(value) < math.inf:
            raise ModelError(f"{what}: setting {key}: expected a number not below 0, got {value!r}")
    return {**WORLD_SETTINGS, **{name: values[0] for name, values in CHOICES.items()}, **settings}


def write_options(row_origins: ROW_ORIGINS, settings: dict[str, Any]) -> None:
    """Write the choices of `CHOICES` into the parameters of a contact problem's rows."""
    row_origins.newton_restitution = settings["restitution_law"] == "newton"
    row_origins.baumgarte = settings["position_correction"] == "baumgarte"


@dataclass(frozen=True)
class Sleeping:
    """When parts of a world at rest are no longer computed.

    Skeletons that push each other, or are tied to each other, fall asleep together once each of them has been quiet
    for `time`. Of a sleeping skeleton velocities are zero and positions stay as they are.

    Args:
        speed: a skeleton is quiet while no coordinate of it is faster [m/s]: l |u|, where l is 1 m/m for a
            translation and the radius of gyration, of all that it moves, for a rotation.
        time: [s]

    Raises:
        ModelError: a speed below zero, or a time that is not positive.
    """

    speed: float = 1e-3
    time: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 <= number_or_nan(self.speed) < math.inf:
            raise ModelError(f"sleeping: speed: expected a number not below 0 [m/s], got {self.speed!r}")
        as_positive(self.time, "sleeping: time", "s")


def checked_sleeping(value: Any, what: str) -> Sleeping | None:
    """A rule from what users give.

    Raises:
        ModelError: it is none.
    """
    if value is None or value is False:
        return None
    if value is True:
        return Sleeping()
    if not isinstance(value, Sleeping):
        raise ModelError(f"{what}: sleeping: expected True, False or kido.Sleeping(), got {value!r}")
    return value


@dataclass
class StepOptions:
    """See the properties of `World` of these names."""

    gravity: NDArray[np.float64]
    time_step: float
    settings: dict[str, Any]
    integrator: Integrator = field(default_factory=MoreauMidpoint)
    solver: Solver = field(default_factory=DefaultSolver)
    surface_handler: ContactSurfaceHandler = field(default_factory=ContactSurfaceHandler)
    detector: CollisionDetector = field(default_factory=KidoCollisionDetector)
    continuous: bool = False
    loop_solver: str = AUTO
    sleeping: Sleeping | None = None
    threads: int = 1
    collects_events: bool = False


class WorldOptions(ABC):
    """How a world steps. Changes take effect at the next step; contacts stay warm unless the structure changes."""

    if TYPE_CHECKING:
        name: str
        options: StepOptions
        version: int  # counts what may make results of skeletons old
        turn: Turn
    _time_before: float
    _steps: int  # by engines of other structures
    _steps_before: int
    _engine: Any

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._time_before + (self.num_steps - self._steps_before) * self.options.time_step

    @property
    def num_steps(self) -> int:
        """Steps done."""
        return self._steps if self._engine is None else self._steps + self._engine.world.steps

    @property
    def clock(self) -> dict[str, Any]:
        """What `time` and `num_steps` are made of."""
        return {"time_before": self._time_before, "steps": self.num_steps, "steps_before": self._steps_before}

    @clock.setter
    @in_turn
    def clock(self, state: dict[str, Any]) -> None:
        if not isinstance(state, dict) or not {"time_before", "steps", "steps_before"} <= state.keys():
            raise StateError(f"world {self.name!r}: expected the numbers of a clock, got {state!r}")
        self._time_before, self._steps_before = float(state["time_before"]), int(state["steps_before"])
        self._steps += int(state["steps"]) - self.num_steps

    @abstractmethod
    def options_changed(self, name: str) -> None:
        """An option (a field of StepOptions) has another value."""

    @property
    def gravity(self) -> NDArray[np.float64]:
        """Acceleration of gravity [m/s^2], world axes (a copy)."""
        return read_only_copy(_GRAVITY, self.options.gravity)

    @gravity.setter
    @in_turn
    def gravity(self, value: ArrayLike) -> None:
        self.options.gravity[:] = as_vector(value, f"world {self.name!r}: gravity")
        self.version += 1

    @property
    def up(self) -> NDArray[np.float64]:
        """Unit vector against gravity; z if there is none."""
        size = float(np.linalg.norm(self.options.gravity))
        return fixed(np.array([0.0, 0.0, 1.0]) if size == 0.0 else -self.options.gravity / size + 0.0)

    @property
    def time_step(self) -> float:
        """h [s]."""
        return self.options.time_step

    @time_step.setter
    @in_turn
    def time_step(self, value: float) -> None:
        value = checked_time_step(value, self.name)
        self._time_before, self._steps_before = self.time, self.num_steps
        self.options.time_step = value
        self.options_changed("time_step")

    @property
    def integrator(self) -> Integrator:
        """How a step moves the state (`kido.integrators`): `MoreauMidpoint` unless set.

        `MoreauMidpoint`, `SemiImplicitEuler` and `ExplicitEuler` step with contacts, joint limits and friction. All
        others, a user's own among them, are for smooth motion: where something touches or a limit is passed they
        do not take the step and raise a `StateError`. The adaptive one divides each time step as it needs. Closed
        loops they hold by `loop_solver`, the explicit ones and a user's own.
        """
        return self.options.integrator

    @integrator.setter
    @in_turn
    def integrator(self, value: Integrator) -> None:
        if not isinstance(value, Integrator):
            raise ModelError(
                f"world {self.name!r}: integrator: expected one such as kido.integrators.RK4(), got {value!r}"
            )
        before, self.options.integrator = self.options.integrator, value
        try:
            self.options_changed("integrator")
        except ModelError:  # soft bodies refuse it
            self.options.integrator = before
            raise

    @property
    def solver(self) -> Solver:
        """What solves contacts and constraints (`kido.solvers`): `DefaultSolver` unless set.

        One of `DefaultSolver`, `GaussSeidel`, `ADMM`, `Dantzig`, `Lemke`, `PGS`, or a function of an `IslandProblem`
        that returns impulses. Islands on which it fails go to the default solver; `report.fallbacks` counts them.
        The second phase of impacts that bounce is always the default solver's. `report.residual` measures the exact
        cone whatever the solver; `report.converged` says whether each solver solved its own problem, which for
        `Dantzig`, `Lemke` and `PGS` has a friction pyramid.
        """
        return self.options.solver

    @solver.setter
    @in_turn
    def solver(self, value: Solver | Callable[[IslandProblem], Any]) -> None:
        self.options.solver = as_solver(value)
        self.options_changed("solver")

    @property
    def collision_detector(self) -> CollisionDetector:
        """What finds the contacts (`kido.collision`): `KidoCollisionDetector` unless set, by an object or a name.

        Names are "kido", "fcl", "coal" and "bullet"; all but the first are optional libraries, and slower: their
        narrow phase is called from Python at each step. Contacts are matched with those of the step before, and
        solved, by the same code.
        """
        return self.options.detector

    @collision_detector.setter
    @in_turn
    def collision_detector(self, value: CollisionDetector | str) -> None:
        self.options.detector = as_detector(value)
        self.options_changed("detector")

    @property
    def continuous_detection(self) -> bool:
        """Whether all bodies are swept along their motion, as those with `BodyNode.continuous` are.

        A body that moves less than half its own size in a step cannot pass through anything and is treated as usual.
        What moves farther is swept from the start of the step to the next detection, by KIDO's own detector only.
        """
        return self.options.continuous

    @continuous_detection.setter
    @in_turn
    def continuous_detection(self, value: bool) -> None:
        self.options.continuous = as_flag(value, f"world {self.name!r}: continuous_detection")
        self.options_changed("continuous")

    @property
    def contact_surface_handler(self) -> ContactSurfaceHandler:
        """Makes the surface of a pair of shapes of the two shapes' own, by the rules it has or as users say."""
        return self.options.surface_handler

    @contact_surface_handler.setter
    @in_turn
    def contact_surface_handler(self, value: ContactSurfaceHandler) -> None:
        if not isinstance(value, ContactSurfaceHandler):
            raise ModelError(
                f"world {self.name!r}: contact_surface_handler: expected a kido.ContactSurfaceHandler, got {value!r}"
            )
        self.options.surface_handler = value
        self.options_changed("surface_handler")

    @property
    def restitution_law(self) -> str:
        """Law of impact: "poisson" or "newton".

        Poisson: what impulse stopped the approach comes back e times, friction acts on all of it. Newton: a contact
        leaves with e times its speed of approach. Both treat contacts that touch as hit at once (simultaneous
        impacts). Without friction a single contact does the same by both; with friction they differ, and Newton's law
        can raise the energy.
        """
        return self.options.settings["restitution_law"]

    @restitution_law.setter
    def restitution_law(self, value: str) -> None:
        self._set_law("restitution_law", value)

    @property
    def position_correction(self) -> str:
        """How penetration is taken back: "split" or "baumgarte".

        Split impulses move positions by velocities that are then forgotten. Baumgarte's method asks a contact's own
        velocity for `erp` of the depth a step; it stays. `report.correction_energy` says what energy either brought.
        """
        return self.options.settings["position_correction"]

    @position_correction.setter
    def position_correction(self, value: str) -> None:
        self._set_law("position_correction", value)

    @property
    def spring_law(self) -> str:
        """Where in a step springs of joints are taken: "midpoint" or "future".

        Both are implicit, and stable for any stiffness. At the middle, (q_0 + q_1) / 2, a spring keeps its energy: one
        too stiff for the time step rings on. In the future its force is that at the middle moved on by the new
        velocity, (q_0 + q_1) / 2 + (h/2) u_1, under `SemiImplicitEuler` by h u_1. That damps by (h/2) Ks (h Ks) besides
        the joint's own damping, and what the step is too long for rests within some steps. `ExplicitEuler`,
        integrators for smooth motion and prescribed coordinates know no difference. Source: springs of the future
        state in DART's report, there at q_0 + h u_1.
        """
        return self.options.settings["spring_law"]

    @spring_law.setter
    def spring_law(self, value: str) -> None:
        self._set_law("spring_law", value)

    @property
    def loop_solver(self) -> str:
        """How constraints without limits are held: "auto", or a solver of `kido.dynamics`.

        By the default integrator, `kido.integrators.MoreauMidpoint`, with contacts:

        - "auto", "CE", "CE+TA": loops of one skeleton are aggregate bodies of its tree (constraint embedding) where
          they fit; other constraints are eliminated: their equations are solved for apart from contacts, and what they
          prevent is taken off the responses to all other impulses.
        - "TA", "FA", "tree": all are eliminated.

        Loops fit where no such constraint holds their skeleton to another that moves, none of its coordinates is
        prescribed or a mimic, the world has no soft bodies, no aggregate has more than 40 coordinates or 12 independent
        ones, and their equations are independent but for those that nothing moves, as across the plane of a planar
        linkage. Near to positions where equations lose rank, after one broke, and while loops are open they are
        eliminated for those steps. Both are of second order in the time step and differ by less than either is off;
        loops are closed below 1e-10 m.

        Euler's rules eliminate always. Integrators for smooth motion use the solver of that name; each skeleton is
        moved by itself there, so that constraints between skeletons are refused.

        Raises:
            NameLookupError: when set to something else.
        """
        return self.options.loop_solver

    @loop_solver.setter
    @in_turn
    def loop_solver(self, value: str) -> None:
        if not isinstance(value, str) or (value != AUTO and value not in SOLVERS):
            raise NameLookupError("loop solver", value, [AUTO, *SOLVERS])
        self.options.loop_solver = value
        self.options_changed("loop_solver")

    @property
    def sleeping(self) -> Sleeping | None:
        """When skeletons at rest are no longer computed; None, the default: never.

        True stands for `Sleeping()`, False for None. What sleeps is woken by a body that pushes it, by a change of its
        state, commands or external forces, by `Skeleton.wake`, and with all others by a change of gravity, of
        properties or of the structure, or when an immobile skeleton is moved. Its contacts and their forces stay as
        they were; `Skeleton.can_sleep` exempts a skeleton. Results differ from those without sleep by less than the
        threshold's speeds; without it every skeleton is computed in every step, exactly.

        Nothing sleeps under integrators for smooth motion, and in worlds with soft bodies.
        """
        return self.options.sleeping

    @sleeping.setter
    @in_turn
    def sleeping(self, value: Sleeping | bool | None) -> None:
        self.options.sleeping = checked_sleeping(value, f"world {self.name!r}")
        self.options_changed("sleeping")

    @property
    def threads(self) -> int:
        """How many threads share a step; 1 by default, None stands for all available cores.

        Skeletons and islands of contacts are shared out; results are bit-identical at any number of threads. One large
        island is solved by one thread. Worlds of few coordinates are stepped by one thread, which is quicker. Threads
        take a core each while `step` runs (at most 64), so `step(n)` wastes less than n times `step()`.
        """
        return self.options.threads

    @threads.setter
    @in_turn
    def threads(self, value: Any) -> None:
        if value is None:
            value = available_cores()
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ModelError(f"world {self.name!r}: threads: expected a whole number above 0 or None, got {value!r}")
        self.options.threads = int(value)
        self.options_changed("threads")

    @in_turn
    def _set_law(self, name: str, value: str) -> None:
        self.options.settings[name] = checked_option(name, value, f"world {self.name!r}")
        self.options_changed("settings")


def checked_time_step(value: Any, name: str) -> float:
    """A time step [s] for the world of a name; a user is warned of one above `LONG_STEP`.

    Raises:
        ModelError: it is not positive.
    """
    number = as_positive(value, f"world {name!r}: time step", "s")
    if number > LONG_STEP:
        warn_user("time step", lambda: long_step_text(name, number), ("kido.simulation", "kido.io"))
    return number


def long_step_text(name: str, time_step: float) -> str:
    """Says that a time step is longer than any world can use."""
    return (
        f"world {name!r}: time_step = {time_step:g} s: fast motions and contacts are lost in steps longer than "
        f"{LONG_STEP:g} s; 0.001 s is usual"
    )
