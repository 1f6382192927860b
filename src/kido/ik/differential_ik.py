"""Inverse differential kinematics: velocities that bring a skeleton to its tasks, step by step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.errors import ModelError
from kido.ik.coupling import coupling_of
from kido.ik.differential.stepper import Stepper
from kido.ik.limits import CollisionAvoidance, HalfSpaces
from kido.ik.tasks import Task
from kido.ik.twins import copied_for
from kido.math.transform import as_flag, number_or_nan
from kido.skeleton import Skeleton
from kido.skeleton.frames.frame import Frame
from kido.skeleton.state.subsets import Dofs, indices_of
from kido.turns import Turn, in_turn

# Name of a field of DIFFERENTIAL -> whether zero is allowed, largest number.
STEP_SETTINGS = {
    "damping": (False, np.inf),
    "error_damping": (True, np.inf),
    "least_singular_value": (True, np.inf),
    "share": (False, 1.0),
    "recovery_speed": (False, np.inf),
}


Array = NDArray[np.float64]


def checked(name: str, value: ArrayLike) -> float:
    """A number for a setting.

    Raises:
        ModelError: it is none, or out of range.
    """
    zero, most = STEP_SETTINGS[name]
    number = number_or_nan(value)
    if not (0.0 < number <= most or (zero and number == 0.0)) or not np.isfinite(number):
        raise ModelError(
            f"differential IK: {name}: expected a finite number {'>= 0' if zero else '> 0'}, got {value!r}"
        )
    return number


def _setting(name: str, doc: str) -> Any:
    """A number of a step, as a property."""

    def get(self: DifferentialIK) -> float:
        return self._settings[name]

    def put(self: DifferentialIK, value: float) -> None:
        self._settings[name] = number = checked(name, value)
        if self._stepper is not None:
            self._stepper.set(name, number)

    return property(get, put, doc=doc)


def _list_of(kind: type, name: str, doc: str) -> Any:
    """What it is made of, as a property."""

    def put(self: DifferentialIK, value: Any) -> None:
        self._replace(f"_{name}", _listed(value, kind, name))

    return property(lambda self: list(getattr(self, f"_{name}")), put, doc=doc)


def _limits(name: str, doc: str) -> Any:
    """Limits of rates, as a property."""

    def put(self: DifferentialIK, value: Any) -> None:
        self._replace(f"_{name}_limits", value)

    return property(lambda self: getattr(self, f"_{name}_limits"), put, doc=doc)


class DifferentialIK:
    """Velocities that serve tasks, within limits, at the positions that the skeleton has.

    Each task wants its residual e to decay: J u = -gain e. Tasks of a level are weighed against each other,

        minimize  sum |w (J u + gain e)|^2 + damping |u|^2,

    those of the next level have what is left, and never disturb a level above. Components of a task with two different
    bounds are inequalities: while they hold they cost nothing. Constraints and limits hold before all tasks, exactly:

    * constraints: components of tasks whose bounds are equal, as equations (feet that stand), others as inequalities;
    * position limits: a coordinate comes nearer to its limit by at most a `share` of what is left in a step;
    * velocity and acceleration limits; half spaces of points and of the centre of mass; distances of shapes.

    What is beyond a limit at the start comes back, no faster than the recovery speed. All of a step, from kinematics to
    the integration, is one call of compiled code.

    Args:
        skeleton: what is moved.
        tasks: what is wanted, by `priority`, `weights` and `gain` [1/s].
        constraints: tasks that must hold; their levels, weights and gains do not count.
        dofs: active coordinates; None: all but LOCKED ones. Coordinates that mimic active ones move with them, within
            their own limits.
        half_spaces: where points and the centre of mass must stay.
        avoid: shapes that must keep a distance.
        position_limits: whether limits of coordinates are kept.
        velocity_limits: True: those of the coordinates; False: none; or numbers [rad/s, m/s], one for all or one for
            each active coordinate.
        acceleration_limits: largest change of velocities [rad/s^2, m/s^2], likewise. Position limits, half spaces,
            distances and constraints that are ranges are then approached so that there is room to brake. Where both
            cannot be kept, position limits come before accelerations, and these before the others.
        damping: of velocities; it chooses among velocities that serve the tasks equally.
        error_damping: times the sum of squared weighted wishes is added to `damping`: Levenberg-Marquardt damping
            (Sugihara 2011).
        least_singular_value: directions in which a task's Jacobian has a singular value s below it are asked for
            (s / least)^2 of what the task wants, so that velocities stay bounded where the task is singular; 0: not.
        share: of the distance to a bound, in one step; of a constraint's error, too.
        recovery_speed: [rad/s, m/s] at which what is beyond a limit, or off a constraint, comes back at most.

    Raises:
        ModelError: tasks of another skeleton, or numbers that are none.
        StateError: a coordinate is listed that mimics another, or is LOCKED.

    Example:
        >>> ik = DifferentialIK(arm, [Task.pose(hand, target, gain=10.0), Task.posture(arm.positions, 1e-2)])
        >>> for _ in range(1000):
        ...     ik.step(1e-3)

    Sources: Kanoun, Lamiraux, Wieber (2011); Escande, Mansard, Wieber (2014); limits: Faverjon, Tournassoud (1987).
    Equations: `kido.ik.differential.levels` and `kido.ik.differential.desired_velocities`.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        tasks: Iterable[Task] = (),
        constraints: Iterable[Task] = (),
        *,
        dofs: Dofs | None = None,
        half_spaces: Iterable[HalfSpaces] = (),
        avoid: Iterable[CollisionAvoidance] = (),
        position_limits: bool = True,
        velocity_limits: Any = True,
        acceleration_limits: Any = None,
        damping: float = 1e-8,
        error_damping: float = 0.0,
        least_singular_value: float = 0.02,
        share: float = 0.5,
        recovery_speed: float = 1.0,
    ):
        if not isinstance(skeleton, Skeleton):
            raise ModelError(f"differential IK: expected a skeleton, got {skeleton!r}")
        self._skeleton, self.turn = skeleton, Turn()
        self._stepper: Stepper | None = None
        self._tasks = _listed(tasks, Task, "tasks")
        self._constraints = _listed(constraints, Task, "constraints")
        self._half_spaces = _listed(half_spaces, HalfSpaces, "half_spaces")
        self._avoid = _listed(avoid, CollisionAvoidance, "avoid")
        chosen = None if dofs is None else coupling_of(skeleton).checked(indices_of(skeleton, dofs))
        if chosen is not None and len(set(chosen.tolist())) != len(chosen):
            raise ModelError("differential IK: dofs: a coordinate is listed twice")
        self._dofs = None if chosen is None else [skeleton.dofs[k] for k in chosen]
        self._position_limits = as_flag(position_limits, "differential IK: position_limits")
        self._velocity_limits = velocity_limits
        self._acceleration_limits = acceleration_limits
        self._settings: dict[str, float] = {}
        values = (damping, error_damping, least_singular_value, share, recovery_speed)
        for name, value in zip(STEP_SETTINGS, values, strict=True):
            self._settings[name] = checked(name, value)
        self._build()

    # What it is made of --------------------------------------------------------------------------------------

    @property
    def skeleton(self) -> Skeleton:
        """What is moved."""
        return self._skeleton

    tasks: list[Task] = _list_of(Task, "tasks", "What is wanted (a copy of the list; settable).")
    constraints: list[Task] = _list_of(Task, "constraints", "What must hold (a copy of the list; settable).")
    half_spaces: list[HalfSpaces] = _list_of(
        HalfSpaces, "half_spaces", "Where points and the centre of mass must stay (a copy of the list; settable)."
    )
    avoid: list[CollisionAvoidance] = _list_of(
        CollisionAvoidance, "avoid", "Shapes that keep a distance (a copy of the list; settable)."
    )
    velocity_limits = _limits("velocity", "True (the coordinates' own), False, or numbers [rad/s, m/s]; settable.")
    acceleration_limits = _limits(
        "acceleration", "None, True (the coordinates' own), or numbers [rad/s^2, m/s^2]; settable."
    )

    @in_turn
    def _replace(self, name: str, value: Any) -> None:
        """Take something new, unless it cannot be built."""
        before = getattr(self, name)
        setattr(self, name, value)
        try:
            self._build()
        except Exception:
            setattr(self, name, before)
            self._build()
            raise

    damping = _setting("damping", "Damping of velocities, beside squares of weights; settable.")
    error_damping = _setting("error_damping", "Damping per squared weighted wish; settable.")
    least_singular_value = _setting("least_singular_value", "Singular value below which tasks are filtered; settable.")
    share = _setting("share", "Share of the distance to a bound that a step may take; settable.")
    recovery_speed = _setting("recovery_speed", "Most speed of coming back [rad/s, m/s]; settable.")

    @property
    def dof_indices(self) -> NDArray[np.int64]:
        """Places (n,) of the active coordinates in the skeleton's arrays."""
        coupling = coupling_of(self._skeleton)
        if self._dofs is None:
            return coupling.every()
        own = self._skeleton.dofs
        gone = [dof.name for dof in self._dofs if dof not in own]
        if gone:
            raise ModelError(f"differential IK of {self._skeleton.name!r}: coordinates {gone} are gone")
        return coupling.checked([own.index(dof) for dof in self._dofs])

    def _build(self) -> Stepper:
        """Compile tasks and limits for the skeleton as it is."""
        made = Stepper(
            self._skeleton,
            self._tasks,
            self._constraints,
            self._half_spaces,
            self._avoid,
            self.dof_indices,
            self._position_limits,
            self._velocity_limits,
            self._acceleration_limits,
            self._settings,
        )
        if self._stepper is not None:
            made.go_on_from(self._stepper)
        self._stepper = made
        return made

    def _built(self) -> Stepper:
        return self._build() if self._stepper is None else self._stepper

    # Steps ---------------------------------------------------------------------------------------------------

    def velocities(self, dt: float) -> Array:
        """Velocities u (dofs,) [rad/s, m/s] for a step of dt [s]; zero for coordinates that are not active.

        Raises:
            StateError: a step that is none.
            InfeasibleError: constraints and limits that cannot hold together.
        """
        return self._solve(dt)[0]

    @in_turn
    def step(self, dt: float) -> Array:
        """Move the skeleton for dt [s]: sets its velocities and positions, and returns the velocities (dofs,).

        Raises:
            StateError: a step that is none.
            InfeasibleError: constraints and limits that cannot hold together; the skeleton stays as it was.
        """
        u, q = self._solve(dt)
        self._skeleton.positions = q
        self._skeleton.velocities = u
        return u

    @in_turn
    def _solve(self, dt: float) -> tuple[Array, Array]:
        """Velocities, and positions after them."""
        state, stepper = self._skeleton.current_state, self._stepper
        q = (state.data if state.settled else state.compiled()).q.copy()
        if stepper is None or (state.ready or state.prepare()) is not stepper.workspace:
            stepper = self._build()
        return stepper.solve(q, dt)

    @in_turn
    def set_target(self, task: Task | int, target: Any) -> None:
        """Another target for a task or constraint, for the next steps: the quick way to move one.

        Args:
            task: one of `tasks` or `constraints`, or a number in `tasks`. The list has the new task from then on.
            target: 4x4 pose in the world, or a frame; of a posture, positions (dofs,).

        Raises:
            ModelError: a task that is none of its own, or no pose.
        """
        where, k = self._find(task)
        old = where[k]
        new: Any = old.kind.aimed(old, target, "differential IK: target")
        stepper = self._stepper
        if stepper is None or isinstance(new.target, Frame) or isinstance(old.target, Frame):
            where[k] = new
            try:
                self._build()
            except Exception:
                where[k] = old
                self._build()
                raise
            return
        new.kind.write_target(stepper.made.tasks, self._row(where, k), new)
        where[k] = new

    def _find(self, task: Task | int) -> tuple[list[Task], int]:
        if isinstance(task, int | np.integer) and not isinstance(task, bool) and 0 <= task < len(self._tasks):
            return self._tasks, int(task)
        for where in (self._tasks, self._constraints):
            for k, own in enumerate(where):
                if own is task:
                    return where, k
        raise ModelError(f"differential IK: task: expected one of its own, or a number below {len(self._tasks)}")

    def _row(self, where: list[Task], k: int) -> int:
        """Number of a task among tasks and then constraints."""
        return k if where is self._tasks else k + len(self._tasks)

    @in_turn
    def reset(self) -> None:
        """Forget the velocities of the last step, from which acceleration limits count, and what was active."""
        self._built().invalidate()

    # What came of the last step --------------------------------------------------------------------------------

    @in_turn
    def residual(self, task: Task | int) -> Array:
        """Residual of a task at the start of the last step: (6,) [angular; linear], or (active dofs,) of a posture.

        Components with two different bounds are as they are, not cut to their bounds.
        """
        return self._built().residual(self._row(*self._find(task)))

    @property
    @in_turn
    def distances(self) -> list[tuple[Any, Any, float]]:
        """Pairs of shapes within their distance of influence at the start of the last step, and how far apart [m]."""
        return self._built().distances()

    @property
    def iterations(self) -> int:
        """Constraints that were added or dropped in the programs of the last step."""
        return self._built().made.own.iterations

    # Copies ------------------------------------------------------------------------------------------------------

    def clone(self, skeleton: Skeleton | None = None) -> Self:
        """A copy for the same skeleton or for a copy of it, such as another thread has; frames elsewhere are shared.

        Raises:
            ModelError: no skeleton, or one without the bodies or nodes of the tasks.
        """
        everything = [*self._tasks, *self._constraints, *(space.task for space in self._half_spaces)]
        twin = copied_for(self, self._skeleton, skeleton, everything)
        twin._build()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_stepper"] = None  # built on next use
        return state

    def __repr__(self) -> str:
        return (
            f"DifferentialIK({self._skeleton.name!r}, {len(self._tasks)} tasks, {len(self._constraints)} constraints)"
        )


def _listed(value: Any, kind: type, what: str) -> list[Any]:
    try:
        items = [value] if isinstance(value, kind) else list(value)
    except TypeError:
        items = [value]
    for item in items:
        if not isinstance(item, kind):
            raise ModelError(f"differential IK: {what}: expected {kind.__name__} objects, got {item!r}")
    return items
