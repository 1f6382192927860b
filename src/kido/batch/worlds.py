"""Many worlds of one structure that are stepped together, by commands, and set back one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kido.arrays import ReadOnlyArray
from kido.attributes import FixedAttributes, named_arguments
from kido.batch.arguments import Array, numbers, whole_number
from kido.batch.crew import Crew
from kido.batch.differences import (
    Differences,
    Property,
    differences_of,
    named_differences,
    read_properties,
    set_properties,
)
from kido.batch.gpu_worlds import Device
from kido.batch.model import NotPickled, counterpart, places_of, refuse_what_is_called, world_of, worlds_of
from kido.batch.rollout_worker import Job
from kido.batch.states import first_not_finite
from kido.batch.world_image import Image, Store
from kido.errors import ConcurrencyError, StateError
from kido.jit import JIT_DISABLED
from kido.jit.team import available_cores
from kido.simulation import World, WorldSnapshot
from kido.simulation.world_state import state_of
from kido.skeleton import BodyNode, Skeleton
from kido.turns import Turn

_NONE, _NO_COMMANDS = np.zeros(0, np.int64), np.zeros((1, 1, 0))
_NOT_KEPT = ("carried", "pushes")  # of states: they matter to callbacks, which are not called, and to `World.push`


class Worlds(NotPickled, FixedAttributes):
    """Worlds of one structure, each with its own state and, if wanted, its own properties.

    A step of one of them is that of `World.step` with commands that go on: bit for bit where worlds are stepped one by
    one, and to rounding where eight are stepped together in lanes (`why_alone` says which). What a world finds depends
    neither on the number of threads nor on the other worlds. Threads run without Python's lock. Step callbacks are not
    called.

    Args:
        model: a world, of which all begin as copies; a skeleton, which is put into a world of its own with its gravity;
            or a sequence of worlds of one structure, which begin as they are, with their masses, frictions, gains,
            gravity and bounds of commands.
        number: of worlds; that of a sequence by default, else 1.
        skeleton: whose coordinates `positions`, `velocities` and commands have, by object, name or index; those of all
            skeletons, one after another, by default. Other skeletons keep the commands they have in the model.
        properties: in which worlds differ, by name:

            - "gravity": (worlds, 3) [m/s^2];
            - "mass": (worlds, bodies) [kg], moments of inertia in proportion; "com": (worlds, bodies, 3) [m]; "moment":
              (worlds, bodies, 3, 3) [kg m^2], as in `Inertia`; where several are given, in this order;
            - "friction", "restitution": (worlds, bodies), of all colliding shapes of each body; those without such have
              none;
            - "damping", "armature", "spring_stiffness", "rest_position", "coulomb_friction", "position_gain",
              "velocity_gain": (worlds, dofs), as `DegreeOfFreedom` has them.

            Bodies and coordinates are those of the chosen skeleton; or a dictionary from their names to arrays
            (worlds, ...) says of which ("skeleton/name" where a name is not unique); for friction and restitution
            also one from colliding shapes of the model.
        bodies: whose `contact_wrenches` are read, bodies of the world or names ("skeleton/body").
        threads: how many compute; the number of available cores by default.
        time_step: instead of the model's [s].
        lanes: whether each thread steps eight worlds together, with robots' smooth motion and Newton's method along
            their trees in lanes. They then equal single worlds to rounding, which grows where motion is chaotic.
            Worlds for which there are no lanes are stepped one by one.
        device: "cpu", or "cuda": worlds are stepped on a GPU, one in a thread, instead of in lanes and threads.

    Attributes:
        world: what they are like; whatever is done to it does nothing to them.
        why_alone: why worlds are stepped one by one; "" if eight are together.
        errors: why worlds failed, by number. Such a world takes no more steps until it is `reset`; its positions and
            velocities are NaN meanwhile.
        steps: (worlds,) steps that each has done since it began or was reset.

    Raises:
        ModelError, StateError: arguments that are none of these; worlds of unlike structure, which are named with what
            is unlike, and properties out of range, with the world's number; controllers that Python is called for, a
            push (`World.push`) that goes on; no GPU, or worlds that are not for one.
        MissingExtraError: the extra `cuda` is not installed.
        NameLookupError: no such property, body or coordinate.

    Example:
        >>> worlds = kido.batch.Worlds(world, 1024, skeleton=robot, properties={"mass": {"torso": masses}})
        >>> positions, velocities = worlds.step(commands, 5)
        >>> worlds.reset(np.flatnonzero(positions[:, 5] < 0.3))
    """

    refused = "pickled"
    why_alone: str

    def __init__(
        self,
        model: World | Skeleton | Sequence[World],
        number: int | None = None,
        *,
        skeleton: Skeleton | str | int | None = None,
        properties: Mapping[str, Any] | None = None,
        bodies: Sequence[BodyNode | str] = (),
        threads: int | None = None,
        time_step: float | None = None,
        lanes: bool = True,
        device: str = "cpu",
    ):
        if not isinstance(lanes, bool):
            raise StateError(f"worlds: lanes: expected True or False, got {lanes!r}")
        if device not in ("cpu", "cuda"):
            raise StateError(f"worlds: device: expected 'cpu' or 'cuda', got {device!r}")
        models = worlds_of(model)
        world, chosen = world_of(models[0] if models else model, skeleton)
        for w in models or [world]:
            refuse_what_is_called(w)
        if number is not None:
            number = whole_number("number", number)
        if models and number not in (None, len(models)):
            raise StateError(f"worlds: number: expected {len(models)}, that of the worlds given, got {number}")
        if models and properties is not None:
            raise StateError("worlds: properties: the worlds given have their own; expected one model or no properties")
        self._models = [w.clone() for w in models]
        self._like = world.clone()
        for w in (self._like, *self._models):
            w.threads = 1
            if time_step is not None:
                w.time_step = time_step
        self.world = self._like.clone()
        engine = self._like.engine
        self._index = None if chosen is None else [s.name for s in world.skeletons].index(chosen.name)
        if self._index is None:
            self._part = slice(0, len(engine.data.q))
        else:
            self._part = engine.dofs_of(self._like.skeletons[self._index])
        self.dofs = np.arange(self._part.start, self._part.stop)
        self.dof_names = [engine.dof_name(int(k)) for k in self.dofs]
        self._lanes, self._on = lanes, device
        self.threads = 1 if JIT_DISABLED else available_cores() if threads is None else whole_number("threads", threads)
        self.turn = Turn()
        self._crew = Crew(self._like, self.threads, lanes, self._device() if device == "cuda" else None)
        self.why_alone = self._crew.why_alone
        self.differences: Differences | None = differences_of(self._models) if models else None
        states = [state_of(w) for w in self._models or [self._like]]
        self._starts = [{key: value for key, value in state.items() if key not in _NOT_KEPT} for state in states]
        counts = self.counts(properties)
        count = number or next(iter(counts.values()), 1)
        self.store: Any = None
        self.sensors: list[tuple[int, int]] = []
        self._properties: list[Property] = []
        self.begin(count, properties, bodies)

    def _device(self) -> Device:
        from kido.batch.cuda_worlds import device_of  # needs Numba

        return device_of(self._like)

    def begin(self, number: int, properties: Mapping[str, Any] | None, bodies: Sequence[BodyNode | str]) -> None:
        """Have so many worlds, which begin; with other properties, and bodies whose contact wrenches are read."""
        sensors = places_of(self._like, bodies, self._index)
        if sensors != self.sensors:
            self.sensors = sensors
        if not self._models:
            self._properties, self.differences = self._named(properties or {}, number)
        if self.store is not None and self.store.number == number:
            self.store.reset(np.arange(number))
        else:
            self.store = Store(Image(self._like), self._starts, number)
        self.steps, self._all = np.zeros(number, np.int64), np.arange(number)
        self._views: dict[str, tuple[Array, Array]] = {}
        self.errors = {}
        self._last_job: tuple[Any, tuple[Any, ...], int] = None, (), 0  # a job for steps like the last, and its parts
        self._wrenches = np.full((number, 1, len(self.sensors), 6), np.nan)

    def counts(self, properties: Any) -> dict[str, int]:
        """Numbers of worlds that they are given for, where the number is not said otherwise."""
        if self._models:
            return {"worlds": len(self._models)} if len(self._models) > 1 else {}
        found: dict[str, int] = {}
        for name, value in properties.items() if isinstance(properties, Mapping) else ():
            for array in value.values() if isinstance(value, Mapping) else (value,):
                found[str(name)] = len(array) if np.ndim(array) else 1
        return found

    def put(self, what: str, values: Array) -> None:
        """Positions or velocities of all worlds, checked by the caller; one row for all."""
        self.store.view("q" if what == "positions" else "u", self._part)[:] = values

    # What there is -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.store.number

    @property
    def num_dofs(self) -> int:
        """Coordinates of positions, velocities and commands."""
        return len(self.dof_names)

    def _read(self, name: str) -> Array:
        rows, view = self._views.get(name, (None, None))
        if view is None or rows is not self.store.rows:
            view = self.store.view(name, self._part).view(ReadOnlyArray)
            view.flags.writeable = False
            self._views[name] = self.store.rows, view
        return view

    @property
    def positions(self) -> Array:
        """(worlds, dofs) positions as they are now. No copy: the next step writes to them."""
        return self._read("q")

    @property
    def velocities(self) -> Array:
        """(worlds, dofs) velocities as they are now. No copy."""
        return self._read("u")

    @property
    def actuator_forces(self) -> Array:
        """(worlds, dofs) what actuators gave in the last step, as `World.actuator_forces` [N, N m]. No copy."""
        return self._read("actuator_force")

    @property
    def constraint_forces(self) -> Array:
        """(worlds, dofs) generalized forces of contacts and constraints in the last step, as
        `World.constraint_forces` [N, N m]. No copy."""
        return self._read("constraint_force")

    @property
    def contact_wrenches(self) -> Array:
        """(worlds, bodies, 6) the sum of the contact forces on each of `bodies` in the last step, as [moment; force]
        about the body's origin at the middle of that step, world axes, with the torques of rolling and torsional
        friction; NaN before the first. No copy."""
        view = self._wrenches[:, 0].view(ReadOnlyArray)
        view.flags.writeable = False
        return view

    # Stepping ----------------------------------------------------------------------------------------------

    @named_arguments
    def step(self, commands: ArrayLike | None = None, n: int = 1) -> tuple[Array, Array]:
        """Advance all worlds that have not failed by n steps.

        Args:
            commands: of the actuators (joint forces, unless others are set), (worlds, dofs), or (dofs,) for all; those
                of the last call go on by default. Of worlds that failed they do not matter.
            n: number of steps.

        Returns:
            `positions` and `velocities`.

        Raises:
            StateError: commands of another shape or not finite, with the number of the world; nothing is changed. What
                goes wrong in a world is in `errors`, and the others go on.

        An interruption (Ctrl-C) may leave worlds at different steps; `reset` them, or put snapshots back.
        """
        count = whole_number("n", n)
        number, dofs = len(self), self.num_dofs
        alive = np.delete(self._all, list(self.errors)) if self.errors else self._all
        driven, given = _NONE, _NO_COMMANDS
        if commands is not None:
            driven = self.dofs
            ndim = np.ndim(commands)
            given = numbers("commands", commands, (dofs,) if ndim == 1 else (number, dofs)).reshape(-1, 1, dofs)
            if first_not_finite(given.reshape(-1).view(np.int64)) >= 0:
                finite = np.isfinite(given)
                bad = [k for k in np.flatnonzero(~finite.all(axis=(1, 2))) if len(given) == 1 or k not in self.errors]
                if bad:
                    j = int(np.argmin(finite[bad[0], 0]))
                    raise StateError(
                        f"worlds: commands: expected finite numbers, got {given[bad[0], 0, j]} for "
                        f"{self.dof_names[j]!r} in world {bad[0]}"
                    )
        with self.turn:
            parts = self.store, alive, self.differences, driven, self.sensors, self._wrenches
            job, of, total = self._last_job
            if total == count and all(map(is_, parts, of)):
                job.begin(given)
            else:
                nothing = np.empty((number, 1 if self.sensors else 0, 0))
                job = Job(
                    self.store, alive, self.differences, driven, given, _NONE, count, count,
                    count if self.sensors else count + 1, self.sensors, (nothing, nothing, self._wrenches),
                )  # fmt: skip
                self._last_job = job, parts, count
            try:
                self.run_job(job, None)
            except BaseException:
                self._last_job = None, (), 0  # threads that still end this job must not take it for the next
                raise
        return self.positions, self.velocities

    def run_job(self, job: Job, progress: Callable[[int, int], Any] | None) -> None:
        """Do what a job says in all threads; an interruption stops them before it is passed on."""
        with self.turn:
            if self.turn.doing:
                raise ConcurrencyError(f"worlds like {self._like.name!r}: `progress` may not step them")
            with self.turn.used("stepped"):
                self._crew.run(job, progress)
        self.steps += job.steps  # none of those that took no part
        if job.errors:
            self.errors.update(job.errors)
            failed = np.array(sorted(job.errors), np.int64)
            for name in ("q", "u"):
                self.store.view(name, slice(0, len(self._starts[0]["q"])))[failed] = np.nan
            self._wrenches[failed] = np.nan
        self.store.widen()

    # States ------------------------------------------------------------------------------------------------

    @named_arguments
    def reset(
        self,
        worlds: ArrayLike | None = None,
        positions: ArrayLike | None = None,
        velocities: ArrayLike | None = None,
        properties: Mapping[str, Any] | None = None,
    ) -> None:
        """Have worlds begin again: with the state, the commands and the warm start of contacts of the model.

        Args:
            worlds: their numbers, or a mask (worlds,); all by default. Others go on as if nothing had been.
            positions, velocities: instead of the model's, (that many, dofs), or (dofs,) for all of them.
            properties: other values (that many, ...) of the properties that these worlds were made with.

        Raises:
            StateError: arguments of other shapes or not finite, with the number of the world; nothing is changed.
        """
        which = self._numbers_of(worlds)
        states = {
            name: self._states(what, value, which)
            for name, what, value in (("q", "positions", positions), ("u", "velocities", velocities))
            if value is not None
        }
        with self.turn:
            if properties is not None:
                self._change_properties(properties, which)
            self.store.reset(which)
            for name, values in states.items():
                self.store.view(name, self._part)[which] = values
            self._wrenches[which] = np.nan
            self.steps[which] = 0
            self.errors = {k: why for k, why in self.errors.items() if k not in set(which.tolist())}

    def _numbers_of(self, worlds: ArrayLike | None) -> np.ndarray:
        if worlds is None:
            return np.arange(len(self))
        given = np.atleast_1d(np.asarray(worlds))
        if given.dtype == bool and given.shape == (len(self),):
            return np.flatnonzero(given)
        if given.size == 0:
            return np.zeros(0, np.int64)
        if given.ndim != 1 or given.dtype.kind not in "iu" or not ((given >= 0) & (given < len(self))).all():
            raise StateError(
                f"worlds: expected numbers from 0 to {len(self) - 1}, or a mask of {len(self)} values, "
                f"got {worlds!r:.80}"
            )
        if len(np.unique(given)) < len(given):
            raise StateError(f"worlds: expected each number once, got {worlds!r:.80}")
        return given.astype(np.int64)

    def _states(self, what: str, value: ArrayLike, which: np.ndarray) -> Array:
        shape = (self.num_dofs,) if np.ndim(value) == 1 else (len(which), self.num_dofs)
        values = np.broadcast_to(numbers(what, value, shape), (len(which), self.num_dofs))
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            k, j = bad[0]
            raise StateError(
                f"worlds: {what}: expected finite numbers, got {values[k, j]} for {self.dof_names[j]!r} in "
                f"world {which[k]}"
            )
        return values

    def _named(self, given: Mapping[str, Any], number: int) -> tuple[list[Property], Differences | None]:
        """Properties by name, and what they are in the arrays of a world."""
        chosen = self._like.skeletons if self._index is None else [self._like.skeletons[self._index]]
        properties = read_properties(self._like, chosen, given, number)
        return properties, named_differences(self._like, properties, number) if properties else None

    def _change_properties(self, given: Mapping[str, Any], which: np.ndarray) -> None:
        properties, made = self._named(given, len(which))
        mine = [(p.name, p.things) for p in self._properties]
        if [(p.name, p.things) for p in properties] != mine:
            known = ", ".join(name for name, _ in mine) or "none"
            raise StateError(
                f"worlds: properties: expected all those that these worlds were made with ({known}), "
                f"got {', '.join(given)}"
            )
        if made is not None and self.differences is not None:
            self.differences.values[which] = made.values
            for own, new in zip(self._properties, properties, strict=True):
                own.values[which] = new.values

    # One of them -------------------------------------------------------------------------------------------

    @named_arguments
    def snapshot(self, k: int) -> WorldSnapshot:
        """The state of world k, as `World.snapshot` takes it; it has done `steps[k]` steps, and begun at time 0.

        Raises:
            StateError: there is none of that number, or it has failed.
        """
        return self._one(k).snapshot()

    @named_arguments
    def export(self, k: int) -> World:
        """World k as a world of its own, with its state and properties.

        Raises:
            StateError: there is none of that number, or it has failed.
        """
        snapshot = self.snapshot(k)
        twin = (self._models[k] if self._models else self._like).clone()
        names = [s.name for s in self._like.skeletons]
        own = {p.name: [counterpart(thing, twin, names) for thing in p.things] for p in self._properties}
        set_properties([Property(p.name, own[p.name], p.values) for p in self._properties], k)
        twin.restore(snapshot)
        return twin

    def clone(self) -> Worlds:
        """As many worlds of their own, with the states and properties of these; they go on as these do."""
        twin = Worlds(
            self._models or self._like, len(self), skeleton=self._index, threads=self.threads, lanes=self._lanes,
            device=self._on,
        )  # fmt: skip
        names = [s.name for s in self._like.skeletons]
        with self.turn:
            if self._properties:
                twin._properties = [
                    Property(p.name, [counterpart(thing, twin._like, names) for thing in p.things], p.values.copy())
                    for p in self._properties
                ]
                twin.differences = named_differences(twin._like, twin._properties, len(self))
            twin._starts = deepcopy(self._starts)
            twin.store = Store(Image(twin._like), twin._starts, len(self))
            width = self.store.rows.shape[1]
            if twin.store.rows.shape[1] < width:
                twin.store.rows = np.zeros((len(self), width))
            twin.store.rows[:, :width], twin.store.plain = self.store.rows, deepcopy(self.store.plain)
            twin.sensors, twin._wrenches = list(self.sensors), self._wrenches.copy()
            twin.steps, twin.errors = self.steps.copy(), dict(self.errors)
        return twin

    def __copy__(self) -> Worlds:
        return self.clone()

    def __deepcopy__(self, memo: Any) -> Worlds:
        return self.clone()

    @named_arguments
    def restore(self, k: int, snapshot: WorldSnapshot) -> None:
        """Put a snapshot into world k, of it or of another world of this structure; it has failed no more.

        Raises:
            StateError: there is none of that number, or it is of a world of another structure.
        """
        k = self._number(k)
        with self.turn:
            self._crew.take(self.store, k, snapshot, self._starts[0])
            self.steps[k] = snapshot.num_steps
            self.errors.pop(k, None)

    def _number(self, k: int) -> int:
        found = self._numbers_of(k)
        if len(found) != 1:
            raise StateError(f"worlds: expected the number of one of {len(self)} worlds, got {k!r}")
        return int(found[0])

    def _one(self, k: int) -> World:
        k = self._number(k)
        if k in self.errors:
            raise StateError(f"world {k} has failed: {self.errors[k]}")
        with self.turn:
            return self._crew.show(self.store, k)

    def __repr__(self) -> str:
        return f"Worlds({self._like.name!r}, {len(self)} worlds, {self.num_dofs} dofs, {len(self.errors)} failed)"
