"""The vector environment of a declaration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from kido.errors import StateError
from kido.gym.environment import Environment
from kido.gym.lanes import Lanes
from kido.gym.single import RENDER_MODES, check_options, check_render_mode, steps_of_episodes

__all__ = ["KidoVectorEnv"]


class KidoVectorEnv(VectorEnv):
    """A `gymnasium.vector.VectorEnv`: many worlds of an environment, eight of which step together in each thread.

    Every world is, to the bit, the single environment with its seed and the same `lanes`, whatever their number and
    that of threads. `kido.gym.check_vector_env` holds this. A `copy.deepcopy` goes on as the original does.

    Args:
        environment: the declaration.
        num_envs: how many.
        render_mode: "rgb_array" for images by `kido.rendering`, or None.
        max_episode_steps: after which episodes are truncated, -1: never; the environment's time limit by default.
        autoreset_mode: when a world whose episode has ended begins the next one: in the step after ("NextStep"; its
            action does not matter, its reward is 0), in the same step ("SameStep"; the last observation and info are in
            the infos "final_obs" and "final_info"), or by `reset` alone ("Disabled").
        threads: how many compute; the number of available cores by default.
        lanes: as of `kido.batch.Worlds`.

    Raises:
        StateError: another mode, number of environments or of steps; of `step`, actions that are of another shape or
            not finite, with the environment's number, before the first `reset`, and, with "Disabled", after an
            episode's end. Nothing has happened then.
    """

    def __init__(
        self,
        environment: Environment,
        num_envs: int = 1,
        *,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
        lanes: bool = True,
    ):
        check_render_mode(environment, render_mode)
        self._what = f"environment {environment.name!r}"
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            known = ", ".join(repr(mode.value) for mode in AutoresetMode)
            raise StateError(f"{self._what}: autoreset_mode: expected {known}, got {autoreset_mode!r}") from None
        if isinstance(num_envs, bool) or not isinstance(num_envs, int | np.integer) or num_envs < 1:
            raise StateError(f"{self._what}: num_envs: expected a whole number above 0, got {num_envs!r}")
        self.environment, self.render_mode = environment, render_mode
        self.num_envs = num_envs
        self.max_episode_steps = steps_of_episodes(environment, max_episode_steps, environment.time_limit)
        self.lanes = Lanes(environment, num_envs, threads, lanes)
        self.single_action_space = self.lanes.action_space
        self.single_observation_space = self.lanes.observation_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.metadata = {
            "render_modes": RENDER_MODES,
            "render_fps": max(1, round(1.0 / self.lanes.time_step)),
            "autoreset_mode": self.autoreset_mode,
        }
        self._drawn: list[tuple[np.random.Generator, int]] = []  # generators of random numbers and their seeds
        self._ended = np.zeros(num_envs, bool)
        self._last = np.zeros(self.observation_space.shape or (), self.observation_space.dtype)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray, dict[str, Any]]:
        """Begin episodes; observations of the others are their last ones.

        Args:
            seed: of the first environment, that of the next is one more, and so on; or one for each.
            options: "reset_mask": a mask (environments,) of those that begin; all by default.

        Raises:
            StateError: another number of seeds, or no mask.
            NameLookupError: another option.
        """
        check_options(self.environment, options, ("reset_mask",))
        n = self.num_envs
        if seed is None or (isinstance(seed, int | np.integer) and not isinstance(seed, bool)):
            seeds: Sequence[int | None] = [None if seed is None else int(seed) + k for k in range(n)]
        else:
            seeds = list(seed) if isinstance(seed, Sequence | np.ndarray) else []
        whole = all(
            s is None or (isinstance(s, int | np.integer) and not isinstance(s, bool) and s >= 0) for s in seeds
        )
        if len(seeds) != n or not whole:
            raise StateError(f"{self._what}: seed: expected a whole number from 0 on or {n} of them, got {seed!r:.80}")
        mask = (options or {}).get("reset_mask", np.ones(n, bool))
        if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (n,) or not mask.any():
            raise StateError(
                f"{self._what}: options: reset_mask: expected a mask of {n} values, some of them True, got {mask!r:.80}"
            )
        if not self._drawn and not mask.all():
            raise StateError(f"{self._what}: options: reset_mask: expected all of them in the first reset")
        drawn: list[Any] = self._drawn or [None] * n
        self._drawn = [
            np_random(None if s is None else int(s)) if own is None or (begins and s is not None) else own
            for s, begins, own in zip(seeds, mask, drawn, strict=True)
        ]
        self._begin(mask)
        self._ended[mask] = False
        start = self.lanes.present()
        self._last[mask] = self.lanes.observed(start)[mask]
        return self._last.copy(), _marked(self.lanes.described(start), mask)

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Generators of random numbers of the environments; none before the first reset."""
        return tuple(rng for rng, _ in self._drawn)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """Their seeds."""
        return tuple(seed for _, seed in self._drawn)

    def _begin(self, mask: NDArray[np.bool_]) -> None:
        which = np.flatnonzero(mask)
        self.lanes.begin(which, [self._drawn[k][0] for k in which])

    def step(
        self, actions: Any
    ) -> tuple[NDArray, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One step of all environments."""
        if not self._drawn:
            raise StateError(f"{self._what}: step: expected a reset before the first step")
        lanes, mode = self.lanes, self.autoreset_mode
        actions = lanes.checked(actions)
        over = self._ended.copy()
        if mode is AutoresetMode.DISABLED and over.any():
            raise StateError(
                f"{self._what}: step: the episode of environment {np.flatnonzero(over)[0]} has ended; expected a reset "
                "of it, since autoreset_mode is 'Disabled'"
            )
        found, failed = lanes.step(actions)
        rewards, ended, infos = lanes.judged(found, failed, over)
        late = lanes.elapsed >= self.max_episode_steps
        observations, described = lanes.observed(found), lanes.described(found)
        shown: dict[str, Any] = {}
        if mode is AutoresetMode.SAME_STEP:
            begins = ended | late
            if begins.any():
                _add_final(shown, observations, infos | described, failed, begins)
        else:
            begins = over
            ended[over], late[over] = False, False
            self._ended = ended | late
        shown |= _marked(infos, ~begins) | _errors(failed, ~begins)
        if begins.any():
            self._begin(begins)
            start = lanes.present()
            observations[begins] = lanes.observed(start)[begins]
            for name, values in lanes.described(start).items():
                described[name][begins] = values[begins]
        self._last[:] = observations
        return observations, rewards, ended, late, shown | _marked(described, np.ones(self.num_envs, bool))

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """(height, width, 3) images of all worlds."""
        return None if self.render_mode is None else tuple(self.lanes.image(k) for k in range(self.num_envs))


def _marked(infos: dict[str, NDArray], mask: NDArray[np.bool_]) -> dict[str, Any]:
    """Infos with masks of the environments that have them, as Gymnasium names these; none that nobody has."""
    found: dict[str, Any] = {}
    for name, values in infos.items() if mask.any() else ():
        held = values.copy()
        held[~mask] = None if held.dtype == object else 0
        found |= {name: held, f"_{name}": mask.copy()}
    return found


def _errors(failed: dict[int, str], mask: NDArray[np.bool_]) -> dict[str, Any]:
    """Why worlds failed, as infos."""
    has = mask & np.isin(np.arange(len(mask)), list(failed))
    return _marked({"error": np.array([failed.get(k) for k in range(len(mask))], object)}, has)


def _add_final(
    shown: dict[str, Any],
    observations: NDArray,
    infos: dict[str, NDArray],
    failed: dict[int, str],
    mask: NDArray[np.bool_],
) -> None:
    """The last observations and infos of environments that begin again in this step."""
    final = np.full(len(mask), None, object)
    for k in np.flatnonzero(mask):
        final[k] = observations[k].copy()
    shown |= {"final_obs": final, "_final_obs": mask.copy()}
    shown |= {"final_info": _marked(infos, mask) | _errors(failed, mask), "_final_info": mask.copy()}
