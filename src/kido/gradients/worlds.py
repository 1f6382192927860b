"""Steps and rollouts of worlds as functions of states, commands and parameters, and their pull-backs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes, dataclass
from kido.batch import RolloutPool
from kido.batch.arguments import numbers, whole_number
from kido.batch.model import counterpart
from kido.errors import ModelError, NameLookupError, StateError
from kido.gradients.charts import Charts
from kido.reprs import brief
from kido.simulation import World
from kido.simulation.gradients.parameters import NAMES, directions
from kido.simulation.gradients.refusals import check_supported
from kido.simulation.gradients.result import StepDerivatives
from kido.skeleton import BodyNode, Inertia
from kido.turns import Turn

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rollout:
    """What `WorldFunction.rollout` was given and gave; record r is the state after (r + 1) `every` steps.

    Attributes:
        positions, velocities: (samples, records, dofs).
        start: positions and velocities at the beginning, (samples, dofs) each.
        commands: (samples, rows, dofs), each row for `hold` steps; None: those of the model.
        parameters: (samples, numbers) by name.
        steps, hold, every: time steps in all, of a row of commands, and from record to record.
    """

    positions: Array
    velocities: Array
    start: tuple[Array, Array]
    commands: Array | None
    parameters: dict[str, Array] = field(default_factory=dict)
    steps: int = 1
    hold: int = 1
    every: int = 1

    __repr__ = brief


class Gradients(NamedTuple):
    """Gradients of a number by what a rollout was given, of its shapes; by positions as numbers (`kido.gradients`)."""

    positions: Array
    velocities: Array
    commands: Array
    parameters: dict[str, Array]

    __repr__ = brief


class WorldFunction(FixedAttributes):
    """Steps and rollouts of a world as functions of positions, velocities, commands and parameters.

    Every sample starts from the model as it is now: its contacts, external forces and, where none are given, commands
    and properties. So the same arguments give the same result, that of `World.step` bit for bit (in lanes: to
    rounding). Arrays have the coordinates of all skeletons, one after another. Calls from several threads wait for each
    other; samples are stepped in threads, without Python's lock.

    Args:
        world: the model, which is copied.
        parameters: by what else than the state and commands results are functions: names as those of
            `World.step_derivatives`, and bodies, shapes or coordinates; of "gravity" none. "mass" of a body is mass at
            its centre of mass: moments of inertia stay.
        threads: how many compute forward.
        lanes: whether eight samples are stepped together, where there are lanes for the world; see `kido.batch.Worlds`.

    Attributes:
        sizes: how many numbers each parameter has.
        pool: what runs forward.
        skeletons: those that have coordinates, and which.

    Raises:
        ModelError, NameLookupError: parameters that have no derivative, or of things of another world.
    """

    def __init__(
        self,
        world: World,
        parameters: Mapping[str, Any] | Sequence[str] = (),
        *,
        threads: int | None = None,
        lanes: bool = False,
    ):
        if not isinstance(world, World):
            raise ModelError(f"expected a kido.World, got {world!r:.80}")
        if isinstance(parameters, str) or not isinstance(parameters, Iterable):
            raise ModelError(f"world {world.name!r}: parameters: expected lists of things by name, got {parameters!r}")
        given: dict[str, Any] = dict(parameters) if isinstance(parameters, Mapping) else dict.fromkeys(parameters)
        for name, things in given.items():
            if name == "gravity":
                if things is not None:
                    raise ModelError(f"world {world.name!r}: parameters: gravity: expected None, got {things!r:.80}")
            elif name in NAMES and (isinstance(things, str) or not isinstance(things, Iterable) or not list(things)):
                raise ModelError(
                    f"world {world.name!r}: parameters: {name}: expected a list of what has it, got {things!r:.80}"
                )
        given = {name: things if name not in NAMES or things is None else [*things] for name, things in given.items()}
        for name, things in given.items():
            if things is not None and len({id(thing) for thing in things}) < len(things):
                raise ModelError(f"world {world.name!r}: parameters: {name}: expected each once, got {things!r:.80}")
        self.sizes = {name: len(found) for name, found in directions(world, given).items()}
        self.turn = Turn()
        self.pool = RolloutPool(world, threads=threads, lanes=lanes)
        self._twin = self.pool.world.clone()
        self._begin = self._twin.snapshot()
        names = [s.name for s in world.skeletons]
        self._pool_things = self._counterparts(given, self.pool.world, names)
        self._twin_things = self._counterparts(given, self._twin, names)
        self._held = dict(self.present)  # what the twin has
        engine = self._twin.engine
        self.skeletons = [(s, engine.dofs_of(s)) for s in self._twin.skeletons if s.num_dofs]
        self._charts = Charts((s, part.start) for s, part in self.skeletons)

    @staticmethod
    def _counterparts(given: Mapping[str, Any], twin: World, names: list[str]) -> dict[str, list[Any]]:
        """Things of another world as they are in one like it."""
        return {
            name: [twin] if things is None else [counterpart(thing, twin, names) for thing in things]
            for name, things in given.items()
        }

    @property
    def num_dofs(self) -> int:
        """Coordinates of positions, velocities and commands."""
        return self.pool.num_dofs

    @property
    def name(self) -> str:
        """Of the world."""
        return self.pool.world.name

    @property
    def why_alone(self) -> str:
        """Why samples are stepped one by one; "" if eight are together."""
        return self.pool.why_alone

    @cached_property
    def present(self) -> dict[str, Array]:
        """Values (numbers,) that the parameters have in the model."""
        read = {"gravity": lambda world: np.array(world.gravity), "mass": lambda body: body.mass}
        return {
            name: np.hstack([read.get(name, lambda thing, name=name: getattr(thing, name))(x) for x in things])
            for name, things in self._pool_things.items()
        }

    def check_differentiable(self) -> None:
        """Refuse a world of which no derivative is taken.

        Raises:
            ModelError: names what of it; see `World.step_derivatives`.
        """
        check_supported(self._twin)

    # Forward --------------------------------------------------------------------------------------------------

    def rollout(
        self,
        positions: ArrayLike,
        velocities: ArrayLike,
        commands: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        *,
        steps: int | None = None,
        hold: int = 1,
        every: int | None = None,
    ) -> Rollout:
        """Run all samples.

        Args:
            positions, velocities: where samples start (samples, dofs).
            commands: (samples, rows, dofs), each row for `hold` steps; those of the model, held, by default.
            parameters: (samples, numbers) of some of the parameters; others are as the model has them.
            steps: how many time steps; rows times `hold` by default.
            hold: time steps that a row of commands acts.
            every: time steps from one record to the next; `hold` by default.

        Raises:
            StateError: arguments of other shapes, not finite or out of range, or a sample whose motion fails.
            NameLookupError: a parameter that this function does not have.
        """
        n, what = self.num_dofs, f"world {self.name!r}"
        q = numbers(f"{what}: positions", positions, (len(np.atleast_2d(positions)), n))
        samples = len(q)
        u = numbers(f"{what}: velocities", velocities, (samples, n))
        hold = whole_number("hold", hold)
        c = None
        if commands is not None:
            rows = np.shape(commands)[1] if np.ndim(commands) == 3 else 1
            c = numbers(f"{what}: commands", commands, (samples, rows, n))
            steps = rows * hold if steps is None else whole_number("steps", steps)
        total = whole_number("steps", steps)
        values = {}
        for name, value in (parameters or {}).items():
            if name not in self.sizes:
                raise NameLookupError("parameter of this function", name, list(self.sizes))
            values[name] = numbers(f"{what}: {name}", value, (samples, self.sizes[name]))
        for name, value in {"positions": q, "velocities": u, "commands": c, **values}.items():
            if value is not None and not np.isfinite(value).all():
                at = np.argwhere(~np.isfinite(value))[0]
                raise StateError(
                    f"{what}: {name}: expected finite numbers, got {value[tuple(at)]} in sample {at[0]}, "
                    f"number {at[-1]}"
                )
        stride = hold if every is None else whole_number("every", every)
        self.checked_times(total, hold, stride)
        found = self.pool.run(
            q, u, c, properties=self._properties(values, samples), steps=total, hold=hold, every=stride
        )
        if found.errors:
            sample, why = next(iter(found.errors.items()))
            raise StateError(f"{what}: the motion of sample {sample} fails: {why}")
        kept = {name: value.copy() for name, value in values.items()}  # what is given may change before it is asked
        c = None if c is None else c.copy()
        return Rollout(found.positions, found.velocities, (q.copy(), u.copy()), c, kept, total, hold, stride)

    def _properties(self, values: Mapping[str, Array], samples: int) -> dict[str, Any] | None:
        """Values as `kido.batch.Worlds` takes them."""
        found: dict[str, Any] = {}
        for name, value in values.items():
            if name == "gravity":
                found[name] = value
                continue
            keys = [_key(thing) for thing in self._pool_things[name]]
            found[name] = {key: value[:, k] for k, key in enumerate(keys)}
            if name == "mass":
                moments = [thing.inertia.moment for thing in self._pool_things[name]]
                found["moment"] = {key: np.tile(m, (samples, 1, 1)) for key, m in zip(keys, moments, strict=True)}
        return found or None

    def checked_times(self, steps: Any, hold: Any, every: Any) -> dict[str, int]:
        """Numbers of time steps, as `rollout` takes them.

        Raises:
            StateError: they are no whole numbers above 0, or no record fits.
        """
        found = {"steps": steps, "hold": hold, "every": every}
        found = {name: whole_number(f"world {self.name!r}: {name}", value) for name, value in found.items()}
        if found["every"] > found["steps"]:
            raise StateError(f"world {self.name!r}: every: expected at most steps = {steps}, got {every}")
        return found

    def named_rollout(self, names: Sequence[str], arrays: Sequence[Array], times: Mapping[str, int]) -> Rollout:
        """`rollout` of arrays by name: positions, velocities, commands, parameters."""
        given = dict(zip(names, arrays, strict=True))
        q, u, c = given.pop("positions"), given.pop("velocities"), given.pop("commands", None)
        return self.rollout(q, u, c, given, **times)

    def named_pull_back(
        self,
        names: Sequence[str],
        arrays: Sequence[Array],
        times: Mapping[str, int],
        values: Sequence[Array],
        gradients: Sequence[Array],
    ) -> tuple[Array, ...]:
        """Gradients by the arrays of `named_rollout`, from its positions and velocities and gradients by these."""
        given = dict(zip(names, arrays, strict=True))
        start = given.pop("positions"), given.pop("velocities")
        rollout = Rollout(values[0], values[1], start, given.pop("commands", None), given, **times)
        found = self.pull_back(rollout, *gradients)
        by_name = {**found.parameters, **found._asdict()}
        return tuple(by_name[name] for name in names)

    # Back -----------------------------------------------------------------------------------------------------

    def derivatives(self, rollout: Rollout) -> list[StepDerivatives]:
        """All derivatives of the last state of each sample, along velocities, of a rollout with one row of commands.

        Raises:
            ModelError, StateError: as `pull_back`, or several rows.
        """
        if rollout.commands is not None and rollout.commands.shape[1] > 1:
            raise StateError(f"derivatives: expected one row of commands, got {rollout.commands.shape[1]}")
        found = []
        with self.turn:
            for k in range(len(rollout.positions)):
                self._put(rollout, k)
                if rollout.commands is not None:
                    self._set("commands", rollout.commands[k, 0])
                found.append(self._twin.step_derivatives(self._wanted(rollout), steps=rollout.steps))
        return found

    def _wanted(self, rollout: Rollout) -> dict[str, Any]:
        return {name: self._twin_things[name] if name != "gravity" else None for name in rollout.parameters}

    def pull_back(self, rollout: Rollout, by_positions: ArrayLike, by_velocities: ArrayLike) -> Gradients:
        """Gradients of a number by what a rollout was given, from those by its positions and velocities.

        Args:
            rollout: of this function.
            by_positions, by_velocities: (samples, records, dofs), by positions as numbers.

        Raises:
            ModelError: a world, or a parameter, that has no derivative.
            StateError: gradients of other shapes or not finite, or a step that has no derivative.
        """
        shape = rollout.positions.shape
        g_q, g_u = (
            numbers(f"world {self.name!r}: gradient by {what}", value, shape)
            for what, value in (("positions", by_positions), ("velocities", by_velocities))
        )
        if not (np.isfinite(g_q).all() and np.isfinite(g_u).all()):
            raise StateError(f"world {self.name!r}: gradient: expected finite numbers")
        flat = rollout.positions.reshape(-1, shape[-1])
        along = self._charts.along_velocities(flat, g_q.reshape(flat.shape)).reshape(shape)
        along = np.concatenate([along, g_u], axis=2)
        samples, n = shape[0], shape[-1]
        rows = 1 if rollout.commands is None else rollout.commands.shape[1]
        by_state, by_commands = np.zeros((samples, 2 * n)), np.zeros((samples, rows, n))
        by_parameters = {name: np.zeros((samples, self.sizes[name])) for name in rollout.parameters}
        with self.turn:
            for k in np.flatnonzero(along.any(axis=(1, 2))):
                by_state[k] = self._pull_back_one(rollout, int(k), along[k], by_commands[k], by_parameters)
        by_start = self._charts.by_numbers(rollout.start[0], by_state[:, :n])
        return Gradients(by_start, by_state[:, n:].copy(), by_commands, by_parameters)

    def _pull_back_one(
        self, rollout: Rollout, k: int, along: Array, by_commands: Array, by_parameters: dict[str, Array]
    ) -> Array:
        """The gradient by the state at which sample k starts (2 dofs,); adds to those by commands and parameters.

        With the same commands all the time, and no record before the end, derivatives are those of all steps at once.
        """
        world, steps, every = self._twin, rollout.steps, rollout.every
        held = rollout.commands is None or rollout.commands.shape[1] == 1
        hold = steps if held else rollout.hold
        self._put(rollout, k)
        wanted = self._wanted(rollout)
        if hold >= steps and every >= steps:
            if rollout.commands is not None:
                self._set("commands", rollout.commands[k, 0])
            by_end = along[0] if steps == every else 0.0 * along[0]
            if steps == 1:
                gradient, of_commands, of_parameters = world.pull_back(by_end, wanted)
            else:
                found = world.step_derivatives(wanted, steps=steps)
                gradient, of_commands, of_parameters = found.pull_back(by_end)
            by_commands[0] += of_commands
        else:
            which = np.arange(steps) // hold
            rows = np.tile(self._commands(), (steps, 1)) if rollout.commands is None else rollout.commands[k, which]
            back = world.rollout_gradient(rows, lambda r, _: None if r % every else along[r // every - 1], wanted)
            gradient, of_parameters = back.by_state, back.by_parameters
            np.add.at(by_commands, which, back.by_commands)
        for name, part in of_parameters.items():
            by_parameters[name][k] += part
        return gradient

    def _commands(self) -> Array:
        found = np.zeros(self.num_dofs)
        for skeleton, part in self.skeletons:
            found[part] = skeleton.commands
        return found

    def _put(self, rollout: Rollout, k: int) -> None:
        """Have the twin begin as sample k did."""
        self._twin.restore(self._begin)
        for name, things in self._twin_things.items():
            values = rollout.parameters[name][k] if name in rollout.parameters else self.present[name]
            if not np.array_equal(values, self._held[name]):
                self._held[name] = np.full(np.shape(values), np.nan)  # until all are there
                for thing, value in zip(things, [values] if name == "gravity" else values, strict=True):
                    if name == "mass":
                        thing.inertia = Inertia(float(value), thing.inertia.com, thing.inertia.moment)
                    else:
                        setattr(thing, name, value if name == "gravity" else float(value))
                self._held[name] = np.array(values)
        self._set("positions", rollout.start[0][k])
        self._set("velocities", rollout.start[1][k])

    def _set(self, what: str, values: Array) -> None:
        for skeleton, part in self.skeletons:
            if skeleton.mobile or what == "positions":
                setattr(skeleton, what, values[part])


def _key(thing: Any) -> Any:
    """What names a body or coordinate in `kido.batch.Worlds`; a shape is its own name."""
    if isinstance(thing, BodyNode):
        return f"{thing.skeleton.name}/{thing.name}"
    owner = getattr(getattr(thing, "joint", None), "child", None)
    return thing if owner is None else f"{owner.skeleton.name}/{thing.name}"
