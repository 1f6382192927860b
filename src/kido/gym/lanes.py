"""What single and vector environments have in common: worlds, steps and beginnings of an environment's declaration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from kido.attributes import FixedAttributes
from kido.batch import Worlds
from kido.errors import ModelError, NameLookupError, StateError
from kido.gym import measures
from kido.gym.environment import Environment, Start
from kido.gym.rows import as_array, stacked
from kido.gym.transition import Model, States, Transition
from kido.math.transform import number_or_nan
from kido.rendering import Camera, Pinhole, Renderer, look_at
from kido.simulation import World
from kido.skeleton import Skeleton

__all__ = ["Lanes"]

Array = NDArray[np.float64]


class Lanes(FixedAttributes):
    """Worlds of an environment, which step and begin again.

    Args:
        environment: the declaration.
        number: of worlds.
        threads, lanes: as of `kido.batch.Worlds`.

    Attributes:
        worlds: the worlds.
        goals: (worlds, numbers) of their starts.
        elapsed: (worlds,) steps of the environment since they began.
        action_space, observation_space: of a single environment.

    Raises:
        ModelError: a declaration whose functions do not fit, with the one that does not.
    """

    goals: Array
    elapsed: NDArray[np.int64]

    def __init__(self, environment: Environment, number: int, threads: int | None = None, lanes: bool = True):
        self.environment = environment
        self._what = f"environment {environment.name!r}"
        model = environment.model()
        if not isinstance(model, World):
            raise ModelError(f"{self._what}: model: expected a function that makes a World, got {model!r:.80}")
        rng = np.random.default_rng(0)  # of these numbers only the shapes matter
        properties = self._properties([rng] * number) if environment.randomization else None
        self.worlds = Worlds(
            model, number, skeleton=environment.skeleton, properties=properties, bodies=environment.bodies,
            threads=threads, lanes=lanes,
        )  # fmt: skip
        self._no_wrenches = np.zeros((number, 0, 6))
        self._model = Model(self._skeleton())
        self.time_step = environment.frame_skip * float(model.time_step)
        self.elapsed = np.zeros(number, np.int64)
        self.action_space = space = self._action_space()
        shape = (number, *(space.shape or ()))
        self._shape, self._last_actions = shape, np.zeros(shape, space.dtype)
        self._bounds = None
        if isinstance(space, spaces.Box):
            self._bounds = space.low.astype(float), space.high.astype(float)
        self._speeds: Array | None = None
        if environment.speed_limits:
            limits = {self._dof(name, "speed_limits"): limit for name, limit in environment.speed_limits.items()}
            for name, limit in environment.speed_limits.items():
                if not number_or_nan(limit) >= 0.0:
                    raise ModelError(f"{self._what}: speed_limits: expected a speed for {name!r}, got {limit!r}")
            self._speeds = np.array([limits.get(k, np.inf) for k in range(self.worlds.num_dofs)])
        self._q, self._u = np.array(self.worlds.positions), np.array(self.worlds.velocities)
        self._last: Transition | None = None  # the last step's, if nothing began since
        self._model_state = self._q[0].copy(), self._u[0].copy()
        self._num_goals: int | None = None
        self._num_goals = self._start(rng)[2].size
        self.goals = np.zeros((number, self._num_goals))
        self._renderer: Renderer | None = None
        first = np.asarray(environment.observation(self.present()))
        if first.shape[:1] != (number,):
            raise ModelError(
                f"{self._what}: observation: expected rows for {number} worlds, got an array of shape {first.shape}"
            )
        space = environment.observation_space
        self.observation_space = spaces.Box(-np.inf, np.inf, first.shape[1:], np.float64) if space is None else space
        if self.observation_space.shape != first.shape[1:]:
            raise ModelError(
                f"{self._what}: observation: expected rows of the shape {self.observation_space.shape} of its space, "
                f"got {first.shape[1:]}"
            )

    def _skeleton(self) -> Skeleton:
        """The skeleton whose coordinates come first."""
        world, name = self.worlds.world, self.environment.skeleton
        if name is not None:
            return world.skeleton(name)
        return next((s for s in world.skeletons if s.num_dofs), world.skeletons[0])

    def _dof(self, name: str, field: str) -> int:
        """Number of a coordinate, by its name or "skeleton/name"."""
        names = self.worlds.dof_names
        fits = [k for k, full in enumerate(names) if name == full or full.endswith(f"/{name}")]
        if len(fits) != 1:
            raise NameLookupError(f"coordinate for {field} of {self._what}", name, names)
        return fits[0]

    def _action_space(self) -> spaces.Space:
        e = self.environment
        if e.gears is None:
            space = e.action_space
        else:
            driven = [self._dof(name, "gears") for name in e.gears]
            self._driven = np.array(driven, np.int64)
            for name, gear in e.gears.items():
                if not math.isfinite(number_or_nan(gear)):
                    raise ModelError(f"{self._what}: gears: expected a finite number for {name!r}, got {gear!r}")
            self._gears = np.array(list(e.gears.values()), dtype=float)
            space = e.action_space or spaces.Box(-1.0, 1.0, (len(e.gears),), np.float32)
            if space.shape != (len(e.gears),):
                raise ModelError(f"{self._what}: action_space: expected one of shape ({len(e.gears)},), got {space!r}")
        if not isinstance(space, spaces.Box | spaces.Discrete):
            raise ModelError(f"{self._what}: action_space: expected a Box or Discrete, got {space!r}")
        return space

    def __len__(self) -> int:
        return len(self.worlds)

    def __deepcopy__(self, memo: Any) -> Lanes:
        twin: Lanes = object.__new__(Lanes)  # arrays are shared: they are replaced, not written to
        vars(twin).update(vars(self), worlds=self.worlds.clone(), _last=None, _renderer=None)
        vars(twin).update(_model=Model(twin._skeleton()), action_space=deepcopy(self.action_space, memo))
        vars(twin).update(observation_space=deepcopy(self.observation_space, memo))
        return twin

    def __repr__(self) -> str:
        return f"Lanes({self.environment.name!r}, {len(self)} worlds)"

    # Beginnings ----------------------------------------------------------------------------------------------

    def _properties(self, generators: Sequence[np.random.Generator]) -> dict[str, Any]:
        """Properties of worlds by name, drawn one by one."""
        assert self.environment.randomization is not None
        drawn = [self.environment.randomization(rng) for rng in generators]
        return stacked(drawn, f"{self._what}: randomization")

    def _start(self, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        start = Start() if self.environment.start is None else self.environment.start(rng)
        if not isinstance(start, Start):
            raise ModelError(f"{self._what}: start: expected a kido.gym.Start, got {start!r:.80}")
        state = [
            self._numbers(f"start: {name}", own if given is None else given, own.size)
            for name, given, own in zip(("positions", "velocities"), (start.positions, start.velocities),
                                        self._model_state, strict=True)
        ]  # fmt: skip
        goals = self._numbers("start: goals", start.goals, self._num_goals)
        return state[0], state[1], goals

    def _numbers(self, what: str, given: Any, size: int | None) -> Array:
        """Numbers of one world, finite, and so many.

        Raises:
            ModelError: they are not.
        """
        try:
            values = np.asarray(given, dtype=float).ravel()
        except (TypeError, ValueError):
            values = None
        if values is None or size not in (None, values.size) or not np.isfinite(values).all():
            wanted = "finite numbers" if size is None else f"{size} finite numbers"
            raise ModelError(f"{self._what}: {what}: expected {wanted}, got {given!r:.80}")
        return values

    def begin(self, which: NDArray[np.int64], generators: Sequence[np.random.Generator]) -> None:
        """Have worlds of these numbers begin again, each by its own generator."""
        properties = self._properties(generators) if self.environment.randomization else None
        starts = [self._start(rng) for rng in generators]
        q, u, goals = (np.array([start[k] for start in starts]) for k in range(3))
        self.worlds.reset(which, q, u, properties)
        # what transitions have is left as it was
        mine = ("_q", "_u", "goals", "elapsed", "_last_actions")
        for name, values in zip(mine, (q, u, goals, 0, 0), strict=True):
            changed = getattr(self, name).copy()
            changed[which] = values
            setattr(self, name, changed)
        self._last = None

    def present(self) -> Transition:
        """The worlds as at a beginning: without a step before."""
        q, u = self._q.copy(), self._u.copy()
        n, none = len(q), np.zeros(self._shape, self.action_space.dtype)
        return Transition(
            q, u, self._model, actions=none, last_actions=none, time_step=self.time_step,
            elapsed=self.elapsed.copy(), goals=self.goals.copy(),
            contact_wrenches=np.zeros((n, len(self.environment.bodies), 6)), actuator_forces=np.zeros(q.shape),
        )  # fmt: skip

    # Steps ---------------------------------------------------------------------------------------------------

    def checked(self, actions: Any) -> NDArray:
        """Actions of all worlds as an array.

        Raises:
            StateError: another shape, not numbers, not finite, or none of a discrete space; names the world.
        """
        given = as_array(actions)
        if self._bounds is not None and given.shape == self._shape and given.dtype in (np.float32, np.float64):
            flat = given.reshape(-1)
            if math.isfinite(flat.dot(flat)):  # else some are not finite, or so large that it takes a closer look
                return given
        space = self.action_space
        discrete = isinstance(space, spaces.Discrete)
        if given.dtype.kind not in ("iub" if discrete else "iubf"):
            raise StateError(
                f"{self._what}: actions: expected {'whole ' if discrete else ''}numbers, got {actions!r:.80}"
            )
        if given.shape != self._shape:
            raise StateError(
                f"{self._what}: actions: expected an array of shape {self._shape}, got one of {given.shape}"
            )
        if isinstance(space, spaces.Discrete):
            bad = (given < space.start) | (given >= space.start + space.n)
            wanted = f"numbers from {space.start} to {space.start + space.n - 1}"
        else:
            bad, wanted = ~np.isfinite(given), "finite numbers"
        if bad.any():
            place = np.argwhere(bad)[0]
            raise StateError(
                f"{self._what}: actions: expected {wanted}, got {given[tuple(place)]} in environment {place[0]}"
            )
        return given

    def _commands(self, actions: NDArray, before: States) -> Array:
        if self.environment.commands is None:
            assert self._bounds is not None
            commands = np.empty(self._q.shape)
            measures.commands_of(
                np.ascontiguousarray(actions, dtype=float), *self._bounds, self._gears, self._driven, commands
            )
            return commands
        if self._bounds is not None:
            low, high = self._bounds
            actions = np.minimum(np.maximum(actions, low), high)
        return self.environment.commands(actions, before)

    def step(self, actions: NDArray) -> tuple[Transition, dict[int, str]]:
        """One step of the environment in all worlds, by checked actions.

        Returns:
            What it led to, and why worlds failed, by number; these are as they were before the step.
        """
        worlds, last = self.worlds, self._last
        before = States.of(positions=self._q, velocities=self._u, _model=self._model) if last is None else last.alone()
        q, u = map(np.array, worlds.step(self._commands(actions, before), self.environment.frame_skip))
        self.elapsed = self.elapsed + 1
        wrenches = np.array(worlds.contact_wrenches) if self.environment.bodies else self._no_wrenches
        forces = np.array(worlds.actuator_forces)
        failed = worlds.errors
        if failed:
            failed = dict(failed)
            for k in failed:
                q[k], u[k], forces[k] = before.positions[k], before.velocities[k], 0.0
                wrenches[k] = 0.0
        if self._speeds is not None:
            u = self._within(u)
        actions = actions.copy()
        found = Transition.of(
            positions=q, velocities=u, _model=self._model, before=before, actions=actions,
            last_actions=self._last_actions, time_step=self.time_step, elapsed=self.elapsed,
            goals=self.goals, contact_wrenches=wrenches, actuator_forces=forces,
        )  # fmt: skip
        vars(self).update(_q=q, _u=u, _last=found, _last_actions=actions)
        return found, failed

    def _within(self, u: Array) -> Array:
        """Velocities within their limits; what is not is brought there."""
        assert self._speeds is not None
        if not (np.abs(u) > self._speeds).any():
            return u
        u = np.clip(u, -self._speeds, self._speeds)
        self.worlds.put("velocities", u)
        return u

    def observed(self, transition: Transition) -> NDArray:
        """Observations, of the type of their space.

        Raises:
            ModelError: they are of another shape than at the beginning.
        """
        found = np.array(self.environment.observation(transition), self.observation_space.dtype)
        if found.shape != (shape := (len(self), *(self.observation_space.shape or ()))):
            raise ModelError(f"{self._what}: observation: expected an array of shape {shape}, got {found.shape}")
        return found

    def judged(
        self, transition: Transition, failed: Mapping[int, str], over: NDArray[np.bool_] | None = None
    ) -> tuple[Array, NDArray[np.bool_], dict[str, NDArray]]:
        """Rewards, whether episodes have ended, and the infos of a step. What has failed has ended, with reward 0.

        Args:
            over: worlds whose episodes had ended before: their reward is 0.

        Raises:
            ModelError: rewards or ends that are no rows of all worlds; rewards that are not finite.
        """
        e, n = self.environment, len(self)
        given = e.reward(transition)
        infos: dict[str, NDArray] = {}
        if isinstance(given, Mapping):
            reward = np.zeros(n)
            for name, term in given.items():
                infos[f"reward_{name}"] = values = self._row(f"reward: {name}", term)
                reward += values
        else:
            reward = self._row("reward", given)
        ended = np.zeros(n, bool) if e.terminated is None else np.array(e.terminated(transition))
        if ended.shape != (n,) or ended.dtype != bool:
            raise ModelError(f"{self._what}: terminated: expected an array of {n} truth values, got {ended!r:.80}")
        for k in failed:
            reward[k], ended[k] = 0.0, True
        if over is not None:
            reward[over] = 0.0
        if not math.isfinite(reward.dot(reward)) and not np.isfinite(reward).all():
            k = int(np.flatnonzero(~np.isfinite(reward))[0])
            raise ModelError(f"{self._what}: reward: expected finite numbers, got {reward[k]} in environment {k}")
        for k in failed:
            for values in infos.values():
                values[k] = 0.0
        return reward, ended, infos

    def _row(self, what: str, values: Any) -> Array:
        """Numbers of all worlds, of their own memory; one number is that of each."""
        n, found = len(self), np.array(values, dtype=float)
        if found.shape not in ((n,), ()):
            raise ModelError(f"{self._what}: {what}: expected an array of {n} numbers, got one of shape {found.shape}")
        return found if found.ndim else np.full(n, found)

    def described(self, transition: Transition) -> dict[str, NDArray]:
        """The infos of states.

        Raises:
            ModelError: some are not rows of all worlds.
        """
        info, n = self.environment.info, len(self)
        found = {} if info is None else {name: np.array(values) for name, values in info(transition).items()}
        for name, values in found.items():
            if values.shape[:1] != (n,):
                raise ModelError(f"{self._what}: info: {name}: expected rows for {n} worlds, got {values.shape}")
        return found

    # Images --------------------------------------------------------------------------------------------------

    def image(self, k: int) -> NDArray[np.uint8]:
        """(height, width, 3) what the environment's view shows of world k."""
        world, view = self.worlds.world, self.environment.view
        if self._renderer is None:
            self._renderer = Renderer(world, oversampling=2, shadows=True)
        engine = world.engine
        q = np.array(self.worlds.store.view("q", slice(0, len(engine.data.q)))[k])
        q[self.worlds.dofs] = self._q[k]  # of a world that has failed as well
        for skeleton in world.skeletons:
            part = q[engine.dofs_of(skeleton)]
            if np.isfinite(part).all():
                skeleton.positions = part
        shift = np.zeros(3)
        if view.follow is not None:
            shift[:2] = self._skeleton().body(view.follow).world_transform[:2, 3]
        pose = look_at(np.array(view.eye) + shift, np.array(view.target) + shift)
        color = self._renderer.render(Camera(Pinhole(view.width, view.height), pose)).color
        assert color is not None
        return color
